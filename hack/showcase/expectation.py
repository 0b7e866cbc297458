"""What the rules say should have become of the demo's schedules: the simulation of the same timeline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cronschedule.api.shapes import parse_time
from cronschedule.core.simulation import Scenario, Window, simulate
from cronschedule.core.spec import Schedulable, read_schedulable


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What was expected and what was seen: slots that ran, and how many were skipped for which reason."""

    expected: tuple[tuple[int, ...], Mapping[str, int]]
    seen: tuple[tuple[int, ...], Mapping[str, int]]

    @property
    def holds(self) -> bool:
        return self.expected == self.seen


def judge(
    schedule: Mapping[str, Any],
    *,
    since: int,
    looked: int,
    until: int,
    suspended: Sequence[Window] = (),
) -> Verdict:
    """Hold a schedule's status against the rules.

    Its ledger ended at `since`, the operator first looked at `looked`, and the status is that of `until` (UTC
    seconds). How long the pods took is left out: runs that take no time decide the same, only sooner.
    """
    read = read_schedulable(schedule["spec"], unknown="ignore")
    assert isinstance(read, Schedulable)
    scenario = Scenario(
        name=schedule["metadata"]["name"],
        specs=[(since, read.spec)],
        start=since,
        end=until,
        operator_down=[(since, looked)],
        tenant_suspended=suspended,
    )
    outcome = simulate(scenario)
    ran = tuple(decided.slot for decided in outcome.decisions if decided.run is not None)
    return Verdict(expected=(ran, outcome.skipped), seen=_seen(schedule["status"]))


def _seen(status: Mapping[str, Any]) -> tuple[tuple[int, ...], Mapping[str, int]]:
    rows = status.get("runHistory", [])
    ran = sorted(parse_time(row["scheduledTime"]) for row in rows if row["outcome"] != "Skipped")
    skipped = Counter[str]()
    for row in rows:
        if row["outcome"] == "Skipped":
            skipped[row["reason"]] += row.get("count", 1)
    return tuple(ran), dict(sorted(skipped.items()))
