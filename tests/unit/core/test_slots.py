"""Which slots exist, against a scan of every minute: semantics.md §2."""

import random
from dataclasses import dataclass

import pytest
from oracle import moment, written
from random_scenarios import CHANGES
from scan import slots_between

from cronschedule.core.slots import Slots, slots_of

MINUTE, HOUR = 60, 3600

EXPRESSIONS = [
    "* * * * *",
    "*/15 * * * *",
    "0 * * * *",
    "5 0-23 * * *",
    "30 */2 * * *",
    "*/15 2 * * *",
    "30 1,*/6 * * *",
    "0 0 * * *",
    "30 2 * * *",
    "0,30 2,3 * * *",
    "0,1,29,30,59 0-3,22,23 * * *",
    "0 2-6/2 * * *",
    "0 0 31 * *",
    "15 0,12 30,31,1 12,1,3,10 0",
    "0 0,1,2,3 */2 * mon",
    "59 23 * * 0-5",
]


def everywhere_changes() -> list[tuple[str, str]]:
    return [(zone, change) for zone, changes in CHANGES.items() for change in changes]


@pytest.mark.parametrize(("zone", "change"), everywhere_changes())
def test_around_a_change_of_clocks_every_view_agrees_with_the_scan(zone: str, change: str) -> None:
    at = moment(change)
    rand = random.Random(f"{zone} {change}")
    for expression in EXPRESSIONS:
        start, end = at - 26 * HOUR, at + 50 * HOUR
        scanned = slots_between(expression, zone, start, end)
        slots = slots_of(expression, zone)
        bounds = [start, end, at - 1, at, at + 1, at - 30, at + HOUR, at - HOUR, *scanned[:1], *scanned[-1:]]
        bounds += [rand.randint(start, end) for _ in range(4)]
        for after in sorted(bounds):
            for until in rand.sample([bound for bound in bounds if bound >= after], k=1):
                expect_agreement(slots, after, until, scanned)


def expect_agreement(slots: Slots, after: int, until: int, scanned: list[int]) -> None:
    expected = [slot for slot in scanned if after < slot <= until]
    told = f"{slots} in ({written(after)}, {written(until)}]"
    assert list(slots.between(after, until)) == expected, told
    assert list(slots.newest_first(after, until)) == expected[::-1], told
    assert slots.newest(after, until) == (expected[-1] if expected else None), told
    assert slots.count(after, until) == len(expected), told
    later = [slot for slot in scanned if slot > after]
    if later:
        assert slots.after(after) == later[0], told


@dataclass(frozen=True)
class Named:
    schedule: str
    zone: str
    day: str
    expected: str
    """Times of day in UTC, of the 24 hours from `day`."""


NAMED = {
    "Lord Howe, forward by half an hour": Named(
        "0,15,30,45 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", "15:30 15:45"
    ),
    "Lord Howe, back by half an hour": Named(
        "30,45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z", "14:30 14:45"
    ),
    "Lord Howe, back by half an hour, interval": Named(
        "45 1-2,*/23 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z", "12:45 13:45 14:45 15:15 16:15"
    ),
    "Chatham, forward at a quarter to three": Named(
        "50 2 * * *", "Pacific/Chatham", "2026-09-26T12:00:00Z", "14:00"
    ),
    "Chatham, forward, what is at the quarter is regular": Named(
        "45 2,3 * * *", "Pacific/Chatham", "2026-09-26T12:00:00Z", "14:00"
    ),
    "Troll, forward by two hours": Named(
        "30 1,2 * * *", "Antarctica/Troll", "2026-03-29T00:00:00Z", "01:00 23:30"
    ),
    "Troll, back by two hours": Named(
        "30 1,2 * * *", "Antarctica/Troll", "2026-10-24T20:00:00Z", "23:30 00:30"
    ),
    "Apia, a day that never was": Named("30 2 * * *", "Pacific/Apia", "2011-12-30T09:00:00Z", "10:00 12:30"),
    "Apia, the thirtieth that never was": Named(
        "0 9 30 * *", "Pacific/Apia", "2011-12-30T09:00:00Z", "10:00"
    ),
    "Apia, every minute of a day that never was": Named(
        "0 */6 30 * *", "Pacific/Apia", "2011-12-30T00:00:00Z", ""
    ),
    "Casablanca, back in March": Named("30 2 * * *", "Africa/Casablanca", "2024-03-10T00:00:00Z", "01:30"),
    "Casablanca, forward in April": Named("30 2 * * *", "Africa/Casablanca", "2024-04-14T00:00:00Z", "02:00"),
    "Pyongyang, forward before midnight": Named(
        "45 23 * * *", "Asia/Pyongyang", "2018-05-04T12:00:00Z", "15:00"
    ),
    "Pyongyang, back to before midnight": Named(
        "45 23 * * *", "Asia/Pyongyang", "2015-08-14T12:00:00Z", "14:45"
    ),
    "St Johns, forward at one minute past midnight": Named(
        "0,1,30 0 * * *", "America/St_Johns", "2006-04-02T00:00:00Z", "03:30 03:31"
    ),
    "St Johns, back from one minute past midnight": Named(
        "0,30 0,23 * * *", "America/St_Johns", "2006-10-29T00:00:00Z", "01:30 02:00 02:30 04:00"
    ),
    "Kathmandu, forward by a quarter": Named(
        "0,10 0 * * *", "Asia/Kathmandu", "1985-12-31T12:00:00Z", "18:30"
    ),
    "Cairo, forward at midnight": Named("0 0 * * *", "Africa/Cairo", "2025-04-24T12:00:00Z", "22:00"),
    "Sao Paulo, forward at midnight": Named(
        "0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", "03:00"
    ),
    "Sao Paulo, back at midnight": Named("30 23 * * *", "America/Sao_Paulo", "2019-02-16T12:00:00Z", "01:30"),
    "Havana, back at one": Named("30 0 * * *", "America/Havana", "2025-11-02T00:00:00Z", "04:30"),
    "Berlin, several skipped times and the regular one at three": Named(
        "0,15,30 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "01:00 01:15 01:30 00:00"
    ),
    "Berlin, a starred hour invents nothing": Named(
        "30 */2 * * *",
        "Europe/Berlin",
        "2026-03-28T23:00:00Z",
        "23:30 02:30 04:30 06:30 08:30 10:30 12:30 14:30 16:30 18:30 20:30 22:30",
    ),
}


@pytest.mark.parametrize("case", NAMED.values(), ids=NAMED)
def test_named_days(case: Named) -> None:
    start = moment(case.day)
    slots = slots_of(case.schedule, case.zone)
    found = [written(slot)[11:16] for slot in slots.between(start, start + 24 * HOUR)]
    assert found == case.expected.split()
    assert list(slots.between(start, start + 24 * HOUR)) == slots_between(
        case.schedule, case.zone, start, start + 24 * HOUR
    )


RARE = {
    "29 February on a Sunday, after 2032": ("0 0 29 2 */7", "2032-02-29T00:00:00Z", "2060-02-29T00:00:00Z"),
    "29 February on a Sunday, over 2100": ("0 0 29 2 */7", "2088-02-29T00:00:00Z", "2128-02-29T00:00:00Z"),
    "29 February over 2100": ("0 0 29 2 *", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"),
    "31 December": ("59 23 31 12 *", "2026-12-31T23:59:00Z", "2027-12-31T23:59:00Z"),
    "1 January": ("@yearly", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
    "31 February or Mondays": ("0 0 31 2 1", "2026-02-23T00:00:00Z", "2027-02-01T00:00:00Z"),
}


@pytest.mark.parametrize(("schedule", "after", "expected"), RARE.values(), ids=RARE)
def test_a_rare_slot_is_found_and_nothing_before_it(schedule: str, after: str, expected: str) -> None:
    slots = slots_of(schedule, "Etc/UTC")
    following = slots.after(moment(after))
    assert following == moment(expected)
    assert slots.count(moment(after), following) == 1
    assert slots.newest(moment(after), following - 1) is None


@pytest.mark.parametrize("year", range(1996, 2040))
def test_the_first_second_of_a_year_belongs_to_it(year: int) -> None:
    slots = slots_of("0 0 1 1 *", "Etc/UTC")
    new_year = moment(f"{year}-01-01T00:00:00Z")
    assert slots.after(new_year - 1) == new_year
    assert slots.after(new_year) == moment(f"{year + 1}-01-01T00:00:00Z")
    assert list(slots.between(new_year - HOUR, new_year)) == [new_year]
    assert slots.newest(new_year - HOUR, new_year) == new_year
    assert slots.count(new_year - HOUR, new_year) == 1
    assert slots.count(new_year, new_year + HOUR) == 0


def test_ranges_are_open_at_the_start_and_closed_at_the_end() -> None:
    slots = slots_of("0 * * * *", "Etc/UTC")
    ten, twelve = moment("2026-01-14T10:00:00Z"), moment("2026-01-14T12:00:00Z")
    assert list(slots.between(ten, twelve)) == [ten + HOUR, twelve]
    assert list(slots.between(ten - 1, twelve - 1)) == [ten, ten + HOUR]
    assert slots.after(ten) == ten + HOUR
    assert slots.after(ten - 1) == ten


@pytest.mark.parametrize("until", [-1, 0])
def test_an_empty_or_reversed_range_has_no_slots(until: int) -> None:
    slots = slots_of("* * * * *", "Etc/UTC")
    now = moment("2026-01-14T10:00:00Z")
    assert list(slots.between(now, now + until * HOUR)) == []
    assert list(slots.newest_first(now, now + until * HOUR)) == []
    assert slots.newest(now, now + until * HOUR) is None
    assert slots.count(now, now + until * HOUR) == 0


def test_counting_years_agrees_with_walking_them() -> None:
    rand = random.Random(7)
    for expression in EXPRESSIONS[2:]:
        for zone in rand.sample(list(CHANGES), k=3):
            start = moment("2005-06-01T00:00:00Z") + rand.randint(0, 20 * 365 * 24 * HOUR)
            end = start + rand.randint(1, 400 * 24 * HOUR)
            slots = slots_of(expression, zone)
            walked = list(slots.between(start, end))
            assert slots.count(start, end) == len(walked)
            assert list(slots.newest_first(start, end)) == walked[::-1]
            assert walked == sorted(set(walked))
