"""The operator and `simulate` decide alike: seeded scenarios, played on the fake cluster and by the simulation.

Compared are all decisions: what became of each slot, with reason, trigger, what a run stands for and when its Job was
created; then what waits, and the next slot. More seeds: `CRONSCHEDULE_SEEDS=5000 pytest …`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any

import pytest
from random_scenarios import scenario

import fakes.kube
from cronschedule.api.names import SUSPENDED_LABEL
from cronschedule.api.shapes import dump, format_time, parse_time
from cronschedule.api.v1alpha1 import CronScheduleSpec
from cronschedule.core.budget import Limits
from cronschedule.core.scenario import read_scenario
from cronschedule.core.simulation import Decided, Scenario, simulate
from cronschedule.runtime import audit, loop, reflector, throttle
from fakes.clock import LoopClock
from fakes.objects import cron_schedule, job
from integration.judge import Case, Decision, decisions_of, judge
from integration.world import FAKE_TIME, JobMade, World, with_settings

pytestmark = [FAKE_TIME]

SEEDS = int(os.environ.get("CRONSCHEDULE_SEEDS", "450"))
MOST_SLOTS = 60
"""Longer stories say no more, and take long on the fake."""

NEVER = 10.0**9
TICK = 0.001
"""By so much the operator's timers come after what happens in the world at the same moment."""

NO_LIMIT = Limits(per_minute=10**30, per_minute_and_namespace=10**30, active=10**9)
"""Budgets across schedules are not simulated."""


class LaggingClock(LoopClock):
    """Timers that are set for a moment go off a tick after it."""

    def world(self) -> float:
        return super().precise()

    def precise(self) -> float:
        return self.world() - TICK

    def now(self) -> int:
        return int(self.world() + TICK / 10)  # sums of floats may lack a little


@pytest.fixture(autouse=True)
def idle_pulses_are_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the operator does again and again to notice what does not happen here: days go by in these stories."""
    monkeypatch.setattr(loop, "LONGEST_SLEEP", NEVER)
    monkeypatch.setattr(audit, "INTERVAL", NEVER)
    monkeypatch.setattr(throttle, "LOOK_AGAIN", NEVER)
    monkeypatch.setattr(reflector, "SILENCE", NEVER)
    monkeypatch.setattr(reflector, "WATCH_SECONDS", (int(NEVER), int(NEVER)))
    monkeypatch.setattr(fakes.kube, "BOOKMARK_SECONDS", NEVER)


class Stage:
    """A scenario on the fake cluster. What happens at one moment happens at once, in the order of the simulation."""

    def __init__(self, scenario: Scenario, world: World) -> None:
        self.scenario = scenario
        self.world = world
        self.edits = [(at, spec) for at, spec in scenario.specs if at > scenario.start]
        self.endings: dict[str, int] = {}

    def set_up(self) -> str:
        """Create the schedule, as it is at the start, and see to it that time brings all the rest."""
        scenario = self.scenario
        first = next(spec for at, spec in reversed(scenario.specs) if at <= scenario.start)
        body = cron_schedule(scenario.name)
        body["spec"] = written(first)
        made = self.world.kube.add(body)
        self.world.kube.on_job = self._job_made
        edges = {edge for window in scenario.tenant_suspended for edge in window}
        edges |= {edge for window in scenario.operator_down for edge in window} | {at for at, _ in self.edits}
        for moment in edges | {scenario.start}:
            if scenario.start <= moment <= scenario.end:
                self._at(moment, moment)
        return str(made["metadata"]["uid"])

    def _at(self, when: float, moment: int) -> None:
        now = asyncio.get_running_loop().time()
        asyncio.get_running_loop().call_at(now + when - self.world.clock.world(), self._step, moment)

    def _job_made(self, made: JobMade) -> None:
        moment = int(made.at + TICK) + self.scenario.run_duration
        if moment > self.scenario.end:
            return
        self.endings[made.name] = moment
        now = self.world.clock.world()
        self._at(moment if self.scenario.run_duration else now + TICK / 4, moment)

    def _step(self, moment: int) -> None:
        """Runs end, the operator comes up or goes, the tenant is suspended or resumed, the spec is edited."""
        kube, world, name = self.world.kube, self.world, self.scenario.name
        for run in [run for run, end in self.endings.items() if end <= moment]:
            del self.endings[run]
            if kube.find("jobs", "default", run):
                kube.finish("default", run)
        down = within(self.scenario.operator_down, moment)
        suspended = within(self.scenario.tenant_suspended, moment)
        kube.edit(
            "namespaces", None, "default", {"metadata": {"labels": {SUSPENDED_LABEL: str(suspended).lower()}}}
        )
        while self.edits and self.edits[0][0] <= moment:
            _, spec = self.edits.pop(0)
            kube.edit("cronschedules", "default", name, {"spec": dict.fromkeys(OPTIONAL)})
            kube.edit("cronschedules", "default", name, {"spec": written(spec)})
        if down and world.life is not None:
            world.cut_off()
        if not down and world.life is None:
            world.begin()


OPTIONAL = [
    field.alias
    for name, field in CronScheduleSpec.model_fields.items()
    if name not in ("schedule", "job_template")
]


def written(spec: CronScheduleSpec) -> dict[str, Any]:
    """The spec as a user writes it, with a Job that the API server takes."""
    told = dump(spec) | {"jobTemplate": {"spec": job("x")["spec"]}, "runHistoryLimit": 200}
    if spec.misfire_policy != "CatchUp":
        del told["catchUp"]
    return told


def within(windows: Sequence[tuple[int, int]], moment: int) -> bool:
    return any(start <= moment < end for start, end in windows)


async def played(scenario: Scenario) -> dict[str, Any]:
    """What the operator made of it."""
    settings = with_settings(misfire_threshold=scenario.misfire_threshold, catch_up=NO_LIMIT)
    clock = LaggingClock(scenario.start)
    async with World(clock=clock, latency=0, job_seconds=None, gc_seconds=NEVER, settings=settings) as world:
        uid = Stage(scenario, world).set_up()
        await asyncio.sleep(scenario.end + 0.9 - scenario.start)
        case = Case(uid=uid, created=scenario.start, until=scenario.start)
        if world.story.statuses:
            assert judge(world.story, case) == []
        decisions = decisions_of(world.story, case)
        status = world.status(scenario.name)
        return {
            "decisions": [told(decision) for _, decision in sorted(decisions.items())],
            "created": {int(job.at + TICK) for job in world.story.jobs},
            "last": parse_time(status["lastDecidedTime"]) if "lastDecidedTime" in status else scenario.start,
            "next": status.get("nextScheduleTime"),
            "outcomes": {
                row["scheduledTime"]: row["outcome"] for row in status.get("runHistory", ()) if "job" in row
            },
        }


def told(decision: Decision) -> tuple[str, str, str, str, tuple[int, int]]:
    what = "Run" if decision.job else decision.reason
    return format_time(decision.slot), format_time(decision.at), what, decision.trigger, decision.stands_for


def simulated(scenario: Scenario) -> dict[str, Any]:
    """What `simulate` makes of it."""
    outcome = simulate(scenario)
    return {
        "decisions": [told(_decision(decided)) for decided in outcome.decisions],
        "created": {decided.at for decided in outcome.decisions if decided.run is not None},
        "last": outcome.last_decided,
        "next": format_time(outcome.next_slot) if outcome.next_slot is not None else None,
        "outcomes": {format_time(d.slot): d.run.outcome for d in outcome.decisions if d.run is not None},
    }


def _decision(decided: Decided) -> Decision:
    run = decided.run
    if run is None:
        return Decision(decided.slot, decided.at, reason=decided.reason)
    start = run.start
    return Decision(
        decided.slot, decided.at, job="a Job", trigger=start.trigger, stands_for=(start.count, start.first)
    )


def scenarios() -> dict[int, Scenario]:
    """By seed: those without mistakes that are short enough."""
    read = {seed: read_scenario(scenario(seed)) for seed in range(SEEDS)}
    return {
        seed: story
        for seed, story in read.items()
        if isinstance(story, Scenario) and len(simulate(story).decisions) <= MOST_SLOTS
    }


STORIES = scenarios()


@pytest.mark.parametrize("seed", STORIES)
async def test_the_operator_decides_as_the_simulation_does(seed: int) -> None:
    story = STORIES[seed]
    operator, simulation = await played(story), simulated(story)
    if within(story.operator_down, story.end):  # the status is as old as the operator's last look
        del operator["next"], simulation["next"], operator["outcomes"], simulation["outcomes"]
    else:
        shown = operator["outcomes"]
        simulation["outcomes"] = {slot: how for slot, how in simulation["outcomes"].items() if slot in shown}
    assert operator == simulation
