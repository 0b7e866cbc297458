"""A simulation as a story: what happened, in order, in the schedule's own zone, and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from cronschedule.api.reasons import CATALOGUE, SkipReason
from cronschedule.api.shapes import format_duration
from cronschedule.api.v1alpha1 import CronScheduleSpec
from cronschedule.cli.clock_changes import note
from cronschedule.cli.incidents import Incident, incidents_of
from cronschedule.cli.words import clock_time, count, local, span
from cronschedule.core.simulation import Decided, Outcome, Run, Scenario
from cronschedule.core.zones import load_zone


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One thing that happened: when (as text), what, why, and its style of `output.STYLES`.

    In a picture it lies in a `lane` (none if empty) from `start` to `end`, UTC seconds; `count` slots are meant.
    `slot` is the one that a run is for.
    """

    time: str
    what: str
    why: str
    style: str = ""
    lane: str = ""
    start: int
    end: int
    count: int = 0
    slot: int | None = None


def opening(scenario: Scenario) -> str:
    """One sentence on what is played."""
    spec = scenario.specs[0][1]
    parts = [f"{scenario.name}: {text_of(spec)}", f"misfirePolicy {spec.misfire_policy}"]
    parts.append(f"maxStaleness {format_duration(spec.max_staleness)}")
    parts.append(f"concurrencyPolicy {spec.concurrency_policy}")
    if scenario.run_duration:
        parts.append(f"runs take {span(scenario.run_duration)}")
    return ", ".join(parts) + "."


def text_of(spec: CronScheduleSpec) -> str:
    return f"{spec.schedule!r} in {spec.time_zone}"


def tell(scenario: Scenario, outcome: Outcome) -> Iterator[Line]:
    """What happened, oldest first; adjacent skips for one reason are one line."""
    incidents = incidents_of(scenario)
    told = 0
    for at, zone, line in _decisions(scenario, outcome.decisions):
        while told < len(incidents) and incidents[told].at <= at:
            yield _incident_line(incidents[told], zone)
            told += 1
        yield line
    for incident in incidents[told:]:
        yield _incident_line(incident, _spec_at(scenario, incident.at).time_zone)


def _decisions(scenario: Scenario, decisions: Sequence[Decided]) -> Iterator[tuple[int, str, Line]]:
    for reason, group in groupby(decisions, key=lambda decided: decided.reason):
        if reason:
            skips = list(group)
            zone = _spec_at(scenario, skips[-1].slot).time_zone
            yield skips[0].at, zone, _skip_line(skips, zone)
            continue
        for decided in group:
            spec = _spec_at(scenario, decided.slot)
            assert decided.run is not None
            yield decided.at, spec.time_zone, _run_line(decided, decided.run, spec, scenario)


def _skip_line(skips: Sequence[Decided], zone: str) -> Line:
    first, last, number = skips[0], skips[-1], len(skips)
    entry = CATALOGUE[SkipReason(first.reason)]
    why = entry.meaning
    if first.at == last.at and first.at - last.slot > 60:
        why += f" Decided at {local(first.at, zone)}."
    return Line(
        time=between(first.slot, last.slot, zone),
        what=f"Skipped {first.reason}" + (f" ({count(number, 'slot')})" if number > 1 else ""),
        why=why,
        style="bad" if entry.event_type == "Warning" else "note",
        lane=first.reason,
        start=first.slot,
        end=last.slot,
        count=number,
    )


def _run_line(decided: Decided, run: Run, spec: CronScheduleSpec, scenario: Scenario) -> Line:
    zone, late = spec.time_zone, decided.at - decided.slot
    parts = ["on time" if late == 0 else f"{span(late)} late"]
    if run.start.trigger == "CatchUp":
        parts = [f"caught up {span(late)} late"]
    if run.start.count > 1:
        parts.append(f"stands for {run.start.count:,} slots since {local(run.start.first, zone)}")
    if moved := note(spec.schedule, zone, decided.slot):
        parts.append(moved)
    parts.append(_ending(run, scenario))
    return Line(
        time=local(decided.slot, zone),
        what="Run",
        why="; ".join(filter(None, parts)) + ".",
        style={"Succeeded": "good", "Replaced": "note"}.get(run.outcome, ""),
        lane=run.outcome,
        start=run.started,
        end=run.ended if run.ended is not None else scenario.end,
        count=1,
        slot=decided.slot,
    )


def _ending(run: Run, scenario: Scenario) -> str:
    if run.ended is None:
        return "still active at the end"
    if run.outcome == "Replaced":
        return f"replaced after {span(run.ended - run.started)}"
    return f"succeeded after {span(run.ended - run.started)}" if scenario.run_duration else "succeeded"


def _incident_line(incident: Incident, zone: str) -> Line:
    return Line(
        time=local(incident.at, zone),
        what=incident.what,
        why=incident.why,
        style="quiet",
        lane=incident.lane,
        start=incident.at,
        end=incident.until,
    )


def _spec_at(scenario: Scenario, moment: int) -> CronScheduleSpec:
    return next((spec for at, spec in reversed(scenario.specs) if at <= moment), scenario.specs[0][1])


def between(first: int, last: int, zone: str) -> str:
    """`Sun 2026-03-29 06:00 … 11:00 +02:00` for a range of slots."""
    if first == last:
        return local(first, zone)
    start, end = (datetime.fromtimestamp(moment, load_zone(zone)) for moment in (first, last))
    if (start.date(), start.utcoffset()) != (end.date(), end.utcoffset()):
        return f"{local(first, zone)} … {local(last, zone)}"
    head, _, offset = local(first, zone).rpartition(" ")
    return f"{head} … {clock_time(last, zone)} {offset}"


def closing(scenario: Scenario, outcome: Outcome) -> Iterator[str]:
    """The totals, what waits, and what comes next."""
    zone, skipped = scenario.specs[-1][1].time_zone, outcome.skipped
    total = sum(skipped.values())
    why = ", ".join(f"{reason} {number:,}" for reason, number in skipped.items())
    sentence = f"{count(outcome.runs + total, 'slot')}: {count(outcome.runs, 'run')}, {total:,} skipped"
    yield sentence + (f" ({why})." if why else ".")
    if outcome.waiting:
        oldest = local(outcome.waiting[0], zone)
        yield f"{count(len(outcome.waiting), 'slot')} without a decision yet, the oldest {oldest}."
    if outcome.next_slot is not None:
        yield f"Next slot: {local(outcome.next_slot, zone)}."
    else:
        yield "No next slot: suspended."
