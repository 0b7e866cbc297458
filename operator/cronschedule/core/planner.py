"""Facts and a moment → what to do: decisions, the next run to start, when to look again.

    1  open the ledger: a new schedule, or one whose record is lost (§6)
    2  suspension begins, changes or ends, and the schedule was edited (§3 rule 1, §5, §6)
    3  the rules for due slots, until one has to be tried, waits, or none is left (§3 rules 2 to 6)

Starting up is not a special case: an old ledger makes many slots due, that is all. Section numbers are those of
`semantics.md`.
"""

from dataclasses import dataclass, field, replace
from functools import lru_cache

from cronschedule.api.reasons import SkipReason, WaitReason
from cronschedule.api.shapes import format_time
from cronschedule.api.v1alpha1 import CronScheduleSpec, ScheduleText
from cronschedule.core.cron import CronError
from cronschedule.core.facts import Decision, Facts, Ledger, Note, Plan, Ran, Skip, Start, Suspended, Waiting
from cronschedule.core.policies import (
    RULES,
    Adopt,
    Case,
    Settle,
    Verdict,
    Wait,
    coalesced_message,
    next_started,
)
from cronschedule.core.slots import Slots, slots_of
from cronschedule.core.zones import UnknownTimeZone


@dataclass(kw_only=True, slots=True)
class _Draft:
    """A plan in the making."""

    facts: Facts
    now: int
    ledger: Ledger
    decisions: list[Decision] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def skip_until(
        self, until: int, *, slots: Slots, text: ScheduleText, reason: SkipReason, message: str
    ) -> None:
        """Decide the slots in (last decided, until]; those that have a Job, or that one stands for, are its own."""
        while True:
            job = next_started(self.facts.jobs, self.ledger.last_decided, until)
            if job is None or job.slot is None:
                self._skip(until, slots=slots, text=text, reason=reason, message=message)
                return
            self._skip(job.stands_from - 1, slots=slots, text=text, reason=reason, message=message)
            self._skip(
                job.slot - 1,
                slots=slots,
                text=text,
                reason=SkipReason.COALESCED,
                message=coalesced_message(job.slot),
            )
            self.ran(job.start, job.name)

    def _skip(
        self, until: int, *, slots: Slots, text: ScheduleText, reason: SkipReason, message: str
    ) -> None:
        """Decide the slots in (last decided, until], none of which has a Job."""
        after = self.ledger.last_decided
        first, last = slots.after(after), slots.newest(after, until)
        if first is None or last is None:
            return
        count = slots.count(after, last)
        self.decisions.append(
            Skip(reason=reason, schedule=text, first=first, last=last, count=count, message=message)
        )
        self.ledger = replace(self.ledger, last_decided=last)

    def ran(self, start: Start, job: str) -> None:
        self.decisions.append(Ran(start=start, job=job))
        self.ledger = replace(self.ledger, last_decided=start.slot)


def plan(facts: Facts, now: int) -> Plan:
    """What follows from the facts at `now` (UTC seconds). Planning again after carrying it out changes nothing."""
    draft = _open_ledger(facts, now)
    _take_changes(draft)
    waiting, start, wake = None, None, None
    spec, slots = facts.spec, facts.slots
    suspended = draft.ledger.suspension is not None
    if spec is not None and slots is not None and not suspended:
        verdict = _apply_rules(draft, spec, slots)
        if isinstance(verdict, Start):
            start = verdict
        elif isinstance(verdict, Wait):
            wake = verdict.wake
        waiting = _waiting(draft, slots, verdict)
    next_slot = None
    if slots is not None and not suspended:
        next_slot = slots.after(max(now, draft.ledger.last_decided))  # the clock may have been set back
    moments = [moment for moment in (wake, next_slot) if moment is not None]
    return Plan(
        ledger=draft.ledger,
        decisions=tuple(draft.decisions),
        notes=tuple(draft.notes),
        start=start,
        waiting=waiting,
        wake=min(moments, default=None),
        next_slot=next_slot,
    )


def settle_run(
    ledger: Ledger, start: Start, job: str, text: ScheduleText
) -> tuple[Ledger, tuple[Decision, ...]]:
    """The decisions once the Job of `start` is there: the older slots it stands for are Coalesced (§3 rule 2)."""
    decisions: list[Decision] = []
    if start.count > 1:
        slots = slots_of(text.expression, text.time_zone)
        last = slots.newest(start.first - 1, start.slot - 1)
        decisions.append(
            Skip(
                reason=SkipReason.COALESCED,
                schedule=text,
                first=start.first,
                last=last if last is not None else start.first,
                count=start.count - 1,
                message=coalesced_message(start.slot),
            )
        )
    decisions.append(Ran(start=start, job=job))
    return replace(ledger, last_decided=start.slot), tuple(decisions)


def settle_refusal(
    ledger: Ledger, start: Start, text: ScheduleText, reason: SkipReason, message: str
) -> tuple[Ledger, tuple[Decision, ...]]:
    """The decision once it is final that the Job of `start` cannot be: it is skipped with those it stands for."""
    skip = Skip(
        reason=reason,
        schedule=text,
        first=start.first,
        last=start.slot,
        count=start.count,
        message=message[:256],
    )
    return replace(ledger, last_decided=start.slot), (skip,)


def schedule_text(spec: CronScheduleSpec) -> ScheduleText:
    """What the ledger remembers of a spec: two specs with the same text have the same slots."""
    return _text(spec.schedule, spec.time_zone)


@lru_cache(maxsize=10_000)
def _text(expression: str, time_zone: str) -> ScheduleText:
    return ScheduleText(expression=expression, time_zone=time_zone)


def _open_ledger(facts: Facts, now: int) -> _Draft:
    """§6: slots count from creation; a schedule taken up before, whose record is gone, is never replayed."""
    if facts.ledger is not None:
        return _Draft(facts=facts, now=now, ledger=facts.ledger)
    text = schedule_text(facts.spec) if facts.spec is not None and facts.slots is not None else None
    if not facts.adopted:
        return _Draft(facts=facts, now=now, ledger=Ledger(last_decided=facts.created, schedule=text))
    known = [job.slot for job in facts.jobs if job.slot is not None and job.slot <= now]
    since = max(known, default=now)
    draft = _Draft(facts=facts, now=now, ledger=Ledger(last_decided=since, schedule=text))
    found = "the newest slot among its Jobs" if known else "now, since it has no Jobs"
    message = f"The record of decisions was gone. Slots count from {format_time(since)} on ({found})."
    draft.notes.append(Note(kind="LedgerLost", at=since, message=message))
    return draft


def _take_changes(draft: _Draft) -> None:
    """§5 and §6: settle what was due before a suspension, a resumption, another reason or an edit was seen."""
    facts, now, ledger = draft.facts, draft.now, draft.ledger
    text = schedule_text(facts.spec) if facts.spec is not None and facts.slots is not None else None
    edited = ledger.schedule is not text and ledger.schedule != text
    known, current = ledger.suspension, _suspension_now(facts, now)
    changed = (known and known.reason) != (current and current.reason)
    if not changed and not edited:
        return
    cause = known or current
    if ledger.schedule is not None and (old := _slots_or_none(ledger.schedule)) is not None:
        reason = cause.reason if cause is not None else SkipReason.SCHEDULE_CHANGED
        message = cause.message if cause is not None else _edit_message(ledger.schedule, text)
        draft.skip_until(now, slots=old, text=ledger.schedule, reason=reason, message=message)
    if changed:
        draft.ledger = replace(draft.ledger, suspension=current)
        _note_suspension(draft, known, current)
    if edited or current is None:
        draft.ledger = replace(draft.ledger, last_decided=max(now, draft.ledger.last_decided), schedule=text)


def _suspension_now(facts: Facts, now: int) -> Suspended | None:
    """The suspension in force; the tenant's reason goes before the schedule's own (§5)."""
    if facts.tenant_suspended is not None:
        return Suspended(since=now, reason=SkipReason.TENANT_SUSPENDED, message=facts.tenant_suspended)
    if facts.spec is None:  # cannot be read, so it has not resumed either
        known = facts.ledger.suspension if facts.ledger is not None else None
        return known if known is not None and known.reason == SkipReason.SCHEDULE_SUSPENDED else None
    if facts.spec.suspend:
        return Suspended(since=now, reason=SkipReason.SCHEDULE_SUSPENDED, message="spec.suspend is true.")
    return None


def _note_suspension(draft: _Draft, known: Suspended | None, current: Suspended | None) -> None:
    if current is not None:
        draft.notes.append(Note(kind="Suspended", at=draft.now, message=current.message, suspension=current))
    elif known is not None:
        message = f"Suspended since {format_time(known.since)}; what was due in between is not made up for."
        draft.notes.append(Note(kind="Resumed", at=draft.now, message=message, suspension=known))


def _edit_message(old: ScheduleText, new: ScheduleText | None) -> str:
    what = f"{new.expression!r} in {new.time_zone}" if new is not None else "one that cannot be used"
    return f"The schedule {old.expression!r} in {old.time_zone} was changed to {what}."[:256]


def _slots_or_none(text: ScheduleText) -> Slots | None:
    """The slots of a recorded schedule; another release of the zone data may no longer know it."""
    try:
        return slots_of(text.expression, text.time_zone)
    except (CronError, UnknownTimeZone):
        return None


def _apply_rules(draft: _Draft, spec: CronScheduleSpec, slots: Slots) -> Start | Wait | None:
    """§3: ask the rules until a slot has to be tried, waits, or nothing is due."""
    while True:
        case = _case(draft, spec, slots)
        if case is None:
            return None
        verdict = next((found for rule in RULES if (found := rule(case)) is not None), None)
        if verdict is None:
            return _start(case)
        if isinstance(verdict, Wait):
            return verdict
        _carry_out(draft, case, verdict)


def _case(draft: _Draft, spec: CronScheduleSpec, slots: Slots) -> Case | None:
    """The due slots and the candidate among them; `None` when nothing is due."""
    after = draft.ledger.last_decided
    oldest = slots.after(after)
    if oldest is None or oldest > draft.now:
        return None
    newest = slots.newest(oldest, draft.now) or oldest
    slot = oldest if spec.misfire_policy == "CatchUp" else newest
    retry = draft.facts.retry
    if retry is not None and after < retry.start.slot <= draft.now and spec.misfire_policy != "CatchUp":
        slot = retry.start.slot
    return Case(
        facts=draft.facts,
        spec=spec,
        slots=slots,
        now=draft.now,
        after=after,
        oldest=oldest,
        newest=newest,
        slot=slot,
        first=oldest if spec.misfire_policy == "FireOnce" else slot,
    )


def _carry_out(draft: _Draft, case: Case, verdict: Verdict) -> None:
    if isinstance(verdict, Settle):
        draft.skip_until(
            verdict.until,
            slots=case.slots,
            text=schedule_text(case.spec),
            reason=verdict.reason,
            message=verdict.message,
        )
    elif isinstance(verdict, Adopt):
        draft.ran(verdict.job.start, verdict.job.name)


def _start(case: Case) -> Start:
    """The run that the rules let through."""
    catching_up = case.spec.misfire_policy == "CatchUp" and not case.on_time
    replacing = case.spec.concurrency_policy == "Replace"
    return Start(
        slot=case.slot,
        trigger="CatchUp" if catching_up else "Schedule",
        first=case.first,
        count=case.slots.count(case.first - 1, case.slot) if case.first < case.slot else 1,
        replaces=tuple(job.name for job in case.active) if replacing else (),
    )


def _waiting(draft: _Draft, slots: Slots, verdict: Start | Wait | None) -> Waiting | None:
    after = draft.ledger.last_decided
    oldest = slots.after(after)
    if oldest is None or oldest > draft.now:
        return None
    reason = verdict.reason if isinstance(verdict, Wait) else _held_up_by(draft.facts, oldest)
    return Waiting(count=slots.count(after, draft.now), oldest=oldest, reason=reason)


def _held_up_by(facts: Facts, slot: int) -> WaitReason:
    """Why a slot that may start does not: it has no turn in the budget. One that is tried again says that."""
    retried = facts.retry is not None and facts.retry.start.slot == slot
    return WaitReason.RETRYING if retried else WaitReason.BUDGET
