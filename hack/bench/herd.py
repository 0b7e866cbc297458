"""The herd: many schedules due in the same minute, the operator's and, for comparison, the built-in CronJob's.

Each has a fresh cluster to itself, one after the other. The Jobs are suspended, so that no pod interferes; or they run
and finish, minute after minute. Who saw what: the watcher the Jobs, the audit log the requests, /proc the process.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import manifests
from bench.errors import BenchError
from bench.evidence import read_lines
from bench.scene import TUNED, Notes, Scene, scene, wait_until
from bench.times import MINUTE, show
from bench.traffic import Request, read_requests
from bench.usage import Usage, usage
from localkube import OperatorProcess

LEAD = 15
"""Seconds before the first slot in which everything is created, and a little more for each hundred objects."""

MARGIN = 2.0
"""Seconds before the first slot at which measuring begins."""

SETTLE = 10.0
"""Seconds after the last Job was seen until measuring ends: what follows from a run belongs to it."""

WARM_UP = 2
"""Minutes of running before a steady state is measured."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What to measure. `minutes`: 0 for one herd of suspended Jobs, else so many minutes of Jobs that run."""

    count: int
    tenants: int
    minutes: int
    tuned: bool
    patience: int
    profile: Path | None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What was measured in so many `seconds`. `lags`: seconds from slot to Job as the watcher saw it; `spans`: from
    the first to the last Job of each slot."""

    subject: str
    expected: int
    seconds: float
    lags: list[float]
    spans: list[float]
    requests: list[Request]
    before: Usage | None = None
    after: Usage | None = None
    complaints: list[str] = field(default_factory=list)


class Subject:
    """What is measured: how its objects look, and whether they are ready for their slot."""

    name: str
    plural: str

    def body(self, namespace: str, name: str, when: str, job: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    @contextlib.contextmanager
    def running(self, place: Scene, options: Options) -> Iterator[OperatorProcess | None]:
        """The process to measure, ready; None where it is a part of the control plane."""
        yield None

    def is_ready(self, place: Scene, count: int) -> bool:
        return True


class OperatorSubject(Subject):
    """Our operator."""

    name, plural = "CronSchedule", "cronschedules"

    def body(self, namespace: str, name: str, when: str, job: dict[str, Any]) -> dict[str, Any]:
        return manifests.cron_schedule(
            namespace, name, job, schedule=when, concurrencyPolicy="Allow", successfulJobsHistoryLimit=1
        )

    @contextlib.contextmanager
    def running(self, place: Scene, options: Options) -> Iterator[OperatorProcess | None]:
        with place.operator(profile=options.profile).started() as operator:
            yield operator
            if code := operator.stop():
                raise BenchError(
                    f"The operator ended with {code} when it was asked to end:\n{operator.tail()}"
                )

    def is_ready(self, place: Scene, count: int) -> bool:
        taken = [
            body for body in place.schedules() if body.get("status", {}).get("observedGeneration", 0) > 0
        ]
        return len(taken) == count


class CronJobSubject(Subject):
    """The controller that comes with Kubernetes."""

    name, plural = "CronJob", "cronjobs"

    def body(self, namespace: str, name: str, when: str, job: dict[str, Any]) -> dict[str, Any]:
        return manifests.cron_job(
            namespace, name, job, schedule=when, concurrencyPolicy="Allow", successfulJobsHistoryLimit=1
        )


def measure(subject: Subject, options: Options, folder: Path) -> Outcome:
    """One herd from an empty cluster to its end. Raises BenchError, LocalkubeError."""
    with (
        scene(folder, extra_args=TUNED if options.tuned else ()) as place,
        subject.running(place, options) as process,
    ):
        slots = _create(subject, options, place)
        _sleep_until(slots[0] - MARGIN)
        begin, before = time.time(), usage(process.pid) if process else None
        seen = _await_jobs(place, slots, options)
        _sleep_until(time.time() + SETTLE if options.minutes == 0 else slots[-1] + MINUTE - MARGIN)
        end, after = time.time(), usage(process.pid) if process else None
        complaints = complaints_of(process) if process else []
    return Outcome(
        subject=subject.name,
        expected=options.count * len(slots),
        seconds=end - begin,
        lags=sorted(when - slot for (_, _, slot), when in seen.items()),
        spans=[_span([when for job, when in seen.items() if job[2] == slot]) for slot in slots],
        requests=read_requests(read_lines(place.audit_log), begin=begin, end=end),
        before=before,
        after=after,
        complaints=complaints,
    )


def _create(subject: Subject, options: Options, place: Scene) -> list[int]:
    """Create the herd; the slots at which it will be measured."""
    lead = LEAD + options.count // 20
    first = math.ceil((time.time() + lead) / MINUTE) * MINUTE + (WARM_UP * MINUTE if options.minutes else 0)
    slots = [first + number * MINUTE for number in range(options.minutes or 1)]
    when = "* * * * *" if options.minutes else time.strftime("%M %H * * *", time.gmtime(first))
    tenants = manifests.namespaces(options.tenants)
    place.create_namespaces(tenants)
    job = manifests.job_spec(suspend=not options.minutes)
    place.create(
        subject.plural,
        [
            subject.body(tenants[number % len(tenants)], f"herd-{number:05}", when, job)
            for number in range(options.count)
        ],
    )
    wait_until(
        lambda: subject.is_ready(place, options.count),
        seconds=max(1.0, first - MARGIN - time.time()),
        what=f"all {options.count} {subject.plural} to be taken up before {show(first)}",
        pause=1.0,
    )
    return slots


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
        time.sleep(1)


def _span(moments: list[float]) -> float:
    return max(moments) - min(moments) if moments else math.nan


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.time()))


def complaints_of(operator: OperatorProcess) -> list[str]:
    """The lines of its log that tell of an error."""
    return [str(line) for line in operator.lines() if line.get("level") in ("error", "critical")]
