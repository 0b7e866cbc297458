"""Stories in which something goes wrong by itself, so that the operator waits where it else never does."""

from __future__ import annotations

import math

from fakes.faults import Answer, Duplicate, Fault, Reset, Stream
from fakes.objects import backfill
from integration.scenarios import BACKLOG, Scenario, ask_again
from integration.world import World, at

UNAVAILABLE = Answer(code=503, reason="ServiceUnavailable")
TOO_MANY = Answer(
    code=403,
    reason="Forbidden",
    message='jobs.batch "x" is forbidden: exceeded quota: none, requested: count/jobs.batch=1, used: 0, limited: 0',
)


def blind() -> list[Fault]:
    """Nothing is heard of Jobs, and the second slot's Job is created without an answer."""
    return [
        Fault(action=Stream(then="silence"), verb="watch", resource="jobs", times=math.inf),
        Fault(action=UNAVAILABLE, verb="list", resource="jobs", nth=2, times=math.inf),
        Fault(action=Reset(), verb="create", resource="jobs", nth=2, phase="after"),
    ]


def hears_again(world: World) -> None:
    world.kube.faults.clear()
    world.kube.break_streams()


def falls_silent(world: World) -> None:
    world.fault(Fault(action=Stream(then="silence"), verb="watch", resource="jobs"))
    world.kube.break_streams()


def asks_in_vain(world: World) -> None:
    """Backfills of which one waits for the other, and some that can never be carried out."""
    world.create("bad", schedule="61 * * * *")
    world.backfill(at(1), at(3))
    world.backfill(at(1), at(3), name="waits")
    world.backfill(at(1), at(3), name="bad", schedule="bad")
    world.backfill(at(1), at(3), name="nowhere", schedule="nowhere")
    world.backfill(at(1), at(60), name="to-come")
    world.kube.add(backfill("says-nothing", schedule="nowhere"))


def create_others(world: World) -> None:
    for name in ("y", "z"):
        world.create(name, schedule="1,2 * * * *")


TROUBLES = {
    "one-request-at-a-time": Scenario(spec={}, script=[(at(0), create_others)], end=at(3, 45), width=1),
    "status-sent-twice": Scenario(
        spec={},
        end=at(4, 45),
        faults=lambda: [
            Fault(action=Duplicate(), verb="update", resource="cronschedules/status", nth=2, times=4)
        ],
    ),
    "job-sent-twice": Scenario(
        spec={},
        end=at(4, 45),
        faults=lambda: [Fault(action=Duplicate(), verb="create", resource="jobs", times=math.inf)],
    ),
    "events-refused": Scenario(
        spec={},
        end=at(4, 45),
        faults=lambda: [Fault(action=UNAVAILABLE, verb="create", resource="events", times=5)],
    ),
    "job-without-an-answer": Scenario(
        spec={"concurrencyPolicy": "Allow"},
        script=[(at(3, 40), hears_again)],
        end=at(7, 45),
        faults=lambda: [
            *blind(),
            Fault(action=UNAVAILABLE, verb="create", resource="jobs", nth=3, times=math.inf),
        ],
    ),
    "quota-full-after-a-job-without-an-answer": Scenario(
        spec={"concurrencyPolicy": "Allow"},
        script=[(at(3, 40), hears_again)],
        end=at(7, 45),
        faults=lambda: [
            *blind(),
            Fault(action=TOO_MANY, verb="create", resource="jobs", nth=3, times=math.inf),
        ],
    ),
    "replaced-after-it-has-ended-unseen": Scenario(
        spec={"concurrencyPolicy": "Replace"}, script=[(at(1, 10), falls_silent)], end=at(3, 45)
    ),
    "backfills-in-vain": Scenario(
        spec={"misfirePolicy": "Skip"},
        start=BACKLOG,
        script=[(at(5, 30), asks_in_vain), (at(7, 10), ask_again(4, 5, name="later"))],
        end=at(8, 45),
        shows=frozenset({"Run", "Misfire"}),
        stalled=frozenset({"bad", "nowhere", "to-come", "says-nothing"}),
    ),
}
