"""What all parts of the API share: durations and times as text and as numbers, and the base of the models.

In Python a duration is whole seconds and an instant is Unix seconds in UTC; in JSON they are `1h30m` and
RFC 3339 with `Z`.
"""

import re
from collections.abc import Sized
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel

DURATION_PATTERN = "([0-9]+h([0-9]+m)?([0-9]+s)?|[0-9]+m([0-9]+s)?|[0-9]+s)"
DURATION_SHAPE = "whole hours, minutes and seconds in this order, such as 90s, 30m or 1h30m"
DURATION_LENGTH = 32
TIME_PATTERN = (
    "[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?"
    "([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
)
UNITS = {"h": 3600, "m": 60, "s": 1}


def parse_duration(text: object) -> int:
    """Seconds in `1h30m`. ValueError, as a sentence for the user, for anything but `api.md`'s durations."""
    if not isinstance(text, str) or len(text) > DURATION_LENGTH or not re.fullmatch(DURATION_PATTERN, text):
        raise ValueError(f"{text!r} is not a duration: write {DURATION_SHAPE}")
    return sum(int(number) * UNITS[unit] for number, unit in re.findall("([0-9]+)([hms])", text))


def format_duration(seconds: int) -> str:
    """`1h30m` for 5400: the shortest text that `parse_duration` reads as so many seconds."""
    minutes, rest = divmod(seconds, 60)
    parts = (*divmod(minutes, 60), rest)
    return "".join(f"{number}{unit}" for number, unit in zip(parts, UNITS, strict=True) if number) or "0s"


def parse_time(text: object) -> int:
    """Unix seconds of an RFC 3339 text, fractions dropped. ValueError, as a sentence, for anything else."""
    mistake = f"{text!r} is not a time with Z or an offset, such as 2026-03-29T01:00:00Z"
    if not isinstance(text, str) or not re.fullmatch(TIME_PATTERN, text):
        raise ValueError(mistake)
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        raise ValueError(mistake) from None
    return int(moment.timestamp() // 1)


def format_time(seconds: int) -> str:
    """`2026-03-29T01:00:00Z` for Unix seconds in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19] + "Z"


def _time_or_seconds(value: object) -> int:
    return value if isinstance(value, int) else parse_time(value)


def _cut_to(length: int) -> BeforeValidator:
    """Texts of others (the server's errors, Job conditions) may be of any length; the schema's bound must hold."""
    return BeforeValidator(lambda text: text[:length] if isinstance(text, str) else text)


def _parse_window(text: object) -> int:
    seconds = parse_duration(text)
    if not 60 <= seconds <= 86400:
        raise ValueError(f"{text!r} is out of range: 1m to 24h is allowed")
    return seconds


Window = Annotated[
    int,
    BeforeValidator(_parse_window),
    PlainSerializer(format_duration),
    WithJsonSchema({"type": "string", "maxLength": DURATION_LENGTH}),
]
Instant = Annotated[
    int,
    BeforeValidator(_time_or_seconds),
    PlainSerializer(format_time),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
WrittenInstant = Annotated[int, BeforeValidator(parse_time)]
"""An instant that a person wrote: only as text."""
Message = Annotated[str, Field(max_length=256), _cut_to(256)]
LongMessage = Annotated[str, Field(max_length=1024), _cut_to(1024)]
Word = Annotated[str, Field(max_length=64), _cut_to(64)]
Total = Annotated[int, Field(ge=0)]


class Shape(BaseModel):
    """camelCase in JSON, frozen, and null means "left out", as it does on the API server."""

    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, frozen=True, extra="ignore"
    )

    @model_validator(mode="before")
    @classmethod
    def _leave_out_nulls(cls, raw: Any) -> Any:
        return (
            {key: value for key, value in raw.items() if value is not None} if isinstance(raw, dict) else raw
        )


def is_empty(part: Sized) -> bool:
    """What is empty is left out of the JSON: `kubectl` would show it as a heading with nothing below."""
    return not part


def dump(part: Shape) -> dict[str, Any]:
    """The JSON form, without what is None."""
    return part.model_dump(mode="json", by_alias=True, exclude_none=True)
