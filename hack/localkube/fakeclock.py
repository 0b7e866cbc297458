"""Another wall clock for one process: libfaketime, from PyPI or from Debian's `faketime`.

The process's monotonic clock stays true, so its waits take as long as they say. The wall clock's offset stands in a
file and may be changed while the process runs: that is a clock that is stepped.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from localkube.errors import LocalkubeError

DEBIAN = "/usr/lib/*/faketime/libfaketimeMT.so.1"
PYPI = "vendor/libfaketime/src/libfaketime.so.1"
NOTICED_AFTER = 1  # seconds until a change of the file is seen: it is not read at every look at the clock


def variables(offset: Path) -> dict[str, str]:
    """What a process must have in its environment to read its offset, such as `+6h`, from this file.

    Raises LocalkubeError where no libfaketime works.
    """
    for library in _libraries():
        found = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(offset),
            "FAKETIME_CACHE_DURATION": str(NOTICED_AFTER),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        if _works(found):
            return found
    raise LocalkubeError("No libfaketime works here; on Debian `apt-get install faketime` brings one.")


def _libraries() -> Iterator[Path]:
    yield from sorted(Path("/").glob(DEBIAN.removeprefix("/")))
    package = find_spec("libfaketime")
    if package and package.origin:
        yield Path(package.origin).parent / PYPI


def _works(found: dict[str, str]) -> bool:
    """Does a process get an offset? A loader passes over a library for another kind of machine with a mere word."""
    look = [sys.executable, "-c", "import time; print(time.time())"]
    offset = {name: value for name, value in found.items() if name != "FAKETIME_TIMESTAMP_FILE"}
    environment = {**os.environ, **offset, "FAKETIME": "+10d"}
    answer = subprocess.run(look, env=environment, capture_output=True, text=True)
    return answer.returncode == 0 and float(answer.stdout) > time.time() + 9 * 86_400
