"""Where a bench takes place: a fresh local control plane with the CRD, an audit log, and an eye-witness of all Jobs."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.client import patch_status, post, send
from bench.errors import BenchError
from bench.watcher import connect
from localkube import Cluster, OperatorProcess
from localkube.operator_process import READY_WITHIN

HERE = Path(__file__).resolve().parent
CRDS = HERE.parent.parent / "crds"
PAGE = 500
CRONSCHEDULES = ("cronschedule.dev", "v1alpha1", "cronschedules")
COMPONENTS = ("kube-apiserver", "etcd", "kube-controller-manager")
JUDGED = "audit-policy.yaml"
TUNED = (
    "kube-controller-manager=kube-api-qps=2000",
    "kube-controller-manager=kube-api-burst=4000",
    "kube-controller-manager=concurrent-cron-job-syncs=50",
    "kube-controller-manager=concurrent-job-syncs=50",
)
"""Flags with which the built-in controllers are as fast as they can be."""


class Notes:
    """What the eye-witness has noted, read on where the last look ended."""

    def __init__(self, file: Path) -> None:
        self._file, self._at = file, 0
        self.first_seen: dict[tuple[str, str, int], float] = {}
        """(namespace, name, slot) of each Job → when it was first seen."""

    def look(self) -> None:
        """Take in what is new."""
        with self._file.open("rb") as file:
            file.seek(self._at)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._at += len(whole)
        for line in whole.splitlines():
            note = json.loads(line)
            if note["type"] == "ADDED" and note["slot"] is not None:
                job = (note["namespace"], note["name"], note["slot"])
                self.first_seen.setdefault(job, note["seen"])


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A running cluster and its witnesses. `folder` has audit.jsonl, notes.jsonl and the logs."""

    cluster: Cluster
    api: Any
    watcher: subprocess.Popen[bytes]
    folder: Path

    @property
    def audit_log(self) -> Path:
        return self.folder / "audit.jsonl"

    @property
    def notes(self) -> Path:
        return self.folder / "notes.jsonl"

    @property
    def operator_log(self) -> Path:
        return self.folder / "operator.log"

    def operator(self, *, profile: Path | None = None, ready_within: float = READY_WITHIN) -> OperatorProcess:
        """The operator, not yet started. With `profile`, cProfile writes there when it ends."""
        profiler = ["-m", "cProfile", "-o", str(profile)] if profile else []
        command = [sys.executable, *profiler, "-m", "cronschedule"]
        return OperatorProcess(self.cluster.kubeconfig, self.operator_log, command, ready_within=ready_within)

    def create_namespaces(self, names: Iterable[str]) -> None:
        namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names]
        self.cluster.kubectl.apply(*namespaces)

    def create(self, plural: str, bodies: Iterable[dict[str, Any]]) -> None:
        """Create these objects, several at a time."""
        send(self.cluster.kubeconfig, (post(plural, body) for body in bodies))

    def set_status(
        self, bodies: Iterable[dict[str, Any]], status: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> None:
        """Change the statuses of these CronSchedules."""
        calls = (patch_status("cronschedules", body, status(body)) for body in bodies)
        send(self.cluster.kubeconfig, calls)

    def schedules(self) -> list[dict[str, Any]]:
        """All CronSchedules as they stand."""
        return list(self._each_schedule())

    def taken_up(self) -> int:
        """How many CronSchedules the operator knows."""
        return sum(body.get("status", {}).get("observedGeneration", 0) > 0 for body in self._each_schedule())

    def _each_schedule(self) -> Iterator[dict[str, Any]]:
        """A page at a time: a hundred thousand would not fit into memory as they come."""
        token = None
        while token != "":
            page = self.api.list_cluster_custom_object(*CRONSCHEDULES, limit=PAGE, _continue=token)
            yield from page["items"]
            token = page["metadata"].get("continue", "")

    def processes(self) -> dict[str, int]:
        """The components that everything waits for, and their process ids."""
        running = self.cluster.components()
        return {name: pid for name in COMPONENTS if (pid := running.get(name))}

    def is_set(self) -> bool:
        """Whether CronSchedules are served and the watcher follows."""
        self.check_witness()
        served = self.cluster.kubectl.run("get", "cronschedules", "-A").returncode == 0
        return served and self.notes.exists() and b'"READY"' in self.notes.read_bytes()

    def check_witness(self) -> None:
        """Raises BenchError when the watcher has ended: then nothing was seen of what came after."""
        if self.watcher.poll() is not None:
            raise BenchError(f"The watcher has ended:\n{(self.folder / 'watcher.log').read_text()}")


@contextlib.contextmanager
def scene(folder: Path, *, extra_args: Iterable[str] = (), bodies: bool = True) -> Iterator[Scene]:
    """A fresh cluster, gone afterwards; what was seen stays in `folder`. Raises LocalkubeError, BenchError.

    Without `bodies` the audit log tells of requests only: a judge needs more, but writing that takes its time.
    """
    folder.mkdir(parents=True, exist_ok=True)
    policy = f"kube-apiserver=audit-policy-file={HERE / (JUDGED if bodies else 'audit-requests.yaml')}"
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(
            Cluster.up(audit_log=folder / "audit.jsonl", extra_args=[policy, *extra_args])
        )
        cluster.kubectl("apply", "--server-side", "-f", str(CRDS))
        watcher = stack.enter_context(_watching(cluster.kubeconfig, folder))
        found = Scene(cluster=cluster, api=connect(str(cluster.kubeconfig)), watcher=watcher, folder=folder)
        wait_until(found.is_set, seconds=30, what="the CRD to be served and the watcher to follow the Jobs")
        yield found


@contextlib.contextmanager
def _watching(kubeconfig: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The eye-witness (watcher.py) at work."""
    command = [sys.executable, "-m", "bench.watcher", str(kubeconfig), str(folder / "notes.jsonl")]
    with (folder / "watcher.log").open("wb") as log:
        watcher = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "PYTHONPATH": str(HERE.parent)},
        )
    try:
        yield watcher
    finally:
        watcher.kill()
        watcher.wait()


def wait_until(condition: Callable[[], bool], *, seconds: float, what: str, pause: float = 0.2) -> None:
    """Ask again and again. Raises BenchError when it takes too long."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise BenchError(f"Waited {seconds:.0f} s in vain for {what}.")
        time.sleep(pause)
