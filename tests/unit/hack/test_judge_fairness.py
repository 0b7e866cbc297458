"""Does the catch-up bench tell when backlogs were worked off too fast, unfairly, twice, not at all, or in disorder?"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from bench.fairness import (
    Start,
    fullest_minute,
    lag_check,
    order_checks,
    pace_checks,
    settled_checks,
    share_check,
)
from bench.plot import steps

SPACES = ("a", "b", "c", "d")


def starts(*, seconds: float = 1.0, each: int = 20, order: str = "abcd") -> list[Start]:
    """So many Jobs for each letter, one after the other, so many seconds apart."""
    return [
        Start(at=seconds * number, namespace=letter, schedule="x", slot=number)
        for number, letter in enumerate(order * each)
    ]


def broken(checks: list[Any]) -> list[str]:
    return [check.what for check in checks if not check.holds]


@pytest.mark.parametrize(
    ("moments", "most"),
    [
        pytest.param([], 0, id="none"),
        pytest.param([5], 1, id="one"),
        pytest.param([0, 30, 59.9], 3, id="within-a-minute"),
        pytest.param([0, 60, 120], 1, id="a-minute-apart"),
        pytest.param([0, 1, 61, 62, 63], 3, id="the-second-minute-is-fuller"),
        pytest.param([63, 0, 62, 1, 61], 3, id="in-any-order"),
    ],
)
def test_the_fullest_minute_is_found(moments: list[float], most: int) -> None:
    assert fullest_minute(moments) == most


def test_a_pace_within_the_budget_passes() -> None:
    assert broken(pace_checks(starts(seconds=1), per_minute=60, per_namespace=15)) == []


def test_one_job_too_many_in_a_minute_is_seen() -> None:
    seen = [*starts(seconds=1), Start(at=30.5, namespace="a", schedule="x", slot=999)]
    assert len(broken(pace_checks(seen, per_minute=60, per_namespace=16))) == 1
    assert len(broken(pace_checks(seen, per_minute=61, per_namespace=15))) == 1
    assert broken(pace_checks(seen, per_minute=61, per_namespace=16)) == []


def test_equal_shares_pass() -> None:
    assert share_check(starts(), SPACES).holds


@pytest.mark.parametrize(
    "order",
    [
        pytest.param("a" * 20 + "b" * 20 + "c" * 20 + "d" * 20, id="one-after-the-other"),
        pytest.param("aabcd" * 16, id="one-gets-twice-as-much"),
        pytest.param("abc" * 20 + "d" * 20, id="one-comes-last"),
    ],
)
def test_unequal_shares_are_seen(order: str) -> None:
    assert not share_check(starts(each=1, order=order), SPACES).holds


def test_a_namespace_without_any_run_is_seen() -> None:
    assert not share_check(starts(order="abc", each=40), SPACES).holds


@pytest.mark.parametrize(
    ("before", "during", "holds"),
    [
        ([1.0] * 100, [1.2] * 100, True),
        ([1.0] * 100, [1.0] * 98 + [1.3] * 2, False),
        ([1.0] * 100, [1.0] * 99 + [9.0], True),  # beyond the 99th of a hundred
        ([], [1.0], False),
        ([1.0], [], False),
    ],
)
def test_what_backlogs_cost_those_on_time_is_seen(
    before: list[float], during: list[float], holds: object
) -> None:
    assert lag_check(before, during).holds is holds


EXPECTED = {"x": [1, 2, 3], "y": [1, 2, 3]}


@pytest.mark.parametrize(
    ("created", "wrong"),
    [
        pytest.param({"x": [1, 2, 3], "y": [1, 2, 3]}, "", id="all-is-well"),
        pytest.param({"x": [1, 2, 2, 3], "y": [1, 2, 3]}, "two Jobs", id="twice"),
        pytest.param({"x": [1, 3], "y": [1, 2, 3]}, "without a Job", id="lost"),
        pytest.param({"y": [1, 2, 3]}, "without a Job", id="a-whole-schedule-lost"),
        pytest.param({"x": [1, 3, 2], "y": [1, 2, 3]}, "out of order", id="disorder"),
        pytest.param({"x": [1, 2, 3, 4], "y": [1, 2, 3]}, "there are not", id="of-its-own-invention"),
    ],
)
def test_slots_twice_lost_or_in_disorder_are_seen(created: dict[str, list[int]], wrong: str) -> None:
    found = broken(order_checks(created, EXPECTED))
    assert len(found) == bool(wrong)
    assert all(wrong in what for what in found)


@pytest.mark.parametrize(
    ("status", "well"),
    [
        ({"counts": {"runs": 3, "succeeded": 3}}, True),
        ({"counts": {"runs": 2, "succeeded": 2, "skipped": {"Stale": 1}}}, True),
        ({"counts": {"runs": 2, "succeeded": 2}}, False),
        ({"counts": {"runs": 3, "succeeded": 2}}, False),
        ({"counts": {"runs": 3, "succeeded": 3}, "backlog": {"waiting": 1}}, False),
        ({}, False),
    ],
)
def test_what_is_not_settled_is_seen(status: dict[str, Any], well: object) -> None:
    assert (broken(settled_checks([status], slots=3, ended=True)) == []) is well


def test_runs_that_never_end_are_no_fault_where_they_should_not() -> None:
    assert broken(settled_checks([{"counts": {"runs": 3}}], slots=3, ended=False)) == []
    assert broken(settled_checks([{"counts": {"runs": 2}}], slots=3, ended=False)) != []


def test_the_plot_is_svg_with_a_line_for_each_series() -> None:
    text = steps(
        {"a<b": [0.5, 1.5], "none": [], "c": [100.0]}, title="T & U", across="s", up="n", marks=[50.0]
    )
    root = ET.fromstring(text)
    named = [element.text for element in root.iter("{http://www.w3.org/2000/svg}title")]
    assert named == ["a<b", "none", "c"]
    dashed = [
        line for line in root.iter("{http://www.w3.org/2000/svg}line") if line.get("stroke-dasharray") != "0"
    ]
    assert len(dashed) == 1


def test_a_plot_of_nothing_is_a_plot_all_the_same() -> None:
    ET.fromstring(steps({}, title="", across="", up=""))
