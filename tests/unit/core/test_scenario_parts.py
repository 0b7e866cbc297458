"""The parts that a scenario is read with: merge patches, windows, and any input at all (simulate.md, "Input")."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_scenario import AT, scenario_with

from cronschedule.core.scenario import merge_patch, read_scenario
from cronschedule.core.simulation import merge_windows

PATCHES: dict[str, tuple[Any, Any, Any]] = {
    "a value": ({"a": 1}, {"a": 2}, {"a": 2}),
    "another key": ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
    "null takes away": ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
    "null where nothing is": ({"a": 1}, {"b": None}, {"a": 1}),
    "inside": ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, {"a": {"b": 3, "c": 2}}),
    "null inside": ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
    "a mapping over a value": ({"a": 1}, {"a": {"b": 2, "c": None}}, {"a": {"b": 2}}),
    "a value over a mapping": ({"a": {"b": 1}}, {"a": 2}, {"a": 2}),
    "lists are replaced": ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
    "nothing": ({"a": 1}, {}, {"a": 1}),
}


@pytest.mark.parametrize(("target", "patch", "expected"), PATCHES.values(), ids=PATCHES)
def test_an_edit_is_a_json_merge_patch(target: Any, patch: Any, expected: Any) -> None:
    assert merge_patch(target, patch) == expected


WINDOWS: dict[str, tuple[list[tuple[int, int]], list[tuple[int, int]]]] = {
    "apart": ([(1, 2), (3, 4)], [(1, 2), (3, 4)]),
    "out of order": ([(3, 4), (1, 2)], [(1, 2), (3, 4)]),
    "touching": ([(1, 2), (2, 4)], [(1, 4)]),
    "overlapping": ([(1, 3), (2, 4)], [(1, 4)]),
    "one inside the other": ([(1, 9), (2, 4)], [(1, 9)]),
    "empty ones vanish": ([(1, 1), (2, 4)], [(2, 4)]),
    "an empty one joins nothing": ([(1, 2), (2, 2), (3, 4)], [(1, 2), (3, 4)]),
    "a chain": ([(5, 7), (1, 3), (3, 5)], [(1, 7)]),
}


@pytest.mark.parametrize(("windows", "expected"), WINDOWS.values(), ids=WINDOWS)
def test_windows_that_touch_or_overlap_are_one(
    windows: list[tuple[int, int]], expected: list[tuple[int, int]]
) -> None:
    assert list(merge_windows(windows)) == expected


LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
LEAVES = LEAVES | st.sampled_from([AT, "0 * * * *", "5m", "Europe/Berlin", "CatchUp", "Replace"])
KEYS = st.sampled_from(
    [
        "schedule",
        "from",
        "to",
        "edits",
        "at",
        "spec",
        "operatorDown",
        "tenantSuspended",
        "settings",
        "misfireThreshold",
        "runDuration",
        "timeZone",
        "apiVersion",
        "kind",
        "metadata",
        "name",
        "misfirePolicy",
        "catchUp",
        "maxRuns",
        "jobTemplate",
        "template",
    ]
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=12,
)


@settings(deadline=None, derandomize=True, max_examples=300)
@given(st.sampled_from([{}, scenario_with()]), st.dictionaries(KEYS, ANYTHING, max_size=6))
def test_any_input_is_either_taken_or_answered_with_mistakes(
    base: dict[str, Any], raw: dict[str, Any]
) -> None:
    read = read_scenario(base | raw)
    if isinstance(read, list):
        assert read
        assert all(str(mistake) for mistake in read)
