"""Many backlogs at once: are they worked off within the budget, fairly, behind live work, whatever happens?

Ledgers written in the past make the backlogs; the slots are minutes or hours old when the operator starts.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import httpx
import pytest

from cronschedule.api.shapes import format_time
from cronschedule.core.budget import Limits
from cronschedule.runtime.settings import Webhook
from fakes.faults import Answer, Fault
from fakes.objects import cron_schedule, namespace
from integration.world import FAKE_TIME, NOON, Cut, JobMade, World, at, with_settings

pytestmark = [FAKE_TIME]

HOURLY = "30 * * * *"


class Backlogs:
    """A cluster with backlogs, made before the operator starts."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._names: dict[str, tuple[str, str]] = {}

    def add(
        self, name: str, space: str = "default", schedule: str = HOURLY, *, hours: int = 6, **spec: Any
    ) -> None:
        """A schedule under CatchUp whose last decision is so many hours old."""
        if self.world.kube.find("namespaces", None, space) is None:
            self.world.kube.add(namespace(space))
        status = {
            "schedule": {"expression": schedule, "timeZone": "Etc/UTC"},
            "lastDecidedTime": format_time(NOON - 3600 * hours),
        }
        spec = {"misfirePolicy": "CatchUp", "maxStaleness": "24h", **spec}
        told = cron_schedule(name, namespace=space, schedule=schedule, status=status, **spec)
        self._names[self.world.kube.add(told)["metadata"]["uid"]] = (space, name)

    def live(self, name: str, space: str = "default") -> None:
        """A schedule of every minute without a backlog."""
        told = cron_schedule(name, namespace=space, schedule="* * * * *", successfulJobsHistoryLimit=1)
        self._names[self.world.kube.add(told)["metadata"]["uid"]] = (space, name)

    def jobs(self) -> list[tuple[tuple[str, str], JobMade]]:
        """Namespace and name of the schedule of each Job that was made, in order."""
        return [(self._names[job.owner], job) for job in self.world.story.jobs]

    def caught_up(self) -> list[tuple[tuple[str, str], JobMade]]:
        return [(key, job) for key, job in self.jobs() if job.slot is not None and job.at - job.slot > 600]


class Receiver(httpx.AsyncBaseTransport):
    """The other end of the alert webhook: what it was told, answered after so many seconds."""

    def __init__(self, *, seconds: float = 0.0) -> None:
        self.told: list[dict[str, Any]] = []
        self._seconds = seconds

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(await request.aread())
        await asyncio.sleep(self._seconds)
        self.told += body["items"]
        return httpx.Response(200)


def alerted(world: World, receiver: Receiver) -> None:
    """Begin a life of the operator that tells this receiver."""
    world.begin().operator.alerts.transport = receiver


def settings(*, per_minute: int = 600, per_namespace: int = 60, active: int = 200) -> Any:
    limits = Limits(per_minute=per_minute, per_minute_and_namespace=per_namespace, active=active)
    return with_settings(catch_up=limits, writers=40, webhook=Webhook(url="http://127.0.0.1/"))


def most_in_a_minute(moments: list[float]) -> int:
    """Of all windows of a minute, how much the fullest one holds."""
    return max((sum(begin <= moment < begin + 60 for moment in moments) for begin in moments), default=0)


def of_each(told: list[tuple[tuple[str, str], JobMade]]) -> Mapping[str, list[float]]:
    """The moments of Jobs by namespace."""
    spaces: dict[str, list[float]] = {}
    for (space, _), job in told:
        spaces.setdefault(space, []).append(job.at)
    return spaces


async def test_creation_never_exceeds_the_budget_and_shares_are_equal() -> None:
    async with World(job_seconds=2, settings=settings(per_minute=60, per_namespace=20)) as world:
        backlogs = Backlogs(world)
        for space in range(6):
            for number in range(5):
                backlogs.add(f"x{number}", f"team-{space}")
        await world.start()
        await world.wait(150)
        told = backlogs.caught_up()
        spaces = of_each(told)
        assert most_in_a_minute([job.at for _, job in told]) <= 60
        assert all(most_in_a_minute(moments) <= 20 for moments in spaces.values())
        shares = [len(moments) for moments in spaces.values()]
        assert len(shares) == 6
        assert max(shares) - min(shares) <= 1
        assert sum(shares) >= 140
        await world.wait(60)
        for space in range(6):
            for number in range(5):
                status = world.status(f"x{number}", f"team-{space}")
                assert status["counts"]["runs"] == 6
                assert "backlog" not in status


async def test_a_namespace_with_one_backlog_is_not_behind_one_with_two_hundred() -> None:
    async with World(job_seconds=1, settings=settings(per_minute=120, per_namespace=60)) as world:
        backlogs = Backlogs(world)
        for number in range(200):
            backlogs.add(f"x{number}", "crowd")
        backlogs.add("y", "alone")
        await world.start()
        await world.wait(60)
        told = Counter(space for (space, _), _ in backlogs.caught_up())
        assert told["alone"] == 6  # all of it
        assert 0 < told["crowd"] <= 60


async def test_slots_on_time_never_wait_for_the_budget() -> None:
    """One catch-up run a minute, all of it used up; the live schedules are in the very namespace of the backlogs."""
    async with World(job_seconds=2, settings=settings(per_minute=1, per_namespace=1, active=1)) as world:
        backlogs = Backlogs(world)
        for number in range(20):
            backlogs.add(f"x{number}")
        for number in range(5):
            backlogs.live(f"live{number}")
        await world.start()
        await world.until(at(10, 30))
        live = [job for (_, name), job in backlogs.jobs() if name.startswith("live")]
        assert len(live) == 50
        assert max(job.at - (job.slot or 0) for job in live) < 1
        assert 8 <= len(backlogs.caught_up()) <= 10


async def test_within_a_namespace_the_oldest_backlog_goes_first() -> None:
    async with World(job_seconds=600, settings=settings(per_namespace=6)) as world:
        backlogs = Backlogs(world)
        for hours in 3, 6, 1, 5, 2, 4:
            backlogs.add(f"of-{hours}-hours", hours=hours)
        await world.start()
        await world.wait(100)
        assert [name for (_, name), _ in backlogs.caught_up()][:5] == [
            f"of-{hours}-hours" for hours in (6, 5, 4, 3, 2)
        ]


async def test_a_backlog_whose_jobs_cannot_be_created_does_not_hold_up_the_others() -> None:
    """Sixty schedules with the oldest slots are tried again and again, and each try takes a turn."""
    async with World(job_seconds=1, settings=settings(per_namespace=30)) as world:
        backlogs = Backlogs(world)
        for number in range(60):
            backlogs.add(f"broken{number}", hours=9)
        for number in range(5):
            backlogs.add(f"sound{number}", hours=2)
        world.fault(
            Fault(
                action=Answer(code=500, reason="InternalError", message="failed calling webhook"),
                verb="create",
                resource="jobs",
                name="broken*",
                times=math.inf,
            )
        )
        await world.start()
        await world.wait(600)
        sound = Counter(name for (_, name), _ in backlogs.caught_up())
        assert sound == {f"sound{number}": 2 for number in range(5)}


@pytest.mark.parametrize("latency", [0.01, 3], ids=["quick-server", "slow-server"])
async def test_there_are_never_more_catch_up_runs_active_than_allowed(latency: float) -> None:
    async with World(job_seconds=20, latency=latency, settings=settings(active=4)) as world:
        backlogs = Backlogs(world)
        for space in range(10):
            backlogs.add("x", f"team-{space}")
        most = 0

        def count(_: JobMade) -> None:
            nonlocal most
            active = [
                job
                for job in world.kube.objects("jobs")
                if not any(
                    c["type"] in ("Complete", "Failed")
                    for c in (job.get("status") or {}).get("conditions", ())
                )
            ]
            most = max(most, len(active))

        world.kube.on_job = count
        await world.start()
        await world.wait(600)
        assert most == 4
        assert len(backlogs.caught_up()) >= 60 - 4


async def test_a_restart_begins_with_an_empty_bucket_and_loses_nothing() -> None:
    async with World(job_seconds=2, settings=settings(per_minute=30, per_namespace=30)) as world:
        backlogs = Backlogs(world)
        for number in range(8):
            backlogs.add(f"x{number}", f"team-{number % 2}")
        for _ in range(10):
            life = world.begin()
            await life.operator.ready.wait()
            began = world.clock.precise()
            await world.wait(7.3)
            mine = [job.at for _, job in backlogs.caught_up() if job.at >= began]
            assert 1 <= len(mine) <= 4
            assert mine[0] >= began + 1.9  # two seconds for each start
            await world.kill()
        await world.start()
        await world.wait(120)
        told = backlogs.caught_up()
        assert most_in_a_minute([job.at for _, job in told]) <= 30
        slots = [(key, job.slot) for key, job in told]
        assert len(slots) == len(set(slots)) == 8 * 6
        for number in range(8):
            runs = [job.slot or 0 for key, job in told if key[1] == f"x{number}"]
            assert all(one < other for one, other in pairwise(runs))


async def test_telling_of_hundreds_of_backlogs_does_not_hold_up_the_next_slot_of_those_on_time() -> None:
    """The server takes a second for each request, so that telling of 450 backlogs takes half a minute."""
    async with World(now=NOON + 45, job_seconds=2, latency=1, settings=settings(per_minute=1)) as world:
        world.settings = replace(world.settings, writers=500)
        backlogs = Backlogs(world)
        for number in range(450):
            backlogs.add(f"x{number}")
        for number in range(5):
            backlogs.live(f"live{number}")
        await world.start()
        await world.until(at(3, 30))
        live = [job for (_, name), job in backlogs.jobs() if name.startswith("live")]
        assert len(live) == 15
        assert max(job.at - (job.slot or 0) for job in live) <= 3


# What is told


async def test_a_backlog_says_how_far_it_is_and_why_it_waits() -> None:
    async with World(job_seconds=30, settings=settings(per_namespace=60)) as world:
        Backlogs(world).add("x")
        await world.start()
        await world.wait(10)
        running = world.condition("CatchingUp")
        assert running is not None
        assert running["reason"] == "RunActive"
        assert "1 done since" in running["message"]
        assert "5 waiting" in running["message"]
        await world.wait(90)
        told = world.condition("CatchingUp")
        assert told is not None
        backlog = world.status()["backlog"]
        assert (backlog["done"], backlog["waiting"], backlog["atFirst"]) == (4, 2, 6)
        assert "At the pace so far all will be through at about 2027-01-15T12:02" in told["message"]
        await world.until(at(3))
        assert world.condition("CatchingUp") is None
        assert world.status()["counts"]["runs"] == 6


async def test_a_backlog_without_a_turn_says_that_the_budget_holds_it_up() -> None:
    async with World(job_seconds=1, settings=settings(per_minute=1)) as world:
        Backlogs(world).add("x")
        await world.start()
        await world.wait(30)
        told = world.condition("CatchingUp")
        assert told is not None
        assert (told["reason"], "0 done" in told["message"]) == ("BudgetExhausted", True)


@pytest.mark.parametrize(
    ("concurrency", "most", "reason"),
    [("Forbid", 1, "RunActive"), ("Allow", 1, "MaxConcurrentReached"), ("Allow", 2, "MaxConcurrentReached")],
)
async def test_a_backlog_names_the_limit_of_its_own_that_it_waits_for(
    concurrency: str, most: int, reason: str
) -> None:
    async with World(job_seconds=None, settings=settings()) as world:
        Backlogs(world).add("x", concurrencyPolicy=concurrency, catchUp={"maxConcurrent": most})
        await world.start()
        await world.wait(30)
        told = world.condition("CatchingUp")
        assert told is not None
        assert (told["reason"], world.status()["activeRuns"]) == (reason, most)


async def test_telling_of_a_backlog_costs_no_status_beyond_those_of_its_runs() -> None:
    """Six runs, each begun and ended once, and the first look at what is due, which has no turn yet."""
    async with World(job_seconds=30, settings=settings(per_minute=30)) as world:
        Backlogs(world).add("x")
        await world.start()
        await world.until(at(20))
        assert world.status()["counts"]["succeeded"] == 6
        assert world.story.counts()["update", "cronschedules/status"] == 2 * 6 + 1


async def test_a_backlog_that_is_tried_again_and_again_says_so_and_costs_no_status_for_each_try() -> None:
    async with World(job_seconds=1, settings=settings(per_minute=60)) as world:
        Backlogs(world).add("x")
        world.fault(
            Fault(
                action=Answer(code=500, reason="InternalError"),
                verb="create",
                resource="jobs",
                times=math.inf,
            )
        )
        await world.start()
        await world.until(at(10))
        told = world.condition("CatchingUp")
        assert told is not None
        assert told["reason"] == "Retrying"
        assert world.story.counts()["create", "jobs"] >= 10
        assert world.story.counts()["update", "cronschedules/status"] == 2


# The alert


async def test_what_the_caps_drop_is_alerted_once_for_each_schedule() -> None:
    async with World(job_seconds=1, settings=settings()) as world:
        backlogs, receiver = Backlogs(world), Receiver()
        for number in range(30):
            backlogs.add(f"x{number}", f"team-{number % 3}", catchUp={"maxRuns": 2})
        backlogs.add("whole", catchUp={"maxRuns": 6})
        alerted(world, receiver)
        await world.wait(120)
        assert len(receiver.told) == 30
        assert {(item["namespace"], item["schedule"]) for item in receiver.told} == {
            (f"team-{number % 3}", f"x{number}") for number in range(30)
        }
        for item in receiver.told:
            row = world.rows(item["schedule"], item["namespace"])[-1]
            assert (item["firstSlot"], item["lastSlot"], item["slots"]) == (
                row["firstScheduledTime"],
                row["scheduledTime"],
                row["count"],
            )
            assert item["slots"] == 4
        await world.kill()
        alerted(world, receiver)
        await world.wait(60)
        assert len(receiver.told) == 30  # the next life knows from the record that all is told


async def test_a_truncation_that_was_not_recorded_is_alerted_by_the_next_life() -> None:
    async with World(job_seconds=1, settings=settings()) as world:
        receiver = Receiver()
        Backlogs(world).add("x", catchUp={"maxRuns": 2})
        life = world.begin(Cut(phase="before", of="PUT status"))
        life.operator.alerts.transport = receiver
        await life.ended.wait()
        assert receiver.told == []
        await world.wait(0.001)
        assert world.life is not None
        world.life.operator.alerts.transport = receiver
        await world.wait(30)
        assert [item["slots"] for item in receiver.told] == [4]


async def test_a_receiver_that_never_answers_delays_no_run() -> None:
    async with World(job_seconds=1, settings=settings()) as world:
        backlogs = Backlogs(world)
        for number in range(50):
            backlogs.add(f"x{number}", f"team-{number % 5}", catchUp={"maxRuns": 1})
        for number in range(5):
            backlogs.live(f"live{number}")
        alerted(world, Receiver(seconds=math.inf))
        await world.until(at(5, 30))
        live = [job for (_, name), job in backlogs.jobs() if name.startswith("live")]
        assert len(live) == 25
        assert max(job.at - (job.slot or 0) for job in live) < 1
        assert len(backlogs.caught_up()) == 50
