"""The ordeal: replicas whose leader goes again and again, behind a proxy that fails at random, and then the judge.

The leader is killed, asked to end, or stopped for longer than its lease, in turn; one tenant is suspended and resumed
all the while. Everything follows from the seed, as far as processes on a machine follow from anything. The last minute
and a half are calm, and by their end all must be made good.
"""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from random import Random

from bench import manifests, soak
from bench.errors import BenchError
from bench.evidence import gather, read_lines
from bench.herd import complaints_of
from bench.records import Evidence
from bench.scene import Scene, scene
from bench.times import MINUTE, next_minute, wait_till
from bench.usage import usage
from faults import FaultProxy, Plan
from faults.plan import weather
from localkube import LocalkubeError, OperatorProcess

WAYS = ("kill", "terminate", "pause")
PAUSE = 25.0
"""Seconds that a leader is stopped: longer than its lease."""

DOWN = 3.0
"""Seconds until a replica that ended is started again."""

CALM = 90.0
NOTICE = 130.0
"""Seconds within which a suspension must have been seen, even where the watch of Namespaces has been silent: they are
listed every minute, and what differs twice in a row is believed."""

SUSPENSION = (20.0, 200.0)
RESUMPTION = (20.0, 100.0)
"""How long the tenant stays suspended, and not: at least and at most, in seconds."""

PATIENCE = 60.0
"""Seconds that a leader is waited for when the next one is to go."""

MIB = 1024 * 1024
SETTINGS = {"CRONSCHEDULE_LEADER_ELECTION": "on"}
EXPECTED = ("lease.lost", "operator.broken", "Request attempt #", "an error occurred during closing")
"""Beginnings of the errors that a replica logs when it has lost its lease, as it shall here, and that kopf logs when a
request of its own fails."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How long, how many schedules and replicas, how often the leader goes, the seed, and whether requests fail."""

    minutes: int
    schedules: int
    replicas: int
    fail_overs: int
    seed: int
    faults: bool


@dataclass(frozen=True, kw_only=True)
class HandOver:
    """When a leader went, which way, and when the next one began to decide (None: not seen)."""

    way: str
    at: float
    taken: float | None


def run(options: Options, folder: Path) -> int:
    """All of it; the exit status. Raises BenchError, LocalkubeError."""
    kind = "faults at random" if options.faults else "no faults"
    print(
        f"seed {options.seed}: {options.fail_overs} fail-overs in {options.minutes} minutes, {kind}",
        flush=True,
    )
    with scene(folder) as place, _door(place, options) as (proxy, kubeconfig):
        fleet = Fleet(kubeconfig, folder, options.replicas)
        until = _suffer(options, place, proxy, fleet)
        evidence = gather(
            bodies=place.schedules(),
            audit=read_lines(place.audit_log),
            notes=read_lines(place.notes),
            until=until,
            kills=[gone.at for gone in fleet.gone],
            notice=NOTICE,
        )
        faults = len(proxy.faults()) if proxy is not None else 0
    print(f"{faults} requests or streams met a fault")
    print(f"{len(evidence.writes) / (options.minutes * MINUTE):.1f} statuses written a second")
    _tell_gaps(fleet.hand_overs())
    _tell_memory(fleet.memory)
    return soak.pronounce(_with_skips(evidence, options), fleet.trouble())


class Fleet:
    """The replicas, each started again when it has ended."""

    def __init__(self, kubeconfig: Path, folder: Path, number: int) -> None:
        self.gone: list[HandOver] = []
        self.memory: list[tuple[float, int]] = []
        """At which moments a replica had how many bytes of memory."""
        self._members = [OperatorProcess(kubeconfig, folder / f"replica-{n}.log") for n in range(number)]
        self._ended = threading.Event()
        self._keepers = [threading.Thread(target=self._keep, args=(each,)) for each in self._members]

    @contextlib.contextmanager
    def living(self) -> Iterator[Fleet]:
        for keeper in self._keepers:
            keeper.start()
        try:
            yield self
        finally:
            self._ended.set()
            for keeper in self._keepers:
                keeper.join()
            for each in self._members:
                each.end()

    def wait_for_leader(self, seconds: float) -> OperatorProcess:
        """Raises BenchError when nobody begins to lead."""
        deadline = time.monotonic() + seconds
        while (leader := self._leader()) is None:
            if time.monotonic() > deadline:
                raise BenchError(f"Waited {seconds:.0f} s in vain for a leader.")
            time.sleep(0.1)
        return leader

    def topple(self, way: str) -> None:
        """Let the leader go in this way, as soon as there is one."""
        leader = self.wait_for_leader(PATIENCE)
        self.gone.append(HandOver(way=way, at=time.time(), taken=None))
        with contextlib.suppress(LocalkubeError):
            match way:
                case "kill":
                    leader.kill()
                case "terminate":
                    leader.stop()
                case "pause":
                    self._pause(leader)

    def hand_overs(self) -> list[HandOver]:
        """Each with the moment at which the next leader began."""
        begins = sorted(_moment(line) for each in self._members for line in each.lines() if _begins(line))
        return [
            replace(gone, taken=next((begin for begin in begins if begin > gone.at), None))
            for gone in self.gone
        ]

    def trouble(self) -> list[str]:
        """What they complained of, their own lost leases apart."""
        return [
            line
            for each in self._members
            for line in complaints_of(each)
            if not any(f"'event': {quote}{name}" in line for name in EXPECTED for quote in "'\"")
        ]

    def _leader(self) -> OperatorProcess | None:
        """The one that runs and has begun to decide since it was started; of two, who began last."""
        begun = []
        for number, each in enumerate(self._members):
            lives = [
                line for line in each.lines() if line.get("event") == "operator.starting" or _begins(line)
            ]
            if lives and _begins(lives[-1]) and each.running():
                begun.append((_moment(lives[-1]), number))
        return self._members[max(begun)[1]] if begun else None

    def _pause(self, leader: OperatorProcess) -> None:
        leader.pause()
        time.sleep(PAUSE)
        leader.resume()

    def _keep(self, member: OperatorProcess) -> None:
        """Start it whenever it does not run. Where requests fail it may be long in getting ready."""
        while not self._ended.is_set():
            if not member.running():
                with contextlib.suppress(LocalkubeError):
                    member.start(**SETTINGS)
            with contextlib.suppress(LocalkubeError, BenchError):
                self.memory.append((time.time(), usage(member.pid).rss))
            self._ended.wait(DOWN)


@contextlib.contextmanager
def _door(place: Scene, options: Options) -> Iterator[tuple[FaultProxy | None, Path]]:
    """The way to the API server: through the proxy where requests shall fail."""
    if not options.faults:
        yield None, place.cluster.kubeconfig
        return
    with FaultProxy(place.cluster.kubeconfig, place.folder / "faults").started() as proxy:
        yield proxy, proxy.kubeconfig


def _suffer(options: Options, place: Scene, proxy: FaultProxy | None, fleet: Fleet) -> int:
    """Let it all happen; the last slot that must be decided."""
    place.create_namespaces(manifests.namespaces(soak.TENANTS))
    random = Random(options.seed)
    with fleet.living():
        fleet.wait_for_leader(PATIENCE)
        place.create("cronschedules", soak.bodies(options.schedules))
        start = next_minute()
        until = start + options.minutes * MINUTE
        rough = until - CALM
        if proxy is not None:
            proxy.carry_out(weather(options.seed, seconds=rough - time.time() + MINUTE))
        flapping = threading.Thread(target=_flap, args=(place, Random(options.seed + 1), rough), daemon=True)
        flapping.start()
        for number, moment in enumerate(_moments(options, random, start, rough)):
            wait_till(moment)
            fleet.topple(WAYS[number % len(WAYS)])
        flapping.join()
        if proxy is not None:
            proxy.carry_out(Plan())
        wait_till(until + soak.LAST_LOOK)
    return until


def _moments(options: Options, random: Random, start: float, end: float) -> list[float]:
    """When the leader goes: half of the times just after a slot, where Jobs are created and ledgers written."""
    step = (end - start) / (options.fail_overs + 1)
    moments = []
    for number in range(options.fail_overs):
        moment = start + step * (number + random.random())
        if number % 2:
            moment = moment // MINUTE * MINUTE + random.uniform(0, 1.5)
        moments.append(moment)
    return sorted(moments)


def _flap(place: Scene, random: Random, until: float) -> None:
    """Suspend and resume the last tenant again and again."""
    tenant = manifests.namespaces(soak.TENANTS)[-1]
    while time.time() < until:
        place.cluster.kubectl("label", "namespace", tenant, "cronschedule.dev/suspended=true", "--overwrite")
        wait_till(min(until, time.time() + random.uniform(*SUSPENSION)))
        place.cluster.kubectl("label", "namespace", tenant, "cronschedule.dev/suspended-")
        wait_till(min(until, time.time() + random.uniform(*RESUMPTION)))


def _with_skips(evidence: Evidence, options: Options) -> Evidence:
    """What cannot be created for a whole minute is given up, except under CatchUp."""
    if not options.faults:
        return evidence
    return replace(
        evidence,
        schedules=[
            replace(each, expected_skips=each.expected_skips | {"CreateFailed"})
            if each.misfire_policy != "CatchUp"
            else each
            for each in evidence.schedules
        ],
    )


def _tell_gaps(hand_overs: Sequence[HandOver]) -> None:
    """How long nobody decided, way by way."""
    for way in WAYS:
        gaps = sorted(each.taken - each.at for each in hand_overs if each.way == way and each.taken)
        if gaps:
            print(
                f"{way}: {len(gaps)} hand-overs, least {gaps[0]:.1f} s, median {statistics.median(gaps):.1f} s,"
                f" most {gaps[-1]:.1f} s"
            )


def _tell_memory(samples: Sequence[tuple[float, int]]) -> None:
    """The most that a replica had, in each quarter of the time: it may not grow."""
    begin, end = samples[0][0], max(at for at, _ in samples)
    quarters: list[list[int]] = [[], [], [], []]
    for at, size in samples:
        quarters[min(3, int(4 * (at - begin) / (end - begin)))].append(size)
    most = ", ".join(f"{max(sizes) / MIB:.0f}" for sizes in quarters if sizes)
    print(f"most memory of a replica, quarter by quarter: {most} MiB")


def _begins(line: dict[str, object]) -> bool:
    return line.get("event") == "operator.leading"


def _moment(line: dict[str, object]) -> float:
    return datetime.fromisoformat(str(line["timestamp"])).timestamp()
