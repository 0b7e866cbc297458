"""How far a long step is and how long it will still take, on standard error.

A bar that moves where a person looks on; else a plain line now and then, so that a log stays readable.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

PLAIN_EVERY = 30.0  # seconds between two lines where nobody looks on
BAR_EVERY = 0.2


class Progress:
    """Counts `done` up to `total`; both in any unit."""

    def __init__(
        self,
        title: str,
        total: int,
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._title, self._total, self._clock = title, max(total, 1), clock
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._began = self._shown = clock()
        if self._live:
            self._bar(0, "")
        else:
            self._line(f"{title} …")

    def update(self, done: int) -> None:
        """Show how far it is, unless that was shown a moment ago."""
        now = self._clock()
        if now - self._shown < (BAR_EVERY if self._live else PLAIN_EVERY):
            return
        self._shown = now
        text = f"{min(done / self._total, 1):4.0%}, {self._left(done, now - self._began)}"
        if self._live:
            self._bar(done, text)
        else:
            self._line(f"{self._title}: {text.strip()}")

    def finish(self) -> None:
        """Say how long it took."""
        if self._live:
            self._stream.write("\r\033[K")
        self._line(f"{self._title}: done in {minutes(self._clock() - self._began)}")

    def _left(self, done: int, elapsed: float) -> str:
        if done <= 0:
            return "time left unknown yet"
        return f"about {minutes(elapsed * max(self._total - done, 0) / done)} left"

    def _bar(self, done: int, text: str) -> None:
        width = max(shutil.get_terminal_size().columns - len(self._title) - len(text) - 6, 5)
        full = round(width * min(done / self._total, 1))
        self._stream.write(f"\r\033[K{self._title} [{'=' * full}{' ' * (width - full)}] {text}")
        self._stream.flush()

    def _line(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


def minutes(seconds: float) -> str:
    """A duration for people: `42 s` or `3 min 05 s`."""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02} s"
