"""Faults of all kinds at random, in the middle of each story, and a crash: is every promise kept once they are over?"""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from typing import Literal

import pytest

from fakes.faults import Action, Answer, Delay, Duplicate, Fault, Hang, Reset, Stream
from integration.scenarios import SCENARIOS, Scenario, play
from integration.troubles import hears_again
from integration.world import FAKE_TIME, Cut
from seeded import chance

pytestmark = [FAKE_TIME]

TELLINGS = 5

Phase = Literal["before", "after"]
SERVED: dict[str, tuple[Action, Phase]] = {
    "conflict": (Answer(code=409, reason="Conflict"), "before"),
    "patience": (Answer(code=429, reason="TooManyRequests", retry_after=2), "before"),
    "error": (Answer(code=500, reason="InternalError"), "before"),
    "error-after-all": (Answer(code=500, reason="InternalError"), "after"),
    "unavailable": (Answer(code=503, reason="ServiceUnavailable"), "before"),
    "reset": (Reset(), "before"),
    "answer-lost": (Reset(), "after"),
    "silent": (Hang(), "before"),
    "answer-never-comes": (Hang(), "after"),
    "slow": (Delay(0.7), "before"),
    "twice": (Duplicate(), "before"),
}
WATCHED: dict[str, Action] = {
    "ended": Stream(after=2, then="end"),
    "reset": Stream(after=1, then="reset"),
    "cut": Stream(after=1, then="truncate"),
    "expired": Stream(after=1, then=Answer(code=410, reason="Expired")),
    "refused": Answer(code=503, reason="ServiceUnavailable"),
}


def weather(dice: Random, *, share: float) -> list[Fault]:
    """A bit of each, for writes; for the watch of Jobs more of it, since it is rarely opened."""
    faults = [
        Fault(action=action, verb=verb, phase=phase, share=share, dice=dice, times=math.inf)
        for action, phase in SERVED.values()
        for verb in ("create", "update", "patch", "delete")
    ]
    faults += [
        Fault(action=action, verb="watch", resource="jobs", share=0.15, dice=dice, times=math.inf)
        for action in WATCHED.values()
    ]
    dice.shuffle(faults)
    return faults


@pytest.mark.parametrize("number", range(TELLINGS))
@pytest.mark.parametrize("name", SCENARIOS)
async def test_is_every_promise_kept_in_any_weather(name: str, number: int) -> None:
    dice = chance(f"weather/{name}/{number}")
    faults = weather(dice, share=dice.choice([0.01, 0.03]))
    scenario = SCENARIOS[name]
    clears_up: Scenario = replace(
        scenario, script=[*scenario.script, (scenario.end, hears_again)], end=scenario.end + 240
    )
    crash = Cut(nth=dice.randint(1, 20), phase=dice.choice(["before", "after"]))
    told = await play(clears_up, *[crash] * (number % 2), faults=faults)
    assert told.problems == []
