"""The objects that the benches create."""

from __future__ import annotations

from typing import Any

from bench.evidence import SLOT
from bench.times import format_time

DURATION = "demo.cronschedule.dev/duration"
OUTCOME = "demo.cronschedule.dev/outcome"


def namespaces(number: int) -> list[str]:
    """Names of so many tenants."""
    return [f"tenant-{position:02}" for position in range(number)]


def job_spec(
    *, suspend: bool = False, duration: str | None = None, outcome: str | None = None
) -> dict[str, Any]:
    """A Job whose pods nobody really runs: kwok plays them as the annotations say (one second, success)."""
    marks = {key: value for key, value in ((DURATION, duration), (OUTCOME, outcome)) if value}
    container = {"name": "main", "image": "example.invalid/none:1", "command": ["work"]}
    pod = {"restartPolicy": "Never", "containers": [container]}
    spec: dict[str, Any] = {
        "backoffLimit": 0,
        "template": {"metadata": {"annotations": marks}, "spec": pod},
    }
    return {"suspend": True, **spec} if suspend else spec


def cron_schedule(namespace: str, name: str, job: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A CronSchedule."""
    return {
        "apiVersion": "cronschedule.dev/v1alpha1",
        "kind": "CronSchedule",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"timeZone": "Etc/UTC", **spec, "jobTemplate": {"spec": job}},
    }


def cron_job(namespace: str, name: str, job: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A built-in CronJob."""
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"timeZone": "Etc/UTC", **spec, "jobTemplate": {"spec": job}},
    }


def job(namespace: str, name: str, spec: dict[str, Any], slot: int) -> dict[str, Any]:
    """A Job that says for which slot it is, as those of the two above do."""
    metadata = {"namespace": namespace, "name": name, "annotations": {SLOT: format_time(slot)}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
