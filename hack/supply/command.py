"""The command line of hack/supply-chain."""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from environment import ROOT

PINS = ROOT / "hack" / "pins"
IMAGE, TOOLS = PINS / "runtime.txt", PINS / "supply.txt"


def main(arguments: list[str] | None = None) -> int:
    """The tool's exit code: 0 when all is well."""
    parser = argparse.ArgumentParser(
        prog="hack/supply-chain",
        description="About the packages of hack/pins/runtime.txt, which are the image's. Needs PyPI.",
    )
    parts = parser.add_subparsers(dest="part", required=True, metavar="PART")
    parts.add_parser("audit", help="1 when one has a known vulnerability, or could not be looked up")
    sbom = parts.add_parser("sbom", help="write what they are as CycloneDX (JSON)")
    sbom.add_argument("file", type=Path, metavar="FILE")
    given = parser.parse_args(arguments)
    try:
        return audit() if given.part == "audit" else write_sbom(given.file)
    except subprocess.CalledProcessError as error:
        print(f"`{' '.join(map(str, error.cmd))}` failed.", file=sys.stderr)
        return 1


def audit() -> int:
    """pip-audit asks PyPI. Strict, since it passes a package that PyPI does not tell it about."""
    with environment_of(TOOLS) as tools:
        options = ["--strict", "--disable-pip", "--require-hashes", "--progress-spinner=off"]
        return subprocess.run([tools / "bin" / "pip-audit", *options, "--requirement", IMAGE]).returncode


def write_sbom(file: Path) -> int:
    """The packages are installed for it: their own metadata tell licences, and which needs which."""
    with environment_of(TOOLS) as tools, environment_of(IMAGE) as image:
        options = ["--output-reproducible", f"--pyproject={ROOT / 'pyproject.toml'}", f"--output-file={file}"]
        return subprocess.run(
            [tools / "bin" / "cyclonedx-py", "environment", *options, image / "bin" / "python"]
        ).returncode


@contextlib.contextmanager
def environment_of(pins: Path) -> Iterator[Path]:
    """The folder of an environment that has what is pinned there and nothing else; gone afterwards."""
    uv = [sys.executable, "-m", "uv", "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*uv, "venv", "--no-project", f"--python={sys.executable}", folder], check=True)
        options = ["--no-deps", "--require-hashes", "--only-binary=:all:", f"--requirement={pins}"]
        subprocess.run([*uv, "pip", "install", f"--python={folder}", *options], check=True)
        yield Path(folder)
