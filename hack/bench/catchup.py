"""Catching up: hundreds of backlogs at once beside live schedules, the operator killed again and again.

    1  only live schedules run: how late are they when nothing else is to be done?
    2  a namespace with one backlog beside one with many: is it kept waiting?
    3  backlogs of some hours in every namespace, beside the live schedules: pace, shares, how late the live ones are
    4  the operator is killed again and again while the rest is worked off
    5  when all is settled: every slot once, none lost, each schedule's in order

Pods are played by kwok and run for a second; each run then costs the API server some fifteen requests of others.
Without pods the Jobs are suspended and never end, and 2 is left out. Live lateness is not measured in 4, where the
operator is not there.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from bench import live, manifests
from bench.backlogs import BEHIND, Options, behind_by_hours, hourly, set_up, slots_of
from bench.budget import Check
from bench.evidence import gather, read_lines
from bench.fairness import Start, lag_check, order_checks, pace_checks, settled_checks, share_check
from bench.figures import percentile, table
from bench.herd import complaints_of
from bench.judge import judge
from bench.plot import steps
from bench.records import Evidence
from bench.scene import TUNED, Notes, Scene, scene, wait_until
from bench.times import MINUTE, next_minute, say, wait_till
from localkube import OperatorProcess

ALONE, CROWD = "alone", "crowd"
CROWD_SIZE = 200
LONGEST_TURN = 5.0
"""Seconds from the end of a lone backlog's run to its next, at most: two turns of its namespace, and its status."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What was seen. `waits`: seconds from the end of each of the lone backlog's runs to the start of the next."""

    options: Options
    starts: list[Start]
    begin: float
    kills: list[float]
    before: list[float]
    during: list[float]
    waits: list[float]
    crowd_runs: int
    evidence: Evidence
    expected: dict[str, list[int]]
    statuses: list[dict[str, Any]]
    complaints: list[str]


def measure(options: Options, folder: Path) -> Outcome:
    """From an empty cluster to the last run. Raises BenchError, LocalkubeError."""
    with scene(folder, extra_args=TUNED) as place:
        place.create_namespaces([*manifests.namespaces(options.tenants), ALONE, CROWD])
        place.create("cronschedules", live.bodies(manifests.namespaces(options.tenants), options.live))
        operator = place.operator()
        with operator.started(**options.settings):
            calm_from = next_minute()
            wait_till(calm_from + options.minutes * MINUTE + 30)
            say("live schedules alone: measured")
        waits, crowd_runs = _lone_and_crowd(place, operator, options) if options.pods else ([], 0)
        set_up(place, list(behind_by_hours(options)), hours=options.hours)
        begin = time.time()
        operator.start(**options.settings)
        say("backlogs begin")
        kills = _suffer(place, operator, options)
        wait_until(
            lambda: _is_through(place, options), seconds=600, what="every backlog to be worked off", pause=2
        )
        say("all is caught up")
        until = next_minute() + MINUTE
        wait_till(until + 30)
        operator.stop()
        return _gathered(place, operator, options, begin, kills, until, calm_from, waits, crowd_runs)


def _gathered(
    place: Scene,
    operator: OperatorProcess,
    options: Options,
    begin: float,
    kills: list[float],
    until: int,
    calm_from: int,
    waits: list[float],
    crowd_runs: int,
) -> Outcome:
    notes = Notes(place.notes)
    notes.look()
    bodies = place.schedules()
    evidence = gather(
        bodies=bodies,
        audit=read_lines(place.audit_log),
        notes=read_lines(place.notes),
        until=until,
        kills=kills,
    )
    behind = [body for body in bodies if body["metadata"]["name"].startswith(BEHIND)]
    starts = list(_starts(evidence))
    calm_end = min([*kills[:1], max(start.at for start in starts)])
    calm_minutes = range(math.ceil(begin / MINUTE) * MINUTE + MINUTE, int(calm_end) - 10, MINUTE)
    return Outcome(
        options=options,
        starts=starts,
        begin=begin,
        kills=kills,
        before=live.lags(notes, range(calm_from, calm_from + options.minutes * MINUTE, MINUTE)),
        during=live.lags(notes, calm_minutes),
        waits=waits,
        crowd_runs=crowd_runs,
        evidence=evidence,
        expected={body["metadata"]["uid"]: slots_of(body, options) for body in behind},
        statuses=[body.get("status") or {} for body in behind],
        complaints=complaints_of(operator),
    )


def _starts(evidence: Evidence) -> Iterator[Start]:
    """The Jobs of the backlogs, by the API server's clock: the watcher hears of some sooner and of some later."""
    names = {schedule.uid: schedule.name.split("/") for schedule in evidence.schedules}
    for job in evidence.created:
        namespace, name = names.get(job.schedule, ("", ""))
        if name.startswith(BEHIND):
            yield Start(at=job.at, namespace=namespace, schedule=name, slot=job.slot)


def check(outcome: Outcome) -> list[Check]:
    """Every promise, line by line."""
    options, evidence = outcome.options, outcome.evidence
    created: dict[str, list[int]] = {uid: [] for uid in outcome.expected}
    for job in sorted(evidence.created, key=lambda job: job.version):
        if job.schedule in created:
            created[job.schedule].append(job.slot)
    on_time = [schedule for schedule in evidence.schedules if f"/{live.NAME}" in schedule.name]
    broken = judge(replace(evidence, schedules=on_time))
    longest = max(outcome.waits, default=math.inf)
    wait = Check(
        what=f"longest wait of one backlog beside {CROWD_SIZE}",
        seen=f"{longest:.1f} s",
        allowed=f"{LONGEST_TURN:.0f} s",
        holds=longest <= LONGEST_TURN,
    )
    return [
        *pace_checks(outcome.starts, per_minute=options.per_minute, per_namespace=options.per_namespace),
        share_check(outcome.starts, manifests.namespaces(options.tenants)),
        lag_check(outcome.before, outcome.during),
        *([wait] if options.pods else []),
        Check(
            what="kills", seen=f"{len(outcome.kills)}", allowed=f"{options.kills}",
            holds=len(outcome.kills) == options.kills,
        ),
        *order_checks(created, outcome.expected),
        *settled_checks(outcome.statuses, slots=options.slots, ended=options.pods),
        Check(
            what=f"promises broken to {len(on_time)} live schedules", seen=f"{len(broken)}", allowed="0",
            holds=bool(on_time) and not broken,
        ),
        Check(
            what="errors in the log", seen=f"{len(outcome.complaints)}", allowed="0",
            holds=not outcome.complaints,
        ),
    ]  # fmt: skip


def report(outcome: Outcome) -> str:
    """The figures as a table."""
    options = outcome.options
    moments = sorted(start.at - outcome.begin for start in outcome.starts)
    calm = [moment for moment in moments if not outcome.kills or moment < outcome.kills[0] - outcome.begin]
    rows = [
        [
            "backlogs",
            f"{options.tenants * options.schedules} in {options.tenants} namespaces, of {options.slots} slots",
        ],
        ["catch-up Jobs", f"{len(moments)}"],
        ["budget", f"{options.per_minute} a minute, {options.per_namespace} in a namespace"],
        ["first catch-up Job", f"{moments[0]:.1f} s after the start" if moments else "none"],
        ["last", f"{moments[-1]:.1f} s after the start" if moments else "none"],
        [
            "before the first kill",
            f"{len(calm)} Jobs, {60 * len(calm) / max(calm[-1] - calm[0], 1):.0f} a minute" if calm else "-",
        ],
        [
            "one backlog beside many: all its runs, while the many had",
            f"{outcome.crowd_runs} of {CROWD_SIZE * options.slots}",
        ],
    ]
    for share in 0.5, 0.99, 1.0:
        calm_lag, busy = percentile(outcome.before, share), percentile(outcome.during, share)
        name = {0.5: "p50", 0.99: "p99", 1.0: "most"}[share]
        rows.append(
            [f"live, slot to Job, {name}: before / beside backlogs", f"{calm_lag:.2f} s / {busy:.2f} s"]
        )
    rows += [["the log complains", line[:200]] for line in outcome.complaints[:3]]
    return table(rows)


def plot(outcome: Outcome) -> str:
    """Jobs over time, a line for each namespace, as SVG; the kills are marked."""
    series: dict[str, list[float]] = {name: [] for name in manifests.namespaces(outcome.options.tenants)}
    for start in outcome.starts:
        series[start.namespace].append(start.at - outcome.begin)
    return steps(
        series,
        title=f"Catch-up Jobs of {len(series)} namespaces ({outcome.options.per_minute} a minute are allowed)",
        across="seconds since the operator was started; dashed: it was killed",
        up="Jobs of one namespace so far",
        marks=[kill - outcome.begin for kill in outcome.kills],
    )


# The course of it


def _lone_and_crowd(place: Scene, operator: OperatorProcess, options: Options) -> tuple[list[float], int]:
    """Until the lone backlog is worked off: how long it waited for each turn, and how many runs the many had."""
    crowd = [hourly(CROWD, f"{CROWD}-{number:03}", options) for number in range(CROWD_SIZE)]
    set_up(place, [*crowd, hourly(ALONE, ALONE, options)], hours=options.hours)
    with operator.started(**options.settings):
        wait_until(
            lambda: _runs(place, ALONE) == options.slots,
            seconds=300,
            what="the lone backlog to be worked off",
            pause=1,
        )
    notes = Notes(place.notes)
    notes.look()
    last = max(at for (space, _, _), at in notes.first_seen.items() if space == ALONE)
    crowd_runs = sum(space == CROWD and at <= last for (space, _, _), at in notes.first_seen.items())
    for space in ALONE, CROWD:
        place.cluster.kubectl("delete", "cronschedules", "--all", "-n", space)
    say("one beside many: measured")
    return _waits(place), crowd_runs


def _waits(place: Scene) -> list[float]:
    """Seconds from the end of each run in the lone namespace to the beginning of the next."""
    begun: list[float] = []
    ended: dict[str, float] = {}
    for note in read_lines(place.notes):
        if note.get("namespace") != ALONE:
            continue
        if note["type"] == "ADDED":
            begun.append(note["seen"])
        elif note["state"] == "Succeeded":
            ended.setdefault(note["uid"], note["seen"])
    return [start - end for end, start in zip(ended.values(), begun[1:], strict=False)]


def _suffer(place: Scene, operator: OperatorProcess, options: Options) -> list[float]:
    """Calm minutes first, then kill after kill, each soon after the operator was ready again."""
    random = Random(options.seed)
    wait_till(time.time() + options.calm * MINUTE)
    kills = []
    for number in range(options.kills):
        kills.append(time.time())
        operator.kill()
        time.sleep(random.uniform(0, 1))
        operator.start(**options.settings)
        place.check_witness()
        say(f"killed and ready again: {number + 1} of {options.kills}")
        time.sleep(random.uniform(2, 6))
    return kills


def _is_through(place: Scene, options: Options) -> bool:
    place.check_witness()
    statuses = [
        body.get("status") or {} for body in place.schedules() if body["metadata"]["name"].startswith(BEHIND)
    ]
    counted = "succeeded" if options.pods else "runs"
    return all((status.get("counts") or {}).get(counted) == options.slots for status in statuses)


def _runs(place: Scene, namespace: str) -> int:
    return sum(
        (body.get("status") or {}).get("counts", {}).get("succeeded", 0)
        for body in place.schedules()
        if body["metadata"]["namespace"] == namespace
    )
