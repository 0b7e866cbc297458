"""A CronSchedule of the cluster, read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cronschedule.api.conditions import find
from cronschedule.api.mistakes import read_status
from cronschedule.api.shapes import parse_time
from cronschedule.api.v1alpha1 import CronScheduleSpec, CronScheduleStatus, ScheduleText
from cronschedule.core.cron import CronError
from cronschedule.core.slots import Slots, slots_of
from cronschedule.core.spec import Schedulable, read_schedulable
from cronschedule.core.zones import UnknownTimeZone, zone_names

CHANGE_CAUSE = "kubernetes.io/change-cause"
"""The annotation that kubectl itself uses for the reason of a change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Live:
    """One schedule. `spec` is `None` while it cannot be used; `zone` is what its times are told in."""

    namespace: str
    name: str
    uid: str
    created: int
    spec: CronScheduleSpec | None
    status: CronScheduleStatus
    zone: str
    raw: Mapping[str, Any]

    @property
    def title(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def slots(self) -> Slots | None:
        """The slots of the schedule that the operator decides for, else of the spec."""
        text = self.status.schedule
        if text is None and self.spec is not None:
            text = ScheduleText(expression=self.spec.schedule, time_zone=self.spec.time_zone)
        try:
            return slots_of(text.expression, text.time_zone) if text is not None else None
        except (CronError, UnknownTimeZone):
            return None

    @property
    def change_cause(self) -> str:
        """What the person said who suspended or resumed it last; empty if nothing was said."""
        annotations = self.raw["metadata"].get("annotations") or {}
        return str(annotations.get(CHANGE_CAUSE, ""))

    @property
    def trouble(self) -> str:
        """Why nothing can be scheduled, in a sentence; empty if nothing is wrong."""
        ready = find(self.status.conditions, "Ready")
        if ready is not None and ready.status == "False":
            return f"{ready.reason}: {ready.message}"
        return ""


def read_live(raw: Mapping[str, Any]) -> Live:
    """From the JSON that kubectl gives. A status that cannot be read counts as none."""
    metadata, spec = raw["metadata"], raw.get("spec") or {}
    read = read_schedulable(spec, unknown="ignore")
    status = read_status(raw.get("status") or {})
    zone = spec.get("timeZone") or "Etc/UTC"
    return Live(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        created=parse_time(metadata["creationTimestamp"]),
        spec=read.spec if isinstance(read, Schedulable) else None,
        status=status if isinstance(status, CronScheduleStatus) else CronScheduleStatus(),
        zone=zone if zone in zone_names() else "Etc/UTC",
        raw=raw,
    )
