"""RBAC taken away and given back verb by verb, the CRD gone and back: does it heal, with no slot lost or run twice?"""

from __future__ import annotations

import math

import pytest

from fakes.faults import Answer, Fault, Stream
from integration.judge import Case, judge
from integration.world import FAKE_TIME, World, at, running

pytestmark = [FAKE_TIME]

FORBIDDEN = Answer(
    code=403,
    reason="Forbidden",
    message='jobs.batch is forbidden: User "cronschedule" cannot create resource "jobs"',
)
NO_SUCH_KIND = Answer(code=404, reason="NotFound", message="the server could not find the requested resource")

RIGHTS = [
    ("create", "jobs"),
    ("list", "jobs"),
    ("watch", "jobs"),
    ("delete", "jobs"),
    ("list", "cronschedules"),
    ("watch", "cronschedules"),
    ("patch", "cronschedules"),
    ("update", "cronschedules/status"),
    ("list", "namespaces"),
    ("watch", "namespaces"),
    ("create", "events"),
]


def taken_away(world: World, verb: str, resource: str, action: Answer = FORBIDDEN) -> Fault:
    world.kube.break_streams()
    return world.fault(Fault(action=action, verb=verb, resource=resource, times=math.inf))


def promises_kept(world: World, uid: str, *, until: int) -> list[str]:
    return judge(world.story, Case(uid=uid, created=at(0), until=until))


@pytest.mark.parametrize("policy", ["FireOnce", "CatchUp"])
@pytest.mark.parametrize(("verb", "resource"), RIGHTS)
async def test_does_a_right_taken_away_and_given_back_cost_no_slot_its_record(
    verb: str, resource: str, policy: str
) -> None:
    """Meanwhile a schedule is new, and the operator is started anew."""
    async with running() as world:
        uid = world.create(misfirePolicy=policy)
        await world.until(at(2, 30))
        fault = taken_away(world, verb, resource)
        await world.until(at(3, 30))
        new = world.create("new", misfirePolicy=policy)
        await world.until(at(5, 30))
        await world.kill()
        world.begin()
        await world.until(at(7, 30))
        world.kube.faults.remove(fault)
        assert fault.seen, "nobody asked for it"
        await world.until(at(16, 50))
        assert promises_kept(world, uid, until=at(16)) == []
        assert judge(world.story, Case(uid=new, created=at(3, 30), until=at(16))) == []
        late = [slot for slot in range(at(11), at(17), 60) if slot not in world.runs()]
        assert late == []


@pytest.mark.parametrize(("verb", "resource"), [("create", "jobs"), ("update", "cronschedules/status")])
async def test_does_a_missing_right_cause_no_storm(verb: str, resource: str) -> None:
    async with running() as world:
        world.create()
        await world.until(at(2, 30))
        taken_away(world, verb, resource)
        await world.until(at(12, 30))
        counts = world.story.counts(since=at(4), until=at(12))
        assert counts[verb, resource] <= 8 * 8
        skipped = {row["reason"] for row in world.rows() if row["outcome"] == "Skipped"}
        assert skipped == ({"CreateFailed"} if resource == "jobs" else set())


async def test_does_a_schedule_without_rights_hold_up_no_other() -> None:
    async with running() as world:
        world.create("x")
        world.create("y", namespace="default")
        await world.until(at(1, 30))
        world.fault(Fault(action=FORBIDDEN, verb="create", resource="jobs", name="x-*", times=math.inf))
        await world.until(at(6, 30))
        assert world.runs("y") == [at(minute) for minute in range(1, 7)]
        assert world.runs("x") == [at(1)]


@pytest.mark.parametrize("seconds", [1, 60, 600])
async def test_does_a_crd_that_is_gone_for_a_while_cost_no_slot_its_record(seconds: int) -> None:
    """Its objects are there when it is back, as with an upgrade that goes wrong half-way."""
    async with running() as world:
        uid = world.create()
        await world.until(at(2, 59))
        faults = [
            taken_away(world, "*", resource, NO_SUCH_KIND)
            for resource in ("cronschedules", "cronschedules/status")
        ]
        await world.wait(seconds)
        for fault in faults:
            world.kube.faults.remove(fault)
        world.kube.break_streams()
        back = world.clock.now()
        await world.until(back + 600)
        assert promises_kept(world, uid, until=back + 540) == []


@pytest.mark.parametrize("second", [59.9, 0.0, 0.005, 0.012, 0.02, 0.5])
async def test_does_a_namespace_deleted_in_a_tick_end_in_peace(second: float) -> None:
    async with running() as world:
        world.create()
        await world.until(at(1, 0) + (second - 60 if second > 30 else second))
        world.kube.remove("namespaces", None, "default")
        await world.until(at(2))
        quiet = len(world.story.requests)
        await world.until(at(10))
        writes = [r for r in world.story.requests[quiet:] if r.verb not in ("list", "watch", "get")]
        assert writes == []


async def test_is_a_watch_that_ends_at_once_again_and_again_no_storm() -> None:
    async with running() as world:
        uid = world.create()
        world.fault(Fault(action=Stream(then="end"), verb="watch", resource="jobs", times=math.inf))
        world.kube.break_streams()
        await world.until(at(10, 30))
        watches = [r for r in world.story.requests if (r.verb, r.resource) == ("watch", "jobs")]
        assert len(watches) < 120
        assert promises_kept(world, uid, until=at(10)) == []
