"""Small objects for tests."""

from __future__ import annotations

from typing import Any


def job(
    name: str,
    *,
    namespace: str = "default",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    owner: dict[str, Any] | None = None,
    suspend: bool = False,
) -> dict[str, Any]:
    """A Job of one pod. `owner`: the object, as the server knows it, that it goes with."""
    meta: dict[str, Any] = {"name": name, "namespace": namespace}
    if labels:
        meta["labels"] = labels
    if annotations:
        meta["annotations"] = annotations
    if owner:
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
        reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
        meta["ownerReferences"] = [reference]
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example.com/main"}]}
    spec: dict[str, Any] = {"template": {"spec": pod}}
    if suspend:
        spec["suspend"] = True
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def cron_schedule(
    name: str, *, namespace: str = "default", schedule: str = "*/5 * * * *", status: Any = None, **spec: Any
) -> dict[str, Any]:
    """A CronSchedule; further keywords go into its spec."""
    told: dict[str, Any] = {
        "apiVersion": "cronschedule.dev/v1alpha1",
        "kind": "CronSchedule",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedule": schedule, "jobTemplate": {"spec": job(name)["spec"]}, **spec},
    }
    if status is not None:
        told["status"] = status
    return told


def backfill(name: str, *, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    """A Backfill with this spec, `from` among it."""
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "cronschedule.dev/v1alpha1", "kind": "Backfill", "metadata": meta, "spec": spec}


def namespace(name: str, *, labels: dict[str, str] | None = None) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}}


def quota(name: str, *, namespace: str = "default", jobs: int) -> dict[str, Any]:
    """A ResourceQuota on the number of Jobs."""
    hard = {"count/jobs.batch": str(jobs)}
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": hard}}


def lease(name: str, *, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    """A Lease; further keywords go into its spec."""
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}
