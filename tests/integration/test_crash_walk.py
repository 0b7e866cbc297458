"""The operator dies at each of its writes, and wherever else it waits: does the next one keep every promise?

For each story a run without a crash counts the moments; then it is told again once for each of them. Verdicts are from
the outside (`judge.py`).
"""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from integration.scenarios import SCENARIOS, Told, play, shown
from integration.steps import Line, awaits
from integration.troubles import TROUBLES
from integration.world import FAKE_TIME, Cut

pytestmark = [FAKE_TIME]

STORIES = SCENARIOS | TROUBLES
FEW = ["on-time-fire-once", "backlog-catch-up-allow", "replace", "no-finished-jobs-kept"]

WALKED: Counter[str] = Counter()
"""How many crashes were walked, by story."""


async def golden(name: str, *cuts: Cut, rest: int = 0) -> Told:
    """The story without the crash that is to be walked."""
    told = await play(STORIES[name], *cuts, rest=rest)
    assert told.problems == []
    assert STORIES[name].shows <= shown(told)
    return told


@pytest.mark.parametrize("name", SCENARIOS)
async def test_does_no_crash_at_a_write_that_is_found_minutes_later_break_a_promise(name: str) -> None:
    broken = {}
    for nth in range(1, (await golden(name)).writes + 1):
        for phase in ("before", "after"):
            told = await play(STORIES[name], Cut(nth=nth, phase=phase), rest=150)
            assert len(told.world.lives) == 2, f"it did not die at write {nth}"
            WALKED[name] += 1
            if told.problems:
                broken[f"{phase} write {nth}"] = told.problems
    assert broken == {}


@pytest.mark.parametrize("name", FEW)
async def test_does_no_write_that_arrives_when_the_next_one_is_at_work_break_a_promise(name: str) -> None:
    broken = {}
    for nth in range(1, (await golden(name)).writes + 1):
        told = await play(STORIES[name], Cut(nth=nth, phase="late"))
        assert len(told.world.lives) == 2, f"it did not die at write {nth}"
        WALKED[name] += 1
        if told.problems:
            broken[f"late write {nth}"] = told.problems
    assert broken == {}


async def walk(name: str, *before: Cut, ends: bool = False, rest: int = 0) -> dict[str, list[str]]:
    """Die at each moment of the life that follows those of `before`; what was broken, by moment.

    There may be some more or less from one telling to the next: what falls on the same instant has no order. With a
    `rest`, those in the last seconds of the story are left out: nobody would come after them.
    """
    broken, expected = {}, (await golden(name, *before, Cut(step=0), rest=rest)).moments
    for step in itertools.count(1):
        told = await play(STORIES[name], *before, Cut(step=step, ends=ends), rest=rest)
        if len(told.world.lives) < len(before) + 2:
            assert step > expected * (0.6 if rest else 0.9), f"it did not die at moment {step} of {expected}"
            return broken
        WALKED[name] += 1
        if told.problems:
            broken[f"moment {step}"] = told.problems
    raise AssertionError("there is no end of moments")


@pytest.mark.parametrize("name", STORIES)
async def test_does_no_crash_wherever_it_waits_break_a_promise(name: str) -> None:
    assert await walk(name) == {}


@pytest.mark.parametrize("rest", [25, 70], ids=["its-job-has-ended", "another-slot-is-due"])
@pytest.mark.parametrize("name", FEW)
async def test_does_no_second_crash_of_the_one_that_makes_good_the_first_break_a_promise(
    name: str, rest: int
) -> None:
    """The first one died when its Job was made and not recorded."""
    assert await walk(name, Cut(of="POST jobs", phase="after"), rest=rest) == {}


@pytest.mark.parametrize("name", FEW)
async def test_does_no_sigterm_wherever_it_waits_break_a_promise(name: str) -> None:
    assert await walk(name, ends=True) == {}


async def test_is_no_await_left_out_at_which_the_writers_can_be_suspended() -> None:
    lines: set[Line] = set()
    for name in STORIES:
        steps = (await golden(name, Cut(step=0))).world.lives[0].steps
        assert steps is not None
        lines |= steps.lines
    left_out = [
        f"{file}:{first}"
        for (file, first), extent in awaits().items()
        if not any((file, line) in lines for line in extent)
    ]
    assert left_out == []
