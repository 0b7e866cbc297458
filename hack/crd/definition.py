"""The CustomResourceDefinition: the models' schemas, the rules of the API server, and what `kubectl get` shows."""

from typing import Any

from crd.backfill import backfill_definition
from crd.jobspec import job_spec_schema
from crd.rules import add_rules, name_rules
from crd.structural import Schema, column, structural_schema, whole_schema
from cronschedule.api.names import GROUP, KIND, PLURAL, VERSION
from cronschedule.api.v1alpha1 import CronScheduleSpec, CronScheduleStatus

DESCRIPTION = (
    "A CronSchedule runs a Job at the times that a cron text gives, and decides and records what becomes of each run"
    " that could not start on time. Its name has at most 52 characters."
)


def definitions() -> list[dict[str, Any]]:
    """The manifests of all kinds."""
    return [
        _definition(
            kind=KIND,
            plural=PLURAL,
            short="csch",
            columns=_columns(),
            schema=_schema(),
            selectable=[".spec.suspend", ".spec.timeZone"],
        ),
        backfill_definition(_definition),
    ]


def _definition(
    *, kind: str, plural: str, short: str, columns: list[Schema], schema: Schema, selectable: list[str]
) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
                "shortNames": [short],
                # Another kind in this category would make kubectl take `get cronschedules NAME` for two resources.
                **({"categories": [PLURAL]} if plural == PLURAL else {}),
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "selectableFields": [{"jsonPath": path} for path in selectable],
                    "additionalPrinterColumns": columns,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def _schema() -> Schema:
    spec = structural_schema(CronScheduleSpec)
    template = spec["properties"]["jobTemplate"]
    job = template["properties"]["spec"]
    template["properties"]["spec"] = {**job_spec_schema(), "description": job["description"]}
    add_rules(spec)
    return whole_schema(DESCRIPTION, spec, CronScheduleStatus) | {"x-kubernetes-validations": name_rules()}


def _columns() -> list[dict[str, Any]]:
    """A column of type date shows the future as <invalid>, so NEXT is a string."""

    def condition(kind: str, what: str) -> str:
        return f'.status.conditions[?(@.type=="{kind}")].{what}'

    return [
        column("Schedule", ".spec.schedule", "When it runs."),
        column("TimeZone", ".spec.timeZone", "The time zone of the schedule.", priority=1),
        column("Policy", ".spec.misfirePolicy", "What becomes of missed runs."),
        column("Suspended", condition("Suspended", "status"), "Whether it or its namespace is suspended."),
        column("Active", ".status.activeRuns", "How many runs are active.", kind="integer"),
        column("Last", ".status.lastScheduleTime", "How long ago the newest slot that ran was.", kind="date"),
        column("Next", ".status.nextScheduleTime", "The next slot, in UTC."),
        column("Ready", condition("Ready", "status"), "Whether it is accepted and being scheduled."),
        column("Waiting", ".status.backlog.waiting", "How many slots wait.", kind="integer", priority=1),
        column("Reason", condition("Ready", "reason"), "Why it is ready or not.", priority=1),
        column("Skipped", ".status.counts.skipped", "How many slots were skipped, by reason.", priority=1),
        column("Age", ".metadata.creationTimestamp", "How long ago it was created.", kind="date"),
    ]
