"""Which versions go.mod pins, and where on this machine the programs of these versions are kept."""

from __future__ import annotations

import os
import platform
import pwd
import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "kwokctl")
MODULES = {
    "kubernetes": "k8s.io/kubernetes",
    "etcd": "go.etcd.io/etcd/server/v3",
    "kwok": "sigs.k8s.io/kwok",
}


@dataclass(frozen=True, kw_only=True)
class Versions:
    """Versions without a leading v, such as 1.37.2."""

    kubernetes: str
    etcd: str
    kwok: str


def pinned(go_mod: Path = HERE / "go.mod") -> Versions:
    """The versions that `hack/localkube/go.mod` requires."""
    text = go_mod.read_text()
    found = {
        name: re.search(rf"^(?:require)?\s+{re.escape(module)} v(\S+)", text, re.MULTILINE)
        for name, module in MODULES.items()
    }
    return Versions(**{name: match.group(1) for name, match in found.items() if match})


def target() -> tuple[str, str]:
    """Operating system and processor of this machine, as Go spells them."""
    machine = platform.machine().lower()
    return platform.system().lower(), {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def cache() -> Path:
    """Where this project keeps what is costly to make: outside the work tree, shared by all clones."""
    root = os.environ.get("XDG_CACHE_HOME")
    home = os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
    return (Path(root) if root else Path(home) / ".cache") / "cronschedule"


def programs_folder() -> Path:
    """The folder for the programs of the pinned versions, whether it exists or not."""
    versions, name = pinned(), "kubernetes-{}-etcd-{}-kwok-{}-{}-{}"
    return cache() / name.format(versions.kubernetes, versions.etcd, versions.kwok, *target())
