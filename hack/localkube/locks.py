"""One process of this machine at a time."""

from __future__ import annotations

import contextlib
import fcntl
import sys
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def alone(path: Path, message: str = "") -> Iterator[None]:
    """Hold the lock file at `path`, waiting for whoever has it; the message is shown when that is needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if message:
                print(message, file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
