"""Durations and times as users write and read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronschedule.api.shapes import format_duration, format_time, parse_duration, parse_time
from cronschedule.api.v1alpha1 import Suspension


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("90s", 90, id="seconds alone may be more than a minute"),
        pytest.param("30m", 1800, id="minutes"),
        pytest.param("1h", 3600, id="hours"),
        pytest.param("1h30m", 5400, id="hours and minutes"),
        pytest.param("1h5s", 3605, id="the middle unit may be left out"),
        pytest.param("0h90m5s", 5405, id="zeros are numbers"),
        pytest.param("007m", 420, id="leading zeros"),
        pytest.param("0s", 0, id="nothing at all"),
        pytest.param("24h", 86400, id="a day"),
    ],
)
def test_how_long_is_a_duration(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("90", id="no unit"),
        pytest.param("1d", id="days"),
        pytest.param("30m1h", id="wrong order"),
        pytest.param("1H", id="capital unit"),
        pytest.param("1.5h", id="fraction"),
        pytest.param("-1h", id="negative"),
        pytest.param("1h 30m", id="blank inside"),
        pytest.param("1h\n", id="line end"),
        pytest.param("١h", id="digits that are not ASCII"),
        pytest.param("1m1m", id="a unit twice"),
        pytest.param("1ms", id="milliseconds"),
        pytest.param("1" * 40 + "s", id="far too long"),
        pytest.param(3600, id="a number"),
        pytest.param(None, id="nothing"),
    ],
)
def test_what_is_no_duration_is_refused_with_what_is_allowed(text):
    with pytest.raises(ValueError, match="hours, minutes and seconds in this order, such as 90s"):
        parse_duration(text)


@given(st.integers(min_value=0, max_value=10**9))
def test_every_duration_reads_back(seconds):
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("1970-01-01T00:01:00Z", 60, id="UTC"),
        pytest.param("1970-01-01T01:00:00+01:00", 0, id="an offset"),
        pytest.param("1970-01-01T00:00:01.999Z", 1, id="fractions are dropped"),
        pytest.param("1969-12-31T23:59:59.5Z", -1, id="fractions before 1970 too"),
        pytest.param("2026-03-29T01:00:00Z", 1774746000, id="a year of today"),
    ],
)
def test_which_second_is_a_time(text, seconds):
    assert parse_time(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("2026-03-29", id="a date"),
        pytest.param("2026-03-29T01:00:00", id="no offset"),
        pytest.param("20260329T010000Z", id="the basic form"),
        pytest.param("2026-13-29T01:00:00Z", id="a month that is none"),
        pytest.param("now", id="a word"),
        pytest.param(1774746000, id="a number"),
    ],
)
def test_what_is_no_time_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match="such as 2026-03-29T01:00:00Z"):
        parse_time(text)


@given(st.integers(min_value=0, max_value=253402300799))
def test_every_time_reads_back(seconds):
    assert parse_time(format_time(seconds)) == seconds


def test_texts_of_others_are_cut_to_what_the_api_server_takes():
    suspension = Suspension(since=0, reason="R" * 100, message="m" * 1000)
    assert (len(suspension.reason), len(suspension.message)) == (64, 256)
