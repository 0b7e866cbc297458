"""Run a control plane through kwokctl's binary runtime: its configuration, and the commands that we need."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from localkube.errors import LocalkubeError
from localkube.records import Record
from localkube.versions import HERE

COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
PORTS = (
    "etcdPort",
    "etcdPeerPort",
    "kubeApiserverPort",
    "kubeControllerManagerPort",
    "kubeSchedulerPort",
    "kwokControllerPort",
)
OPTIONAL = COMPONENTS[2:]
NAMES_OF_KWOK = {"kwok": "kwok-controller"}  # a program's name is its component's, but for this one
DEFAULTS = (
    "etcd=unsafe-no-fsync=true",  # the data is thrown away with the cluster, so it need not survive a power cut
    "kube-apiserver=advertise-address=192.0.2.1",  # nobody's address: nothing listens outside 127.0.0.1
    # There is one of each, and a restarted one must not wait until its predecessor's lease is over.
    "kube-controller-manager=leader-elect=false",
    "kube-scheduler=leader-elect=false",
    "kwok=node-lease-duration-seconds=0",
)


def create(record: Record, programs: Path, *, extra_args: Iterable[str], without: Iterable[str]) -> None:
    """Start all components and wait until the API server answers. Raises LocalkubeError."""
    (record.folder / "kwok.yaml").write_text(configuration(record, programs, extra_args, without))
    Path(record.kubeconfig).parent.mkdir(parents=True, exist_ok=True)
    run(record, programs, "create", "cluster", "--timeout", "60s", "--kubeconfig", record.kubeconfig)


def configuration(
    record: Record, programs: Path, extra_args: Iterable[str] = (), without: Iterable[str] = ()
) -> str:
    """kwokctl's configuration of this cluster, with our Stages. JSON documents are YAML documents."""
    options = {
        "runtime": "binary",
        "bindAddress": "127.0.0.1",
        **dict(zip(PORTS, record.ports, strict=True)),
        "etcdBinary": str(programs / "etcd"),
        "kubeApiserverBinary": str(programs / "kube-apiserver"),
        "kubeControllerManagerBinary": str(programs / "kube-controller-manager"),
        "kubeSchedulerBinary": str(programs / "kube-scheduler"),
        "kwokControllerBinary": str(programs / "kwok"),
        "disable": [NAMES_OF_KWOK.get(name, name) for name in without],
    }
    document = {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokctlConfiguration",
        "options": options,
        "componentsPatches": _patches([*DEFAULTS, *_audit(record), *extra_args]),
    }
    stages = [file.read_text() for file in sorted((HERE / "stages").glob("*.yaml"))]
    return "\n---\n".join([json.dumps(document, indent=1), *stages])


def run(record: Record, programs: Path, *arguments: str) -> None:
    """Run a kwokctl command for this cluster. Raises LocalkubeError with what it said."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("KWOK_")}
    config = str(record.folder / "kwok.yaml")
    command = [str(programs / "kwokctl"), "--name", record.name, "--config", config, *arguments]
    answer = subprocess.run(
        command,
        env={
            **variables,
            "KWOK_WORKDIR": str(record.folder),
            "KUBECACHEDIR": str(record.folder / "kubectl"),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if answer.returncode:
        raise LocalkubeError(f"`kwokctl {' '.join(arguments[:2])}` failed:\n{answer.stdout[-2000:]}")


def home(record: Record) -> Path:
    """kwokctl's own folder for this cluster: pids/, logs/, pki/, etcd/."""
    return record.folder / "clusters" / record.name


def _audit(record: Record) -> list[str]:
    if not record.audit_log:
        return []
    return [
        f"kube-apiserver=audit-policy-file={HERE / 'audit-policy.yaml'}",
        f"kube-apiserver=audit-log-path={record.audit_log}",
        "kube-apiserver=audit-log-maxsize=100000",  # megabytes: never start another file
    ]


def _patches(extra_args: Iterable[str]) -> list[dict[str, object]]:
    """`component=key=value` texts as kwokctl's patches; a later one wins, as with the component itself."""
    patches: dict[str, list[dict[str, str]]] = {}
    for text in extra_args:
        component, _, argument = text.partition("=")
        key, equals, value = argument.partition("=")
        if component not in COMPONENTS or not equals:
            raise LocalkubeError(f"{text!r} is not component=key=value with a component of {COMPONENTS}.")
        patches.setdefault(NAMES_OF_KWOK.get(component, component), []).append({"key": key, "value": value})
    return [{"name": name, "extraArgs": arguments} for name, arguments in patches.items()]
