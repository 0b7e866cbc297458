"""A Kubernetes control plane of one's own: up in seconds, gone without a trace.

    with Cluster.up(audit_log=file) as cluster:
        cluster.kubectl("apply", "-f", "crds/")

etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok run as processes on 127.0.0.1. There are two
nodes; pods do what their annotations say (stages/pod.yaml).
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from localkube import kind, kwokctl, processes, programs, records
from localkube.errors import LocalkubeError
from localkube.kubectl import Kubectl
from localkube.records import Record
from localkube.versions import HERE

_numbers = itertools.count(1)


class Cluster:
    """A running cluster. As a context manager it is taken down at the end."""

    def __init__(self, record: Record, folder_of_programs: Path | None = None) -> None:
        self._record, self._programs = record, folder_of_programs
        self.kubectl = _kubectl(record)

    @classmethod
    def up(
        cls,
        *,
        name: str | None = None,
        kubeconfig: Path | None = None,
        audit_log: Path | None = None,
        extra_args: Iterable[str] = (),
        without: Iterable[str] = (),
        binaries: Path | None = None,
        owner: int | None = None,
    ) -> Cluster:
        """Bring one up and wait until it is ready for pods.

        `kubeconfig`: the file that gets this cluster's context (default: one of its own). `audit_log`: the API
        server appends there what audit-policy.yaml says, one JSON object a line. `extra_args`: `component=key=value`.
        `without`: components to leave out. `binaries`: a folder with the programs. `owner`: the process with
        whose end the cluster is stale (default: this one; 0: nobody). Raises LocalkubeError, leaving nothing.
        """
        sweep()
        without = _known(without)
        folder = programs.find(binaries)
        record = _claim("kwokctl", name, kubeconfig, audit_log, ports=len(kwokctl.PORTS))
        with _removed_on_failure(record):
            kwokctl.create(record, folder, extra_args=extra_args, without=without)
            _furnish(_kubectl(record), without)
            if _last_words(record):
                raise LocalkubeError("Not everything runs.")
            return cls(_settle(record, owner), folder)

    @classmethod
    def up_in_docker(
        cls, *, name: str | None = None, kubeconfig: Path | None = None, owner: int | None = None
    ) -> Cluster:
        """The same through kind, whose pods really run. Raises LocalkubeError."""
        sweep()
        record = _claim("kind", name, kubeconfig, None, ports=0)
        with _removed_on_failure(record):
            kind.create(record)
            return cls(_settle(record, owner))

    @classmethod
    def get(cls, name: str) -> Cluster:
        """The running cluster of this name, with all that can be done with it. Raises LocalkubeError."""
        record = records.find(name)
        if record is None or record.launcher or records.is_stale(record):
            raise LocalkubeError(f"There is no running cluster called {name}; see `hack/cluster list`.")
        return cls(record, programs.find() if record.backend == "kwokctl" else None)

    @classmethod
    def of_kubeconfig(cls, kubeconfig: Path) -> Cluster:
        """Somebody else's cluster: what runs there is not ours to stop, and `down` does nothing."""
        return cls(Record(name=kubeconfig.stem, backend="foreign", kubeconfig=str(kubeconfig.absolute())))

    @property
    def name(self) -> str:
        return self._record.name

    @property
    def kubeconfig(self) -> Path:
        return Path(self._record.kubeconfig)

    @property
    def logs(self) -> Path:
        """The folder with each component's log."""
        return kwokctl.home(self._record) / "logs"

    def log(self, component: str) -> str:
        """What a component has logged so far."""
        return (self.logs / f"{self._pid_file(component).stem}.log").read_text(errors="replace")

    def stop(self, component: str) -> None:
        """End a component at once, as a crash would."""
        pid = self._pid(component)
        processes.kill([pid])
        self._pid_file(component).unlink(missing_ok=True)

    def start(self) -> None:
        """Start every component that does not run, and wait until the API server answers.

        Raises LocalkubeError when one ends again.
        """
        if self._programs is None:
            raise LocalkubeError("Only components that are local processes can be started.")
        kwokctl.run(self._record, self._programs, "start", "cluster", "--timeout", "60s")
        if last_words := _last_words(self._record):
            raise LocalkubeError(f"Not everything runs.\n{last_words}")

    def pause(self, component: str) -> None:
        """Let a component hang: connections stay open, nothing answers."""
        processes.send(self._pid(component), signal.SIGSTOP)

    def resume(self, component: str) -> None:
        """End a pause."""
        processes.send(self._pid(component), signal.SIGCONT)

    def components(self) -> dict[str, int | None]:
        """The process id of each component that belongs to the cluster; None where it does not run."""
        found: dict[str, int | None] = {}
        for component in kwokctl.COMPONENTS:
            file = self._pid_file(component)
            if (self.logs / f"{file.stem}.log").exists():
                pid = int(file.read_text()) if file.exists() else 0
                found[component] = pid if processes.identity(pid) else None
        return found

    def audit(self) -> list[dict[str, Any]]:
        """What the API server has written down so far, oldest first."""
        if not self._record.audit_log:
            raise LocalkubeError("This cluster was brought up without an audit log.")
        text = Path(self._record.audit_log).read_text()
        whole = text[: text.rfind("\n") + 1]
        return [json.loads(line) for line in whole.splitlines()]

    def down(self) -> None:
        """End it and remove everything that belongs to it, but for the audit log."""
        remove(self._record)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *reason: object) -> None:
        self.down()

    def _pid(self, component: str) -> int:
        pid = self.components().get(component)
        if pid is None:
            raise LocalkubeError(f"{component} does not run in {self.name}.")
        return pid

    def _pid_file(self, component: str) -> Path:
        name = kwokctl.NAMES_OF_KWOK.get(component, component)
        return kwokctl.home(self._record) / "pids" / f"{name}.pid"


def remove(record: Record) -> None:
    """End a cluster's processes, those of a start that never ended included, and remove its files."""
    if record.backend == "foreign":
        return
    if record.backend == "kind":
        kind.delete(record)
    else:
        processes.kill(processes.mentioning(f"{record.folder}/"))
        processes.kill(processes.mentioning(f"{record.folder}/"))  # what kwokctl started before it was ended
        if not record.owns_kubeconfig_file:
            _remove_context(record)
    records.forget(record)


def _remove_context(record: Record) -> None:
    """Take the cluster out of a kubeconfig file that others use too."""
    kubectl, name = Kubectl(record.kubeconfig), f"kwok-{record.name}"
    if kubectl.run("config", "current-context").stdout.strip() == name:
        kubectl.run("config", "unset", "current-context")
    for what in ("context", "cluster", "user"):
        kubectl.run("config", f"delete-{what}", name)


def sweep() -> list[str]:
    """Remove the clusters that nobody wants any more; returns their names."""
    stale = [record for record in records.everything() if records.is_stale(record)]
    for record in stale:
        remove(record)
    return [record.name for record in stale]


def _claim(
    backend: str, name: str | None, kubeconfig: Path | None, audit_log: Path | None, *, ports: int
) -> Record:
    name = name or f"p{os.getpid()}-{next(_numbers)}"
    own = records.clusters() / name / "kubeconfig"
    if audit_log:
        audit_log.parent.mkdir(parents=True, exist_ok=True)
    return records.create(
        name=name,
        backend=backend,
        kubeconfig=str((kubeconfig or own).absolute()),
        owns_kubeconfig_file=kubeconfig is None or not kubeconfig.exists(),
        audit_log=str(audit_log.absolute()) if audit_log else None,
        ports=ports,
    )


@contextlib.contextmanager
def _removed_on_failure(record: Record) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        last_words = _last_words(record) if isinstance(error, LocalkubeError) else ""
        remove(record)
        if last_words:
            raise LocalkubeError(f"{error}\n{last_words}") from error
        raise


def _last_words(record: Record) -> str:
    """The end of the log of each component that has ended by itself."""
    started = Cluster(record)
    dead = [component for component, pid in started.components().items() if not pid]
    logs = {component: started.log(component) for component in dead}
    return "\n".join(
        f"{component} has ended; its log ends so:\n{text[-600:]}" for component, text in logs.items()
    )


def _settle(record: Record, owner: int | None) -> Record:
    """It runs: from now on it is its owner's, or nobody's."""
    wanted_by = processes.identity(os.getpid() if owner is None else owner) if owner != 0 else None
    settled = dataclasses.replace(record, launcher=None, owner=wanted_by)
    settled.save()
    return settled


def _kubectl(record: Record) -> Kubectl:
    """What kubectl remembers goes with the cluster: another one may get the same port."""
    ours = record.backend != "foreign"
    return Kubectl(record.kubeconfig, cache=record.folder / "kubectl" if ours else None)


def _furnish(kubectl: Kubectl, without: list[str]) -> None:
    """Nodes, and whatever else must be there before a pod can start."""
    if "kwok" not in without:
        kubectl("create", "-f", str(HERE / "nodes.yaml"))
        kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=60s", timeout=70)
    if "kube-controller-manager" not in without:
        kubectl("wait", "--for=create", "serviceaccount/default", "--timeout=60s", timeout=70)


def _known(without: Iterable[str]) -> list[str]:
    names = list(without)
    if unknown := set(names) - set(kwokctl.OPTIONAL):
        raise LocalkubeError(
            f"Cannot leave out {', '.join(sorted(unknown))}; only {', '.join(kwokctl.OPTIONAL)}."
        )
    return names
