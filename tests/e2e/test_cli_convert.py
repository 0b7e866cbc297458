"""Ten CronJobs of the kind that people have: converted, checked, applied strictly, and run.

Where kwok plays the pods they succeed. A kubelet would look for images, secrets and ConfigMaps that are nowhere, so on
another cluster a run is only seen to have started.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.test_cli import Plugin
from e2e.world import JsonObject, World, eventually
from localkube import Cluster, Kubectl, OperatorProcess

CRON_JOBS = sorted((Path(__file__).resolve().parents[1] / "unit" / "cli" / "cron_jobs").glob("*.yaml"))
ACCOUNTS = ("registry-token", "rebalance")
CLAIMS = ("database-backup", "certificates")
LABELS = {"node-role.kubernetes.io/control-plane": ""}
DEVICES = {"example.com/accelerator": "4"}


def _volume(world: World, claim: str) -> list[JsonObject]:
    """A claim, bound to a volume of its own."""
    size = {"storage": "1Gi"}
    volume = f"{world.namespace}-{claim}"
    shared = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": volume},
            "spec": {"capacity": size, "hostPath": {"path": "/tmp"}, **shared},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": claim},
            "spec": {"volumeName": volume, "resources": {"requests": size}, **shared},
        },
    ]


def is_played(kubectl: Kubectl) -> bool:
    """Whether kwok plays the nodes and their pods."""
    nodes = kubectl.json("get", "nodes")["items"]
    return all("kwok.x-k8s.io/node" in (node["metadata"].get("annotations") or {}) for node in nodes)


def _equip_node(kubectl: Kubectl) -> None:
    patch = json.dumps({"metadata": {"labels": LABELS}})
    kubectl("patch", "node", "node-1", "--type=merge", "-p", patch)
    patch = json.dumps({"status": {"capacity": DEVICES, "allocatable": DEVICES}})
    kubectl("patch", "node", "node-1", "--subresource=status", "--type=merge", "-p", patch)


@pytest.fixture(scope="module")
def world(kubectl: Kubectl, operator: OperatorProcess) -> Iterator[World]:
    """A namespace with what the ten refer to, and a node that takes them."""
    with World.fresh(kubectl) as world:
        accounts = [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}} for name in ACCOUNTS
        ]
        volumes = [each for claim in CLAIMS for each in _volume(world, claim)]
        runtime = {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": "accelerated"},
            "handler": "runc",
        }
        world.kubectl.apply(runtime, *accounts, *volumes)
        if is_played(kubectl):
            _equip_node(kubectl)
        yield world
        kubectl(
            "delete", "persistentvolume", "--wait=false", *(f"{world.namespace}-{claim}" for claim in CLAIMS)
        )


@pytest.mark.parametrize("file", CRON_JOBS, ids=lambda file: file.stem)
def test_a_cron_job_of_real_life_runs_as_a_schedule(world: World, cluster: Cluster, file: Path) -> None:
    plugin = Plugin(cluster.kubeconfig, world.namespace)
    converted = plugin("convert", "-f", str(file), "-o", "json").json
    converted["metadata"].pop("namespace", None)
    converted["spec"]["schedule"] = "0 0 29 2 *"  # no slot of its own shall come due meanwhile
    name = converted["metadata"]["name"]

    world.kubectl("create", "--validate=strict", "-f", "-", stdin=json.dumps(converted))
    world.wait_until_seen(name)
    if converted["spec"].get("suspend"):
        assert plugin("resume", name).code == 0
        world.wait_for_status(name, lambda status: not status.get("suspension"))
    assert plugin("trigger", name).code == 0
    _let_it_out_of_the_queue(world, name)

    (row,) = world.wait_for_outcomes(name, "Succeeded" if is_played(cluster.kubectl) else "Active")
    assert row["trigger"] == "Manual"


def _let_it_out_of_the_queue(world: World, name: str) -> None:
    """Jobs that are created suspended are started by a queue; here that is us."""
    (job,) = eventually(lambda: list(world.jobs(name).values()), lambda jobs: len(jobs) == 1)
    if job["spec"].get("suspend"):
        world.kubectl(
            "patch", "job", job["metadata"]["name"], "--type=merge", "-p", '{"spec": {"suspend": false}}'
        )


def test_cron_jobs_are_converted_from_the_cluster(kubectl: Kubectl, cluster: Cluster) -> None:
    with World.fresh(kubectl) as world:
        for file in CRON_JOBS:
            text = file.read_text().replace("namespace: kube-system", f"namespace: {world.namespace}")
            if "TZ=" not in text:
                world.kubectl("create", "-f", "-", stdin=text)
        plugin = Plugin(cluster.kubeconfig, world.namespace)

        answer = plugin("convert", "--from-cluster", "-o", "json")

        converted = answer.json["items"]
        assert len(converted) == len(CRON_JOBS) - 1
        world.kubectl(
            "create", "--validate=strict", "--dry-run=server", "-f", "-", stdin=json.dumps(answer.json)
        )
        checked = plugin("check", "-", "--ignore", "clock-change", stdin=json.dumps(answer.json))
        assert (checked.code, checked.out) == (0, "")
