"""Slots found the slow and obvious way: look at every UTC minute and ask what the clock on the wall shows.

Written from `semantics.md §2` alone. It takes cron texts that are right (it does not judge them) and shares no
code with what it is compared with.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib import resources
from zoneinfo import ZoneInfo

MINUTE = 60
DAY = 86400
LOOK_BACK = 50 * 3600
"""No zone repeats local times that lie further back (the longest step backwards is a day)."""

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
MONTHS = ["", *["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]]
WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]


@dataclass(frozen=True)
class Field:
    values: frozenset[int]
    starred: bool


@dataclass(frozen=True)
class Expression:
    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field

    def matches(self, wall: datetime) -> bool:
        return (
            wall.minute in self.minute.values
            and wall.hour in self.hour.values
            and wall.month in self.month.values
            and self._day_matches(wall)
        )

    def _day_matches(self, wall: datetime) -> bool:
        by_date = wall.day in self.day.values
        by_weekday = wall.isoweekday() % 7 in self.weekday.values
        if self.day.starred or self.weekday.starred:
            return by_date and by_weekday
        return by_date or by_weekday

    @property
    def is_wall_clock(self) -> bool:
        return not self.minute.starred and not self.hour.starred


@lru_cache(maxsize=4096)
def read(text: str) -> Expression:
    minute, hour, day, month, weekday = MACROS.get(text, text).split()
    return Expression(
        minute=_field(minute, low=0, high=59, names=[]),
        hour=_field(hour, low=0, high=23, names=[]),
        day=_field(day, low=1, high=31, names=[]),
        month=_field(month, low=1, high=12, names=MONTHS),
        weekday=_field(weekday, low=0, high=6, names=WEEKDAYS),
    )


def _field(text: str, *, low: int, high: int, names: list[str]) -> Field:
    values: set[int] = set()
    for item in text.split(","):
        part, _, step = item.partition("/")
        first, dash, last = part.partition("-")
        if first == "*":
            start, end = low, high
        elif dash:
            start, end = _number(first, names), _number(last, names)
        elif step:
            start, end = _number(first, names), high
            start = 0 if names is WEEKDAYS and start == 7 else start
        else:
            start = end = _number(first, names)
        values.update(range(start, end + 1, int(step or 1)))
    if names is WEEKDAYS:
        values = {value % 7 for value in values}
    everything = values == set(range(low, high + 1))
    return Field(frozenset(values), everything or any(item.startswith("*") for item in text.split(",")))


def _number(text: str, names: list[str]) -> int:
    return names.index(text.lower()) if text.lower() in names else int(text)


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    """Out of the `tzdata` package: what the machine has may be older."""
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def wall_clock(second: int, zone: str) -> datetime:
    """What a clock on the wall shows: no zone, no fold."""
    return (datetime.fromtimestamp(second, UTC).astimezone(_zone(zone))).replace(tzinfo=None, fold=0)


@lru_cache(maxsize=200_000)
def _walls(hour: int, zone: str) -> tuple[datetime, ...]:
    """The wall clock at each minute of the UTC hour that starts at `hour`."""
    return tuple(wall_clock(hour + MINUTE * minute, zone) for minute in range(60))


def _minutes(after: int, until: int, zone: str) -> Iterator[tuple[int, datetime]]:
    """Every UTC minute in (after, until], with the wall clock."""
    for hour in range(after // 3600 * 3600, until + 1, 3600):
        for index, wall in enumerate(_walls(hour, zone)):
            second = hour + MINUTE * index
            if after < second <= until:
                yield second, wall


def slots_between(text: str, zone: str, after: int, until: int) -> list[int]:
    """Every slot in (after, until], oldest first, in UTC seconds."""
    expression = read(text)
    if not expression.is_wall_clock:
        return [second for second, wall in _minutes(after, until, zone) if expression.matches(wall)]
    found = []
    shown: set[datetime] = set()
    before = None
    for second, wall in _minutes(after - LOOK_BACK, until, zone):
        comes_again = wall in shown
        due = expression.matches(wall) and not comes_again
        if before is not None and any(expression.matches(skipped) for skipped in _skipped(before, wall)):
            due = True
        if due and second > after:
            found.append(second)
        shown.add(wall)
        before = wall
    return found


def _skipped(before: datetime, wall: datetime) -> Iterator[datetime]:
    """The minutes of local time that never came between two UTC minutes that follow each other."""
    skipped = before + timedelta(minutes=1)
    while skipped < wall:
        yield skipped
        skipped += timedelta(minutes=1)


@lru_cache(maxsize=100_000)
def slots_of_day(text: str, zone: str, day: int) -> tuple[int, ...]:
    """The slots in (day, day + 24 h] for a `day` in UTC seconds: what the oracle asks again and again."""
    return tuple(slots_between(text, zone, day, day + DAY))


def slots_by_day(text: str, zone: str, after: int, until: int) -> list[int]:
    """As `slots_between`, out of days that are kept."""
    start = (after - 1) // DAY * DAY
    return [
        slot
        for day in range(start, until + 1, DAY)
        for slot in slots_of_day(text, zone, day)
        if after < slot <= until
    ]


def next_slot(text: str, zone: str, after: int, *, days: int = 400) -> int:
    """The first slot strictly after a moment."""
    start = (after - 1) // DAY * DAY
    for day in range(start, after + days * DAY, DAY):
        for slot in slots_of_day(text, zone, day):
            if slot > after:
                return slot
    raise LookupError(f"{text!r} in {zone} has no slot in {days} days")
