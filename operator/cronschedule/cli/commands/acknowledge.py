"""`acknowledge`: what the caps dropped is known."""

import json
from collections.abc import Sequence

import click

from cronschedule.api.names import ACKNOWLEDGED
from cronschedule.cli.cluster import SCHEDULES, Cluster
from cronschedule.cli.options import cluster_options, names_argument
from cronschedule.cli.output import say


@click.command("acknowledge")
@names_argument
@cluster_options
def command(names: Sequence[str], cluster: Cluster) -> None:
    """Let what the caps of catchUp dropped stay dropped, and end the condition BacklogTruncated.

    To run it instead there is `backfill`. What is dropped later raises the condition again.

    \b
    Example:
      kubectl cronschedule acknowledge billing -n team-a
    """
    for name in names:
        schedule = cluster.schedule(name)
        title = f"{schedule['metadata']['namespace']}/{name}"
        dropped = (schedule.get("status") or {}).get("truncated")
        if dropped is None:
            say(f"{title}: nothing that the caps dropped is open.")
            continue
        patch = {"metadata": {"annotations": {ACKNOWLEDGED: dropped["last"]}}}
        here = cluster.within(schedule["metadata"]["namespace"])
        here.run("patch", SCHEDULES, name, "--type=merge", f"--patch={json.dumps(patch)}", "--output=json")
        say(f"{title}: {dropped['count']} slots from {dropped['first']} to {dropped['last']} stay dropped.")
