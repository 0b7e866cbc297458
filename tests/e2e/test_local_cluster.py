"""hack/cluster itself: is it a Kubernetes, do its pods do what they are told, and does nothing of it stay behind?"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localkube import Cluster, LocalkubeError, processes, records, sweep

HACK = Path(__file__).resolve().parents[2] / "hack"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster that may be mistreated."""
    with Cluster.up(audit_log=tmp_path_factory.mktemp("own") / "audit.jsonl") as cluster:
        yield cluster


def job(name: str, **demo: str) -> dict[str, Any]:
    """A Job of one pod that plays `duration` and `outcome`."""
    annotations = {f"demo.cronschedule.dev/{key}": value for key, value in demo.items()}
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}
    template = {"metadata": {"annotations": annotations}, "spec": pod}
    spec = {"backoffLimit": 0, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def runs(cluster: Cluster, name: str) -> None:
    """Does a pod run to its end?"""
    cluster.kubectl.apply(job(name))
    cluster.kubectl("wait", "--for=condition=Complete", f"job/{name}", "--timeout=50s")


def listening(record: records.Record) -> list[int]:
    """On which of the cluster's ports does somebody answer?"""
    found = []
    for port in record.ports:
        with socket.socket() as caller:
            if caller.connect_ex(("127.0.0.1", port)) == 0:
                found.append(port)
    return found


def test_pods_play_what_their_annotations_say(own: Cluster) -> None:
    kubectl = own.kubectl
    kubectl.apply(
        job("short"), job("long", duration="6s"), job("fails", outcome="fail"), job("hangs", outcome="hang")
    )
    kubectl("wait", "--for=condition=Complete", "job/short", "job/long", "--timeout=50s")
    kubectl("wait", "--for=condition=Failed", "job/fails", "--timeout=50s")
    states = {
        pod["metadata"]["labels"]["job-name"]: pod["status"] for pod in kubectl.json("get", "pods")["items"]
    }
    assert {name: status["phase"] for name, status in states.items()} == {
        "short": "Succeeded",
        "long": "Succeeded",
        "fails": "Failed",
        "hangs": "Running",
    }
    assert states["fails"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1
    kubectl("delete", "job", "hangs")
    kubectl("wait", "--for=delete", "pod", "-l", "job-name=hangs", "--timeout=50s")


def test_the_server_says_which_version_it_is(own: Cluster) -> None:
    assert own.kubectl.json("version")["serverVersion"]["gitVersion"] == "v1.37.2"


def test_the_audit_log_tells_who_created_which_job(own: Cluster) -> None:
    own.kubectl.apply(job("judged"))
    entries = [entry for entry in own.audit() if entry["objectRef"].get("name") == "judged"]
    assert [(entry["verb"], entry["objectRef"]["resource"]) for entry in entries] == [("create", "jobs")]
    assert entries[0]["requestObject"]["metadata"]["name"] == "judged"
    assert entries[0]["responseStatus"]["code"] == 201


@pytest.mark.parametrize(
    "component", ["kwok", "kube-controller-manager", "kube-scheduler", "kube-apiserver", "etcd"]
)
def test_a_component_that_crashed_takes_up_its_work_again(own: Cluster, component: str) -> None:
    own.stop(component)
    assert own.components()[component] is None
    own.start()
    runs(own, f"after-{component}")


def test_a_paused_server_answers_nobody_until_it_is_resumed(own: Cluster) -> None:
    own.pause("kube-apiserver")
    try:
        with pytest.raises(LocalkubeError, match="took over 1 s"):
            own.kubectl("get", "nodes", timeout=1)
    finally:
        own.resume("kube-apiserver")
    assert own.kubectl("get", "nodes")


def test_two_run_side_by_side_and_one_leaves_nothing_behind(own: Cluster) -> None:
    with Cluster.up() as other:
        record = records.find(other.name)
        assert record
        assert len(listening(record)) == len(record.ports)
        own.kubectl("create", "namespace", "only-here")
        with pytest.raises(LocalkubeError, match="NotFound"):
            other.kubectl("get", "namespace", "only-here")
        runs(other, "beside")
    assert processes.mentioning(f"{record.folder}/") == []
    assert listening(record) == []
    assert not record.folder.exists()
    assert own.kubectl("get", "namespace", "only-here")


def test_a_cluster_whose_owner_was_killed_is_found_and_removed() -> None:
    name = f"orphan-{os.getpid()}"
    program = f"from localkube import Cluster; Cluster.up(name={name!r}); print('up', flush=True); input()"
    owner = subprocess.Popen(
        [sys.executable, "-c", program], cwd=HACK, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout
    assert owner.stdout.readline() == "up\n"
    record = records.find(name)
    assert record
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    assert processes.mentioning(f"{record.folder}/")
    sweep()
    assert processes.mentioning(f"{record.folder}/") == []
    assert listening(record) == []
    assert not record.folder.exists()


def test_one_that_cannot_start_says_why_and_leaves_nothing() -> None:
    name = f"broken-{os.getpid()}"
    with pytest.raises(LocalkubeError, match="unknown flag: --no-such-flag"):
        Cluster.up(name=name, extra_args=["kube-scheduler=no-such-flag=1"])
    assert records.find(name) is None
