"""A clock for tests that follows the event loop, so that looptime's fake time moves it."""

from __future__ import annotations

import asyncio


class LoopClock:
    """Wall clock = `epoch` + the loop's time since the clock was made, plus the steps given to it."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch
        self._started = self.monotonic()

    def now(self) -> int:
        return int(self.precise())

    def precise(self) -> float:
        return self._epoch + self.monotonic() - self._started

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def step(self, seconds: int) -> None:
        """Set the wall clock forward or (negative) back, as an administrator or NTP would."""
        self._epoch += seconds
