"""The CustomResourceDefinition: the models' schemas, the rules of the API server, and what `kubectl get` shows."""

from typing import Any

from crd.jobspec import job_spec_schema
from crd.rules import add_rules, name_rules
from crd.structural import Schema, structural_schema, without_defaults
from cronschedule.api.names import GROUP, KIND, PLURAL, VERSION
from cronschedule.api.v1alpha1 import CronScheduleSpec, CronScheduleStatus

DESCRIPTION = (
    "A CronSchedule runs a Job at the times that a cron text gives, and decides and records what becomes of each run"
    " that could not start on time. Its name has at most 52 characters."
)


def definition() -> dict[str, Any]:
    """The whole manifest."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": KIND,
                "listKind": f"{KIND}List",
                "plural": PLURAL,
                "singular": KIND.lower(),
                "shortNames": ["csch"],
                "categories": [PLURAL],
            },
            "scope": "Namespaced",
            "versions": [_version()],
        },
    }


def _version() -> dict[str, Any]:
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "selectableFields": [{"jsonPath": ".spec.suspend"}, {"jsonPath": ".spec.timeZone"}],
        "additionalPrinterColumns": _columns(),
        "schema": {"openAPIV3Schema": _schema()},
    }


def _schema() -> Schema:
    spec = structural_schema(CronScheduleSpec)
    template = spec["properties"]["jobTemplate"]
    job = template["properties"]["spec"]
    template["properties"]["spec"] = {**job_spec_schema(), "description": job["description"]}
    add_rules(spec)
    status = without_defaults(structural_schema(CronScheduleStatus))
    conditions = status["properties"]["conditions"]
    conditions |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    # An object that nobody has looked at must not count as ready: kstatus compares this with the generation.
    status["default"] = {"observedGeneration": -1}
    return {
        "type": "object",
        "description": DESCRIPTION,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
        "x-kubernetes-validations": name_rules(),
    }


def _columns() -> list[dict[str, Any]]:
    """A column of type date shows the future as <invalid>, so NEXT is a string."""

    def condition(kind: str, what: str) -> str:
        return f'.status.conditions[?(@.type=="{kind}")].{what}'

    return [
        _column("Schedule", ".spec.schedule", "When it runs."),
        _column("TimeZone", ".spec.timeZone", "The time zone of the schedule.", priority=1),
        _column("Policy", ".spec.misfirePolicy", "What becomes of missed runs."),
        _column("Suspended", condition("Suspended", "status"), "Whether it or its namespace is suspended."),
        _column("Active", ".status.activeRuns", "How many runs are active.", kind="integer"),
        _column(
            "Last", ".status.lastScheduleTime", "How long ago the newest slot that ran was.", kind="date"
        ),
        _column("Next", ".status.nextScheduleTime", "The next slot, in UTC."),
        _column("Ready", condition("Ready", "status"), "Whether it is accepted and being scheduled."),
        _column("Reason", condition("Ready", "reason"), "Why it is ready or not.", priority=1),
        _column("Skipped", ".status.counts.skipped", "How many slots were skipped, by reason.", priority=1),
        _column("Age", ".metadata.creationTimestamp", "How long ago it was created.", kind="date"),
    ]


def _column(
    name: str, path: str, description: str, *, kind: str = "string", priority: int = 0
) -> dict[str, Any]:
    column = {"name": name, "type": kind, "jsonPath": path, "description": description}
    return column | ({"priority": priority} if priority else {})
