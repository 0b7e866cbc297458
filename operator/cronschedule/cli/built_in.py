"""How the built-in CronJob reads cron text (robfig/cron), where that differs from `semantics.md §2`.

Its star is a bit that `*`, `?`, `*/1` set and `*/2` does not; a day matches when both day fields do if either has
the bit, and else when either does.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from cronschedule.core.cron import FIELDS, MACROS, CronError, parse_cron
from cronschedule.core.zones import load_zone

DAY_OF_MONTH, DAY_OF_WEEK = 2, 4
_ZONE = re.compile(r"(?:CRON_)?TZ=(\S+)\s+(.*)", re.DOTALL)
_EVERY = re.compile(r"@every\s+((?:[0-9.]+(?:h|ms|m|s|us|µs|ns))+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Translated:
    """Cron text that means here what the CronJob's meant there, its zone if the text named one, and what changed."""

    text: str
    zone: str | None
    changes: tuple[str, ...]


def local_day(slot: int, zone: str) -> str:
    return f"{datetime.fromtimestamp(slot, load_zone(zone)):%Y-%m-%d}"


def reads_days_otherwise(text: str) -> bool:
    """Whether the built-in CronJob would run this text (legal here) on other days."""
    fields = text.split()
    if len(fields) != len(FIELDS):
        return False
    cron = parse_cron(text)
    if not _restricts(fields[DAY_OF_MONTH], DAY_OF_MONTH) and not _restricts(
        fields[DAY_OF_WEEK], DAY_OF_WEEK
    ):
        return False
    either = not _has_star_bit(fields[DAY_OF_MONTH]) and not _has_star_bit(fields[DAY_OF_WEEK])
    return either != cron.either_day


def _has_star_bit(field: str) -> bool:
    return any(re.fullmatch(r"[*?](-[^/]*)?(/0*1)?", item) for item in field.split(","))


def _restricts(field: str, index: int) -> bool:
    """Whether a field leaves out any of its values."""
    texts = ["*"] * len(FIELDS)
    texts[index] = field
    cron = parse_cron(" ".join(texts))
    mask = cron.days if index == DAY_OF_MONTH else cron.weekdays
    return mask.bit_count() < FIELDS[index].size


def translate(text: str) -> Translated:
    """Cron text of a CronJob → ours. Raises `CronError` with what to write instead."""
    zone, changed = None, []
    match = _ZONE.fullmatch(text.strip())
    if match is not None:
        zone, text = match[1], match[2]
        changed.append(f"the zone {zone} moves from the text into timeZone")
    text = text.strip()
    if text.startswith("@"):
        return Translated(text=_macro(text), zone=zone, changes=tuple(changed))
    fields = text.split()
    if len(fields) != len(FIELDS):
        parse_cron(text)
    for index, field in enumerate(fields):
        fields[index] = ",".join(_item(item, index) for item in field.split(",") if item)
        if "*" in fields[index].split(","):
            fields[index] = "*"
        if fields[index] != field:
            changed.append(f"{FIELDS[index].name}: {field} is written {fields[index]}")
    changed += _keep_days(fields, text.split())
    translated = " ".join(fields)
    parse_cron(translated)
    return Translated(text=translated, zone=zone, changes=tuple(changed))


def _macro(text: str) -> str:
    if text in MACROS:
        return text
    if (every := _EVERY.fullmatch(text)) is not None:
        raise CronError(
            f"@every {every[1]} counts from the last run, and a cron schedule has fixed times: write those"
            + _fixed_times(every[1])
        )
    parse_cron(text)
    raise CronError(f"{text!r} is not understood")


def _fixed_times(every: str) -> str:
    """A schedule that comes as often, where an hour or a day can be divided so."""
    minutes = re.fullmatch(r"([0-9]+)m(?:0s)?", every)
    hours = re.fullmatch(r"([0-9]+)h(?:0m)?(?:0s)?", every)
    if minutes and 0 < int(minutes[1]) < 60 and 60 % int(minutes[1]) == 0:
        return f", such as '*/{int(minutes[1])} * * * *'"
    if hours and 0 < int(hours[1]) < 24 and 24 % int(hours[1]) == 0:
        return f", such as '0 */{int(hours[1])} * * *'"
    return ""


def _item(item: str, index: int) -> str:
    """One list item as we allow it, with the same values."""
    field = FIELDS[index]
    base, slash, step = item.partition("/")
    base = base.replace("?", "*").replace("+", "")
    if base.startswith("*-"):
        base = "*"
    low, dash, high = base.partition("-")
    if dash and _number(low, index) is not None and _number(low, index) == _number(high, index):
        return low
    if not slash or not step.isdecimal() or int(step) <= field.size:
        return base + (f"/{step}" if slash else "")
    first = field.low if base == "*" else low
    return str(first)


def _number(text: str, index: int) -> int | None:
    return int(text) if text.isdecimal() else FIELDS[index].names.get(text.lower())


def _keep_days(fields: list[str], original: list[str]) -> list[str]:
    """Write the day fields so that the same days match; what was rewritten."""
    day, week = DAY_OF_MONTH, DAY_OF_WEEK
    either = not _has_star_bit(original[day]) and not _has_star_bit(original[week])
    parse_cron(" ".join(fields))
    if not either or parse_cron(" ".join(fields)).either_day:
        return []
    if not _restricts(fields[day], day) or not _restricts(fields[week], week):
        if fields[day] == fields[week] == "*":
            return []
        before = f"{fields[day]} and {fields[week]}"
        fields[day] = fields[week] = "*"
        return [f"day fields: either of {before} matches every day there, written * here"]
    said = []
    for index in (day, week):
        spread = re.sub(r"\*/", "1-31/" if index == day else "0-6/", fields[index])
        if spread != fields[index]:
            said.append(
                f"{FIELDS[index].name}: {fields[index]} is written {spread}, so that either day field matches"
            )
            fields[index] = spread
    return said
