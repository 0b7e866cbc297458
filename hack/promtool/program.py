"""Fetches promtool where there is none: out of Debian's package `prometheus`, without installing that."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from localkube.errors import LocalkubeError
from localkube.locks import alone
from localkube.versions import cache

PACKAGE = "prometheus"


def promtool(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What `promtool words…` says in that folder, whether it succeeds or not. LocalkubeError where there is none."""
    return subprocess.run([find(), *words], cwd=folder, capture_output=True, text=True)


def find() -> Path:
    """Its path. Raises LocalkubeError."""
    if here := shutil.which("promtool"):
        return Path(here)
    kept = cache() / "promtool"
    with alone(kept.with_name("promtool.lock")):
        if not kept.exists():
            _fetch(kept)
    return kept


def _fetch(kept: Path) -> None:
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        raise LocalkubeError("There is no promtool, and no apt-get to fetch it with: install prometheus.")
    with tempfile.TemporaryDirectory(dir=kept.parent) as work:
        try:
            _download(Path(work))
        except subprocess.CalledProcessError:
            _run(["apt-get", "update"], Path(work))  # a fresh machine has no list of packages
            _download(Path(work))
        (package,) = Path(work).glob(f"{PACKAGE}_*.deb")
        _run(["dpkg", "-x", package.name, "unpacked"], Path(work))
        (Path(work) / "unpacked/usr/bin/promtool").rename(kept)


def _download(folder: Path) -> None:
    subprocess.run(["apt-get", "download", PACKAGE], cwd=folder, check=True, capture_output=True)


def _run(command: list[str], folder: Path) -> None:
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if answer.returncode:
        raise LocalkubeError(
            f"promtool could not be fetched: `{' '.join(command)}` said\n{answer.stderr[-1000:]}"
        )
