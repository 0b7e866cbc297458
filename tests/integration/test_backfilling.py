"""Backfills in a whole operator: what runs after all, what does not, what goes first, and what a person reads."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from cronschedule.core.budget import Limits
from cronschedule.core.slots import slots_of
from fakes.faults import Answer, Fault, Hang, Reset
from fakes.objects import quota
from integration.judge import Case, judge, judge_backfill
from integration.world import FAKE_TIME, NOON, World, at, with_settings

pytestmark = [FAKE_TIME]

MINUTELY = slots_of("* * * * *", "Etc/UTC")


@asynccontextmanager
async def after_an_outage(
    *, minutes: int = 5, job_seconds: float | None = 5, settings: dict[str, Any] | None = None, **spec: Any
) -> AsyncIterator[World]:
    """The slots of some minutes passed before the operator came; under Skip all but the newest were skipped."""
    async with World(job_seconds=job_seconds, settings=with_settings(**(settings or {}))) as world:
        world.create(**{"misfirePolicy": "Skip"} | spec)
        await world.until(at(minutes, 20))
        await world.start()
        await world.until(at(minutes, 30))
        yield world


def problems(world: World, *, minutes: int) -> list[str]:
    """What is wrong with the schedule `x`, all of whose slots up to that minute are decided, and its Backfills."""
    uid = world.object()["metadata"]["uid"]
    found = judge(world.story, Case(uid=uid, created=NOON, until=at(minutes)))
    for body in world.kube.objects("backfills"):
        found += judge_backfill(world.story, body["metadata"]["uid"], body, MINUTELY)
    return found


async def test_what_was_skipped_runs_oldest_first_and_what_ran_does_not() -> None:
    async with after_an_outage() as world:
        world.backfill(at(1), at(5))
        await world.until(at(7, 45))
        assert world.ended() == "Finished"
        assert world.fates() == {"Run": 4, "AlreadyRan": 1}
        assert [job.slot for job in world.story.jobs if job.backfill] == [at(1), at(2), at(3), at(4)]
        counts = world.status()["counts"]
        assert counts["backfilled"] == 4
        assert counts["skipped"]["Misfire"] == 4
        assert problems(world, minutes=7) == []


async def test_asking_twice_runs_nothing_twice_even_when_jobs_and_rows_are_gone() -> None:
    limits = {"successfulJobsHistoryLimit": 0, "runHistoryLimit": 1}
    async with after_an_outage(**limits) as world:
        world.backfill(at(1), at(5))
        await world.until(at(7, 45))
        assert world.ended() == "Finished"
        assert world.jobs() == []
        assert len(world.rows()) == 1
        world.backfill(at(1), at(5), name="twice")
        await world.until(at(8, 45))
        assert world.fates("twice") == {"AlreadyRan": 5}
        assert max(Counter(world.runs()).values()) == 1
        assert world.status()["counts"]["backfilled"] == 4


async def test_runs_of_one_second_are_counted_once_however_few_rows_are_kept() -> None:
    side_by_side = {"concurrencyPolicy": "Allow", "runHistoryLimit": 1, "successfulJobsHistoryLimit": 100}
    fast = {"catch_up": Limits(per_minute=6000, per_minute_and_namespace=6000, active=100)}
    async with after_an_outage(minutes=12, settings=fast, **side_by_side) as world:
        world.backfill(at(1), at(11), maxConcurrent=10)
        await world.until(at(15, 45))
        assert world.fates() == {"Run": 11}
        assert world.status()["counts"]["backfilled"] == 11


async def test_nothing_is_asked_or_written_once_it_is_complete() -> None:
    async with after_an_outage(schedule="*/5 * * * *", minutes=20) as world:
        world.backfill(at(5), at(20))
        await world.until(at(23))
        assert world.ended() == "Finished"
        audits = {("list", "cronschedules"), ("list", "namespaces"), ("update", "leases"), ("get", "leases")}
        told = world.story.counts(since=at(23))
        await world.until(at(24, 50))
        assert set(world.story.counts(since=at(23)) - told) <= audits


async def test_live_slots_are_on_time_beside_it() -> None:
    async with after_an_outage(concurrencyPolicy="Allow", job_seconds=200) as world:
        world.backfill(at(1), at(4), maxConcurrent=10)
        await world.until(at(9, 50))
        assert world.ended() == "Finished"
        live = [job for job in world.story.jobs if not job.backfill and job.slot and job.slot > at(5)]
        assert [job.slot for job in live] == [at(6), at(7), at(8), at(9)]
        assert all(job.at - (job.slot or 0) < 1 for job in live)


async def test_no_more_of_its_runs_are_active_than_it_says() -> None:
    async with after_an_outage(concurrencyPolicy="Allow", job_seconds=90, minutes=8) as world:
        world.backfill(at(1), at(7), maxConcurrent=2)
        most = 0
        for second in range(0, 600, 5):
            await world.until(at(8, 30 + second))
            most = max(most, len(world.backfilled().get("activeJobs", ())))
        assert most == 2
        assert world.ended() == "Finished"
        assert world.fates() == {"Run": 7}


async def test_its_pace_is_that_of_the_catch_up_budget() -> None:
    slow = {"catch_up": Limits(per_minute=6, per_minute_and_namespace=6, active=10)}
    async with after_an_outage(settings=slow, concurrencyPolicy="Allow", minutes=10) as world:
        world.backfill(at(1), at(9), maxConcurrent=10)
        await world.until(at(13, 50))
        made = [job.at for job in world.story.jobs if job.backfill]
        assert len(made) == 9
        assert min(later - sooner for sooner, later in itertools.pairwise(made)) > 9.9


async def test_it_pauses_while_the_tenant_is_suspended() -> None:
    async with after_an_outage(job_seconds=20) as world:
        world.backfill(at(1), at(5))
        await world.until(at(5, 50))
        world.suspend_tenant()
        await world.until(at(5, 55))
        begun = sum(bool(job.backfill) for job in world.story.jobs)
        assert begun == 1
        told = {each["type"]: each for each in world.backfilled()["conditions"]}
        assert told["Paused"]["status"] == "True"
        assert "suspended" in told["Paused"]["message"]
        await world.until(at(9, 30))
        assert sum(bool(job.backfill) for job in world.story.jobs) == begun
        world.resume_tenant()
        await world.until(at(12, 50))
        assert world.fates() == {"Run": 4, "AlreadyRan": 1}
        assert problems(world, minutes=12) == []


async def test_a_suspension_window_is_never_backfilled() -> None:
    async with after_an_outage() as world:
        world.suspend_tenant()
        await world.until(at(8, 30))
        world.resume_tenant()
        await world.until(at(8, 40))
        world.backfill(at(6), at(8), includeSuspended=True)
        await world.until(at(9, 50))
        assert world.fates() == {"Suspended": 3}
        assert not any(job.backfill for job in world.story.jobs)
        complete = next(each for each in world.backfilled()["conditions"] if each["type"] == "Complete")
        assert "includeSuspended" in complete["message"]


async def test_it_is_where_the_settings_allow_it() -> None:
    async with after_an_outage(settings={"backfill_suspended": True}) as world:
        world.suspend_tenant()
        await world.until(at(8, 30))
        world.resume_tenant()
        await world.until(at(8, 40))
        world.backfill(at(6), at(8), includeSuspended=True)
        world.backfill(at(6), at(8), name="not-asked-for")
        await world.until(at(10, 50))
        assert world.fates() == {"Run": 3}
        assert problems(world, minutes=10) == []


async def test_deleting_it_cancels_what_has_not_begun() -> None:
    async with after_an_outage(job_seconds=20) as world:
        uid = world.backfill(at(1), at(5))
        await world.until(at(5, 50))
        world.kube.remove("backfills", "default", "again")
        await world.until(at(8, 50))
        (only,) = [job for job in world.story.jobs if job.backfill == uid]
        assert only.slot == at(1)
        assert world.status()["counts"]["backfilled"] == 1
        row = next(row for row in world.rows() if row.get("trigger") == "Backfill")
        assert (row["job"], row["outcome"]) == (only.name, "Succeeded")


async def test_the_schedule_may_be_deleted_midway() -> None:
    async with after_an_outage(job_seconds=20) as world:
        world.backfill(at(1), at(5))
        await world.until(at(5, 50))
        world.delete()
        await world.until(at(6, 50))
        assert world.ended() == "ScheduleNotFound"
        assert world.jobs() == []
        assert len(world.story.jobs) == 2


async def test_a_schedule_made_anew_is_another_one() -> None:
    async with after_an_outage(job_seconds=20) as world:
        world.backfill(at(1), at(5))
        await world.until(at(5, 50))
        world.delete()
        await world.until(at(6, 40))
        made = len(world.story.jobs)
        world.create(misfirePolicy="Skip")
        await world.until(at(6, 55))
        assert world.ended() == "SomeRunsFailed"
        assert world.backfilled()["deleted"] == 1
        assert world.fates()["Run"] == 1
        assert world.fates()["NotRecorded"] == 4
        assert len(world.story.jobs) == made


async def test_a_failed_run_is_run_again_only_where_that_is_asked_for() -> None:
    async with after_an_outage(job_seconds=None, failedJobsHistoryLimit=5) as world:
        world.finish(at(5), succeeded=False)
        await world.until(at(5, 40))
        world.backfill(at(5), at(5))
        await world.until(at(5, 45))
        assert world.fates() == {"AlreadyRan": 1}
        world.backfill(at(5), at(5), name="rerun", onExisting="RerunFailed")
        await world.until(at(5, 55))
        assert world.fates("rerun") == {"Run": 1}
        world.finish(at(5))
        await world.until(at(6, 10))
        assert world.ended("rerun") == "Finished"
        outcomes = [row["outcome"] for row in world.rows() if row.get("job", "").endswith(str(at(5) // 60))]
        assert outcomes == ["Succeeded", "Failed"]
        assert world.status()["counts"]["failed"] == 1


async def test_a_range_to_come_is_refused_with_a_sentence() -> None:
    async with after_an_outage() as world:
        world.backfill(at(1), at(60))
        await world.until(at(5, 40))
        stalled = next(each for each in world.backfilled()["conditions"] if each["type"] == "Stalled")
        assert "spec.to" in stalled["message"]
        assert len(world.story.jobs) == 1


async def test_a_schedule_that_is_not_there_stalls_it_until_it_comes() -> None:
    async with after_an_outage() as world:
        world.backfill(at(1), at(4), schedule="later", name="early")
        await world.until(at(5, 40))
        assert world.ended("early") == "ScheduleNotFound"
        world.create("later")
        await world.until(at(5, 50))
        assert world.fates("early") == {"NotRecorded": 4}
        assert world.ended("early") == "Finished"


async def test_a_dry_run_tells_each_slot_and_runs_none() -> None:
    async with after_an_outage() as world:
        world.backfill(at(-2), at(5), dryRun=True)
        await world.until(at(5, 40))
        assert world.fates() == {"NotRecorded": 3, "WouldRun": 4, "AlreadyRan": 1}
        assert len(world.story.jobs) == 1


async def test_a_refused_job_is_a_result_and_the_next_slot_is_tried() -> None:
    async with after_an_outage(job_seconds=2) as world:
        says = "jobs.batch is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"
        world.fault(
            Fault(action=Answer(code=422, reason="Invalid", message=says), verb="create", resource="jobs")
        )
        world.backfill(at(1), at(4))
        await world.until(at(6, 50))
        assert world.fates() == {"JobRejected": 1, "Run": 3}
        assert world.ended() == "SomeNotRun"


async def test_a_quota_is_waited_for() -> None:
    async with after_an_outage(successfulJobsHistoryLimit=0) as world:
        world.kube.add(quota("none", jobs=0))
        world.backfill(at(1), at(4))
        await world.until(at(6, 20))
        assert world.fates() == {}
        world.kube.remove("resourcequotas", "default", "none")
        await world.until(at(9, 50))
        assert world.fates() == {"Run": 4}


async def test_a_failure_is_recorded_before_its_run_is_run_again() -> None:
    spec = {"concurrencyPolicy": "Allow", "failedJobsHistoryLimit": 5, "job_seconds": None}
    async with after_an_outage(**spec) as world:
        world.backfill(at(1), at(5), onExisting="RerunFailed")
        await world.until(at(5, 50))
        world.finish(at(5), succeeded=False)
        world.finish(at(1))
        await world.until(at(6, 30))
        for slot in (2, 3, 4, 5):
            world.finish(at(slot))
            await world.wait(10)
        assert world.fates() == {"Run": 5}
        told = [row["outcome"] for row in world.rows() if row.get("job", "").endswith(str(at(5) // 60))]
        assert told == ["Succeeded", "Failed"]
        assert world.status()["counts"]["failed"] == 1


async def test_a_job_whose_creation_had_no_answer_is_its_run() -> None:
    async with after_an_outage() as world:
        world.fault(Fault(action=Reset(), verb="create", resource="jobs", phase="after"))
        world.backfill(at(1), at(4))
        await world.until(at(8, 50))
        assert world.fates() == {"Run": 4}
        assert problems(world, minutes=8) == []


async def test_is_a_job_its_run_that_has_ended_before_anybody_knows_that_it_was_created() -> None:
    """Its creation gets no answer for longer than it runs, and finished Jobs are not kept."""
    async with after_an_outage(successfulJobsHistoryLimit=0) as world:
        world.fault(Fault(action=Hang(), verb="create", resource="jobs", phase="after"))
        world.backfill(at(1), at(4))
        await world.until(at(8, 50))
        assert world.fates() == {"Run": 4}
        assert problems(world, minutes=8) == []


async def test_a_server_in_trouble_is_waited_for() -> None:
    async with after_an_outage() as world:
        answer = Answer(code=503, reason="ServiceUnavailable", message="Try again.")
        world.fault(Fault(action=answer, verb="create", resource="jobs", times=3))
        world.backfill(at(1), at(4))
        await world.until(at(8, 50))
        assert world.fates() == {"Run": 4}
        assert problems(world, minutes=8) == []


async def test_two_of_one_schedule_go_one_after_the_other() -> None:
    async with after_an_outage(minutes=8) as world:
        world.backfill(at(1), at(4), name="a")
        await world.until(at(8, 31))
        world.backfill(at(3), at(7), name="b")
        await world.until(at(11, 50))
        assert world.fates("a") == {"Run": 4}
        assert world.fates("b") == {"AlreadyRan": 2, "Run": 3}
        assert problems(world, minutes=11) == []


async def test_another_schedule_is_not_delayed_by_one_that_hangs() -> None:
    async with after_an_outage() as world:
        world.create("y")
        world.backfill(at(1), at(5))
        answer = Answer(code=500, reason="InternalError", message="No.")
        world.fault(Fault(action=answer, verb="update", resource="backfills/status", times=math.inf))
        await world.until(at(8, 30))
        other = [job for job in world.story.jobs if job.name.startswith("y-")]
        assert [job.slot for job in other] == [at(6), at(7), at(8)]
        assert all(job.at - (job.slot or 0) < 1 for job in other)


async def test_what_the_caps_dropped_is_no_longer_open_once_it_has_run() -> None:
    capped = {"misfirePolicy": "CatchUp", "catchUp": {"maxRuns": 2}}
    async with after_an_outage(minutes=6, **capped) as world:
        truncated = world.condition("BacklogTruncated")
        assert truncated is not None
        dropped = world.status()["truncated"]
        assert f"--from {dropped['first']} --to {dropped['last']}" in truncated["message"]
        await world.until(at(7, 40))
        world.backfill(at(1), at(4))
        await world.until(at(10, 50))
        assert world.fates() == {"Run": 4}
        assert world.condition("BacklogTruncated") is None
        assert "truncated" not in world.status()
        assert problems(world, minutes=10) == []


async def test_what_the_caps_dropped_may_be_acknowledged() -> None:
    capped = {"misfirePolicy": "CatchUp", "catchUp": {"maxRuns": 2}}
    async with after_an_outage(minutes=6, **capped) as world:
        last = world.status()["truncated"]["last"]
        marks = {"metadata": {"annotations": {"cronschedule.dev/acknowledged-until": last}}}
        world.kube.edit("cronschedules", "default", "x", marks)
        await world.until(at(6, 40))
        assert world.condition("BacklogTruncated") is None
        assert "truncated" not in world.status()
