"""The Backfill resource: a person asks that slots of a range that were not run be run after all.

    BackfillSpec     schedule, first (JSON: from), last (JSON: to), max_concurrent, on_existing, include_suspended,
                     dry_run
    BackfillStatus   observed_generation, conditions, settled_until, slots, succeeded, failed, deleted, active_jobs,
                     results

The shapes follow `v1alpha1`. Every description is shown to users.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt

from cronschedule.api.names import LONGEST_NAME
from cronschedule.api.shapes import Instant, Shape, Total
from cronschedule.api.v1alpha1 import Condition, Segment

OnExisting = Literal["Skip", "RerunFailed"]


class Fate(StrEnum):
    """What became of a slot of the range."""

    RUN = "Run"
    WOULD_RUN = "WouldRun"
    ALREADY_RAN = "AlreadyRan"
    SUSPENDED = "Suspended"
    NOT_RECORDED = "NotRecorded"
    JOB_REJECTED = "JobRejected"
    NAME_CONFLICT = "NameConflict"


FATES: dict[Fate, str] = {
    Fate.RUN: "A Job was created for it.",
    Fate.WOULD_RUN: "It would be run (dryRun).",
    Fate.ALREADY_RAN: "It had its Job before, which is not run again.",
    Fate.SUSPENDED: "The tenant or the schedule was suspended then; a suspension window is not backfilled.",
    Fate.NOT_RECORDED: "There is no record of it: it was no slot of the schedule as it is now (before its creation or"
    " an edit), the record was lost, or it is too old to be told from its neighbours. It may have run.",
    Fate.JOB_REJECTED: "The API server, a policy or a webhook refused its Job.",
    Fate.NAME_CONFLICT: "The name of its Job is held by an object that is not the schedule's.",
}
"""What each fate means, in a sentence for people."""


class BackfillSpec(Shape):
    """Which slots of which schedule. It cannot be edited: delete the Backfill to cancel what has not begun."""

    schedule: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)] = Field(
        description="The name of the CronSchedule, in the namespace of the Backfill."
    )
    first: Instant = Field(
        alias="from", description="The oldest slot that may be run, such as 2026-03-29T06:00:00Z."
    )
    last: Instant = Field(
        alias="to",
        description="The newest slot that may be run. It must have passed when the Backfill is made.",
    )
    max_concurrent: StrictInt = Field(
        1,
        ge=1,
        le=10,
        description="How many of its runs may be active at a time, from 1 to 10; default 1, which runs them one"
        " after another, oldest first. More than 1 takes effect only where the schedule's concurrencyPolicy is"
        " Allow; under Forbid and Replace it waits while any run of the schedule is active.",
    )
    on_existing: OnExisting = Field(
        "Skip",
        description="What to do with slots that have run. Skip, the default, leaves them. RerunFailed runs those"
        " again whose Job, or whose row of the schedule's history, says that they failed.",
    )
    include_suspended: StrictBool = Field(
        False,
        description="Whether slots of a suspension window are run as well; default false. It is heeded only where"
        " the operator's settings allow it.",
    )
    dry_run: StrictBool = Field(
        False, description="Whether only to say what would become of each slot; default false."
    )


class BackfillStatus(Shape):
    """What has become of the range so far. Only the operator writes it."""

    observed_generation: int = Field(
        -1,
        description="The metadata.generation that this status is about; -1 before the operator has seen the object.",
    )
    conditions: tuple[Condition, ...] = Field(
        (),
        max_length=8,
        description="Complete (each slot has its result and no run is active), Reconciling (until then), Paused"
        " (the schedule is suspended), Stalled (a person is needed).",
    )
    settled_until: Instant | None = Field(
        None, description="Each slot of the range up to this moment has its result."
    )
    slots: dict[str, Total] = Field(
        default_factory=dict, max_length=16, description="How many slots have which result."
    )
    succeeded: Total = Field(0, description="How many of its runs succeeded.")
    failed: Total = Field(0, description="How many failed.")
    deleted: Total = Field(0, description="How many were deleted before they ended.")
    active_jobs: tuple[Annotated[str, Field(max_length=63)], ...] = Field(
        (), max_length=10, description="The Jobs of its runs that are active."
    )
    results: tuple[Segment, ...] = Field(
        (),
        max_length=64,
        description="What became of the slots, in stretches, oldest first; Mixed where there were more than 32.",
    )
