"""Whether backlogs were worked off as promised: pace, shares, order, and what it cost those that were on time.

Pure. It knows the Jobs as the watcher and the audit log saw them, and nothing of the operator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bench.budget import Check
from bench.figures import percentile
from bench.times import MINUTE

UNEVEN = 0.2
"""How far a namespace's share may be from the fair one."""
SLOWER = 1.2
"""How many times as late the p99 of runs on time may be beside others."""
MARKS = (0.25, 0.5, 0.75)
"""After which part of all runs the shares are compared, and when the first namespace is through."""


@dataclass(frozen=True, kw_only=True)
class Start:
    """A Job, when it was created or first seen (UTC seconds), and the schedule and slot it is for."""

    at: float
    namespace: str
    schedule: str
    slot: int


def fullest_minute(moments: Iterable[float]) -> int:
    """Of all windows of a minute, how much the fullest one holds."""
    ordered = sorted(moments)
    most = begin = 0
    for end, moment in enumerate(ordered):
        while ordered[begin] <= moment - MINUTE:
            begin += 1
        most = max(most, end - begin + 1)
    return most


def uneven(starts: Sequence[Start], namespaces: Sequence[str]) -> float:
    """The largest difference between a namespace's share and the fair one, as a part of the fair one.

    Looked at whenever a quarter of all is done, and when the first namespace is through.
    """
    ordered = sorted(starts, key=lambda start: start.at)
    each = len(ordered) / len(namespaces)
    so_far: Counter[str] = Counter()
    marks = {round(len(ordered) * mark) for mark in MARKS}
    worst, someone_is_through = 0.0, False
    for number, start in enumerate(ordered, 1):
        so_far[start.namespace] += 1
        first = not someone_is_through and so_far[start.namespace] >= each
        someone_is_through = someone_is_through or first
        if number in marks or first:
            fair = number / len(namespaces)
            worst = max(worst, *(abs(so_far[name] / fair - 1) for name in namespaces))
    return worst


def pace_checks(starts: Sequence[Start], *, per_minute: int, per_namespace: int) -> list[Check]:
    """The budget, by the fullest minute of all."""
    spaces: dict[str, list[float]] = {}
    for start in starts:
        spaces.setdefault(start.namespace, []).append(start.at)
    most = fullest_minute(start.at for start in starts)
    crowded = max(map(fullest_minute, spaces.values()), default=0)
    return [
        _within("catch-up Jobs in the fullest minute", most, per_minute),
        _within("of one namespace", crowded, per_namespace),
    ]


def share_check(starts: Sequence[Start], namespaces: Sequence[str]) -> Check:
    worst = uneven(starts, namespaces)
    return Check(
        what=f"farthest from a fair share, of {len(namespaces)} namespaces",
        seen=f"{100 * worst:.0f} %",
        allowed=f"{100 * UNEVEN:.0f} %",
        holds=worst <= UNEVEN,
    )


def lag_check(before: Sequence[float], during: Sequence[float]) -> Check:
    """p99 of slot to Job of runs on time, beside others that ask for much, and before."""
    calm, busy = percentile(before, 0.99), percentile(during, 0.99)
    return Check(
        what=f"p99 of runs on time ({len(during)} beside the others, {len(before)} before)",
        seen=f"{busy:.2f} s",
        allowed=f"{SLOWER} * {calm:.2f} s",
        holds=bool(before) and bool(during) and busy <= SLOWER * calm,
    )


def order_checks(created: Mapping[str, Sequence[int]], expected: Mapping[str, Sequence[int]]) -> list[Check]:
    """Slots for which Jobs were created, in that order, by schedule; and the slots that there are."""
    twice = sum(len(slots) - len(set(slots)) for slots in created.values())
    lost = sum(len(set(slots) - set(created.get(name, ()))) for name, slots in expected.items())
    others = sum(len(set(slots) - set(expected.get(name, ()))) for name, slots in created.items())
    mixed = sum(any(a > b for a, b in pairwise(slots)) for slots in created.values())
    total = sum(map(len, expected.values()))
    return [
        _within(f"slots with two Jobs, of {total}", twice, 0),
        _within("slots without a Job", lost, 0),
        _within("Jobs for slots that there are not", others, 0),
        _within("schedules out of order", mixed, 0),
    ]


def settled_checks(statuses: Iterable[Mapping[str, Any]], *, slots: int, ended: bool) -> list[Check]:
    """By the final statuses of the schedules with backlogs of so many slots each; `ended`: their runs should have."""
    unsettled = wrong = 0
    for status in statuses:
        counts = status.get("counts") or {}
        decided = counts.get("runs", 0) + sum((counts.get("skipped") or {}).values())
        wrong += decided != slots
        active = counts.get("runs", 0) - counts.get("succeeded", 0) if ended else 0
        unsettled += "backlog" in status or active > 0
    return [
        _within("schedules where slots are not runs + skips", wrong, 0),
        _within("schedules with something left to do", unsettled, 0),
    ]


def _within(what: str, seen: int, allowed: int) -> Check:
    return Check(what=what, seen=f"{seen}", allowed=f"{allowed}", holds=seen <= allowed)
