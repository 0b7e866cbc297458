"""Time zones as stretches of constant UTC offset.

All arithmetic is in whole UTC seconds; a zone only maps between UTC and the wall clock. The data is the pinned
`tzdata` package, never the machine's own files, so every replica and every command line agrees.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib import resources
from zoneinfo import ZoneInfo

EARLIEST = -2_208_988_800
LATEST = 32_503_679_999
"""The moments that slots are counted between: the years 1900 to 2999."""

_PROBE = 6 * 3600
_NOT_ZONES = {"Factory", "localtime", "posixrules"}
_LAST_YEAR = 9000
_MEAN_YEAR = 31_556_952


class UnknownTimeZone(ValueError):
    """A name that is no time zone of the IANA database; the message is a sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """UTC seconds [start, end) during which the zone's offset (seconds east of UTC) does not change.

    `gap` is the part of the wall clock, [gap, start + offset), that the change at `start` skipped (empty where
    nothing was skipped). `fresh` is the first local second that the wall clock had not shown before: local times
    below it come for the second time.
    """

    start: int
    end: int
    offset: int
    gap: int
    fresh: int


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """The names that `timeZone` may have (`semantics.md §2`)."""
    listed = resources.files("tzdata").joinpath("zones").read_text().split()
    return frozenset(name for name in listed if name not in _NOT_ZONES)


@lru_cache(maxsize=1_000)
def load_zone(name: str) -> ZoneInfo:
    """The zone of that name. Raises `UnknownTimeZone`."""
    if name not in zone_names():
        raise UnknownTimeZone(
            f"{name!r} is not a time zone; use a name of the IANA database such as Etc/UTC or Europe/Berlin"
            " (letter case matters)"
        )
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def iana_version() -> str:
    """The release of the IANA database in use, as `2026f`."""
    import tzdata

    return str(tzdata.IANA_VERSION)


def offset_at(zone: ZoneInfo, moment: int) -> int:
    """Seconds east of UTC at a UTC second."""
    delta = datetime.fromtimestamp(moment, zone).utcoffset()
    return round(delta.total_seconds()) if delta is not None else 0


def year_of(moment: int) -> int:
    """The UTC year of a moment."""
    guess = 1970 + moment // _MEAN_YEAR
    if moment < year_start(guess):
        return guess - 1
    return guess if moment < year_start(guess + 1) else guess + 1


@lru_cache(maxsize=1_000)
def year_start(year: int) -> int:
    """The first second of a UTC year."""
    return int(datetime(year, 1, 1, tzinfo=UTC).timestamp())


@lru_cache(maxsize=20_000)
def stretches(name: str, year: int) -> tuple[Stretch, ...]:
    """The stretches that cover one UTC year, in order.

    The year before is looked at too, so that a change in its last hours is known.
    """
    if year > _LAST_YEAR:
        return ()
    changes = _changes(name, year - 1) + _changes(name, year)
    start, end = year_start(year), year_start(year + 1)
    found: list[Stretch] = []
    zone = load_zone(name)
    since, offset = year_start(year - 1), offset_at(zone, year_start(year - 1))
    gap = fresh = since + offset
    for until, new_offset in (*changes, (end, offset)):
        if until > start:
            kept = since if since >= start else start
            local_start = kept + offset
            found.append(
                Stretch(
                    start=kept,
                    end=until,
                    offset=offset,
                    gap=gap if kept == since else local_start,
                    fresh=fresh,
                )
            )
        fresh = max(fresh, until + offset)
        since, offset = until, new_offset
        gap = min(fresh, since + offset)
    return tuple(found)


def stretch_at(name: str, moment: int) -> Stretch:
    """The stretch (within its UTC year) that a moment lies in."""
    return next(stretch for stretch in stretches(name, year_of(moment)) if moment < stretch.end)


@lru_cache(maxsize=20_000)
def _changes(name: str, year: int) -> tuple[tuple[int, int], ...]:
    """The changes of offset within one UTC year: (UTC second, new offset)."""
    zone = load_zone(name)
    found = []
    at, offset = year_start(year) - 1, offset_at(zone, year_start(year) - 1)
    end = year_start(year + 1) - 1
    while at < end:
        probe = min(at + _PROBE, end)
        probed = offset_at(zone, probe)
        if probed != offset:
            found.append((_bisect_change(zone, at, probe), probed))
        at, offset = probe, probed
    return tuple(found)


def _bisect_change(zone: ZoneInfo, low: int, high: int) -> int:
    """The first second of (low, high] whose offset is no longer that of `low`."""
    old = offset_at(zone, low)
    while high - low > 1:
        middle = (low + high) // 2
        if offset_at(zone, middle) == old:
            low = middle
        else:
            high = middle
    return high
