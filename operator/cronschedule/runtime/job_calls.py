"""The Job of a slot on the API server: create it, find it, delete it (`semantics.md §3 rule 6`, `§4`)."""

from collections.abc import Collection
from dataclasses import dataclass

from cronschedule.api.names import job_name
from cronschedule.api.reasons import SkipReason
from cronschedule.api.v1alpha1 import CronScheduleSpec
from cronschedule.core.facts import Start
from cronschedule.core.jobs import Owner, SeenJob, build_job, read_job
from cronschedule.runtime.kube import (
    AdmissionDenied,
    AlreadyExists,
    Api,
    ApiError,
    BadRequest,
    Conflict,
    Invalid,
    KubeError,
    NamespaceTerminating,
    NotFound,
    QuotaExceeded,
    ServerError,
    Unreachable,
)
from cronschedule.runtime.kube_verbs import JOBS, delete


@dataclass(frozen=True, kw_only=True, slots=True)
class Created:
    """The slot has its Job, made now or by an earlier try."""

    job: SeenJob


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """The Job will not be: the slot is skipped. `template` tells that the template itself is to blame."""

    reason: SkipReason
    message: str
    template: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Postponed:
    """The Job cannot be now, but that may heal. `unsure` tells that it may be there all the same."""

    reason: SkipReason
    message: str
    unsure: bool
    retry_after: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Outdated:
    """A Job that was to be replaced ended unseen: this is how it is. Nothing was created; plan again with it."""

    job: SeenJob


Attempt = Created | Refused | Postponed | Outdated

LOOKS = 3
"""How often a Job that changes all the while is looked at before its deletion is left for later."""


async def create_run(
    api: Api,
    owner: Owner,
    spec: CronScheduleSpec,
    start: Start,
    *,
    replaced: Collection[SeenJob],
    unsure: bool = False,
) -> Attempt:
    """Create the Job of a slot, the Jobs that it replaces being deleted before.

    `unsure` tells that a try before had no answer. A quota or a policy is asked before the name, so a refusal is then
    not believed before the Job was looked for. Raises `KubeError` only from that look.
    """
    try:
        job = build_job(owner, spec, start)
    except (AttributeError, KeyError, TypeError, ValueError):
        message = "spec.jobTemplate does not have the shape of a Job template."
        return Refused(reason=SkipReason.JOB_REJECTED, message=message, template=True)
    try:
        for old in replaced:
            ended = await _delete_unless_ended(api, old)
            if ended is not None:
                return Outdated(job=ended)
        body = await api.request("POST", JOBS.path(namespace=owner.namespace), body=job)
        return Created(job=read_job(body))
    except AlreadyExists:
        return await _adopt(api, owner, start)
    except KubeError as error:
        attempt = _judge(error, waits=spec.misfire_policy == "CatchUp" or start.trigger == "Backfill")
    if isinstance(attempt, Refused) and unsure:
        found = await find_run(api, owner, start)
        if found is not None and is_run_of(found, owner, start):
            return Created(job=found)
    return attempt


async def find_run(api: Api, owner: Owner, start: Start) -> SeenJob | None:
    """The Job that holds the name of a slot; see `is_run_of`. Raises `KubeError`."""
    try:
        path = JOBS.path(namespace=owner.namespace, name=job_name(owner.name, start.slot))
        return read_job(await api.request("GET", path))
    except NotFound:
        return None


def is_run_of(job: SeenJob, owner: Owner, start: Start) -> bool:
    """Whether the Job is for this very slot of this very schedule (its UID)."""
    return job.owner_uid == owner.uid and job.slot == start.slot


async def delete_jobs(api: Api, jobs: Collection[SeenJob]) -> list[SeenJob]:
    """Delete these Jobs and, in the background, their pods; those that are gone. Raises `KubeError`."""
    gone = []
    for job in jobs:
        try:
            await delete(api, JOBS.path(namespace=job.namespace, name=job.name), uid=job.uid)
        except NotFound:
            pass
        except Conflict:  # another Job has the name by now, or it was no good moment
            continue
        gone.append(job)
    return gone


async def _delete_unless_ended(api: Api, job: SeenJob) -> SeenJob | None:
    """Delete a Job for the one that replaces it, if it stands as it is known; else how it stands.

    What is known may be old, and a Job that has ended is not replaced: its outcome is. Raises `KubeError`.
    """
    path = JOBS.path(namespace=job.namespace, name=job.name)
    for _ in range(LOOKS):
        try:
            await delete(api, path, uid=job.uid, resource_version=str(job.version))
            return None
        except NotFound:
            return None
        except Conflict as conflict:
            refusal = conflict
        try:
            now = read_job(await api.request("GET", path))
        except NotFound:
            return None
        if now.uid != job.uid:
            return None
        if now.state != job.state:
            return now
        job = now
    raise refusal


async def _adopt(api: Api, owner: Owner, start: Start) -> Attempt:
    """The name is taken: by an earlier try for this very slot, or by something foreign."""
    try:
        job = await find_run(api, owner, start)
    except KubeError as error:
        return _postpone(error, SkipReason.CREATE_FAILED)
    if job is None:
        message = "The name of the Job was taken a moment ago."
        return Postponed(reason=SkipReason.CREATE_FAILED, message=message, unsure=False, retry_after=None)
    if is_run_of(job, owner, start):
        return Created(job=job)
    message = f"A Job named {job.name} is there and is not this schedule's. It is left alone."
    return Refused(reason=SkipReason.NAME_CONFLICT, message=message)


def _judge(error: KubeError, *, waits: bool) -> Attempt:
    """What a failure to create means for the slot (`semantics.md §3 rule 6`)."""
    message = error.message if isinstance(error, ApiError) else str(error)
    if isinstance(error, QuotaExceeded):
        if waits:
            return _postpone(error, SkipReason.QUOTA_EXHAUSTED)
        return Refused(reason=SkipReason.QUOTA_EXHAUSTED, message=message)
    if isinstance(error, Invalid | BadRequest):
        return Refused(reason=SkipReason.JOB_REJECTED, message=message, template=True)
    if isinstance(error, AdmissionDenied | NamespaceTerminating | NotFound):
        return Refused(reason=SkipReason.JOB_REJECTED, message=message)
    return _postpone(error, SkipReason.CREATE_FAILED)


def _postpone(error: KubeError, reason: SkipReason) -> Postponed:
    return Postponed(
        reason=reason,
        message=error.message if isinstance(error, ApiError) else str(error),
        unsure=isinstance(error, Unreachable | ServerError),
        retry_after=getattr(error, "retry_after", None),
    )
