"""One tenant with thousands of schedules edits them all the time: do the runs of another come later for it?

1  the live schedules of a quiet tenant run alone
2  the other tenant gets its schedules, with nothing due
3  that tenant edits them again and again, while the quiet one's run on
"""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import live, manifests
from bench.budget import Check
from bench.evidence import read_lines
from bench.fairness import lag_check
from bench.figures import mebibytes, percentile, table
from bench.herd import complaints_of
from bench.scene import Notes, Scene, scene, wait_until
from bench.subjects import OperatorSubject
from bench.times import MINUTE, next_minute, say, wait_till
from bench.traffic import Request, read_requests
from bench.usage import Usage, usage

QUIET, LOUD = "quiet", "loud"
NEVER_DUE = ("0 0 1 1 *", "0 0 2 1 *")
"""What the loud tenant's schedules are edited to and fro between."""
EDITORS = 8
TAKEN_UP_A_SECOND = 20
"""What is waited for at most, on any machine."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How many schedules of each tenant, for how many minutes, and how many edits a second are tried."""

    live: int
    loud: int
    minutes: int
    edits: int


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Seconds from slot to Job of the quiet tenant, before the storm and in it; the `edits` that were made."""

    options: Options
    before: list[float]
    during: list[float]
    edits: int
    calm: Usage
    storm: Usage
    requests: list[Request]
    complaints: list[str]


def measure(options: Options, folder: Path) -> Outcome:
    """From an empty cluster. Raises BenchError, LocalkubeError."""
    with scene(folder) as place:
        place.create_namespaces([QUIET, LOUD])
        place.create("cronschedules", live.bodies([QUIET], options.live))
        operator = place.operator()
        with operator.started():
            calm = next_minute()
            wait_till(calm + options.minutes * MINUTE + 30)
            say("the quiet tenant alone: measured")
            names = _settle_in(place, options)
            begin = next_minute()
            wait_till(begin - 5)
            say("the storm begins")
            before = usage(operator.pid)
            edits = _storm(place, options, names, until=begin + options.minutes * MINUTE)
            after = usage(operator.pid)
            complaints = complaints_of(operator)
        notes = Notes(place.notes)
        notes.look()
        seconds = options.minutes * MINUTE
        return Outcome(
            options=options,
            before=live.lags(notes, range(calm, calm + seconds, MINUTE)),
            during=live.lags(notes, range(begin, begin + seconds, MINUTE)),
            edits=edits,
            calm=before,
            storm=after,
            requests=list(read_requests(read_lines(place.audit_log), begin=begin, end=begin + seconds)),
            complaints=complaints,
        )


def check(outcome: Outcome) -> list[Check]:
    """Every promise, line by line."""
    options = outcome.options
    expected = options.live * options.minutes
    return [
        Check(
            what="runs of the quiet tenant",
            seen=f"{len(outcome.during)}",
            allowed=f"{expected}",
            holds=len(outcome.during) == len(outcome.before) == expected,
        ),
        lag_check(outcome.before, outcome.during),
        Check(
            what="errors in the log", seen=f"{len(outcome.complaints)}", allowed="0",
            holds=not outcome.complaints,
        ),
    ]  # fmt: skip


def report(outcome: Outcome) -> str:
    """The figures as a table."""
    options = outcome.options
    seconds = options.minutes * MINUTE
    ours = [request for request in outcome.requests if request.client in OperatorSubject.clients]
    writes = sum(request.resource == "cronschedules/status" for request in ours)
    rows = [
        ["schedules", f"{options.live} due every minute, {options.loud} of another tenant"],
        ["edits", f"{outcome.edits}, {outcome.edits / seconds:.0f} a second"],
        ["statuses that the operator wrote meanwhile", f"{writes}"],
        ["its CPU", f"{100 * (outcome.storm.cpu - outcome.calm.cpu) / seconds:.0f} % of a core"],
        ["its RSS at most", mebibytes(outcome.storm.peak)],
    ]
    for name, share in ("p50", 0.5), ("p99", 0.99), ("most", 1.0):
        calm, busy = percentile(outcome.before, share), percentile(outcome.during, share)
        rows.append([f"slot to Job, {name}: before / in the storm", f"{calm:.2f} s / {busy:.2f} s"])
    return table(rows)


def _settle_in(place: Scene, options: Options) -> list[str]:
    """Create the loud tenant's schedules and wait until the operator has looked at each; their names."""
    names = [f"loud-{number:05}" for number in range(options.loud)]
    job = manifests.job_spec(suspend=True)
    place.create(
        "cronschedules", [manifests.cron_schedule(LOUD, name, job, schedule=NEVER_DUE[0]) for name in names]
    )

    def taken_up() -> bool:
        return all((body.get("status") or {}).get("observedGeneration") for body in place.schedules())

    wait_until(
        taken_up,
        seconds=30 + options.loud / TAKEN_UP_A_SECOND,
        what="every schedule to be taken up",
        pause=5,
    )
    return names


def _storm(place: Scene, options: Options, names: list[str], *, until: float) -> int:
    """Edit one schedule after the other, at an even pace, until then; how many edits there were."""
    began = time.time()
    turns, lock = itertools.count(), threading.Lock()

    def edit() -> int:
        made = 0
        while True:
            with lock:
                turn = next(turns)
            due = began + turn / options.edits
            if due >= until:
                return made
            wait_till(due)
            spec: dict[str, Any] = {"schedule": NEVER_DUE[(turn // len(names) + 1) % 2]}
            place.api.patch_namespaced_custom_object(
                "cronschedule.dev",
                "v1alpha1",
                LOUD,
                "cronschedules",
                names[turn % len(names)],
                {"spec": spec},
            )
            made += 1

    with ThreadPoolExecutor(EDITORS) as pool:
        return sum(pool.map(lambda _: edit(), range(EDITORS)))
