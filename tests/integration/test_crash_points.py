"""The two crash points that `executor.py` names: what does the next operator make of what it finds?"""

from __future__ import annotations

import pytest

from cronschedule.api.shapes import format_time
from integration.judge import Case, judge
from integration.world import FAKE_TIME, Cut, World, at

pytestmark = [FAKE_TIME]

CREATED = Cut(of="POST jobs", phase="after")
"""After step 2: a Job is there, the ledger does not say so."""

RECORDED = Cut(of="POST events", phase="before")
"""After step 4: the ledger is written, no Event was sent."""


async def a_run_cut_off(cut: Cut, *, rest: int, job_seconds: float | None = 20, **spec: object) -> World:
    """Five slots are due when the operator starts; it dies at its first run, and another begins after `rest`."""
    async with World(job_seconds=job_seconds) as world:
        uid = world.create(**spec)
        await world.until(at(5, 10))
        world.begin(cut, rest=rest)
        await world.until(at(5, 58))
        assert len(world.lives) == 2
        assert judge(world.story, Case(uid=uid, created=at(0), until=at(2))) == []
        return world


@pytest.mark.parametrize(
    ("job_seconds", "outcome"),
    [pytest.param(20, "Succeeded", id="ended-meanwhile"), pytest.param(300, "Active", id="still-active")],
)
async def test_a_job_that_the_ledger_does_not_know_is_taken_for_the_run_that_it_is(
    job_seconds: int, outcome: str
) -> None:
    world = await a_run_cut_off(CREATED, rest=25, job_seconds=job_seconds)
    coalesced, run = reversed(world.rows())
    assert (coalesced["reason"], coalesced["count"]) == ("Coalesced", 4)
    assert (run["outcome"], run["trigger"]) == (outcome, "Schedule")
    assert run["standsFor"] == {"count": 5, "first": format_time(at(1))}
    assert world.status()["counts"]["runs"] == 1
    assert world.reasons() == ["Coalesced", "RunCreated"]


async def test_a_job_that_the_ledger_does_not_know_is_not_deleted_before_its_run_is_recorded() -> None:
    world = await a_run_cut_off(CREATED, rest=25, successfulJobsHistoryLimit=0)
    assert world.told() == [("Coalesced", 4), ("Succeeded", 1)]
    assert world.jobs() == []


async def test_a_backlog_goes_on_after_a_job_that_the_ledger_does_not_know() -> None:
    world = await a_run_cut_off(CREATED, rest=5, misfirePolicy="CatchUp")
    assert world.runs() == [at(1), at(2), at(3)]
    assert world.told() == [("Succeeded", 1), ("Succeeded", 1), ("Active", 1)]


async def test_a_recorded_run_whose_event_was_not_sent_stands_and_its_event_is_lost() -> None:
    world = await a_run_cut_off(RECORDED, rest=5)
    assert world.told() == [("Coalesced", 4), ("Succeeded", 1)]
    assert world.status()["counts"]["runs"] == 1
    assert world.reasons() == []
