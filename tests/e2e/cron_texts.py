"""Cron texts by the hundred, right and wrong ones, the same for the same seed."""

from __future__ import annotations

from random import Random

MACROS = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")
NO_MACROS = ("@reboot", "@every 5m", "@Hourly", "@hourly *", "@", "@hourly@daily")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
FIELDS = ((0, 59, ()), (0, 23, ()), (1, 31, ()), (1, 12, MONTHS), (0, 7, WEEKDAYS))
NO_VALUES = ("", "-1", "+1", "x", "L", "?", "#", "W", "H", "R", "~", "1.5", "1_0", "janfeb", "99", "*")
SIGNS = "*/-, \t\nLW#?HR~é@+._=x0123456789\x0b\x7f"

LATE_DAYS = ("30", "31", "30-31", "30/2", "31/3", "31/1", "030", "29")
LATE_MONTHS = (
    "2",
    "feb",
    "4",
    "2-4/2",
    "2-6/2",
    "4-11/2",
    "9/2",
    "6/5",
    "2/10",
    "2/11",
    "jun",
    "nov/2",
    "*/5",
    "*",
)
LATE_WEEKDAYS = (
    "*",
    "0-6",
    "1-7",
    "*/2",
    "0-3,4-6",
    "1",
    "mon-fri",
    "1-6,0",
    "0-6/2,1-5/2",
    "7/2",
    "7/1",
    "1,*/3",
)


def cron_texts(*, count: int, seed: int) -> list[str]:
    """A bit more than a third of them are right. One in five asks for days that may never come."""
    random = Random(seed)
    return [_spoilt(random, _text(random)) for _ in range(count)]


def _text(random: Random) -> str:
    kind = random.random()
    if kind < 0.05:
        return random.choice(MACROS + NO_MACROS)
    if kind < 0.25:
        days, months, weekdays = (_list(random, items) for items in (LATE_DAYS, LATE_MONTHS, LATE_WEEKDAYS))
        return f"0 0 {days} {months} {weekdays}"
    blank = random.choice([" ", " ", " ", "  ", "\t", " \t "])
    return blank.join(_field(random, *field) for field in FIELDS)


def _list(random: Random, items: tuple[str, ...]) -> str:
    return ",".join(random.choice(items) for _ in range(random.choice([1, 1, 2])))


def _field(random: Random, low: int, high: int, names: tuple[str, ...]) -> str:
    if random.random() < 0.3:
        return "*"
    return ",".join(_item(random, low, high, names) for _ in range(random.choice([1, 1, 1, 1, 2, 3, 4])))


def _item(random: Random, low: int, high: int, names: tuple[str, ...]) -> str:
    first, last = (_value(random, low, high, names) for _ in range(2))
    if first.isdecimal() and last.isdecimal() and random.random() < 0.8:
        first, last = sorted((first, last), key=int)
    base = random.choice([first, first, f"{first}-{last}", "*"])
    step = random.choice(["", "", f"/{random.choice([1, 2, 5, 7, 12, 24, 31, random.randint(0, 65)])}"])
    return base + (step or "/2" if base == "*" else step)


def _value(random: Random, low: int, high: int, names: tuple[str, ...]) -> str:
    kind = random.random()
    if kind < 0.04:
        return random.choice(NO_VALUES)
    if names and kind < 0.3:
        name = random.choice(names)
        return random.choice([name, name.upper(), name.title()])
    return random.choice(["", "", "", "0"]) + str(random.randint(low, high + (1 if kind > 0.97 else 0)))


def _spoilt(random: Random, text: str) -> str:
    """The text, or one in ten times with something that does not belong there."""
    kind = random.random()
    if kind < 0.03:
        return random.choice(
            [f"{text} *", text.rpartition(" ")[0], f"TZ=UTC {text}", f"CRON_TZ=Etc/UTC {text}"]
        )
    if kind < 0.1:
        place = random.randint(0, len(text))
        return text[:place] + random.choice(SIGNS) + text[place:]
    return text
