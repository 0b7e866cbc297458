"""Two operators share a cluster by a label of Namespaces: each slot is decided by one of them, and once."""

from __future__ import annotations

import contextlib
import math
from collections.abc import AsyncIterator

import pytest

from cronschedule.runtime.settings import parse_selector
from fakes.faults import Fault, Stream
from fakes.objects import namespace
from integration.judge import Case, judge
from integration.world import FAKE_TIME, Life, World, at, with_settings

pytestmark = [FAKE_TIME]

NORTH = "shard=north"
REST = "shard!=north"
"""Between them they match every Namespace."""


@contextlib.asynccontextmanager
async def shared(*, job_seconds: float | None = 20) -> AsyncIterator[World]:
    """A cluster with one tenant for each of the two, which have yet to begin."""
    async with World(job_seconds=job_seconds) as world:
        world.kube.add(namespace("fjord", labels={"shard": "north"}))
        world.kube.add(namespace("beach"))
        yield world


async def begin(world: World, selector: str) -> Life:
    world.settings = with_settings(namespace_selector=parse_selector(selector))
    life = world.begin_beside()
    await life.operator.ready.wait()
    return life


def move(world: World, name: str, shard: str | None) -> None:
    world.kube.edit("namespaces", None, name, {"metadata": {"labels": {"shard": shard}}})


def slots_run(world: World, name: str) -> list[int]:
    return [job.slot for job in world.story.jobs if job.slot and job.name.startswith(f"{name}-")]


async def test_each_decides_what_is_in_its_own_namespaces_and_nothing_else() -> None:
    async with shared() as world:
        cold = world.create("cold", namespace="fjord")
        warm = world.create("warm", namespace="beach")
        north, rest = await begin(world, NORTH), await begin(world, REST)
        await world.until(at(3, 30))
        await rest.kill()
        await world.until(at(6, 30))
        assert slots_run(world, "warm") == [at(1), at(2), at(3)]
        assert slots_run(world, "cold") == [at(minute) for minute in range(1, 7)]
        await north.kill()
        await begin(world, REST)
        await world.until(at(8, 30))
        assert slots_run(world, "cold") == [at(minute) for minute in range(1, 7)]
        assert judge(world.story, Case(uid=cold, created=at(0), until=at(6))) == []
        assert judge(world.story, Case(uid=warm, created=at(0), until=at(8))) == []


@pytest.mark.parametrize("moment", [-0.02, -0.005, 0.0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 5.0])
@pytest.mark.parametrize("concurrency", ["Forbid", "Allow", "Replace"])
async def test_a_namespace_changes_hands_at_any_moment_of_a_run(moment: float, concurrency: str) -> None:
    async with shared() as world:
        uid = world.create("cold", namespace="fjord", concurrencyPolicy=concurrency)
        north = await begin(world, NORTH)
        await begin(world, REST)
        await world.until(at(2) + moment)
        move(world, "fjord", None)
        await world.until(at(2, 30))
        before = north.line.writes
        await world.until(at(5, 30))
        assert north.line.writes == before, "the one that gave it away went on"
        assert slots_run(world, "cold") == [at(minute) for minute in range(1, 6)]
        assert judge(world.story, Case(uid=uid, created=at(0), until=at(5))) == []


async def test_who_takes_a_namespace_over_first_learns_what_was_decided_there() -> None:
    """Its watches are silent, its next look at all is seconds away, and no Job is left by which it could know that the
    newest slot has run."""
    async with shared(job_seconds=2) as world:
        uid = world.create("cold", namespace="fjord", successfulJobsHistoryLimit=0, concurrencyPolicy="Allow")
        await begin(world, NORTH)
        for resource in "jobs", "cronschedules":
            world.fault(Fault(action=Stream(then="silence"), verb="watch", resource=resource, times=math.inf))
        await begin(world, REST)
        await world.until(at(4, 3))
        assert world.jobs("fjord") == []
        move(world, "fjord", "south")
        await world.until(at(6, 30))
        assert slots_run(world, "cold") == [at(minute) for minute in range(1, 7)]
        assert judge(world.story, Case(uid=uid, created=at(0), until=at(6))) == []


async def test_a_backfill_is_worked_off_by_the_one_whose_namespace_it_is_in() -> None:
    async with shared() as world:
        world.create("x", "0 * * * *")
        world.backfill(at(0), at(60), schedule="nobody")
        north = await begin(world, NORTH)
        await world.until(at(0, 30))
        assert north.line.writes == 0
        await begin(world, REST)
        await world.until(at(1))
        assert world.ended() == "ScheduleNotFound"


async def test_a_namespace_that_no_selector_matches_is_left_alone() -> None:
    async with shared() as world:
        world.create("warm", namespace="beach")
        north = await begin(world, NORTH)
        await world.until(at(3))
        assert (slots_run(world, "warm"), north.line.writes) == ([], 0)
