"""`backfill`: run slots of a range that were skipped."""

import time
from typing import TYPE_CHECKING, Any

import click

from cronschedule.cli import words
from cronschedule.cli.cluster import Cluster
from cronschedule.cli.errors import CommandError, InputError
from cronschedule.cli.options import cluster_options, name_argument, output_option
from cronschedule.cli.output import say, say_json, say_table, say_yaml, warn

if TYPE_CHECKING:
    from cronschedule.api.backfill import BackfillStatus
    from cronschedule.cli.live import Live
    from cronschedule.cli.range import Outlook

POLL = 1.0
"""Seconds between two looks at a Backfill that is waited for."""
MOMENT = "a time, in the schedule's zone where it has no offset, or now, now-6h"


@click.command("backfill")
@name_argument
@click.option("--from", "first", metavar="TIME", required=True, help=f"The oldest slot: {MOMENT}.")
@click.option("--to", "last", metavar="TIME", default="now", help="The newest slot, likewise; default now.")
@click.option(
    "--max-concurrent",
    type=click.IntRange(1, 10),
    default=1,
    show_default=True,
    help="How many of its runs may be active at a time, where concurrencyPolicy is Allow.",
)
@click.option("--rerun-failed", is_flag=True, help="Run also those again whose run failed.")
@click.option(
    "--include-suspended",
    is_flag=True,
    help="Run also slots of a suspension window, where the operator's settings allow it.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would become of each slot.")
@click.option("--wait", is_flag=True, help="Wait for the end; the exit code is 1 unless all runs succeeded.")
@output_option("table", "json", "yaml")
@cluster_options
def command(
    *,
    name: str,
    first: str,
    last: str,
    max_concurrent: int,
    rerun_failed: bool,
    include_suspended: bool,
    dry_run: bool,
    wait: bool,
    output: str,
    cluster: Cluster,
) -> int:
    """Run the slots of a range that were skipped, oldest first. What ran once is not run again.

    A Backfill is created, which the operator works off behind all live work. Deleting it cancels what has not begun.

    \b
    Examples:
      kubectl cronschedule backfill billing -n team-a --from 2026-03-29T06:00 --to 2026-03-29T11:10 --dry-run
      kubectl cronschedule backfill billing -n team-a --from now-6h --wait
    """
    from cronschedule.cli.live import read_live
    from cronschedule.cli.manual import refuse_while_suspended
    from cronschedule.cli.range import backfill_manifest, look_ahead, read_order

    live = read_live(cluster.schedule(name))
    here = cluster.within(live.namespace)
    order = read_order(
        live,
        *_range(live, first, last),
        max_concurrent=max_concurrent,
        rerun_failed=rerun_failed,
        include_suspended=include_suspended,
    )
    if not dry_run:
        refuse_while_suspended(live, here.own_namespace())
    outlook = look_ahead(live, order, here.jobs_of(live.raw))
    if include_suspended:
        warn("note: whether slots of a suspension window are run is for the operator's settings to say")
    if dry_run:
        _say_outlook(live, outlook, output)
        return 0
    if outlook.nothing_runs:
        _say_outlook(live, outlook, output)
        say("Nothing is to be run, so no Backfill is created.")
        return 0
    made = here.create(backfill_manifest(live, order))
    title = made["metadata"]["name"]
    if output == "table":
        say(f"{live.title}: created Backfill {title}. {outlook.summary}")
    else:
        (say_json if output == "json" else say_yaml)(made)
    return _wait(here, title) if wait else 0


def _range(live: "Live", first: str, last: str) -> tuple[int, int]:
    moments, mistakes, now = [], [], words.now()
    for option, text in (("--from", first), ("--to", last)):
        try:
            moments.append(words.parse_moment(text, zone=live.zone, now=now))
        except ValueError as error:
            mistakes.append(f"{option}: {error}")
    if mistakes:
        raise InputError(mistakes)
    if moments[0] > moments[1]:
        raise InputError(["--from: is after --to"])
    if moments[1] > now:
        raise InputError(["--to: is in the future; only slots that have passed can be run"])
    return moments[0], moments[1]


def _say_outlook(live: "Live", outlook: "Outlook", output: str) -> None:
    from cronschedule.api.shapes import dump
    from cronschedule.cli.range import told_by_fate
    from cronschedule.cli.story import between

    if output != "table":
        (say_json if output == "json" else say_yaml)([dump(segment) for segment in outlook.segments])
        return
    rows = [
        (
            (
                between(each.first, each.last, live.zone),
                f"{each.count:,}",
                each.fate,
                told_by_fate(each.fate),
            ),
            "good" if each.fate == "WouldRun" else "note",
        )
        for each in outlook.segments
    ]
    if rows:
        say_table(("TIME", "SLOTS", "WHAT", "WHY"), rows)
        say()
    say(outlook.summary)


def _wait(here: Cluster, title: str) -> int:
    from cronschedule.api.backfill import BackfillStatus
    from cronschedule.api.conditions import find
    from cronschedule.cli.range import BACKFILLS

    told = ""
    while True:
        raw: dict[str, Any] = here.read(BACKFILLS, title)
        status = BackfillStatus.model_validate(raw.get("status") or {})
        stalled, complete = (find(status.conditions, kind) for kind in ("Stalled", "Complete"))
        if stalled is not None and stalled.status == "True":
            raise CommandError(f"Backfill {title} cannot go on. {stalled.reason}: {stalled.message}")
        if complete is not None and complete.status == "True":
            return _end(title, status, complete.message)
        progress = _progress(status) + (f" {complete.message}" if complete is not None else "")
        if progress != told:
            warn(progress)
            told = progress
        time.sleep(POLL)


def _progress(status: "BackfillStatus") -> str:
    return (
        f"{status.slots.get('Run', 0):,} run ({status.succeeded:,} succeeded, {status.failed:,} failed,"
        f" {len(status.active_jobs)} active)."
    )


def _end(title: str, status: "BackfillStatus", message: str) -> int:
    from cronschedule.core.backfill_status import NOT_RUN

    bad = status.failed + status.deleted + sum(status.slots.get(fate.value, 0) for fate in NOT_RUN)
    if bad:
        raise CommandError(f"Backfill {title} is complete. {message}")
    warn(f"Backfill {title} is complete. {message}")
    return 0
