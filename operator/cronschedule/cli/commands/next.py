"""`next`: the coming slots."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from cronschedule.cli import words
from cronschedule.cli.cluster import Cluster
from cronschedule.cli.errors import InputError
from cronschedule.cli.options import cluster_options, optional_name_argument, output_option
from cronschedule.cli.output import say_json, say_table, say_yaml, warn

MOST = 10_000


@click.command("next")
@optional_name_argument
@click.option("--schedule", metavar="EXPR", help="Cron text instead of a schedule of the cluster.")
@click.option("--time-zone", metavar="ZONE", help="The zone of --schedule.  [default: Etc/UTC]")
@click.option("-c", "--count", default=10, show_default=True, type=click.IntRange(1, MOST), help="How many.")
@click.option("--from", "start", default="now", metavar="TIME", help="After this moment.  [default: now]")
@output_option("table", "json", "yaml")
@cluster_options
def command(
    name: str | None,
    schedule: str | None,
    time_zone: str | None,
    count: int,
    start: str,
    output: str,
    cluster: Cluster,
) -> None:
    """The coming slots, clock changes marked.

    \b
    Examples:
      kubectl cronschedule next billing -n team-a
      kubectl cronschedule next --schedule "30 2 * * *" --time-zone Europe/Berlin --from 2026-03-27 -c 5
    """
    expression, zone = _text(name, schedule, time_zone, cluster)
    try:
        after = words.parse_moment(start, zone=zone, now=words.now())
    except ValueError as error:
        raise InputError([f"--from: {error}"]) from None
    slots = _slots(expression, zone, after, count)
    if output == "table":
        rows = _rows(expression, zone, after, slots)
        say_table(("SLOT", "IN UTC", "", ""), rows)
    else:
        (say_json if output == "json" else say_yaml)(_data(expression, zone, slots))


def _text(name: str | None, schedule: str | None, zone: str | None, cluster: Cluster) -> tuple[str, str]:
    """Cron text and zone, of a live schedule or as given, without mistakes."""
    from cronschedule.core.cron import CronError, parse_cron
    from cronschedule.core.zones import UnknownTimeZone, load_zone

    if (name is None) == (schedule is None):
        raise click.UsageError("give either the NAME of a schedule or --schedule EXPR")
    if name is not None and zone is not None:
        raise click.UsageError("--time-zone goes with --schedule; a schedule of the cluster has its own")
    paths = "--schedule", "--time-zone"
    if name is not None:
        found = cluster.schedule(name)
        schedule, zone = found["spec"]["schedule"], found["spec"].get("timeZone")
        paths = "spec.schedule", "spec.timeZone"
        _warn_of_suspension(found)
    zone = zone if zone is not None else "Etc/UTC"
    mistakes = []
    try:
        parse_cron(str(schedule))
    except CronError as error:
        mistakes.append(f"{paths[0]}: {error}")
    try:
        load_zone(zone)
    except UnknownTimeZone as error:
        mistakes.append(f"{paths[1]}: {error}")
    if mistakes:
        raise InputError(mistakes)
    return str(schedule), zone


def _warn_of_suspension(schedule: dict[str, Any]) -> None:
    suspension = schedule.get("status", {}).get("suspension")
    if suspension is not None:
        since = f"{suspension['since']} ({suspension['reason']})"
        warn(f"note: suspended since {since}; these slots run only if it is resumed before")
    elif schedule["spec"].get("suspend"):
        warn("note: suspended (spec.suspend); these slots run only if it is resumed before")


def _slots(expression: str, zone: str, after: int, count: int) -> list[int]:
    from cronschedule.core.slots import slots_of

    slots = slots_of(expression, zone)

    def walk(moment: int) -> Iterator[int]:
        while (slot := slots.after(moment)) is not None:
            yield slot
            moment = slot

    return list(islice(walk(after), count))


def _rows(expression: str, zone: str, after: int, slots: list[int]) -> Iterator[tuple[tuple[str, ...], str]]:
    from cronschedule.cli.clock_changes import changes, note

    now, before = words.now(), after
    for slot in slots:
        for change in changes(zone, before, slot):
            yield (f"({change})", words.utc(change.at), "", ""), "quiet"
        distance = slot - now
        away = f"in {words.span(distance)}" if distance > 0 else f"{words.span(-distance)} ago"
        said = note(expression, zone, slot)
        yield (words.local(slot, zone), words.utc(slot), away, said), "note" if said else ""
        before = slot


def _data(expression: str, zone: str, slots: list[int]) -> dict[str, Any]:
    from cronschedule.api.shapes import format_time
    from cronschedule.cli.clock_changes import note

    found = []
    for slot in slots:
        said = note(expression, zone, slot)
        found.append(
            {"slot": format_time(slot), "local": words.iso(slot, zone)}
            | ({"clockChange": said} if said else {})
        )
    return {"schedule": expression, "timeZone": zone, "slots": found}
