"""A range of slots that a person wants run after all → what becomes of each, and which one to start next.

Staleness and the caps do not apply, since somebody asked. The schedule's own decisions come first: a slot that it has
not decided yet waits for that, and a backlog goes before. Slots that ran, or of which that is not known, are not run
again.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from cronschedule.api.backfill import Fate
from cronschedule.api.v1alpha1 import CronScheduleSpec, Row, Segment
from cronschedule.core.facts import Facts, JobFact, Start
from cronschedule.core.segments import MIXED, RUN, SUSPENDED, segment_of
from cronschedule.core.slots import Slots

Hold = Literal["Suspended", "Undecided", "LiveWork", "Unrecorded", "RunActive", "MaxConcurrentReached"]

HOLDS: Mapping[Hold, str] = {
    "Suspended": "The schedule or its namespace is suspended; it goes on afterwards.",
    "Undecided": "The schedule has yet to decide the next slot itself.",
    "LiveWork": "The schedule's own slots go first.",
    "Unrecorded": "That a run has failed is being recorded before it is run again.",
    "RunActive": "The next slot waits until the active run has ended (concurrencyPolicy of the schedule).",
    "MaxConcurrentReached": "The next slot waits until one of the maxConcurrent active runs has ended.",
}
"""Why nothing is started, in a sentence for people."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """What was asked for: the slots from `first` to `last`, UTC seconds. `uid` marks its Jobs."""

    uid: str
    first: int
    last: int
    max_concurrent: int
    rerun_failed: bool
    include_suspended: bool
    dry_run: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What is known of the schedule: its facts, what became of its slots, and which runs failed by its rows."""

    facts: Facts
    decided: tuple[Segment, ...]
    failed: Collection[int]
    busy: bool
    """Whether slots of its own wait."""
    open: Collection[str] = ()
    """Jobs whose end is not recorded yet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What follows: results that are final now; then one slot to start, a reason to wait, or neither: it is done."""

    settled: tuple[Segment, ...]
    start: Start | None
    hold: Hold | None

    @property
    def done(self) -> bool:
        return self.start is None and self.hold is None


@dataclass(kw_only=True, slots=True)
class _Walk:
    order: Order
    known: Known
    slots: Slots
    at: int
    """Everything up to here has its result."""
    settled: list[Segment] = field(default_factory=list)

    def settle(self, until: int, fate: Fate) -> None:
        """The slots up to `until` have this fate."""
        first, last = self.slots.after(self.at), self.slots.newest(self.at, min(until, self.order.last))
        if first is not None and last is not None:
            count = self.slots.count(self.at, last)
            self.settled.append(Segment(first=first, last=last, count=count, fate=fate.value))
            self.at = last


def next_step(order: Order, known: Known, *, settled_until: int) -> Step:
    """What to do now about the slots after `settled_until`. The spec must be valid."""
    facts = known.facts
    assert facts.spec is not None
    assert facts.slots is not None
    if _suspended(facts) and not order.dry_run:
        return Step(settled=(), start=None, hold="Suspended")
    walk = _Walk(order=order, known=known, slots=facts.slots, at=max(settled_until, order.first - 1))
    jobs = {job.slot: job for job in facts.jobs if job.slot is not None}
    while (slot := walk.slots.after(walk.at)) is not None and slot <= order.last:
        if facts.ledger is None or slot > facts.ledger.last_decided:
            return _step(walk, hold="Undecided")
        fate = _fate(walk, slot, jobs.get(slot))
        if fate is not None:
            walk.settle(_end_of_stretch(walk, slot, jobs), fate)
        elif order.dry_run:
            walk.settle(slot if slot in jobs else _end_of_stretch(walk, slot, jobs), Fate.WOULD_RUN)
        else:
            return _start_or_hold(walk, facts.spec, slot, jobs.get(slot))
    return _step(walk)


def failed_slots(rows: Iterable[Row]) -> set[int]:
    """The slots whose newest run failed, by the rows of the history, newest first."""
    outcomes: dict[int, str] = {}
    for row in rows:
        if row.job is not None and row.trigger != "Manual":
            outcomes.setdefault(row.scheduled_time, row.outcome)
    return {slot for slot, outcome in outcomes.items() if outcome == "Failed"}


def _fate(walk: _Walk, slot: int, job: JobFact | None) -> Fate | None:
    """What becomes of a decided slot without a further run; `None` if it shall be run."""
    order, segment = walk.order, segment_of(walk.known.decided, slot)
    if job is not None:
        if job.backfill == order.uid:
            return Fate.RUN
        return None if job.failed and order.rerun_failed else Fate.ALREADY_RAN
    if segment is None or segment.fate == MIXED:
        return Fate.NOT_RECORDED
    if segment.fate == RUN:
        return None if order.rerun_failed and slot in walk.known.failed else Fate.ALREADY_RAN
    if segment.fate == SUSPENDED and not order.include_suspended:
        return Fate.SUSPENDED
    return None


def _end_of_stretch(walk: _Walk, slot: int, jobs: Mapping[int, JobFact]) -> int:
    """How far the slots after this one are like it: to the end of its segment, the next Job or the next failure."""
    if slot in jobs:
        return slot
    segment = segment_of(walk.known.decided, slot)
    if segment is None:
        later = [each.first - 1 for each in walk.known.decided if each.first > slot]
        end = min(later, default=walk.order.last)
        assert walk.known.facts.ledger is not None
        end = min(end, walk.known.facts.ledger.last_decided)
    else:
        end = segment.last
    marked = [other - 1 for other in (*jobs, *walk.known.failed) if slot < other <= end]
    if slot in walk.known.failed:
        return slot
    return min(marked, default=end)


def _start_or_hold(walk: _Walk, spec: CronScheduleSpec, slot: int, job: JobFact | None) -> Step:
    facts, order = walk.known.facts, walk.order
    if walk.known.busy:
        return _step(walk, hold="LiveWork")
    if job is not None and job.name in walk.known.open:
        return _step(walk, hold="Unrecorded")
    active = [other for other in facts.jobs if other.active]
    if spec.concurrency_policy != "Allow" and active:
        return _step(walk, hold="RunActive")
    if sum(other.trigger == "Backfill" for other in active) >= order.max_concurrent:
        return _step(walk, hold="MaxConcurrentReached")
    replaces = (job.name,) if job is not None else ()
    start = Start(slot=slot, trigger="Backfill", first=slot, count=1, replaces=replaces, backfill=order.uid)
    return _step(walk, start=start)


def _suspended(facts: Facts) -> bool:
    """Whether it is, or was until a moment ago (`semantics.md §5`)."""
    known = facts.ledger is not None and facts.ledger.suspension is not None
    return known or facts.tenant_suspended is not None or (facts.spec is not None and facts.spec.suspend)


def _step(walk: _Walk, *, start: Start | None = None, hold: Hold | None = None) -> Step:
    return Step(settled=tuple(walk.settled), start=start, hold=hold)
