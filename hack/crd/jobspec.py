"""The batch/v1 JobSpec as a structural schema, from the OpenAPI schemas that Kubernetes publishes.

They come with the PyPI package kubernetes-validate. Descriptions are left out, so that the CRD fits into the annotation
that client-side apply writes (256 KiB); `kubectl explain job.spec` has them.
"""

import json
from pathlib import Path
from typing import Any

import kubernetes_validate

from crd.structural import Schema

KUBERNETES = "v1.37.0"
SPEC = "io.k8s.api.batch.v1.JobSpec"

KEPT = ("format", "required", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")

QUANTITY = {
    "x-kubernetes-int-or-string": True,
    "pattern": r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$",
}
INT_OR_STRING = {"x-kubernetes-int-or-string": True}

METADATA = {
    "type": "object",
    "properties": {
        "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
        "finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
"""What a pod or volume claim takes from its template's metadata."""

NOT_IN_TEMPLATES = {"ephemeralContainers"}
"""Fields of a pod that no template may have."""


def job_spec_schema() -> Schema:
    """The schema of `spec.jobTemplate.spec`."""
    folder = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema" / f"{KUBERNETES}-local"
    definitions = json.loads((folder / "_definitions.json").read_text())["$defs"]
    schema = _structural({"$ref": SPEC}, definitions=definitions)
    template = schema["properties"]["template"]
    template["required"] = ["spec"]
    pod = template["properties"]["spec"]
    pod["required"] = sorted([*pod["required"], "restartPolicy"])
    pod["properties"]["restartPolicy"]["enum"] = ["Never", "OnFailure"]
    pod["properties"]["containers"]["minItems"] = 1
    return schema


def _structural(schema: Schema, *, definitions: dict[str, Any]) -> Schema:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name.endswith(".ObjectMeta"):
            return METADATA
        return _structural(definitions[name], definitions=definitions)
    if "oneOf" in schema:
        numbers = {"number", "integer"}.intersection(*(choice["type"] for choice in schema["oneOf"][1:]))
        return QUANTITY if numbers == {"number"} else INT_OR_STRING
    (kind,) = set([schema["type"]] if isinstance(schema["type"], str) else schema["type"]) - {"null"}
    result = {"type": kind, **{key: schema[key] for key in KEPT if key in schema}}
    if "properties" in schema:
        result["properties"] = {
            name: _structural(part, definitions=definitions)
            for name, part in sorted(schema["properties"].items())
            if name not in NOT_IN_TEMPLATES
        }
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            result[key] = _structural(schema[key], definitions=definitions)
    return _with_sound_keys(result)


def _with_sound_keys(schema: Schema) -> Schema:
    """A map list whose keys may be left out becomes atomic.

    The API server wants keys required or with a default, and a default inside a list item shows as drift in GitOps
    tools.
    """
    keys = set(schema.get("x-kubernetes-list-map-keys", ()))
    if keys - set(schema.get("items", {}).get("required", ())):
        del schema["x-kubernetes-list-map-keys"]
        schema["x-kubernetes-list-type"] = "atomic"
    return schema
