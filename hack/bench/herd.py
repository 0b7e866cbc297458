"""The herd: many schedules due in the same minute, the operator's and, for comparison, others' (subjects.py).

Each has a fresh cluster to itself, one after the other. The Jobs are suspended, so that no pod interferes; or they run
and finish, minute after minute. Who saw what: the watcher the Jobs, the audit log the requests, /proc the processes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import manifests
from bench.evidence import read_lines
from bench.figures import percentile
from bench.scene import Notes, Scene, scene, wait_until
from bench.subjects import Subject
from bench.times import MINUTE, show, wait_till
from bench.traffic import Request, read_requests
from bench.usage import Usage, usage
from localkube import OperatorProcess

LEAD = 15
"""Seconds before the first slot in which everything is created, and a little more for each hundred objects."""

MARGIN = 2.0
"""Seconds before the first slot in which nothing else is done."""

SETTLE = 10.0
"""Seconds after the last Job was seen until measuring ends, and one more for each hundred: what follows from a run
belongs to it."""

WARM_UP = 2
"""Minutes of running before a steady state is measured."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What to measure. `minutes`: 0 for one herd of suspended Jobs, else so many minutes of Jobs that run."""

    count: int
    tenants: int
    minutes: int
    patience: int
    profile: Path | None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What was measured in so many `seconds`. `lags`: seconds from slot to Job as the watcher saw it; `spans`: from
    the first to the last Job of each slot; `recorded`: from the last slot until all of `records` were written.

    Usage by process: `before`, when the last Job was seen (`created`, after `creating` seconds), and `after`.
    """

    subject: Subject
    expected: int
    seconds: float
    lags: list[float]
    spans: list[float]
    requests: list[Request]
    records: int = 0
    recorded: float = math.nan
    creating: float = math.nan
    before: Mapping[str, Usage] = field(default_factory=dict)
    created: Mapping[str, Usage] = field(default_factory=dict)
    after: Mapping[str, Usage] = field(default_factory=dict)
    complaints: Sequence[str] = ()

    @property
    def rate(self) -> float:
        """Jobs a second while those of one slot are created, the median of the slots."""
        return self.expected / len(self.spans) / max(percentile(self.spans, 0.5), 0.001)

    @property
    def whole(self) -> float:
        """Seconds from the last slot until all Jobs and records are there; infinite where some are missing."""
        if len(self.lags) < self.expected or (self.subject.plural and self.records < self.expected):
            return math.inf
        return max(self.lags[-1], self.recorded if self.records else 0.0)


def measure(subject: Subject, options: Options, folder: Path) -> Outcome:
    """One herd from an empty cluster to its end. Raises BenchError, LocalkubeError."""
    with (
        scene(folder, extra_args=subject.flags, bodies=False) as place,
        subject.running(place, options.profile) as process,
    ):
        slots, names = _create(subject, options, place)
        processes = place.processes() | ({"operator": process.pid} if process else {})
        wait_till(slots[0])
        before = _used(processes)
        subject.act(place, slots[0], names, manifests.job_spec(suspend=True))
        seen = _await_jobs(place, slots, options)
        creating, created = time.time() - slots[0], _used(processes)
        settled = time.time() + SETTLE + options.count / 100
        wait_till(settled if options.minutes == 0 else slots[-1] + MINUTE - MARGIN)
        end, after = time.time(), _used(processes)
        complaints = complaints_of(process) if process else []
    requests = read_requests(read_lines(place.audit_log), begin=slots[0], end=end)
    records = [
        request.end
        for request in requests
        if request.client in subject.clients and request.is_write_of(f"{subject.plural}/status")
    ]
    return Outcome(
        subject=subject,
        expected=options.count * len(slots),
        seconds=end - slots[0],
        lags=sorted(when - slot for (_, _, slot), when in seen.items()),
        spans=[_span([when for job, when in seen.items() if job[2] == slot]) for slot in slots],
        requests=requests,
        records=len(records),
        recorded=max(records, default=math.nan) - slots[-1],
        creating=creating,
        before=before,
        created=created,
        after=after,
        complaints=complaints,
    )


def _used(processes: Mapping[str, int]) -> dict[str, Usage]:
    return {name: usage(pid) for name, pid in processes.items()}


def _create(subject: Subject, options: Options, place: Scene) -> tuple[list[int], list[tuple[str, str]]]:
    """Create the herd; the slots at which it will be measured, and each one's namespace and name."""
    lead = LEAD + (options.count // 20 if subject.plural else 0)
    first = math.ceil((time.time() + lead) / MINUTE) * MINUTE + (WARM_UP * MINUTE if options.minutes else 0)
    slots = [first + number * MINUTE for number in range(options.minutes or 1)]
    when = "* * * * *" if options.minutes else time.strftime("%M %H * * *", time.gmtime(first))
    tenants = manifests.namespaces(options.tenants)
    place.create_namespaces(tenants)
    names = [(tenants[number % len(tenants)], f"herd-{number:05}") for number in range(options.count)]
    if subject.plural:
        job = manifests.job_spec(suspend=not options.minutes)
        place.create(subject.plural, [subject.body(*name, when, job) for name in names])
    wait_until(
        lambda: subject.is_ready(place, options.count),
        seconds=max(1.0, first - MARGIN - time.time()),
        what=f"all {options.count} {subject.plural} to be taken up before {show(first)}",
        pause=1.0,
    )
    return slots, names


def _await_jobs(place: Scene, slots: list[int], options: Options) -> dict[tuple[str, str, int], float]:
    """When each Job of these slots was first seen; as many as came in time."""
    notes, wanted = Notes(place.notes), set(slots)
    deadline = slots[-1] + options.patience
    while True:
        place.check_witness()
        notes.look()
        seen = {job: when for job, when in notes.first_seen.items() if job[2] in wanted}
        if len(seen) >= options.count * len(slots) or time.time() > deadline:
            return seen
        time.sleep(0.5)


def _span(moments: list[float]) -> float:
    return max(moments) - min(moments) if moments else math.nan


def complaints_of(operator: OperatorProcess) -> list[str]:
    """The lines of its log that tell of an error."""
    return [str(line) for line in operator.lines() if line.get("level") in ("error", "critical")]
