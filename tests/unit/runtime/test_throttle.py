"""The catch-up budget in time: turns come when they are due, and nothing spins meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from cronschedule.core.budget import Key, Limits
from cronschedule.runtime.throttle import LOOK_AGAIN, Throttle
from fakes.clock import LoopClock

pytestmark = [pytest.mark.looptime(noop_cycles=0)]

X, Y, Z = ("n", "x"), ("n", "y"), ("m", "z")
LIMITS = Limits(per_minute=60, per_minute_and_namespace=30, active=3)


class Turns:
    """A throttle whose turns are written down with their moments, in seconds since it began."""

    def __init__(self, limits: Limits) -> None:
        self.active = 0
        self.looks = 0
        self.told: list[tuple[float, Key]] = []
        self._clock = LoopClock(0)
        self.throttle = Throttle(limits, clock=self._clock, active=self._count, on_turn=self._note)

    def _count(self) -> int:
        self.looks += 1
        return self.active

    def _note(self, key: Key) -> None:
        self.told.append((round(self._clock.precise(), 3), key))


@contextlib.asynccontextmanager
async def throttled(limits: Limits = LIMITS) -> AsyncIterator[Turns]:
    turns = Turns(limits)
    task = asyncio.create_task(turns.throttle.run())
    yield turns
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_who_asks_is_poked_when_its_turn_comes_and_may_start_once() -> None:
    async with throttled() as turns:
        assert not turns.throttle.start(X, 1)
        await asyncio.sleep(1.9)
        assert turns.told == []
        await asyncio.sleep(0.2)
        assert turns.told == [(2, X)]
        assert turns.throttle.start(X, 1)
        assert not turns.throttle.start(X, 2)


async def test_turns_come_at_the_pace_of_the_budget() -> None:
    async with throttled() as turns:
        for key in X, Y, Z:
            turns.throttle.start(key, 1)
        await asyncio.sleep(10)
        assert turns.told == [(2, X), (3, Z), (4, Y)]


async def test_while_too_many_are_active_nothing_is_done_until_one_has_ended() -> None:
    async with throttled() as turns:
        turns.active = 3
        turns.throttle.start(X, 1)
        await asyncio.sleep(101)
        assert turns.told == []
        assert turns.looks <= 2 * (101 / LOOK_AGAIN + 2)  # it waits, it does not spin
        turns.active = 2
        turns.throttle.recheck()
        await asyncio.sleep(0.001)
        assert turns.told == [(101, X)]


async def test_a_run_that_ended_untold_is_noticed_all_the_same() -> None:
    async with throttled() as turns:
        turns.active = 3
        turns.throttle.start(X, 1)
        await asyncio.sleep(20)
        turns.active = 0
        await asyncio.sleep(LOOK_AGAIN)
        assert [key for _, key in turns.told] == [X]


async def test_a_turn_that_is_given_back_goes_to_the_next_at_once() -> None:
    async with throttled(Limits(per_minute=60, per_minute_and_namespace=60, active=1)) as turns:
        turns.throttle.start(X, 1)
        turns.throttle.start(Z, 1)
        await asyncio.sleep(10.5)
        assert turns.told == [(1, X)]
        turns.throttle.withdraw(X)  # suspended meanwhile, say
        await asyncio.sleep(0.001)
        assert turns.told == [(1, X), (10.5, Z)]


async def test_where_nobody_waits_nothing_is_looked_at_more_often_than_now_and_then() -> None:
    async with throttled() as turns:
        for _ in range(1000):
            turns.throttle.withdraw(X)  # as every schedule does that has nothing to catch up
            await asyncio.sleep(0.1)
        assert turns.looks <= 2 * (100 / LOOK_AGAIN + 2)
