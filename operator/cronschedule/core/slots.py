"""Which slots exist: cron values and a zone → instants (`semantics.md §2`).

Slots are UTC seconds. Cron values are matched against *local minutes* (minutes of the wall clock, counted as if it
were UTC), and the zone's stretches of constant offset map them to UTC. Two primitives on local minutes, walking
and counting, serve everything.
"""

from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from cronschedule.core.cron import Cron, parse_cron
from cronschedule.core.zones import Stretch, load_zone, stretch_at, stretches, year_of

_DAY = 1440
_EPOCH = date(1970, 1, 1).toordinal()
_NOWHEN = Stretch(start=0, end=0, offset=0, gap=0, fresh=0)
_HORIZON_YEARS = 100
"""How far ahead a slot is looked for. Every date that comes at all comes within 40 years (29 February on a given
weekday, across a century without a leap year)."""


@dataclass(slots=True, eq=False)
class Slots:
    """The slots of one schedule text in one zone. Every bound is a UTC second; ranges are (after, until]."""

    cron: Cron
    zone: str
    _stretch: Stretch = _NOWHEN
    """The one that was of use last, most likely the next one too."""

    def after(self, moment: int) -> int | None:
        """The first slot strictly after a moment; `None` when none comes."""
        stretch = self._stretch
        if stretch.start <= moment < stretch.end:
            low, high = self._local_bounds(stretch, moment, stretch.end - 1)
            minute = _next(self.cron, low, high)
            if minute is not None:
                return minute * 60 - stretch.offset
        else:
            self._stretch = stretch_at(self.zone, moment)
        year = year_of(moment)
        return next(self._walk(moment, range(year, year + _HORIZON_YEARS)), None)

    def between(self, after: int, until: int) -> Iterator[int]:
        """The slots in (after, until], oldest first."""
        if until <= after:
            return
        for slot in self._walk(after, range(year_of(after), year_of(until) + 1)):
            if slot > until:
                return
            yield slot

    def newest_first(self, after: int, until: int) -> Iterator[int]:
        """The slots in (after, until], newest first."""
        if until <= after:
            return
        for year in range(year_of(until), year_of(after) - 1, -1):
            for stretch in reversed(stretches(self.zone, year)):
                if stretch.start <= until and stretch.end > after:
                    yield from self._stretch_backwards(stretch, after, until)

    def newest(self, after: int, until: int) -> int | None:
        """The newest slot in (after, until], or `None`."""
        return next(self.newest_first(after, until), None)

    def count(self, after: int, until: int) -> int:
        """How many slots there are in (after, until]; never walks them."""
        if until <= after:
            return 0
        total = 0
        for year in range(year_of(after), year_of(until) + 1):
            for stretch in stretches(self.zone, year):
                if stretch.start <= until and stretch.end > after:
                    low, high = self._local_bounds(stretch, after, until)
                    total += _count(self.cron, low, high)
                    total += after < stretch.start and self._gap_slot(stretch)
        return total

    def _walk(self, after: int, years: range) -> Iterator[int]:
        """All slots after a moment, oldest first, through the given UTC years."""
        for year in years:
            for stretch in stretches(self.zone, year):
                if stretch.end <= after:
                    continue
                if after < stretch.start and self._gap_slot(stretch):
                    yield stretch.start
                low, high = self._local_bounds(stretch, after, stretch.end - 1)
                minute = _next(self.cron, low, high)
                while minute is not None:
                    yield minute * 60 - stretch.offset
                    minute = _next(self.cron, minute + 1, high)

    def _stretch_backwards(self, stretch: Stretch, after: int, until: int) -> Iterator[int]:
        low, high = self._local_bounds(stretch, after, until)
        minute = _previous(self.cron, high - 1, low)
        while minute is not None:
            yield minute * 60 - stretch.offset
            minute = _previous(self.cron, minute - 1, low)
        if after < stretch.start <= until and self._gap_slot(stretch):
            yield stretch.start

    def _local_bounds(self, stretch: Stretch, after: int, until: int) -> tuple[int, int]:
        """The local minutes [low, high) of a stretch that count, within (after, until]."""
        low = max(stretch.start, after + 1) + stretch.offset
        if self.cron.wall_clock:
            low = max(low, stretch.fresh)
        high = min(stretch.end - 1, until) + stretch.offset
        return -(-low // 60), high // 60 + 1

    def _gap_slot(self, stretch: Stretch) -> bool:
        """Whether local times that were skipped give a slot at the start of this stretch, and it isn't one anyway."""
        landed = stretch.start + stretch.offset
        if not self.cron.wall_clock or stretch.gap >= landed:
            return False
        if landed % 60 == 0 and _next(self.cron, landed // 60, landed // 60 + 1) is not None:
            return False
        return _next(self.cron, -(-stretch.gap // 60), -(-landed // 60)) is not None


@lru_cache(maxsize=20_000)
def slots_of(expression: str, zone: str) -> Slots:
    """The slots of a schedule text and a zone name. Raises `CronError` or `UnknownTimeZone`."""
    load_zone(zone)
    return Slots(parse_cron(expression), zone)


# Local minutes: no zone from here on.


@lru_cache(maxsize=50_000)
def _month_days(cron: Cron, year: int, month: int) -> int:
    """The matching days of a month as a bit mask, bit n = day n."""
    if not cron.months >> month & 1:
        return 0
    first, length = monthrange(year, month)
    first = (first + 1) % 7  # Sunday is 0
    week = (cron.weekdays >> first | cron.weekdays << (7 - first)) & 0x7F
    by_weekday = sum(week << shift for shift in range(1, 32, 7))
    days = cron.days | by_weekday if cron.either_day else cron.days & by_weekday
    return days & ((1 << length + 1) - 2)


def _next(cron: Cron, low: int, high: int) -> int | None:
    """The first matching local minute in [low, high)."""
    if low >= high:
        return None
    times = cron.times
    day, minute = divmod(low, _DAY)
    today = date.fromordinal(_EPOCH + day)
    if _month_days(cron, today.year, today.month) >> today.day & 1:
        at = bisect_left(times, minute)
        if at < len(times):
            found = day * _DAY + times[at]
            return found if found < high else None
    next_day = _next_day(cron, today, until=(high - 1) // _DAY)
    if next_day is None:
        return None
    found = next_day * _DAY + times[0]
    return found if found < high else None


def _next_day(cron: Cron, day: date, *, until: int) -> int | None:
    """The first matching day after `day` and up to `until`, in days since 1970."""
    year, month, after = day.year, day.month, day.day
    while True:
        rest = _month_days(cron, year, month) >> (after + 1)
        if rest:
            first = after + 1 + ((rest & -rest).bit_length() - 1)
            return date(year, month, first).toordinal() - _EPOCH
        year, month, after = (year + 1, 1, 0) if month == 12 else (year, month + 1, 0)
        if date(year, month, 1).toordinal() - _EPOCH > until:
            return None


def _previous(cron: Cron, high: int, low: int) -> int | None:
    """The last matching local minute in [low, high], walking back."""
    if high < low:
        return None
    times = cron.times
    day, minute = divmod(high, _DAY)
    today = date.fromordinal(_EPOCH + day)
    if _month_days(cron, today.year, today.month) >> today.day & 1:
        at = bisect_right(times, minute)
        if at:
            found = day * _DAY + times[at - 1]
            return found if found >= low else None
    previous_day = _previous_day(cron, today, since=low // _DAY)
    if previous_day is None:
        return None
    found = previous_day * _DAY + times[-1]
    return found if found >= low else None


def _previous_day(cron: Cron, day: date, *, since: int) -> int | None:
    """The last matching day before `day` and from `since` on, in days since 1970."""
    year, month, before = day.year, day.month, day.day
    while True:
        rest = _month_days(cron, year, month) & ((1 << before) - 1)
        if rest:
            return date(year, month, rest.bit_length() - 1).toordinal() - _EPOCH
        if date(year, month, 1).toordinal() - _EPOCH <= since:
            return None
        year, month, before = (year - 1, 12, 32) if month == 1 else (year, month - 1, 32)


def _count(cron: Cron, low: int, high: int) -> int:
    """How many local minutes in [low, high) match."""
    if low >= high:
        return 0
    times = cron.times
    first, first_minute = divmod(low, _DAY)
    last, last_minute = divmod(high, _DAY)
    total = _count_days(cron, first, last) * len(times)
    total -= _matches_day(cron, first) * bisect_left(times, first_minute)
    return total + _matches_day(cron, last) * bisect_left(times, last_minute)


def _matches_day(cron: Cron, day: int) -> int:
    on = date.fromordinal(_EPOCH + day)
    return _month_days(cron, on.year, on.month) >> on.day & 1


def _count_days(cron: Cron, first: int, last: int) -> int:
    """How many days in [first, last), counted since 1970, match."""
    start, end = date.fromordinal(_EPOCH + first), date.fromordinal(_EPOCH + last)
    year, month, total = start.year, start.month, 0
    while (year, month) <= (end.year, end.month):
        days = _month_days(cron, year, month)
        if (year, month) == (start.year, start.month):
            days &= -1 << start.day
        if (year, month) == (end.year, end.month):
            days &= (1 << end.day) - 1
        total += days.bit_count()
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    return total
