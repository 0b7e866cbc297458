"""Stories of one schedule, `x`, for the tests that break something in the middle and look whether it matters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from cronschedule.core.slots import slots_of
from cronschedule.runtime import operator
from cronschedule.runtime.lanes import WIDTH, Lanes
from fakes.faults import Fault
from fakes.objects import quota
from integration.judge import Case, Decision, decisions_of, judge, judge_backfill
from integration.world import Cut, World, at

Act = Callable[[World], object]


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """`script` is what happens around the operator, which starts at `start`; all is decided some time before `end`.

    `suspended`: the seconds [first, last] in which no Job may be created. `shows`: the decisions that the story is
    told for; without them it would show nothing. `faults`: what goes wrong by itself. `stalled`: Backfills that never
    can be carried out. `width`: how many requests may be under way at a time.
    """

    spec: dict[str, Any]
    start: int = at(0, 20)
    script: Sequence[tuple[int, Act]] = ()
    end: int
    job_seconds: float | None = 20
    suspended: Sequence[tuple[int, int]] = ()
    shows: frozenset[str] = frozenset({"Run"})
    faults: Callable[[], Sequence[Fault]] = tuple
    stalled: frozenset[str] = frozenset()
    width: int = WIDTH


@dataclass(frozen=True, kw_only=True)
class Told:
    """How a scenario went.

    `writes` is how many the first life of the operator made, `moments` at how many the last one waited (`steps.py`),
    where that was counted.
    """

    world: World
    case: Case
    writes: int
    moments: int
    stalled: frozenset[str] = frozenset()

    @property
    def problems(self) -> list[str]:
        story, problems = self.world.story, judge(self.world.story, self.case)
        slots = slots_of("* * * * *", "Etc/UTC")
        for backfill in self.world.kube.objects("backfills"):
            name = backfill["metadata"]["name"]
            if name not in self.stalled:
                problems += judge_backfill(story, backfill["metadata"]["uid"], backfill, slots)
            elif "True" not in [c["status"] for c in _conditions(backfill) if c["type"] == "Stalled"]:
                problems.append(f"Backfill {name} is not stalled: {_conditions(backfill)}")
        return problems

    @property
    def decisions(self) -> dict[int, Decision]:
        return decisions_of(self.world.story, self.case)


async def play(scenario: Scenario, *cuts: Cut, rest: int = 0, faults: Sequence[Fault] = ()) -> Told:
    """Play it to its end, or twice `rest` longer. Where the operator is cut off, the next starts after `rest` s."""
    narrow = patch.object(operator, "Lanes", lambda: Lanes(scenario.width))
    async with World(job_seconds=scenario.job_seconds) as world:
        world.kube.faults.extend([*scenario.faults(), *faults])
        uid = world.create(**scenario.spec)
        begin = scenario.start, lambda world: world.begin(*cuts, rest=rest)
        with narrow:
            for moment, act in sorted([begin, *scenario.script], key=lambda step: step[0]):
                await world.until(moment)
                act(world)
            end = scenario.end + 2 * rest
            await world.until(end)
        case = Case(uid=uid, created=at(0), until=end - 15, suspended=scenario.suspended)
        writes, steps = world.lives[0].line.writes, world.lives[-1].steps
        moments = steps.count if steps is not None else 0
        return Told(world=world, case=case, writes=writes, moments=moments, stalled=scenario.stalled)


def _conditions(body: dict[str, Any]) -> list[dict[str, Any]]:
    return list((body.get("status") or {}).get("conditions", ()))


BACKLOG = at(5, 20)
"""The operator starts when five slots of a schedule of every minute are due."""


def ask_again(first: int, last: int, **spec: Any) -> Act:
    return lambda world: world.backfill(at(first), at(last), **spec)


SCENARIOS = {
    "on-time-fire-once": Scenario(spec={}, end=at(3, 45)),
    "on-time-skip": Scenario(spec={"misfirePolicy": "Skip"}, end=at(3, 45)),
    "on-time-catch-up": Scenario(spec={"misfirePolicy": "CatchUp"}, end=at(3, 45)),
    "backlog-fire-once": Scenario(
        spec={}, start=BACKLOG, end=at(7, 45), shows=frozenset({"Run", "Coalesced"})
    ),
    "backlog-skip": Scenario(
        spec={"misfirePolicy": "Skip"}, start=BACKLOG, end=at(7, 45), shows=frozenset({"Run", "Misfire"})
    ),
    "backlog-catch-up-forbid": Scenario(
        spec={"misfirePolicy": "CatchUp"}, start=BACKLOG, end=at(8, 45), shows=frozenset({"CatchUp"})
    ),
    "backlog-catch-up-allow": Scenario(
        spec={"misfirePolicy": "CatchUp", "concurrencyPolicy": "Allow", "catchUp": {"maxConcurrent": 3}},
        start=BACKLOG,
        end=at(8, 45),
        shows=frozenset({"CatchUp"}),
    ),
    "backlog-catch-up-capped": Scenario(
        spec={"misfirePolicy": "CatchUp", "catchUp": {"maxRuns": 2}},
        start=BACKLOG,
        end=at(8, 45),
        shows=frozenset({"CatchUp", "CatchUpCapExceeded"}),
    ),
    "backfilled": Scenario(
        spec={"misfirePolicy": "Skip", "successfulJobsHistoryLimit": 0},
        job_seconds=5,
        start=BACKLOG,
        script=[(at(5, 30), ask_again(1, 5)), (at(7, 30), ask_again(1, 5, name="twice"))],
        end=at(8, 45),
        shows=frozenset({"Run", "Misfire"}),
    ),
    "backfilled-side-by-side": Scenario(
        spec={"misfirePolicy": "Skip", "concurrencyPolicy": "Allow"},
        start=BACKLOG,
        script=[(at(5, 30), ask_again(1, 5, maxConcurrent=2))],
        end=at(8, 45),
        shows=frozenset({"Run", "Misfire"}),
    ),
    "overlap-forbid": Scenario(spec={}, job_seconds=80, end=at(4, 45), shows=frozenset({"Run", "Overlap"})),
    "replace": Scenario(spec={"concurrencyPolicy": "Replace"}, job_seconds=500, end=at(4, 45)),
    "tenant-suspended-and-resumed": Scenario(
        spec={},
        script=[(at(2, 30), World.suspend_tenant), (at(5, 30), World.resume_tenant)],
        end=at(7, 45),
        suspended=[(at(2, 31), at(5, 29))],
        shows=frozenset({"Run", "TenantSuspended"}),
    ),
    "backlog-suspended-and-resumed": Scenario(
        spec={"misfirePolicy": "CatchUp"},
        start=BACKLOG,
        script=[
            (at(5, 50), lambda world: world.edit(suspend=True)),
            (at(8, 30), lambda world: world.edit(suspend=False)),
        ],
        end=at(10, 45),
        suspended=[(at(5, 51), at(8, 29))],
        shows=frozenset({"Run", "CatchUp", "ScheduleSuspended"}),
    ),
    "quota-exhausted": Scenario(
        spec={"successfulJobsHistoryLimit": 0},
        script=[
            (at(1, 30), lambda world: world.kube.add(quota("none", jobs=0))),
            (at(3, 30), lambda world: world.kube.remove("resourcequotas", "default", "none")),
        ],
        end=at(5, 45),
        shows=frozenset({"Run", "QuotaExhausted"}),
    ),
    "quota-under-catch-up": Scenario(
        spec={"misfirePolicy": "CatchUp", "successfulJobsHistoryLimit": 0},
        script=[
            (at(0), lambda world: world.kube.add(quota("none", jobs=0))),
            (at(3, 30), lambda world: world.kube.remove("resourcequotas", "default", "none")),
        ],
        end=at(7, 45),
        shows=frozenset({"CatchUp"}),
    ),
    "lost-ledger": Scenario(
        spec={"successfulJobsHistoryLimit": 10},
        script=[(at(2, 30), World.wipe_status)],
        end=at(4, 45),
    ),
    "lost-ledger-and-jobs": Scenario(
        spec={"successfulJobsHistoryLimit": 0},
        job_seconds=5,
        script=[(at(2, 30), World.wipe_status)],
        end=at(4, 45),
    ),
    "edited": Scenario(
        spec={"misfirePolicy": "CatchUp"},
        start=BACKLOG,
        script=[(at(5, 50), lambda world: world.edit(schedule="*/2 * * * *"))],
        end=at(10, 45),
        shows=frozenset({"Run", "CatchUp", "ScheduleChanged"}),
    ),
    "no-finished-jobs-kept": Scenario(
        spec={"successfulJobsHistoryLimit": 0, "failedJobsHistoryLimit": 0},
        script=[(at(2, 10), lambda world: world.finish(at(2), succeeded=False))],
        end=at(4, 45),
    ),
    "jobs-deleted-by-hand": Scenario(
        spec={},
        script=[
            (at(1, 10), lambda world: world.delete_job(at(1))),
            (at(2, 0), lambda world: world.delete_job(at(2))),
            (at(2, 1), lambda world: world.delete_job(at(2))),
        ],
        end=at(3, 45),
    ),
}


def shown(told: Told) -> set[str]:
    """What kinds of decisions there were: reasons, `Run` for a run in its time, `CatchUp` for one caught up."""
    return {
        decision.reason or ("Run" if decision.trigger == "Schedule" else decision.trigger)
        for decision in told.decisions.values()
    }
