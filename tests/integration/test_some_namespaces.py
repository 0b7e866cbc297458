"""Some namespaces only, with Roles: others are left alone, and one that may not be read holds up no other."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cronschedule.core.budget import Limits
from cronschedule.runtime.health import Health
from fakes.faults import Answer, Delay, Fault
from fakes.objects import namespace
from integration.judge import Case, judge
from integration.world import FAKE_TIME, World, at, with_settings

pytestmark = [FAKE_TIME]

LISTED = ("team-a", "team-b")
KNOWN = 5.2
"""Seconds after which the operator must know a label: it looks every 5 s, and a request under way has landed."""

FORBIDDEN = Answer(code=403, reason="Forbidden", message='User "cronschedule" cannot do this here')


@contextlib.asynccontextmanager
async def some(*, job_seconds: float | None = 20, **settings: Any) -> AsyncIterator[World]:
    """A cluster with an operator for two of its three tenants, which has yet to begin, and has Roles in these."""
    async with World(job_seconds=job_seconds, settings=with_settings(namespaces=LISTED, **settings)) as world:
        for name in (*LISTED, "team-c"):
            world.kube.add(namespace(name))
        world.fault(Fault(action=FORBIDDEN, resource="[cjb]*", namespace="", times=math.inf))
        world.fault(Fault(action=FORBIDDEN, verb="list", resource="namespaces", times=math.inf))
        world.fault(Fault(action=FORBIDDEN, verb="watch", resource="namespaces", times=math.inf))
        world.fault(Fault(action=FORBIDDEN, namespace="team-c", times=math.inf))
        world.fault(Fault(action=FORBIDDEN, resource="namespaces", name="team-c", times=math.inf))
        yield world


def denied(world: World) -> int:
    """How often the operator asked for what Roles in its namespaces do not allow."""
    return sum(fault.seen for fault in world.kube.faults)


def role_taken(world: World, name: str) -> list[Fault]:
    """Whoever has no RoleBinding in a namespace may do nothing there, nor see it. Watches break off."""
    faults = [
        world.fault(Fault(action=FORBIDDEN, namespace=name, times=math.inf)),
        world.fault(Fault(action=FORBIDDEN, resource="namespaces", name=name, times=math.inf)),
    ]
    world.kube.break_streams()
    return faults


def given_back(world: World, faults: list[Fault]) -> None:
    for fault in faults:
        world.kube.faults.remove(fault)


def minutes(first: int, last: int) -> list[int]:
    return [at(minute) for minute in range(first, last + 1)]


async def test_does_it_look_after_its_namespaces_and_leave_others_alone() -> None:
    async with some() as world:
        uids = [world.create(name, namespace=f"team-{name}") for name in "abc"]
        await world.start()
        await world.until(at(10, 30))
        assert [world.runs(name) for name in "abc"] == [minutes(1, 10), minutes(1, 10), []]
        assert world.status("c", "team-c") == {"observedGeneration": -1}
        assert denied(world) == 0
        for uid in uids[:2]:
            assert judge(world.story, Case(uid=uid, created=at(0), until=at(10))) == []


@pytest.mark.parametrize("second", [54.0, 59.9, 0.0, 0.1])
async def test_is_a_tenant_suspended_and_resumed_though_no_watch_tells_of_it(second: float) -> None:
    async with some() as world:
        uid = world.create("a", namespace="team-a", misfirePolicy="CatchUp")
        other = world.create("b", namespace="team-b")
        await world.start()
        await world.until(at(2) + second)
        world.suspend_tenant("team-a")
        known = round(world.clock.precise() + KNOWN)
        await world.until(at(10, 30))
        world.resume_tenant("team-a")
        await world.until(at(13, 30))
        case = Case(uid=uid, created=at(0), until=at(13), suspended=[(known, at(10, 30))])
        assert judge(world.story, case) == []
        assert [reason for reason, _ in world.told("a", "team-a")].count("TenantSuspended") == 1
        assert world.runs("a")[-3:] == minutes(11, 13)
        assert world.runs("b") == minutes(1, 13)
        assert judge(world.story, Case(uid=other, created=at(0), until=at(13))) == []


@pytest.mark.parametrize("restart", [False, True], ids=["running", "started-anew"])
async def test_does_a_namespace_without_its_role_hold_up_no_other_and_lose_no_slot(*, restart: bool) -> None:
    async with some() as world:
        uid, other = world.create("b", namespace="team-b"), world.create("a", namespace="team-a")
        await world.start()
        await world.until(at(3, 30))
        taken = role_taken(world, "team-b")
        if restart:
            await world.kill()
            await world.start()
        since = world.clock.now()
        await world.until(at(20, 30))
        assert world.runs("a") == minutes(1, 20)
        assert world.runs("b") == minutes(1, 3)
        assert world.story.counts(since=since)["get", "cronschedules"] == 0
        given_back(world, taken)
        await world.until(at(24, 30))
        assert world.runs("b") == [*minutes(1, 3), *minutes(20, 24)]
        assert world.told("b", "team-b")[3:5] == [("Coalesced", 16), ("Succeeded", 1)]
        for each in (uid, other):
            assert judge(world.story, Case(uid=each, created=at(0), until=at(24))) == []


@pytest.mark.parametrize(
    ("verb", "resource"),
    [
        ("list", "cronschedules"),
        ("watch", "cronschedules"),
        ("get", "cronschedules"),
        ("update", "cronschedules/status"),
        ("list", "jobs"),
        ("watch", "jobs"),
        ("create", "jobs"),
        ("list", "backfills"),
        ("get", "namespaces"),
    ],
)
async def test_does_a_right_missing_in_one_namespace_hold_up_no_other(verb: str, resource: str) -> None:
    """Whoever administers a namespace may take it away there. Meanwhile the operator is started anew."""
    async with some() as world:
        uid, other = world.create("b", namespace="team-b"), world.create("a", namespace="team-a")
        await world.start()
        await world.until(at(2, 30))
        where = {"name": "team-b"} if resource == "namespaces" else {"namespace": "team-b"}
        taken = world.fault(Fault(action=FORBIDDEN, verb=verb, resource=resource, times=math.inf, **where))
        world.kube.break_streams()
        await world.until(at(6, 30))
        await world.kill()
        await world.start()
        await world.until(at(12, 30))
        assert world.runs("a") == minutes(1, 12)
        given_back(world, [taken])
        await world.until(at(24, 50))
        assert world.runs("a") == minutes(1, 24)
        assert world.runs("b")[-4:] == minutes(21, 24)
        for each in (uid, other):
            assert judge(world.story, Case(uid=each, created=at(0), until=at(24))) == []


@pytest.mark.parametrize("since", ["the-beginning", "later"])
async def test_is_an_operator_not_ill_that_may_do_nothing_in_one_namespace(since: str) -> None:
    """A new start would help nobody, and stop the others."""
    async with some() as world:
        if since == "the-beginning":
            role_taken(world, "team-b")
        life = await world.start()
        await world.until(at(2, 30))
        if since == "later":
            role_taken(world, "team-b")
        await world.until(at(20))
        assert Health(life.operator, world.clock).ailments() == []


async def test_does_an_operator_that_begins_know_of_an_active_run_before_it_decides() -> None:
    """Lists of Jobs take long."""
    async with some(job_seconds=None) as world:
        world.create("b", namespace="team-b")
        await world.start()
        await world.until(at(1, 50))
        await world.kill()
        world.fault(Fault(action=Delay(20), verb="list", resource="jobs", namespace="team-b", times=math.inf))
        world.begin()
        await world.until(at(2, 40))
        assert world.told("b", "team-b") == [("Active", 1), ("Overlap", 1)]


@pytest.mark.parametrize("how", ["finished", "deleted"])
async def test_is_a_run_no_blocker_that_ended_while_its_namespace_could_not_be_read(how: str) -> None:
    """No watch tells of its end."""
    async with some(job_seconds=None) as world:
        world.create("b", namespace="team-b")
        await world.start()
        await world.until(at(1, 30))
        taken, job = role_taken(world, "team-b"), f"b-{at(1) // 60}"
        if how == "finished":
            world.kube.finish("team-b", job)
        else:
            world.kube.remove("jobs", "team-b", job)
        await world.until(at(4, 30))
        given_back(world, taken)
        world.fault(
            Fault(action=FORBIDDEN, verb="watch", resource="jobs", namespace="team-b", times=math.inf)
        )
        await world.until(at(4, 40))
        assert world.runs("b") == [at(1), at(4)]


async def test_does_a_run_whose_namespace_cannot_be_read_keep_its_place_in_nobodys_budget() -> None:
    """One run may catch up at a time, and it never ends."""
    budget = Limits(per_minute=60, per_minute_and_namespace=60, active=1)
    async with some(job_seconds=None, catch_up=budget) as world:
        for name in "ab":
            world.create(name, namespace=f"team-{name}", misfirePolicy="CatchUp")
        await world.until(at(5, 10))
        await world.start()
        await world.until(at(5, 50))
        (first,) = (name for name in "ab" if world.runs(name))
        (other,) = {"a", "b"} - {first}
        role_taken(world, f"team-{first}")
        await world.until(at(6, 50))
        assert world.runs(other) == [at(1)]


async def test_does_a_schedule_run_no_more_that_was_deleted_while_its_namespace_could_not_be_read() -> None:
    async with some() as world:
        world.create("b", namespace="team-b")
        await world.start()
        await world.until(at(1, 30))
        taken = role_taken(world, "team-b")
        world.kube.remove("cronschedules", "team-b", "b")
        await world.until(at(4, 30))
        given_back(world, taken)
        world.fault(Fault(action=FORBIDDEN, verb="watch", namespace="team-b", times=math.inf))
        await world.until(at(7, 30))
        assert world.runs("b") == [at(1)]


async def test_is_a_namespace_that_was_deleted_and_made_anew_looked_after_again() -> None:
    async with some() as world:
        world.create("b", namespace="team-b")
        other = world.create("a", namespace="team-a")
        await world.start()
        await world.until(at(2, 30))
        world.kube.remove("namespaces", None, "team-b")
        taken = role_taken(world, "team-b")
        await world.until(at(5, 30))
        world.kube.add(namespace("team-b"))
        given_back(world, taken)
        uid = world.create("b", namespace="team-b")
        made = world.clock.now()
        await world.until(at(9, 30))
        assert world.runs("a") == minutes(1, 9)
        assert world.runs("b")[-3:] == minutes(7, 9)
        assert judge(world.story, Case(uid=uid, created=made, until=at(9))) == []
        assert judge(world.story, Case(uid=other, created=at(0), until=at(9))) == []


async def test_does_a_standby_take_over_though_one_namespace_may_not_be_read() -> None:
    async with some() as world:
        other = world.create("a", namespace="team-a")
        first = world.begin_beside(replica="1")
        await first.operator.leading.wait()
        second = world.begin_beside(replica="2")
        await world.until(at(2, 30))
        role_taken(world, "team-b")
        await first.terminate()
        async with asyncio.timeout(30):
            await second.operator.leading.wait()
        await world.until(at(6, 30))
        assert world.runs("a") == minutes(1, 6)
        assert judge(world.story, Case(uid=other, created=at(0), until=at(6))) == []


async def test_is_a_suspension_known_at_the_moment_of_taking_over() -> None:
    """The standby last looked a second before the label was set."""
    async with some() as world:
        uid = world.create("a", namespace="team-a")
        first = world.begin_beside(replica="1")
        await world.until(at(2, 2))
        second = world.begin_beside(replica="2")
        await world.until(at(2, 58))
        await first.terminate()
        world.suspend_tenant("team-a")
        async with asyncio.timeout(2.1):
            await second.operator.leading.wait()
        await world.until(at(6, 30))
        case = Case(uid=uid, created=at(0), until=at(2), suspended=[(at(2, 58), at(6, 30))])
        assert judge(world.story, case) == []
        assert world.runs("a") == minutes(1, 2)
