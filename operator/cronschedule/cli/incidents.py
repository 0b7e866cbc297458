"""What happens to a schedule in a scenario besides its slots: outages, suspensions, edits, clock changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cronschedule.api.shapes import dump
from cronschedule.api.v1alpha1 import CronScheduleSpec
from cronschedule.cli.clock_changes import Change, changes
from cronschedule.cli.words import span
from cronschedule.core.simulation import Scenario, Window

DOWN, SUSPENDED, EVENTS = "Operator down", "Suspended", "Events"
"""Lanes of a picture."""
TEMPLATE = "jobTemplate"


@dataclass(frozen=True, kw_only=True, slots=True)
class Incident:
    """Something that happened from a UTC second until another; what ends another incident has no `lane`."""

    at: int
    until: int
    what: str
    why: str = ""
    lane: str = ""


def incidents_of(scenario: Scenario) -> list[Incident]:
    """Outages, suspensions, edits and clock changes, in the order in which things at one instant happen."""
    found: list[tuple[int, int, Incident]] = []
    zone = scenario.specs[0][1].time_zone
    for start, end in within(scenario, scenario.operator_down):
        found.append((start, 0, _window(DOWN, "Operator down", start, end)))
        if end < scenario.end:
            found.append((end, 1, Incident(at=end, until=end, what="Operator up")))
    for start, end in within(scenario, scenario.tenant_suspended):
        if end < scenario.end:
            found.append((end, 2, Incident(at=end, until=end, what="Tenant resumed")))
        found.append((start, 3, _window(SUSPENDED, "Tenant suspended", start, end)))
    for (_, before), (at, after) in zip(scenario.specs, scenario.specs[1:], strict=False):
        why = _difference(before, after)
        found.append((at, 4, Incident(at=at, until=at, what="Edited", why=why, lane=EVENTS)))
    for change in changes(zone, scenario.start, scenario.end):
        found.append((change.at, 5, _clock_change(change)))
    seen = [each for each in found if scenario.start <= each[0] <= scenario.end]
    return [incident for _, _, incident in sorted(seen, key=lambda each: each[:2])]


def within(scenario: Scenario, windows: Sequence[Window]) -> list[Window]:
    """The parts of the windows that lie between the scenario's start and its end."""
    clipped = [(max(start, scenario.start), min(end, scenario.end)) for start, end in windows]
    return [(start, end) for start, end in clipped if start < end]


def _window(lane: str, what: str, start: int, end: int) -> Incident:
    return Incident(at=start, until=end, what=what, why=f"for {span(end - start)}", lane=lane)


def _clock_change(change: Change) -> Incident:
    return Incident(at=change.at, until=change.at, what="Clock change", why=str(change), lane=EVENTS)


def _difference(before: CronScheduleSpec, after: CronScheduleSpec) -> str:
    old, new = _flat(dump(before)), _flat(dump(after))
    differing = [key for key in sorted(old | new) if old.get(key) != new.get(key)]
    parts = [f"{key}: {old.get(key)} → {new.get(key)}" if key != TEMPLATE else TEMPLATE for key in differing]
    return "; ".join(parts) or "nothing that differs"


def _flat(data: dict[str, Any], path: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, dict) and key != TEMPLATE:
            flat |= _flat(value, f"{path}{key}.")
        else:
            flat[f"{path}{key}"] = value
    return flat
