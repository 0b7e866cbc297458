"""Fetch the programs ready-made from where their projects publish them: seconds instead of a build.

The addresses are kwokctl's defaults, and so are the variables that put a mirror in their place. Only Linux has all
of them; anything that goes wrong here, an unreachable network first of all, means that they are built instead.
"""

from __future__ import annotations

import io
import os
import tarfile
import urllib.request
from pathlib import Path

from localkube.progress import Progress
from localkube.versions import PROGRAMS, Versions, pinned, target

CONNECT_SECONDS = 5  # a build always works, so don't wait long for a network that may not be there
ANSWER_SECONDS = 60
KUBERNETES = "https://dl.k8s.io/release"
ETCD = "https://github.com/etcd-io/etcd/releases/download"
KWOK = "https://github.com/kubernetes-sigs/kwok/releases/download"


class Unavailable(Exception):
    """The programs cannot be had ready-made; the message says why."""


def download(folder: Path) -> None:
    """Put the programs into `folder`. Raises Unavailable."""
    if target()[0] != "linux":
        raise Unavailable("ready-made programs exist for Linux only")
    folder.mkdir(parents=True, exist_ok=True)
    addresses = urls(pinned())
    try:
        with urllib.request.urlopen(addresses["kwokctl"], timeout=CONNECT_SECONDS):
            pass
        progress = Progress("Downloading the control plane (once)", len(PROGRAMS))
        for done, program in enumerate(PROGRAMS):
            progress.update(done)
            _fetch(addresses[program], folder / program)
    except (OSError, tarfile.TarError, KeyError) as error:
        raise Unavailable(f"no ready-made programs: {error}") from error
    progress.finish()


def urls(versions: Versions) -> dict[str, str]:
    """Where each program is published; the value for etcd is an archive."""
    system, processor = target()
    platform = f"{system}-{processor}"
    etcd_folder = os.environ.get("KWOK_ETCD_BINARY_PREFIX", f"{ETCD}/v{versions.etcd}")
    kwok_folder = os.environ.get("KWOK_BINARY_PREFIX", f"{KWOK}/v{versions.kwok}")
    kubernetes_folder = os.environ.get(
        "KWOK_KUBE_BINARY_PREFIX", f"{KUBERNETES}/v{versions.kubernetes}/bin/{system}/{processor}"
    )
    return {
        "etcd": f"{etcd_folder}/etcd-v{versions.etcd}-{platform}.tar.gz",
        **{program: f"{kwok_folder}/{program}-{platform}" for program in ("kwok", "kwokctl")},
        **{program: f"{kubernetes_folder}/{program}" for program in PROGRAMS if program.startswith("kube-")},
    }


def _fetch(url: str, file: Path) -> None:
    with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer:
        content: bytes = answer.read()
    file.write_bytes(_member(content, file.name) if url.endswith(".tar.gz") else content)
    file.chmod(0o755)


def _member(archive: bytes, name: str) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        path = next((path for path in tar.getnames() if Path(path).name == name), name)
        member = tar.extractfile(path)
        return member.read() if member else b""
