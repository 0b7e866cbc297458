"""More than one operator in one cluster: those that both decide do no harm, and of those with a lease one decides.

Verdicts are from the outside (`judge.py`): no slot is run twice, none is lost, the ledger never goes back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Literal

import pytest

from cronschedule.core.budget import Limits
from fakes.clock import LoopClock
from fakes.objects import lease
from integration.judge import Case, judge
from integration.scenarios import SCENARIOS, Scenario
from integration.world import FAKE_TIME, NOON, Cut, Life, World, at, with_settings
from seeded import chance

pytestmark = [FAKE_TIME]

Step = tuple[float, Callable[[World], object]]
Errors = list[dict[str, Any]]


class Machine(LoopClock):
    """The clocks of a machine that may have slept."""

    slept = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.slept


async def tell(
    world: World,
    scenario: Scenario,
    steps: Sequence[Step],
    *,
    later: int = 0,
) -> Case:
    """Tell a story with these steps in it, in order; the case for the judge."""
    uid = world.create(**scenario.spec)
    script = [*scenario.script, *steps]
    for moment, act in sorted(script, key=lambda step: step[0]):
        await world.until(moment)
        act(world)
    end = scenario.end + later
    await world.until(end)
    return Case(uid=uid, created=at(0), until=end - 15, suspended=scenario.suspended)


@pytest.mark.parametrize("after", [0.0, 0.005, 0.015, 0.5, 40.0])
@pytest.mark.parametrize("name", SCENARIOS)
async def test_two_that_both_decide_for_a_minute_keep_every_promise(name: str, after: float) -> None:
    scenario = SCENARIOS[name]
    async with World(job_seconds=scenario.job_seconds) as world:
        second: list[Life] = []
        steps = [
            (scenario.start, World.begin),
            (scenario.start + after, lambda world: second.append(world.begin_beside())),
            (scenario.start + after + 65, lambda _: second[0].cut_off()),
        ]
        case = await tell(world, scenario, steps)
        assert second[0].line.writes > 0, "the second one did nothing"
        assert judge(world.story, case) == []


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_standby_decides_and_writes_nothing(name: str) -> None:
    scenario = SCENARIOS[name]
    async with World(job_seconds=scenario.job_seconds) as world:
        leader = world.begin_beside(replica="a")
        await leader.operator.leading.wait()
        standby = world.begin_beside(replica="b")
        case = await tell(world, scenario, [])
        assert standby.operator.ready.is_set()
        assert standby.line.writes == 0
        assert judge(world.story, case) == []


PHASES: tuple[Literal["before", "after"], ...] = ("before", "after")
WALK = ["on-time-fire-once", "backlog-catch-up-allow", "replace", "no-finished-jobs-kept", "lost-ledger"]


@pytest.mark.parametrize("name", WALK)
async def test_a_standby_makes_good_whatever_write_the_leader_died_at(name: str) -> None:
    """The standby knows all that the dead one knew, and has seen all that it did."""
    scenario = SCENARIOS[name]
    golden = await die(scenario, None)
    assert golden.problems == []
    broken = {}
    for nth in range(1, golden.writes + 1):
        for phase in PHASES:
            told = await die(scenario, Cut(nth=nth, phase=phase))
            assert told.died, f"it did not die at write {nth}"
            if told.problems:
                broken[f"{phase} write {nth}"] = told.problems
    assert broken == {}


class Death:
    """How a story went in which the leader died."""

    def __init__(self, *, problems: list[str], writes: int, died: bool) -> None:
        self.problems, self.writes, self.died = problems, writes, died


async def die(scenario: Scenario, cut: Cut | None) -> Death:
    async with World(job_seconds=scenario.job_seconds) as world:
        leader: list[Life] = []
        written: list[int] = []
        steps: list[Step] = [
            (scenario.start, lambda world: leader.append(world.begin_beside(replica="a", cut=cut))),
            (scenario.start + 0.1, lambda world: world.begin_beside(replica="b")),
            (scenario.end, lambda _: written.append(leader[0].line.writes)),
        ]
        case = await tell(world, scenario, steps, later=60)
        return Death(problems=judge(world.story, case), writes=written[0], died=leader[0].line.dead)


@pytest.mark.parametrize("paused", [11, 20, 3600])
@pytest.mark.parametrize("moment", [0.0, 0.002, 0.006, 0.012, 0.017, 0.022, 0.03, 1.0])
async def test_a_leader_that_stood_still_for_longer_than_its_lease_writes_nothing_more(
    errors: Errors, paused: int, moment: float
) -> None:
    """Stopped so long after a slot, in the middle of creating and recording its run, while another one went on."""
    async with World(job_seconds=5) as world:
        machine = Machine(NOON)
        uid = world.create()
        leader = world.begin_beside(replica="a", clock=machine)
        await leader.operator.leading.wait()
        await world.until(at(2) + moment)
        before = leader.line.writes
        machine.slept = paused
        world.begin_beside(replica="b")
        await world.until(at(6, 30))
        assert leader.task.done()
        assert [line["event"] for line in errors] == ["lease.lost"]
        errors.clear()
        assert leader.line.writes == before
        assert judge(world.story, Case(uid=uid, created=at(0), until=at(6))) == []


async def test_a_leader_that_ends_well_hands_over_within_a_retry_period() -> None:
    async with World(job_seconds=5) as world:
        uid = world.create()
        leader = world.begin_beside(replica="a")
        await leader.operator.leading.wait()
        standby = world.begin_beside(replica="b")
        await world.until(at(1, 57))
        await leader.terminate()
        async with asyncio.timeout(2.2):
            await standby.operator.leading.wait()
        await world.until(at(4, 30))
        assert judge(world.story, Case(uid=uid, created=at(0), until=at(4))) == []
        assert [job.at - (job.slot or 0) < 1 for job in world.story.jobs] == [True] * 4


async def test_a_leader_cut_off_from_the_api_server_ends_and_another_one_goes_on(errors: Errors) -> None:
    async with World(job_seconds=5) as world:
        uid = world.create()
        leader = world.begin_beside(replica="a")
        await leader.operator.leading.wait()
        standby = world.begin_beside(replica="b")
        await world.until(at(1, 50))
        leader.line.unplugged = True
        await world.until(at(2, 30))
        assert leader.task.done()
        assert [line["event"] for line in errors] == ["lease.lost"]
        errors.clear()
        assert standby.operator.leading.is_set()
        await world.until(at(4, 30))
        assert judge(world.story, Case(uid=uid, created=at(0), until=at(4))) == []


async def test_a_new_leader_has_saved_up_no_turns_for_catching_up() -> None:
    """A standby of ten minutes starts its first catch-up run no sooner than the pace allows, and so the next."""
    pace = Limits(per_minute=6, per_minute_and_namespace=6, active=200)
    async with World(job_seconds=5, settings=with_settings(catch_up=pace)) as world:
        world.kube.add(lease("cronschedule-operator", holderIdentity="another", leaseDurationSeconds=600))
        for name in ("x", "y", "z"):
            world.create(name, misfirePolicy="CatchUp")
        standby = world.begin_beside(replica="b")
        await standby.operator.leading.wait()
        since = world.clock.precise()
        assert since >= at(10)
        await world.until(since + 45)
        moments = [job.at - since for job in world.story.jobs]
        assert [round(moment) for moment in moments] == [10, 20, 30, 40]


HAND_OVERS = 25


async def test_does_no_hand_over_of_many_under_load_cost_or_repeat_a_slot(errors: Errors) -> None:
    """Three replicas and schedules due every minute; whoever leads is killed, asked to end or stopped, in any order."""
    dice = chance("hand-overs")
    specs = [{}, {"misfirePolicy": "Skip"}, {"misfirePolicy": "CatchUp"}, {"concurrencyPolicy": "Replace"}]
    async with World(job_seconds=7) as world:
        uids = [
            world.create(f"x{number}", successfulJobsHistoryLimit=0, **specs[number % 4])
            for number in range(12)
        ]
        replicas: list[tuple[Life, Machine]] = []
        ways: list[str] = []
        for number in range(HAND_OVERS):
            while sum(not life.task.done() for life, _ in replicas) < 3:
                machine = Machine(int(world.clock.precise()))
                life = world.begin_beside(replica=f"{number}-{len(replicas)}", clock=machine)
                replicas.append((life, machine))
            leader, machine = await _leading(world, replicas)
            await world.wait(dice.uniform(0, 70))
            ways.append(dice.choice(["killed", "asked to end", "stopped"]))
            if ways[-1] == "killed":
                await leader.kill()
            elif ways[-1] == "asked to end":
                await leader.terminate()
            else:
                machine.slept += 20
                await asyncio.wait([leader.task])
        await _leading(world, replicas)
        end = world.clock.now()
        await world.wait(150)
        problems = [judge(world.story, Case(uid=uid, created=at(0), until=end)) for uid in uids]
        assert problems == [[]] * 12
        assert [line["event"] for line in errors] == ["lease.lost"] * ways.count("stopped")
        errors.clear()


async def _leading(world: World, replicas: Sequence[tuple[Life, Machine]]) -> tuple[Life, Machine]:
    """Who leads; waits for it."""
    while True:
        for life, machine in replicas:
            if life.operator.leading.is_set() and not life.task.done():
                return life, machine
        await world.wait(0.1)
