"""`trigger`: a run now."""

import time
from typing import TYPE_CHECKING

import click

from cronschedule.cli import words
from cronschedule.cli.cluster import Cluster
from cronschedule.cli.errors import CommandError
from cronschedule.cli.options import cluster_options, name_argument, output_option
from cronschedule.cli.output import say, say_json, say_yaml, warn

if TYPE_CHECKING:
    from cronschedule.cli.live import Live
    from cronschedule.core.jobs import SeenJob

POLL = 1.0
"""Seconds between two looks at a run that is waited for."""


@click.command("trigger")
@name_argument
@click.option("--reason", metavar="TEXT", help="Why; kept with the run, and told by its row in the history.")
@click.option("--wait", is_flag=True, help="Wait until it has ended; the exit code is 1 if it failed.")
@click.option("--force", is_flag=True, help="Run beside active runs, whatever concurrencyPolicy says.")
@output_option("table", "json", "yaml")
@cluster_options
def command(*, name: str, reason: str | None, wait: bool, force: bool, output: str, cluster: Cluster) -> int:
    """Run it now: a Job as for a slot, marked Manual and recorded in the history.

    The overlap guard is asked as for a slot: under Forbid an active run refuses it, under Replace it is ended first.
    A suspended schedule is not run.

    \b
    Example:
      kubectl cronschedule trigger billing -n team-a --reason "invoice 4711 was missing" --wait
    """
    from cronschedule.cli.live import read_live
    from cronschedule.cli.manual import manual_job, refuse_while_suspended

    live = read_live(cluster.schedule(name))
    here = cluster.within(live.namespace)
    refuse_while_suspended(live, here.own_namespace())
    if not force:
        _ask_guard(live, here)
    job = here.create(manual_job(live, reason, words.now()))
    if output == "table":
        say(f"{live.title}: created Job {job['metadata']['name']}.")
    else:
        (say_json if output == "json" else say_yaml)(job)
    return _wait(here, job["metadata"]["name"]) if wait else 0


def _ask_guard(live: "Live", here: Cluster) -> None:
    """The overlap guard (`semantics.md §3.4`): raises `CommandError` under Forbid, ends active runs under Replace."""
    from cronschedule.cli.manual import active_runs

    assert live.spec is not None
    active, policy = active_runs(here.jobs_of(live.raw)), live.spec.concurrency_policy
    if not active or policy == "Allow":
        return
    if policy == "Forbid":
        raise CommandError(
            f"{_told(active)} still active, and concurrencyPolicy is Forbid: wait for the end, or use --force"
        )
    for job in active:
        here.run("delete", "jobs.batch", job.name, "--cascade=background", "--wait=false")
        warn(f"note: ended {job.name}, which was still active (concurrencyPolicy Replace)")


def _told(active: "list[SeenJob]") -> str:
    names = [f"{job.name} (for {words.span(max(words.now() - job.created, 0))})" for job in active]
    return f"{', '.join(names[:3])} {'is' if len(names) == 1 else 'are'}"


def _wait(here: Cluster, name: str) -> int:
    from cronschedule.core.jobs import read_job

    while (job := read_job(here.read("jobs.batch", name))).state == "Active":
        if job.deleting:
            raise CommandError(f"{name} was deleted before it ended")
        time.sleep(POLL)
    if job.state == "Failed":
        raise CommandError(f"{name} failed. {job.reason}: {job.message}")
    took = words.span(max((job.finished or job.created) - (job.started or job.created), 0))
    warn(f"{name} succeeded after {took}.")
    return 0
