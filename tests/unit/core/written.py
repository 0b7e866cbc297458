"""Reading YAML as it is written: a time stays a text."""

from pathlib import Path
from typing import Any

import yaml


class AsWritten(yaml.SafeLoader):
    """Timestamps are left to whoever validates them."""


AsWritten.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), AsWritten)
