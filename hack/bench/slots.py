"""Slots: what the next one, a parse and counting a year cost, and which golden cases come out right; against others.

The others are croniter, cronsim and, where it can be built, robfig/cron, by which the built-in CronJob goes. All get
the same texts, zones and zone data, one after the other. Only ours counts without walking: what a year costs the
others is 365 times the fastest day of a week.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib import resources
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from croniter import croniter
from cronsim import CronSim

from bench.budget import Check
from bench.figures import micro, table
from bench.times import parse_time
from cronschedule.core.cron import parse_cron
from cronschedule.core.slots import slots_of
from cronschedule.core.zones import load_zone
from localkube import LocalkubeError
from localkube.goprogram import built

HERE = Path(__file__).resolve().parent
GOLDEN = HERE.parent.parent / "tests" / "conformance" / "cron_golden.json"
ZONE, SINCE = "Europe/Berlin", 1_780_000_000  # 2026-05-28T20:26:40Z
MINUTELY = "* * * * *"
FREQUENT = (MINUTELY, "*/15 * * * *", "30 2 * * *", "0 9 * * 1-5", "0 0 1 * *")
EXPRESSIONS = (*FREQUENT, "0 0 1 1 *")
TEXTS = [[f"{minute} {hour} * * *" for minute in range(60)] for hour in range(24)]
"""No text comes twice: ours would know it again."""
STEPS, ROUNDS = 20, 50
WEEK, YEAR, MINUTES_OF_A_DAY = 7, 365, 1440
PATIENCE = 20
"""Seconds for one golden case: on some, others never come back."""

NEXT, COUNT, PARSE = 5e-6, 50e-6, 100e-6
"""The budget, in seconds; that of the next slot is for schedules that are due once a month at least."""

Walk = Callable[[str, str, int], Iterator[int]]
"""The slots of a schedule text in a zone after a moment, one by one."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Seconds for the `next` slot, by schedule text, for a `parse`, and for counting a `year` of minutes.

    `right`: how many golden cases come out right, of `cases`.
    """

    name: str
    next: Mapping[str, float]
    parse: float
    year: float
    right: int
    cases: int


def measure() -> list[Measured]:
    """Ours first; robfig/cron only where it can be built: else a word on standard error says why not."""
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"]
    ours = slots_of(MINUTELY, ZONE)
    year = min(_seconds(lambda: ours.count(SINCE, SINCE + YEAR * 86400)) for _ in range(ROUNDS))
    found = [
        _measure("ours", _walk_ours, parse_cron, golden, year=year),
        _measure(f"croniter {version('croniter')}", _walk_croniter, croniter, golden),
        _measure(f"cronsim {version('cronsim')}", _walk_cronsim, _parse_cronsim, golden),
    ]
    try:
        found.append(_measure_robfig(golden))
    except LocalkubeError as error:
        print(f"Without robfig/cron: {error}", file=sys.stderr)
    return found


def report(measured: Sequence[Measured]) -> str:
    """One column for each."""
    rows = [["", *(each.name for each in measured)]]
    rows += [[f"next slot, {text}", *(micro(each.next[text]) for each in measured)] for text in EXPRESSIONS]
    rows.append(["parse", *(micro(each.parse) for each in measured)])
    rows.append([f"a year of {MINUTELY} counted", *(micro(each.year) for each in measured)])
    rows.append(["golden cases right", *(f"{each.right} of {each.cases}" for each in measured)])
    return table(rows)


def check(ours: Measured) -> list[Check]:
    """The budget of ours, line by line."""
    limits = [(f"next slot, {text}", ours.next[text], NEXT) for text in FREQUENT]
    limits += [("parse", ours.parse, PARSE), ("a year counted", ours.year, COUNT)]
    checks = [
        Check(what=what, seen=micro(seen), allowed=micro(allowed), holds=seen <= allowed)
        for what, seen, allowed in limits
    ]
    right = ours.right == ours.cases
    return [*checks, Check(what="golden cases", seen=f"{ours.right}", allowed=f"{ours.cases}", holds=right)]


def _measure(
    name: str,
    walk: Walk,
    parse: Callable[[str], object],
    golden: Sequence[Mapping[str, Any]],
    *,
    year: float | None = None,
) -> Measured:
    return Measured(
        name=name,
        next={text: _next(walk, text) for text in EXPRESSIONS},
        parse=min(_seconds(partial(list, map(parse, texts))) / len(texts) for texts in TEXTS),
        year=_walked_year(walk) if year is None else year,
        right=sum(_is_right(walk, case) for case in golden),
        cases=len(golden),
    )


def _next(walk: Walk, text: str) -> float:
    """Of a walk that has begun, the best of many: what else runs here only ever makes it longer."""
    taken = []
    for _ in range(ROUNDS):
        slots = walk(text, ZONE, SINCE)
        next(slots)
        taken.append(_seconds(partial(list, islice(slots, STEPS))) / STEPS)
    return min(taken)


def _walked_year(walk: Walk) -> float:
    slots = walk(MINUTELY, ZONE, SINCE)
    return YEAR * min(_seconds(partial(list, islice(slots, MINUTES_OF_A_DAY))) for _ in range(WEEK))


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _walk_ours(text: str, zone: str, after: int) -> Iterator[int]:
    slots, slot = slots_of(text, zone), slots_of(text, zone).after(after)
    while slot is not None:
        yield slot
        slot = slots.after(slot)


def _walk_croniter(text: str, zone: str, after: int) -> Iterator[int]:
    steps = croniter(text, datetime.fromtimestamp(after, load_zone(zone)))
    while True:
        yield int(steps.get_next(float))


def _walk_cronsim(text: str, zone: str, after: int) -> Iterator[int]:
    for moment in CronSim(text, datetime.fromtimestamp(after, load_zone(zone))):
        yield int(moment.timestamp())


def _parse_cronsim(text: str) -> CronSim:
    return CronSim(text, datetime.fromtimestamp(SINCE, load_zone(ZONE)))


def _is_right(walk: Walk, case: Mapping[str, Any]) -> bool:
    """Whether its slots come out as they should; to refuse the text, or not to come back, is no answer."""
    wanted = [int(parse_time(text)) for text in case["next"]]
    try:
        with _patience():
            slots = walk(case["schedule"], case["timeZone"], int(parse_time(case["from"])))
            return list(islice(slots, len(wanted))) == wanted
    except Exception:
        return False


@contextlib.contextmanager
def _patience() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _measure_robfig(golden: Sequence[Mapping[str, Any]]) -> Measured:
    """The same work, done by the program in `robfig/`. Raises LocalkubeError."""
    work = {
        "zone": ZONE,
        "since": SINCE,
        "expressions": EXPRESSIONS,
        "texts": TEXTS,
        "steps": STEPS,
        "rounds": ROUNDS,
        "days": WEEK,
        "slots": MINUTES_OF_A_DAY,
        "patience": PATIENCE,
        "golden": [
            {
                "schedule": case["schedule"],
                "zone": case["timeZone"],
                "from": int(parse_time(case["from"])),
                "next": [int(parse_time(text)) for text in case["next"]],
            }
            for case in golden
        ],
    }
    zones = {"ZONEINFO": str(resources.files("tzdata").joinpath("zoneinfo"))}
    program = built(HERE / "robfig")
    answer = subprocess.run(
        [program], input=json.dumps(work), env=os.environ | zones, capture_output=True, text=True
    )
    if answer.returncode:
        raise LocalkubeError(f"its program failed:\n{answer.stderr[-2000:]}")
    told = json.loads(answer.stdout)
    return Measured(
        name="robfig/cron 3.0.1",
        next=dict(zip(EXPRESSIONS, told["next"], strict=True)),
        parse=told["parse"],
        year=told["day"] * YEAR,
        right=told["right"],
        cases=len(golden),
    )
