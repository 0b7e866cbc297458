"""Tenants and schedules are suspended and resumed while the operator runs, dies, or does not know."""

from __future__ import annotations

from itertools import pairwise

import pytest

from cronschedule.api.names import SUSPENDED_LABEL
from cronschedule.api.shapes import format_time
from fakes.faults import Delay, Fault
from fakes.objects import namespace
from integration.judge import Case, judge
from integration.world import FAKE_TIME, World, at, running

pytestmark = [FAKE_TIME]

KNOWN = 0.1
"""Seconds after which the operator must know what the API server told it, and a request under way has landed."""


async def test_while_suspended_nothing_is_written_per_slot_and_it_is_one_row_afterwards() -> None:
    async with running() as world:
        uid = world.create()
        await world.until(at(2, 30))
        world.suspend_tenant()
        await world.until(at(3, 30))
        since = world.clock.now()
        await world.until(at(63, 30))
        told = world.story.counts(since=since)
        assert {what for what in told if what[0] not in ("get", "list")} == set()
        assert "nextScheduleTime" not in world.status()
        world.resume_tenant()
        await world.until(at(63, 40))
        assert world.status()["lastDecidedTime"] == format_time(at(63, 30))
        await world.until(at(64, 30))
        assert world.told() == [("Succeeded", 1), ("Succeeded", 1), ("TenantSuspended", 61), ("Succeeded", 1)]
        assert world.reasons().count("TenantSuspended") == 1
        assert [world.reasons().count(reason) for reason in ("Suspended", "Resumed")] == [1, 1]
        case = Case(uid=uid, created=at(0), until=at(64), suspended=[(at(2, 30.5), at(63, 30))])
        assert judge(world.story, case) == []


@pytest.mark.parametrize("second", [59.9, 59.98, 59.99, 59.995, 60.0, 60.005, 60.01, 60.02, 60.1])
@pytest.mark.parametrize("policy", ["FireOnce", "CatchUp"])
async def test_a_suspension_at_the_very_slot_gives_it_one_decision(policy: str, second: float) -> None:
    async with running() as world:
        uid = world.create(misfirePolicy=policy)
        await world.until(at(1, second))
        world.suspend_tenant()
        known = world.clock.precise() + KNOWN
        await world.until(at(5, 30))
        world.resume_tenant()
        await world.until(at(7, 30))
        case = Case(uid=uid, created=at(0), until=at(7), suspended=[(known, at(5, 30))])
        assert judge(world.story, case) == []
        assert world.runs()[-2:] == [at(6), at(7)]


@pytest.mark.parametrize("policy", ["FireOnce", "Skip", "CatchUp"])
async def test_does_a_suspension_while_a_job_is_being_created_hold_back_the_next_one(policy: str) -> None:
    """The answer takes so long that another slot comes due before it, and the suspension before that."""
    async with World(job_seconds=5) as world:
        uid = world.create(misfirePolicy=policy, concurrencyPolicy="Allow")
        await world.until(at(1, 45))
        world.fault(Fault(action=Delay(25), verb="create", resource="jobs", phase="after"))
        await world.start()
        await world.until(at(1, 55))
        world.suspend_tenant()
        await world.until(at(4, 30))
        assert world.runs() == [at(1)]
        assert world.told() == [("Succeeded", 1), ("TenantSuspended", 1)]
        case = Case(uid=uid, created=at(0), until=at(2), suspended=[(at(1, 56), at(4, 30))])
        assert judge(world.story, case) == []


@pytest.mark.parametrize("second", [59.9, 59.99, 60.0, 60.01, 60.1])
async def test_a_resumption_at_the_very_slot_gives_it_one_decision(second: float) -> None:
    async with running() as world:
        uid = world.create()
        await world.until(at(1, 30))
        world.edit(suspend=True)
        await world.until(at(3, second))
        world.edit(suspend=False)
        await world.until(at(6, 30))
        assert judge(world.story, Case(uid=uid, created=at(0), until=at(6))) == []
        skipped, *runs = [(reason, count) for reason, count in world.told()[1:]]
        assert skipped[0] == "ScheduleSuspended"
        assert len(runs) + skipped[1] == 5


async def test_a_label_that_flaps_across_slots_starts_nothing_while_it_is_set_and_causes_no_storm() -> None:
    """Five times a second for five minutes."""
    async with running(latency=0.005, job_seconds=5) as world:
        uid = world.create()
        await world.until(at(0, 30.05))
        windows = []
        for flap in range(1500):
            if flap % 2:
                world.resume_tenant()
            else:
                world.suspend_tenant()
                now = world.clock.precise()
                windows.append((now + KNOWN, now + 0.199))
            await world.wait(0.2)
        await world.until(at(7, 30))
        case = Case(uid=uid, created=at(0), until=at(7), suspended=windows)
        assert judge(world.story, case) == []
        told = world.story.counts(since=at(0, 30), until=at(5, 31))
        assert told["update", "cronschedules/status"] <= 1600
        events = [event for event in world.events() if event["reason"] in ("Suspended", "Resumed")]
        assert len(events) <= 2 * 301
        assert world.runs()[-1] == at(7)


async def test_a_flapping_label_with_no_slot_near_ends_as_it_is_left() -> None:
    async with running() as world:
        world.create(schedule="50 * * * *")
        for flap in range(51):
            (world.resume_tenant if flap % 2 else world.suspend_tenant)()
            await world.wait(0.05)
        await world.wait(2)
        assert world.condition("Suspended")["status"] == "True"
        await world.until(at(55))
        assert world.runs() == []


async def test_a_tenant_suspended_while_the_operator_is_down_is_suspended_from_its_first_look() -> None:
    async with running() as world:
        uid = world.create(misfirePolicy="CatchUp")
        await world.until(at(1, 30))
        await world.kill()
        await world.until(at(3, 30))
        world.suspend_tenant()
        await world.until(at(5, 30))
        await world.start()
        await world.until(at(7, 30))
        assert world.runs() == [at(1)]
        assert world.told()[1:] == [("TenantSuspended", 4)]
        case = Case(uid=uid, created=at(0), until=at(5), suspended=[(at(3, 31), at(9))])
        assert judge(world.story, case) == []


async def test_a_tenant_resumed_while_the_operator_is_down_is_suspended_until_it_is_up() -> None:
    async with running() as world:
        uid = world.create(misfirePolicy="CatchUp")
        await world.until(at(1, 30))
        world.suspend_tenant()
        await world.until(at(2, 30))
        await world.kill()
        await world.until(at(3, 30))
        world.resume_tenant()
        await world.until(at(5, 30))
        await world.start()
        await world.until(at(7, 30))
        assert world.told() == [("Succeeded", 1), ("TenantSuspended", 4), ("Succeeded", 1), ("Succeeded", 1)]
        assert world.runs() == [at(1), at(6), at(7)]
        assert judge(world.story, Case(uid=uid, created=at(0), until=at(7))) == []


async def test_a_suspension_remembered_through_a_restart_keeps_its_beginning() -> None:
    async with running() as world:
        world.create()
        await world.until(at(1, 30))
        world.suspend_tenant()
        await world.until(at(3, 30))
        await world.kill()
        await world.until(at(4, 30))
        await world.start()
        await world.until(at(6))
        assert world.status()["suspension"]["since"] == format_time(at(1, 30))
        assert world.reasons().count("Suspended") == 1


async def test_the_tenants_reason_goes_before_the_schedules_own_while_it_lasts() -> None:
    async with running() as world:
        uid = world.create()
        await world.until(at(1, 30))
        world.edit(suspend=True)
        await world.until(at(3, 30))
        world.suspend_tenant()
        await world.until(at(5, 30))
        world.resume_tenant()
        await world.until(at(7, 30))
        world.edit(suspend=False)
        await world.until(at(8, 30))
        assert world.told() == [
            ("Succeeded", 1),
            ("ScheduleSuspended", 2),
            ("TenantSuspended", 2),
            ("ScheduleSuspended", 2),
            ("Succeeded", 1),
        ]
        assert judge(world.story, Case(uid=uid, created=at(0), until=at(8))) == []


async def test_only_the_suspended_tenant_is_suspended() -> None:
    async with running() as world:
        world.kube.add(namespace("other", labels={SUSPENDED_LABEL: "false"}))
        world.kube.add(namespace("asleep", labels={SUSPENDED_LABEL: "true"}))
        for where in ("default", "other", "asleep"):
            world.create(namespace=where)
        await world.until(at(2, 30))
        told = {where: len(world.jobs(where)) for where in ("default", "other", "asleep")}
        assert told == {"default": 2, "other": 2, "asleep": 0}


async def test_active_runs_of_a_suspended_tenant_end_in_peace_and_are_recorded() -> None:
    async with running(job_seconds=45) as world:
        world.create()
        await world.until(at(1, 10))
        world.suspend_tenant()
        await world.until(at(2, 30))
        assert world.told() == [("Succeeded", 1)]


async def test_the_moments_of_transitions_move_only_with_the_status() -> None:
    async with running() as world:
        world.create()
        await world.until(at(1, 30))
        world.suspend_tenant()
        await world.until(at(2, 30))
        world.resume_tenant()
        await world.until(at(4, 30))
        told = [
            {c["type"]: (c["status"], c["lastTransitionTime"]) for c in written.status["conditions"]}
            for written in world.story.statuses
        ]
        for before, after in pairwise(told):
            for kind in before.keys() & after.keys():
                assert (before[kind][0] == after[kind][0]) == (before[kind][1] == after[kind][1])
        suspended = dict.fromkeys(status["Suspended"] for status in told)
        moments = [
            ("False", format_time(at(0))),
            ("True", format_time(at(1, 30))),
            ("False", format_time(at(2, 30))),
        ]
        assert list(suspended) == moments
