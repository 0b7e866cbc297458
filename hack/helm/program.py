"""Runs Helm, which is built when it is needed: about four minutes of one core, once."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

from localkube.goprogram import built

HERE = Path(__file__).resolve().parent
CHART = HERE.parent.parent / "charts" / "cronschedule"
PACKAGE = "helm.sh/helm/v4/cmd/helm"


class HelmError(Exception):
    """Helm refused; the message is its own."""


def helm(*words: str, home: Path, kubeconfig: Path | None = None) -> str:
    """What `helm words…` prints. Its files are kept below `home`, none of the user's are read.

    Raises HelmError; LocalkubeError where Helm cannot be built.
    """
    variables = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "HELM_CACHE_HOME": str(home / "cache"),
        "HELM_CONFIG_HOME": str(home / "config"),
        "HELM_DATA_HOME": str(home / "data"),
        "KUBECONFIG": str(kubeconfig or home / "no-kubeconfig"),
    }
    command = [str(built(HERE, package=PACKAGE)), *words]
    answer = subprocess.run(command, env=variables, capture_output=True, text=True)
    if answer.returncode:
        raise HelmError(answer.stderr.strip())
    return answer.stdout


def render(*words: str, home: Path, namespace: str = "cronschedule") -> list[dict[str, Any]]:
    """The objects that the chart makes of these options, such as `--set`, `replicas=1`. Raises HelmError."""
    told = helm("template", "cronschedule", str(CHART), "--namespace", namespace, *words, home=home)
    return [document for document in yaml.safe_load_all(told) if document]
