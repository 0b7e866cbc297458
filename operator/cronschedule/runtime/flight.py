"""One schedule on its way through the executor's steps: what is known of it, and what has been done so far."""

from dataclasses import dataclass, field

from cronschedule.api.v1alpha1 import CronScheduleStatus
from cronschedule.core.facts import Decision, Facts, Note
from cronschedule.runtime.inventory import Snapshot


@dataclass(kw_only=True)
class Flight:
    """`snapshot` is how it was at the beginning; `facts` and `status` take in what is decided on the way."""

    snapshot: Snapshot
    facts: Facts
    status: CronScheduleStatus
    rejected: str | None
    wake: int | None = None
    decisions: list[Decision] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    replaced: list[tuple[str, int]] = field(default_factory=list)
    """Jobs that were deleted, each with the slot that it was deleted for."""
