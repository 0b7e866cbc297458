"""A Job that cannot be created: what is tried again, for how long, and what does the slot end as?"""

from __future__ import annotations

import math

import pytest

from cronschedule.api import names
from cronschedule.api.shapes import format_time
from fakes.faults import Answer, Fault, Hang, Reset, Stream
from fakes.objects import job, namespace, quota
from integration.judge import Case, judge
from integration.world import FAKE_TIME, World, at, running

pytestmark = [FAKE_TIME]

UNAVAILABLE = Answer(code=503, reason="ServiceUnavailable", message="etcd is away")
BY_HAND = {
    names.MANAGED_BY_LABEL: names.MANAGED_BY,
    names.SCHEDULE_LABEL: "x",
    names.TRIGGER_LABEL: "Manual",
}
POLICY = "jobs.batch \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"


def no_jobs(world: World, *, action: object = UNAVAILABLE, **where: object) -> Fault:
    """From now on Jobs cannot be created."""
    return world.fault(Fault(action=action, verb="create", resource="jobs", times=math.inf, **where))


def blind(world: World) -> None:
    """From now on the operator sees nothing of Jobs."""
    world.fault(Fault(action=Stream(then="silence"), verb="watch", resource="jobs", times=math.inf))
    world.fault(Fault(action=UNAVAILABLE, verb="list", resource="jobs", times=math.inf))
    world.kube.break_streams()


def promises_kept(world: World, uid: str, *, until: int) -> bool:
    return judge(world.story, Case(uid=uid, created=at(0), until=until)) == []


# The answer is lost


@pytest.mark.parametrize("watch", ["alive", "dead"])
@pytest.mark.parametrize("policy", ["FireOnce", "Skip", "CatchUp"])
@pytest.mark.parametrize("lost", [Reset(), Hang()], ids=["reset", "time-out"])
async def test_a_job_whose_answer_was_lost_is_a_run_when_the_next_slot_comes_due(
    lost: object, policy: str, watch: str
) -> None:
    async with running() as world:
        uid = world.create(misfirePolicy=policy, concurrencyPolicy="Allow")
        await world.until(at(1, 50))
        if watch == "dead":
            blind(world)
            await world.wait(5)
        world.fault(Fault(action=lost, verb="create", resource="jobs", phase="after"))
        no_jobs(world, nth=2)
        await world.until(at(3, 5))
        world.kube.faults.clear()
        await world.until(at(8))
        assert world.runs()[:3] == [at(1), at(2), at(3)]
        rows = {row["scheduledTime"]: row["outcome"] for row in world.rows()}
        assert rows[format_time(at(2))] == "Succeeded"
        assert "CreateFailed" not in world.status()["counts"].get("skipped", {})
        assert promises_kept(world, uid, until=at(6))


async def test_a_lost_answer_is_not_given_up_while_nobody_can_tell_whether_the_job_is_there() -> None:
    async with running() as world:
        uid = world.create()
        await world.until(at(1, 50))
        blind(world)
        world.fault(Fault(action=Reset(), verb="create", resource="jobs", phase="after"))
        no_jobs(world, nth=2)
        asking = world.fault(Fault(action=UNAVAILABLE, verb="get", resource="jobs", times=math.inf))
        await world.until(at(4, 30))
        assert asking.seen > 2
        assert world.status()["lastDecidedTime"] == format_time(at(1))
        world.kube.faults.clear()
        await world.until(at(8))
        assert promises_kept(world, uid, until=at(6))
        assert "Succeeded" in [
            row["outcome"] for row in world.rows() if row["scheduledTime"] == format_time(at(2))
        ]


# Given up


async def test_a_slot_is_given_up_when_its_next_one_comes_due() -> None:
    async with running(job_seconds=5) as world:
        uid = world.create()
        await world.until(at(1, 50))
        no_jobs(world)
        await world.until(at(3, 5))
        assert world.told() == [("Succeeded", 1), ("CreateFailed", 1)]
        world.kube.faults.clear()
        await world.until(at(4, 30))
        assert world.told() == [("Succeeded", 1), ("CreateFailed", 1), ("Succeeded", 1), ("Succeeded", 1)]
        assert "etcd is away" in world.rows()[2]["message"]
        assert promises_kept(world, uid, until=at(4))


async def test_a_slot_that_is_given_up_is_settled_with_those_it_stands_for() -> None:
    async with World(job_seconds=20) as world:
        uid = world.create()
        await world.until(at(5, 20))
        no_jobs(world)
        await world.start()
        await world.until(at(5, 55))
        assert world.rows() == []
        ready = world.condition("Ready")
        assert ready is not None
        assert (ready["status"], ready["reason"]) == ("True", "Retrying")
        await world.until(at(6, 5))
        assert world.told() == [("CreateFailed", 5)]
        assert world.reasons() == ["CreateFailed"]
        world.kube.faults.clear()
        await world.until(at(6, 55))
        assert world.told() == [("CreateFailed", 5), ("Succeeded", 1)]
        assert "standsFor" not in world.rows()[0]
        assert promises_kept(world, uid, until=at(6))


async def test_a_slot_that_is_tried_for_longer_than_its_staleness_is_given_up() -> None:
    async with running() as world:
        world.create(schedule="0 * * * *", maxStaleness="5m")
        await world.until(at(59, 50))
        no_jobs(world)
        await world.until(at(65))
        assert world.rows() == []
        await world.until(at(65, 3))
        assert world.told() == [("CreateFailed", 1)]
        assert world.runs() == []


async def test_under_catch_up_the_next_slot_does_not_end_the_tries() -> None:
    async with running() as world:
        uid = world.create(misfirePolicy="CatchUp")
        await world.until(at(0, 50))
        no_jobs(world)
        await world.until(at(6, 30))
        assert world.rows() == []
        backlog = world.status()["backlog"]
        assert (backlog["waiting"], backlog["oldest"]) == (6, format_time(at(1)))
        world.kube.faults.clear()
        await world.until(at(12))
        assert world.runs() == [at(minute) for minute in range(1, 12)]
        assert promises_kept(world, uid, until=at(11))


# A quota


async def test_without_room_in_the_quota_a_slot_is_skipped_at_once() -> None:
    async with running() as world:
        uid = world.create(maxStaleness="10m")
        world.kube.add(quota("none", jobs=0))
        await world.until(at(2, 5))
        assert world.told() == [("QuotaExhausted", 2)]
        assert world.story.counts()["create", "jobs"] == 2
        assert promises_kept(world, uid, until=at(2))


async def test_under_catch_up_a_slot_waits_for_room_in_the_quota_and_runs() -> None:
    async with running() as world:
        uid = world.create(schedule="*/30 * * * *", misfirePolicy="CatchUp")
        world.kube.add(quota("none", jobs=0))
        await world.until(at(45))
        assert world.rows() == []
        world.kube.remove("resourcequotas", "default", "none")
        await world.until(at(46, 30))
        assert world.told() == [("Succeeded", 1)]
        assert promises_kept(world, uid, until=at(45))


async def test_under_catch_up_a_slot_that_waited_too_long_for_room_ends_as_that() -> None:
    async with running() as world:
        uid = world.create(schedule="*/30 * * * *", misfirePolicy="CatchUp", maxStaleness="20m")
        world.kube.add(quota("none", jobs=0))
        await world.until(at(50, 3))
        assert world.told() == [("QuotaExhausted", 1)]
        assert world.status()["counts"]["skipped"] == {"QuotaExhausted": 1}
        assert 20 <= world.story.counts()["create", "jobs"] <= 40
        assert promises_kept(world, uid, until=at(50))


# Refused for good


@pytest.mark.parametrize(
    ("refusal", "ready"),
    [
        pytest.param(Answer(code=422, reason="Invalid", message="spec.template: no"), "False", id="invalid"),
        pytest.param(Answer(code=422, reason="Invalid", message=POLICY), "True", id="denied-by-a-policy"),
        pytest.param(
            Answer(code=400, message='admission webhook "w" denied the request: no'),
            "True",
            id="denied-by-a-webhook",
        ),
    ],
)
async def test_a_job_that_is_refused_for_good_is_not_tried_again(refusal: Answer, ready: str) -> None:
    async with running() as world:
        world.create(schedule="*/30 * * * *")
        no_jobs(world, action=refusal)
        await world.until(at(45))
        assert world.told() == [("JobRejected", 1)]
        assert refusal.message in world.rows()[0]["message"]
        assert world.story.counts()["create", "jobs"] == 1
        told = world.condition("Ready")
        assert told is not None
        assert told["status"] == ready


async def test_a_webhook_that_cannot_be_asked_is_tried_again() -> None:
    away = 'Internal error occurred: failed calling webhook "w": connection refused'
    async with running() as world:
        world.create(schedule="*/30 * * * *")
        world.fault(Fault(action=Answer(code=500, message=away), verb="create", resource="jobs", times=5))
        await world.until(at(35))
        assert world.told() == [("Succeeded", 1)]


async def test_a_foreign_object_of_the_jobs_name_is_left_alone() -> None:
    async with running() as world:
        world.create()
        name = f"x-{at(1) // 60}"
        foreign = world.kube.add(job(name))
        await world.until(at(1, 5))
        assert world.told() == [("NameConflict", 1)]
        (kept,) = world.kube.objects("jobs")
        assert kept["metadata"]["uid"] == foreign["metadata"]["uid"]


async def test_a_namespace_that_is_going_gets_no_jobs_and_causes_no_storm() -> None:
    """Some wait for room in a quota, some for a run to end, one has a slot that comes due."""
    async with running(gc_seconds=60) as world:
        world.kube.add(namespace("doomed"))
        world.kube.add(quota("none", namespace="doomed", jobs=0))
        for n in range(5):
            world.create(f"waits-{n}", namespace="doomed", misfirePolicy="CatchUp")
        world.create("on-time", namespace="doomed")
        await world.until(at(3, 55))
        world.kube.remove("namespaces", None, "doomed")
        since = world.clock.now()
        await world.until(at(4, 50))
        told = world.story.counts(since=since)
        assert told["create", "jobs"] == 0
        assert told["update", "cronschedules/status"] <= 6
        await world.until(at(10))
        assert world.kube.find("namespaces", None, "doomed") is None
        assert world.story.counts(since=at(5, 10))["create", "jobs"] == 0


# A run is replaced that is not on record yet


@pytest.mark.parametrize("started", ["by its slot", "by hand"])
async def test_a_run_that_no_status_tells_of_is_recorded_before_its_job_is_deleted_for_the_next(
    started: str,
) -> None:
    """Statuses cannot be written for a while, and then, in the moment after the deletion, no Job can be created."""
    async with running(job_seconds=None) as world:
        uid = world.create(concurrencyPolicy="Replace")
        await world.until(at(0, 50))
        unwritable = world.fault(
            Fault(action=UNAVAILABLE, verb="update", resource="cronschedules/status", times=math.inf)
        )
        if started == "by hand":
            world.kube.add(job("x-manual-1", owner=world.object(), labels=BY_HAND))
        await world.until(at(1, 50))
        first = world.jobs()
        await world.until(at(2, 20))
        assert set(first) <= set(world.jobs())
        no_jobs(world)
        world.kube.faults.remove(unwritable)
        await world.wait(25)
        await world.kill()
        world.kube.faults.clear()
        await world.start()
        await world.until(at(4, 30))
        told = {row.get("job"): row["outcome"] for row in world.rows()}
        assert {told[name] for name in first} <= {"Replaced", "Deleted"}
        broken = judge(world.story, Case(uid=uid, created=at(0), until=at(4)))
        assert [sentence for sentence in broken if "x-manual-1" not in sentence] == []  # it is for no slot
