"""Runs that people asked for, by hand or by a Backfill → rows, totals and segments of the status.

They are not among the decisions about slots: a slot that was skipped and run after all stays counted as skipped.
"""

from collections.abc import Iterable

from cronschedule.api.v1alpha1 import CronScheduleStatus, Row
from cronschedule.core.history import ASKED
from cronschedule.core.jobs import SeenJob
from cronschedule.core.segments import RUN, SKIPPED, SUSPENDED, Segments, segment_of, with_run
from cronschedule.core.slots import Slots


def record_asked(
    status: CronScheduleStatus, jobs: Iterable[SeenJob], slots: Slots | None
) -> CronScheduleStatus:
    """Rows for runs that people asked for, by hand or by a Backfill, placed by the time of their Job's creation.

    They follow from the Jobs that are there, so that a crash between creating and recording one loses nothing.
    """
    asked = [job for job in jobs if job.trigger in ASKED]
    if not asked:
        return status
    status = _record_by_hand(status, [job for job in asked if job.trigger == "Manual"])
    return _record_backfilled(status, [job for job in asked if job.trigger == "Backfill"], slots)


def _record_by_hand(status: CronScheduleStatus, jobs: Iterable[SeenJob]) -> CronScheduleStatus:
    """A Job that was made later than the one of its name that is known is another run.

    Once rows of such runs have fallen off, Jobs older than the oldest row may have been among them and are not told
    again.
    """
    rows = list(status.run_history)
    known = {row.job: row.start_time or 0 for row in reversed(rows) if row.trigger == "Manual"}
    slot_runs = {row.job for row in rows if row.trigger not in ASKED}
    fallen_off = status.counts.manual > sum(row.trigger == "Manual" for row in rows)
    oldest = _oldest(rows) - 1 if fallen_off else -1
    fresh = [job for job in jobs if job.name not in slot_runs and job.created > known.get(job.name, oldest)]
    if not fresh:
        return status
    for job in fresh:
        _insert(rows, job)
    counts = status.counts.model_copy(update={"manual": status.counts.manual + len(fresh)})
    return status.model_copy(update={"run_history": tuple(rows), "counts": counts})


def _record_backfilled(
    status: CronScheduleStatus, jobs: Iterable[SeenJob], slots: Slots | None
) -> CronScheduleStatus:
    """A slot that still counts as skipped and has a Job was run by it; this is recorded, and counted, once.

    A Job for any other slot made a run that failed anew; it is told unless it has its row, or is so old that this
    may have fallen off.
    """
    rows, segments, count = list(status.run_history), status.decided_slots, 0
    known = {row.job: row.start_time or 0 for row in reversed(rows) if row.trigger == "Backfill"}
    for job in jobs:
        skipped = _counts_as_skipped(job, segments)
        if skipped and slots is not None and job.slot is not None:
            segments, count = with_run(segments, job.slot, slots), count + 1
        elif skipped or job.created <= known.get(job.name, _oldest(rows)):
            continue
        _insert(rows, job)
    if len(rows) == len(status.run_history):
        return status
    counts = status.counts.model_copy(update={"backfilled": status.counts.backfilled + count})
    update = {"run_history": tuple(rows), "counts": counts, "decided_slots": segments}
    return settle_truncation(status.model_copy(update=update))


def _counts_as_skipped(job: SeenJob, segments: Segments) -> bool:
    segment = segment_of(segments, job.slot) if job.slot is not None else None
    return segment is not None and segment.fate in (SKIPPED, SUSPENDED)


def _oldest(rows: Iterable[Row]) -> int:
    return min((row.start_time or row.scheduled_time for row in rows), default=0)


def settle_truncation(status: CronScheduleStatus, acknowledged: int = 0) -> CronScheduleStatus:
    """Nothing is told as dropped any more once all of it has run, or somebody knows (`acknowledged`, UTC seconds)."""
    dropped = status.truncated
    if dropped is None:
        return status
    about = [
        each for each in status.decided_slots if each.last >= dropped.first and each.first <= dropped.last
    ]
    have_run = bool(about) and all(each.fate == RUN for each in about)
    if not have_run and acknowledged < dropped.last:
        return status
    return status.model_copy(update={"truncated": None})


def _insert(rows: list[Row], job: SeenJob) -> None:
    row = Row(
        scheduled_time=job.slot if job.slot is not None else job.created,
        outcome="Active",
        job=job.name,
        trigger=job.trigger,
        start_time=max(job.started or 0, job.created),
        message=job.asked or None,
    )
    later = (n for n, other in enumerate(rows) if (other.start_time or other.scheduled_time) <= job.created)
    rows.insert(next(later, len(rows)), row)
