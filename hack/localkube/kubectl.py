"""Run kubectl: the one of this project's environment, else the machine's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from localkube.errors import LocalkubeError


class Kubectl:
    """`kubectl("get", "pods")` against one cluster, optionally in one namespace.

    `cache` is the folder for what kubectl remembers of the server (default: its own, in the home folder).
    """

    def __init__(
        self, kubeconfig: str | Path, namespace: str | None = None, *, cache: Path | None = None
    ) -> None:
        self.kubeconfig, self.namespace, self._cache = str(kubeconfig), namespace, cache

    def __call__(self, *arguments: str, stdin: str | None = None, timeout: float = 60) -> str:
        """Its standard output. Raises LocalkubeError with its standard error when it fails or takes too long."""
        try:
            answer = self.run(*arguments, stdin=stdin, timeout=timeout)
        except subprocess.TimeoutExpired as expired:
            raise LocalkubeError(f"`kubectl {' '.join(arguments)}` took over {timeout:.0f} s") from expired
        if answer.returncode:
            raise LocalkubeError(f"`kubectl {' '.join(arguments)}` failed:\n{answer.stderr}")
        return answer.stdout

    def json(self, *arguments: str) -> Any:
        """What it prints with `-o json`."""
        return json.loads(self(*arguments, "-o", "json"))

    def apply(self, *manifests: dict[str, Any]) -> None:
        """Apply manifests."""
        items = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        self("apply", "-f", "-", stdin=json.dumps(items))

    def install(self, crds: str | Path) -> None:
        """Apply CRDs (a file, or a folder of files) and wait until the server tells of what they define.

        Raises LocalkubeError when it does not within 30 s.
        """
        self("apply", "--server-side", "--force-conflicts", "-f", str(crds))
        found = self.json("get", "-f", str(crds))
        wanted = {crd["metadata"]["name"] for crd in found.get("items", [found])}
        deadline = time.monotonic() + 30
        while missing := wanted - set(self("api-resources", "-o", "name").split()):
            if time.monotonic() > deadline:
                raise LocalkubeError(f"Not served within 30 s: {', '.join(sorted(missing))}.")
            time.sleep(0.1)

    def run(
        self, *arguments: str, stdin: str | None = None, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """The finished process, whether it succeeded or not: for tests of what the server refuses."""
        where = [f"--namespace={self.namespace}"] if self.namespace else []
        where += [f"--cache-dir={self._cache}"] if self._cache else []
        command = [executable(), f"--kubeconfig={self.kubeconfig}", *where, *arguments]
        return subprocess.run(command, input=stdin or "", capture_output=True, text=True, timeout=timeout)

    def within(self, namespace: str) -> Kubectl:
        """The same for a namespace."""
        return Kubectl(self.kubeconfig, namespace, cache=self._cache)


def executable() -> str:
    """Path of kubectl. Raises LocalkubeError where there is none."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    found = shutil.which("kubectl", path=beside)
    if not found:
        raise LocalkubeError("There is no kubectl; hack/environment.py brings one.")
    return found
