"""Facts, plan and history → the status to write. Computed once, at the end, from a table of conditions."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cronschedule.api import conditions
from cronschedule.api.mistakes import Mistake
from cronschedule.api.names import backfill_command
from cronschedule.api.reasons import WAITS, SkipReason
from cronschedule.api.shapes import format_duration, format_time
from cronschedule.api.v1alpha1 import (
    Backlog,
    Condition,
    CronScheduleSpec,
    CronScheduleStatus,
    Suspension,
)
from cronschedule.core.facts import Ledger, Plan, Retry, Suspended
from cronschedule.core.history import LONGEST_MESSAGE, trim
from cronschedule.core.jobs import Owner
from cronschedule.core.zones import EARLIEST, LATEST

DEFAULT_RUN_HISTORY_LIMIT = 50
FEWEST_FOR_A_PACE = 2
"""Slots that must be through before anything is said about the others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """All that the conditions are told from.

    `before` is the status as it was read. `caught_up` counts the catch-up runs begun since. `rejected` is the API
    server's sentence about a template it refused, `retry` a slot whose Job could not be created yet.
    """

    owner: Owner
    before: CronScheduleStatus
    status: CronScheduleStatus
    plan: Plan
    spec: CronScheduleSpec | None
    mistakes: Sequence[Mistake]
    rejected: str | None
    retry: Retry | None
    active_runs: int
    caught_up: int
    generation: int
    now: int


def read_ledger(status: CronScheduleStatus) -> Ledger | None:
    """The ledger in a status; `None` where there is none, or a damaged one (a zero time, say)."""
    if status.last_decided_time is None or not EARLIEST <= status.last_decided_time <= LATEST:
        return None
    suspension = None
    if status.suspension is not None and status.suspension.reason in list(SkipReason):
        suspension = Suspended(
            since=status.suspension.since,
            reason=SkipReason(status.suspension.reason),
            message=status.suspension.message,
        )
    return Ledger(last_decided=status.last_decided_time, schedule=status.schedule, suspension=suspension)


def build_status(view: View) -> CronScheduleStatus:
    """The status to write: the history so far, the plan's ledger, and the conditions."""
    ledger, plan = view.plan.ledger, view.plan
    suspension = ledger.suspension
    backlog = _backlog(view)
    status = view.status.model_copy(
        update={
            "observed_generation": view.generation,
            "schedule": ledger.schedule,
            "last_decided_time": ledger.last_decided,
            "next_schedule_time": plan.next_slot,
            "active_runs": view.active_runs,
            "backlog": backlog,
            "suspension": _suspension(suspension),
        }
    )
    view = replace(view, status=status)
    wanted = [condition for tell in CONDITIONS if (condition := tell(view)) is not None]
    merged = conditions.merge(view.before.conditions, wanted)
    return trim(status.model_copy(update={"conditions": merged}), history_limit(view.spec))


def _backlog(view: View) -> Backlog | None:
    """What waits; under CatchUp also how far it has got. It changes with decisions, not with every look."""
    waiting, before = view.plan.waiting, view.before.backlog or Backlog()
    if waiting is None:
        return None
    backlog = Backlog(waiting=waiting.count, oldest=waiting.oldest)
    if view.spec is None or view.spec.misfire_policy != "CatchUp":
        return backlog
    since, at_first = before.since, before.at_first
    if since is None or at_first is None or not EARLIEST <= since <= view.now:
        progress = {"since": view.now, "at_first": waiting.count, "done": view.caught_up}
        return backlog.model_copy(update=progress)
    done = (before.done or 0) + view.caught_up
    backlog = backlog.model_copy(
        update={"since": since, "at_first": at_first, "done": done, "through": before.through}
    )
    if backlog == before:
        return backlog
    gone = at_first - waiting.count
    if gone < FEWEST_FOR_A_PACE:
        return backlog.model_copy(update={"through": None})
    through = view.now + math.ceil(waiting.count * (view.now - since) / gone)
    return backlog.model_copy(update={"through": through if through <= LATEST else None})


def history_limit(spec: CronScheduleSpec | None) -> int:
    """How many rows are kept; the default while the spec cannot be read."""
    return spec.run_history_limit if spec is not None else DEFAULT_RUN_HISTORY_LIMIT


def _suspension(suspension: Suspended | None) -> Suspension | None:
    if suspension is None:
        return None
    message = suspension.message[:LONGEST_MESSAGE]
    return Suspension(since=suspension.since, reason=suspension.reason.value, message=message)


def template_rejection(before: CronScheduleStatus, generation: int) -> str | None:
    """The refusal of the template that still stands: it was said about this very generation."""
    ready = conditions.find(before.conditions, "Ready")
    if ready is None or ready.reason != "TemplateRejected" or ready.observed_generation != generation:
        return None
    return ready.message


def _ready(view: View) -> Condition | None:
    reason, message = _trouble(view)
    if reason is not None:
        return _condition(view, "Ready", "False", reason, message)
    if view.plan.ledger.suspension is not None:
        return _condition(view, "Ready", "True", "Suspended", "Accepted; suspended, so nothing is run.")
    if view.retry is not None and view.retry.start.slot > view.plan.ledger.last_decided:
        slot = format_time(view.retry.start.slot)
        message = f"Accepted; the Job for {slot} could not be created yet: {view.retry.error}"
        return _condition(view, "Ready", "True", "Retrying", message)
    return _condition(
        view, "Ready", "True", "Scheduled", "Accepted and being scheduled." + _advice(view.spec)
    )


def _stalled(view: View) -> Condition | None:
    """Only while a person is needed (kstatus: fails fast)."""
    reason, message = _trouble(view)
    return _condition(view, "Stalled", "True", reason, message) if reason is not None else None


def _suspended(view: View) -> Condition | None:
    suspension = view.plan.ledger.suspension
    if suspension is None:
        return _condition(view, "Suspended", "False", "NotSuspended", "Slots run as they come due.")
    return _condition(view, "Suspended", "True", suspension.reason.value, suspension.message)


def _catching_up(view: View) -> Condition | None:
    """Only while slots wait under CatchUp."""
    waiting, backlog = view.plan.waiting, view.status.backlog
    if waiting is None or backlog is None or backlog.since is None:
        return None
    message = (
        f"{backlog.done} done since {format_time(backlog.since)}, {waiting.count} waiting, the oldest of"
        f" {format_time(waiting.oldest)}. {WAITS[waiting.reason]}"
    )
    if backlog.through is not None:
        message += f" At the pace so far all will be through at about {format_time(backlog.through)}."
    return _condition(view, "CatchingUp", "True", waiting.reason.value, message)


def _backlog_truncated(view: View) -> Condition | None:
    """While there is something that the caps dropped and that nobody has run or acknowledged since."""
    dropped = view.status.truncated
    if dropped is None:
        return None
    first, last = format_time(dropped.first), format_time(dropped.last)
    command = backfill_command(view.owner.namespace, view.owner.name, first, last)
    message = f"{dropped.count} slots from {first} to {last} were dropped by the caps. To run them: {command}"
    return _condition(view, "BacklogTruncated", "True", SkipReason.CATCH_UP_CAP_EXCEEDED.value, message)


def _last_run_succeeded(view: View) -> Condition | None:
    """Information only; absent before the first run has ended."""
    ended = [row for row in view.status.run_history if row.outcome in ("Succeeded", "Failed")]
    if not ended:
        return conditions.find(view.before.conditions, "LastRunSucceeded")
    last = max(ended, key=lambda row: row.completion_time or 0)
    if last.outcome == "Succeeded":
        return _condition(view, "LastRunSucceeded", "True", "RunSucceeded", f"{last.job} succeeded.")
    message = f"{last.job} failed: {last.message or last.reason or 'no reason given'}"
    return _condition(view, "LastRunSucceeded", "False", last.reason or "RunFailed", message)


CONDITIONS: tuple[Callable[[View], Condition | None], ...] = (
    _ready,
    _stalled,
    _suspended,
    _catching_up,
    _backlog_truncated,
    _last_run_succeeded,
)


def _trouble(view: View) -> tuple[str | None, str]:
    """Why nothing can be scheduled, if a person is needed."""
    if view.mistakes:
        zones_only = all(mistake.path.endswith(".timeZone") for mistake in view.mistakes)
        reason = "UnknownTimeZone" if zones_only else "InvalidSchedule"
        return reason, "; ".join(str(mistake) for mistake in view.mistakes)
    if view.rejected is not None:
        return "TemplateRejected", view.rejected
    return None, ""


def _advice(spec: CronScheduleSpec | None) -> str:
    """What is legal but likely not meant."""
    if spec is None or spec.misfire_policy != "CatchUp" or spec.catch_up.max_age <= spec.max_staleness:
        return ""
    age, staleness = format_duration(spec.catch_up.max_age), format_duration(spec.max_staleness)
    return f" Note: catchUp.maxAge is {age}, but maxStaleness lets nothing later than {staleness} run."


def _condition(
    view: View, kind: str, status: Literal["True", "False"], reason: str, message: str
) -> Condition:
    return Condition(
        type=kind,
        status=status,
        observed_generation=view.generation,
        last_transition_time=view.now,
        reason=reason,
        message=message[: LONGEST_MESSAGE * 4],
    )
