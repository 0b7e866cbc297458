"""Build the programs from the Go modules that go.mod pins: about ten minutes of two cores, once.

Nothing is left behind but the programs: what the compiler keeps for itself goes into a folder of our own, which
also lets a build that was interrupted go on where it was.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import deque
from pathlib import Path

from localkube import go
from localkube.errors import LocalkubeError
from localkube.progress import Progress
from localkube.versions import HERE, PROGRAMS, pinned

STAMPS = "k8s.io/component-base/version"  # without these the server calls itself v0.0.0
NEEDED_BYTES = 7 * 2**30
NAMES_OF_GO = {"etcd": "server"}  # a program is named after its package's folder


def build(folder: Path, work: Path) -> None:
    """Put the programs into `folder`, working in `work`, which the caller removes once this has succeeded.

    Raises LocalkubeError with the compiler's last lines.
    """
    work.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(work).free < NEEDED_BYTES:
        raise LocalkubeError(f"Building needs {NEEDED_BYTES >> 30} GiB free in {work.parent}.")
    command = str(go.find(work / "go"))
    variables = compiler_environment(command, work)
    packages = _run([command, "list", "-deps", "tool"], variables, "Fetching the source", total=1)
    folder.mkdir(parents=True, exist_ok=True)
    flags = ["-v", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", f"-ldflags={_ldflags()}"]
    command_line = [command, "build", *flags, "-o", f"{folder}{os.sep}", "tool"]
    _run(command_line, variables, "Building the control plane (once)", total=packages)
    for program in PROGRAMS:
        (folder / NAMES_OF_GO.get(program, program)).rename(folder / program)


def _ldflags() -> str:
    version = pinned().kubernetes
    major, minor, _ = version.split(".", 2)
    stamps = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return " ".join(["-s", "-w", *(f"-X {STAMPS}.{name}={value}" for name, value in stamps.items())])


def compiler_environment(command: str, work: Path) -> dict[str, str]:
    """The environment of the compiler `command`, which keeps its own files in `work`.

    Nothing of the user's Go settings but the proxy, and the modules that a user of Go has already.
    """
    variables = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": ""}
    variables |= {"GOCACHE": str(work / "go-build"), "GOOS": "", "GOARCH": ""}
    theirs = subprocess.run([command, "env", "GOMODCACHE"], env=variables, capture_output=True, text=True)
    if not Path(theirs.stdout.strip() or "none").is_dir():
        variables |= {"GOMODCACHE": str(work / "modules"), "GOPATH": str(work), "GOFLAGS": "-modcacherw"}
    return variables


def _run(command: list[str], variables: dict[str, str], title: str, *, total: int) -> int:
    """Run a Go command, each line of which is one step of so many; returns how many it printed."""
    progress, done = Progress(title, total), 0
    last: deque[str] = deque(maxlen=20)
    process = subprocess.Popen(
        ["nice", *command],
        cwd=HERE,
        env=variables,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with process:
        for line in process.stdout or ():
            done += 1
            last.append(line)
            progress.update(done)
    if process.returncode:
        raise LocalkubeError(f"`go {command[1]}` failed:\n{''.join(last)}")
    progress.finish()
    return done
