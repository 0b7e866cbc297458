"""Moments and spans as people say them, and as they write them on a command line."""

import re
import time
from datetime import UTC, datetime

from cronschedule.core.zones import load_zone

_SPAN = re.compile(
    r"(?P<days>[0-9]{1,5}d)?(?P<hours>[0-9]{1,6}h)?(?P<minutes>[0-9]{1,7}m)?(?P<seconds>[0-9]{1,9}s)?"
)
_UNITS = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
_WALL_CLOCK = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})([ Tt]([0-9]{2}:[0-9]{2}(:[0-9]{2})?))?")
MOMENT_FORMS = (
    "a time such as 2026-03-29T01:00:00Z or 2026-03-29T02:00 (in the schedule's zone), now, now-6h or now+1d"
)


def now() -> int:
    return int(time.time())


def local(moment: int, zone: str) -> str:
    """`Sun 2026-03-29 03:00 +02:00` for a UTC second; seconds only where there are any."""
    there = datetime.fromtimestamp(moment, load_zone(zone))
    text = there.isoformat(sep=" ", timespec="seconds" if moment % 60 else "minutes")
    clock, offset = text[:-6], text[-6:]
    return f"{there:%a} {clock} {offset}"


def utc(moment: int) -> str:
    """`2026-03-29 01:00Z`."""
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M}Z"


def iso(moment: int, zone: str) -> str:
    """`2026-03-29T03:00:00+02:00`: RFC 3339 with the zone's offset."""
    return datetime.fromtimestamp(moment, load_zone(zone)).isoformat()


def clock_time(moment: int, zone: str) -> str:
    """`03:00`: only the time of day, with seconds where there are any."""
    return f"{datetime.fromtimestamp(moment, load_zone(zone)):{'%H:%M:%S' if moment % 60 else '%H:%M'}}"


def span(seconds: int) -> str:
    """`2d 3h`, `5h 20m`, `40s`: the two largest units."""
    parts = []
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        number, seconds = divmod(seconds, length)
        if number:
            parts.append(f"{number}{unit}")
    return " ".join(parts[:2]) or "0s"


def count(number: int, noun: str) -> str:
    """`1 slot`, `1,439 slots`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def parse_span(text: str) -> int:
    """Seconds in `7d`, `1h30m`. ValueError with a sentence."""
    match = _SPAN.fullmatch(text)
    if match is None or not text:
        raise ValueError(
            f"{text!r} is not a span of time: write days, hours, minutes, seconds, such as 7d, 90m or 1h30m"
        )
    return sum(int(part[:-1]) * _UNITS[unit] for unit, part in match.groupdict().items() if part)


def parse_moment(text: str, *, zone: str, now: int) -> int:
    """The UTC second of what a person wrote. ValueError with a sentence.

    Without an offset it is the wall clock of `zone`; a time of day that comes twice is its first.
    """
    from cronschedule.api.shapes import parse_time  # brings pydantic: not for every --help

    relative = re.fullmatch(r"now(([-+])(.+))?", text)
    if relative is not None:
        sign = {"-": -1, "+": 1, None: 0}[relative[2]]
        return _within_reach(text, now + sign * parse_span(relative[3] or "0s"))
    wall_clock = _WALL_CLOCK.fullmatch(text)
    try:
        if wall_clock is None:
            return parse_time(text)
        day, moment = wall_clock[1], wall_clock[3] or "00:00"
        there = datetime.fromisoformat(f"{day}T{moment}").replace(tzinfo=load_zone(zone))
        return _within_reach(text, int(there.astimezone(UTC).timestamp()))
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a moment: write {MOMENT_FORMS}") from None


def _within_reach(text: str, moment: int) -> int:
    if not 0 <= moment < 253_370_764_800:  # year 9999
        raise ValueError(f"{text!r} is too far away")
    return moment


def parse_window(text: str, *, zone: str, now: int) -> tuple[int, int]:
    """`FROM/TO`, where TO may also be how long it lasts: `2026-03-29T06:00/6h`. ValueError with a sentence."""
    first, slash, last = text.partition("/")
    if not slash:
        raise ValueError(f"{text!r} is not a window: write FROM/TO or FROM/DURATION, such as now+1h/6h")
    start = parse_moment(first, zone=zone, now=now)
    end = (
        start + parse_span(last) if _SPAN.fullmatch(last) and last else parse_moment(last, zone=zone, now=now)
    )
    if end < start:
        raise ValueError(f"{text!r} ends before it begins")
    return start, end
