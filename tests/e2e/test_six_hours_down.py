"""The operator was down for six hours: what it makes of every slot, as the rules' worked examples say.

All schedules are set up while the operator is down, with a ledger that ends six hours before "noon". Each must end as
the simulation says, slot for slot. Rules: semantics.md §3, §8.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from cronschedule.api.shapes import format_time, parse_time
from e2e.decisions import Decided, foretold, recorded, totals
from e2e.world import JsonObject, World, cron_schedule, down, eventually, have_seconds_left, taken_up
from localkube import Kubectl, OperatorProcess

HOUR = 3600
NAMES = ["minutely", "hourly-24h", "hourly-1h", "nine-skip", "nine-once", "capped"]


class Outage:
    """The six hours until noon. Noon is three minutes ago, so that what is caught up is missed all along; the
    minutely schedule's is now."""

    def __init__(self, world: World, now: int) -> None:
        self.world, self.now = world, now
        self.manifests = {each["metadata"]["name"]: each for each in _schedules(now - 180)}
        self.expected = {name: self._expected(name) for name in NAMES}

    def noon(self, name: str) -> int:
        return self.now if name == "minutely" else self.now - 180

    def begin(self, name: str) -> int:
        """The last second before the operator went down: it missed the slot at that very "06:00"."""
        return self.noon(name) - 6 * HOUR - 1

    def _expected(self, name: str) -> list[Decided]:
        down = [{"from": format_time(self.begin(name)), "to": format_time(self.now + 20)}]
        return foretold(
            self.manifests[name],
            start=self.begin(name),
            end=self.now + 50,
            operatorDown=down,
            runDuration="1s",
        )

    def recorded(self, name: str) -> list[Decided]:
        """What is decided about slots up to noon."""
        schedule = self.world.schedule(name)
        return [each for each in recorded(schedule) if parse_time(each.slot) <= self.noon(name)]

    def when_decided(self, name: str) -> list[Decided]:
        """The decisions once there are as many as expected."""
        return eventually(lambda: self.recorded(name), lambda found: len(found) >= len(self.expected[name]))


def _schedules(noon: int) -> list[JsonObject]:
    minute, hour = time.gmtime(noon).tm_min, time.gmtime(noon).tm_hour
    hourly, at_nine, every_five = (
        f"{minute} * * * *",
        f"{minute} {(hour - 3) % 24} * * *",
        f"{minute % 5}/5 * * * *",
    )
    kept = {"successfulJobsHistoryLimit": 100}
    return [
        cron_schedule("minutely", "* * * * *", misfirePolicy="FireOnce", maxStaleness="1h"),
        cron_schedule("hourly-24h", hourly, misfirePolicy="CatchUp", maxStaleness="24h", **kept),
        cron_schedule("hourly-1h", hourly, misfirePolicy="CatchUp", maxStaleness="1h"),
        cron_schedule("nine-skip", at_nine, misfirePolicy="Skip", maxStaleness="24h"),
        cron_schedule("nine-once", at_nine, misfirePolicy="FireOnce", maxStaleness="1h"),
        cron_schedule(
            "capped", every_five, misfirePolicy="CatchUp", maxStaleness="24h", catchUp={"maxRuns": 10}, **kept
        ),
    ]


@pytest.fixture(scope="module")
def outage(kubectl: Kubectl, operator: OperatorProcess) -> Iterator[Outage]:
    """The operator has been down for six hours and is up again."""
    with World.fresh(kubectl) as world:
        with down(operator):
            outage = Outage(world, have_seconds_left(30))
            for name, manifest in outage.manifests.items():
                begin = outage.begin(name)
                world.create_with_ledger(taken_up(manifest, begin), decided_until=begin)
        yield outage


def test_the_simulation_agrees_with_the_worked_examples(outage: Outage) -> None:
    told = {name: [each.what for each in decided] for name, decided in outage.expected.items()}
    assert told == {
        "minutely": ["Coalesced"] * 360 + ["Run"],
        "hourly-24h": ["Run"] * 7,
        "hourly-1h": ["Stale"] * 6 + ["Run"],
        "nine-skip": ["Misfire"],
        "nine-once": ["Stale"],
        "capped": ["CatchUpCapExceeded"] * 63 + ["Run"] * 10,
    }
    assert outage.expected["minutely"][-1].stands_for == (361, format_time(outage.now - 6 * HOUR))


@pytest.mark.parametrize("name", NAMES)
def test_every_slot_is_decided_as_simulated(outage: Outage, name: str) -> None:
    assert outage.when_decided(name) == outage.expected[name]


@pytest.mark.parametrize("name", NAMES)
def test_the_totals_count_every_slot(outage: Outage, name: str) -> None:
    outage.when_decided(name)
    schedule = outage.world.schedule(name)
    counts, decided = schedule["status"]["counts"], recorded(schedule)
    assert (counts["runs"], counts["skipped"]) == totals(decided)
