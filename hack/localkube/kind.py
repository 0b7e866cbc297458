"""A cluster in Docker through kind: slower than local processes, but its pods really run.

No audit log, no extra arguments, no stopping of components, and the pods' demo annotations mean nothing there.
"""

from __future__ import annotations

import shutil
import subprocess

from localkube.errors import LocalkubeError
from localkube.records import Record
from localkube.versions import pinned


def create(record: Record) -> None:
    """Create the cluster and wait until it is ready. Raises LocalkubeError."""
    for command in (["docker", "info"], ["kind", "version"]):
        if not shutil.which(command[0]) or subprocess.run(command, capture_output=True).returncode:
            raise LocalkubeError(
                f"A kind cluster needs a running Docker engine and kind; `{command[0]}` failed."
            )
    image = f"--image=kindest/node:v{pinned().kubernetes}"
    _kind(record, "create", "cluster", image, "--wait=120s", f"--kubeconfig={record.kubeconfig}")


def delete(record: Record) -> None:
    """Delete the cluster and its context in the kubeconfig file; nothing happens where it is gone."""
    _kind(record, "delete", "cluster", f"--kubeconfig={record.kubeconfig}")


def _kind(record: Record, *arguments: str) -> None:
    command = ["kind", *arguments, f"--name={record.name}"]
    if subprocess.run(command, stdin=subprocess.DEVNULL).returncode:
        raise LocalkubeError(f"`{' '.join(command)}` failed.")
