"""What Prometheus is told: does it agree with what happened, and does it forget what is gone?"""

from __future__ import annotations

from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from prometheus_client.parser import text_string_to_metric_families as parse

from cronschedule.api.shapes import format_time
from cronschedule.runtime.clock import SystemClock
from cronschedule.runtime.exposition import View, add_metrics
from fakes.objects import cron_schedule
from integration.world import FAKE_TIME, NOON, World, at

pytestmark = [FAKE_TIME]

PER_SCHEDULE = {
    "cronschedule_schedule_next_run_timestamp_seconds",
    "cronschedule_schedule_last_success_timestamp_seconds",
}


def value(world: World, name: str, **labels: str) -> float | None:
    """The sample of one series now, of the operator that runs."""
    assert world.life is not None
    operator = world.life.operator
    families = [
        *operator.metrics.registry.collect(),
        *View(operator, world.clock, per_schedule=True).collect(),
    ]
    found = [
        sample.value
        for family in families
        for sample in family.samples
        if sample.name == name and sample.labels == labels
    ]
    assert len(found) < 2
    return found[0] if found else None


async def test_are_runs_and_skips_counted_as_they_are_recorded() -> None:
    async with World(job_seconds=30) as world:
        world.kube.add(
            cron_schedule(
                "x",
                schedule="* * * * *",
                status={
                    "schedule": {"expression": "* * * * *", "timeZone": "Etc/UTC"},
                    "lastDecidedTime": format_time(NOON - 600),
                },
            )
        )
        await world.start()
        await world.until(NOON + 59)
        assert value(world, "cronschedule_decisions_total", decision="Run", reason="Schedule") == 1
        assert value(world, "cronschedule_decisions_total", decision="Skipped", reason="Coalesced") == 9
        assert value(world, "cronschedule_runs_finished_total", outcome="Succeeded") == 1
        assert value(world, "cronschedule_run_start_delay_seconds_count", trigger="Schedule") == 1
        assert value(world, "cronschedule_run_start_delay_seconds_bucket", trigger="Schedule", le="1.0") == 1


async def test_is_a_backlog_told_while_it_lasts() -> None:
    async with World(job_seconds=30) as world:
        status = {
            "schedule": {"expression": "* * * * *", "timeZone": "Etc/UTC"},
            "lastDecidedTime": format_time(NOON - 300),
        }
        told = cron_schedule("x", schedule="* * * * *", misfirePolicy="CatchUp", status=status)
        world.kube.add(told)
        await world.start()
        await world.until(NOON + 10)
        assert value(world, "cronschedule_runs_active") == 1
        assert value(world, "cronschedule_catch_up_runs_active") == 1
        assert value(world, "cronschedule_backlog_slots") == 4
        assert value(world, "cronschedule_schedules_catching_up") == 1
        assert value(world, "cronschedule_backlog_oldest_timestamp_seconds") == NOON - 180
        await world.until(NOON + 1200)
        assert value(world, "cronschedule_backlog_oldest_timestamp_seconds") is None
        assert value(world, "cronschedule_decisions_total", decision="Run", reason="CatchUp") != 0


async def test_do_the_states_of_schedules_follow_what_their_owners_do() -> None:
    async with World(job_seconds=1) as world:
        world.create("x")
        world.create("y", suspend=True)
        await world.start()
        await world.until(NOON + 5)
        assert value(world, "cronschedule_schedules", state="Scheduled") == 1
        assert value(world, "cronschedule_schedules", state="Suspended") == 1
        world.suspend_tenant()
        await world.wait(5)
        assert value(world, "cronschedule_schedules", state="Suspended") == 2


async def test_do_the_series_of_a_deleted_schedule_go() -> None:
    async with World(job_seconds=1) as world:
        world.create("x")
        await world.start()
        await world.until(at(1, 30))
        labels = {"namespace": "default", "schedule": "x"}
        next_run = "cronschedule_schedule_next_run_timestamp_seconds"
        last_success = "cronschedule_schedule_last_success_timestamp_seconds"
        assert value(world, next_run, **labels) == at(2)
        assert at(1) < (value(world, last_success, **labels) or 0) < at(1, 10)
        world.delete("x")
        await world.wait(5)
        assert value(world, next_run, **labels) is None
        assert value(world, last_success, **labels) is None
        assert value(world, "cronschedule_schedules", state="Scheduled") == 0
        assert world.life is not None
        assert not world.life.operator.metrics.schedules


async def test_are_the_moments_on_the_wall_clock() -> None:
    async with World(job_seconds=1) as world:
        world.create("x")
        await world.start()
        await world.until(NOON + 130)
        last_turn = value(world, "cronschedule_last_turn_timestamp_seconds")
        audit = value(world, "cronschedule_audit_last_success_timestamp_seconds")
        assert last_turn is not None
        assert NOON + 128 < last_turn <= NOON + 130
        assert audit is not None
        assert NOON + 60 < audit <= NOON + 130
        assert value(world, "cronschedule_leader") == 1


async def test_has_no_series_a_tenants_name_unless_asked_for() -> None:
    async with World(job_seconds=1) as world:
        world.create("x")
        life = await world.start()
        await world.until(NOON + 70)
        for asked in (False, True):
            families = [
                *life.operator.metrics.registry.collect(),
                *View(life.operator, world.clock, per_schedule=asked).collect(),
            ]
            named = {
                family.name
                for family in families
                for sample in family.samples
                if {"namespace", "schedule", "job"} & sample.labels.keys()
            }
            assert named == (PER_SCHEDULE if asked else set())


async def test_does_a_scrape_get_text_that_a_parser_takes() -> None:
    async with World(job_seconds=1) as world:
        world.create("x")
        life = await world.start()
        app = web.Application()
        add_metrics(app, life.operator, SystemClock(), per_schedule=True)  # a thread asks it
        (route,) = [route for route in app.router.routes() if route.method == "GET"]
        answer = await route.handler(make_mocked_request("GET", "/metrics"))
        assert isinstance(answer, web.Response)
        assert answer.content_type == "text/plain"
        assert isinstance(answer.body, bytes)
        names = {family.name for family in parse(answer.body.decode())}
        assert {"cronschedule_decisions", "cronschedule_leader", "process_cpu_seconds"} <= names
