"""Hours of minutes that nobody ran, made up for by Backfills: interrupted in every way, and never twice.

The ledger is written as an operator leaves it that skipped them but for some slots. Judged by the audit of the
API server, not by what the operator says.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cronschedule.api.names import job_name
from cronschedule.api.shapes import format_time
from e2e.world import World, condition, cron_schedule, down, eventually, pod, this_minute
from localkube import Cluster, Kubectl, OperatorProcess

SLOTS = int(os.environ.get("E2E_BACKFILL_SLOTS", "260"))
RAN = 100
"""Slots at the beginning that have run."""
SUSPENDED = 40
"""Slots at its end that fell into a suspension."""
FAST = {
    "CRONSCHEDULE_CATCH_UP_PER_MINUTE": "6000",
    "CRONSCHEDULE_CATCH_UP_PER_MINUTE_AND_NAMESPACE": "6000",
    "CRONSCHEDULE_CATCH_UP_ACTIVE": "100",
}

JsonObject = dict[str, Any]


class Hours:
    """A schedule of every minute whose last hours were skipped, but for their beginning; and its Backfills."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.last = this_minute() - 120
        self.first = self.last - 60 * (SLOTS - 1)
        schedule = cron_schedule(
            "x", "* * * * *", job=pod(duration="0s"), misfirePolicy="Skip", concurrencyPolicy="Allow"
        )
        self.world.create(schedule)
        ran, suspended = self.first + 60 * RAN, self.last - 60 * (SUSPENDED - 1)
        self.world.restore_ledger(
            "x",
            decided_until=self.last,
            decidedSlots=[
                self.segment(self.first, ran - 60, "Run"),
                self.segment(ran, suspended - 60, "Skipped"),
                self.segment(suspended, self.last, "Suspended"),
            ],
        )

    def segment(self, first: int, last: int, fate: str) -> JsonObject:
        count = (last - first) // 60 + 1
        return {"first": format_time(first), "last": format_time(last), "count": count, "fate": fate}

    def backfill(self, name: str, **spec: Any) -> None:
        told = {
            "schedule": "x",
            "from": format_time(self.first),
            "to": format_time(self.last),
            "maxConcurrent": 10,
            **spec,
        }
        manifest = {"apiVersion": "cronschedule.dev/v1alpha1", "kind": "Backfill"}
        self.world.create({**manifest, "metadata": {"name": name}, "spec": told})

    def made(self, cluster: Cluster) -> Counter[str]:
        """How often a Job was created for each slot of the hours."""
        names = {job_name("x", slot) for slot in range(self.first, self.last + 60, 60)}
        return Counter(
            entry["objectRef"]["name"]
            for entry in cluster.audit()
            if entry["verb"] == "create"
            and entry["objectRef"]["resource"] == "jobs"
            and entry["objectRef"]["namespace"] == self.world.namespace
            and entry["responseStatus"]["code"] == 201
            and entry["objectRef"]["name"] in names
        )

    def status(self, name: str) -> JsonObject:
        found = json.loads(self.world.kubectl("get", "backfill", name, "-o", "json"))
        status: JsonObject = found.get("status") or {}
        return status

    def run_so_far(self, name: str) -> int:
        return int(self.status(name).get("slots", {}).get("Run", 0))

    def wait_until_some_run(self, name: str, count: int) -> None:
        eventually(lambda: self.run_so_far(name), lambda run: run >= count, within=180)

    def wait_until_complete(self, name: str) -> JsonObject:
        return eventually(
            lambda: self.status(name),
            lambda status: condition(status, "Complete").get("status") == "True",
            within=120 + SLOTS,
        )


@pytest.fixture
def operator(new_operator: Callable[[str], OperatorProcess]) -> Iterator[OperatorProcess]:
    """One whose budget is no matter here, in none of its lives."""
    operator = new_operator("fast")
    with operator.started(**FAST):
        yield operator


@pytest.fixture
def hours(kubectl: Kubectl, operator: OperatorProcess) -> Iterator[Hours]:
    with World.fresh(kubectl) as world:
        with down(operator):
            made = Hours(world)
        yield made


def test_hours_are_made_up_for_once_whatever_comes_in_between(
    hours: Hours, operator: OperatorProcess, cluster: Cluster
) -> None:
    hours.backfill("again")
    hours.wait_until_some_run("again", 20)
    with down(operator, by="kill"):
        pass
    hours.wait_until_some_run("again", 60)
    hours.world.suspend_tenant()
    eventually(lambda: hours.status("again"), lambda status: condition(status, "Paused"))
    paused = sum(hours.made(cluster).values())
    hours.backfill("twice")
    eventually(lambda: hours.status("twice"), lambda status: condition(status, "Complete"))
    assert sum(hours.made(cluster).values()) == paused
    hours.world.resume_tenant()
    status = hours.wait_until_complete("again")
    runs = SLOTS - RAN - SUSPENDED
    assert status["slots"] == {"AlreadyRan": RAN, "Run": runs, "Suspended": SUSPENDED}
    assert [(part["count"], part["fate"]) for part in status["results"]] == [
        (RAN, "AlreadyRan"),
        (runs, "Run"),
        (SUSPENDED, "Suspended"),
    ]
    assert (status["succeeded"], status.get("failed", 0)) == (runs, 0)
    made = hours.made(cluster)
    assert (len(made), set(made.values())) == (runs, {1})
    assert hours.wait_until_complete("twice")["slots"] == {
        "AlreadyRan": SLOTS - SUSPENDED,
        "Suspended": SUSPENDED,
    }
    assert hours.made(cluster) == made
    assert hours.world.counts("x")["backfilled"] == runs


def test_deleting_a_backfill_cancels_what_has_not_begun(hours: Hours, cluster: Cluster) -> None:
    hours.backfill("again")
    hours.wait_until_some_run("again", 20)
    hours.world.kubectl("delete", "backfill", "again")
    hours.world.see_again("x")
    eventually(
        lambda: [hours.world.counts("x").get("backfilled"), sum(hours.made(cluster).values())],
        lambda seen: seen[0] == seen[1],
    )
    begun = hours.made(cluster)
    hours.backfill("rest", to=format_time(hours.first + 60 * (RAN + 50 - 1)))
    hours.wait_until_complete("rest")
    assert set(hours.made(cluster).values()) == {1}
    assert len(hours.made(cluster)) == max(50, len(begun))


def test_a_backfill_ends_with_its_schedule(hours: Hours, cluster: Cluster) -> None:
    hours.backfill("again")
    hours.wait_until_some_run("again", 20)
    hours.world.kubectl("delete", "csch", "x")
    stalled = eventually(lambda: hours.status("again"), lambda status: condition(status, "Stalled"))
    assert condition(stalled, "Stalled")["reason"] == "ScheduleNotFound"
    eventually(lambda: list(hours.world.jobs("x")), lambda jobs: jobs == [])
    assert set(hours.made(cluster).values()) == {1}
