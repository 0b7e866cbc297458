"""Cron texts to try, and what they allow, as sets: by the parser and by the scan's own reading."""

from hypothesis import strategies as st
from scan import read

from cronschedule.core.cron import FIELDS, Cron, CronError, parse_cron

NAMES = ["minute", "hour", "day-of-month", "month", "day-of-week"]
Values = tuple[set[tuple[int, int]], set[int], set[int], set[int]]
"""Times of day as (hour, minute), days, months, weekdays."""


def text_with(field: str, item: str) -> str:
    """A text whose one field is as given and whose others allow something every day."""
    fields = ["0", "0", "1", "1", "1"]
    fields[NAMES.index(field)] = item
    if field == "day-of-week":
        fields[2] = "*"
    return " ".join(fields)


def parsed(text: str) -> Cron | str:
    """What the text allows, or why it is refused."""
    try:
        return parse_cron(text)
    except CronError as error:
        return str(error)


def as_sets(cron: Cron) -> Values:
    return (
        {divmod(time, 60) for time in cron.times},
        _bits(cron.days),
        _bits(cron.months),
        _bits(cron.weekdays),
    )


def _bits(mask: int) -> set[int]:
    return {bit for bit in range(mask.bit_length()) if mask >> bit & 1}


def scanned(text: str) -> Values:
    expression = read(text)
    times = {(hour, minute) for hour in expression.hour.values for minute in expression.minute.values}
    return times, set(expression.day.values), set(expression.month.values), set(expression.weekday.values)


def _item(low: int, high: int, size: int, names: list[str]) -> st.SearchStrategy[str]:
    value = st.integers(low, high).map(str) | st.integers(low, high).map(lambda n: f"{n:02}")
    value = value | st.sampled_from(names) if names else value
    pair = st.tuples(st.integers(low, high), st.integers(low, high)).filter(lambda ends: ends[0] < ends[1])
    stretch = pair.map(lambda ends: f"{ends[0]}-{ends[1]}")
    step = st.integers(1, size).map(lambda n: f"/{n}")
    stepped = st.builds(str.__add__, st.just("*") | stretch | value.filter(lambda text: text != "7"), step)
    return st.one_of(value, stretch, stepped)


def _field(name: str) -> st.SearchStrategy[str]:
    field = next(field for field in FIELDS if field.name == name)
    item = _item(field.low, field.high, field.size, list(field.names))
    return st.just("*") | st.lists(item, min_size=1, max_size=4).map(",".join)


TEXTS = st.tuples(*map(_field, NAMES)).map(" ".join).filter(lambda text: len(text) <= 100)
"""Right texts, save for some whose dates never come."""
