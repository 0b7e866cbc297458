"""All that the planner may know, as frozen views, and what it answers with.

Moments are UTC seconds, spans are seconds.
"""

from dataclasses import dataclass, replace
from typing import Literal

from cronschedule.api.reasons import SkipReason, WaitReason
from cronschedule.api.v1alpha1 import CronScheduleSpec, ScheduleText
from cronschedule.core.slots import Slots

DEFAULT_MISFIRE_THRESHOLD = 60
Trigger = Literal["Schedule", "CatchUp", "Manual", "Backfill"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Suspended:
    """A suspension: since when it is known, why, and a sentence that names what causes it."""

    since: int
    reason: SkipReason
    message: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ledger:
    """The part of the record that decides what is due (`semantics.md §1`).

    Every slot at or before `last_decided` has its decision. `schedule` is the text it was computed for, `None`
    while the spec is invalid.
    """

    last_decided: int
    schedule: ScheduleText | None
    suspension: Suspended | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class JobFact:
    """A Job of this schedule. `slot` is `None` for one that no slot made (a manual trigger).

    `first` and `count` say what it stands for, itself included. A Job that is being deleted is not active.
    `backfill` is the UID of the Backfill that made it.
    """

    name: str
    slot: int | None
    trigger: Trigger
    active: bool
    first: int | None = None
    count: int = 1
    failed: bool = False
    backfill: str = ""

    @property
    def stands_from(self) -> int:
        """The oldest slot that it stands for, its own where that is all."""
        slot = self.slot or 0
        return slot if self.first is None else min(self.first, slot)

    @property
    def start(self) -> "Start":
        """The start that made it; only for the Job of a slot."""
        assert self.slot is not None
        return Start(slot=self.slot, trigger=self.trigger, first=self.stands_from, count=self.count)


@dataclass(frozen=True, kw_only=True, slots=True)
class Retry:
    """A slot whose Job could not be created yet, with those it stands for (`semantics.md §3.6`).

    `reason` and `error` are what it is skipped with in the end. `unsure` tells that a try had no answer, so that
    the Job may be there all the same.
    """

    start: "Start"
    not_before: int
    attempts: int
    reason: SkipReason
    error: str
    unsure: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """One schedule as it is known at one moment.

    `spec` and `slots` are `None` while the spec is invalid. `adopted` tells that the operator has marked the
    schedule before. `tenant_suspended` is the sentence that names label and namespace, `None` while they run.
    """

    spec: CronScheduleSpec | None
    slots: Slots | None
    created: int
    adopted: bool
    ledger: Ledger | None
    tenant_suspended: str | None
    jobs: tuple[JobFact, ...] = ()
    retry: Retry | None = None
    misfire_threshold: int = DEFAULT_MISFIRE_THRESHOLD

    def with_ledger(self, ledger: Ledger) -> "Facts":
        return replace(self, ledger=ledger)


@dataclass(frozen=True, kw_only=True, slots=True)
class Skip:
    """A decision: the slots from `first` to `last` of a schedule text, `count` of them, are not run."""

    reason: SkipReason
    schedule: ScheduleText
    first: int
    last: int
    count: int
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """A slot that shall run now, with those it stands for: `count` slots from `first`, itself included.

    `replaces` names the Jobs to delete before. `backfill` is the UID of the Backfill that wants it.
    """

    slot: int
    trigger: Trigger
    first: int
    count: int
    replaces: tuple[str, ...] = ()
    backfill: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """A decision: the slot has its Job."""

    start: Start
    job: str


Decision = Skip | Ran


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """Something to tell that is no decision about a slot: a suspension, a resumption, a lost ledger."""

    kind: Literal["Suspended", "Resumed", "LedgerLost"]
    at: int
    message: str
    suspension: Suspended | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """Due slots without a decision: how many, the oldest, and why that one does not run yet."""

    count: int
    oldest: int
    reason: WaitReason


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What follows from the facts.

    The decisions are made, in slot order; `ledger` includes them. `start` shall be tried next, and then it is
    planned anew. `wake` is when to look again if nothing else happens.
    """

    ledger: Ledger
    decisions: tuple[Decision, ...]
    notes: tuple[Note, ...]
    start: Start | None
    waiting: Waiting | None
    wake: int | None
    next_slot: int | None
