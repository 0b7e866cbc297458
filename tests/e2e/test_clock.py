"""The operator's clock is ahead, or is set: what is due then, and what is not. Rules: semantics.md §6.

The API server's clock stays true. The schedules have one slot an hour, the newest two minutes ago.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from cronschedule.api.names import job_name
from cronschedule.api.shapes import format_time, parse_time
from e2e.decisions import foretold, recorded
from e2e.world import World, cron_schedule, eventually, minutely_until, pod, this_minute
from localkube import Kubectl, OperatorProcess

HOUR = 3600


@pytest.fixture
def world(kubectl: Kubectl, operator: OperatorProcess, namespace: str) -> Iterator[World]:
    """The operator is down; it runs by the true clock again at the end."""
    operator.stop()
    yield World(kubectl, namespace)
    operator.end()
    operator.start()


def test_schedules_created_while_the_operator_was_down_have_missed_slots(
    world: World, operator: OperatorProcess
) -> None:
    hourly = minutely_until(this_minute() - 120, 1)
    manifests = [
        cron_schedule("fire-once", hourly),
        cron_schedule("catch-up", hourly, misfirePolicy="CatchUp", maxStaleness="24h"),
        cron_schedule("skip", hourly, misfirePolicy="Skip"),
        cron_schedule("stale", hourly, misfirePolicy="CatchUp", maxStaleness="3h"),
    ]
    world.create(*manifests)
    operator.start(clock="+6h")
    for manifest in manifests:
        name = manifest["metadata"]["name"]
        created = parse_time(world.schedule(name)["metadata"]["creationTimestamp"])
        up = created + 6 * HOUR + 5
        down = [{"from": format_time(created), "to": format_time(up)}]
        expected = foretold(manifest, start=created, end=up + 60, operatorDown=down, runDuration="1s")
        assert len(expected) == 6
        schedule = eventually(
            lambda name=name: world.schedule(name), lambda schedule: len(recorded(schedule)) == 6
        )
        assert recorded(schedule) == expected


def test_a_clock_that_is_set_makes_slots_due_and_never_undoes_decisions(
    world: World, operator: OperatorProcess
) -> None:
    newest = this_minute() - 120
    world.create(
        cron_schedule("x", minutely_until(newest, 1), job=pod(outcome="hang"), concurrencyPolicy="Allow")
    )
    operator.start(clock="+0s")
    world.wait_until_seen("x")
    operator.set_clock("+3h")
    coalesced, run = world.wait_for_outcomes("x", "Active")
    assert (coalesced["reason"], coalesced["count"]) == ("Coalesced", 2)
    assert run["scheduledTime"] == format_time(newest + 3 * HOUR)
    operator.set_clock("+0s")
    _wait_for_true_clock(world)
    status = world.status("x")
    assert list(world.jobs("x")) == [job_name("x", newest + 3 * HOUR)]
    assert parse_time(status["lastDecidedTime"]) == newest + 3 * HOUR
    assert parse_time(status["nextScheduleTime"]) == newest + 4 * HOUR
    assert status["counts"]["runs"] == 1


def test_skips_of_one_row_are_one_event_that_repeats(world: World, operator: OperatorProcess) -> None:
    newest = this_minute() - 120
    world.create_with_ledger(
        cron_schedule("x", minutely_until(newest, 1), job=pod(outcome="hang")), decided_until=newest - 1
    )
    operator.start(clock="+0s")
    world.wait_for_outcomes("x", "Active")
    for hours in (1, 2, 3):
        operator.set_clock(f"+{hours}h")
        _, skipped = eventually(
            lambda: world.rows("x"), lambda rows, hours=hours: rows[-1].get("count", len(rows) - 1) == hours
        )
    assert (skipped["reason"], skipped["firstScheduledTime"]) == ("Overlap", format_time(newest + HOUR))
    (event,) = eventually(
        lambda: [event for event in world.events("x") if event["reason"] == "Overlap"],
        lambda events: events and events[0].get("series", {}).get("count") == 3,
    )
    assert event["note"] == f"Skipped {format_time(newest + HOUR)}: Still active: {job_name('x', newest)}."
    printed = world.kubectl("events", "--for=cronschedule/x", f"--namespace={world.namespace}")
    assert "(x3 over " in printed


def _wait_for_true_clock(world: World) -> None:
    """Until the operator has taken up a schedule at a moment that is not ahead."""

    def taken_up_now() -> bool:
        name = f"probe-{time.monotonic_ns()}"
        world.create(cron_schedule(name))
        status = world.wait_until_seen(name)
        return parse_time(status["nextScheduleTime"]) <= time.time() + 60

    eventually(taken_up_now, bool)
    world.see_again("x")
