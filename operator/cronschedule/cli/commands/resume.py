"""`resume`: the end of a suspension that was the schedule's own."""

from collections.abc import Sequence

import click

from cronschedule.cli import words
from cronschedule.cli.cluster import Cluster
from cronschedule.cli.commands.suspend import CHANGE_CAUSE, set_suspend
from cronschedule.cli.options import cluster_options, names_argument
from cronschedule.cli.output import say, warn


@click.command("resume")
@names_argument
@click.option("--reason", metavar="TEXT", help=f"Why; kept in the annotation {CHANGE_CAUSE}.")
@cluster_options
def command(names: Sequence[str], reason: str | None, cluster: Cluster) -> None:
    """Let suspended schedules run from their next slot on. What passed meanwhile is not made up for.

    \b
    Example:
      kubectl cronschedule resume billing -n team-a --reason "the ledger is migrated"
    """
    from cronschedule.cli.live import read_live

    for name in names:
        live = read_live(cluster.schedule(name))
        if not live.raw["spec"].get("suspend"):
            say(f"{live.title} is not suspended by itself.")
        else:
            set_suspend(cluster, dict(live.raw), "resumed", reason)
            coming = live.slots.after(words.now()) if live.slots is not None else None
            first = f": its next slot is {words.local(coming, live.zone)}." if coming is not None else "."
            say(f"{live.title} resumed{first}")
        suspension = live.status.suspension
        if suspension is not None and suspension.reason == "TenantSuspended":
            warn(f"note: its namespace is suspended all the same. {suspension.message}")
