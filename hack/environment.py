"""The project's Python environment: `.venv`, made from a fresh clone with Python 3.11+ and nothing else.

    import environment; environment.enter()     # first lines of a script in hack/: go on inside .venv
    python3 hack/environment.py                 # only make it

Every package has the exact version and the hashes of hack/pins/dev.txt (how these are made: pins.py there).
A stamp says what `.venv` was made from, so a second call costs no more than reading three files. Only the
standard library, and nothing newer than Python 3.8, so that an old Python gets a sentence, not a traceback.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PINS = ROOT / "hack" / "pins" / "dev.txt"
STAMP = VENV / ".made-from"
OLDEST = (3, 11)


def enter() -> None:
    """Go on inside `.venv`, made first if need be: the calling script is executed again by its Python."""
    ensure()
    if Path(sys.prefix).resolve() == VENV.resolve():
        return
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(str(_python()), [str(_python()), *sys.argv], _variables())


def ensure() -> None:
    """Make `.venv` what pyproject.toml and the pins say. Instant when it is so already."""
    if _is_fresh():
        return
    _use_new_enough_python()
    with _alone():
        if not _is_fresh():
            _make()


def _is_fresh() -> bool:
    try:
        return _python().exists() and STAMP.read_text() == _fingerprint()
    except OSError:
        return False


def _fingerprint() -> str:
    """What `.venv` depends on: the pins, our own metadata, and its place (its scripts name it)."""
    digest = hashlib.sha256()
    for part in (PINS.read_bytes(), (ROOT / "pyproject.toml").read_bytes(), bytes(VENV)):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest() + "\n"


def _make() -> None:
    print("Preparing .venv (once): exact packages of hack/pins/dev.txt …", file=sys.stderr, flush=True)
    if not _works():
        shutil.rmtree(VENV, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(VENV)], "Debian and Ubuntu keep this in python3-venv")
    STAMP.unlink(missing_ok=True)
    pip = [str(_python()), "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet"]
    _run([*pip, "--require-hashes", "--only-binary", ":all:", "--requirement", str(PINS)])
    _run([*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT)])
    STAMP.write_text(_fingerprint())


def _works() -> bool:
    """Is there a `.venv` of a supported Python that starts and stands where it was made?"""
    question = f"import pip, sys; print(sys.prefix); sys.exit(sys.version_info < {OLDEST})"
    try:
        answer = subprocess.run([str(_python()), "-c", question], capture_output=True, text=True)
    except OSError:
        return False
    return answer.returncode == 0 and Path(answer.stdout.strip()).resolve() == VENV.resolve()


def _run(command: list[str], hint: str = "") -> None:
    if subprocess.run(command, stdin=subprocess.DEVNULL, env=_variables()).returncode:
        sys.exit(f"Could not prepare .venv: `{' '.join(command)}` failed. {hint}".rstrip())


def _variables() -> dict[str, str]:
    """The caller's environment with `.venv/bin` first in PATH, so that kubectl is the pinned one."""
    path = os.pathsep.join([str(VENV / "bin"), os.environ.get("PATH", os.defpath)])
    return {**os.environ, "PATH": path, "VIRTUAL_ENV": str(VENV)}


def _python() -> Path:
    return VENV / "bin" / "python"


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Two callers in one clone: the second waits. The lock is on this file, so nothing is left behind."""
    with open(__file__) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _use_new_enough_python() -> None:
    """Where `python3` is too old, go on with a newer one of this machine."""
    if sys.version_info >= OLDEST:
        return
    newer = [shutil.which(f"python3.{minor}") for minor in range(20, OLDEST[1] - 1, -1)]
    for python in filter(None, newer):
        os.execv(python, [python, *sys.argv])
    sys.exit(f"Python 3.{OLDEST[1]} or newer is needed; this is {sys.version.split()[0]}.")


if __name__ == "__main__":
    ensure()
