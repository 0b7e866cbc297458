"""charts/policies/catch-up-warning.yaml: kubectl warns of a catch-up that maxStaleness cuts short, and writes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.world import cron_schedule, eventually
from localkube import Kubectl

POLICIES = Path(__file__).resolve().parents[2] / "charts" / "policies"
WORDS = "but maxStaleness lets nothing later than"
SHORT = {"misfirePolicy": "CatchUp"}


@pytest.fixture(scope="module")
def warned(kubectl: Kubectl) -> Iterator[Kubectl]:
    """kubectl in a cluster where the policy is in force, which takes a moment."""
    kubectl("apply", "--server-side", "-f", str(POLICIES))
    probe = json.dumps(cron_schedule("probe", **SHORT))
    dry = ("create", "--dry-run=server", "-f", "-")
    eventually(lambda: kubectl.run(*dry, stdin=probe).stderr, lambda told: WORDS in told)
    yield kubectl
    kubectl("delete", "-f", str(POLICIES))


def warning(kubectl: Kubectl, namespace: str, *apply: str, **spec: Any) -> str:
    """What kubectl says besides that the schedule is written."""
    document = json.dumps(cron_schedule("x", **spec))
    answer = kubectl.within(namespace).run("apply", *apply, "-f", "-", stdin=document)
    assert answer.returncode == 0, answer.stderr
    return answer.stderr


@pytest.mark.parametrize("way", [(), ("--server-side",)], ids=["client-side", "server-side"])
def test_kubectl_warns_and_writes_it(warned: Kubectl, namespace: str, way: tuple[str, ...]) -> None:
    told = warning(warned, namespace, *way, **SHORT)
    assert told.startswith("Warning: ")
    assert "catchUp.maxAge is 24h, but maxStaleness lets nothing later than 1h run: raise" in told
    assert warned.within(namespace).json("get", "csch", "x")["spec"]["maxStaleness"] == "1h"


@pytest.mark.parametrize(
    ("spec", "warns"),
    [
        pytest.param({"catchUp": {"maxAge": "2h"}, "maxStaleness": "90m"}, True, id="both written"),
        pytest.param({"catchUp": {}}, True, id="an empty catchUp"),
        pytest.param({"catchUp": {"maxAge": "60m"}}, False, id="the same in other words"),
        pytest.param({"maxStaleness": "24h"}, False, id="as long as it gets"),
        pytest.param({"misfirePolicy": "FireOnce"}, False, id="another policy"),
    ],
)
def test_when_it_warns(warned: Kubectl, namespace: str, spec: dict[str, Any], *, warns: bool) -> None:
    assert (WORDS in warning(warned, namespace, **(SHORT | spec))) is warns


def test_it_warns_of_an_edit_of_the_spec_and_of_nothing_else(warned: Kubectl, namespace: str) -> None:
    warning(warned, namespace, **SHORT)
    at = warned.within(namespace)
    assert at.run("label", "csch", "x", "team=billing").stderr == ""
    edited = at.run("patch", "csch", "x", "--type=merge", "-p", '{"spec": {"suspend": true}}')
    assert (edited.returncode, WORDS in edited.stderr) == (0, True)
