"""CronJob → CronSchedule, with every difference in what it will do, and of all that was left out or rewritten.

`semantics.md` is what the result obeys; what the built-in controller does is told in the sentences.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from cronschedule.api.mistakes import Mistake
from cronschedule.api.names import API_VERSION, KIND, LONGEST_NAME
from cronschedule.api.shapes import format_duration
from cronschedule.cli.built_in import translate
from cronschedule.cli.clock_changes import changes, note
from cronschedule.cli.lint import Finding, findings
from cronschedule.core.cron import CronError, parse_cron
from cronschedule.core.slots import slots_of
from cronschedule.core.zones import UnknownTimeZone, load_zone

MINUTE, HOUR, DAY = 60, 3600, 86400
MOST_KEPT = 100
OF_THE_CLUSTER = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)
"""Metadata that the API server wrote: not the author's, so leaving it out is no difference."""
POD_METADATA = ("labels", "annotations", "finalizers")
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
DEFAULT_KEPT = {"successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1}


@dataclass(kw_only=True, slots=True)
class Conversion:
    """The manifest, what differs (path of the CronJob, sentence), and what keeps it from being converted."""

    manifest: dict[str, Any] = field(default_factory=dict)
    differences: list[Mistake] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)

    def say(self, path: str, message: str) -> None:
        self.differences.append(Mistake(path=path, message=message))

    def refuse(self, path: str, message: str) -> None:
        self.mistakes.append(Mistake(path=path, message=message))


def is_cron_job(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("kind") == "CronJob"


def convert(cron_job: Mapping[str, Any], now: int) -> Conversion:
    """The CronSchedule that comes closest. With mistakes there is no manifest."""
    done = Conversion()
    given = cron_job.get("spec")
    if not isinstance(given, Mapping):
        done.refuse("spec", "is required")
        return done
    spec: dict[str, Any] = {}
    rest = {key: value for key, value in given.items() if value is not None}
    _schedule(done, spec, rest, now)
    _missed_runs(done, spec, rest)
    _overlap(done, spec, rest)
    _suspend(done, spec, rest)
    _kept_jobs(done, spec, rest)
    spec["jobTemplate"] = _template(done, rest.pop("jobTemplate", None))
    for key in rest:
        done.say(f"spec.{key}", f"left out: {KIND} has no such field")
    manifest = {"apiVersion": API_VERSION, "kind": KIND, "metadata": _metadata(done, cron_job), "spec": spec}
    told = {mistake.path for mistake in done.mistakes}
    done.mistakes += [_mistake(found) for found in findings(manifest, {}, now) if found.path not in told]
    _surroundings(done, cron_job)
    done.manifest = {} if done.mistakes else manifest
    return done


def _mistake(finding: Finding) -> Mistake:
    return Mistake(path=finding.path, message=finding.message)


def _schedule(done: Conversion, spec: dict[str, Any], rest: dict[str, Any], now: int) -> None:
    text, zone = rest.pop("schedule", None), rest.pop("timeZone", None)
    if not isinstance(text, str):
        done.refuse("spec.schedule", "is required" if text is None else f"{text!r} is not text")
        return
    if zone is not None and not isinstance(zone, str):
        done.refuse("spec.timeZone", f"{zone!r} is not text")
        return
    try:
        translated = translate(text)
    except CronError as error:
        done.refuse("spec.schedule", str(error))
        return
    for change in translated.changes:
        done.say("spec.schedule", change)
    spec["schedule"] = translated.text
    zone = zone or translated.zone
    if zone is None:
        zone = "Etc/UTC"
        done.say(
            "spec.timeZone",
            "Etc/UTC here; the CronJob follows the zone of kube-controller-manager, UTC unless someone changed it",
        )
    spec["timeZone"] = zone
    try:
        load_zone(zone)
    except UnknownTimeZone as error:
        done.refuse("spec.timeZone", str(error))
        return
    _clock_changes(done, translated.text, zone, now)


def _clock_changes(done: Conversion, text: str, zone: str, now: int) -> None:
    if not parse_cron(text).wall_clock:
        return
    slots = slots_of(text, zone)
    for change in changes(zone, now, now + 366 * DAY):
        width = abs(change.after - change.before)
        moved = next(
            (s for s in slots.between(change.at - width - 1, change.at) if note(text, zone, s)), None
        )
        if moved is not None:
            other = "would leave it out" if change.forward else "would run twice"
            done.say("spec.schedule", f"where the {change}: {note(text, zone, moved)}; the CronJob {other}")


def _missed_runs(done: Conversion, spec: dict[str, Any], rest: dict[str, Any]) -> None:
    spec["misfirePolicy"] = "FireOnce"
    deadline = rest.pop("startingDeadlineSeconds", None)
    path = "spec.startingDeadlineSeconds"
    if deadline is None:
        spec["maxStaleness"] = "24h"
        done.say(
            path,
            "without one the CronJob runs its newest missed time however late; maxStaleness is at most 24h",
        )
    elif isinstance(deadline, bool) or not isinstance(deadline, int) or deadline < 0:
        done.refuse(path, f"{deadline!r} is not a whole number of seconds")
        return
    else:
        seconds = min(max(deadline, MINUTE), DAY)
        spec["maxStaleness"] = format_duration(seconds)
        if seconds != deadline:
            done.say(
                path,
                f"{deadline} seconds become maxStaleness {format_duration(seconds)}: 1m to 24h is allowed",
            )
    done.say(
        path,
        "of missed times the newest runs, as with the CronJob; here the older ones are recorded as Coalesced,"
        " and one that is too late as Stale",
    )


def _overlap(done: Conversion, spec: dict[str, Any], rest: dict[str, Any]) -> None:
    policy = rest.pop("concurrencyPolicy", None) or "Allow"
    spec["concurrencyPolicy"] = policy
    if policy == "Forbid":
        done.say(
            "spec.concurrencyPolicy",
            "a time at which a run is still active is skipped for good (Overlap); the CronJob starts it late, when that"
            " run ends, if its deadline allows",
        )
    if policy != "Allow":
        done.say("spec.concurrencyPolicy", "runs started by hand with `trigger` count as active too")


def _suspend(done: Conversion, spec: dict[str, Any], rest: dict[str, Any]) -> None:
    if rest.pop("suspend", False):
        spec["suspend"] = True
    done.say(
        "spec.suspend",
        "nothing that passed while suspended runs on resumption; the CronJob would run the newest time it missed",
    )


def _kept_jobs(done: Conversion, spec: dict[str, Any], rest: dict[str, Any]) -> None:
    for key, default in DEFAULT_KEPT.items():
        kept = rest.pop(key, default)
        if isinstance(kept, int) and kept > MOST_KEPT:
            done.say(
                f"spec.{key}",
                f"{kept} becomes {MOST_KEPT}, the most; status.runHistory tells of more runs than that",
            )
            kept = MOST_KEPT
        if kept != default:
            spec[key] = kept


def _template(done: Conversion, template: object) -> Any:
    if not isinstance(template, Mapping):
        return template
    kept: dict[str, Any] = {}
    metadata = template.get("metadata")
    for key, value in metadata.items() if isinstance(metadata, Mapping) else ():
        if key in ("labels", "annotations"):
            kept |= {"metadata": {**kept.get("metadata", {}), key: deepcopy(value)}} if value else {}
        elif value is not None:
            done.say(f"spec.jobTemplate.metadata.{key}", "left out: Jobs take labels and annotations only")
    kept["spec"] = _with_plain_pods(done, template.get("spec"))
    for key in template:
        if key not in ("metadata", "spec"):
            done.say(f"spec.jobTemplate.{key}", "left out: there is no such field")
    job = kept["spec"]
    if isinstance(job, Mapping) and job.get("ttlSecondsAfterFinished") is not None:
        done.say(
            "spec.jobTemplate.spec.ttlSecondsAfterFinished",
            "the operator deletes the finished Job by it, once its run is recorded; the Job itself does not carry it",
        )
    return kept


def _with_plain_pods(done: Conversion, job: object) -> Any:
    """A copy whose pods have the metadata that a template may have; generators and people write more."""
    if not isinstance(job, Mapping):
        return job
    job = {key: _with_quoted_fractions(part) for key, part in job.items()}
    template = job.get("template")
    if isinstance(template, dict) and isinstance(template.get("metadata"), dict):
        metadata = template.pop("metadata")
        kept = {key: value for key, value in metadata.items() if key in POD_METADATA and value}
        for key in metadata:
            if key not in (*POD_METADATA, *OF_THE_CLUSTER):
                done.say(
                    f"spec.jobTemplate.spec.template.metadata.{key}", "left out: pods are named by their Job"
                )
        job["template"] = ({"metadata": kept} if kept else {}) | template
    return job


def _with_quoted_fractions(part: Any) -> Any:
    """A copy where quantities such as 0.5 are text: a CRD takes no fraction for a number, as batch/v1 does."""
    if isinstance(part, Mapping):
        return {key: _with_quoted_fractions(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_with_quoted_fractions(item) for item in part]
    return repr(part) if isinstance(part, float) and not part.is_integer() else part


def _metadata(done: Conversion, cron_job: Mapping[str, Any]) -> dict[str, Any]:
    given = cron_job.get("metadata")
    given = given if isinstance(given, Mapping) else {}
    metadata: dict[str, Any] = {
        key: given[key] for key in ("name", "namespace") if given.get(key) is not None
    }
    for key in ("labels", "annotations"):
        marks = given.get(key)
        if isinstance(marks, Mapping):
            marks = {mark: value for mark, value in marks.items() if mark != LAST_APPLIED}
        if marks:
            metadata[key] = marks
    for key in given:
        if key not in ("name", "namespace", "labels", "annotations", *OF_THE_CLUSTER) and given[key]:
            done.say(f"metadata.{key}", "left out: it belongs to the CronJob's own life")
    name = given.get("name")
    if isinstance(name, str) and len(name) > LONGEST_NAME:
        done.say("metadata.name", f"must be shortened to {LONGEST_NAME} characters")
    return metadata


def _surroundings(done: Conversion, cron_job: Mapping[str, Any]) -> None:
    """What lies outside the manifest."""
    done.say(
        "metadata",
        "Jobs are named as the CronJob's, but owned by a CronSchedule; what selects them by owner must change",
    )
    status = cron_job.get("status")
    last = status.get("lastScheduleTime") if isinstance(status, Mapping) else None
    if last is not None:
        done.say(
            "status.lastScheduleTime",
            f"{last} is not carried over: times count from the CronSchedule's creation",
        )
    done.say("kind", "while both exist both run: suspend or delete the CronJob before you apply this")
