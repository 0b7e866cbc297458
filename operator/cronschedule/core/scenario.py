"""What a person writes for a simulation → a `Scenario`, or every mistake in it; and the answer as plain data.

Pure: the text was read as YAML or JSON before, and nothing is printed here.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from cronschedule.api.mistakes import Mistake, mistakes_from
from cronschedule.api.names import API_VERSION, KIND
from cronschedule.api.shapes import Shape, WrittenInstant, format_time, parse_duration
from cronschedule.api.v1alpha1 import CronScheduleSpec
from cronschedule.core.facts import DEFAULT_MISFIRE_THRESHOLD
from cronschedule.core.simulation import Decided, Outcome, Scenario, merge_windows
from cronschedule.core.spec import Schedulable, name_mistakes, read_schedulable
from cronschedule.core.zones import EARLIEST, LATEST

MISFIRE_THRESHOLD_BOUNDS = (1, 600)
"""What the operator setting `misfireThreshold` may be, in seconds (`semantics.md §1`)."""


def _threshold(value: object) -> int:
    seconds = parse_duration(value)
    low, high = MISFIRE_THRESHOLD_BOUNDS
    if not low <= seconds <= high:
        raise ValueError(f"{value!r} is out of range: 1s to 10m is allowed")
    return seconds


def _span(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        if isinstance(value, float) or (isinstance(value, str) and value.startswith("-")):
            raise ValueError(
                f"{value!r} is not allowed: whole seconds from 0 on, or a duration such as 90s or 5m"
            )
        return parse_duration(value)
    if value < 0:
        raise ValueError(
            f"{value} is negative: whole seconds from 0 on, or a duration such as 90s or 5m, is allowed"
        )
    return value


def _within_calendar(moment: int) -> int:
    if not EARLIEST <= moment <= LATEST:
        allowed = f"{format_time(EARLIEST)} to {format_time(LATEST)}"
        raise ValueError(f"{format_time(moment)} is out of range: {allowed} is allowed")
    return moment


_Moment = Annotated[WrittenInstant, AfterValidator(_within_calendar)]


class _Window(Shape):
    from_: WrittenInstant = Field(alias="from")
    to: WrittenInstant

    @model_validator(mode="after")
    def _in_order(self) -> "_Window":
        if self.to < self.from_:
            raise ValueError(f"to, {format_time(self.to)}, is before from, {format_time(self.from_)}")
        return self


class _Edit(Shape):
    at: WrittenInstant
    spec: dict[str, Any]


class _Settings(Shape):
    misfire_threshold: Annotated[int, BeforeValidator(_threshold)] = DEFAULT_MISFIRE_THRESHOLD


class _Input(Shape):
    schedule: dict[str, Any]
    from_: _Moment = Field(alias="from")
    to: _Moment
    operator_down: tuple[_Window, ...] = ()
    tenant_suspended: tuple[_Window, ...] = ()
    run_duration: Annotated[int, BeforeValidator(_span)] = 0
    edits: tuple[_Edit, ...] = ()
    settings: _Settings = Field(default_factory=_Settings)


class _Metadata(Shape):
    name: str


def read_scenario(raw: object) -> Scenario | list[Mistake]:
    """The scenario of `simulate -f`, or every mistake: path, what was found, what is allowed."""
    if not isinstance(raw, Mapping):
        return [Mistake(path="scenario", message="is not a mapping of keys to values")]
    mistakes: list[Mistake] = []
    try:
        read = _Input.model_validate(dict(raw), extra="forbid", by_name=False, by_alias=True)
    except ValidationError as error:
        read, mistakes = None, mistakes_from(error, model=_Input)
    given = raw.get("schedule")
    if not isinstance(given, Mapping):
        return mistakes
    name, path, spec, found = _manifest(given)
    mistakes += found
    edits = read.edits if read is not None else ()
    specs, found = _specs(spec, path, edits, start=read.from_ if read is not None else 0)
    mistakes += found
    if read is not None and read.to < read.from_:
        mistakes.append(
            Mistake(path="to", message=f"{format_time(read.to)} is before from, {format_time(read.from_)}")
        )
    if mistakes or read is None:
        return mistakes
    return Scenario(
        name=name,
        specs=specs,
        start=read.from_,
        end=read.to,
        operator_down=merge_windows([(w.from_, w.to) for w in read.operator_down]),
        tenant_suspended=merge_windows([(w.from_, w.to) for w in read.tenant_suspended]),
        run_duration=read.run_duration,
        misfire_threshold=read.settings.misfire_threshold,
    )


def _manifest(given: Mapping[str, Any]) -> tuple[str, str, Mapping[str, Any], list[Mistake]]:
    """Name, path and text of the spec in a manifest or a bare spec."""
    if not {"apiVersion", "kind", "metadata", "spec"} & given.keys():
        return "schedule", "schedule", given, []
    mistakes = [
        Mistake(
            path=f"schedule.{key}", message=f"{given.get(key)!r} is not {wanted}, the only one allowed here"
        )
        for key, wanted in (("apiVersion", API_VERSION), ("kind", KIND))
        if given.get(key) != wanted
    ]
    known = ("apiVersion", "kind", "metadata", "spec", "status")
    mistakes += [
        Mistake(path=f"schedule.{key}", message=f"is not a known key: allowed are {', '.join(known)}")
        for key in given
        if key not in known
    ]
    metadata, spec = given.get("metadata"), given.get("spec")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if not isinstance(name, str) or not name:
        mistakes.append(Mistake(path="schedule.metadata.name", message="is required"))
    else:
        mistakes += name_mistakes(name, "schedule.metadata.name")
    if not isinstance(spec, Mapping):
        mistakes.append(Mistake(path="schedule.spec", message="is required"))
    return str(name), "schedule.spec", spec if isinstance(spec, Mapping) else {}, mistakes


def _specs(
    spec: Mapping[str, Any], path: str, edits: Sequence[_Edit], *, start: int
) -> tuple[list[tuple[int, CronScheduleSpec]], list[Mistake]]:
    """The specs over time, in order: the first, and what each edit makes of it (those up to the start in it)."""
    mistakes: list[Mistake] = []
    specs: list[tuple[int, CronScheduleSpec]] = []

    def add(at: int, raw: Mapping[str, Any], where: str) -> None:
        read = read_schedulable(raw, unknown="refuse", template="optional", path=where)
        if isinstance(read, Schedulable):
            specs.append((at, read.spec))
        else:
            mistakes.extend(read)

    add(start, spec, path)
    current: Any = spec
    for position, edit in sorted(enumerate(edits), key=lambda pair: pair[1].at):
        current = merge_patch(current, edit.spec)
        add(max(edit.at, start), current, f"edits[{position}].spec")
    return specs, list(dict.fromkeys(mistakes))


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7396: `patch` over `target`, where null takes a key away."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def to_data(outcome: Outcome) -> dict[str, Any]:
    """The answer as JSON data: one element per slot, `nextScheduleTime` absent while suspended."""
    data: dict[str, Any] = {
        "decisions": [decision_data(decided) for decided in outcome.decisions],
        "counts": {"runs": outcome.runs, "skipped": outcome.skipped},
        "lastDecidedTime": format_time(outcome.last_decided),
        "waiting": [format_time(slot) for slot in outcome.waiting],
    }
    if outcome.next_slot is not None:
        data["nextScheduleTime"] = format_time(outcome.next_slot)
    return data


def decision_data(decided: Decided) -> dict[str, Any]:
    """One element of `decisions`."""
    row: dict[str, Any] = {"slot": format_time(decided.slot)}
    run = decided.run
    if run is None:
        return row | {"decision": "Skipped", "reason": decided.reason, "decidedAt": format_time(decided.at)}
    row |= {
        "decision": "Run",
        "trigger": run.start.trigger,
        "decidedAt": format_time(decided.at),
        "outcome": run.outcome,
    }
    if run.ended is not None:
        row["endedAt"] = format_time(run.ended)
    if run.start.count > 1:
        row["standsFor"] = {
            "count": run.start.count,
            "first": format_time(run.start.first),
            "last": format_time(run.start.slot),
        }
    return row
