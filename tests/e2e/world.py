"""One namespace of the cluster as its users see it: CronSchedules, Jobs, status, Events, through kubectl.

Changes go through kubectl, as people make them. What is looked at again and again is read over one connection.
Moments are Unix seconds in UTC, as in the operator.
"""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar

from kubernetes import client, config

from cronschedule.api.names import (
    ADOPTED_AT,
    API_VERSION,
    KIND,
    MANAGED_BY,
    MANAGED_BY_LABEL,
    SCHEDULE_LABEL,
    SUSPENDED_LABEL,
    TRIGGER_LABEL,
)
from cronschedule.api.shapes import format_time
from localkube import Cluster, Kubectl, OperatorProcess

T = TypeVar("T")
JsonObject = dict[str, Any]

DURATION = "demo.cronschedule.dev/duration"
OUTCOME = "demo.cronschedule.dev/outcome"
"""Annotations of pods of the local control plane: how long they run, and how they end."""


def eventually(look: Callable[[], T], holds: Callable[[T], object], *, within: float = 60) -> T:
    """Look again and again until what is seen holds; then that. AssertionError with the last sight of it."""
    deadline = time.monotonic() + within
    while True:
        seen = look()
        if holds(seen):
            return seen
        if time.monotonic() > deadline:
            raise AssertionError(
                f"not so within {within:.0f} s; last seen:\n{json.dumps(seen, indent=1, default=str)}"
            )
        time.sleep(0.2)


def this_minute() -> int:
    """The minute that is now, as the slot that a minutely schedule has for it."""
    return int(time.time()) // 60 * 60


def have_seconds_left(seconds: int) -> int:
    """Wait for the next minute unless so many seconds are left of this one; the minute that it is then."""
    left = 60 - time.time() % 60
    if left < seconds:
        time.sleep(left)
    return this_minute()


def minutely_until(last: int, count: int) -> str:
    """Cron text with `count` slots, a minute apart, the newest of them `last`; the next is an hour later."""
    minutes = sorted((last // 60 - ago) % 60 for ago in range(count))
    return f"{','.join(map(str, minutes))} * * * *"


def pod(*, outcome: Literal["succeed", "fail", "hang"] = "succeed", duration: str = "1s") -> JsonObject:
    """A Job's spec whose pod runs so long and ends so: kwok reads the annotations, a kubelet runs the command."""
    command = {"succeed": f"sleep {duration}", "fail": f"sleep {duration}; exit 1", "hang": "sleep 1d"}[
        outcome
    ]
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": "busybox", "command": ["sh", "-c", command]}],
    }
    metadata = {"annotations": {OUTCOME: outcome, DURATION: duration}}
    return {"backoffLimit": 0, "template": {"metadata": metadata, "spec": spec}}


def cron_schedule(
    name: str, schedule: str = "* * * * *", *, job: JsonObject | None = None, **spec: Any
) -> JsonObject:
    """A CronSchedule manifest."""
    template = {"spec": job if job is not None else pod()}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {"schedule": schedule, "jobTemplate": template, **spec},
    }


def condition(status: JsonObject, kind: str) -> JsonObject:
    """The condition of that type; empty where there is none."""
    return next((each for each in status.get("conditions", ()) if each["type"] == kind), {})


@contextlib.contextmanager
def down(operator: OperatorProcess, *, by: Literal["stop", "kill"] = "stop") -> Iterator[None]:
    """While it lasts, the operator does not run."""
    operator.kill() if by == "kill" else operator.stop()
    try:
        yield
    finally:
        operator.start()


def _admission_policy(
    name: str, namespace: str, group: str, resource: str, expression: str, message: str
) -> Iterator[JsonObject]:
    """A ValidatingAdmissionPolicy and its binding to one namespace; it denies ConfigMaps called probe as well."""
    api, metadata = "admissionregistration.k8s.io/v1", {"name": name}
    operations = {"apiVersions": ["*"], "operations": ["CREATE", "UPDATE"]}
    rules = [
        {"apiGroups": [group], "resources": [resource], **operations},
        {"apiGroups": [""], "resources": ["configmaps"], **operations},
    ]
    is_config_map = "request.resource.resource == 'configmaps'"
    validations = [
        {"expression": f"!({is_config_map}) || object.metadata.name != 'probe'"},
        {"expression": f"{is_config_map} || ({expression})", "message": message},
    ]
    spec = {"matchConstraints": {"resourceRules": rules}, "validations": validations}
    yield {"apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": metadata, "spec": spec}
    here = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    spec = {"policyName": name, "validationActions": ["Deny"], "matchResources": here}
    yield {"apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata, "spec": spec}


def taken_up(manifest: JsonObject, since: int) -> JsonObject:
    """The same with the mark of a schedule that the operator knows already."""
    metadata = {**manifest["metadata"], "annotations": {ADOPTED_AT: format_time(since)}}
    return {**manifest, "metadata": metadata}


class World:
    """A namespace. Names of schedules are those in it."""

    def __init__(self, kubectl: Kubectl, namespace: str) -> None:
        self.kubectl = kubectl.within(namespace)
        self.namespace = namespace
        self._api = client.CustomObjectsApi(config.new_client_from_config(kubectl.kubeconfig))

    @classmethod
    @contextlib.contextmanager
    def fresh(cls, kubectl: Kubectl) -> Iterator[World]:
        """A namespace of its own, removed at the end."""
        namespace = f"e2e-{uuid.uuid4().hex[:8]}"
        kubectl("create", "namespace", namespace)
        try:
            yield cls(kubectl, namespace)
        finally:
            kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")

    # Reading

    def schedule(self, name: str) -> JsonObject:
        found: JsonObject = self._api.get_namespaced_custom_object(
            "cronschedule.dev", "v1alpha1", self.namespace, "cronschedules", name
        )
        return found

    def status(self, name: str) -> JsonObject:
        status: JsonObject = self.schedule(name).get("status") or {}
        return status

    def rows(self, name: str) -> list[JsonObject]:
        """status.runHistory, oldest first."""
        return list(reversed(self.status(name).get("runHistory") or []))

    def counts(self, name: str) -> JsonObject:
        """The totals in status.counts that are not zero."""
        counts: JsonObject = self.status(name)["counts"]
        return {key: total for key, total in counts.items() if total}

    def jobs(self, name: str) -> dict[str, JsonObject]:
        """The Jobs of a schedule by name, oldest slot first."""
        listed = self._api.list_namespaced_custom_object(
            "batch", "v1", self.namespace, "jobs", label_selector=f"{SCHEDULE_LABEL}={name}"
        )
        return {
            job["metadata"]["name"]: job
            for job in sorted(listed["items"], key=lambda job: job["metadata"]["name"])
        }

    def job(self, name: str) -> JsonObject | None:
        try:
            found: JsonObject = self._api.get_namespaced_custom_object(
                "batch", "v1", self.namespace, "jobs", name
            )
        except client.ApiException as error:
            if error.status == 404:
                return None
            raise
        return found

    def events(self, name: str) -> list[JsonObject]:
        """The Events about a schedule, oldest first."""
        listed = self._api.list_namespaced_custom_object("events.k8s.io", "v1", self.namespace, "events")
        about = [event for event in listed["items"] if event["regarding"].get("name") == name]
        return sorted(about, key=lambda event: event["eventTime"])

    # Changing

    def create(self, *manifests: JsonObject) -> None:
        items = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        self.kubectl("create", "-f", "-", stdin=json.dumps(items))

    def edit(self, name: str, **spec: Any) -> None:
        """Merge into the spec; null takes a key away."""
        self.kubectl("patch", "csch", name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def write_status(self, name: str, **status: Any) -> None:
        """Merge into the status past the operator, as a restore from a backup or a stray hand does."""
        patch = json.dumps({"status": status})
        self.kubectl("patch", "csch", name, "--subresource=status", "--type=merge", "-p", patch)

    def wipe_status(self, name: str) -> None:
        """Take the whole status away, as a restore without status does."""
        self.kubectl("patch", "csch", name, "--subresource=status", "--type=merge", "-p", '{"status": null}')

    def restore_ledger(self, name: str, *, decided_until: int, **status: Any) -> None:
        """Set the ledger back: slots after `decided_until` have no decision."""
        spec = self.schedule(name)["spec"]
        text = {"expression": spec["schedule"], "timeZone": spec["timeZone"]}
        self.write_status(name, schedule=text, lastDecidedTime=format_time(decided_until), **status)

    def create_with_ledger(self, *manifests: JsonObject, decided_until: int) -> None:
        """Schedules with slots that came due since `decided_until`, as from a backup with status."""
        self.create(*manifests)
        for each in manifests:
            self.restore_ledger(each["metadata"]["name"], decided_until=decided_until)

    def create_manual_run(self, schedule: str, name: str, job: JsonObject) -> None:
        """A run that a person starts: a Job that is the schedule's, for no slot."""
        owner = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "name": schedule,
            "uid": self.schedule(schedule)["metadata"]["uid"],
            "controller": False,
        }
        labels = {MANAGED_BY_LABEL: MANAGED_BY, SCHEDULE_LABEL: schedule, TRIGGER_LABEL: "Manual"}
        metadata = {"name": name, "labels": labels, "ownerReferences": [owner]}
        self.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": job})

    def suspend_tenant(self) -> None:
        self.kubectl("label", "namespace", self.namespace, f"{SUSPENDED_LABEL}=true")

    def resume_tenant(self) -> None:
        self.kubectl("label", "namespace", self.namespace, f"{SUSPENDED_LABEL}-")

    @contextlib.contextmanager
    def policy(self, *, group: str, resource: str, expression: str, message: str) -> Iterator[None]:
        """While it lasts, writes of this resource in this namespace are denied unless the CEL expression holds."""
        name = f"{self.namespace}-policy"
        self.create(*_admission_policy(name, self.namespace, group, resource, expression, message))
        try:
            eventually(self._probe_passes, lambda passes: not passes)
            yield
        finally:
            self.lift_policy()

    def lift_policy(self) -> None:
        """End the policy before its time."""
        kinds = "validatingadmissionpolicy,validatingadmissionpolicybinding"
        self.kubectl("delete", kinds, f"{self.namespace}-policy", "--ignore-not-found")
        eventually(self._probe_passes, bool)

    @contextlib.contextmanager
    def unreachable_webhook(self) -> Iterator[None]:
        """While it lasts, no Job can be created in this namespace: the webhook to be asked does not answer."""
        name = f"{self.namespace}.webhook.example"
        rule = {
            "apiGroups": ["batch"],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["jobs"],
        }
        webhook = {
            "name": name,
            "clientConfig": {"url": "https://127.0.0.1:9/nobody-listens-here"},
            "rules": [rule],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        kind = "ValidatingWebhookConfiguration"
        self.create(
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": {"name": name},
                "webhooks": [webhook],
            }
        )
        try:
            eventually(self._job_passes, lambda passes: not passes)
            yield
        finally:
            self.kubectl("delete", kind, name)
            eventually(self._job_passes, bool)

    def _job_passes(self) -> bool:
        answer = self.kubectl.run("create", "job", "probe", "--image=probe", "--dry-run=server")
        return answer.returncode == 0

    def _probe_passes(self) -> bool:
        """Policies take a moment to come into force; one that is denies this, too."""
        return self.kubectl.run("create", "configmap", "probe", "--dry-run=server").returncode == 0

    # Waiting

    def wait_until_seen(self, name: str) -> JsonObject:
        """Until the status is about the newest spec; that status."""

        def is_seen(schedule: JsonObject) -> bool:
            observed = (schedule.get("status") or {}).get("observedGeneration")
            return bool(observed == schedule["metadata"]["generation"])

        status: JsonObject = eventually(lambda: self.schedule(name), is_seen)["status"]
        return status

    def see_again(self, name: str) -> None:
        """Until the operator has looked at the schedule once more, after an edit that changes nothing that matters:
        what did not happen until then was not just late."""
        kept = self.schedule(name)["spec"]["runHistoryLimit"]
        self.edit(name, runHistoryLimit=kept - 1)
        self.wait_until_seen(name)

    def wait_for_status(self, name: str, holds: Callable[[JsonObject], object]) -> JsonObject:
        return eventually(lambda: self.status(name), holds)

    def wait_for_outcomes(self, name: str, *outcomes: str) -> list[JsonObject]:
        """Until the rows of runs have just these outcomes, oldest first; all rows."""

        def outcomes_of_runs(rows: list[JsonObject]) -> bool:
            return [row["outcome"] for row in rows if row["outcome"] != "Skipped"] == list(outcomes)

        return eventually(lambda: self.rows(name), outcomes_of_runs)

    def wait_for_events(self, name: str, *reasons: str) -> list[JsonObject]:
        """Until there are Events for just these reasons, in any order."""
        return eventually(
            lambda: self.events(name), lambda events: sorted(e["reason"] for e in events) == sorted(reasons)
        )


def jobs_created(cluster: Cluster, namespace: str) -> list[str]:
    """The Jobs that were created, by the answers that the API server gave, whoever got to see them."""
    return [
        entry["objectRef"]["name"]
        for entry in cluster.audit()
        if entry["verb"] == "create"
        and entry["objectRef"]["resource"] == "jobs"
        and entry["objectRef"]["namespace"] == namespace
        and entry["responseStatus"]["code"] == 201
    ]
