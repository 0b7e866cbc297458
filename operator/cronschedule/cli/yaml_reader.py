"""YAML → values, as Kubernetes reads it, except that times stay text: only what JSON has too.

Values are built straight from YAML's events, so that nothing large or deep is made before it was judged.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from cronschedule.cli.errors import InputError

LARGEST_EXPANDED = 8 * 2**20
"""Characters and values that a document may have once its aliases are written out."""
DEEPEST = 100

_BOOLS = {
    word: value
    for value, words in {True: "true yes on y", False: "false no off n"}.items()
    for lower in words.split()
    for word in (lower, lower.capitalize(), lower.upper())
}
_NULLS = {"", "~", "null", "Null", "NULL"}
_INT = re.compile(r"[-+]?([0-9]+|0x[0-9a-fA-F]+|0o[0-7]+|0b[01]+)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_TAG = "tag:yaml.org,2002:"


class Unreadable(InputError):
    """A file that gives no document: which, where, and why."""

    def __init__(self, source: str, message: str, line: int | None = None) -> None:
        self.source, self.line, self.message = source, line, message
        super().__init__([f"{source}:{line}: {message}" if line else f"{source}: {message}"])


@dataclass(slots=True)
class Place:
    """Where a value stands: its line (counted from 1), and the places of what it holds."""

    line: int
    keys: dict[str, "Place"] = field(default_factory=dict)
    items: list["Place"] = field(default_factory=list)


@dataclass(slots=True)
class _Part:
    """A value that was read, with what it would be once aliases are written out."""

    value: Any
    place: Place
    weight: int
    depth: int


class Reader:
    """The documents of a YAML text. Raises `Unreadable`, and what the parser raises."""

    def __init__(self, text: str, name: str) -> None:
        self._name = name
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._events: Iterator[yaml.Event] = yaml.parse(text, Loader=loader)
        self._anchors: dict[str, _Part] = {}

    def documents(self) -> Iterator[tuple[Any, Place]]:
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors.clear()
                part = self._part(next(self._events), 0)
                yield part.value, part.place

    def _part(self, event: yaml.Event, above: int) -> _Part:
        line = _line(event)
        if above > DEEPEST:
            raise Unreadable(self._name, f"is nested deeper than {DEEPEST} levels", line)
        if isinstance(event, yaml.AliasEvent):
            known = self._anchors.get(str(event.anchor))
            if known is None:
                raise Unreadable(self._name, f"the alias *{event.anchor} leads nowhere", line)
            part = _Part(known.value, known.place, known.weight, known.depth)
        elif isinstance(event, yaml.ScalarEvent):
            part = _Part(self._scalar(event, line), Place(line), 1 + len(event.value), 0)
        elif isinstance(event, yaml.SequenceStartEvent):
            part = self._sequence(line, above)
        else:
            part = self._mapping(line, above)
        if above + part.depth > DEEPEST:
            raise Unreadable(self._name, f"is nested deeper than {DEEPEST} levels by its aliases", line)
        if part.weight > LARGEST_EXPANDED:
            raise Unreadable(self._name, "is too large once its aliases are written out", line)
        anchor = getattr(event, "anchor", None)
        if anchor is not None and not isinstance(event, yaml.AliasEvent):
            self._anchors[anchor] = part
        return part

    def _sequence(self, line: int, above: int) -> _Part:
        part = _Part([], Place(line), 1, 0)
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            item = self._part(event, above + 1)
            part.value.append(item.value)
            part.place.items.append(item.place)
            _add(part, item)
        return part

    def _mapping(self, line: int, above: int) -> _Part:
        part = _Part({}, Place(line), 1, 0)
        merged: list[_Part] = []
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key_line = _line(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise Unreadable(self._name, "a key that is not a single word or text", key_line)
            item = self._part(next(self._events), above + 1)
            _add(part, item)
            if event.value == "<<" and event.implicit[0]:
                merged.append(item)
                continue
            key = _key(self._scalar(event, key_line))
            if key in part.value:
                raise Unreadable(self._name, f"the key {key!r} appears twice in one mapping", key_line)
            part.value[key] = item.value
            part.place.keys[key] = Place(key_line, item.place.keys, item.place.items)
        for item in merged:
            self._merge(part, item, line)
        return part

    def _merge(self, part: _Part, item: _Part, line: int) -> None:
        """YAML's `<<`: the keys of another mapping, or of several, that this one does not have itself."""
        values = item.value if isinstance(item.value, list) else [item.value]
        places = item.place.items if isinstance(item.value, list) else [item.place]
        for value, place in zip(values, places, strict=True):
            if not isinstance(value, Mapping):
                raise Unreadable(self._name, "<< takes a mapping or a list of mappings", line)
            for key in value:
                if key not in part.value:
                    part.value[key] = value[key]
                    part.place.keys[key] = place.keys[key]

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> Any:
        tag = event.tag
        if tag in (None, "!"):
            return _plain(event.value) if event.implicit[0] and tag is None else event.value
        construct = _TAGGED.get(tag.removeprefix(_TAG))
        try:
            if construct is not None:
                return construct(event.value)
        except (KeyError, ValueError):
            pass
        raise Unreadable(self._name, f"{event.value!r} cannot be read as {tag}", line)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 1


def _add(part: _Part, item: _Part) -> None:
    part.weight += item.weight
    part.depth = max(part.depth, item.depth + 1)


def _plain(text: str) -> Any:
    """A word without quotes, as Kubernetes reads it."""
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.fullmatch(text) and len(text) < 40:
        return _integer(text)
    if _FLOAT.fullmatch(text) and len(text) < 400:
        return float(text)
    return text


def _integer(text: str) -> int:
    digits = text.lstrip("+-")
    octal = len(digits) > 1 and digits[0] == "0" and re.fullmatch("[0-7]+", digits)
    return int(text, 8) if octal else int(text) if digits.isdecimal() else int(text, 0)


_TAGGED: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": _integer,
    "float": float,
    "bool": _BOOLS.__getitem__,
    "null": lambda text: None,
}


def _key(value: Any) -> str:
    """Keys are text, as in the JSON that Kubernetes makes of YAML."""
    if isinstance(value, str):
        return value
    return json.dumps(value)
