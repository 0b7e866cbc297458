"""Job manifests: template and slot → Job, and Job → what the rules need of it.

The Job carries all that a crash may make us forget: its slot, its trigger and what it stands for.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from cronschedule.api import names
from cronschedule.api.shapes import format_time, parse_time
from cronschedule.api.v1alpha1 import CronScheduleSpec
from cronschedule.core.facts import JobFact, Start, Trigger
from cronschedule.core.zones import load_zone

JobState = Literal["Active", "Succeeded", "Failed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """The CronSchedule that a Job belongs to."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenJob:
    """A Job as the API server shows it, cut down. Moments are UTC seconds.

    `ttl` is the template's ttlSecondsAfterFinished, `asked` why a person started it, `backfill` the UID of the
    Backfill that did; `reason` and `message` are the
    Job controller's, of a failure.
    """

    namespace: str
    name: str
    uid: str
    version: int
    owner_uid: str
    state: JobState
    deleting: bool
    created: int
    slot: int | None
    trigger: Trigger
    first: int | None
    count: int
    started: int | None
    finished: int | None
    ttl: int | None
    asked: str
    backfill: str
    reason: str
    message: str

    @property
    def fact(self) -> JobFact:
        return JobFact(
            name=self.name,
            slot=self.slot,
            trigger=self.trigger,
            active=self.state == "Active" and not self.deleting,
            first=self.first,
            count=self.count,
            failed=self.state == "Failed",
            backfill=self.backfill,
        )


def build_job(owner: Owner, spec: CronScheduleSpec, start: Start) -> dict[str, Any]:
    """The Job of a slot (`semantics.md §4`): labels and annotations of the template and ours, never the owner's own.

    The owner reference is no controller reference: the built-in CronJob controller takes Jobs by the controller's
    name alone.
    """
    template = spec.job_template
    job_spec = deepcopy(template.spec)
    ttl = job_spec.pop("ttlSecondsAfterFinished", None)
    labels = {
        names.MANAGED_BY_LABEL: names.MANAGED_BY,
        names.SCHEDULE_LABEL: owner.name,
        names.TRIGGER_LABEL: start.trigger,
    }
    marks = {
        names.SCHEDULED_FOR: format_time(start.slot),
        names.BUILT_IN_SCHEDULED_FOR: datetime.fromtimestamp(
            start.slot, load_zone(spec.time_zone)
        ).isoformat(),
    }
    coalesced = {}
    if start.count > 1:
        coalesced = {
            names.COALESCED_COUNT: str(start.count),
            names.COALESCED_FIRST: format_time(start.first),
        }
    _mark_pods(job_spec, labels=labels, annotations=marks, environment=_environment(start))
    backfill = {names.BACKFILL: start.backfill} if start.backfill else {}
    own = coalesced | backfill | ({names.TTL_AFTER_FINISHED: str(ttl)} if ttl is not None else {})
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": names.job_name(owner.name, start.slot),
            "namespace": owner.namespace,
            "labels": template.metadata.labels | labels,
            "annotations": template.metadata.annotations | marks | own,
            "ownerReferences": [
                {
                    "apiVersion": names.API_VERSION,
                    "kind": names.KIND,
                    "name": owner.name,
                    "uid": owner.uid,
                    "controller": False,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "spec": job_spec,
    }


def _environment(start: Start) -> dict[str, str]:
    variables = {
        "CRONSCHEDULE_SCHEDULED_FOR": format_time(start.slot),
        "CRONSCHEDULE_TRIGGER": start.trigger,
    }
    if start.count > 1:
        variables["CRONSCHEDULE_COALESCED_COUNT"] = str(start.count)
        variables["CRONSCHEDULE_COALESCED_FIRST"] = format_time(start.first)
        variables["CRONSCHEDULE_COALESCED_LAST"] = format_time(start.slot)
    return variables


def _mark_pods(
    job_spec: dict[str, Any],
    *,
    labels: dict[str, str],
    annotations: dict[str, str],
    environment: dict[str, str],
) -> None:
    """Tell the pod its slot. Our variables come first, so that the author's may refer to them as `$(NAME)`."""
    template = job_spec.setdefault("template", {})
    metadata = template.setdefault("metadata", {})
    metadata["labels"] = (metadata.get("labels") or {}) | labels
    metadata["annotations"] = (metadata.get("annotations") or {}) | annotations
    pod = template.setdefault("spec", {})
    ours = [{"name": name, "value": value} for name, value in environment.items()]
    for container in [*(pod.get("initContainers") or []), *(pod.get("containers") or [])]:
        theirs = [entry for entry in container.get("env") or [] if entry.get("name") not in environment]
        container["env"] = ours + theirs


def read_job(job: Mapping[str, Any]) -> SeenJob:
    """Cut a Job down to what is needed. What its marks claim is checked by `slot_of`."""
    metadata = job["metadata"]
    annotations = metadata.get("annotations") or {}
    labels = metadata.get("labels") or {}
    status = job.get("status") or {}
    state, finished, reason, message = _state(status)
    references = metadata.get("ownerReferences") or []
    owner: Mapping[str, Any] = next((o for o in references if o.get("kind") == names.KIND), {})
    return SeenJob(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        version=int(metadata["resourceVersion"]),
        owner_uid=owner.get("uid", ""),
        state=state,
        deleting=bool(metadata.get("deletionTimestamp")),
        created=read_time(metadata.get("creationTimestamp")) or 0,
        slot=_slot(owner.get("name", ""), metadata["name"], annotations),
        trigger=_trigger(labels.get(names.TRIGGER_LABEL)),
        first=read_time(annotations.get(names.COALESCED_FIRST)),
        count=_number(annotations.get(names.COALESCED_COUNT)) or 1,
        started=read_time(status.get("startTime")),
        finished=finished,
        ttl=_number(annotations.get(names.TTL_AFTER_FINISHED)),
        asked=annotations.get(names.TRIGGER_REASON, ""),
        backfill=annotations.get(names.BACKFILL, ""),
        reason=reason,
        message=message,
    )


def _slot(owner: str, name: str, annotations: Mapping[str, str]) -> int | None:
    """The slot that the Job says it is for, if its name agrees."""
    slot = read_time(annotations.get(names.SCHEDULED_FOR))
    return slot if slot is not None and name == names.job_name(owner, slot) else None


def _state(status: Mapping[str, Any]) -> tuple[JobState, int | None, str, str]:
    """State, end, reason and message of a Job; it is finished when its Complete or Failed condition is true."""
    for condition in status.get("conditions") or []:
        if condition.get("status") != "True" or condition.get("type") not in ("Complete", "Failed"):
            continue
        ended = read_time(status.get("completionTime")) or read_time(condition.get("lastTransitionTime"))
        if condition["type"] == "Complete":
            return "Succeeded", ended, "", ""
        return "Failed", ended, condition.get("reason", ""), condition.get("message", "")
    return "Active", None, "", ""


def _trigger(label: str | None) -> Trigger:
    known: tuple[Trigger, ...] = get_args(Trigger)
    return next((trigger for trigger in known if trigger == label), "Manual")


def read_time(text: str | None) -> int | None:
    """UTC seconds of an RFC 3339 text; `None` for none, and for anything else."""
    try:
        return parse_time(text) if text is not None else None
    except ValueError:
        return None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else None


def now_utc(seconds: float) -> str:
    """RFC 3339 with microseconds, as Events want it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
