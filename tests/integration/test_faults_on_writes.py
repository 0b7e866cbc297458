"""A write fails, in each way in which it can: is the end the same as if it had not?"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, Literal

import pytest

from cronschedule.api.names import ADOPTED_AT
from fakes.faults import Action, Answer, Fault, Hang, Reset
from integration.scenarios import Scenario, Told, play
from integration.world import FAKE_TIME, World, at, running

pytestmark = [FAKE_TIME]

RBAC = 'is forbidden: User "system:serviceaccount:cronschedule:operator" cannot'
QUICK = {
    "conflict": Answer(code=409, reason="Conflict", message="the object has been modified"),
    "too-many-requests": Answer(code=429, reason="TooManyRequests", retry_after=3),
    "internal-error": Answer(code=500, reason="InternalError"),
    "unavailable": Answer(code=503, reason="ServiceUnavailable"),
    "gateway-timeout": Answer(code=504, reason="Timeout"),
    "rbac-missing": Answer(code=403, reason="Forbidden", message=f"jobs.batch {RBAC} create resource"),
    "reset": Reset(),
}
WRITES = {
    "job-post": ("create", "jobs"),
    "status-put": ("update", "cronschedules/status"),
    "mark-patch": ("patch", "cronschedules"),
    "event-post": ("create", "events"),
    "job-delete": ("delete", "jobs"),
}
STORY = Scenario(spec={"schedule": "1-4 * * * *", "successfulJobsHistoryLimit": 1}, end=at(8))
"""Four runs, and time to make up for what failed at the last."""


def end_state(told: Told) -> dict[str, Any]:
    """All that is left in the end, without the moments at which runs began and ended, which a fault may move."""
    world = told.world
    moving = ("startTime", "completionTime")
    return {
        "jobs": world.jobs(),
        "rows": [{key: row[key] for key in row if key not in moving} for row in world.rows()],
        "counts": world.status()["counts"],
        "conditions": [(c["type"], c["status"], c["reason"]) for c in world.status()["conditions"]],
        "marked": ADOPTED_AT in world.object()["metadata"].get("annotations", {}),
    }


def story_of_a_fault(write: str, action: Action, **where: Any) -> list[Fault]:
    verb, resource = WRITES[write]
    return [Fault(action=action, verb=verb, resource=resource, **where)]


@pytest.mark.parametrize("failure", QUICK)
@pytest.mark.parametrize("write", WRITES)
async def test_a_write_that_fails_changes_nothing_in_the_end(write: str, failure: str) -> None:
    golden = await play(STORY)
    phases: tuple[Literal["before", "after"], ...] = (
        ("before", "after") if failure == "reset" else ("before",)
    )
    for phase in phases:
        last = golden.world.story.counts()[WRITES[write]]
        for nth, times in (1, 1), (2, 1), (2, 4), (last, 1):
            faults = story_of_a_fault(write, QUICK[failure], nth=nth, times=times, phase=phase)
            told = await play(STORY, faults=faults)
            assert faults[0].seen >= (nth if write != "mark-patch" else 1)
            assert told.problems == []
            assert told.decisions == golden.decisions
            assert end_state(told) == end_state(golden)


@pytest.mark.parametrize("phase", ["before", "after"])
@pytest.mark.parametrize("write", WRITES)
async def test_a_write_that_never_gets_an_answer_changes_nothing_in_the_end(
    write: str, phase: Literal["before", "after"]
) -> None:
    golden = await play(STORY)
    for nth in (1, 2, 3):
        told = await play(STORY, faults=story_of_a_fault(write, Hang(), nth=nth, phase=phase))
        assert told.problems == []
        assert told.decisions == golden.decisions
        assert end_state(told) == end_state(golden)


@pytest.mark.parametrize("write", ["status-put", "mark-patch", "job-delete"])
@pytest.mark.parametrize("failure", ["unavailable", "rbac-missing"])
async def test_what_cannot_be_written_for_long_makes_no_slot_late(write: str, failure: str) -> None:
    async with running() as world:
        world.kube.faults += story_of_a_fault(
            write, QUICK[failure], nth=1 if write == "mark-patch" else 2, times=math.inf
        )
        world.create(concurrencyPolicy="Allow", successfulJobsHistoryLimit=1)
        await world.until(at(10, 30))
        late = [round(job.at - (job.slot or 0), 1) for job in world.story.jobs]
        assert max(late) < 2


@pytest.mark.parametrize("failure", ["unavailable", "reset"])
async def test_an_event_that_cannot_be_posted_holds_nothing_up(failure: str) -> None:
    told = await play(STORY, faults=story_of_a_fault("event-post", QUICK[failure], times=math.inf))
    assert told.world.runs() == [at(1), at(2), at(3), at(4)]
    assert [job.at - (job.slot or 0) < 1 for job in told.world.story.jobs] == [True] * 4
    assert told.world.events() == []


@pytest.mark.parametrize("failure", ["unavailable", "reset", "too-many-requests"])
async def test_an_event_is_tried_again(failure: str) -> None:
    told = await play(STORY, faults=story_of_a_fault("event-post", QUICK[failure], times=2))
    assert [event["reason"] for event in told.world.events()] == ["RunCreated"] * 4


def waits(world: World, write: str, since: int) -> list[int]:
    """The seconds between tries of a write."""
    verb, resource = WRITES[write]
    tries = [r.at for r in world.story.requests if (r.verb, r.resource) == (verb, resource) and r.at >= since]
    return [later - earlier for earlier, later in pairwise(tries)]


@pytest.mark.parametrize("failure", QUICK)
@pytest.mark.parametrize("write", ["job-post", "status-put", "mark-patch"])
async def test_tries_come_ever_more_rarely_but_never_more_than_a_minute_apart(
    write: str, failure: str
) -> None:
    async with running() as world:
        if write != "mark-patch":
            world.create(schedule="0 * * * *", misfirePolicy="CatchUp")
        await world.until(at(59))
        if write == "mark-patch":
            world.create(schedule="0 * * * *", misfirePolicy="CatchUp")
        (fault,) = story_of_a_fault(write, QUICK[failure], times=math.inf)
        world.fault(fault)
        await world.until(at(75))
        told = waits(world, write, at(59))
        assert max(told) <= 61
        assert len(told) <= 32
        world.kube.faults.clear()
        await world.until(at(77))
        assert world.told() == [("Succeeded", 1)]
        assert len(world.runs()) == 1


async def test_retry_after_is_kept() -> None:
    async with running() as world:
        world.create()
        patience = Answer(code=429, reason="TooManyRequests", retry_after=25)
        world.fault(Fault(action=patience, verb="create", resource="jobs"))
        await world.until(at(1, 50))
        (job,) = world.story.jobs
        assert 25 <= job.at - at(1) <= 27


async def test_retry_after_is_not_kept_beyond_a_minute() -> None:
    async with running() as world:
        world.create(schedule="1 * * * *")
        patience = Answer(code=429, reason="TooManyRequests", retry_after=3600)
        world.fault(Fault(action=patience, verb="create", resource="jobs"))
        await world.until(at(3))
        (job,) = world.story.jobs
        assert job.at - at(1) <= 61
