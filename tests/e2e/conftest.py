"""What tests against a real API server stand on: a cluster, a namespace, kubectl, and the operator as a process.

Which cluster: E2E_CLUSTER names one of hack/cluster (hack/test shares one that way), E2E_KUBECONFIG is the
kubeconfig file of any other, a person's own included. Without either, one is brought up and taken down again.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "hack"))

from localkube import Cluster, Kubectl, OperatorProcess  # noqa: E402

CRDS = ROOT / "crds"
_numbers = itertools.count(1)


def pytest_configure() -> None:
    """SIGTERM ends a run as Ctrl-C does: what it has started is taken down."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A failed test shows what the operators it knows have logged last."""
    report = yield
    if report.failed:  # type: ignore[attr-defined]
        for name, value in getattr(item, "funcargs", {}).items():
            if isinstance(value, OperatorProcess):
                report.sections.append((f"{name}: {value.log}", value.tail()))  # type: ignore[attr-defined]
    return report


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A running cluster that knows CronSchedules. `cluster.audit()` is the outside judge of what was created."""
    with ExitStack() as ends:
        cluster = _cluster(tmp_path_factory.mktemp("cluster"), ends)
        if any(CRDS.glob("*.yaml")):
            cluster.kubectl.install(CRDS)
        yield cluster


def _cluster(folder: Path, ends: ExitStack) -> Cluster:
    if name := os.environ.get("E2E_CLUSTER"):
        return Cluster.get(name)
    if file := os.environ.get("E2E_KUBECONFIG"):
        return Cluster.of_kubeconfig(Path(file))
    return ends.enter_context(Cluster.up(audit_log=folder / "audit.jsonl"))


@pytest.fixture(scope="session")
def kubectl(cluster: Cluster) -> Kubectl:
    """`kubectl("get", "nodes")`; `kubectl.within(namespace)` for a namespace."""
    return cluster.kubectl


@pytest.fixture
def namespace(kubectl: Kubectl) -> Iterator[str]:
    """The name of a fresh namespace, removed in the background afterwards."""
    name = f"e2e-{os.getpid()}-{next(_numbers)}"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="session")
def operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    """The operator with its defaults, running for all tests. Who stops or kills it starts it again."""
    operator = OperatorProcess(cluster.kubeconfig, tmp_path_factory.mktemp("operator") / "operator.log")
    with operator.started():
        yield operator


@pytest.fixture(scope="module")
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster in which no operator runs but those of the module."""
    with Cluster.up(audit_log=tmp_path_factory.mktemp("own") / "audit.jsonl") as cluster:
        cluster.kubectl.install(CRDS)
        yield cluster


@pytest.fixture
def new_operator(cluster: Cluster, tmp_path: Path) -> Iterator[Callable[[str], OperatorProcess]]:
    """Make operators of one's own, by name and not started yet; whatever runs of them ends with the test."""
    with ExitStack() as ends:

        def make(name: str) -> OperatorProcess:
            operator = OperatorProcess(cluster.kubeconfig, tmp_path / f"{name}.log")
            ends.callback(operator.end)
            return operator

        yield make
