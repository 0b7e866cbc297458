"""What a Backfill has come to → its status: results, totals and conditions (kstatus: Reconciling, Stalled)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cronschedule.api import conditions
from cronschedule.api.backfill import BackfillStatus, Fate
from cronschedule.api.v1alpha1 import Condition, Segment
from cronschedule.core.jobs import SeenJob
from cronschedule.core.segments import joined

LONGEST_MESSAGE = 1024
NOT_RUN = (Fate.JOB_REJECTED, Fate.NAME_CONFLICT)
"""Fates of slots that should have run and could not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """How far it is: at work, held up by something (`reason`, `message`), done, or in need of a person."""

    kind: Literal["Working", "Paused", "Done", "Stalled"]
    reason: str
    message: str


def with_results(status: BackfillStatus, settled: Sequence[Segment]) -> BackfillStatus:
    """The status with more results; they follow those that are there."""
    if not settled:
        return status
    slots = dict(status.slots)
    for segment in settled:
        slots[segment.fate] = slots.get(segment.fate, 0) + segment.count
    return status.model_copy(
        update={
            "results": joined((*status.results, *settled)),
            "slots": slots,
            "settled_until": settled[-1].last,
        }
    )


def with_jobs(status: BackfillStatus, started: Sequence[str], jobs: Mapping[str, SeenJob]) -> BackfillStatus:
    """The status with the Jobs that were started, and with what became of those that were active."""
    active: list[str] = []
    ended = {"Succeeded": status.succeeded, "Failed": status.failed, "Deleted": status.deleted}
    for name in dict.fromkeys((*status.active_jobs, *started)):
        job = jobs.get(name)
        if job is not None and job.state == "Active" and not job.deleting:
            active.append(name)
        else:
            ended["Deleted" if job is None or job.state == "Active" else job.state] += 1
    return status.model_copy(
        update={
            "active_jobs": tuple(active),
            "succeeded": ended["Succeeded"],
            "failed": ended["Failed"],
            "deleted": ended["Deleted"],
        }
    )


def with_state(status: BackfillStatus, state: State, *, generation: int, now: int) -> BackfillStatus:
    """The status with its conditions; `now` is UTC seconds."""

    def condition(kind: str, holds: Literal["True", "False"]) -> Condition:
        return Condition(
            type=kind,
            status=holds,
            observed_generation=generation,
            last_transition_time=now,
            reason=state.reason,
            message=state.message[:LONGEST_MESSAGE],
        )

    wanted = [condition("Complete", "True" if state.kind == "Done" else "False")]
    if state.kind in ("Working", "Paused"):
        wanted.append(condition("Reconciling", "True"))
    if state.kind == "Paused":
        wanted.append(condition("Paused", "True"))
    if state.kind == "Stalled":
        wanted.append(condition("Stalled", "True"))
    merged = conditions.merge(status.conditions, wanted)
    return status.model_copy(update={"observed_generation": generation, "conditions": merged})


def done(status: BackfillStatus) -> State:
    """Each slot has its result and no run is active: what it all came to."""
    told = (
        ", ".join(f"{count} {fate}" for fate, count in sorted(status.slots.items())) or "no slot in the range"
    )
    runs = status.slots.get(Fate.RUN.value, 0)
    if status.failed or status.deleted:
        message = f"{told}. Of the runs {status.failed} failed and {status.deleted} were deleted."
        return State(kind="Done", reason="SomeRunsFailed", message=message)
    message = f"{told}." + (" All runs succeeded." if runs else "")
    refused = any(status.slots.get(fate.value) for fate in NOT_RUN)
    return State(kind="Done", reason="SomeNotRun" if refused else "Finished", message=message)


def is_complete(status: BackfillStatus) -> bool:
    """Whether nothing is left to do, so that it is not looked at again."""
    found = conditions.find(status.conditions, "Complete")
    return found is not None and found.status == "True"
