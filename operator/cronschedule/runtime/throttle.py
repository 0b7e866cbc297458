"""The catch-up budget, kept in time: hands out turns as they fall due and pokes the schedules that get one."""

import asyncio
import contextlib
from collections.abc import Callable

from cronschedule.core.budget import Budget, Key, Limits
from cronschedule.runtime.clock import Clock

LOOK_AGAIN = 5.0
"""Seconds, at most, between two looks, in case nobody told that a run has ended."""


class Throttle:
    """`run()` it as a task. `active` tells how many catch-up runs are active in the cluster."""

    def __init__(
        self, limits: Limits, *, clock: Clock, active: Callable[[], int], on_turn: Callable[[Key], None]
    ) -> None:
        self._clock = clock
        self._active = active
        self._on_turn = on_turn
        self._limits = limits
        self._budget = Budget(limits, now=clock.monotonic())
        self._changed = asyncio.Event()

    def begin(self) -> None:
        """Forget what was. Nothing has been saved up: the first turn comes as late as all others."""
        self._budget = Budget(self._limits, now=self._clock.monotonic())

    def start(self, key: Key, oldest: int) -> bool:
        """Whether this schedule may start a catch-up run now; if not, it waits and is poked when it may."""
        if self._budget.spend(key):
            return True
        self._budget.ask(key, oldest, now=self._clock.monotonic())
        self._changed.set()
        return False

    def withdraw(self, key: Key) -> None:
        """This schedule has nothing to catch up."""
        if self._budget.withdraw(key, now=self._clock.monotonic()):
            self._changed.set()

    def recheck(self) -> None:
        """A run may have ended, so that another may be let in."""
        self._changed.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._changed.clear()
            now = self._clock.monotonic()
            while (key := self._budget.grant(now=now, active=self._active())) is not None:
                self._on_turn(key)
            moment = self._budget.next_moment(active=self._active())
            rest = LOOK_AGAIN if moment is None else min(moment - now, LOOK_AGAIN)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(rest, 0.0)):
                    await self._changed.wait()
