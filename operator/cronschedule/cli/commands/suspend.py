"""`suspend`: spec.suspend, with a word on why."""

import json
from collections.abc import Sequence
from typing import Any

import click

from cronschedule.cli import words
from cronschedule.cli.cluster import SCHEDULES, Cluster
from cronschedule.cli.options import cluster_options, names_argument
from cronschedule.cli.output import say, warn

CHANGE_CAUSE = "kubernetes.io/change-cause"  # as in live.py, which is costly to import for --help
MANAGERS = {
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "helm.toolkit.fluxcd.io/name": "Flux",
    "meta.helm.sh/release-name": "Helm",
}


@click.command("suspend")
@names_argument
@click.option("--reason", metavar="TEXT", help=f"Why; kept in the annotation {CHANGE_CAUSE}.")
@cluster_options
def command(names: Sequence[str], reason: str | None, cluster: Cluster) -> None:
    """Stop schedules: their slots are skipped until they are resumed, and never made up for. Active runs go on.

    All schedules of a namespace are suspended by a label on it: cronschedule.dev/suspended=true.

    \b
    Example:
      kubectl cronschedule suspend billing -n team-a --reason "the ledger is being migrated"
    """
    for name in names:
        schedule = cluster.schedule(name)
        title = f"{schedule['metadata']['namespace']}/{name}"
        if schedule["spec"].get("suspend"):
            say(f"{title} is suspended already.")
            continue
        set_suspend(cluster, schedule, "suspended", reason)
        active = schedule.get("status", {}).get("activeRuns", 0)
        going = f" {words.count(active, 'run')} still active." if active else ""
        say(f"{title} suspended: its slots are skipped until it is resumed.{going}")


def set_suspend(cluster: Cluster, schedule: dict[str, Any], word: str, reason: str | None) -> None:
    """Write spec.suspend; `word` is "suspended" or "resumed"."""
    patch: dict[str, Any] = {"spec": {"suspend": word == "suspended"}}
    metadata = schedule["metadata"]
    cause = f"{word}: {reason}" if reason else None
    before = (metadata.get("annotations") or {}).get(CHANGE_CAUSE, "")
    if cause is not None or before.startswith(("suspended: ", "resumed: ")):
        patch["metadata"] = {"annotations": {CHANGE_CAUSE: cause}}
    here = cluster.within(metadata["namespace"])
    options = ("--type=merge", f"--patch={json.dumps(patch)}", "--output=json")
    here.run("patch", SCHEDULES, metadata["name"], *options)
    marks = (metadata.get("annotations") or {}) | (metadata.get("labels") or {})
    manager = next((tool for mark, tool in MANAGERS.items() if mark in marks), None)
    if manager is not None:
        warn(f"note: {manager} manages {metadata['name']} and may set spec.suspend back")
