"""Which finished Jobs go, and when (`semantics.md §4`): by the history limits and by the template's own age limit."""

from collections.abc import Collection
from dataclasses import dataclass

from cronschedule.api.v1alpha1 import CronScheduleSpec, Row
from cronschedule.core.jobs import SeenJob


@dataclass(frozen=True, kw_only=True, slots=True)
class Retention:
    """The Jobs to delete now, and the moment at which the next one grows too old.

    The oldest goes first: were the ledger lost in between, the newest slot among the Jobs is where it begins anew.
    """

    delete: tuple[SeenJob, ...]
    wake: int | None


def retain_jobs(
    jobs: Collection[SeenJob], rows: Collection[Row], spec: CronScheduleSpec, *, last_decided: int, now: int
) -> Retention:
    """Only Jobs whose run is recorded go: their row is closed, or it fell off, and their slot is decided."""
    open_runs = {row.job for row in rows if row.outcome == "Active"}
    finished = [
        job
        for job in jobs
        if job.state != "Active"
        and not job.deleting
        and job.name not in open_runs
        and (job.slot is None or job.slot <= last_decided)
    ]
    finished.sort(key=lambda job: (job.finished or job.created, job.name), reverse=True)
    kept = [job for job in finished if job.state == "Succeeded"][: spec.successful_jobs_history_limit]
    kept += [job for job in finished if job.state == "Failed"][: spec.failed_jobs_history_limit]
    expiries = {
        job.uid: job.finished + job.ttl for job in kept if job.ttl is not None and job.finished is not None
    }
    stay = {job.uid for job in kept if expiries.get(job.uid, now + 1) > now}
    return Retention(
        delete=tuple(job for job in reversed(finished) if job.uid not in stay),
        wake=min((expiry for expiry in expiries.values() if expiry > now), default=None),
    )
