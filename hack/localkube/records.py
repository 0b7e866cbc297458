"""The clusters of this machine: a folder each, with a record of what and whose it is.

    <cache>/clusters/NAME/record.json   this module's
    <cache>/clusters/NAME/…             everything else of that cluster: data, certificates, logs

A folder appears whole, with its record, so two clusters never share a name. Whatever happens to whoever started a
cluster, the record says whether it is still wanted: `is_stale`.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from localkube import processes
from localkube.errors import LocalkubeError
from localkube.locks import alone
from localkube.versions import cache

PORTS = range(20_000, 32_000)  # below the ports that systems give to outgoing connections


@dataclass(frozen=True, kw_only=True)
class Record:
    """`launcher` and `owner` are identities of processes (processes.py)."""

    name: str
    backend: str  # kwokctl or kind
    kubeconfig: str
    owns_kubeconfig_file: bool = True  # the file was made for this cluster alone
    audit_log: str | None = None
    ports: tuple[int, ...] = ()
    launcher: str | None = None  # who is starting it; None once it runs
    owner: str | None = None  # with whose end the cluster is no longer wanted; None: only `down` ends it

    @property
    def folder(self) -> Path:
        return clusters() / self.name

    def save(self) -> None:
        """Replace the record in its folder, all at once."""
        new = self.folder / "record.json.new"
        new.write_text(json.dumps(asdict(self), indent=1) + "\n")
        new.replace(self.folder / "record.json")


def clusters() -> Path:
    """The folder of all clusters."""
    return cache() / "clusters"


def create(*, ports: int, **fields: Any) -> Record:
    """Claim the name and so many free ports of 127.0.0.1. Raises LocalkubeError where the name is taken."""
    clusters().mkdir(parents=True, exist_ok=True)
    with alone(clusters() / ".lock"):
        taken = {port for record in everything() for port in record.ports}
        record = Record(**fields, ports=_free_ports(ports, taken), launcher=processes.identity(os.getpid()))
        if record.folder.exists():
            raise LocalkubeError(f"There is a cluster called {record.name} already.")
        fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=clusters()))
        (fresh / "record.json").write_text(json.dumps(asdict(record), indent=1) + "\n")
        fresh.rename(record.folder)
    return record


def everything() -> list[Record]:
    """All clusters, stale ones included, by name."""
    files = sorted(clusters().glob("[!.]*/record.json"))
    return [record for file in files if (record := find(file.parent.name))]


def find(name: str) -> Record | None:
    """The record of this name, if there is such a cluster."""
    try:
        fields = json.loads((clusters() / name / "record.json").read_text())
    except FileNotFoundError:
        return None
    return Record(**{**fields, "ports": tuple(fields["ports"])})


def is_stale(record: Record) -> bool:
    """Whoever was starting it, or wanted it, is gone; or it is nobody's and none of its processes is left."""
    if wanted_by := record.launcher or record.owner:
        return not processes.is_alive(wanted_by)
    return record.backend == "kwokctl" and not processes.mentioning(f"{record.folder}/")


def forget(record: Record) -> None:
    """Remove the folder and, if it was made for this cluster, the kubeconfig file."""
    if record.owns_kubeconfig_file:
        Path(record.kubeconfig).unlink(missing_ok=True)
    shutil.rmtree(record.folder, ignore_errors=True)


def _free_ports(number: int, taken: set[int]) -> tuple[int, ...]:
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        if len(found) == number:
            break
        if port not in taken and _is_free(port):
            found.append(port)
    return tuple(found)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
