"""A backlog under CatchUp: how it is worked off, and what ends the waiting. Rules: semantics.md §3.2 to §3.5, §5, §6.

The backlogs are five slots, a minute apart, which came due while nobody looked; no further slot comes for an hour.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from cronschedule.api.names import job_name
from cronschedule.api.shapes import format_time, parse_time
from e2e.decisions import foretold, recorded
from e2e.world import (
    JsonObject,
    World,
    condition,
    cron_schedule,
    eventually,
    minutely_until,
    pod,
    this_minute,
)
from localkube import Kubectl, OperatorProcess

HANGS = pod(outcome="hang")


@pytest.fixture
def world(kubectl: Kubectl, operator: OperatorProcess, namespace: str) -> World:
    return World(kubectl, namespace)


class Backlog:
    """The schedule `x` with five missed slots."""

    def __init__(self, world: World, **spec: Any) -> None:
        newest = this_minute() - 120
        self.world, self.slots = world, [newest - 60 * ago for ago in (4, 3, 2, 1, 0)]
        self.manifest = cron_schedule("x", minutely_until(newest, 5), misfirePolicy="CatchUp", **spec)
        world.create_with_ledger(self.manifest, decided_until=self.slots[0] - 1)

    def wait_for(self, *, active: int, waiting: int) -> JsonObject:
        """Until the status says that so many run and so many wait."""
        backlog = {"waiting": waiting, "oldest": format_time(self.slots[5 - waiting])}
        return self.world.wait_for_status(
            "x",
            lambda status: (
                status.get("activeRuns") == active and backlog.items() <= status.get("backlog", {}).items()
            ),
        )

    def jobs(self, *numbers: int) -> list[str]:
        """The names of the Jobs of the slots with these numbers."""
        return [job_name("x", self.slots[number]) for number in numbers]


def _spans(jobs: dict[str, JsonObject]) -> list[tuple[int, int]]:
    """From creation to completion of each Job, in order of slots."""
    return [
        (parse_time(job["metadata"]["creationTimestamp"]), parse_time(job["status"]["completionTime"]))
        for job in jobs.values()
    ]


def test_runs_come_one_after_another_oldest_first(world: World) -> None:
    backlog = Backlog(world, successfulJobsHistoryLimit=10)
    rows = world.wait_for_outcomes("x", *["Succeeded"] * 5)
    assert [(row["scheduledTime"], row["trigger"]) for row in rows] == [
        (format_time(slot), "CatchUp") for slot in backlog.slots
    ]
    spans = _spans(world.jobs("x"))
    assert all(earlier[1] <= later[0] for earlier, later in pairwise(spans)), spans
    status = world.status("x")
    assert "backlog" not in status
    assert condition(status, "CatchingUp") == {}
    world.wait_for_events("x", *["RunCreated"] * 5)


def test_max_concurrent_runs_so_many_side_by_side(world: World) -> None:
    backlog = Backlog(world, job=HANGS, concurrencyPolicy="Allow", catchUp={"maxConcurrent": 3})
    status = backlog.wait_for(active=3, waiting=2)
    assert list(world.jobs("x")) == backlog.jobs(0, 1, 2)
    assert condition(status, "CatchingUp")["reason"] == "MaxConcurrentReached"
    world.kubectl("delete", "job", *backlog.jobs(1))
    backlog.wait_for(active=3, waiting=1)
    assert list(world.jobs("x")) == backlog.jobs(0, 2, 3)


def test_a_suspension_of_the_schedule_skips_what_waits(world: World) -> None:
    backlog = Backlog(world, job=HANGS)
    backlog.wait_for(active=1, waiting=4)
    world.edit("x", suspend=True)
    status = world.wait_for_status("x", lambda status: "suspension" in status)
    skipped, run = status["runHistory"]
    assert (skipped["reason"], skipped["count"]) == ("ScheduleSuspended", 4)
    assert (run["outcome"], list(world.jobs("x"))) == ("Active", backlog.jobs(0))
    assert "nextScheduleTime" not in status


def test_a_suspension_of_the_tenant_skips_what_waits_and_nothing_is_made_up(world: World) -> None:
    backlog = Backlog(world, job=HANGS)
    backlog.wait_for(active=1, waiting=4)
    world.suspend_tenant()
    suspended = world.wait_for_status("x", lambda status: "suspension" in status)
    assert suspended["suspension"]["reason"] == "TenantSuspended"
    assert world.namespace in suspended["suspension"]["message"]
    assert condition(suspended, "Suspended")["reason"] == "TenantSuspended"
    assert condition(suspended, "Ready")["status"] == "True"
    world.resume_tenant()
    resumed = world.wait_for_status("x", lambda status: "suspension" not in status)
    assert resumed["counts"]["skipped"] == {"TenantSuspended": 4}
    assert parse_time(resumed["nextScheduleTime"]) == backlog.slots[0] + 3600
    assert list(world.jobs("x")) == backlog.jobs(0)
    world.wait_for_events("x", "RunCreated", "Suspended", "TenantSuspended", "Resumed")


@pytest.mark.parametrize(
    "edit", [{"schedule": "0 0 1 1 *"}, {"timeZone": "Asia/Tokyo"}], ids=["schedule", "zone"]
)
def test_an_edit_of_the_schedule_ends_the_waiting(world: World, edit: dict[str, str]) -> None:
    backlog = Backlog(world, job=HANGS)
    backlog.wait_for(active=1, waiting=4)
    world.edit("x", **edit)
    status = world.wait_until_seen("x")
    skipped, run = status["runHistory"]
    assert (skipped["reason"], skipped["count"]) == ("ScheduleChanged", 4)
    assert (run["outcome"], list(world.jobs("x"))) == ("Active", backlog.jobs(0))
    spec = world.schedule("x")["spec"]
    assert status["schedule"] == {"expression": spec["schedule"], "timeZone": spec["timeZone"]}
    assert "backlog" not in status


def test_an_edit_of_the_policy_is_for_slots_that_are_not_decided_yet(world: World) -> None:
    backlog = Backlog(world, job=HANGS)
    status = backlog.wait_for(active=1, waiting=4)
    assert condition(status, "CatchingUp")["reason"] == "RunActive"
    (before,) = world.jobs("x").values()
    world.edit("x", misfirePolicy="FireOnce", concurrencyPolicy="Allow")
    rows = world.wait_for_outcomes("x", "Active", "Active")
    assert [(row.get("reason"), row.get("count"), row.get("standsFor")) for row in rows] == [
        (None, None, None),
        ("Coalesced", 3, None),
        (None, None, {"count": 4, "first": format_time(backlog.slots[1])}),
    ]
    jobs = world.jobs("x")
    assert list(jobs) == backlog.jobs(0, 4)
    assert jobs[backlog.jobs(0)[0]]["metadata"]["uid"] == before["metadata"]["uid"]


def test_what_waits_is_skipped_as_overlap_when_the_policy_no_longer_waits(world: World) -> None:
    backlog = Backlog(world, job=HANGS)
    backlog.wait_for(active=1, waiting=4)
    world.edit("x", misfirePolicy="FireOnce")
    schedule = eventually(
        lambda: world.schedule("x"), lambda schedule: len(schedule["status"].get("runHistory", [])) == 2
    )
    edit = {"at": format_time(backlog.slots[4] + 90), "spec": {"misfirePolicy": "FireOnce"}}
    up = format_time(backlog.slots[4] + 60)
    expected = foretold(
        backlog.manifest,
        start=backlog.slots[0] - 1,
        end=backlog.slots[4] + 120,
        operatorDown=[{"from": format_time(backlog.slots[0] - 1), "to": up}],
        runDuration="1h",
        edits=[edit],
    )
    assert recorded(schedule) == expected
    assert [each.what for each in expected] == ["Run", "Overlap", "Overlap", "Overlap", "Overlap"]


def test_a_job_template_edited_meanwhile_is_the_next_runs(world: World) -> None:
    backlog = Backlog(world, job=HANGS)
    backlog.wait_for(active=1, waiting=4)
    world.edit("x", jobTemplate={"metadata": {"labels": {"edition": "second"}}})
    world.wait_until_seen("x")
    world.kubectl("delete", "job", *backlog.jobs(0))
    backlog.wait_for(active=1, waiting=3)
    (job,) = world.jobs("x").values()
    assert (job["metadata"]["name"], job["metadata"]["labels"]["edition"]) == (backlog.jobs(1)[0], "second")
