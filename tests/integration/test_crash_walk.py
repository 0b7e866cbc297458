"""The operator dies at each of its writes, before the server sees it or after: does the next one keep every promise?

For each story a run without a crash counts the operator's writes; then it is told again once for each of them, phase
and pause before the next operator starts. Verdicts are from the outside (`judge.py`).
"""

from __future__ import annotations

from collections import Counter

import pytest

from integration.scenarios import SCENARIOS, play, shown
from integration.world import FAKE_TIME, Cut

pytestmark = [FAKE_TIME]

WALKED: Counter[str] = Counter()
"""How many crashes were walked, by story."""


@pytest.mark.parametrize("rest", [0, 150], ids=["at-once", "minutes-later"])
@pytest.mark.parametrize("name", SCENARIOS)
async def test_no_crash_breaks_a_promise(name: str, rest: int) -> None:
    scenario = SCENARIOS[name]
    golden = await play(scenario)
    assert golden.problems == []
    assert scenario.shows <= shown(golden)
    broken = {}
    for nth in range(1, golden.writes + 1):
        for phase in ("before", "after"):
            told = await play(scenario, cut=Cut(nth=nth, phase=phase), rest=rest)
            assert len(told.world.lives) == 2, f"it did not die at write {nth}"
            WALKED[name] += 1
            if told.problems:
                broken[f"{phase} write {nth}"] = told.problems
    assert broken == {}
