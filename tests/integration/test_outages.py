"""The API server is away, its memory goes back in time, the operator sleeps or its clock is set: does all heal?"""

from __future__ import annotations

import asyncio
import math

import pytest

from cronschedule.api.shapes import format_time
from fakes.faults import Fault, Hang, Reset
from integration.judge import Case, judge
from integration.world import FAKE_TIME, World, at, running

pytestmark = [FAKE_TIME]


def promises_kept(world: World, uid: str, *, until: int) -> bool:
    return judge(world.story, Case(uid=uid, created=at(0), until=until)) == []


async def outage(world: World, seconds: float, *, action: object = None) -> None:
    """For so long nothing reaches the API server. What was due before is done."""
    fault = world.fault(Fault(action=action or Reset(), times=math.inf))
    world.kube.break_streams()
    await world.wait(seconds)
    world.kube.faults.remove(fault)


# The API server is away


@pytest.mark.parametrize("seconds", [1, 60, 3600], ids=["a-second", "a-minute", "an-hour"])
@pytest.mark.parametrize("action", [Reset(), Hang()], ids=["refused", "silent"])
@pytest.mark.parametrize("policy", ["FireOnce", "Skip", "CatchUp"])
async def test_an_outage_of_the_api_server_is_a_misfire_and_heals(
    policy: str, action: object, seconds: int
) -> None:
    async with running() as world:
        uid = world.create(misfirePolicy=policy, schedule="*/2 * * * *", concurrencyPolicy="Allow")
        await world.until(at(5, 59.5))
        await outage(world, seconds, action=action)
        back = world.clock.now()
        await world.until(back + 1500)
        assert promises_kept(world, uid, until=back + 1200)
        on_time = [
            job.slot
            for job in world.story.jobs
            if (job.slot or 0) > back + 120 and job.at - (job.slot or 0) < 2
        ]
        assert len(on_time) >= 3
        missed = [job.slot for job in world.story.jobs if at(6) < (job.slot or 0) <= back - 120]
        if seconds == 3600:
            assert (len(missed) > 20) is (policy == "CatchUp")


async def test_an_outage_causes_no_storm_and_what_follows_is_on_time() -> None:
    """Twenty schedules; after half an hour without a server each has at most tried once a minute."""
    async with running() as world:
        for n in range(20):
            world.create(f"x{n}")
        await world.until(at(5, 30))
        fault = Fault(action=Reset(), times=math.inf)
        world.fault(fault)
        world.kube.break_streams()
        await world.until(at(35, 30))
        tries = world.story.counts(since=at(6), until=at(35, 30))
        assert tries["create", "jobs"] + tries["get", "jobs"] <= 20 * 30 * 2
        world.kube.faults.clear()
        await world.until(at(38, 30))
        for n in range(20):
            assert world.runs(f"x{n}")[-2:] == [at(37), at(38)]


async def test_the_operator_starts_while_the_api_server_is_away() -> None:
    async with World(job_seconds=5) as world:
        uid = world.create()
        world.fault(Fault(action=Reset(), times=math.inf))
        world.begin()
        await world.until(at(5, 10))
        world.kube.faults.clear()
        await world.until(at(6, 30))
        assert promises_kept(world, uid, until=at(6))
        assert world.runs()[-1] == at(6)


# etcd goes back in time


async def restored(policy: str, *, seconds: int, restart: bool = False) -> World:
    """Backed up at 12:02:30, restored so many seconds later, with the operator running all the time or started anew."""
    async with running(job_seconds=5) as world:
        world.create(misfirePolicy=policy)
        await world.until(at(2, 30))
        backup = world.kube.backup()
        await world.wait(seconds)
        if restart:
            await world.kill()
        world.kube.restore(backup)
        if restart:
            await world.start()
        await world.wait(300)
        return world


@pytest.mark.parametrize("restart", [False, True], ids=["running", "started-anew"])
async def test_a_restored_etcd_is_noticed_and_fire_once_runs_one_slot_for_all(restart: bool) -> None:  # noqa: FBT001
    world = await restored("FireOnce", seconds=600, restart=restart)
    end = world.clock.now()
    assert world.status()["lastDecidedTime"] == format_time(end // 60 * 60)
    assert (
        len(world.runs()) - len(set(world.runs())) <= 1
    )  # the evidence of one may be gone with etcd's memory
    reasons = [reason for reason, _ in world.told()]
    assert reasons.count("Coalesced") <= 1
    assert world.runs()[-2:] == [end // 60 * 60 - 60, end // 60 * 60]


@pytest.mark.parametrize("policy", ["FireOnce", "Skip"])
async def test_a_restore_of_a_few_minutes_heals_and_runs_nothing_twice(policy: str) -> None:
    world = await restored(policy, seconds=130)
    end = world.clock.now()
    assert world.status()["lastDecidedTime"] == format_time(end // 60 * 60)
    assert world.runs()[-2:] == [end // 60 * 60 - 60, end // 60 * 60]
    assert len(set(world.runs())) == len(world.runs())


async def test_a_restore_under_catch_up_stays_within_the_caps() -> None:
    """The evidence of the runs is gone with etcd's memory, so they are caught up again; the caps hold."""
    async with running(job_seconds=5) as world:
        world.create(misfirePolicy="CatchUp", catchUp={"maxRuns": 3})
        await world.until(at(2, 30))
        backup = world.kube.backup()
        await world.until(at(30, 30))
        before = len(world.runs())
        world.kube.restore(backup)
        await world.until(at(35, 30))
        caught_up = [slot for slot in world.runs()[before:] if slot <= at(30)]
        assert len(caught_up) <= 3
        assert "CatchUpCapExceeded" in world.status()["counts"]["skipped"]
        assert world.runs()[-1] == at(35)


async def test_does_a_suspension_hold_that_was_over_and_that_a_restore_has_brought_back() -> None:
    async with running() as world:
        world.create()
        await world.until(at(1, 30))
        world.suspend_tenant()
        await world.until(at(2, 30))
        backup = world.kube.backup()
        world.resume_tenant()
        await world.until(at(5, 30))
        world.kube.restore(backup)
        await world.until(at(12, 30))
        assert world.runs()[-1] <= at(7)
        assert world.condition("Suspended")["status"] == "True"


async def test_a_schedule_that_a_restore_took_away_is_gone() -> None:
    async with running() as world:
        backup = world.kube.backup()
        world.create()
        await world.until(at(2, 30))
        world.kube.restore(backup)
        await world.until(at(10, 30))
        assert world.runs()[-1] <= at(5)
        assert world.story.counts(since=at(6))["create", "jobs"] == 0


# The clock, and sleep


async def test_a_clock_set_forward_makes_the_slots_in_between_due_within_two_seconds() -> None:
    async with running() as world:
        world.create()
        await world.until(at(1, 30))
        world.clock.step(3600)
        await world.wait(2)
        assert world.runs() == [at(1), at(61)]
        assert world.told()[-2:] == [("Coalesced", 59), ("Active", 1)]


@pytest.mark.parametrize("restart", [False, True], ids=["running", "started-anew"])
async def test_a_clock_set_back_runs_nothing_again_and_goes_on_where_the_ledger_ends(restart: bool) -> None:  # noqa: FBT001
    async with running() as world:
        world.create()
        await world.until(at(90, 30))
        runs = world.runs()
        world.clock.step(-3600)
        if restart:
            await world.kill()
            await world.start()
        written = len(world.story.statuses)
        await world.until(at(90, 30))
        assert world.runs() == runs
        assert world.status()["lastDecidedTime"] == format_time(at(90))
        assert len(world.story.statuses) == written
        await world.until(at(91, 30))
        assert world.runs() == [*runs, at(91)]


@pytest.mark.parametrize("seconds", [-60, 60], ids=["back", "forward"])
@pytest.mark.parametrize("second", [0.001, 10, 30, 59.5])
async def test_a_clock_set_by_a_minute_loses_and_repeats_nothing(seconds: int, second: float) -> None:
    async with running() as world:
        uid = world.create()
        await world.until(at(3, second))
        world.clock.step(seconds)
        await world.until(at(8, 30))
        assert world.runs() == sorted(set(world.runs()))
        assert world.runs()[-1] == at(8)
        assert promises_kept(world, uid, until=at(8))


async def test_a_clock_set_to_and_fro_by_an_hour_repeats_nothing() -> None:
    async with running() as world:
        uid = world.create()
        await world.until(at(3, 30))
        for step in (3600, -3600, 3600, -3600):
            world.clock.step(step)
            await world.wait(30)
        await world.until(at(70, 30))
        assert world.runs() == sorted(set(world.runs()))
        assert world.runs()[-1] == at(70)
        assert promises_kept(world, uid, until=at(70))


async def test_a_machine_that_slept_settles_what_was_missed_when_it_wakes() -> None:
    """The wall clock went on while nothing ran; the streams are dead without having broken."""
    async with running() as world:
        uid = world.create(misfirePolicy="CatchUp")
        await world.until(at(2, 30))
        world.clock.step(600)
        await world.until(at(12, 32))
        assert world.runs()[:3] == [at(1), at(2), at(3)]
        await world.until(at(20, 30))
        assert promises_kept(world, uid, until=at(18))


# One flight among many


async def test_a_flight_that_breaks_stops_no_other(errors: list[dict[str, object]]) -> None:
    """The server answers the Job of one schedule with nonsense."""
    async with running() as world:
        uid = world.create("bad")
        world.create("good")
        serve = world.kube.serve

        async def nonsense(call: object) -> object:
            answer = await serve(call)
            return (
                {"kind": "List"}
                if (call.verb, call.resource) == ("create", "jobs") and "bad" in call.name
                else answer
            )

        world.kube.serve = nonsense
        await world.until(at(3, 30))
        assert world.runs("good") == [at(1), at(2), at(3)]
        assert [round(job.at - (job.slot or 0)) for job in world.story.jobs if "good" in job.name] == [0] * 3
        world.kube.serve = serve
        await world.until(at(6, 30))
        assert promises_kept(world, uid, until=at(6))
    assert {line["event"] for line in errors} == {"flight.broken"}
    errors.clear()


async def test_a_slow_answer_for_one_schedule_holds_up_no_other() -> None:
    async with running() as world:
        world.create("slow")
        world.create("quick")
        world.fault(Fault(action=Hang(), verb="create", resource="jobs", name="slow-*", times=math.inf))
        await world.until(at(3, 30))
        quick = [job for job in world.story.jobs if "quick" in job.name]
        assert [round(job.at - (job.slot or 0)) for job in quick] == [0] * 3


async def test_nothing_of_the_operator_is_left_running_once_it_has_ended() -> None:
    before = asyncio.all_tasks()
    async with running() as world:
        world.create()
        await world.until(at(1, 30))
        await world.terminate()
    await asyncio.sleep(0)
    assert {task for task in asyncio.all_tasks() - before if not task.done()} == set()
