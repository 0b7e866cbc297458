"""What the API server will refuse in the Jobs of a template, although its schema is in order.

Such a template is admitted with the CronSchedule, and only its first Job is refused (`JobRejected`).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cronschedule.api.v1alpha1 import JobTemplate

Told = Iterator[tuple[str, str]]
"""Path below `spec.jobTemplate` and message."""

_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_LABEL_KEY = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_CONTAINER_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def refusals(template: JobTemplate) -> Told:
    """Everything that is found; the template's schema is without mistakes."""
    job = template.spec
    pods = job.get("template") or {}
    pod = pods.get("spec") or {}
    yield from _labels(template.metadata.labels, "metadata.labels")
    yield from _labels((pods.get("metadata") or {}).get("labels") or {}, "spec.template.metadata.labels")
    yield from _containers(pod)
    yield from _modes(job, pod)


def _labels(labels: Mapping[str, str], path: str) -> Told:
    for key, value in labels.items():
        if not _LABEL_KEY.fullmatch(key):
            yield f"{path}.{key}", f"{key!r} is no key of a label"
        if not _LABEL_VALUE.fullmatch(value):
            yield f"{path}.{key}", f"{value!r} is no value of a label: at most 63 letters, digits, - _ and ."


def _containers(pod: Mapping[str, Any]) -> Told:
    volumes = {volume.get("name") for volume in pod.get("volumes") or []}
    names: set[str] = set()
    for kind in ("initContainers", "containers"):
        for position, container in enumerate(pod.get(kind) or []):
            path = f"spec.template.spec.{kind}[{position}]"
            name = container.get("name", "")
            if not container.get("image"):
                yield f"{path}.image", "is required"
            if not _CONTAINER_NAME.fullmatch(name):
                yield f"{path}.name", f"{name!r} is no name of a container: lower-case letters, digits and -"
            elif name in names:
                yield f"{path}.name", f"{name!r} is the name of another container too"
            names.add(name)
            for index, mount in enumerate(container.get("volumeMounts") or []):
                if mount.get("name") not in volumes:
                    yield f"{path}.volumeMounts[{index}].name", f"there is no volume {mount.get('name')!r}"


def _modes(job: Mapping[str, Any], pod: Mapping[str, Any]) -> Told:
    """Fields of a Job that need others."""
    indexed = job.get("completionMode") == "Indexed"
    if indexed and job.get("completions") is None:
        yield "spec.completions", "is required with completionMode Indexed"
    for key in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if job.get(key) is not None and not indexed:
            yield f"spec.{key}", "goes with completionMode Indexed only"
    if job.get("podFailurePolicy") is not None and pod.get("restartPolicy") != "Never":
        yield "spec.podFailurePolicy", "goes with restartPolicy Never only"
