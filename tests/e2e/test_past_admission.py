"""Specs that got past admission: written while an older CRD, without the rules in CEL, was installed.

In a cluster of its own, since the CRD is everybody's. Rules: semantics.md §6, "Invalid spec".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cronschedule.api.shapes import format_time, parse_time
from e2e.world import World, condition, cron_schedule, minutely_until, this_minute
from localkube import Cluster, OperatorProcess

CRD = Path(__file__).resolve().parents[2] / "crds" / "cronschedules.cronschedule.dev.yaml"
LONG_NAME = "a-name-of-fifty-three-characters-which-is-one-too-far"
INVALID = {
    "bad-cron": ("InvalidSchedule", "spec.schedule"),
    "never": ("InvalidSchedule", "spec.schedule"),
    "bad-zone": ("UnknownTimeZone", "spec.timeZone"),
    "bad-pair": ("InvalidSchedule", "spec.concurrencyPolicy"),
    "bad-age": ("InvalidSchedule", "spec.maxStaleness"),
    LONG_NAME: ("InvalidSchedule", "metadata.name"),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The schedules were written, then the real CRD was installed, then the operator was started."""
    folder = tmp_path_factory.mktemp("past-admission")
    lax = folder / "crd.json"
    lax.write_text(json.dumps(_without_rules(yaml.safe_load(CRD.read_text()))))
    with Cluster.up() as cluster:
        cluster.kubectl.install(lax)
        cluster.kubectl("create", "namespace", "old")
        world = World(cluster.kubectl, "old")
        newest = this_minute() - 120
        world.create(
            cron_schedule("bad-cron", "61 * * * *"),
            cron_schedule("never", "0 0 30 2 *"),
            cron_schedule("bad-zone", timeZone="Mars/Phobos"),
            cron_schedule("bad-pair", misfirePolicy="CatchUp", concurrencyPolicy="Replace"),
            cron_schedule("bad-age", maxStaleness="25h"),
            cron_schedule(LONG_NAME),
            cron_schedule("healed", "61 * * * *"),
        )
        world.write_status("healed", lastDecidedTime=format_time(newest - 600))
        world.create_with_ledger(cron_schedule("good", minutely_until(newest, 1)), decided_until=newest - 1)
        cluster.kubectl.install(CRD)
        with OperatorProcess(cluster.kubeconfig, folder / "operator.log").started():
            yield world


def _without_rules(part: Any) -> Any:
    if isinstance(part, list):
        return [_without_rules(each) for each in part]
    if isinstance(part, dict):
        rules = "x-kubernetes-validations"
        return {key: _without_rules(value) for key, value in part.items() if key != rules}
    return part


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_spec_is_told_and_runs_nothing(world: World, name: str) -> None:
    reason, path = INVALID[name]
    status = world.wait_until_seen(name)
    for kind, wanted in ("Ready", "False"), ("Stalled", "True"):
        told = condition(status, kind)
        assert (told["status"], told["reason"]) == (wanted, reason)
        assert path in told["message"]
    assert "nextScheduleTime" not in status
    assert world.jobs(name) == {}
    (event,) = world.wait_for_events(name, reason)
    assert event["type"] == "Warning"
    assert path in event["note"]


def test_other_schedules_go_on(world: World) -> None:
    world.wait_for_outcomes("good", "Succeeded")


def test_kubectl_get_shows_that_it_is_not_ready(world: World) -> None:
    world.wait_until_seen("bad-zone")
    heads, line = world.kubectl("get", "csch", "bad-zone", "-o", "wide").splitlines()
    assert "UnknownTimeZone" in line
    assert line[heads.index("READY") :].split()[0] == "False"


def test_a_correction_is_an_edit(world: World) -> None:
    """Slots count from then on: none of the five before it is made up for."""
    assert condition(world.wait_until_seen("healed"), "Ready")["status"] == "False"
    newest = this_minute() - 120
    world.edit("healed", schedule=minutely_until(newest, 5))
    status = world.wait_until_seen("healed")
    assert condition(status, "Ready")["status"] == "True"
    assert condition(status, "Stalled") == {}
    assert parse_time(status["nextScheduleTime"]) > newest
    world.see_again("healed")
    assert (world.rows("healed"), world.jobs("healed")) == ([], {})
