"""The only place that reads a clock. Everyone else is handed a `Clock`, so tests can move time."""

from __future__ import annotations

import time
from typing import Protocol

_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """Two clocks: one that says what time it is and may be set, one that only measures."""

    def now(self) -> int:
        """Wall clock: whole seconds since the Unix epoch, UTC. May jump either way."""
        ...

    def precise(self) -> float:
        """The same with its fraction, to sleep until a moment; decisions use whole seconds."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back, and goes on while the machine sleeps."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> int:
        return int(time.time())

    def precise(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        # Not `time.monotonic()`, which stands still while a Linux machine sleeps: a lease lapses all the same.
        return time.clock_gettime(_BOOTTIME)
