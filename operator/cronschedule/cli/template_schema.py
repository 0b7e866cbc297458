"""What the API server would say of a job template: the schema of the CRD, without a server.

Only what the schema of a JobSpec uses is known here: types, formats, required keys, enums, patterns, list keys.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

from cronschedule.api.mistakes import Mistake

Schema = Mapping[str, Any]
_BOUNDS = {"int32": 2**31, "int64": 2**63}


@lru_cache(maxsize=1)
def job_spec_schema() -> Schema:
    """The schema of `spec.jobTemplate.spec`."""
    schema: Schema = json.loads(resources.files("cronschedule.cli").joinpath("job_spec.json").read_text())
    return schema


def template_mistakes(value: object, path: str) -> list[Mistake]:
    """What is wrong with a JobSpec that was found at `path`."""
    return list(_mistakes(value, job_spec_schema(), path))


def _mistakes(value: object, schema: Schema, path: str) -> Iterator[Mistake]:
    if schema.get("x-kubernetes-int-or-string"):
        yield from _int_or_text(value, schema, path)
        return
    check = _TYPES[schema["type"]]
    yield from check(value, schema, path)


def _mapping(value: object, schema: Schema, path: str) -> Iterator[Mistake]:
    if not isinstance(value, dict):
        yield _not(value, "a mapping of keys to values", path)
        return
    known, rest = schema.get("properties", {}), schema.get("additionalProperties")
    for key in schema.get("required", ()):
        if value.get(key) is None:
            yield Mistake(path=f"{path}.{key}", message="is required")
    for key, part in value.items():
        inner = f"{path}.{key}"
        if part is None and key in known:
            continue  # null means "left out"
        if key in known:
            yield from _mistakes(part, known[key], inner)
        elif isinstance(rest, dict):
            yield from _mistakes(part, rest, inner)
        elif known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"allowed are {', '.join(sorted(known))}"
            yield Mistake(path=inner, message=f"is not a known key: {hint}")


def _list(value: object, schema: Schema, path: str) -> Iterator[Mistake]:
    if not isinstance(value, list):
        yield _not(value, "a list", path)
        return
    if len(value) < schema.get("minItems", 0):
        yield Mistake(path=path, message=f"has {len(value)} items: at least {schema['minItems']} is needed")
    for position, item in enumerate(value):
        yield from _mistakes(item, schema["items"], f"{path}[{position}]")
    yield from _repeated(value, schema, path)


def _repeated(items: list[Any], schema: Schema, path: str) -> Iterator[Mistake]:
    """Items of a list-map or a set may not be the same."""
    keys = schema.get("x-kubernetes-list-map-keys")
    if keys is None and schema.get("x-kubernetes-list-type") != "set":
        return
    seen: list[object] = []
    for position, item in enumerate(items):
        identity = tuple(item.get(key) for key in keys) if keys and isinstance(item, dict) else item
        if identity in seen:
            what = " and ".join(keys) if keys else "value"
            yield Mistake(path=f"{path}[{position}]", message=f"has the same {what} as an item before it")
        seen.append(identity)


def _text(value: object, schema: Schema, path: str) -> Iterator[Mistake]:
    if not isinstance(value, str):
        yield _not(value, "text" + (": put it into quotes" if isinstance(value, int | float) else ""), path)
    elif "enum" in schema and value not in schema["enum"]:
        yield Mistake(path=path, message=f"{value!r} is not one of {', '.join(schema['enum'])}")


def _integer(value: object, schema: Schema, path: str) -> Iterator[Mistake]:
    if isinstance(value, bool) or not isinstance(value, int):
        yield _not(value, "a whole number", path)
    elif not -(bound := _BOUNDS.get(schema.get("format", ""), 2**63)) <= value < bound:
        yield Mistake(path=path, message=f"{value} is too large a number")


def _boolean(value: object, schema: Schema, path: str) -> Iterator[Mistake]:
    if not isinstance(value, bool):
        yield _not(value, "true or false", path)


def _int_or_text(value: object, schema: Schema, path: str) -> Iterator[Mistake]:
    """A number or text; with a pattern, a quantity such as 500m or 1Gi."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        yield _not(value, "a number or text", path)
    elif isinstance(value, float) and not value.is_integer():
        yield _not(value, "a whole number or text: put it into quotes", path)
    elif "pattern" in schema and not re.fullmatch(schema["pattern"], str(value)):
        yield _not(value, "a quantity such as 500m, 2 or 1Gi", path)


def _not(value: object, wanted: str, path: str) -> Mistake:
    text = repr(value)
    return Mistake(path=path, message=f"{text if len(text) <= 60 else text[:57] + '…'} is not {wanted}")


_TYPES: dict[str, Callable[[object, Schema, str], Iterator[Mistake]]] = {
    "object": _mapping,
    "array": _list,
    "string": _text,
    "integer": _integer,
    "boolean": _boolean,
}
