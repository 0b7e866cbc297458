"""`tenants`: namespaces that are suspended."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from cronschedule.api.names import SUSPENDED_LABEL
from cronschedule.cli import words
from cronschedule.cli.cluster import Cluster, Forbidden
from cronschedule.cli.options import cluster_options, output_option
from cronschedule.cli.output import say, say_json, say_table, say_yaml, warn

if TYPE_CHECKING:
    from cronschedule.cli.live import Live

REASON = "TenantSuspended"
UNKNOWN = "unknown"


@dataclass(kw_only=True, slots=True)
class Tenant:
    """A suspended namespace: since when (as far as is known), how many schedules, how many slots were skipped."""

    namespace: str
    since: int | None = None
    schedules: int = 0
    skipped: int = 0
    seen: bool = True
    """Whether the operator has taken notice, for all of its schedules."""


@click.command("tenants")
@click.option(
    "--selector",
    default=f"{SUSPENDED_LABEL}=true",
    show_default=True,
    help="The operator's suspension selector.",
)
@output_option("table", "json", "yaml")
@cluster_options
def command(selector: str, output: str, cluster: Cluster) -> None:
    """Namespaces that are suspended: since when, how many schedules, and how many slots they have skipped so far.

    A namespace is suspended and resumed by its label:

    \b
      kubectl label namespace team-a cronschedule.dev/suspended=true
      kubectl label namespace team-a cronschedule.dev/suspended-

    \b
    Example:
      kubectl cronschedule tenants -o yaml
    """
    tenants = _tenants(selector, cluster)
    if output != "table":
        (say_json if output == "json" else say_yaml)([_data(tenant) for tenant in tenants])
    elif not tenants:
        say("No namespace is suspended.")
    else:
        say_table(("NAMESPACE", "SUSPENDED SINCE", "FOR", "SCHEDULES", "SLOTS SKIPPED"), map(_row, tenants))


def _tenants(selector: str, cluster: Cluster) -> list[Tenant]:
    from cronschedule.cli.live import read_live

    everywhere = Cluster(context=cluster.context, kubeconfig=cluster.kubeconfig, all_namespaces=True)
    found: dict[str, Tenant] = {}
    options = (f"--selector={selector}", "--show-managed-fields")
    try:
        for namespace in cluster.read("namespaces", *options, scope=False)["items"]:
            name = namespace["metadata"]["name"]
            found[name] = Tenant(namespace=name, since=_labelled(namespace, selector))
    except Forbidden as error:
        warn(f"note: namespaces cannot be listed ({error}); told from the schedules alone")
    schedules = [read_live(each) for each in everywhere.schedules()]
    for live in schedules:
        suspension = live.status.suspension
        if suspension is not None and suspension.reason == REASON:
            found.setdefault(live.namespace, Tenant(namespace=live.namespace))
    for tenant in found.values():
        _count(tenant, [live for live in schedules if live.namespace == tenant.namespace])
    return sorted(found.values(), key=lambda tenant: tenant.namespace)


def _labelled(namespace: Mapping[str, Any], selector: str) -> int | None:
    """When the label was last written, by the API server's own record of who wrote what."""
    from cronschedule.api.shapes import parse_time

    field = f"f:{selector.partition('=')[0]}"
    for entry in namespace["metadata"].get("managedFields") or []:
        labels = entry.get("fieldsV1", {}).get("f:metadata", {}).get("f:labels", {})
        if field in labels and entry.get("time"):
            return parse_time(entry["time"])
    return None


def _count(tenant: Tenant, schedules: "list[Live]") -> None:
    now = words.now()
    tenant.schedules = len(schedules)
    for live in schedules:
        suspension = live.status.suspension
        if suspension is None or suspension.reason != REASON:
            tenant.seen = False
            continue
        tenant.since = suspension.since if tenant.since is None else min(tenant.since, suspension.since)
        decided = live.status.last_decided_time
        if live.slots is not None and decided is not None:
            tenant.skipped += live.slots.count(max(decided, suspension.since), now)


def _row(tenant: Tenant) -> tuple[tuple[str, ...], str]:
    since = words.utc(tenant.since) if tenant.since is not None else UNKNOWN
    lasting = words.span(words.now() - tenant.since) if tenant.since is not None else ""
    seen = "" if tenant.seen else "  (not all seen by the operator)"
    cells = (tenant.namespace, since, lasting, str(tenant.schedules), f"{tenant.skipped:,}{seen}")
    return cells, "" if tenant.seen else "note"


def _data(tenant: Tenant) -> dict[str, Any]:
    from cronschedule.api.shapes import format_time

    since = {"since": format_time(tenant.since)} if tenant.since is not None else {}
    return {
        "namespace": tenant.namespace,
        **since,
        "schedules": tenant.schedules,
        "slotsSkipped": tenant.skipped,
    }
