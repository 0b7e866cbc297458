"""Small Go programs of this project: built once from a folder with their go.mod, and kept in this machine's cache."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from localkube import go
from localkube.build import compiler_environment
from localkube.errors import LocalkubeError
from localkube.locks import alone
from localkube.versions import cache, target


def built(source: Path, modfile: str = "go.mod", package: str = ".") -> Path:
    """The program of the folder `source`, built first unless its sources are those of last time.

    `modfile` is the file in it that says of which versions; `package` is the program's, where it is not the folder's
    own. Raises LocalkubeError with the compiler's last lines.
    """
    program = cache() / "-".join((source.name, _digest(source, modfile), *target()))
    if not program.exists():
        with alone(program.with_name(f"{program.name}.lock"), f"Waiting for {source.name} to be built …"):
            if not program.exists():
                _build(source, modfile, package, program)
    return program


def _digest(source: Path, modfile: str) -> str:
    files = [source / modfile, (source / modfile).with_suffix(".sum"), *sorted(source.glob("*.go"))]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _build(source: Path, modfile: str, package: str, program: Path) -> None:
    """All at once at the end, so that nobody ever sees a part of it; the compiler's own cache goes again."""
    work = program.with_name(f"{program.name}.unfinished")
    work.mkdir(parents=True, exist_ok=True)
    command = str(go.find(work / "go"))
    flags = ["-trimpath", "-buildvcs=false", "-ldflags=-s -w", f"-modfile={modfile}"]
    answer = subprocess.run(
        ["nice", command, "build", *flags, "-o", str(work / "program"), package],
        cwd=source,
        env=compiler_environment(command, work),
        capture_output=True,
        text=True,
    )
    if answer.returncode:
        raise LocalkubeError(f"{source.name} could not be built:\n{answer.stderr[-2000:]}")
    (work / "program").rename(program)
    shutil.rmtree(work, ignore_errors=True)
