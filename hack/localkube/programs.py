"""Where the control plane's programs come from: a folder you name, this machine's cache, a download, a build."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from localkube.build import build
from localkube.download import Unavailable, download
from localkube.errors import LocalkubeError
from localkube.locks import alone
from localkube.versions import PROGRAMS, programs_folder

_WAITING = "Another process is fetching the control plane's programs: waiting for it …"


def find(named: Path | None = None) -> Path:
    """The folder that has all of PROGRAMS, made first if need be.

    `named`, else the variable KUBEBUILDER_ASSETS where its folder has them all, else the cache, which is filled by a
    download or a build. Raises LocalkubeError.
    """
    if named:
        if missing := _missing(named):
            raise LocalkubeError(f"{named} lacks {', '.join(missing)}.")
        return named
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and not _missing(Path(assets)):
        return Path(assets)
    cached = programs_folder()
    if _missing(cached):
        with alone(cached.with_name(f"{cached.name}.lock"), _WAITING):
            if _missing(cached):
                _make(cached)
    return cached


def _missing(folder: Path) -> list[str]:
    return [program for program in PROGRAMS if not os.access(folder / program, os.X_OK)]


def _make(cached: Path) -> None:
    """Fill the cache: all at once at the end, so that nobody ever sees a part of it."""
    work = cached.with_name(f"{cached.name}.unfinished")
    programs = work / "programs"
    shutil.rmtree(programs, ignore_errors=True)
    try:
        download(programs)
    except Unavailable as reason:
        _say(f"{reason}; building them from source instead.")
        shutil.rmtree(programs, ignore_errors=True)
        build(programs, work)
    shutil.rmtree(cached, ignore_errors=True)
    programs.rename(cached)
    shutil.rmtree(work, ignore_errors=True)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
