"""The schema that `check` holds job templates to, cut out of the CRD.

python tests/unit/cli/job_spec.py     write operator/cronschedule/cli/job_spec.json anew
"""

import json
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
TARGET = ROOT / "operator" / "cronschedule" / "cli" / "job_spec.json"
NOT_FOR_CHECKING = ("description", "x-kubernetes-validations", "x-kubernetes-map-type")


def text():
    """What the file should hold."""
    crd = yaml.safe_load((ROOT / "crds" / "cronschedules.cronschedule.dev.yaml").read_text())
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema = _without(spec["properties"]["jobTemplate"]["properties"]["spec"])
    head = "Generated from crds/ by tests/unit/cli/job_spec.py; do not edit."
    return json.dumps({"$comment": head} | schema, separators=(",", ":")).replace(",", ",\n", 1) + "\n"


def _without(schema):
    kept = {key: value for key, value in schema.items() if key not in NOT_FOR_CHECKING}
    if "properties" in kept:
        kept["properties"] = {name: _without(part) for name, part in kept["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(kept.get(key), dict):
            kept[key] = _without(kept[key])
    return kept


if __name__ == "__main__":
    TARGET.write_text(text())
