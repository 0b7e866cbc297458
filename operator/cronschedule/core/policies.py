"""The rules for due slots, in the order in which they are asked; the first that has a verdict settles it.

Each rule looks at one `Case`: the candidate slot (with those it stands for) among the due ones. `None` means: go on.
The numbers are those of `semantics.md §3`; suspension and edits (rule 1, §5, §6) come before, in `planner.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from cronschedule.api.reasons import SkipReason, WaitReason
from cronschedule.api.shapes import format_duration, format_time
from cronschedule.api.v1alpha1 import CronScheduleSpec
from cronschedule.core.facts import Facts, JobFact, Retry
from cronschedule.core.slots import Slots


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """The due slots of one schedule: those in (after, now], from `oldest` to `newest`.

    `slot` is the candidate to run; it stands for the slots from `first` on.
    """

    facts: Facts
    spec: CronScheduleSpec
    slots: Slots
    now: int
    after: int
    oldest: int
    newest: int
    slot: int
    first: int

    @property
    def on_time(self) -> bool:
        """Whether the candidate is on time: late by no more than the threshold, and none newer is due (§1)."""
        return self.slot == self.newest and self.now - self.slot <= self.facts.misfire_threshold

    @property
    def backlog(self) -> bool:
        """Under CatchUp: whether the oldest due slot is missed (§1)."""
        return self.spec.misfire_policy == "CatchUp" and not (
            self.oldest == self.newest and self.now - self.oldest <= self.facts.misfire_threshold
        )

    @property
    def retry(self) -> Retry | None:
        """The retry under way, if it is the candidate's."""
        retry = self.facts.retry
        return retry if retry is not None and retry.start.slot == self.slot else None

    @property
    def active(self) -> tuple[JobFact, ...]:
        """The unfinished runs of this schedule, the candidate's own Job aside."""
        return tuple(job for job in self.facts.jobs if job.active and job.slot != self.slot)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settle:
    """Verdict: the due slots up to `until` are skipped."""

    until: int
    reason: SkipReason
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Adopt:
    """Verdict: the slot has its Job already."""

    job: JobFact


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    """Verdict: the slot waits undecided; look again at `wake` at the latest."""

    reason: WaitReason
    wake: int | None


Verdict = Settle | Adopt | Wait
Rule = Callable[[Case], Verdict | None]


def already_started(case: Case) -> Verdict | None:
    """§4: a due slot with a Job is a Run that was not recorded; what was due before it was settled with it."""
    job = next_started(case.facts.jobs, case.after, case.now)
    if job is None or job.slot is None:
        return None
    before = case.slots.newest(case.after, job.slot - 1)
    if before is None:
        return Adopt(job=job)
    if case.oldest >= job.stands_from or case.spec.misfire_policy == "FireOnce":
        return Settle(until=before, reason=SkipReason.COALESCED, message=coalesced_message(job.slot))
    if case.spec.misfire_policy == "CatchUp":
        return None
    missed = min(before, job.stands_from - 1)
    return Settle(until=missed, reason=SkipReason.MISFIRE, message=_MISFIRE)


def retry_over(case: Case) -> Verdict | None:
    """Rule 6: a slot in retry is given up when it is too stale or, except under CatchUp, its next slot is due."""
    retry = case.retry
    if retry is None:
        return None
    late = case.now - case.slot > case.spec.max_staleness
    overtaken = case.newest > case.slot and case.spec.misfire_policy != "CatchUp"
    if late or overtaken:
        return Settle(until=case.slot, reason=retry.reason, message=retry.error)
    return None


def retry_pending(case: Case) -> Verdict | None:
    """Rule 6: the next try is not before its back-off has passed."""
    retry = case.retry
    if retry is None or case.now >= retry.not_before:
        return None
    wake = min(retry.not_before, case.slot + case.spec.max_staleness + 1)
    return Wait(reason=WaitReason.RETRYING, wake=wake)


def missed_slots_are_skipped(case: Case) -> Verdict | None:
    """Rule 2, Skip: whatever was missed does not run."""
    if case.spec.misfire_policy != "Skip":
        return None
    last: int | None = case.slot
    if case.on_time or case.retry is not None:
        last = case.slots.newest(case.after, case.slot - 1)
    return Settle(until=last, reason=SkipReason.MISFIRE, message=_MISFIRE) if last is not None else None


def stale_backlog(case: Case) -> Verdict | None:
    """Rule 2, CatchUp: what is too stale leaves the backlog, before the caps are asked."""
    if not case.backlog or case.retry is not None:
        return None
    stale = case.slots.newest(case.after, case.now - case.spec.max_staleness - 1)
    return _settle_prefix(case, stale, SkipReason.STALE, _stale_message)


def capped_backlog(case: Case) -> Verdict | None:
    """Rule 2, CatchUp: what is older than `maxAge`, and all but the newest `maxRuns`, leaves the backlog."""
    if not case.backlog or case.retry is not None:
        return None
    aged = case.slots.newest(case.after, case.now - case.spec.catch_up.max_age - 1)
    crowded = _beyond_newest(case, case.spec.catch_up.max_runs)
    last = max((slot for slot in (aged, crowded) if slot is not None), default=None)
    if last == case.newest and case.now - case.newest <= case.facts.misfire_threshold:
        last = case.slots.newest(case.after, case.newest - 1)  # an on-time slot is never dropped by the caps
    return _settle_prefix(case, last, SkipReason.CATCH_UP_CAP_EXCEEDED, _cap_message)


def stale(case: Case) -> Verdict | None:
    """Rule 3: lateness above `maxStaleness`."""
    if case.now - case.slot <= case.spec.max_staleness:
        return None
    return Settle(until=case.slot, reason=SkipReason.STALE, message=_stale_message(case.spec))


def overlap(case: Case) -> Verdict | None:
    """Rule 4: `Forbid` while a run is active; under CatchUp the slot waits its turn instead."""
    if case.spec.concurrency_policy != "Forbid" or not case.active:
        return None
    if case.spec.misfire_policy == "CatchUp":
        return Wait(reason=WaitReason.RUN_ACTIVE, wake=case.slot + case.spec.max_staleness + 1)
    names = ", ".join(sorted(job.name for job in case.active)[:3])
    return Settle(until=case.slot, reason=SkipReason.OVERLAP, message=f"Still active: {names}.")


def throttle(case: Case) -> Verdict | None:
    """Rule 5: while there is a backlog, at most `maxConcurrent` catch-up runs at a time."""
    if not case.backlog:
        return None
    catching_up = sum(job.trigger == "CatchUp" for job in case.active)
    if catching_up < case.spec.catch_up.max_concurrent:
        return None
    return Wait(reason=WaitReason.MAX_CONCURRENT, wake=case.slot + case.spec.max_staleness + 1)


RULES: tuple[Rule, ...] = (
    already_started,
    retry_over,
    retry_pending,
    missed_slots_are_skipped,
    stale_backlog,
    capped_backlog,
    stale,
    overlap,
    throttle,
)

_MISFIRE = "The slot was missed, and misfirePolicy is Skip."


def coalesced_message(slot: int) -> str:
    """The sentence for slots that a run of another slot stands for."""
    return f"The run of {format_time(slot)} stands for it."


def next_started(jobs: tuple[JobFact, ...], after: int, until: int) -> JobFact | None:
    """The Job of the oldest slot in (after, until] that has one."""
    started = [job for job in jobs if job.slot is not None and after < job.slot <= until]
    return min(started, key=lambda job: job.slot or 0, default=None)


def _settle_prefix(
    case: Case, last: int | None, reason: SkipReason, message: Callable[[CronScheduleSpec], str]
) -> Settle | None:
    """Skip the due slots up to `last`, but none that a Job stands for already or that comes after one."""
    if last is None:
        return None
    job = next_started(case.facts.jobs, case.after, case.now)
    if job is not None and job.stands_from <= last:
        last = case.slots.newest(case.after, job.stands_from - 1)
    return Settle(until=last, reason=reason, message=message(case.spec)) if last is not None else None


def _beyond_newest(case: Case, kept: int) -> int | None:
    """The newest due slot that is not among the newest `kept` ones."""
    if case.slots.count(case.after, case.now) <= kept:
        return None
    for position, slot in enumerate(case.slots.newest_first(case.after, case.now)):
        if position == kept:
            return slot
    return None


def _cap_message(spec: CronScheduleSpec) -> str:
    cap = spec.catch_up
    age = format_duration(cap.max_age)
    return f"The backlog may hold {cap.max_runs} slots (maxRuns), none older than {age} (maxAge)."


def _stale_message(spec: CronScheduleSpec) -> str:
    return f"Later than maxStaleness, {format_duration(spec.max_staleness)}, allows."
