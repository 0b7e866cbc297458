"""Specs that got past the API server: each is told, none runs, and no other schedule notices."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.objects import cron_schedule
from integration.judge import Case, judge
from integration.world import FAKE_TIME, World, at, running

pytestmark = [FAKE_TIME]

BAD = {
    "cron": ("InvalidSchedule", {"schedule": "61 * * * *"}),
    "cron-that-never-comes": ("InvalidSchedule", {"schedule": "0 0 30 2 *"}),
    "hostile-cron": ("InvalidSchedule", {"schedule": "*/1," * 30}),
    "unknown-zone": ("UnknownTimeZone", {"timeZone": "Mars/Phobos"}),
    "staleness": ("InvalidSchedule", {"maxStaleness": "a while"}),
    "combination": ("InvalidSchedule", {"misfirePolicy": "CatchUp", "concurrencyPolicy": "Replace"}),
    "restart-policy": (
        "InvalidSchedule",
        {"jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Always"}}}}},
    ),
}


def bad_schedule(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    told = cron_schedule(name)
    told["spec"] |= {"schedule": "* * * * *"} | spec
    return told


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_spec_is_told_runs_nothing_and_touches_no_other(kind: str) -> None:
    reason, spec = BAD[kind]
    async with running() as world:
        world.kube.add(bad_schedule("bad", spec))
        world.create("good")
        await world.until(at(3, 30))
        for name in ("Ready", "Stalled"):
            told = world.condition(name, "bad")
            assert told is not None
            assert (told["status"], told["reason"]) == ("False" if name == "Ready" else "True", reason)
        assert world.reasons("bad") == [reason]
        assert world.runs("bad") == []
        assert "nextScheduleTime" not in world.status("bad")
        assert world.runs("good") == [at(1), at(2), at(3)]


async def test_a_name_that_leaves_no_room_for_the_slot_is_told() -> None:
    long = "x" * 60
    async with running() as world:
        world.kube.add(bad_schedule(long, {}))
        await world.until(at(3, 30))
        told = world.condition("Ready", long)
        assert told is not None
        assert (told["status"], told["reason"]) == ("False", "InvalidSchedule")
        assert "60 characters" in told["message"]
        assert world.jobs() == []


@pytest.mark.parametrize(
    "template",
    [
        pytest.param({"spec": {}}, id="no-pod"),
        pytest.param({"spec": {"template": {"spec": {"restartPolicy": "Never"}}}}, id="no-containers"),
        pytest.param(
            {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": "none"}}}},
            id="a-text-for-a-list",
        ),
        pytest.param(
            {"spec": {"template": {"metadata": [], "spec": {"containers": [1]}}}}, id="numbers-for-mappings"
        ),
    ],
)
async def test_a_broken_template_is_found_at_the_first_slot_and_told(template: dict[str, Any]) -> None:
    async with running() as world:
        world.kube.add(bad_schedule("bad", {"jobTemplate": template}))
        world.create("good")
        await world.until(at(3, 30))
        told = world.condition("Ready", "bad")
        assert told is not None
        assert told["status"] == "False"
        assert world.condition("Stalled", "bad") is not None
        assert world.runs("bad") == []
        assert world.runs("good") == [at(1), at(2), at(3)]
        world.kube.edit("cronschedules", "default", "bad", {"spec": {"jobTemplate": None}})
        good = cron_schedule("bad")["spec"]["jobTemplate"]
        world.kube.edit("cronschedules", "default", "bad", {"spec": {"jobTemplate": good}})
        await world.until(at(5, 30))
        ready = world.condition("Ready", "bad")
        assert ready is not None
        assert ready["status"] == "True"
        assert world.condition("Stalled", "bad") is None
        assert world.runs("bad")[-1] == at(5)


async def test_a_spec_that_becomes_bad_and_good_again_is_an_edit_each_time() -> None:
    async with running() as world:
        uid = world.create()
        await world.until(at(1, 30))
        world.edit(schedule="99 * * * *")
        await world.until(at(4, 30))
        assert world.runs() == [at(1)]
        world.edit(schedule="* * * * *")
        await world.until(at(6, 30))
        assert world.runs() == [at(1), at(5), at(6)]
        assert world.condition("Stalled") is None
        assert world.told() == [("Succeeded", 1)] * 3
        assert judge(world.story, Case(uid=uid, created=at(0), until=at(6))) == []


async def test_a_spec_that_is_bad_when_a_run_is_active_still_gets_its_outcome() -> None:
    async with running() as world:
        world.create()
        await world.until(at(1, 5))
        world.edit(timeZone="Nowhere/Land")
        await world.until(at(2))
        assert world.told() == [("Succeeded", 1)]


async def test_every_bad_spec_together_costs_one_write_and_one_event_each() -> None:
    async with running() as world:
        for name, (_, spec) in BAD.items():
            world.kube.add(bad_schedule(name, spec))
        await world.until(at(30))
        told = world.story.counts()
        assert told["update", "cronschedules/status"] == len(BAD)
        assert told["create", "events"] == len(BAD)
        assert told["create", "jobs"] == 0


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({"lastDecidedTime": "soon"}, id="no-time"),
        pytest.param({"runHistory": [{"scheduledTime": 7}]}, id="rows-that-are-none"),
        pytest.param({"counts": {"runs": -1}}, id="totals-below-zero"),
        pytest.param(
            {"lastDecidedTime": "2027-01-15T11:59:00Z", "suspension": {"reason": "?"}}, id="half-a-suspension"
        ),
    ],
)
async def test_a_damaged_status_is_a_lost_ledger(status: dict[str, Any]) -> None:
    async with running() as world:
        world.create()
        await world.until(at(1, 30))
        world.kube.edit("cronschedules", "default", "x", {"status": status}, subresource="status")
        await world.until(at(3, 30))
        assert "LedgerLost" in [reason for reason, _ in world.told()]
        assert world.runs() == [at(1), at(2), at(3)]


async def test_a_schedule_with_a_ledger_of_a_schedule_that_is_no_more_known_goes_on() -> None:
    async with World(job_seconds=20) as world:
        world.kube.add(
            cron_schedule(
                "x",
                schedule="* * * * *",
                status={
                    "lastDecidedTime": "2027-01-15T11:58:00Z",
                    "schedule": {"expression": "* * * * *", "timeZone": "Gone/Zone"},
                },
            )
        )
        await world.start()
        await world.until(at(2, 30))
        assert world.runs() == [at(1), at(2)]
