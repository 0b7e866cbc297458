"""Moments as the API server writes them, as UTC seconds and back; and waiting for them.

The judge shares no code with the operator.
"""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime

MINUTE = 60


def parse_time(text: str) -> float:
    """UTC seconds of an RFC 3339 text."""
    return datetime.fromisoformat(text).timestamp()


def show(seconds: float) -> str:
    """`12:00:05`: short, for people; no bench lasts a day."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S")


def format_time(seconds: float) -> str:
    """RFC 3339 in whole seconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def next_minute() -> int:
    """The whole minute that comes next."""
    return math.ceil(time.time() / MINUTE) * MINUTE


def wait_till(moment: float) -> None:
    """Not at all when it has passed."""
    time.sleep(max(0.0, moment - time.time()))


def say(text: str) -> None:
    """Tell whoever looks on what has just happened."""
    print(f"{show(time.time())} {text}", flush=True)
