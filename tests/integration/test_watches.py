"""Watches that lie, fall silent or miss something: does the operator find out, and what happens until then?"""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from cronschedule.api.shapes import format_time
from fakes.faults import Answer, Fault, Stale, Stream
from integration.judge import Case, judge
from integration.world import FAKE_TIME, World, at, running

pytestmark = [FAKE_TIME]


def promises_kept(world: World, uid: str, *, until: int) -> bool:
    return judge(world.story, Case(uid=uid, created=at(0), until=until)) == []


def silence(world: World, resource: str, *, times: float = 1) -> None:
    """The next watches of a resource are open and say nothing; those that are open break."""
    world.fault(Fault(action=Stream(then="silence"), verb="watch", resource=resource, times=times))
    world.kube.break_streams()


# Jobs


async def test_a_job_that_ended_while_the_watch_was_silent_blocks_until_that_is_noticed() -> None:
    async with running() as world:
        uid = world.create()
        await world.until(at(1, 10))
        silence(world, "jobs")
        await world.until(at(2, 5))
        assert world.told() == [("Active", 1), ("Overlap", 1)]
        await world.until(at(3, 5))
        assert world.told() == [("Succeeded", 1), ("Overlap", 1), ("Active", 1)]
        assert promises_kept(world, uid, until=at(3))


async def test_a_job_that_ended_while_the_watch_was_silent_is_not_replaced_but_told_as_it_ended() -> None:
    async with running() as world:
        uid = world.create(concurrencyPolicy="Replace")
        await world.until(at(1, 10))
        silence(world, "jobs")
        await world.until(at(2, 5))
        assert world.runs() == [at(1), at(2)]
        assert world.told() == [("Succeeded", 1), ("Active", 1)]
        assert world.status()["counts"]["succeeded"] == 1
        assert f"x-{at(1) // 60}" in world.jobs()
        assert promises_kept(world, uid, until=at(2))


async def test_a_job_that_changed_while_the_watch_was_silent_and_still_runs_is_replaced() -> None:
    async with running(job_seconds=None) as world:
        uid = world.create(concurrencyPolicy="Replace")
        await world.until(at(1, 10))
        silence(world, "jobs")
        world.kube.edit("jobs", "default", f"x-{at(1) // 60}", {"metadata": {"labels": {"seen": "by-them"}}})
        await world.until(at(2, 5))
        assert world.told() == [("Replaced", 1), ("Active", 1)]
        assert world.jobs() == [f"x-{at(2) // 60}"]
        assert promises_kept(world, uid, until=at(2))


async def test_does_a_run_that_no_watch_told_of_block_the_next_slots() -> None:
    """The watch of Jobs is silent from before its Job was made until after it has ended."""
    async with running(job_seconds=150) as world:
        uid = world.create()
        await world.until(at(0, 50))
        silence(world, "jobs", times=math.inf)
        await world.until(at(3, 20))
        assert world.told() == [("Active", 1), ("Overlap", 2)]
        await world.until(at(8, 30))
        assert all(later - earlier >= 180 for earlier, later in pairwise(world.runs()))
        assert promises_kept(world, uid, until=at(8))


async def test_a_watch_of_jobs_that_stays_silent_delays_outcomes_but_no_slot() -> None:
    async with running() as world:
        uid = world.create(concurrencyPolicy="Allow")
        silence(world, "jobs", times=math.inf)
        await world.until(at(15, 30))
        assert [round(job.at - (job.slot or 0)) for job in world.story.jobs] == [0] * 15
        outcomes = [row["outcome"] for row in world.rows()]
        assert outcomes.count("Active") <= 3
        assert promises_kept(world, uid, until=at(15))


@pytest.mark.parametrize(
    "breaks",
    [
        pytest.param(Stream(after=1, then="reset"), id="reset"),
        pytest.param(Stream(after=1, then="truncate"), id="cut-within-an-event"),
        pytest.param(Stream(after=1, then="end"), id="ended"),
        pytest.param(Stream(then=Answer(code=410, reason="Expired")), id="expired"),
        pytest.param(Stream(then=Answer(code=500, reason="InternalError")), id="error"),
        pytest.param(Answer(code=503, reason="ServiceUnavailable"), id="unavailable"),
    ],
)
async def test_a_watch_of_jobs_that_breaks_again_and_again_makes_no_slot_late(breaks: object) -> None:
    async with running() as world:
        uid = world.create(concurrencyPolicy="Allow")
        world.fault(Fault(action=breaks, verb="watch", resource="jobs", times=12))
        world.kube.break_streams()
        await world.until(at(10, 30))
        assert [round(job.at - (job.slot or 0)) for job in world.story.jobs] == [0] * 10
        assert world.told()[:5] == [("Succeeded", 1)] * 5
        assert promises_kept(world, uid, until=at(10))


@pytest.mark.parametrize("writes", [1, 3, 6, 10])
async def test_a_first_list_of_jobs_that_is_out_of_date_breaks_no_promise(writes: int) -> None:
    """A run is active, as long as three slots; a new operator sees the Jobs of some time ago first.

    Where its Job is not among them the run is told as deleted; it blocks the next slots all the same.
    """
    async with running(job_seconds=150) as world:
        uid = world.create()
        await world.until(at(1, 30))
        await world.kill()
        world.fault(Fault(action=Stale(writes), verb="list", resource="jobs"))
        await world.start()
        await world.until(at(4, 30))
        assert world.runs() == [at(1), at(4)]
        told = world.told()
        assert told[0] in [("Succeeded", 1), ("Deleted", 1)]
        assert told[1:] == [("Overlap", 2), ("Active", 1)]
        assert promises_kept(world, uid, until=at(4))


async def test_a_job_deleted_while_nobody_watched_is_told_as_deleted() -> None:
    async with running(job_seconds=None) as world:
        uid = world.create(schedule="1 * * * *")
        await world.until(at(1, 30))
        silence(world, "jobs")
        world.kube.remove("jobs", "default", f"x-{at(1) // 60}")
        await world.until(at(4))
        assert world.told() == [("Deleted", 1)]
        assert world.status()["activeRuns"] == 0
        assert promises_kept(world, uid, until=at(4))


# CronSchedules and Namespaces


async def test_a_deletion_that_no_watch_told_of_is_found() -> None:
    async with running() as world:
        world.create(schedule="5 * * * *")
        await world.until(at(0, 30))
        silence(world, "cronschedules", times=math.inf)
        await world.wait(5)  # listed once more, and watched in vain from then on
        world.delete()
        await world.until(at(4))
        world.kube.faults.clear()
        await world.until(at(6))
        assert world.runs() == []
        assert world.story.counts(since=at(4))["create", "jobs"] == 0


async def test_a_schedule_that_no_watch_told_of_is_found() -> None:
    async with running() as world:
        silence(world, "cronschedules", times=math.inf)
        await world.wait(5)  # listed once more, and watched in vain from then on
        uid = world.create()
        await world.until(at(5, 30))
        assert world.runs()[-3:] == [at(3), at(4), at(5)]
        assert promises_kept(world, uid, until=at(5))


async def test_an_edit_that_no_watch_told_of_is_found_before_anything_is_written_over_it() -> None:
    async with running() as world:
        uid = world.create()
        await world.until(at(1, 30))
        silence(world, "cronschedules", times=math.inf)
        await world.wait(5)  # listed once more, and watched in vain from then on
        world.edit(schedule="*/4 * * * *")
        await world.until(at(2, 1))
        assert world.status()["schedule"]["expression"] == "*/4 * * * *"
        await world.until(at(6, 30))
        assert world.status()["schedule"]["expression"] == "*/4 * * * *"
        assert world.runs()[-1] == at(4)
        assert promises_kept(world, uid, until=at(6))


@pytest.mark.parametrize("resource", ["namespaces", "cronschedules"])
async def test_a_suspension_that_no_watch_told_of_is_found_within_two_minutes(resource: str) -> None:
    async with running() as world:
        world.create()
        await world.until(at(1, 30))
        silence(world, resource, times=math.inf)
        await world.wait(5)  # listed once more, and watched in vain from then on
        if resource == "namespaces":
            world.suspend_tenant()
        else:
            world.edit(suspend=True)
        await world.until(at(10, 30))
        assert world.runs()[-1] <= at(3)
        assert world.condition("Suspended")["status"] == "True"


# Others write


async def test_a_status_that_somebody_else_writes_at_the_same_time_is_read_again() -> None:
    """A foreign hand writes between the operator's reading and its writing, at every one of its writes."""
    async with running() as world:
        uid = world.create()
        done = 0
        serve = world.kube.serve

        async def meddled(call: object) -> object:
            nonlocal done
            if call.resource == "cronschedules/status" and done < 12:
                done += 1
                if done % 3:  # twice before each write that goes through
                    world.kube.edit(
                        "cronschedules", "default", "x", {"metadata": {"labels": {"n": str(done)}}}
                    )
            return await serve(call)

        world.kube.serve = meddled
        await world.until(at(5, 30))
        assert done == 12
        assert world.runs() == [at(minute) for minute in range(1, 6)]
        assert world.told() == [("Succeeded", 1)] * 5
        assert promises_kept(world, uid, until=at(5))


async def test_an_edit_between_reading_and_writing_counts_from_then_on() -> None:
    """The schedule is edited in the very moment in which a Job is created and not yet recorded."""
    async with running() as world:
        uid = world.create()
        await world.until(at(1, 59.995))
        world.edit(schedule="*/5 * * * *")
        await world.until(at(6))
        assert promises_kept(world, uid, until=at(5))
        assert world.runs()[-1] == at(5)
        assert world.status()["lastDecidedTime"] == format_time(at(5))


async def test_an_edit_that_only_the_answer_to_the_mark_shows_is_seen() -> None:
    """Edited between the first status and the mark of a schedule that is taken up, while its watch is silent."""
    async with World(job_seconds=20) as world:
        silence(world, "cronschedules", times=math.inf)
        world.create(schedule="0 0 * * *")
        serve = world.kube.serve

        async def meddled(call: object) -> object:
            if (call.verb, call.resource) == ("patch", "cronschedules"):
                world.edit(schedule="* * * * *")
            return await serve(call)

        world.kube.serve = meddled
        await world.start()
        await world.until(at(3, 30))
        assert world.runs() == [at(1), at(2), at(3)]


async def test_a_schedule_made_anew_under_its_name_within_a_second_has_no_past() -> None:
    async with running(job_seconds=100) as world:
        old = world.create()
        await world.until(at(2, 0.3))
        world.delete()
        await world.until(at(2, 0.8))
        new = world.create(schedule="*/3 * * * *")
        await world.until(at(6, 30))
        assert [job.slot for job in world.story.jobs if job.owner == new] == [at(3), at(6)]
        assert world.told() == [("Succeeded", 1), ("Active", 1)]
        assert promises_kept(world, new, until=at(6))
        assert world.status()["counts"]["runs"] == 2
        assert [job.slot for job in world.story.jobs if job.owner == old] == [at(1)]


@pytest.mark.parametrize("second", [0.0, 0.003, 0.006, 0.009, 0.012, 0.015, 0.018, 0.021, 0.024, 0.03, 0.05])
async def test_does_nothing_of_a_run_under_way_go_to_the_schedule_made_anew_in_its_middle(
    second: float,
) -> None:
    """Deleted and made anew in one instant, while a run of the old one is being created and recorded."""
    async with running(job_seconds=20) as world:
        old = world.create()
        await world.until(at(2, second))
        world.delete()
        new = world.create()
        await world.until(at(5, 30))
        assert [job.slot for job in world.story.jobs if job.owner == new] == [at(3), at(4), at(5)]
        assert {job.slot for job in world.story.jobs if job.owner == old} <= {at(1), at(2)}
        assert world.status()["counts"]["runs"] == 3
        assert judge(world.story, Case(uid=new, created=at(2), until=at(5))) == []
