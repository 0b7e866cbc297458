"""What people see of a schedule with kubectl: the order of Events, headings, columns, and the words of a refusal."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from cronschedule.api.shapes import format_time
from e2e.world import World, condition, cron_schedule, minutely_until, pod, this_minute
from localkube import Kubectl, OperatorProcess


@pytest.fixture
def world(kubectl: Kubectl, operator: OperatorProcess, namespace: str) -> World:
    return World(kubectl, namespace)


def test_describe_shows_events_in_the_order_of_what_they_are_about(world: World) -> None:
    newest = this_minute() - 120
    catch_up = {"misfirePolicy": "CatchUp", "maxStaleness": "24h", "catchUp": {"maxRuns": 4}}
    world.create_with_ledger(
        cron_schedule("x", minutely_until(newest, 6), job=pod(duration="100ms"), **catch_up),
        decided_until=newest - 301,
    )
    world.wait_for_events("x", "CatchUpCapExceeded", *["RunCreated"] * 4)
    told = world.kubectl("describe", "csch", "x").split("\nEvents:\n")[1]
    slots = [format_time(newest - ago) for ago in (300, 180, 120, 60, 0)]
    assert re.findall(r"(?: slots from|Created Job [^ ]+ for) (20\S+Z)", told) == slots


def test_describe_has_no_headings_with_nothing_below(world: World) -> None:
    world.create(cron_schedule("x", "0 0 1 1 *"))
    world.wait_until_seen("x")
    lines = world.kubectl("describe", "csch", "x").split("\nStatus:\n")[1].splitlines()
    for line, below in pairwise(lines):
        if re.fullmatch(r" +[A-Z][A-Za-z ]+:", line):
            assert len(below) - len(below.lstrip()) > len(line) - len(line.lstrip()), line


def test_get_shows_how_many_slots_wait(world: World) -> None:
    newest = this_minute() - 120
    world.create_with_ledger(
        cron_schedule(
            "x",
            minutely_until(newest, 5),
            misfirePolicy="CatchUp",
            maxStaleness="24h",
            job=pod(outcome="hang"),
        ),
        decided_until=newest - 241,
    )
    world.wait_for_status("x", lambda status: status.get("backlog", {}).get("waiting") == 4)
    heads, line = world.kubectl("get", "csch", "x", "-o", "wide").splitlines()
    assert line[heads.index("WAITING") :].split()[0] == "4"


def test_a_refused_template_says_which_field_to_edit(world: World) -> None:
    newest, job = this_minute() - 120, pod()
    job["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "nowhere", "mountPath": "/data"}]
    world.create_with_ledger(cron_schedule("x", minutely_until(newest, 1), job=job), decided_until=newest - 1)
    status = world.wait_for_status("x", lambda status: condition(status, "Stalled"))
    for kind in "Ready", "Stalled":
        message = condition(status, kind)["message"]
        assert message.startswith("No Job can be made of spec.jobTemplate: ")
        assert 'volumeMounts[0].name: Not found: "nowhere"' in message
