"""The command line of hack/check-servers."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from localkube import LocalkubeError
from localkube.goprogram import built

HERE = Path(__file__).resolve().parent
CRDS = HERE.parents[1] / "crds"
VERSION = re.compile(r"Kubernetes (1\.\S+)\.$", re.MULTILINE)


def main(arguments: list[str] | None = None) -> int:
    """Ask each server; 0 when all take everything."""
    parser = argparse.ArgumentParser(
        prog="hack/check-servers",
        description="Do the API servers of the last three minors take the CRDs? It runs their own validation, which is"
        " built from Go modules the first time: some minutes for each.",
    )
    parser.add_argument("files", nargs="*", help="CRDs (default: those in crds/)")
    given = parser.parse_args(arguments)
    files = given.files or [str(file) for file in sorted(CRDS.glob("*.yaml"))]
    try:
        codes = [_ask(modfile, files) for modfile in sorted(HERE.glob("*.mod"))]
    except LocalkubeError as error:
        print(error, file=sys.stderr)
        return 1
    return max(codes)


def _ask(modfile: Path, files: list[str]) -> int:
    version = VERSION.search(modfile.read_text())
    print(f"Kubernetes {version[1] if version else modfile.stem}", flush=True)
    return subprocess.run([built(HERE, modfile.name), *files]).returncode
