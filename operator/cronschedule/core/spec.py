"""A user's spec → one that can be scheduled, or every mistake in it.

The shape (types, bounds, combinations) is checked by `api`, what the cron text and the zone mean is checked here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cronschedule.api.mistakes import Mistake, read_spec
from cronschedule.api.names import LONGEST_NAME
from cronschedule.api.v1alpha1 import CronScheduleSpec
from cronschedule.core.cron import CronError, parse_cron
from cronschedule.core.slots import Slots, slots_of
from cronschedule.core.zones import UnknownTimeZone, load_zone

_NAME = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*"


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedulable:
    """A spec without mistakes, and its slots."""

    spec: CronScheduleSpec
    slots: Slots


def read_schedulable(
    raw: Mapping[str, Any],
    *,
    name: str | None = None,
    unknown: Literal["refuse", "ignore"],
    template: Literal["required", "optional"] = "required",
    path: str = "spec",
) -> Schedulable | list[Mistake]:
    """All that `semantics.md §2` and the API's bounds refuse, as mistakes. See `read_spec` for the options."""
    mistakes = name_mistakes(name, "metadata.name") if name is not None else []
    read = read_spec(raw, unknown=unknown, template=template, path=path)
    if isinstance(read, list):
        return mistakes + read + _meaning(raw, path)
    mistakes += _meaning({"schedule": read.schedule, "timeZone": read.time_zone}, path)
    if mistakes:
        return mistakes
    return Schedulable(spec=read, slots=slots_of(read.schedule, read.time_zone))


def name_mistakes(name: str, path: str) -> list[Mistake]:
    """What is wrong with the name of a CronSchedule (`semantics.md §6`, invalid spec)."""
    mistakes = []
    if len(name) > LONGEST_NAME:
        message = (
            f"has {len(name)} characters; at most {LONGEST_NAME} are allowed, as the names of the Jobs add 11"
        )
        mistakes.append(Mistake(path=path, message=message))
    if not re.fullmatch(_NAME, name):
        message = f"{name!r} is no name of an object: lower-case letters, digits, - and . are allowed"
        mistakes.append(Mistake(path=path, message=message))
    return mistakes


def _meaning(raw: Mapping[str, Any], path: str) -> list[Mistake]:
    """The mistakes in the meaning of cron text and zone, where they are texts at all."""
    mistakes = []
    schedule = raw.get("schedule") if isinstance(raw, Mapping) else None
    zone = raw.get("timeZone") if isinstance(raw, Mapping) else None
    if isinstance(schedule, str):
        try:
            parse_cron(schedule)
        except CronError as error:
            mistakes.append(Mistake(path=f"{path}.schedule", message=str(error)))
    if isinstance(zone, str):
        try:
            load_zone(zone)
        except UnknownTimeZone as error:
            mistakes.append(Mistake(path=f"{path}.timeZone", message=str(error)))
    return mistakes
