"""Do the benches of scale and of slots tell what is within its budget, and draw what they measured?"""

from typing import Any
from xml.etree import ElementTree

import pytest

from bench import scale, slots
from bench.budget import Check
from bench.figures import MEBI, micro
from bench.plot import lines
from bench.traffic import Request
from bench.usage import Usage


def broken(checks: list[Check]) -> list[str]:
    return [line.what for line in checks if not line.holds]


def outcome(*, hours: int = 0, **changes: Any) -> scale.Outcome:
    """Ten thousand schedules within the budget."""
    usage = Usage(cpu=1.0, rss=120 * MEBI, peak=150 * MEBI)
    fields: dict[str, Any] = {
        "options": scale.Options(count=10_000, tenants=100, hours=hours, seconds=60),
        "taken_up": 60.0,
        "ready": 5.0,
        "loaded": usage,
        "before": usage,
        "after": usage,
        "requests": [],
        "first_job": 1.0,
        "jobs": 0,
        "records": dict.fromkeys(range(10_000), 20.0),
        "complaints": [],
    }
    return scale.Outcome(**fields | changes)


WRITE = Request(client="x", verb="update", resource="y", code=200, at=0.0, end=0.0, uri="/y")


@pytest.mark.parametrize(
    ("seen", "what"),
    [
        pytest.param(outcome(ready=61.0), ["10000: all known"], id="loaded-late"),
        pytest.param(
            outcome(after=Usage(cpu=1.0, rss=1, peak=250 * MEBI)), ["10000: RSS at most"], id="large"
        ),
        pytest.param(
            outcome(after=Usage(cpu=1.7, rss=1, peak=1)), ["10000: of a core"], id="busy-for-nothing"
        ),
        pytest.param(outcome(requests=[WRITE]), ["10000: writes"], id="a-write-for-nothing"),
        pytest.param(outcome(complaints=["Traceback"]), ["10000: errors in the log"], id="an-error"),
        pytest.param(outcome(hours=6, first_job=None), ["10000: first Job"], id="no-job"),
        pytest.param(outcome(hours=6, records={}), ["10000: all decided"], id="nothing-decided"),
        pytest.param(
            outcome(hours=6, records=dict.fromkeys(range(10_000), 20.0) | {0: 31.0}),
            ["10000: all decided"],
            id="one-is-decided-late",
        ),
        pytest.param(
            outcome(hours=6, records=dict.fromkeys(range(10_000), 20.0) | {2: 31.0}),
            [],
            id="one-that-the-budget-holds-back-is-late",
        ),
        pytest.param(outcome(hours=6, requests=[WRITE]), [], id="writes-after-an-outage-are-wanted"),
        pytest.param(outcome(), [], id="all-is-well"),
    ],
)
def test_is_what_is_out_of_its_budget_told(seen: scale.Outcome, what: list[str]) -> None:
    assert broken(scale.check([seen])) == what


def test_is_each_number_of_schedules_a_point_of_the_plot() -> None:
    drawn = ElementTree.fromstring(scale.plot([outcome(), outcome()]))
    told = [title.text for title in drawn.iter("{http://www.w3.org/2000/svg}title")]
    assert told.count("at most: 150 at 10000") == 2
    assert told.count("once all are known: 120 at 10000") == 2


def test_does_the_line_go_through_its_points() -> None:
    drawn = lines({"one": [(0, 0), (10, 5), (20, 10)]}, title="t", across="x", up="y")
    assert 'd="M70.0,490.0L505.0,270.0L940.0,50.0"' in drawn


def measured(**changes: Any) -> slots.Measured:
    """Ours, within the budget but for what is changed."""
    fields: dict[str, Any] = {"next": dict.fromkeys(slots.EXPRESSIONS, 1e-6), "parse": 1e-6, "year": 1e-6}
    return slots.Measured(**{"name": "ours", "right": 30, "cases": 30} | fields | changes)


@pytest.mark.parametrize(
    ("seen", "what"),
    [
        pytest.param(measured(), [], id="all-is-well"),
        pytest.param(measured(right=29), ["golden cases"], id="a-golden-case-is-wrong"),
        pytest.param(measured(year=51e-6), ["a year counted"], id="counting-walks"),
        pytest.param(measured(parse=101e-6), ["parse"], id="slow-parse"),
    ],
)
def test_is_a_slow_or_wrong_slot_told(seen: slots.Measured, what: list[str]) -> None:
    assert broken(slots.check(seen)) == what


@pytest.mark.parametrize(
    ("seconds", "told"), [(2.5, "2.5 s"), (0.0025, "2.5 ms"), (2.5e-6, "2.5 µs"), (2.5e-7, "0.25 µs")]
)
def test_are_short_times_told_in_their_own_unit(seconds: float, told: str) -> None:
    assert micro(seconds) == told
