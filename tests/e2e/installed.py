"""A cluster with a release of the chart in it, and the operator as the Deployment says, with a token of its account."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from helm import helm
from localkube import Cluster, Kubectl, OperatorProcess

HOME = "cronschedule-system"
USER = f"system:serviceaccount:{HOME}:cronschedule"


class Site:
    """A cluster with the release in it."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        self.kubectl = cluster.kubectl
        self.operator: OperatorProcess | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def helm(self, *words: str) -> str:
        home = self.folder / "helm"
        return helm(*words, "--namespace", HOME, home=home, kubeconfig=self.cluster.kubeconfig)

    def deployment(self) -> dict[str, Any]:
        """The pod's spec as it is in the cluster."""
        found = self.kubectl.within(HOME).json("get", "deployment", "cronschedule")
        spec: dict[str, Any] = found["spec"]["template"]["spec"]
        return spec

    def settings(self) -> dict[str, str]:
        (container,) = self.deployment()["containers"]
        return {one["name"]: one["value"] for one in container["env"]}

    def start(self) -> OperatorProcess:
        """The operator as the Deployment says, with a token of its service account; it leads when this returns."""
        spec = self.deployment()
        (container,) = spec["containers"]
        command = [sys.executable if word == "python" else word for word in container["command"]]
        token = self.kubectl.within(HOME)("create", "token", spec["serviceAccountName"]).strip()
        self.operator = OperatorProcess(self.as_token(token), self.folder / "operator.log", command)
        settings = self.settings() | {
            "CRONSCHEDULE_LEADER_ELECTION": "on",
            "CRONSCHEDULE_HEALTH_PORT": str(self.port),
        }
        self.operator.start(**settings)
        self.operator.wait_for(lambda line: line.get("event") == "operator.leading", within=60)
        return self.operator

    def as_token(self, token: str) -> Path:
        config = yaml.safe_load(self.kubectl("config", "view", "--raw", "--flatten"))
        config["users"] = [{"name": user["name"], "user": {"token": token}} for user in config["users"]]
        file = self.folder / "kubeconfig"
        file.write_text(yaml.safe_dump(config))
        return file

    def metrics(self) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
            return str(answer.read().decode())

    def schedule(self, tenant: str, name: str) -> Any:
        return self.kubectl.within(tenant).json("get", "cronschedule", name)

    @contextlib.contextmanager
    def ending(self) -> Iterator[None]:
        """At the end the operator is stopped, whichever runs then."""
        try:
            yield
        finally:
            if self.operator is not None:
                self.operator.end()

    def requests(self) -> list[dict[str, Any]]:
        """What the API server wrote down of the operator."""
        return [event for event in self.cluster.audit() if event["user"]["username"] == USER]

    def denied(self) -> list[dict[str, Any]]:
        """What of it was refused for want of a right."""
        return [event for event in self.requests() if event["responseStatus"]["code"] == 403]


def counts(told: dict[str, Any]) -> dict[str, Any]:
    """The totals of a schedule; none before the operator has seen it."""
    found: dict[str, Any] = told.get("status", {}).get("counts", {})
    return found


def as_user(kubectl: Kubectl, name: str, *words: str, told: dict[str, Any] | None = None) -> str:
    """What kubectl says when somebody else asks. Raises LocalkubeError where they may not."""
    stdin = json.dumps(told) if told is not None else None
    return kubectl(*words, f"--as={name}", *(["-f", "-"] if told is not None else []), stdin=stdin)


def grant(kubectl: Kubectl, tenant: str, name: str, role: str) -> None:
    kubectl.within(tenant)(
        "create", "rolebinding", f"{name}-{role}", f"--clusterrole={role}", f"--user={name}"
    )
