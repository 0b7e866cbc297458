"""What the operator costs the API server when nothing goes wrong."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from cronschedule.api.shapes import format_time, parse_time
from fakes.objects import namespace
from integration.judge import Case, judge
from integration.world import FAKE_TIME, World, at, running, with_settings

pytestmark = [FAKE_TIME]

AUDIT = {("list", "namespaces"), ("list", "cronschedules")}


def without_audit(told: Counter[tuple[str, str]]) -> dict[tuple[str, str], int]:
    return {what: number for what, number in told.items() if what not in AUDIT}


@pytest.mark.parametrize("policy", ["FireOnce", "Skip", "CatchUp"])
async def test_a_run_costs_one_job_two_statuses_and_one_event(policy: str) -> None:
    async with running() as world:
        world.create(misfirePolicy=policy)
        await world.until(at(5, 30))
        told = without_audit(world.story.counts(since=at(5, 30), until=at(15, 30)))
        assert told == {}
        await world.until(at(15, 30))
        told = without_audit(world.story.counts(since=at(5, 30), until=at(15, 30)))
        assert told == {
            ("create", "jobs"): 10,
            ("update", "cronschedules/status"): 20,
            ("create", "events"): 10,
            ("delete", "jobs"): 10,
        }


async def test_a_run_whose_job_is_kept_costs_no_deletion() -> None:
    async with running() as world:
        world.create(successfulJobsHistoryLimit=100)
        await world.until(at(5, 30))
        assert world.story.counts()["delete", "jobs"] == 0
        assert len(world.jobs()) == 5


async def test_a_new_schedule_costs_one_status_and_one_mark() -> None:
    async with running() as world:
        world.create(schedule="0 0 1 1 *")
        await world.until(at(0, 30))
        told = without_audit(world.story.counts())
        assert told == {
            ("list", "jobs"): 1,
            ("list", "backfills"): 1,
            ("update", "cronschedules/status"): 1,
            ("patch", "cronschedules"): 1,
        }


async def test_where_nothing_is_due_nothing_is_asked_or_written_for_an_hour() -> None:
    async with running() as world:
        for n in range(10):
            world.create(f"x{n}", schedule="0 0 1 1 *")
        await world.until(at(1))
        await world.until(at(61))
        assert without_audit(world.story.counts(since=at(1))) == {}
        audits = world.story.counts(since=at(1))
        assert {audits[what] for what in AUDIT} == {60}


async def test_a_restart_writes_nothing_where_nothing_has_changed() -> None:
    async with running(job_seconds=5) as world:
        for n in range(10):
            world.create(f"x{n}")
        await world.until(at(3, 30))
        await world.kill()
        since = world.clock.now()
        await world.start()
        await world.until(at(3, 55))
        assert without_audit(world.story.counts(since=since)) == {
            ("list", "jobs"): 1,
            ("list", "backfills"): 1,
        }


async def test_other_peoples_labels_and_annotations_cost_nothing() -> None:
    async with running() as world:
        world.create(schedule="0 0 1 1 *")
        await world.until(at(1))
        for n in range(20):
            world.kube.edit("cronschedules", "default", "x", {"metadata": {"labels": {"n": str(n)}}})
            world.kube.edit("namespaces", None, "default", {"metadata": {"labels": {"n": str(n)}}})
            await world.wait(1)
        assert without_audit(world.story.counts(since=at(1))) == {}


async def test_a_skipped_slot_costs_one_status_and_one_event() -> None:
    """§7: one Event per row of skips. While the row grows it is a series."""
    async with running(job_seconds=None) as world:
        world.create()
        await world.until(at(1, 30))
        await world.until(at(11, 30))
        told = without_audit(world.story.counts(since=at(1, 30)))
        assert told == {
            ("update", "cronschedules/status"): 10,
            ("create", "events"): 1,
            ("patch", "events"): 9,
        }
        assert world.told() == [("Active", 1), ("Overlap", 10)]
        (event,) = [event for event in world.events() if event["reason"] == "Overlap"]
        assert event["series"]["count"] == 10
        assert parse_time(event["series"]["lastObservedTime"]) == at(11)
        assert event["note"].startswith(f"Skipped {format_time(at(2))}: Still active: x-")


async def test_a_row_that_outlives_its_event_is_told_anew() -> None:
    """Events are kept for an hour, and those of a crash are lost."""
    async with running(job_seconds=None) as world:
        world.create()
        await world.until(at(5, 30))
        for event in world.events():
            world.kube.remove("events", "default", event["metadata"]["name"])
        await world.until(at(7, 30))
        (event,) = world.events()
        assert event["note"].startswith(f"Skipped 5 slots from {format_time(at(2))} to {format_time(at(6))}")
        assert event["series"]["count"] == 6


async def test_a_thousand_schedules_of_one_minute_run_on_time_and_cost_as_much_each() -> None:
    """Twenty tenants of fifty. The fake collects no garbage meanwhile, which would take most of the time."""
    async with running(gc_seconds=86400, settings=with_settings(writers=32)) as world:
        uids = {}
        for tenant in range(20):
            world.kube.add(namespace(f"tenant-{tenant}"))
            for n in range(50):
                uids[f"tenant-{tenant}", f"x{n}"] = world.create(f"x{n}", namespace=f"tenant-{tenant}")
        await world.until(at(0, 30))
        assert world.story.counts()["update", "cronschedules/status"] == 1000
        await world.until(at(2, 30))
        told = without_audit(world.story.counts(since=at(0, 30)))
        assert told == {
            ("create", "jobs"): 2000,
            ("update", "cronschedules/status"): 4000,
            ("create", "events"): 2000,
        }
        late = [job.at - (job.slot or 0) for job in world.story.jobs]
        assert max(late) < 1  # 1,000 requests of 10 ms, 32 at a time
        for (tenant, name), uid in uids.items():
            assert world.told(name, tenant) == [("Succeeded", 1)] * 2
            assert judge(world.story_of(uid), Case(uid=uid, created=at(0), until=at(2))) == []


async def test_one_tenants_backlog_of_a_hundred_schedules_delays_nobodys_live_slots() -> None:
    async with World(job_seconds=20, gc_seconds=86400) as world:
        world.kube.add(namespace("busy"))
        for n in range(100):
            world.create(f"x{n}", namespace="busy", misfirePolicy="CatchUp")
        world.create("live")
        await world.until(at(10, 20))
        await world.start()
        await world.until(at(14, 30))
        live = [job for job in world.story.jobs if job.name.startswith("live")]
        assert [job.slot for job in live] == [at(10), at(11), at(12), at(13), at(14)]
        assert max(job.at - (job.slot or 0) for job in live[1:]) < 1
        busy = [int(job.at) for job in world.story.jobs if not job.name.startswith("live")]
        assert max(Counter(moment // 60 for moment in busy).values()) <= 60


@pytest.mark.parametrize("limit", [1, 200])
async def test_a_status_stays_small_whatever_happens(limit: int) -> None:
    """Every row of another kind than its neighbours, and refusals of the greatest length."""
    refusal = "x" * 5000
    async with World(job_seconds=5) as world:
        uid = world.create("long-" + "n" * 47, runHistoryLimit=limit)
        await world.start()
        for minute in range(1, 250):
            if minute % 2:
                world.refuse_jobs(refusal)
            await world.until(at(minute, 30))
            world.kube.faults.clear()
        final = world.story.statuses[-1].status
        assert len(final["runHistory"]) == limit
        assert max(len(json.dumps(written.status)) for written in world.story.statuses) <= 64 * 1024
        counts = final["counts"]
        assert (counts["runs"], counts["skipped"]) == (124, {"JobRejected": 125})
        assert all(len(row.get("message", "")) <= 256 for row in final["runHistory"])
        assert uid
