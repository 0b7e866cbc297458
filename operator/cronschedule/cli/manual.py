"""A run that a person starts: may it, and the Job it is.

The guard is asked before the Job is created, not together with it: between the two the operator may start a slot.
From its creation on the Job counts for the operator's own guard as any run does.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from cronschedule.api.names import SUSPENDED_LABEL, TRIGGER_REASON
from cronschedule.cli.errors import CommandError
from cronschedule.cli.live import Live
from cronschedule.core.facts import Start
from cronschedule.core.jobs import Owner, SeenJob, build_job, read_job

LONGEST_STEM = 50
"""A Job's name has 63 characters at most: `-manual-` and the five that the API server adds take the rest."""
BUILT_IN_MARK = "cronjob.kubernetes.io/instantiate"
"""The annotation of `kubectl create job --from=cronjob/…`, which tools know manual runs by."""


def refuse_while_suspended(live: Live, namespace: Mapping[str, Any] | None) -> None:
    """Raises `CommandError` while schedule or tenant is suspended (`semantics.md §5`), or nothing can run."""
    suspension = live.status.suspension
    if live.raw["spec"].get("suspend"):
        raise CommandError(f"{live.title} is suspended (spec.suspend): resume it first")
    if suspension is not None and suspension.reason == "TenantSuspended":
        raise CommandError(f"{live.title} is suspended. {suspension.message}")
    labels = (namespace or {}).get("metadata", {}).get("labels") or {}
    if labels.get(SUSPENDED_LABEL) == "true":
        raise CommandError(
            f"{live.title} is suspended: namespace {live.namespace} has the label {SUSPENDED_LABEL}=true"
        )
    if live.spec is None or live.trouble:
        raise CommandError(f"{live.title} cannot run. {live.trouble or 'Its spec is invalid.'}")


def active_runs(jobs: Iterable[Mapping[str, Any]]) -> list[SeenJob]:
    """The runs that the overlap guard counts."""
    return [seen for job in jobs if (seen := read_job(job)).fact.active]


def manual_job(live: Live, reason: str | None, now: int) -> dict[str, Any]:
    """It is for no slot, so its pods are told the moment it was asked for. `live.spec` must be there.

    The API server completes its name, so that none is taken twice, however soon the Job before is gone.
    """
    assert live.spec is not None
    owner = Owner(namespace=live.namespace, name=live.name, uid=live.uid)
    job = build_job(owner, live.spec, Start(slot=now, trigger="Manual", first=now, count=1))
    del job["metadata"]["name"]
    job["metadata"]["generateName"] = live.name[:LONGEST_STEM].rstrip("-.") + "-manual-"
    job["metadata"]["annotations"] |= {BUILT_IN_MARK: "manual"} | ({TRIGGER_REASON: reason} if reason else {})
    return job
