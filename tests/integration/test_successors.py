"""A replica that stood by with dead watches takes over: it decides by what is there, not by what it was told."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator

import pytest

from fakes.faults import Delay, Fault, Stream
from integration.judge import Case, judge
from integration.world import FAKE_TIME, Life, World, at

pytestmark = [FAKE_TIME]


class Succession(World):
    """`a` leads from the beginning; `b` stands by from `deaf_from()` on, and no watch tells it anything."""

    a: Life
    b: Life
    _dead: Fault

    async def deaf_from(self, moment: float) -> None:
        await self.until(moment)
        dead = Fault(action=Stream(after=0, then="silence"), verb="watch", times=math.inf)
        self._dead = self.fault(dead)
        self.b = self.begin_beside(replica="b")
        await self.b.operator.ready.wait()

    async def taken_over(self, *, within: float) -> None:
        async with asyncio.timeout(within):
            await self.b.operator.leading.wait()

    def hear_again(self) -> None:
        self.kube.faults.remove(self._dead)
        self.kube.break_streams()


@contextlib.asynccontextmanager
async def succession(*, job_seconds: float) -> AsyncIterator[Succession]:
    async with Succession(job_seconds=job_seconds) as world:
        world.a = world.begin_beside(replica="a")
        await world.a.operator.leading.wait()
        yield world


def promises_kept(world: World, uid: str, *, until: int) -> bool:
    return judge(world.story, Case(uid=uid, created=at(0), until=until)) == []


@pytest.mark.parametrize("second", [8, 10, 13, 28])
async def test_is_a_run_not_made_again_that_is_over_and_whose_job_is_deleted(second: int) -> None:
    """Only the status still says that the slot was run."""
    async with succession(job_seconds=1) as world:
        uid = world.create(successfulJobsHistoryLimit=0)
        await world.deaf_from(at(1, 40))
        await world.until(at(2, second))
        assert (world.runs(), world.jobs()) == ([at(1), at(2)], [])
        await world.a.kill()
        await world.taken_over(within=20)
        await world.wait(5)
        assert world.runs() == [at(1), at(2)]
        world.hear_again()
        await world.until(at(4, 30))
        assert world.runs() == [at(1), at(2), at(3), at(4)]
        assert promises_kept(world, uid, until=at(4))


async def test_is_no_run_started_beside_one_that_nobody_told_of() -> None:
    async with succession(job_seconds=100) as world:
        uid = world.create()
        await world.deaf_from(at(0, 50))
        await world.until(at(1, 30))
        await world.a.terminate()
        await world.taken_over(within=3)
        await world.until(at(2, 20))
        assert world.told() == [("Active", 1), ("Overlap", 1)]
        assert promises_kept(world, uid, until=at(2))


async def test_is_no_slot_skipped_for_a_run_whose_end_nobody_told_of() -> None:
    async with succession(job_seconds=30) as world:
        uid = world.create()
        await world.deaf_from(at(1, 15))
        await world.until(at(1, 50))
        await world.a.terminate()
        await world.taken_over(within=3)
        await world.until(at(2, 20))
        assert world.told() == [("Succeeded", 1), ("Active", 1)]
        assert promises_kept(world, uid, until=at(2))


async def test_is_a_suspension_respected_that_nobody_told_of() -> None:
    async with succession(job_seconds=20) as world:
        world.create()
        await world.deaf_from(at(1, 50))
        world.suspend_tenant()
        await world.until(at(1, 56))
        await world.a.terminate()
        await world.taken_over(within=3)
        await world.until(at(2, 30))
        assert world.runs() == [at(1)]


async def test_is_nothing_decided_before_the_successor_has_looked() -> None:
    async with succession(job_seconds=20) as world:
        world.create()
        await world.deaf_from(at(1, 50))
        world.fault(Fault(action=Delay(30), verb="list", resource="jobs"))
        await world.until(at(1, 55))
        await world.a.terminate()
        await world.until(at(2, 20))
        assert world.runs() == [at(1)]
        await world.until(at(2, 40))
        assert world.runs() == [at(1), at(2)]
