"""`explain`: why did, or didn't, a slot run."""

from typing import TYPE_CHECKING, Any

import click

from cronschedule.cli import words
from cronschedule.cli.cluster import Cluster
from cronschedule.cli.errors import InputError
from cronschedule.cli.options import cluster_options, name_argument, output_option
from cronschedule.cli.output import painter, say, say_json, say_yaml

if TYPE_CHECKING:
    from cronschedule.cli.explanation import Explanation
    from cronschedule.cli.live import Live


@click.command("explain")
@name_argument
@click.option("--at", metavar="TIME", help="The slot at this time.  [default: the newest that was decided]")
@output_option("table", "json", "yaml")
@cluster_options
def command(name: str, at: str | None, output: str, cluster: Cluster) -> None:
    """Why did, or didn't, a slot run: the row, the rule behind it, what to change if it was not wanted.

    TIME is RFC 3339, or 2026-03-29T02:30 in the schedule's own zone.

    \b
    Examples:
      kubectl cronschedule explain billing -n team-a
      kubectl cronschedule explain billing --at 2026-03-29T02:30
    """
    from cronschedule.cli.explanation import explain
    from cronschedule.cli.live import read_live

    live, now = read_live(cluster.schedule(name)), words.now()
    try:
        moment = words.parse_moment(at, zone=live.zone, now=now) if at is not None else None
    except ValueError as error:
        raise InputError([f"--at: {error}"]) from None
    explained = explain(live, moment, now)
    if output == "table":
        _say(live, explained)
    else:
        (say_json if output == "json" else say_yaml)(_data(live, explained))


def _say(live: "Live", explained: "Explanation") -> None:
    paint = painter()
    where = live.title
    if explained.slot is not None:
        where += f"  {words.local(explained.slot, live.zone)}  ({words.utc(explained.slot)})"
    say(paint(where, "strong"))
    say(explained.answer)
    width = max((len(word) for word, _ in explained.facts), default=0)
    for word, sentence in explained.facts:
        say(f"  {paint(word.ljust(width), 'quiet')}  {sentence}")


def _data(live: "Live", explained: "Explanation") -> dict[str, Any]:
    from cronschedule.api.shapes import dump, format_time

    return {
        "namespace": live.namespace,
        "schedule": live.name,
        **({"slot": format_time(explained.slot)} if explained.slot is not None else {}),
        "answer": explained.answer,
        **{word: sentence for word, sentence in explained.facts if word != "row"},
        "rows": [dump(row) for row in explained.rows],
    }
