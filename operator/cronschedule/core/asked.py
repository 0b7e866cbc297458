"""Runs that people asked for, by hand or by a Backfill → rows, totals and segments of the status.

They are not among the decisions about slots: a slot that was skipped and run after all stays counted as skipped.
"""

from collections import Counter
from collections.abc import Iterable

from cronschedule.api.v1alpha1 import CronScheduleStatus, Row
from cronschedule.core.history import ASKED
from cronschedule.core.jobs import SeenJob
from cronschedule.core.segments import RUN, with_run
from cronschedule.core.slots import Slots


def record_asked(
    status: CronScheduleStatus, jobs: Iterable[SeenJob], slots: Slots | None
) -> CronScheduleStatus:
    """Rows for runs that people asked for, by hand or by a Backfill, placed by the time of their Job's creation.

    A Job that was made later than the one of its name that is known is another run. Once rows of such runs have
    fallen off, Jobs older than the oldest row may have been among them and are not told again.
    """
    asked = [job for job in jobs if job.trigger in ASKED]
    if not asked:
        return status
    rows = list(status.run_history)
    known = {(row.job, row.trigger): row.start_time or 0 for row in reversed(rows)}
    told = Counter(row.trigger for row in rows)
    fallen_off = {
        "Manual": status.counts.manual > told["Manual"],
        "Backfill": status.counts.backfilled > told["Backfill"],
    }
    oldest = min((row.start_time or row.scheduled_time for row in rows), default=0)
    slot_runs = {row.job for row in rows if row.trigger not in fallen_off}
    fresh = [
        job
        for job in asked
        if (job.trigger == "Backfill" or job.name not in slot_runs)
        and job.created > known.get((job.name, job.trigger), oldest - 1 if fallen_off[job.trigger] else -1)
    ]
    counts, segments = Counter(job.trigger for job in fresh), status.decided_slots
    for job in fresh:
        _insert(rows, job)
        if job.slot is not None and slots is not None:
            segments = with_run(segments, job.slot, slots)
    if not fresh:
        return status
    totals = status.counts.model_copy(
        update={
            "manual": status.counts.manual + counts["Manual"],
            "backfilled": status.counts.backfilled + counts["Backfill"],
        }
    )
    update = {"run_history": tuple(rows), "counts": totals, "decided_slots": segments}
    return settle_truncation(status.model_copy(update=update))


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
