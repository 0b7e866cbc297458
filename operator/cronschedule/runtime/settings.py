"""What the person who runs the operator may set: environment variables, read and checked once."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from cronschedule.api.names import SUSPENDED_LABEL
from cronschedule.api.shapes import parse_duration
from cronschedule.core.budget import Limits
from cronschedule.core.facts import DEFAULT_MISFIRE_THRESHOLD

T = TypeVar("T")

_NAME = r"[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?"
_TERM = re.compile(rf"(?P<absent>!)?(?P<key>{_NAME})((?P<operator>!=|==?)(?P<value>({_NAME})?))?")


class SettingsError(ValueError):
    """A setting that cannot be used; the message names the variable and says what is allowed."""


@dataclass(frozen=True, slots=True)
class Selector:
    """A label selector of equalities: `key=value`, `key!=value`, `key`, `!key`, joined by commas."""

    text: str
    terms: tuple[tuple[str, str | None, bool], ...] = field(repr=False)
    """(key, value or None for "whatever value", whether the label must be there or not)"""

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(self._holds(labels, key, value) is wanted for key, value, wanted in self.terms)

    @staticmethod
    def _holds(labels: Mapping[str, str], key: str, value: str | None) -> bool:
        return key in labels if value is None else labels.get(key) == value


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The operator's settings. Spans are in seconds."""

    misfire_threshold: int
    suspension_selector: Selector
    catch_up: Limits
    writers: int
    log_level: str
    log_format: str


def parse_selector(text: str) -> Selector:
    """Raises ValueError with a sentence."""
    terms = []
    for part in text.split(","):
        match = _TERM.fullmatch(part.strip())
        if match is None or (match["absent"] and match["operator"]):
            raise ValueError(f"{text!r} is not a label selector such as team=a or suspended,tier!=gold")
        wanted = match["operator"] != "!=" and not match["absent"]
        terms.append((match["key"], match["value"] if match["operator"] else None, wanted))
    return Selector(text, tuple(terms))


def read_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings in the environment, with their defaults. Raises `SettingsError`."""

    def read(name: str, default: str, parse: Callable[[str], T]) -> T:
        text = environ.get(f"CRONSCHEDULE_{name}", default)
        try:
            return parse(text)
        except ValueError as error:
            raise SettingsError(f"CRONSCHEDULE_{name}: {error}") from None

    return Settings(
        misfire_threshold=read("MISFIRE_THRESHOLD", f"{DEFAULT_MISFIRE_THRESHOLD}s", _threshold),
        suspension_selector=read("SUSPENSION_SELECTOR", f"{SUSPENDED_LABEL}=true", parse_selector),
        catch_up=Limits(
            per_minute=read("CATCH_UP_PER_MINUTE", "600", _number(1, 100_000)),
            per_minute_and_namespace=read("CATCH_UP_PER_MINUTE_AND_NAMESPACE", "60", _number(1, 100_000)),
            active=read("CATCH_UP_ACTIVE", "200", _number(1, 100_000)),
        ),
        writers=read("WRITERS", "500", _number(1, 5_000)),
        log_level=read("LOG_LEVEL", "info", _one_of("debug", "info", "warning", "error")),
        log_format=read("LOG_FORMAT", "json", _one_of("json", "text")),
    )


def _threshold(text: str) -> int:
    seconds = parse_duration(text)
    if not 1 <= seconds <= 600:
        raise ValueError(f"{text!r} is out of range: 1s to 10m is allowed")
    return seconds


def _number(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise ValueError(f"{text!r} is not a whole number from {low} to {high}")
        return int(text)

    return parse


def _one_of(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{text!r} is not one of {', '.join(allowed)}")
        return text

    return parse
