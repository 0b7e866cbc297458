"""The planner over a timeline: what would this schedule have done?

A small world of one schedule moves from moment to moment; at each the same planner as the operator's decides.
Moments are UTC seconds. Windows are half-open, [start, end).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Literal

from cronschedule.api.names import job_name
from cronschedule.api.v1alpha1 import CronScheduleSpec
from cronschedule.core.facts import (
    DEFAULT_MISFIRE_THRESHOLD,
    Decision,
    Facts,
    JobFact,
    Ledger,
    Skip,
    Start,
)
from cronschedule.core.planner import plan, schedule_text, settle_run
from cronschedule.core.slots import slots_of

Window = tuple[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """A schedule, and what happens to it.

    `specs` holds the first spec (at `start`, the creation) and what each edit made of it, in order of time.
    """

    name: str
    specs: Sequence[tuple[int, CronScheduleSpec]]
    start: int
    end: int
    operator_down: Sequence[Window] = ()
    tenant_suspended: Sequence[Window] = ()
    run_duration: int = 0
    misfire_threshold: int = DEFAULT_MISFIRE_THRESHOLD


@dataclass(kw_only=True, slots=True)
class Run:
    """The run of a slot; `ended` is `None` while it is active."""

    start: Start
    started: int
    ended: int | None = None
    outcome: Literal["Active", "Succeeded", "Replaced"] = "Active"


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of one slot: a run, or a reason, and when that was decided."""

    slot: int
    at: int
    run: Run | None
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """The answer: a decision per slot in slot order, and how things stand at the end."""

    decisions: Sequence[Decided]
    last_decided: int
    waiting: Sequence[int]
    next_slot: int | None

    @property
    def runs(self) -> int:
        return sum(decided.run is not None for decided in self.decisions)

    @property
    def skipped(self) -> dict[str, int]:
        """How many slots were skipped, by reason in alphabetical order."""
        return dict(sorted(Counter(d.reason for d in self.decisions if d.run is None).items()))


def simulate(scenario: Scenario) -> Outcome:
    """Play the scenario from its start to its end, what happens at the end itself included."""
    world = _World(scenario=scenario, ledger=None)
    moment: int | None = scenario.start
    while moment is not None and moment <= scenario.end:
        world.step(moment)
        moment = world.next_moment(moment)
    return world.outcome()


@dataclass(kw_only=True)
class _World:
    """One schedule, its runs and its operator, as they are at one moment."""

    scenario: Scenario
    ledger: Ledger | None
    wake: int | None = None
    idle: bool = False
    """Nothing waits: until `wake` the end of a run changes nothing, so the operator need not be asked."""
    runs: dict[int, Run] = field(default_factory=dict)
    jobs: dict[int, JobFact] = field(default_factory=dict)
    endings: list[tuple[int, int]] = field(default_factory=list)
    decisions: list[Decided] = field(default_factory=list)
    moments: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        scenario = self.scenario
        edges = {edge for window in scenario.tenant_suspended for edge in window}
        edges |= {end for _, end in scenario.operator_down} | {at for at, _ in scenario.specs}
        self.moments = sorted((edge for edge in edges if edge > scenario.start), reverse=True)

    def step(self, now: int) -> None:
        """One moment: runs end, then (windows and edits being what they are by now) the operator looks."""
        while self.endings and self.endings[0][0] <= now:
            ended, slot = heappop(self.endings)
            if slot in self.runs:
                run = self._forget(slot)
                run.ended, run.outcome = ended, "Succeeded"
        idle = self.idle and (self.wake is None or now < self.wake)
        while self.moments and self.moments[-1] <= now:
            self.moments.pop()
            idle = False
        if not idle and not _within(self.scenario.operator_down, now):
            self._evaluate(now)

    def next_moment(self, now: int) -> int | None:
        """When something happens next; `now` again while a run of no length has just begun."""
        while self.endings and self.endings[0][1] not in self.runs:  # replaced before it could end
            heappop(self.endings)
        coming = [self.endings[0][0]] if self.endings else []
        if self.wake is not None and not _within(self.scenario.operator_down, self.wake):
            coming.append(self.wake)
        if self.moments:
            coming.append(self.moments[-1])
        return max(min(coming), now) if coming else None

    def _evaluate(self, now: int) -> None:
        """Plan and carry out until nothing is left to do at this moment."""
        while True:
            planned = plan(self._facts(now), now)
            self.ledger = planned.ledger
            self._record(planned.decisions, now)
            if planned.start is None:
                self.wake, self.idle = planned.wake, planned.waiting is None
                return
            self._run(planned.start, now)
            if planned.waiting is not None and planned.waiting.count == planned.start.count:
                self.wake, self.idle = planned.next_slot, True  # nothing else was due
                return

    def _run(self, start: Start, now: int) -> None:
        for slot in [slot for slot, job in self.jobs.items() if job.name in start.replaces]:
            run = self._forget(slot)
            run.ended, run.outcome = now, "Replaced"
        name = job_name(self.scenario.name, start.slot)
        self.runs[start.slot] = Run(start=start, started=now)
        self.jobs[start.slot] = JobFact(name=name, slot=start.slot, trigger=start.trigger, active=True)
        heappush(self.endings, (now + self.scenario.run_duration, start.slot))
        assert self.ledger is not None
        text = schedule_text(self._spec(now))
        self.ledger, decisions = settle_run(self.ledger, start, name, text)
        self._record(decisions, now)

    def _forget(self, slot: int) -> Run:
        """The run of a slot, which is not active any more."""
        del self.jobs[slot]
        return self.runs.pop(slot)

    def _record(self, decisions: Sequence[Decision], now: int) -> None:
        for decision in decisions:
            if isinstance(decision, Skip):
                slots = slots_of(decision.schedule.expression, decision.schedule.time_zone)
                for slot in slots.between(decision.first - 1, decision.last):
                    self.decisions.append(Decided(slot, now, None, decision.reason.value))
            else:
                self.decisions.append(Decided(decision.start.slot, now, self.runs[decision.start.slot]))

    def _facts(self, now: int) -> Facts:
        spec = self._spec(now)
        tenant = "The namespace is suspended." if _within(self.scenario.tenant_suspended, now) else None
        return Facts(
            spec=spec,
            slots=slots_of(spec.schedule, spec.time_zone),
            created=self.scenario.start,
            adopted=self.ledger is not None,
            ledger=self.ledger,
            tenant_suspended=tenant,
            jobs=tuple(self.jobs.values()),
            misfire_threshold=self.scenario.misfire_threshold,
        )

    def _spec(self, now: int) -> CronScheduleSpec:
        """The spec in force; edits up to the start belong to the first one."""
        return next(spec for at, spec in reversed(self.scenario.specs) if at <= max(now, self.scenario.start))

    def outcome(self) -> Outcome:
        """How things stand at the end, for the schedule and the suspension that the operator knows of."""
        end, scenario = self.scenario.end, self.scenario
        spec = self._spec(end)
        text, decided, suspended = schedule_text(spec), scenario.start, False
        if self.ledger is not None and self.ledger.schedule is not None:
            text, decided = self.ledger.schedule, self.ledger.last_decided
            suspended = self.ledger.suspension is not None
        slots = slots_of(text.expression, text.time_zone)
        suspended = suspended or spec.suspend or _within(scenario.tenant_suspended, end)
        return Outcome(
            decisions=self.decisions,
            last_decided=decided,
            waiting=tuple(slots.between(decided, end)),
            next_slot=None if suspended else slots.after(end),
        )


def _within(windows: Sequence[Window], moment: int) -> bool:
    return any(start <= moment < end for start, end in windows)


def merge_windows(windows: Sequence[Window]) -> tuple[Window, ...]:
    """The same time as windows that neither touch nor overlap, in order."""
    merged: list[Window] = []
    for start, end in sorted(window for window in windows if window[0] < window[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
