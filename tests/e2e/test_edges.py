"""Edges with the operator running: edits, a damaged status, namespaces that go. Rules: semantics.md §6."""

from __future__ import annotations

import time

import pytest

from cronschedule.api.names import job_name
from cronschedule.api.shapes import format_time, parse_time
from cronschedule.core.slots import slots_of
from e2e.world import World, condition, cron_schedule, eventually, minutely_until, pod, this_minute
from localkube import Kubectl, OperatorProcess

HANGS = pod(outcome="hang")


@pytest.fixture
def world(kubectl: Kubectl, operator: OperatorProcess, namespace: str) -> World:
    return World(kubectl, namespace)


def test_another_time_zone_moves_the_next_slot(world: World) -> None:
    world.create(cron_schedule("x", "30 2 * * *"))
    before = world.wait_until_seen("x")
    world.edit("x", timeZone="Asia/Tokyo")
    after = world.wait_until_seen("x")
    for status, zone in (before, "Etc/UTC"), (after, "Asia/Tokyo"):
        assert status["schedule"] == {"expression": "30 2 * * *", "timeZone": zone}
        assert parse_time(status["nextScheduleTime"]) == slots_of("30 2 * * *", zone).after(int(time.time()))
    assert after.get("runHistory", []) == []


def test_a_wiped_status_is_taken_from_the_jobs_however_often(world: World) -> None:
    newest = this_minute() - 120
    world.create_with_ledger(
        cron_schedule("x", minutely_until(newest, 1), job=HANGS), decided_until=newest - 1
    )
    world.wait_for_outcomes("x", "Active")
    name = job_name("x", newest)
    for _ in range(3):
        world.wipe_status("x")
        run, lost = eventually(lambda: world.rows("x"), lambda rows: len(rows) == 2)
        assert (run["outcome"], run["job"]) == ("Active", name)
        assert (lost["reason"], lost["scheduledTime"]) == ("LedgerLost", format_time(newest))
        assert list(world.jobs("x")) == [name]
        assert world.status("x")["counts"]["runs"] == 1
    assert "LedgerLost" in {
        event["reason"] for event in eventually(lambda: world.events("x"), lambda e: len(e) > 1)
    }


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_ledger_that_makes_no_sense_does_not_end_scheduling(world: World, moment: str) -> None:
    """A stray hand, or a tool that writes zero times, wrote what the schema lets through."""
    world.create(cron_schedule("x", minutely_until(this_minute() - 120, 1)))
    world.wait_until_seen("x")
    world.write_status("x", lastDecidedTime=moment)
    world.see_again("x")
    assert condition(world.status("x"), "Ready")["status"] == "True"


def test_a_namespace_that_is_deleted_goes_quietly(
    world: World, kubectl: Kubectl, operator: OperatorProcess
) -> None:
    """With runs that are active, slots that wait for them, and slots that wait for room in a quota."""
    newest = this_minute() - 120
    text, blocks = minutely_until(newest, 5), {**pod(), "suspend": True}
    with World.fresh(kubectl) as doomed:
        waiting = [cron_schedule(f"waits-{n}", text, job=blocks, misfirePolicy="CatchUp") for n in range(10)]
        doomed.create(*waiting)
        doomed.create(cron_schedule("minutely"), cron_schedule("hangs", text, job=blocks))
        names = [each["metadata"]["name"] for each in waiting]
        for name in [*names, "hangs"]:
            doomed.restore_ledger(name, decided_until=newest - 241)
        for name in names:
            doomed.wait_for_status(name, lambda status: status.get("backlog", {}).get("waiting") == 4)
        kubectl("delete", "namespace", doomed.namespace, "--timeout=60s", timeout=70)
    about = [line for line in operator.lines() if line.get("namespace") == doomed.namespace]
    warnings = [line for line in about if line["level"] not in ("debug", "info")]
    assert len(warnings) <= len(names) + 2, warnings
    world.create_with_ledger(cron_schedule("x", text), decided_until=newest - 1)
    world.wait_for_outcomes("x", "Succeeded")
