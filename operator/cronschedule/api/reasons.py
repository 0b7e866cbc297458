"""The one catalogue of reasons: history rows, Events, conditions, metrics, command line and docs feed from it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class SkipReason(StrEnum):
    """Why a slot was not run (`semantics.md §7`)."""

    COALESCED = "Coalesced"
    MISFIRE = "Misfire"
    STALE = "Stale"
    CATCH_UP_CAP_EXCEEDED = "CatchUpCapExceeded"
    OVERLAP = "Overlap"
    TENANT_SUSPENDED = "TenantSuspended"
    SCHEDULE_SUSPENDED = "ScheduleSuspended"
    QUOTA_EXHAUSTED = "QuotaExhausted"
    JOB_REJECTED = "JobRejected"
    NAME_CONFLICT = "NameConflict"
    CREATE_FAILED = "CreateFailed"
    SCHEDULE_CHANGED = "ScheduleChanged"
    LEDGER_LOST = "LedgerLost"


class EventReason(StrEnum):
    """Reasons of Events that are not about a skip."""

    RUN_CREATED = "RunCreated"
    RUN_REPLACED = "RunReplaced"
    SUSPENDED = "Suspended"
    RESUMED = "Resumed"
    INVALID_SCHEDULE = "InvalidSchedule"
    UNKNOWN_TIME_ZONE = "UnknownTimeZone"
    STATUS_REFUSED = "StatusRefused"


class WaitReason(StrEnum):
    """Why the oldest slot of a backlog does not run yet: the reason of condition CatchingUp."""

    RUN_ACTIVE = "RunActive"
    MAX_CONCURRENT = "MaxConcurrentReached"
    BUDGET = "BudgetExhausted"
    RETRYING = "Retrying"


WAITS: dict[WaitReason, str] = {
    WaitReason.RUN_ACTIVE: "The next one waits until the active run has ended (concurrencyPolicy Forbid).",
    WaitReason.MAX_CONCURRENT: "The next one waits until one of the catchUp.maxConcurrent active runs has ended.",
    WaitReason.BUDGET: "The next one waits for its turn in the operator's catch-up budget.",
    WaitReason.RETRYING: "The Job of the next one could not be created yet and is tried again.",
}
"""What each means, in the sentence that the condition's message says it with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One reason: the type of its Event, and what it means, in a sentence for people."""

    event_type: Literal["Normal", "Warning"]
    meaning: str


CATALOGUE: dict[SkipReason | EventReason, Entry] = {
    SkipReason.COALESCED: Entry(
        event_type="Normal",
        meaning="The slot was missed and one run of a newer slot stands for it (misfirePolicy FireOnce).",
    ),
    SkipReason.MISFIRE: Entry(
        event_type="Warning",
        meaning="The slot was missed and misfirePolicy Skip does not make up for it.",
    ),
    SkipReason.STALE: Entry(
        event_type="Warning",
        meaning="The slot would have started later than maxStaleness allows.",
    ),
    SkipReason.CATCH_UP_CAP_EXCEEDED: Entry(
        event_type="Warning",
        meaning="The backlog held more, or older, slots than catchUp.maxRuns or catchUp.maxAge allow.",
    ),
    SkipReason.OVERLAP: Entry(
        event_type="Normal",
        meaning="A run of the same schedule was still active (concurrencyPolicy Forbid).",
    ),
    SkipReason.TENANT_SUSPENDED: Entry(
        event_type="Normal",
        meaning="The namespace was suspended; a suspension window is never backfilled.",
    ),
    SkipReason.SCHEDULE_SUSPENDED: Entry(
        event_type="Normal",
        meaning="spec.suspend was true; a suspension window is never backfilled.",
    ),
    SkipReason.QUOTA_EXHAUSTED: Entry(
        event_type="Warning",
        meaning="A ResourceQuota of the namespace left no room for the Job.",
    ),
    SkipReason.JOB_REJECTED: Entry(
        event_type="Warning",
        meaning="The API server refused the Job as invalid, or an admission policy or webhook denied it.",
    ),
    SkipReason.NAME_CONFLICT: Entry(
        event_type="Warning",
        meaning="The Job's name is held by an object that is not this schedule's.",
    ),
    SkipReason.CREATE_FAILED: Entry(
        event_type="Warning",
        meaning="The Job could not be created in time, although it was tried again and again.",
    ),
    SkipReason.SCHEDULE_CHANGED: Entry(
        event_type="Normal",
        meaning="The slot belonged to a schedule or time zone that was edited before it was decided.",
    ),
    SkipReason.LEDGER_LOST: Entry(
        event_type="Warning",
        meaning="The record of earlier decisions was gone (status wiped or not restored); nothing is replayed.",
    ),
    EventReason.RUN_CREATED: Entry(event_type="Normal", meaning="A Job was created for a slot."),
    EventReason.RUN_REPLACED: Entry(
        event_type="Normal",
        meaning="The Job of an active run was deleted for a newer slot (concurrencyPolicy Replace).",
    ),
    EventReason.SUSPENDED: Entry(event_type="Normal", meaning="No further slot is run until resumption."),
    EventReason.RESUMED: Entry(
        event_type="Normal", meaning="The next slot runs again; the window is not made up for."
    ),
    EventReason.INVALID_SCHEDULE: Entry(
        event_type="Warning", meaning="The spec cannot be used; nothing is run."
    ),
    EventReason.UNKNOWN_TIME_ZONE: Entry(
        event_type="Warning", meaning="spec.timeZone is no zone of the IANA database; nothing is run."
    ),
    EventReason.STATUS_REFUSED: Entry(
        event_type="Warning",
        meaning="The API server refused the status that the operator wrote, so decisions cannot be recorded.",
    ),
}
