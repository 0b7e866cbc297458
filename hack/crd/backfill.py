"""The CustomResourceDefinition of Backfill."""

from collections.abc import Callable
from typing import Any

from crd.structural import column, structural_schema, whole_schema
from cronschedule.api.backfill import BackfillSpec, BackfillStatus
from cronschedule.api.names import BACKFILL_KIND, BACKFILL_PLURAL

DESCRIPTION = (
    "A Backfill runs the slots of a range that a CronSchedule has skipped, oldest first, and records what"
    " became of each."
)


def backfill_definition(definition: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """The whole manifest."""
    spec = structural_schema(BackfillSpec)
    spec["x-kubernetes-validations"] = [
        {
            "rule": "self == oldSelf",
            "message": "a Backfill cannot be edited: delete it, which cancels what has not begun, and make another",
        },
        {
            "rule": "self.from <= self.to",
            "message": "from is after to: write the oldest slot into from and the newest into to",
            "fieldPath": ".from",
        },
    ]
    return definition(
        kind=BACKFILL_KIND,
        plural=BACKFILL_PLURAL,
        short="cbf",
        columns=[
            column("Schedule", ".spec.schedule", "The CronSchedule."),
            column("From", ".spec.from", "The oldest slot."),
            column("To", ".spec.to", "The newest slot."),
            column("Run", ".status.slots.Run", "How many slots have been run.", kind="integer"),
            column("Failed", ".status.failed", "How many of these failed.", kind="integer"),
            column("Complete", _condition("Complete", "status"), "Whether each slot has its result."),
            column("Reason", _condition("Complete", "reason"), "Why it is complete or not."),
            column("Settled", ".status.settledUntil", "Up to where there are results.", priority=1),
            column("Age", ".metadata.creationTimestamp", "How long ago it was made.", kind="date"),
        ],
        schema=whole_schema(DESCRIPTION, spec, BackfillStatus),
        selectable=[".spec.schedule"],
    )


def _condition(kind: str, what: str) -> str:
    return f'.status.conditions[?(@.type=="{kind}")].{what}'
