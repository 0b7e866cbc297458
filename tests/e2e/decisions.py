"""What became of each slot: told by a schedule's status, and foretold by the simulation. The two must agree."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from cronschedule.api.shapes import format_time, parse_time
from cronschedule.core.scenario import read_scenario, to_data
from cronschedule.core.simulation import Scenario, simulate
from cronschedule.core.slots import slots_of


@dataclass(frozen=True, kw_only=True, order=True)
class Decided:
    """One slot: `Run` or the reason of its skip; for a run its trigger and what it stands for."""

    slot: str
    what: str
    trigger: str = ""
    stands_for: tuple[int, str] | None = None


def recorded(schedule: dict[str, Any]) -> list[Decided]:
    """The decisions in status.runHistory, one per slot, in slot order."""
    status = schedule.get("status", {})
    decided = []
    for row in status.get("runHistory", []):
        if row["outcome"] != "Skipped":
            stands_for = row.get("standsFor")
            many = (stands_for["count"], stands_for["first"]) if stands_for else None
            decided.append(
                Decided(slot=row["scheduledTime"], what="Run", trigger=row["trigger"], stands_for=many)
            )
            continue
        slots = slots_of(status["schedule"]["expression"], status["schedule"]["timeZone"])
        first = parse_time(row.get("firstScheduledTime", row["scheduledTime"]))
        covered = list(slots.between(first - 1, parse_time(row["scheduledTime"])))
        assert len(covered) == row.get("count", 1), f"the row does not count its slots: {row}"
        decided += [Decided(slot=format_time(slot), what=row["reason"]) for slot in covered]
    return sorted(decided)


def foretold(manifest: dict[str, Any], *, start: int, end: int, **scenario: Any) -> list[Decided]:
    """The simulation's decisions about slots in (start, end]. Keywords are keys of a scenario."""
    read = read_scenario(
        {"schedule": manifest, "from": format_time(start), "to": format_time(end), **scenario}
    )
    assert isinstance(read, Scenario), read
    decided = []
    for row in to_data(simulate(read))["decisions"]:
        stands_for = row.get("standsFor")
        decided.append(
            Decided(
                slot=row["slot"],
                what=row.get("reason", "Run"),
                trigger=row.get("trigger", ""),
                stands_for=(stands_for["count"], stands_for["first"]) if stands_for else None,
            )
        )
    return sorted(decided)


def totals(decided: list[Decided]) -> tuple[int, dict[str, int]]:
    """Runs, and skips by reason."""
    counted = Counter(each.what for each in decided)
    return counted.pop("Run", 0), dict(counted)
