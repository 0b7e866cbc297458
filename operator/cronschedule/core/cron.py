"""Cron text → the values each field allows.

We decide what is allowed (`semantics.md §2`); croniter expands what passed. Nothing here knows a time zone or
a clock: `slots.py` turns the values into instants.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from croniter import CroniterError, croniter

MAX_LENGTH = 100
"""Longest schedule text, in characters."""

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LONGEST_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Field:
    """One of the five fields: its name in messages, its bounds, how many distinct values it has, its names."""

    name: str
    low: int
    high: int
    size: int
    names: dict[str, int]

    @property
    def allowed(self) -> str:
        """What may stand in this field, for messages."""
        words = {"month": " or jan-dec", "day-of-week": " or sun-sat (0 and 7 are Sunday)"}
        return f"{self.low}-{self.high}{words.get(self.name, '')}"


FIELDS = (
    _Field(name="minute", low=0, high=59, size=60, names={}),
    _Field(name="hour", low=0, high=23, size=24, names={}),
    _Field(name="day-of-month", low=1, high=31, size=31, names={}),
    _Field(name="month", low=1, high=12, size=12, names={n: i for i, n in enumerate(_MONTHS, 1)}),
    _Field(name="day-of-week", low=0, high=7, size=7, names={n: i for i, n in enumerate(_WEEKDAYS)}),
)


class CronError(ValueError):
    """A schedule text that the rules refuse; the message is a sentence that names the field."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Cron:
    """The values a schedule allows: the minutes of a matching day, and bit masks (bit n = value n).

    One object per text (`parse_cron` caches), so that it can serve as a cheap key.

    `either_day` tells whether a day matches when one of the two day fields does (both without a star), else both
    must. `wall_clock` tells how clock changes are taken (`semantics.md §2`).
    """

    times: tuple[int, ...]
    days: int
    months: int
    weekdays: int
    either_day: bool
    wall_clock: bool


@lru_cache(maxsize=20_000)
def parse_cron(text: str) -> Cron:
    """Read a schedule by the rules of `semantics.md §2`.

    Raises `CronError` with a sentence that names the field, what was wrong and what is allowed.
    """
    fields = _split(text)
    starred = [_check_field(field, item) for field, item in zip(FIELDS, fields, strict=True)]
    try:
        expanded = croniter.expand(" ".join(fields))[0]
    except (CroniterError, ValueError) as error:
        raise CronError(f"the schedule cannot be read: {error}") from None
    values = [_values(field, got) for field, got in zip(FIELDS, expanded, strict=True)]
    stars = [star or len(got) == field.size for star, got, field in zip(starred, values, FIELDS, strict=True)]
    either_day = not stars[2] and not stars[4]
    _check_comes(days=values[2], months=values[3], either_day=either_day)
    return Cron(
        times=_times(values[0], values[1]),
        days=_mask(values[2]),
        months=_mask(values[3]),
        weekdays=_mask(values[4]),
        either_day=either_day,
        wall_clock=not stars[0] and not stars[1],
    )


def _split(text: str) -> list[str]:
    """The five fields of the text, macros replaced."""
    if len(text) > MAX_LENGTH:
        raise CronError(f"the schedule has {len(text)} characters; at most {MAX_LENGTH} are allowed")
    if not text.isascii() or any(ord(c) < 32 and c != "\t" for c in text) or "\x7f" in text:
        raise CronError("the schedule may only hold printable ASCII characters, blanks and tabs")
    words = text.split()
    if re.match(r"\s*(CRON_)?TZ\s*=", text, re.IGNORECASE):
        raise CronError("the schedule names a time zone; put the zone into the field timeZone instead")
    if words and words[0].startswith("@"):
        if len(words) == 1 and words[0] in MACROS:
            return MACROS[words[0]].split()
        raise CronError(f"{' '.join(words)!r} is not a macro that is allowed; use one of {' '.join(MACROS)}")
    if len(words) != 5:
        raise CronError(
            f"the schedule has {len(words)} fields; exactly five are allowed: "
            "minute hour day-of-month month day-of-week"
        )
    return words


def _check_field(field: _Field, text: str) -> bool:
    """Refuse what the rules refuse in one field; tell whether it has a star."""
    items = text.split(",")
    for item in items:
        _check_item(field, item)
    if "*" in items and len(items) > 1:
        raise CronError(
            f"{field.name}: a bare * beside other items of a list means nothing; leave the rest out"
        )
    return any(item.startswith("*") for item in items)


def _check_item(field: _Field, item: str) -> None:
    if not item:
        raise CronError(f"{field.name}: an empty item in a list; write a value between the commas")
    base, slash, step = item.partition("/")
    if slash:
        _check_step(field, item, step)
    if base == "*":
        return
    low, dash, high = base.partition("-")
    first = _value(field, item, low)
    if dash:
        last = _value(field, item, high)
        if first >= last:
            kind = "is one value" if first == last else "runs backwards"
            raise CronError(
                f"{field.name}: the range {base!r} {kind}; the first value must be below the last"
            )


def _check_step(field: _Field, item: str, step: str) -> None:
    if not step.isdecimal() or not 1 <= int(step) <= field.size:
        raise CronError(f"{field.name}: the step of {item!r} must be a whole number from 1 to {field.size}")


def _value(field: _Field, item: str, text: str) -> int:
    """One number or name of a field."""
    if text.isdecimal():
        value = int(text)
    else:
        value = field.names.get(text.lower(), -1)
    if not field.low <= value <= field.high:
        what = f"{text!r}" if text == item else f"{text!r} in {item!r}"
        raise CronError(
            f"{field.name}: {what} is not allowed; values are {field.allowed}, lists, ranges, steps, *"
        )
    return value


def _values(field: _Field, expanded: list[int | str]) -> tuple[int, ...]:
    """croniter's list as sorted numbers; its '*' stands for all values."""
    if "*" in expanded:
        return tuple(range(field.low, field.low + field.size))
    return tuple(sorted({int(value) for value in expanded}))


@lru_cache(maxsize=5_000)
def _times(minutes: tuple[int, ...], hours: tuple[int, ...]) -> tuple[int, ...]:
    """The minutes of a day, 0 to 1439, in order; shared by the schedules that have the same."""
    return tuple(hour * 60 + minute for hour in hours for minute in minutes)


def _mask(values: tuple[int, ...]) -> int:
    return sum(1 << value for value in values)


def _check_comes(*, days: tuple[int, ...], months: tuple[int, ...], either_day: bool) -> None:
    """Refuse dates that never come, as 30 February. Every weekday meets every date of a month sooner or later."""
    if either_day or any(days[0] <= _LONGEST_MONTH[month - 1] for month in months):
        return
    raise CronError(
        f"day-of-month: none of the months given has a day {days[0]}, so this schedule would never run"
    )
