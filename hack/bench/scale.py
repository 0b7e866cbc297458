"""Many schedules: how long until all are known, what they cost while nothing is due, and a start after an outage.

The operator takes the schedules up, is stopped, and is started again. With an outage of some hours their ledgers are
set back in between, and what is measured is how soon everything is decided that the catch-up budget does not hold back.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench import manifests
from bench.budget import Check, memory
from bench.evidence import read_lines
from bench.figures import MEBI, mebibytes, table
from bench.herd import complaints_of
from bench.plot import lines
from bench.scene import Notes, Scene, scene, wait_until
from bench.times import format_time
from bench.traffic import READS, Request, read_requests
from bench.usage import Usage, usage

OURS = "cronschedule-operator"
PAGE = 500
POLICIES = ("FireOnce", "Skip", "CatchUp")
TEMPLATE_BYTES = 2048
SETTLE = 10
"""Seconds, and one more for each thousand schedules: in that time each is looked at once."""

OBJECTS_A_SECOND = 20
"""What is waited for at most, on any machine."""

LOADED, FIRST_JOB, DECIDED, IDLE_SHARE = 60.0, 5.0, 30.0, 0.01
"""The budget: seconds until all is known, until the first Job after an outage, and until everything is decided that
the catch-up budget does not hold back; and the share of a core, for each ten thousand, while nothing is due."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How many schedules; `hours` of outage (0: none, and nothing is due); `seconds` that are watched."""

    count: int
    tenants: int
    hours: int
    seconds: int


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """`taken_up`, `ready`: seconds from the start of the process. `loaded`: when it was ready; `before`, `after`: when
    watching began and ended, which without an outage is once each schedule has been looked at.

    `first_job`, `records`: seconds from the start to the first Job, and until each schedule's status was first written,
    by the number of the schedule; `None` and left out where that did not come in time.
    """

    options: Options
    taken_up: float
    ready: float
    loaded: Usage
    before: Usage
    after: Usage
    requests: list[Request]
    first_job: float | None
    jobs: int
    records: Mapping[int, float]
    complaints: list[str]

    @property
    def decided(self) -> float | None:
        """Seconds until all was decided and recorded that the catch-up budget does not hold back."""
        return self._recorded(n for n in range(self.options.count) if _policy(n) != "CatchUp")

    @property
    def recorded(self) -> float | None:
        """Seconds until each was recorded, if only as one that waits."""
        return self._recorded(range(self.options.count))

    def _recorded(self, numbers: Iterable[int]) -> float | None:
        moments = [self.records.get(number, math.inf) for number in numbers]
        last = max(moments, default=0.0)
        return last if math.isfinite(last) else None


def measure(options: Options, folder: Path) -> Outcome:
    """From an empty cluster. Raises BenchError, LocalkubeError."""
    with scene(folder, bodies=False) as place:
        place.create_namespaces(manifests.namespaces(options.tenants))
        place.create("cronschedules", _schedules(options))
        patience = 30 + options.count / OBJECTS_A_SECOND
        operator = place.operator(ready_within=patience)
        begin = time.time()
        with operator.started():
            wait_until(
                lambda: place.taken_up() == options.count,
                seconds=patience,
                what="every schedule to be taken up",
                pause=2 + options.count / 5000,
            )
            taken_up = time.time() - begin
            operator.stop()
        if options.hours:
            _set_back(place, options)
        begin = time.time()
        with operator.started():
            ready, loaded = time.time() - begin, usage(operator.pid)
            if not options.hours:
                time.sleep(SETTLE + options.count / 1000)
            measured, before = time.time(), usage(operator.pid)
            time.sleep(options.seconds)
            end, after = time.time(), usage(operator.pid)
            complaints = complaints_of(operator)
        since = begin if options.hours else measured
        requests = [
            request
            for request in read_requests(read_lines(place.audit_log), begin=since, end=end)
            if request.client == OURS
        ]
        notes = Notes(place.notes)
        notes.look()
        jobs = [when - begin for when in notes.first_seen.values() if when >= begin]
    return Outcome(
        options=options,
        taken_up=taken_up,
        ready=ready,
        loaded=loaded,
        before=before,
        after=after,
        requests=requests,
        first_job=min(jobs, default=None),
        jobs=len(jobs),
        records={number: at - begin for number, at in _first_records(requests).items()},
        complaints=complaints,
    )


def report(outcome: Outcome) -> str:
    """The figures as a table."""
    options, idle = outcome.options, outcome.after.cpu - outcome.before.cpu
    lists = [request for request in outcome.requests if request.verb == "list"]
    rows = [
        ["schedules", f"{options.count}"],
        ["taken up for the first time", f"{outcome.taken_up:.1f} s"],
        ["started again: everything known", f"{outcome.ready:.1f} s"],
        ["RSS then", mebibytes(outcome.loaded.rss)],
        [f"RSS at most, {options.seconds} s later", mebibytes(outcome.after.peak)],
        [f"CPU in {options.seconds} s", f"{idle:.2f} s ({100 * idle / options.seconds:.1f} % of a core)"],
        [f"writes in {options.seconds} s", f"{len(_writes(outcome))}"],
        [f"LISTs in {options.seconds} s, of {PAGE} at most", f"{len(lists)}"],
    ]
    if options.hours:
        rows += [
            [f"after {options.hours} h of outage: first Job", _seconds(outcome.first_job)],
            ["all decided that the budget does not hold back", _seconds(outcome.decided)],
            ["all recorded, those that wait included", _seconds(outcome.recorded)],
            ["schedules without a record", f"{options.count - len(outcome.records)}"],
            ["Jobs created", f"{outcome.jobs}"],
        ]
    rows += [["the log complains", line[:200]] for line in outcome.complaints[:3]]
    return table(rows)


def check(outcomes: Sequence[Outcome]) -> list[Check]:
    """The budget, line by line, for each number of schedules."""
    checks = []
    for outcome in outcomes:
        count, peak = outcome.options.count, outcome.after.peak
        found = [_in_time("all known", outcome.ready, LOADED), memory(peak, count), _quiet(outcome)]
        if outcome.options.hours:
            found.append(_in_time("first Job", outcome.first_job, FIRST_JOB))
            found.append(_in_time("all decided", outcome.decided, DECIDED))
        else:
            found += _idle(outcome)
        checks += [replace(line, what=f"{count}: {line.what}") for line in found]
    return checks


def plot(outcomes: Sequence[Outcome]) -> str:
    """Memory over schedules, as SVG."""
    return lines(
        {
            "at most": [(outcome.options.count, outcome.after.peak / MEBI) for outcome in outcomes],
            "once all are known": [
                (outcome.options.count, outcome.loaded.rss / MEBI) for outcome in outcomes
            ],
        },
        title=f"Memory of the operator, templates of {TEMPLATE_BYTES // 1024} KiB",
        across="CronSchedules",
        up="MiB (RSS)",
    )


def _in_time(what: str, seen: float | None, allowed: float) -> Check:
    holds = seen is not None and seen <= allowed
    return Check(what=what, seen=_seconds(seen), allowed=f"{allowed:.0f} s", holds=holds)


def _quiet(outcome: Outcome) -> Check:
    number = len(outcome.complaints)
    return Check(what="errors in the log", seen=f"{number}", allowed="0", holds=not number)


def _idle(outcome: Outcome) -> list[Check]:
    options = outcome.options
    share = (outcome.after.cpu - outcome.before.cpu) / options.seconds
    allowed = IDLE_SHARE * max(1.0, options.count / 10_000)
    writes = len(_writes(outcome))
    return [
        Check(what="of a core", seen=f"{share:.2%}", allowed=f"{allowed:.2%}", holds=share <= allowed),
        Check(what="writes", seen=f"{writes}", allowed="0", holds=not writes),
    ]


def _writes(outcome: Outcome) -> list[Request]:
    return [request for request in outcome.requests if request.verb not in READS]


def _seconds(number: float | None) -> str:
    return "not in time" if number is None else f"{number:.1f} s"


def _schedules(options: Options) -> Iterator[dict[str, Any]]:
    tenants = manifests.namespaces(options.tenants)
    job = manifests.job_spec(suspend=True)
    container = job["template"]["spec"]["containers"][0]
    container["args"] = ["x" * (TEMPLATE_BYTES - 400)]
    for number in range(options.count):
        when = f"{number % 60} * * * *" if options.hours else "0 0 1 1 *"
        yield manifests.cron_schedule(
            tenants[number % len(tenants)],
            f"many-{number:06}",
            job,
            schedule=when,
            misfirePolicy=_policy(number),
            maxStaleness="24h",
        )


def _set_back(place: Scene, options: Options) -> None:
    """Let each ledger end as many hours ago."""
    then = {"lastDecidedTime": format_time(time.time() - 3600 * options.hours)}
    place.set_status(_schedules(options), lambda _: then)


def _policy(number: int) -> str:
    return POLICIES[number % len(POLICIES)]


def _first_records(requests: list[Request]) -> dict[int, float]:
    """When each schedule's status was first written, by the number of the schedule."""
    first: dict[int, float] = {}
    for request in sorted(requests, key=lambda request: request.end):
        if request.is_write_of("cronschedules/status"):
            name = urlsplit(request.uri).path.split("/")[-2]
            first.setdefault(int(name.rpartition("-")[2]), request.end)
    return first
