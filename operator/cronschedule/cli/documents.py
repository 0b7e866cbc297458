"""Files that people wrote → documents, each value with the line it stands on.

Whatever a file holds, the answer is a document or one sentence (`Unreadable`).
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from cronschedule.cli.yaml_reader import Place, Reader, Unreadable

LARGEST = 2 * 2**20
"""Bytes of the largest file that is read; an object on a cluster has at most 1.5 MiB."""
STANDARD_INPUT = "-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """One document of a file. `source` is the file's name as it was given."""

    source: str
    value: Any
    place: Place

    def line_of(self, path: str) -> int:
        """The line of what `spec.edits[0].at` leads to, or of the nearest part of the way that is there."""
        place, rest = self.place, path
        while rest:
            index = re.match(r"\[(\d+)\]", rest)
            if index is not None:
                if int(index[1]) >= len(place.items):
                    break
                place, rest = place.items[int(index[1])], rest[index.end() :].removeprefix(".")
                continue
            key = max((key for key in place.keys if _leads(key, rest)), key=len, default=None)
            if key is None:
                break
            place, rest = place.keys[key], rest[len(key) :].removeprefix(".")
        return place.line


def _leads(key: str, path: str) -> bool:
    return path.startswith(key) and path[len(key) : len(key) + 1] in ("", ".", "[")


def read_documents(source: str) -> list[Document]:
    """The documents of a file, or of standard input for `-`; at least one. Raises `Unreadable`."""
    name = "standard input" if source == STANDARD_INPUT else source
    return parse_documents(_text(source, name), name)


def read_document(source: str) -> Document:
    """The one document of a file. Raises `Unreadable`."""
    documents = read_documents(source)
    if len(documents) > 1:
        name = documents[0].source
        raise Unreadable(name, f"holds {len(documents)} documents, and exactly one is wanted here")
    return documents[0]


def objects_of(document: Document) -> Iterator[tuple[Any, str]]:
    """The objects of a document, those of a List one by one, each with the path to it."""
    value = document.value
    listed = isinstance(value, dict) and str(value.get("kind", "")).endswith("List")
    if listed and isinstance(value.get("items"), list):
        for position, item in enumerate(value["items"]):
            yield item, f"items[{position}]."
    else:
        yield value, ""


def _text(source: str, name: str) -> str:
    try:
        if source == STANDARD_INPUT:
            raw = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with open(source, "rb") as file:
                raw = file.read(LARGEST + 1)
    except OSError as error:
        raise Unreadable(name, (error.strerror or "cannot be read").lower()) from None
    except ValueError:
        raise Unreadable(name, "is not a file name") from None
    if len(raw) > LARGEST:
        raise Unreadable(name, f"is larger than {LARGEST // 2**20} MiB, and so no manifest or scenario")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable(name, "is not text: a manifest or scenario is YAML or JSON in UTF-8") from None
    if "\0" in text:
        raise Unreadable(name, "is not text: it holds zero bytes")
    return text


def parse_documents(text: str, name: str) -> list[Document]:
    """The documents of a text. Raises `Unreadable`."""
    json_value = _read_json(text)
    try:
        found = [
            Document(source=name, value=value, place=place)
            for value, place in Reader(text, name).documents()
            if value is not None
        ]
    except yaml.YAMLError as error:
        if json_value is not None:  # tabs, for one, are allowed in JSON only
            return [Document(source=name, value=json_value, place=Place(1))]
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        raise Unreadable(name, f"is no YAML: {problem}", mark.line + 1 if mark else None) from None
    if not found:
        raise Unreadable(name, "is empty")
    if json_value is not None:
        return [Document(source=name, value=json_value, place=found[0].place)]
    return found


def _read_json(text: str) -> Any:
    """The value if the text is a JSON object or list, else `None`; JSON is nearly a part of YAML, but only nearly."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key appears twice")  # the YAML reader will say which, and where
    return dict(pairs)
