"""Zones as stretches of constant offset: semantics.md §2, the names that timeZone may have, and every change."""

import itertools
import struct
from importlib import resources

import pytest
from random_scenarios import CHANGES

from cronschedule.core.zones import UnknownTimeZone, load_zone, offset_at, stretches, year_start, zone_names

REFUSED = [
    "",
    "Factory",
    "localtime",
    "posixrules",
    "posix/Europe/Berlin",
    "right/UTC",
    "Europe",
    "Europe/",
    "/Europe/Berlin",
    "../UTC",
    "Europe/../UTC",
    "europe/berlin",
    "utc",
    "Local",
    "+02:00",
    "UTC+2",
    " UTC",
    "UTC\n",
    "UTC\0",
    "tzdata.zi",
    "zone.tab",
    "__init__.py",
    "Mars/Phobos",
    "\u0395urope/Berlin",
]

TAKEN = ["Etc/UTC", "UTC", "GMT", "Etc/GMT+5", "EST5EDT", "US/Eastern", "Europe/Berlin", "Asia/Kolkata"]
TAKEN += ["America/Argentina/Buenos_Aires", "Australia/Lord_Howe", "Pacific/Chatham", "Antarctica/Troll"]


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_name_of_the_database_is_refused(name: str) -> None:
    with pytest.raises(UnknownTimeZone, match="is not a time zone; use a name of the IANA database"):
        load_zone(name)


@pytest.mark.parametrize("name", TAKEN)
def test_a_name_of_the_database_is_taken(name: str) -> None:
    assert load_zone(name).key == name


def test_every_listed_name_can_be_loaded() -> None:
    assert len(zone_names()) > 500
    assert {load_zone(name).key for name in zone_names()} == zone_names()


def changes_in_file(name: str) -> list[tuple[int, int]]:
    """(UTC second, new offset) of each change of offset, out of the 64-bit part of the TZif file (RFC 8536)."""
    data = resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    *_, leaps, times, types, chars = (counts := struct.unpack(">20x6l", data[:44]))
    start = 44 + times * 5 + types * 6 + chars + leaps * 8 + counts[0] + counts[1]
    *_, times, types, _ = struct.unpack(">20x6l", data[start : start + 44])
    start += 44
    moments = struct.unpack(f">{times}q", data[start : start + 8 * times])
    kinds = data[start + 8 * times : start + 9 * times]
    table = start + 9 * times
    offsets = [struct.unpack(">l", data[table + 6 * n : table + 6 * n + 4])[0] for n in range(types)]
    found: list[tuple[int, int]] = []
    offset = offsets[0]
    for moment, kind in zip(moments, kinds, strict=True):
        if offsets[kind] != offset:
            offset = offsets[kind]
            found.append((moment, offset))
    return found


def expect_the_changes_of_the_file(name: str, years: range) -> None:
    """The file's list ends where its rule for all later years begins: look no further."""
    known = changes_in_file(name)
    last = known[-1][0] if known else 0
    start, end = year_start(years[0]), year_start(years[-1] + 1)
    found = [
        (stretch.start, stretch.offset)
        for year in years
        for stretch in stretches(name, year)
        if offset_at(load_zone(name), stretch.start - 1) != stretch.offset
    ]
    assert [change for change in found if change[0] <= last] == [
        change for change in known if start <= change[0] < end
    ], name


@pytest.mark.parametrize("name", CHANGES)
def test_a_strange_zone_changes_where_its_file_says(name: str) -> None:
    expect_the_changes_of_the_file(name, range(1972, 2038))


@pytest.mark.parametrize(
    ("name", "year"), [("Antarctica/Casey", 1969), ("Antarctica/Palmer", 1965), ("America/Inuvik", 1953)]
)
def test_a_change_in_the_first_second_of_a_year_is_seen(name: str, year: int) -> None:
    assert year_start(year) in {moment for moment, _ in changes_in_file(name)}
    expect_the_changes_of_the_file(name, range(year - 1, year + 2))
    assert next(stretch.start for stretch in stretches(name, year)) == year_start(year)


@pytest.mark.parametrize("start", sorted({name[0] for name in zone_names()}))
def test_each_zone_changes_where_its_file_says_in_these_years(start: str) -> None:
    for name in sorted(name for name in zone_names() if name.startswith(start)):
        expect_the_changes_of_the_file(name, range(2026, 2028))


@pytest.mark.parametrize("name", ["Etc/UTC", "Europe/Berlin", "Pacific/Apia", "Africa/Casablanca"])
def test_the_stretches_of_the_years_join_without_a_hole(name: str) -> None:
    joined = [stretch for year in range(1990, 2040) for stretch in stretches(name, year)]
    assert joined[0].start == year_start(1990)
    assert joined[-1].end == year_start(2040)
    assert all(one.end == other.start for one, other in itertools.pairwise(joined))
    assert all(one.start < one.end for one in joined)
