"""The soak: schedules of all policies due every minute, the operator killed again and again, and then the judge.

The kills are drawn from a seed: half of them within a second and a half of a slot, where Jobs are created and
ledgers written, half of them anywhere. After the last restart there is a quiet minute in which all must be made good.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from bench import manifests
from bench.errors import BenchError
from bench.evidence import gather, read_lines
from bench.herd import complaints_of
from bench.judge import judge, totals
from bench.records import Evidence
from bench.scene import Scene, scene
from bench.times import MINUTE, next_minute, say, show
from localkube import LocalkubeError, OperatorProcess

TENANTS = 5
LONGEST_TALE = 60
EARLIEST = 10.0
QUIET = 60.0
"""Seconds without a kill at the end, the longest outage not counted."""

LAST_LOOK = 40.0
"""Seconds after the last slot at which the operator is asked to end."""

POLICIES = (
    ("FireOnce", "Forbid"),
    ("FireOnce", "Allow"),
    ("FireOnce", "Replace"),
    ("Skip", "Forbid"),
    ("Skip", "Allow"),
    ("CatchUp", "Forbid"),
    ("CatchUp", "Allow"),
)
DURATIONS = ("1s", "9s", "75s")
"""How long pods run; the last one overlaps with the next slot and is not for CatchUp, which would never catch up."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How long, how many, how often killed and for how many seconds at most, and the seed of the kills."""

    minutes: int
    schedules: int
    kills: int
    longest_down: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Kill:
    """When to kill (seconds after the first slot), and how long the operator then stays down."""

    after: float
    down: float


def run(options: Options, folder: Path) -> int:
    """The whole soak; the exit status. Raises BenchError, LocalkubeError."""
    kills = plan_kills(options)
    print(f"seed {options.seed}: {len(kills)} kills in {options.minutes} minutes", flush=True)
    with scene(folder) as place:
        until, life = _suffer(options, kills, place)
        evidence = gather(
            bodies=place.schedules(),
            audit=read_lines(place.audit_log),
            notes=read_lines(place.notes),
            until=until,
            kills=life.kills,
        )
    return pronounce(evidence, life.trouble)


def plan_kills(options: Options) -> list[Kill]:
    """The kills of this seed, in order; one that would meet a dead operator comes as the next one starts, or soon
    after. Raises BenchError when there is no room for so many."""
    random = Random(options.seed)
    end = options.minutes * MINUTE + LAST_LOOK - QUIET - options.longest_down
    if end <= EARLIEST:
        raise BenchError(
            f"{options.minutes} minutes are too short for an outage and a quiet minute after it."
        )
    moments = []
    for number in range(options.kills):
        moment = random.uniform(EARLIEST, end)
        if number % 2 == 0:
            moment = moment // MINUTE * MINUTE + random.uniform(0, 1.5)
        moments.append(moment)
    kills: list[Kill] = []
    earliest = EARLIEST
    for moment in sorted(moments):
        kill = Kill(after=max(moment, earliest), down=random.uniform(0, options.longest_down))
        earliest = kill.after + kill.down + random.uniform(0.5, 5)
        kills.append(kill)
    if kills and kills[-1].after > end:
        raise BenchError(f"{options.kills} kills do not fit into {options.minutes} minutes with this seed.")
    return kills


def bodies(number: int) -> list[dict[str, Any]]:
    """So many CronSchedules of all policies, with pods that are quick, slow, or fail."""
    tenants = manifests.namespaces(TENANTS)
    made = []
    for position in range(number):
        misfire, concurrency = POLICIES[position % len(POLICIES)]
        durations = DURATIONS[:2] if misfire == "CatchUp" else DURATIONS
        duration = durations[position // len(POLICIES) % len(durations)]
        outcome = "fail" if position % 10 == 9 else None
        made.append(
            manifests.cron_schedule(
                tenants[position % len(tenants)],
                f"{misfire}-{concurrency}-{duration}-{position}".lower(),
                manifests.job_spec(duration=duration, outcome=outcome),
                schedule="* * * * *",
                misfirePolicy=misfire,
                concurrencyPolicy=concurrency,
                maxStaleness="24h" if misfire == "CatchUp" else "1h",
            )
        )
    return made


def _suffer(options: Options, kills: list[Kill], place: Scene) -> tuple[int, Life]:
    """Run, kill, restart, be quiet; the last slot that must be decided, and what the operator lived through."""
    place.create_namespaces(manifests.namespaces(TENANTS))
    with place.operator().started() as operator:
        life = Life(place, operator)
        place.create("cronschedules", bodies(options.schedules))
        start = next_minute()
        until = start + options.minutes * MINUTE
        for kill in kills:
            life.go_on_till(start + kill.after)
            life.end(kill)
        life.go_on_till(until + LAST_LOOK)
        if code := operator.stop():
            life.trouble.append(f"the operator ended with {code} when it was asked to end")
        life.trouble += complaints_of(operator)
        return until, life


class Life:
    """The operator as a Deployment would have it: whenever it ends it is started again."""

    def __init__(self, place: Scene, operator: OperatorProcess) -> None:
        self._place, self._operator = place, operator
        self._killed = False
        self.trouble: list[str] = []
        self.kills: list[float] = []

    def go_on_till(self, moment: float) -> None:
        """Wait, with the operator started where it does not run."""
        while time.time() < moment:
            self._place.check_witness()
            if not self._operator.running():
                self._note_end()
                self._start(moment)
            time.sleep(min(0.5, max(0.0, moment - time.time())))

    def _note_end(self) -> None:
        if not self._killed:
            say("ended by itself")
            self.trouble.append(f"the operator ended by itself before {show(time.time())}")
        self._killed = False

    def end(self, kill: Kill) -> None:
        """Kill it, also while it is still starting, and let the cluster be without it for a while."""
        if self._operator.running():
            self._operator.kill()
        self.kills.append(time.time())
        self._killed = True
        say(f"killed; down for {kill.down:.1f} s")
        time.sleep(kill.down)

    def _start(self, moment: float) -> None:
        """Start it. If it is still starting at that moment, it is killed just then."""
        killer = threading.Timer(moment - time.time(), self._operator.kill)
        killer.start()
        try:
            self._operator.start()
            say("ready again")
        except LocalkubeError as error:
            if time.time() < moment:
                say("did not get ready")
                self.trouble.append(str(error))
        finally:
            killer.cancel()
            killer.join()


def pronounce(evidence: Evidence, trouble: list[str]) -> int:
    """Print what was judged and the verdict; the exit status."""
    seen = totals(evidence)
    skips = ", ".join(f"{number} {reason}" for reason, number in seen.skips.items()) or "none"
    print(
        f"{seen.schedules} schedules: {seen.slots} slots = {seen.runs} runs + {sum(seen.skips.values())} skips"
        f" ({skips}); {seen.jobs} Jobs created, {seen.writes} statuses written, {seen.ends} ends of Jobs seen"
    )
    print(f"{seen.orphans} Jobs were created by an operator that was killed before it had recorded them")
    print(f"{seen.suspended} slots were within a suspension of their tenant")
    violations = judge(evidence)
    for rule, number in Counter(violation.rule for violation in violations).most_common():
        print(f"BROKEN: {rule}: {number}")
    for line in [*map(str, violations), *trouble][:LONGEST_TALE]:
        print(f"  {line[:500]}")
    if violations or trouble:
        print(
            f"Broken: {len(violations)} violations, and {len(trouble)} complaints about the operator itself."
        )
        return 1
    print("Every promise was kept.")
    return 0
