"""Many schedules: how long until all are known, what they cost while nothing is due, and a start after an outage.

The operator takes the schedules up, is stopped, and is started again. With an outage of some hours their ledgers are
set back in between, and what is measured is how soon everything is decided that the catch-up budget does not hold back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import manifests
from bench.evidence import read_lines
from bench.figures import mebibytes, table
from bench.herd import complaints_of
from bench.scene import CREATORS, Notes, Scene, scene, wait_until
from bench.times import format_time
from bench.traffic import Request, read_requests
from bench.usage import Usage, usage

OURS = "cronschedule-operator"
PAGE = 500
POLICIES = ("FireOnce", "Skip", "CatchUp")
TEMPLATE_BYTES = 2048
SETTLE = 10
"""Seconds, and one more for each thousand schedules: in that time each is looked at once."""

OBJECTS_A_SECOND = 20
"""What is waited for at most, on any machine."""


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

    `first_job` and `decided`: seconds from the start to the first Job, and until each schedule had its first decision
    on record; `None` where that did not come in time.
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
    decided: float | None
    undecided: int
    complaints: list[str]


def measure(options: Options, folder: Path) -> Outcome:
    """From an empty cluster. Raises BenchError, LocalkubeError."""
    with scene(folder) as place:
        place.create_namespaces(manifests.namespaces(options.tenants))
        place.create("cronschedules", list(_schedules(options)))
        operator, patience = place.operator(), 30 + options.count / OBJECTS_A_SECOND
        begin = time.time()
        with operator.started():
            wait_until(
                lambda: _taken_up(place) == options.count,
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
        requests = [
            request
            for request in read_requests(read_lines(place.audit_log), begin=measured, end=end)
            if request.client == OURS
        ]
        notes = Notes(place.notes)
        notes.look()
        jobs = [when for when in notes.first_seen.values() if when >= begin]
    decided = _first_records(requests)
    return Outcome(
        options=options,
        taken_up=taken_up,
        ready=ready,
        loaded=loaded,
        before=before,
        after=after,
        requests=requests,
        first_job=min(jobs) - begin if jobs else None,
        jobs=len(jobs),
        decided=max(decided.values()) - begin if len(decided) == options.count else None,
        undecided=options.count - len(decided),
        complaints=complaints,
    )


def report(outcome: Outcome) -> str:
    """The figures as a table."""
    options, idle = outcome.options, outcome.after.cpu - outcome.before.cpu
    writes = [request for request in outcome.requests if request.verb not in ("get", "list", "watch")]
    lists = [request for request in outcome.requests if request.verb == "list"]
    rows = [
        ["schedules", f"{options.count}"],
        ["taken up for the first time", f"{outcome.taken_up:.1f} s"],
        ["started again: everything known", f"{outcome.ready:.1f} s"],
        ["RSS then", mebibytes(outcome.loaded.rss)],
        [f"RSS at most, {options.seconds} s later", mebibytes(outcome.after.peak)],
        [f"CPU in {options.seconds} s", f"{idle:.2f} s ({100 * idle / options.seconds:.1f} % of a core)"],
        [f"writes in {options.seconds} s", f"{len(writes)}"],
        [f"LISTs in {options.seconds} s, of {PAGE} at most", f"{len(lists)}"],
    ]
    if options.hours:
        rows += [
            [f"after {options.hours} h of outage: first Job", _seconds(outcome.first_job)],
            ["each schedule decided and recorded", _seconds(outcome.decided)],
            ["schedules without a decision", f"{outcome.undecided}"],
            ["Jobs created", f"{outcome.jobs}"],
        ]
    rows += [["the log complains", line[:200]] for line in outcome.complaints[:3]]
    return table(rows)


def _seconds(number: float | None) -> str:
    return "not in time" if number is None else f"{number:.1f} s"


def _schedules(options: Options) -> Iterator[dict[str, Any]]:
    tenants = manifests.namespaces(options.tenants)
    job = manifests.job_spec(suspend=True)
    container = job["template"]["spec"]["containers"][0]
    container["args"] = ["x" * (TEMPLATE_BYTES - 400)]
    for number in range(options.count):
        policy = POLICIES[number % len(POLICIES)]
        when = f"{number % 60} * * * *" if options.hours else "0 0 1 1 *"
        yield manifests.cron_schedule(
            tenants[number % len(tenants)],
            f"many-{number:06}",
            job,
            schedule=when,
            misfirePolicy=policy,
            maxStaleness="24h",
        )


def _taken_up(place: Scene) -> int:
    return sum(body.get("status", {}).get("observedGeneration", 0) > 0 for body in place.schedules())


def _set_back(place: Scene, options: Options) -> None:
    """Let each ledger end as many hours ago."""
    then = format_time(time.time() - 3600 * options.hours)

    def one(body: dict[str, Any]) -> None:
        place.api.patch_namespaced_custom_object_status(
            "cronschedule.dev",
            "v1alpha1",
            body["metadata"]["namespace"],
            "cronschedules",
            body["metadata"]["name"],
            {"status": {"lastDecidedTime": then}},
        )

    with ThreadPoolExecutor(CREATORS) as pool:
        list(pool.map(one, place.schedules()))


def _first_records(requests: list[Request]) -> dict[str, float]:
    """When each schedule's status was first written, by its URI."""
    first: dict[str, float] = {}
    for request in sorted(requests, key=lambda request: request.at):
        if request.resource == "cronschedules/status" and not request.failed:
            first.setdefault(request.uri, request.at)
    return first
