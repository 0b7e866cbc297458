"""How conditions are merged: one per type, and `lastTransitionTime` moves only when `status` flips."""

from collections.abc import Sequence

from cronschedule.api.v1alpha1 import Condition

MEANINGS = {
    "Ready": "The schedule is accepted and being scheduled. A suspended schedule is ready, and so is one whose last run"
    " failed. False with InvalidSchedule, UnknownTimeZone or TemplateRejected.",
    "Stalled": "A person is needed. Only there while Ready is false for one of these reasons.",
    "Suspended": "No slot runs: TenantSuspended (a label of the namespace) or ScheduleSuspended (spec.suspend).",
    "CatchingUp": "Slots wait under CatchUp. Only there while they do. The message says how many are done and how many"
    " wait, why the next one does not start, and, once there is a pace to tell it from, when all will be through.",
    "BacklogTruncated": "Slots were dropped by the caps of catchUp. The message names the range and the command that"
    " runs it. Gone once a Backfill has run it, or somebody has acknowledged it.",
    "LastRunSucceeded": "How the last run ended, for information.",
}
"""What it means that a condition is true, by type."""


def merge(before: Sequence[Condition], wanted: Sequence[Condition]) -> tuple[Condition, ...]:
    """`wanted`, in its order; types that are not wanted any more go.

    Each wanted condition carries the moment it would have been set as its `last_transition_time`.
    """
    known = {condition.type: condition for condition in before}
    return tuple(_keep_transition(known.get(condition.type), condition) for condition in wanted)


def find(conditions: Sequence[Condition], kind: str) -> Condition | None:
    """The condition of that type."""
    return next((condition for condition in conditions if condition.type == kind), None)


def _keep_transition(before: Condition | None, condition: Condition) -> Condition:
    if before is None or before.status != condition.status:
        return condition
    return condition.model_copy(update={"last_transition_time": before.last_transition_time})
