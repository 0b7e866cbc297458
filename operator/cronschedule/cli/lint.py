"""What admission would say of a CronSchedule, and what it can't: traps that are legal but likely not meant.

Mistakes are what the API server or the operator refuses. Warnings have the name of a rule, by which they can be
left out; each rule is a function of the spec, in `RULES`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from cronschedule.api.mistakes import Mistake
from cronschedule.api.names import API_VERSION, GROUP, KIND
from cronschedule.api.shapes import format_duration
from cronschedule.api.v1alpha1 import CronScheduleSpec
from cronschedule.cli import built_in
from cronschedule.cli.clock_changes import changes, note
from cronschedule.cli.template_rules import refusals
from cronschedule.cli.template_schema import template_mistakes
from cronschedule.core.cron import parse_cron
from cronschedule.core.slots import slots_of
from cronschedule.core.spec import Schedulable, name_mistakes, read_schedulable

YEAR = 366 * 86400
METADATA = (
    *("name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences"),
    *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields"),
    *("resourceVersion", "selfLink", "uid"),
)
TOP = ("apiVersion", "kind", "metadata", "spec", "status")
VARIABLES = "CRONSCHEDULE_"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing about a manifest. `rule` is empty for a mistake."""

    path: str
    message: str
    rule: str = ""

    @property
    def severity(self) -> Literal["mistake", "warning"]:
        return "warning" if self.rule else "mistake"


Rule = Callable[[CronScheduleSpec, int], Iterator[tuple[str, str]]]
"""From a spec without mistakes and the moment it is: what to warn of, as path and message."""


def is_ours(value: object) -> bool:
    """Whether a document is, or means to be, a CronSchedule."""
    if not isinstance(value, Mapping):
        return False
    return str(value.get("apiVersion", "")).startswith(f"{GROUP}/") or value.get("kind") == KIND


def findings(manifest: Mapping[str, Any], rules: Mapping[str, Rule], now: int) -> list[Finding]:
    """Every mistake; without any, what the rules warn of."""
    mistakes = list(_envelope(manifest)) + name_mistakes(_name(manifest) or "x", "metadata.name")
    spec = manifest.get("spec")
    if not isinstance(spec, Mapping):
        mistakes.append(Mistake(path="spec", message="is required" if spec is None else "is not a mapping"))
    else:
        template = spec.get("jobTemplate")
        job = template.get("spec") if isinstance(template, Mapping) else None
        if job is not None:
            mistakes += template_mistakes(job, "spec.jobTemplate.spec")
        read = read_schedulable(spec, unknown="refuse")
        if isinstance(read, Schedulable) and not mistakes:
            return [
                Finding(path=path, message=message, rule=rule)
                for rule, warn in rules.items()
                for path, message in warn(read.spec, now)
            ]
        if isinstance(read, list):
            told = {mistake.path for mistake in mistakes}
            mistakes += [mistake for mistake in read if not _is_told(mistake, told)]
    return [Finding(path=mistake.path, message=mistake.message) for mistake in dict.fromkeys(mistakes)]


def _is_told(mistake: Mistake, told: set[str]) -> bool:
    """Whether the schema has said it already, at a place within the template."""
    inside = f"{mistake.path}.{mistake.message.partition(' ')[0]}"
    return mistake.path in told or inside in told


def _name(manifest: Mapping[str, Any]) -> str:
    metadata = manifest.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else ""


def _envelope(manifest: Mapping[str, Any]) -> Iterator[Mistake]:
    """Everything but the spec."""
    for key, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if manifest.get(key) != wanted:
            found = "is missing:" if manifest.get(key) is None else f"{manifest[key]!r} is not"
            yield Mistake(path=key, message=f"{found} {wanted}, the only one allowed here")
    for key in manifest:
        if key not in TOP:
            yield Mistake(path=key, message=f"is not a known key: allowed are {', '.join(TOP)}")
    metadata = manifest.get("metadata")
    if not isinstance(metadata, Mapping):
        yield Mistake(path="metadata", message="is required" if metadata is None else "is not a mapping")
        return
    for key in metadata:
        if key not in METADATA:
            yield Mistake(path=f"metadata.{key}", message="is not a known key" + _close(key))
    if not _name(manifest) and not isinstance(metadata.get("generateName"), str):
        yield Mistake(path="metadata.name", message="is required")
    for key in ("labels", "annotations"):
        marks = metadata.get(key)
        if marks is not None and not isinstance(marks, Mapping):
            yield Mistake(path=f"metadata.{key}", message=f"{marks!r} is not a mapping of keys to values")
        for mark, value in marks.items() if isinstance(marks, Mapping) else ():
            if not isinstance(value, str):
                yield Mistake(
                    path=f"metadata.{key}.{mark}", message=f"{value!r} is not text: put it into quotes"
                )


def _close(key: str) -> str:
    close = get_close_matches(key, METADATA, n=1)
    return f": did you mean {close[0]}?" if close else ""


def _staleness(spec: CronScheduleSpec, now: int) -> Iterator[tuple[str, str]]:
    if spec.misfire_policy == "CatchUp" and spec.max_staleness < spec.catch_up.max_age:
        age, staleness = format_duration(spec.catch_up.max_age), format_duration(spec.max_staleness)
        yield (
            "spec.maxStaleness",
            f"catchUp.maxAge is {age}, but nothing later than maxStaleness, {staleness}, is run:"
            f" raise maxStaleness to {age}, or lower catchUp.maxAge to {staleness}",
        )


def _concurrency(spec: CronScheduleSpec, now: int) -> Iterator[tuple[str, str]]:
    wanted = spec.catch_up.max_concurrent
    if spec.misfire_policy == "CatchUp" and wanted > 1 and spec.concurrency_policy == "Forbid":
        yield (
            "spec.catchUp.maxConcurrent",
            f"{wanted} has no effect with concurrencyPolicy Forbid, which lets one run at a time: use Allow",
        )


def _day_fields(spec: CronScheduleSpec, now: int) -> Iterator[tuple[str, str]]:
    if built_in.reads_days_otherwise(spec.schedule):
        how, other = "both day fields do", "either"
        if parse_cron(spec.schedule).either_day:
            how, other = "either day field does", "both"
        yield "spec.schedule", f"a day matches when {how}; the built-in CronJob would ask for {other}"


def _clock_changes(spec: CronScheduleSpec, now: int) -> Iterator[tuple[str, str]]:
    if not parse_cron(spec.schedule).wall_clock:
        return
    slots = slots_of(spec.schedule, spec.time_zone)
    for change in changes(spec.time_zone, now, now + YEAR):
        width = abs(change.after - change.before)
        for slot in slots.between(change.at - width - 1, change.at):
            if said := note(spec.schedule, spec.time_zone, slot):
                day = built_in.local_day(slot, spec.time_zone)
                yield "spec.schedule", f"on {day} in {spec.time_zone}: {said}"
                break


def _deadline(spec: CronScheduleSpec, now: int) -> Iterator[tuple[str, str]]:
    if spec.concurrency_policy == "Forbid" and "activeDeadlineSeconds" not in spec.job_template.spec:
        yield (
            "spec.jobTemplate.spec",
            "has no activeDeadlineSeconds: a run that hangs keeps every later one from running (Overlap)",
        )


def _suspended_job(spec: CronScheduleSpec, now: int) -> Iterator[tuple[str, str]]:
    if spec.job_template.spec.get("suspend") and not spec.job_template.metadata.labels:
        yield (
            "spec.jobTemplate.spec.suspend",
            "every Job is created suspended and stays so until something else (a queue) lets it run;"
            " to suspend the schedule, set spec.suspend",
        )


def _own_names(spec: CronScheduleSpec, now: int) -> Iterator[tuple[str, str]]:
    metadata = spec.job_template.metadata
    for kind, marks in (("labels", metadata.labels), ("annotations", metadata.annotations)):
        for key in marks:
            if key.startswith(f"{GROUP}/"):
                yield f"spec.jobTemplate.metadata.{kind}.{key}", "is the operator's and may be overwritten"
    pod = spec.job_template.spec.get("template", {}).get("spec", {})
    for kind in ("initContainers", "containers"):
        for position, container in enumerate(pod.get(kind) or []):
            for index, variable in enumerate(container.get("env") or []):
                if str(variable.get("name", "")).startswith(VARIABLES):
                    path = f"spec.jobTemplate.spec.template.spec.{kind}[{position}].env[{index}]"
                    yield path, f"variables {VARIABLES}… are the operator's and may be overwritten"


def _template(spec: CronScheduleSpec, now: int) -> Iterator[tuple[str, str]]:
    for path, message in refusals(spec.job_template):
        yield f"spec.jobTemplate.{path}", f"{message}; the API server will refuse the Jobs"


RULES: dict[str, Rule] = {
    "staleness": _staleness,
    "concurrency": _concurrency,
    "day-fields": _day_fields,
    "clock-change": _clock_changes,
    "suspended-job": _suspended_job,
    "own-names": _own_names,
    "template": _template,
}
"""What is likely a trap."""
ADVICE: dict[str, Rule] = {"deadline": _deadline}
"""What most manifests lack and many would do well to have; told only when asked for."""
