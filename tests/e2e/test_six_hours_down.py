"""The operator was down for six hours: what it makes of every slot, as the rules' worked examples say.

All schedules are set up while the operator is down, with a ledger that ends six hours before "noon". Each must end as
the simulation says, slot for slot. Rules: semantics.md §3, §8.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import pytest

from cronschedule.api.shapes import format_time, parse_time
from e2e.decisions import Decided, foretold, recorded, totals
from e2e.world import (
    JsonObject,
    World,
    condition,
    cron_schedule,
    down,
    eventually,
    have_seconds_left,
    taken_up,
)
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
    assert (counts["runs"], counts.get("skipped", {})) == totals(decided)


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        pytest.param("hourly-24h", {"RunCreated": 7}, id="each-run"),
        pytest.param("hourly-1h", {"Stale": 1, "RunCreated": 1}, id="stale-together-and-a-run"),
        pytest.param("nine-skip", {"Misfire": 1}, id="misfire"),
        pytest.param("nine-once", {"Stale": 1}, id="stale"),
        pytest.param(
            "capped", {"CatchUpCapExceeded": 1, "RunCreated": 10}, id="capped-together-and-each-run"
        ),
    ],
)
def test_each_run_and_each_row_of_skips_has_one_event(
    outage: Outage, name: str, reasons: dict[str, int]
) -> None:
    outage.when_decided(name)
    outage.world.wait_for_events(name, *Counter(reasons).elements())


def test_the_slots_that_a_run_stands_for_share_one_event(outage: Outage) -> None:
    """The schedule goes on every minute, so only its oldest Events are looked at."""
    outage.when_decided("minutely")
    events = eventually(lambda: outage.world.events("minutely"), lambda events: len(events) >= 2)
    assert sorted(event["reason"] for event in events[:2]) == ["Coalesced", "RunCreated"]
    first, last = format_time(outage.now - 6 * HOUR), format_time(outage.now - 60)
    (coalesced,) = (event for event in events if event["reason"] == "Coalesced")
    assert f"360 slots from {first} to {last}" in coalesced["note"]


def test_dropped_slots_alert_with_their_range(outage: Outage) -> None:
    outage.when_decided("capped")
    events = eventually(lambda: outage.world.events("capped"), lambda events: len(events) >= 11)
    (alert,) = (event for event in events if event["reason"] == "CatchUpCapExceeded")
    told = condition(outage.world.status("capped"), "BacklogTruncated")
    assert (alert["type"], told["status"]) == ("Warning", "True")
    dropped = [each.slot for each in outage.expected["capped"] if each.what == "CatchUpCapExceeded"]
    for text in alert["note"], told["message"]:
        assert dropped[0] in text
        assert (
            f"backfill capped --namespace {outage.world.namespace} --from {dropped[0]} --to {dropped[-1]}"
            in text
        )


def test_a_skipped_day_leaves_the_next_one_as_it_was(outage: Outage) -> None:
    (misfire,) = outage.when_decided("nine-skip")
    status = outage.world.status("nine-skip")
    assert parse_time(status["nextScheduleTime"]) == parse_time(misfire.slot) + 24 * HOUR


def test_catching_up_never_has_two_runs_at_a_time(outage: Outage) -> None:
    for name in "hourly-24h", "capped":
        outage.when_decided(name)
        rows = eventually(
            lambda name=name: outage.world.rows(name),
            lambda rows: all(r["outcome"] != "Active" for r in rows),
        )
        runs = [row for row in rows if row["outcome"] != "Skipped"]
        assert [row["scheduledTime"] for row in runs] == sorted(row["scheduledTime"] for row in runs)
        assert all(earlier["completionTime"] <= later["startTime"] for earlier, later in pairwise(runs)), runs
