"""A scenario out of a file, a live schedule and the flags of `simulate`: the raw data that `core.scenario` reads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from cronschedule.api.shapes import format_time
from cronschedule.cli import words
from cronschedule.cli.errors import InputError
from cronschedule.core.scenario import read_scenario
from cronschedule.core.simulation import Scenario
from cronschedule.core.zones import zone_names

T = TypeVar("T")
DAY = 86400


@dataclass(frozen=True, kw_only=True, slots=True)
class Flags:
    """What was written on the command line, as text."""

    start: str | None = None
    end: str | None = None
    down: Sequence[str] = ()
    suspended: Sequence[str] = ()
    run_duration: str | None = None


def scenario_of(raw: object, flags: Flags, now: int) -> Scenario:
    """The scenario; `raw` is one, or a CronSchedule manifest. Raises `InputError` with every mistake.

    A manifest has no `from` and `to`: left out on the command line too, it is 24 hours, from now or from the
    first of the windows given.
    """
    manifest = isinstance(raw, Mapping) and "kind" in raw and "schedule" not in raw
    data: Any = {"schedule": raw} if manifest else raw
    if isinstance(data, Mapping):
        data = _with_flags(data, flags, now, with_default_times=manifest)
    scenario = read_scenario(data)
    if isinstance(scenario, Scenario):
        return scenario
    raise InputError(scenario)


def _with_flags(
    data: Mapping[str, Any], flags: Flags, now: int, *, with_default_times: bool
) -> dict[str, Any]:
    zone = zone_of(data.get("schedule"))
    mistakes: list[str] = []

    def read(option: str, parse: Callable[..., T], text: str) -> T | None:
        try:
            return parse(text, zone=zone, now=now)
        except ValueError as error:
            mistakes.append(f"{option}: {error}")
            return None

    start = read("--from", words.parse_moment, flags.start) if flags.start is not None else None
    end = read("--to", words.parse_moment, flags.end) if flags.end is not None else None
    down = [read("--down", words.parse_window, text) for text in flags.down]
    suspended = [read("--suspended", words.parse_window, text) for text in flags.suspended]
    if mistakes:
        raise InputError(mistakes)
    if with_default_times:
        windows = [window for window in (*down, *suspended) if window is not None]
        start = start if start is not None else min([now, *(window[0] for window in windows)])
        end = end if end is not None else max([start + DAY, *(window[1] + DAY // 24 for window in windows)])
    merged = dict(data)
    for key, moment in (("from", start), ("to", end)):
        if moment is not None:
            merged[key] = format_time(moment)
    for key, found in (("operatorDown", down), ("tenantSuspended", suspended)):
        given = merged.get(key)
        if found and (given is None or isinstance(given, list)):
            merged[key] = [*(given or []), *(_window(window) for window in found if window is not None)]
    if flags.run_duration is not None:
        text = flags.run_duration
        merged["runDuration"] = int(text) if text.isdecimal() and len(text) < 10 else text
    return merged


def _window(window: tuple[int, int]) -> dict[str, str]:
    return {"from": format_time(window[0]), "to": format_time(window[1])}


def zone_of(schedule: object) -> str:
    """The time zone of a manifest or bare spec, Etc/UTC where it has none that is known."""
    spec = schedule.get("spec", schedule) if isinstance(schedule, Mapping) else None
    zone = spec.get("timeZone") if isinstance(spec, Mapping) else None
    return zone if isinstance(zone, str) and zone in zone_names() else "Etc/UTC"
