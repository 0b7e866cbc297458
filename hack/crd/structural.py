"""pydantic models → structural schemas, the kind of JSON schema that a CRD may hold.

References are written out, titles go, `X | None` becomes `X` (a CRD says "left out" by leaving out), and defaults are
in the JSON form.
"""

from typing import Any

from cronschedule.api.shapes import Shape, format_duration

Schema = dict[str, Any]

DROPPED = {"$defs", "title", "additionalProperties"}


def structural_schema(model: type[Shape]) -> Schema:
    """The schema of the model, complete in itself."""
    whole = model.model_json_schema(by_alias=True)
    return _structural(whole, definitions=whole.get("$defs", {}))


def without_defaults(schema: Any) -> Any:
    """The same schema with no default anywhere: for the status, which only the operator writes, and whole."""
    if isinstance(schema, dict):
        return {key: without_defaults(value) for key, value in schema.items() if key != "default"}
    return [without_defaults(item) for item in schema] if isinstance(schema, list) else schema


def whole_schema(description: str, spec: Schema, status_model: type[Shape]) -> Schema:
    """The schema of an object with this spec and status."""
    status = without_defaults(structural_schema(status_model))
    conditions = status["properties"]["conditions"]
    conditions |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    # An object that nobody has looked at must not count as ready: kstatus compares this with the generation.
    status["default"] = {"observedGeneration": -1}
    return {
        "type": "object",
        "description": description,
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
    }


def column(
    name: str, path: str, description: str, *, kind: str = "string", priority: int = 0
) -> dict[str, Any]:
    """One column of `kubectl get`."""
    found = {"name": name, "type": kind, "jsonPath": path, "description": description}
    return found | ({"priority": priority} if priority else {})


def _structural(schema: Schema, *, definitions: dict[str, Schema]) -> Schema:
    while True:
        if "$ref" in schema:
            target = definitions[schema["$ref"].rpartition("/")[2]]
            schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
        elif "anyOf" in schema:
            (kept,) = [choice for choice in schema["anyOf"] if choice != {"type": "null"}]
            schema = {**kept, **{key: schema[key] for key in schema if key not in ("anyOf", "default")}}
        else:
            break
    result = {key: value for key, value in schema.items() if key not in DROPPED}
    if "properties" in schema:
        result["properties"] = {
            name: _structural(part, definitions=definitions) for name, part in schema["properties"].items()
        }
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            result[key] = _structural(schema[key], definitions=definitions)
    if schema.get("type") == "integer":
        result["format"] = "int64"
    if schema.get("type") == "array":
        result["x-kubernetes-list-type"] = "atomic"
    if schema.get("type") == "string" and isinstance(schema.get("default"), int):
        result["default"] = format_duration(schema["default"])
    return result
