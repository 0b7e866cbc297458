"""`simulate`: the planner against a timeline (`simulate.md`)."""

import json
import sys
from collections.abc import Sequence
from itertools import islice
from typing import Any

import click

from cronschedule.cli import words
from cronschedule.cli.cluster import Cluster
from cronschedule.cli.options import cluster_options, file_option, optional_name_argument, output_option
from cronschedule.cli.output import say, say_table, to_yaml, warn
from cronschedule.core.simulation import Outcome, Scenario

CHUNK = 1000
"""Decisions that are turned into text at a time; a year of minutes has half a million."""


@click.command("simulate")
@optional_name_argument
@file_option
@click.option("--from", "start", metavar="TIME", help="Begin here: the moment the schedule is created.")
@click.option("--to", "end", metavar="TIME", help="End here.")
@click.option(
    "--down", multiple=True, metavar="FROM/TO", help="No operator decides in this window. Repeatable."
)
@click.option("--suspended", multiple=True, metavar="FROM/TO", help="The namespace is suspended. Repeatable.")
@click.option("--run-duration", metavar="TIME", help="How long every run takes, such as 90s or 5m.")
@output_option("table", "json", "yaml", "html")
@cluster_options
def command(
    name: str | None,
    filename: str | None,
    start: str | None,
    end: str | None,
    down: Sequence[str],
    suspended: Sequence[str],
    run_duration: str | None,
    output: str,
    cluster: Cluster,
) -> None:
    """What would a schedule have done, or do?

    NAME is a schedule of the cluster; FILE is a scenario, or a CronSchedule manifest. The answer comes from the
    operator's own planner. Times are RFC 3339, or 2026-03-29T02:00 in the schedule's zone, or now, now+6h; a window
    is FROM/TO or FROM/DURATION. Without --from and --to, a manifest is played for 24 hours from now.

    \b
    Examples:
      kubectl cronschedule simulate -f scenario.yaml
      kubectl cronschedule simulate billing -n team-a --down now+1h/6h --run-duration 5m
      kubectl cronschedule simulate -f schedule.yaml --from 2026-03-28T00:00 --to 2026-03-30T00:00 -o html > day.html
    """
    from cronschedule.cli.scenario_input import Flags, scenario_of
    from cronschedule.core.simulation import simulate

    raw = _raw(name, filename, cluster, suspended)
    flags = Flags(start=start, end=end, down=down, suspended=suspended, run_duration=run_duration)
    scenario = scenario_of(raw, flags, words.now())
    _ANSWERS[output](scenario, simulate(scenario))


def _raw(name: str | None, filename: str | None, cluster: Cluster, suspended: Sequence[str]) -> object:
    from cronschedule.cli.documents import read_document

    if (name is None) == (filename is None):
        raise click.UsageError("give either the NAME of a schedule or a file: -f FILE")
    if filename is not None:
        return read_document(filename).value
    schedule = cluster.schedule(str(name))
    known = schedule.get("status", {}).get("suspension", {})
    if known.get("reason") == "TenantSuspended" and not suspended:
        warn(
            f"note: suspended since {known.get('since')}, and played as if it were not; --suspended FROM/TO plays it"
        )
    return schedule


def _say_table(scenario: Scenario, outcome: Outcome) -> None:
    from cronschedule.cli.story import closing, opening, tell

    say(opening(scenario))
    say()
    rows = (((line.time, line.what, line.why), line.style) for line in tell(scenario, outcome))
    say_table(("TIME", "WHAT", "WHY"), rows)
    say()
    for sentence in closing(scenario, outcome):
        say(sentence)


def _say_json(scenario: Scenario, outcome: Outcome) -> None:
    """As `to_data` would have it, a line per decision, without holding all of it at once."""
    from cronschedule.core.scenario import decision_data

    sys.stdout.write('{"decisions": [')
    for position, decided in enumerate(outcome.decisions):
        sys.stdout.write((",\n  " if position else "\n  ") + json.dumps(decision_data(decided)))
    rest = json.dumps(_rest(outcome), indent=1)
    say(f"],\n{rest[2:]}")


def _say_yaml(scenario: Scenario, outcome: Outcome) -> None:
    from cronschedule.core.scenario import decision_data

    decisions = iter(outcome.decisions)
    say("decisions:" if outcome.decisions else "decisions: []")
    while chunk := [decision_data(decided) for decided in islice(decisions, CHUNK)]:
        sys.stdout.write(to_yaml(chunk))
    sys.stdout.write(to_yaml(_rest(outcome)))


def _rest(outcome: Outcome) -> dict[str, Any]:
    """The answer without the decisions."""
    from dataclasses import replace

    from cronschedule.core.scenario import to_data

    data = to_data(replace(outcome, decisions=()))
    data["counts"] = {"runs": outcome.runs, "skipped": outcome.skipped}
    del data["decisions"]
    return data


def _say_html(scenario: Scenario, outcome: Outcome) -> None:
    from cronschedule.cli.page.simulation import page

    sys.stdout.write(page(scenario, outcome))


_ANSWERS = {"table": _say_table, "json": _say_json, "yaml": _say_yaml, "html": _say_html}
