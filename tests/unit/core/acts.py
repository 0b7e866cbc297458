"""A schedule on 14 January 2026, and what the planner makes of it, in words.

Times of day are UTC ("10:00", "10:00:30", or "13 10:00" for another day). `carry_out` does what the operator does
with a plan: it creates the Job, then records it, and plans again until nothing is left to do.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from cronschedule.api.names import job_name
from cronschedule.api.reasons import SkipReason
from cronschedule.api.shapes import parse_duration, parse_time
from cronschedule.api.v1alpha1 import CronScheduleSpec
from cronschedule.core.facts import (
    Decision,
    Facts,
    JobFact,
    Ledger,
    Note,
    Plan,
    Retry,
    Skip,
    Start,
    Suspended,
)
from cronschedule.core.planner import plan, schedule_text, settle_run
from cronschedule.core.slots import slots_of

NAME = "report"
HOURLY = "0 * * * *"
TENANT = "The namespace carries the label."


def at(text: str) -> int:
    day, _, clock = text.rpartition(" ")
    return parse_time(f"2026-01-{day or '14'}T{clock if clock.count(':') == 2 else clock + ':00'}Z")


def clock(moment: int) -> str:
    """The inverse of `at`."""
    days, second = divmod(moment - at("14 00:00"), 86400)
    text = f"{second // 3600:02}:{second // 60 % 60:02}" + (f":{second % 60:02}" if second % 60 else "")
    return text if days == 0 else f"{14 + days} {text}"


def a_spec(**fields: Any) -> CronScheduleSpec:
    """A spec by its JSON keys; hourly and with the defaults where nothing is said."""
    return CronScheduleSpec.model_validate({"schedule": HOURLY, "jobTemplate": {"spec": {}}} | fields)


def known(
    since: str, *, spec: CronScheduleSpec | None = None, suspended: str = "", reason: str = ""
) -> Ledger:
    """A ledger up to a moment; `suspended` is since when."""
    suspension = None
    if suspended:
        suspension = Suspended(since=at(suspended), reason=SkipReason(reason), message="Known of old.")
    return Ledger(last_decided=at(since), schedule=schedule_text(spec or a_spec()), suspension=suspension)


def a_job(slot: str | None, *, trigger: Any = "Schedule", active: bool = True, **more: Any) -> JobFact:
    name = job_name(NAME, at(slot)) if slot is not None else f"{NAME}-by-hand"
    return JobFact(
        name=name, slot=at(slot) if slot is not None else None, trigger=trigger, active=active, **more
    )


def a_retry(slot: str, *, until: str, reason: str = "CreateFailed", first: str = "", count: int = 1) -> Retry:
    start = Start(slot=at(slot), trigger="Schedule", first=at(first or slot), count=count)
    return Retry(start=start, not_before=at(until), attempts=1, reason=SkipReason(reason), error="It broke.")


def facts_of(
    spec: CronScheduleSpec | None = None,
    *,
    since: str | None = "09:30",
    ledger: Ledger | None = None,
    **more: Any,
) -> Facts:
    """What the planner may know. The ledger is of the same spec up to `since`, or as given, or none."""
    spec = spec if spec is not None else a_spec()
    if ledger is None and since is not None:
        ledger = known(since, spec=spec)
    given: dict[str, Any] = {
        "created": at("09:30"),
        "adopted": ledger is not None,
        "tenant_suspended": None,
    } | more
    return Facts(spec=spec, slots=slots_of(spec.schedule, spec.time_zone), ledger=ledger, **given)


def with_spec(facts: Facts, **fields: Any) -> Facts:
    """The same facts after an edit of the spec."""
    spec = a_spec(**fields)
    return replace(facts, spec=spec, slots=slots_of(spec.schedule, spec.time_zone))


def unreadable(facts: Facts) -> Facts:
    """The same facts with a spec that is invalid."""
    return replace(facts, spec=None, slots=None)


@dataclass
class Carried:
    """What came of it: facts as they are afterwards, and all that was decided on the way."""

    facts: Facts
    last: Plan
    decisions: list[Decision] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)

    @property
    def words(self) -> dict[str, str]:
        """Slot → "Run", "CatchUp run" or the reason of the skip, one entry per slot."""
        told: dict[str, str] = {}
        for decision in self.decisions:
            for slot, word in _told(decision):
                assert clock(slot) not in told, f"{clock(slot)} was decided twice"
                told[clock(slot)] = word
        return told

    @property
    def ledger(self) -> Ledger:
        assert self.facts.ledger is not None
        return self.facts.ledger

    @property
    def waiting(self) -> int:
        return self.last.waiting.count if self.last.waiting is not None else 0


def _told(decision: Decision) -> Iterable[tuple[int, str]]:
    if isinstance(decision, Skip):
        slots = slots_of(decision.schedule.expression, decision.schedule.time_zone)
        found = list(slots.between(decision.first - 1, decision.last))
        assert (found[0], found[-1], len(found)) == (decision.first, decision.last, decision.count)
        return [(slot, decision.reason.value) for slot in found]
    word = "CatchUp run" if decision.start.trigger == "CatchUp" else "Run"
    return [(decision.start.slot, word)]


def carry_out(facts: Facts, now: str, *, after_create: Callable[[], None] = lambda: None) -> Carried:
    """Plan and do it until a plan asks for nothing. `after_create` is called between a Job and its record."""
    moment, carried = at(now), None
    while True:
        planned = plan(facts, moment)
        facts = replace(facts, ledger=planned.ledger, adopted=True)
        carried = carried or Carried(facts, planned)
        carried.decisions += planned.decisions
        carried.notes += planned.notes
        carried.facts, carried.last = facts, planned
        if planned.start is None:
            return carried
        facts = create(facts, planned.start)
        carried.facts = facts
        after_create()
        assert facts.spec is not None
        assert facts.ledger is not None
        ledger, decisions = settle_run(
            facts.ledger, planned.start, job_name(NAME, planned.start.slot), schedule_text(facts.spec)
        )
        facts = replace(facts, ledger=ledger)
        carried.decisions += decisions
        carried.starts.append(planned.start)


def create(facts: Facts, start: Start) -> Facts:
    """The world once the Job of a start is there: those it replaces are gone."""
    name = job_name(NAME, start.slot)
    assert name not in {job.name for job in facts.jobs}, f"a second Job {name}"
    kept = tuple(job for job in facts.jobs if job.name not in start.replaces)
    job = JobFact(
        name=name, slot=start.slot, trigger=start.trigger, active=True, first=start.first, count=start.count
    )
    return replace(facts, jobs=(*kept, job))


def ended(facts: Facts, *slots: str) -> Facts:
    """The same facts once the runs of these slots are over; of all where none is named."""
    names = {job_name(NAME, at(slot)) for slot in slots}
    return replace(
        facts,
        jobs=tuple(
            replace(job, active=job.active and bool(names) and job.name not in names) for job in facts.jobs
        ),
    )


def span(text: str) -> int:
    return parse_duration(text)
