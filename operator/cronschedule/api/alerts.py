"""What the alert webhook is sent (docs/catch-up.md): a list of alerts as JSON.

Fields may be added; none is taken away or changes its meaning without another `apiVersion`.
"""

import hashlib
from typing import Annotated, Literal

from pydantic import Field

from cronschedule.api.names import backfill_command
from cronschedule.api.reasons import SkipReason
from cronschedule.api.shapes import Instant, Shape, Total, format_time


class Alert(Shape):
    """Slots of one schedule that were dropped by the caps of catchUp."""

    id: str = Field(description="The same whenever the same is told again: a receiver can forget the second.")
    reason: Literal[SkipReason.CATCH_UP_CAP_EXCEEDED] = SkipReason.CATCH_UP_CAP_EXCEEDED
    namespace: str
    schedule: str = Field(description="Name of the CronSchedule.")
    uid: str = Field(description="UID of the CronSchedule.")
    first_slot: Instant = Field(description="The oldest slot that was dropped.")
    last_slot: Instant = Field(description="The newest.")
    slots: Total = Field(description="How many were dropped, all in all.")
    decided_at: Instant = Field(description="When the operator decided so.")
    message: str = Field(description="The same for people.")
    command: str = Field(description="What runs them after all.")


class AlertList(Shape):
    """The body of one POST."""

    api_version: Literal["alerts.cronschedule.dev/v1"] = "alerts.cronschedule.dev/v1"
    kind: Literal["AlertList"] = "AlertList"
    items: Annotated[tuple[Alert, ...], Field(min_length=1)]

    @property
    def key(self) -> str:
        """The idempotency key: the same for every try of the same list."""
        return _digest(*(alert.id for alert in self.items))


def truncation(
    *, namespace: str, schedule: str, uid: str, first: int, last: int, slots: int, decided_at: int
) -> Alert:
    """The alert about `slots` slots from `first` to `last` (UTC seconds) of a schedule."""
    begin, end = format_time(first), format_time(last)
    what = f"{slots} slots from {begin} to {end} were" if slots > 1 else f"The slot of {end} was"
    return Alert(
        id=_digest(uid, begin, end, str(slots)),
        namespace=namespace,
        schedule=schedule,
        uid=uid,
        first_slot=first,
        last_slot=last,
        slots=slots,
        decided_at=decided_at,
        message=f"{namespace}/{schedule}: {what} dropped by the caps of catchUp.",
        command=backfill_command(namespace, schedule, begin, end),
    )


def joined(earlier: Alert, later: Alert) -> Alert:
    """One alert about what two of the same schedule are about."""
    return truncation(
        namespace=later.namespace,
        schedule=later.schedule,
        uid=later.uid,
        first=min(earlier.first_slot, later.first_slot),
        last=max(earlier.last_slot, later.last_slot),
        slots=earlier.slots + later.slots,
        decided_at=later.decided_at,
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:32]
