"""Decisions and what became of Jobs → rows and totals of the status (`semantics.md §7`).

Rows are newest first. Rows fall off, totals do not.
"""

from collections.abc import Iterable, Mapping, Sequence

from cronschedule.api.reasons import SkipReason
from cronschedule.api.shapes import Shape
from cronschedule.api.v1alpha1 import Counts, CronScheduleStatus, Row, StandsFor, Truncation
from cronschedule.core.facts import Decision, Note, Ran, Skip
from cronschedule.core.jobs import SeenJob
from cronschedule.core.segments import with_decision

LONGEST_MESSAGE = 256
LONGEST_REASON = 64
ASKED = ("Manual", "Backfill")
"""Triggers of runs that people asked for: they are not among the decisions about slots."""
LARGEST_STATUS = 64 * 1024
"""Bytes of a status as JSON."""
MOST_ROWS = 1000
"""What the schema of `runHistory` takes."""


def record_decisions(
    status: CronScheduleStatus, decisions: Iterable[Decision], now: int
) -> CronScheduleStatus:
    """The status with these decisions, made in slot order at `now`, in rows and totals."""
    rows, counts, newest = list(status.run_history), status.counts, status.last_schedule_time
    segments, truncated = status.decided_slots, status.truncated
    for decision in decisions:
        segments = with_decision(segments, decision)
        if isinstance(decision, Skip):
            counts = _count_skip(counts, decision)
            _add_skip(rows, decision)
            if decision.reason == SkipReason.CATCH_UP_CAP_EXCEEDED:
                truncated = _truncate(truncated, decision)
        else:
            counts = counts.model_copy(update={"runs": counts.runs + 1})
            rows.insert(0, _run_row(decision, now))
            newest = max(newest or 0, decision.start.slot)
    return status.model_copy(
        update={
            "run_history": tuple(rows),
            "counts": counts,
            "last_schedule_time": newest,
            "decided_slots": segments,
            "truncated": truncated,
        }
    )


def row_of(rows: Iterable[Row], skip: Skip) -> Row | None:
    """The row that a skip is told in, with those next to it; `None` once it has fallen off."""
    for row in rows:
        first = row.first_scheduled_time or row.scheduled_time
        same = row.outcome == "Skipped" and row.reason == skip.reason.value
        if same and first <= skip.first <= row.scheduled_time:
            return row
    return None


def record_lost_ledger(status: CronScheduleStatus, note: Note, jobs: Iterable[SeenJob]) -> CronScheduleStatus:
    """A row that says that there is no record of what came before; it is about no slot.

    The runs whose Jobs are still there are known again.
    """
    known_again = (
        job for job in jobs if job.slot is not None and job.slot <= note.at and job.trigger != "Backfill"
    )
    runs = sorted(known_again, key=_slot, reverse=True)
    row = Row(
        scheduled_time=note.at,
        outcome="Skipped",
        reason=SkipReason.LEDGER_LOST,
        message=note.message[:LONGEST_MESSAGE],
        count=0,
    )
    known = tuple(_known_run(job) for job in runs)
    counts = status.counts.model_copy(update={"runs": status.counts.runs + len(known)})
    return status.model_copy(
        update={
            "run_history": (row, *known, *status.run_history),
            "counts": counts,
            "last_schedule_time": known[0].scheduled_time if known else status.last_schedule_time,
        }
    )


def record_replaced(status: CronScheduleStatus, jobs: Sequence[str], now: int) -> CronScheduleStatus:
    """The rows of these Jobs, deleted for a newer slot, become `Replaced`."""
    rows = tuple(
        row.model_copy(update={"outcome": "Replaced", "completion_time": now})
        if row.outcome == "Active" and row.job in jobs
        else row
        for row in status.run_history
    )
    return status.model_copy(update={"run_history": rows})


def record_outcomes(status: CronScheduleStatus, jobs: Mapping[str, SeenJob], now: int) -> CronScheduleStatus:
    """Rows of active runs get the outcome of their Job; a Job that is gone was deleted."""
    if not any(row.outcome == "Active" for row in status.run_history):
        return status
    rows: list[Row] = []
    counts, succeeded, failed = status.counts, status.last_successful_time, status.last_failure_time
    for row in status.run_history:
        if row.outcome != "Active" or row.job is None:
            rows.append(row)
            continue
        job, asked = jobs.get(row.job), row.trigger in ASKED
        if job is not None and asked and job.created > (row.start_time or 0):
            job = None  # another Job has its name by now
        row = _outcome(row, job, now)
        counted = not asked
        if row.outcome == "Succeeded":
            counts = counts.model_copy(update={"succeeded": counts.succeeded + counted})
            succeeded = max(succeeded or 0, row.completion_time or now)
        elif row.outcome == "Failed":
            counts = counts.model_copy(update={"failed": counts.failed + counted})
            failed = max(failed or 0, row.completion_time or now)
        rows.append(row)
    return status.model_copy(
        update={
            "run_history": tuple(rows),
            "counts": counts,
            "last_successful_time": succeeded,
            "last_failure_time": failed,
        }
    )


def trim(status: CronScheduleStatus, limit: int) -> CronScheduleStatus:
    """The status with at most `limit` rows and, as JSON, at most `LARGEST_STATUS` bytes.

    The oldest finished rows fall off, those of active runs never: with more than some 200 active runs at a time the
    status may be larger. Beyond `MOST_ROWS` the API server would refuse it, and then nothing could be recorded any
    more, so there the oldest rows fall off whatever they are.
    """
    rows = _drop_oldest_finished(status.run_history, len(status.run_history) - limit)[:MOST_ROWS]
    status = status.model_copy(update={"run_history": rows})
    if sum(map(_size_at_most, rows)) < LARGEST_STATUS // 2:
        return status  # not measured: that would cost as much as planning
    excess = _size(status) - LARGEST_STATUS
    kept: list[Row] = []
    for row in reversed(rows):
        if excess > 0 and row.outcome != "Active":
            excess -= _size(row) + 1
        else:
            kept.append(row)
    return status.model_copy(update={"run_history": tuple(reversed(kept))})


def _drop_oldest_finished(rows: Sequence[Row], excess: int) -> tuple[Row, ...]:
    kept = []
    for row in reversed(rows):
        if excess > 0 and row.outcome != "Active":
            excess -= 1
            continue
        kept.append(row)
    return tuple(reversed(kept))


def _size_at_most(row: Row) -> int:
    """Bytes as JSON, where a character may take six."""
    return 400 + 6 * (len(row.message or "") + len(row.reason or "") + len(row.job or ""))


def _size(part: Shape) -> int:
    """Bytes as JSON."""
    return len(part.model_dump_json(by_alias=True, exclude_none=True).encode())


def _count_skip(counts: Counts, skip: Skip) -> Counts:
    skipped = dict(counts.skipped)
    skipped[skip.reason.value] = skipped.get(skip.reason.value, 0) + skip.count
    return counts.model_copy(update={"skipped": skipped})


def _add_skip(rows: list[Row], skip: Skip) -> None:
    """A new row, or one more part of the newest row if that is a skip for the same reason."""
    first, count = skip.first, skip.count
    if rows and rows[0].outcome == "Skipped" and rows[0].reason == skip.reason.value and rows[0].count != 0:
        before = rows.pop(0)
        first = before.first_scheduled_time or before.scheduled_time
        count += before.count or 1
    rows.insert(
        0,
        Row(
            scheduled_time=skip.last,
            outcome="Skipped",
            reason=skip.reason.value,
            message=skip.message[:LONGEST_MESSAGE],
            count=count if count > 1 else None,
            first_scheduled_time=first if count > 1 else None,
        ),
    )


def forget_slots(status: CronScheduleStatus) -> CronScheduleStatus:
    """Once the schedule is edited: slots of the one before are none of the new one's."""
    return status.model_copy(update={"decided_slots": ()})


def _truncate(before: Truncation | None, skip: Skip) -> Truncation:
    if before is None:
        return Truncation(first=skip.first, last=skip.last, count=skip.count)
    return Truncation(first=before.first, last=skip.last, count=before.count + skip.count)


def _slot(job: SeenJob) -> int:
    return job.slot or 0


def _known_run(job: SeenJob) -> Row:
    stands_for = StandsFor(count=job.count, first=job.first) if job.first is not None else None
    return Row(
        scheduled_time=_slot(job),
        outcome="Active",
        job=job.name,
        trigger=job.trigger,
        start_time=job.started or job.created,
        stands_for=stands_for,
    )


def _run_row(ran: Ran, now: int) -> Row:
    start = ran.start
    return Row(
        scheduled_time=start.slot,
        outcome="Active",
        job=ran.job,
        trigger=start.trigger,
        start_time=now,
        stands_for=StandsFor(count=start.count, first=start.first) if start.count > 1 else None,
    )


def _outcome(row: Row, job: SeenJob | None, now: int) -> Row:
    if job is None or (job.deleting and job.state == "Active"):
        return row.model_copy(
            update={
                "outcome": "Deleted",
                "completion_time": now,
                "message": "The Job was deleted before it ended.",
            }
        )
    if job.state == "Active":
        return row
    update: dict[str, object] = {
        "outcome": job.state,
        "start_time": job.started or row.start_time,
        "completion_time": job.finished or now,
    }
    if job.state == "Failed":
        update |= {"reason": job.reason[:LONGEST_REASON], "message": job.message[:LONGEST_MESSAGE]}
    return row.model_copy(update=update)
