"""What the answer to a Job's creation means for its slot (semantics.md §3 rule 6)."""

from __future__ import annotations

from typing import Any

import pytest

from cronschedule.api.reasons import SkipReason
from cronschedule.core.facts import Start
from cronschedule.core.jobs import Owner
from cronschedule.core.spec import Schedulable, read_schedulable
from cronschedule.runtime.job_calls import Attempt, Created, Postponed, Refused, create_run
from fakes.clock import LoopClock
from fakes.faults import Action, Answer, Fault, Reset
from fakes.kube import FakeKube
from fakes.objects import cron_schedule, job

pytestmark = [pytest.mark.looptime]

NOON = 1_800_014_400
NAME = f"x-{NOON // 60}"
START = Start(slot=NOON, trigger="Schedule", first=NOON, count=1)
QUOTA = 'jobs.batch "x" is forbidden: exceeded quota: q, requested: count/jobs.batch=1'
RBAC = 'jobs.batch is forbidden: User "operator" cannot create resource "jobs"'
WEBHOOK = 'admission webhook "w" denied the request: no'


def a_cluster() -> tuple[FakeKube, Owner]:
    kube = FakeKube(clock=LoopClock(NOON))
    made = kube.add(cron_schedule("x"))
    return kube, Owner(namespace="default", name="x", uid=made["metadata"]["uid"])


async def create(kube: FakeKube, owner: Owner, **spec: Any) -> Attempt:
    read = read_schedulable(cron_schedule("x", **spec)["spec"], unknown="ignore")
    assert isinstance(read, Schedulable)
    return await create_run(kube, owner, read.spec, START, replaced=[])


async def test_a_job_is_created() -> None:
    kube, owner = a_cluster()
    attempt = await create(kube, owner)
    assert isinstance(attempt, Created)
    assert (attempt.job.name, attempt.job.slot, attempt.job.owner_uid) == (NAME, NOON, owner.uid)


async def test_the_job_of_an_earlier_try_is_taken() -> None:
    kube, owner = a_cluster()
    first, second = await create(kube, owner), await create(kube, owner)
    assert isinstance(first, Created)
    assert isinstance(second, Created)
    assert first.job.uid == second.job.uid


async def test_a_job_of_another_owner_is_a_conflict_and_left_alone() -> None:
    kube, owner = a_cluster()
    foreign = kube.add(job(NAME))
    attempt = await create(kube, owner)
    assert isinstance(attempt, Refused)
    assert attempt.reason == SkipReason.NAME_CONFLICT
    kept = kube.find("jobs", "default", NAME)
    assert kept is not None
    assert kept["metadata"]["uid"] == foreign["metadata"]["uid"]


async def test_the_job_that_a_schedule_of_the_same_name_had_before_is_not_taken() -> None:
    """Deleted and made anew: the old one's Jobs may still be there."""
    kube, owner = a_cluster()
    former = Owner(namespace="default", name="x", uid="another")
    assert isinstance(await create(kube, former), Created)
    attempt = await create(kube, owner)
    assert isinstance(attempt, Refused)
    assert attempt.reason == SkipReason.NAME_CONFLICT


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param(
            Answer(code=403, reason="Forbidden", message=QUOTA), SkipReason.QUOTA_EXHAUSTED, id="quota"
        ),
        pytest.param(Answer(code=422, reason="Invalid", message="no"), SkipReason.JOB_REJECTED, id="invalid"),
        pytest.param(
            Answer(code=400, reason="BadRequest", message="no"), SkipReason.JOB_REJECTED, id="malformed"
        ),
        pytest.param(Answer(code=400, message=WEBHOOK), SkipReason.JOB_REJECTED, id="webhook"),
        pytest.param(Answer(code=404, reason="NotFound"), SkipReason.JOB_REJECTED, id="no-namespace"),
    ],
)
async def test_a_refusal_is_final(answer: Answer, reason: SkipReason) -> None:
    kube, owner = a_cluster()
    kube.faults.append(Fault(action=answer, verb="create", resource="jobs"))
    attempt = await create(kube, owner)
    assert isinstance(attempt, Refused)
    assert attempt.reason == reason


@pytest.mark.parametrize(
    ("action", "unsure"),
    [
        pytest.param(Reset(), True, id="reset"),
        pytest.param(Answer(code=500), True, id="internal-error"),
        pytest.param(Answer(code=504), True, id="gateway-timeout"),
        pytest.param(Answer(code=429, retry_after=7), False, id="too-many-requests"),
        pytest.param(Answer(code=409, reason="Conflict"), False, id="conflict"),
        pytest.param(Answer(code=403, reason="Forbidden", message=RBAC), False, id="rbac"),
    ],
)
async def test_what_may_heal_is_postponed_and_says_whether_the_job_may_be_there(
    action: Action, *, unsure: bool
) -> None:
    kube, owner = a_cluster()
    kube.faults.append(Fault(action=action, verb="create", resource="jobs"))
    attempt = await create(kube, owner)
    assert isinstance(attempt, Postponed)
    assert (attempt.reason, attempt.unsure) == (SkipReason.CREATE_FAILED, unsure)
    assert attempt.retry_after == getattr(action, "retry_after", None)


async def test_under_catch_up_a_full_quota_is_waited_for() -> None:
    kube, owner = a_cluster()
    answer = Answer(code=403, reason="Forbidden", message=QUOTA)
    kube.faults.append(Fault(action=answer, verb="create", resource="jobs"))
    attempt = await create(kube, owner, misfirePolicy="CatchUp")
    assert isinstance(attempt, Postponed)
    assert attempt.reason == SkipReason.QUOTA_EXHAUSTED
