"""A user's mistake as a value: where it is, and a sentence that says what was found and what is allowed.

    Mistake(path="spec.catchUp.maxRuns", message="101 is above the maximum, 100")

`read_spec` reads a user's spec, `read_status` the operator's status; neither raises. `mistakes_from` serves
other pydantic models, such as the input of `simulate`. What cron text and zone mean is checked in `core`.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from cronschedule.api.v1alpha1 import CronScheduleSpec, CronScheduleStatus

KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "list_type": "a list",
    "tuple_type": "a list",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Mistake:
    """`path` in camelCase with dots and [indices], `message` without the path; `str()` joins them."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def read_spec(
    raw: Mapping[str, Any],
    *,
    unknown: Literal["refuse", "ignore"],
    template: Literal["required", "optional"] = "required",
    path: str = "spec",
) -> CronScheduleSpec | list[Mistake]:
    """The spec with its defaults, or every mistake in its shape (`api.md`), not in the cron text or the zone.

    The operator ignores unknown keys (a newer CRD may have more), the command line refuses them. With an
    optional template a missing one reads as an empty Job. `path` is where the spec was found.
    """
    given = dict(raw) if isinstance(raw, Mapping) else raw
    if template == "optional" and isinstance(given, dict) and given.get("jobTemplate") is None:
        given["jobTemplate"] = {"spec": {}}
    try:
        return CronScheduleSpec.model_validate(given, extra=_EXTRA[unknown], by_name=False, by_alias=True)
    except ValidationError as error:
        return mistakes_from(error, model=CronScheduleSpec, path=path)


def read_status(raw: Mapping[str, Any]) -> CronScheduleStatus | list[Mistake]:
    """The status with its defaults; a missing one is the empty mapping. Unknown keys are ignored."""
    try:
        return CronScheduleStatus.model_validate(dict(raw), by_name=False, by_alias=True)
    except ValidationError as error:
        return mistakes_from(error, model=CronScheduleStatus, path="status")


_EXTRA: dict[str, Literal["forbid", "ignore"]] = {"refuse": "forbid", "ignore": "ignore"}


def mistakes_from(error: ValidationError, *, model: type[BaseModel], path: str = "") -> list[Mistake]:
    """One mistake per error, in pydantic's order. `path` comes before the place inside the `model`."""
    return [_mistake(detail, model=model, path=path) for detail in error.errors(include_url=False)]


def _mistake(detail: ErrorDetails, *, model: type[BaseModel], path: str) -> Mistake:
    place = path
    for step in detail["loc"]:
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else step
    return Mistake(path=place, message=_sentence(detail, model))


def _sentence(detail: ErrorDetails, model: type[BaseModel]) -> str:
    kind, value, facts = detail["type"], detail["input"], detail.get("ctx", {})
    if kind in KINDS:
        return f"{_short(value)} is not {KINDS[kind]}"
    match kind:
        case "missing":
            return "is required"
        case "extra_forbidden":
            return _unknown_key(str(detail["loc"][-1]), _keys_at(model, detail["loc"][:-1]))
        case "literal_error":
            return f"{_short(value)} is not one of {facts['expected'].replace(chr(39), '')}"
        case "greater_than_equal":
            return f"{value} is below the minimum, {facts['ge']}"
        case "less_than_equal":
            return f"{value} is above the maximum, {facts['le']}"
        case "string_too_long":
            return f"is {len(value)} characters long: at most {facts['max_length']} are allowed"
        case "too_long":
            return f"has {facts['actual_length']} items: at most {facts['max_length']} are allowed"
        case "value_error":
            return str(facts["error"])
        case _:
            return detail["msg"]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _unknown_key(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    return "is not a known key" + (
        f": did you mean {close[0]}?" if close else f": allowed are {', '.join(known)}"
    )


def _keys_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """The JSON keys of the part of `model` that `loc` leads to."""
    part: Any = model
    for step in loc:
        fields = {field.alias or name: field for name, field in part.model_fields.items()}
        annotation = fields[str(step)].annotation if not isinstance(step, int) else part
        candidates = (annotation, *get_args(annotation))
        part = next((a for a in candidates if isinstance(a, type) and issubclass(a, BaseModel)), part)
    return [field.alias or name for name, field in part.model_fields.items()]
