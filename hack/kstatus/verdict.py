"""Ask the program, which is built when it is needed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localkube.goprogram import built

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """`status` is `Current`, `InProgress`, `Failed` or `Terminating`; `message` says why."""

    status: str
    message: str


def verdicts(objects: Iterable[dict[str, Any]]) -> list[Verdict]:
    """What kstatus makes of each object, in their order. LocalkubeError where the program cannot be built."""
    stream = "\n".join(map(json.dumps, objects))
    answer = subprocess.run([built(HERE)], input=stream, capture_output=True, text=True, check=True)
    return [Verdict(**json.loads(line)) for line in answer.stdout.splitlines()]
