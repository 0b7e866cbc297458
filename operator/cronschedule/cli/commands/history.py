"""`history`: what became of slots, newest first."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from cronschedule.api.reasons import SkipReason
from cronschedule.cli import words
from cronschedule.cli.cluster import Cluster
from cronschedule.cli.errors import InputError
from cronschedule.cli.options import cluster_options_across, optional_name_argument, output_option
from cronschedule.cli.output import say, say_json, say_table, say_yaml

if TYPE_CHECKING:
    from cronschedule.api.v1alpha1 import Row
    from cronschedule.cli.live import Live

    Told = tuple[Live, Row]


@click.command("history")
@optional_name_argument
@click.option(
    "--reason",
    "reasons",
    multiple=True,
    type=click.Choice([reason.value for reason in SkipReason], case_sensitive=False),
    help="Only skips for this reason. Repeatable.",
)
@click.option(
    "--since", metavar="TIME", help="Only slots after this moment, or not longer ago, such as 24h or 7d."
)
@click.option("-c", "--count", type=click.IntRange(1), help="At most so many rows.")
@output_option("table", "json", "yaml", "html")
@cluster_options_across
def command(
    name: str | None,
    reasons: Sequence[str],
    since: str | None,
    count: int | None,
    output: str,
    cluster: Cluster,
) -> None:
    """Runs and skips of a schedule, newest first, one line each; without NAME those of all schedules.

    A schedule keeps its last rows (runHistoryLimit); its totals count everything.

    \b
    Examples:
      kubectl cronschedule history billing -n team-a --since 24h
      kubectl cronschedule history billing -n team-a -o html > billing.html
      kubectl cronschedule history -A --reason Stale --reason CatchUpCapExceeded
    """
    from cronschedule.cli.live import read_live

    if name is not None and cluster.all_namespaces:
        raise click.UsageError("-A is for the history of all schedules: leave out either it or NAME")
    if name is None and output == "html":
        raise click.UsageError("-o html is a picture of one schedule: give its NAME")
    raw = [cluster.schedule(name)] if name is not None else cluster.schedules()
    schedules = [read_live(each) for each in raw]
    told = _rows(schedules, reasons, _after(since, schedules), count)
    if output == "html":
        from cronschedule.cli.page.history import page

        sys.stdout.write(page(schedules[0], [row for _, row in told], words.now()))
    elif output != "table":
        (say_json if output == "json" else say_yaml)([_data(live, row) for live, row in told])
    elif name is not None:
        _say_one(schedules[0], told)
    else:
        _say_all(told)


def _after(since: str | None, schedules: "Sequence[Live]") -> int:
    if since is None:
        return 0
    zone = schedules[0].zone if len(schedules) == 1 else "Etc/UTC"
    try:
        return words.now() - words.parse_span(since)
    except ValueError:
        pass
    try:
        return words.parse_moment(since, zone=zone, now=words.now())
    except ValueError as error:
        raise InputError([f"--since: {error}, or how long ago, such as 24h or 7d"]) from None


def _rows(schedules: "Sequence[Live]", reasons: Sequence[str], after: int, count: int | None) -> "list[Told]":
    """The rows that are asked for, newest first."""
    found = [
        (live, row)
        for live in schedules
        for row in live.status.run_history
        if row.scheduled_time > after and (not reasons or row.reason in reasons)
    ]
    if len(schedules) > 1:
        found.sort(key=lambda told: told[1].scheduled_time, reverse=True)
    return found[:count]


def _data(live: "Live", row: "Row") -> dict[str, Any]:
    from cronschedule.api.shapes import dump

    return {"namespace": live.namespace, "schedule": live.name} | dump(row)


def _say_one(live: "Live", told: "Sequence[Told]") -> None:
    from cronschedule.cli.rows import totals_of

    if told:
        say_table(("TIME", "WHAT", "WHY"), ((_cells(live, row), _style(row)) for live, row in told))
        say()
    elif live.status.run_history:
        say("No rows like that.")
    else:
        say("Nothing has been decided yet." if not live.trouble else f"Nothing can run. {live.trouble}")
    say(totals_of(live.status))


def _say_all(told: "Sequence[Told]") -> None:
    def rows() -> Iterator[tuple[tuple[str, ...], str]]:
        for live, row in told:
            yield (live.namespace, live.name, *_cells(live, row)), _style(row)

    if told:
        say_table(("NAMESPACE", "SCHEDULE", "TIME", "WHAT", "WHY"), rows())
    else:
        say("No rows.")


def _cells(live: "Live", row: "Row") -> tuple[str, str, str]:
    from cronschedule.cli.rows import time_of, what_of, why_of

    return time_of(row, live.zone), what_of(row), why_of(row, live.zone)


def _style(row: "Row") -> str:
    from cronschedule.cli.rows import style_of

    return style_of(row)
