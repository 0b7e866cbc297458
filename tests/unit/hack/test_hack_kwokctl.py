"""What kwokctl is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from localkube import kwokctl
from localkube.cluster import Cluster
from localkube.errors import LocalkubeError
from localkube.records import Record


def configured(
    *, extra_args: tuple[str, ...] = (), without: tuple[str, ...] = (), **fields: Any
) -> list[Any]:
    """The documents of the configuration."""
    record = Record(
        name="one",
        backend="kwokctl",
        kubeconfig="/k",
        ports=(20001, 20002, 20003, 20004, 20005, 20006),
        **fields,
    )
    return list(yaml.safe_load_all(kwokctl.configuration(record, Path("/programs"), extra_args, without)))


def arguments(component: str, **given: Any) -> dict[str, str]:
    """The extra arguments of a component, as it will understand them: the last of a key wins."""
    patches = configured(**given)[0]["componentsPatches"]
    return {
        each["key"]: each["value"]
        for patch in patches
        if patch["name"] == component
        for each in patch["extraArgs"]
    }


def test_everything_listens_on_this_machine_only() -> None:
    options = configured()[0]["options"]
    assert options["bindAddress"] == "127.0.0.1"
    assert [options[name] for name in kwokctl.PORTS] == [20001, 20002, 20003, 20004, 20005, 20006]


def test_the_stages_come_along() -> None:
    kinds = [document["kind"] for document in configured()]
    assert kinds[0] == "KwokctlConfiguration"
    assert set(kinds[1:]) == {"Stage"}
    names = {document["metadata"]["name"] for document in configured()[1:]}
    assert names == {"node-ready", "node-heartbeat", "pod-running", "pod-ended", "pod-gone"}


def test_an_extra_argument_wins_over_ours() -> None:
    assert arguments("etcd") == {"unsafe-no-fsync": "true"}
    assert arguments("etcd", extra_args=("etcd=unsafe-no-fsync=false",)) == {"unsafe-no-fsync": "false"}


def test_a_value_may_contain_equals_signs() -> None:
    gates = arguments("kube-apiserver", extra_args=("kube-apiserver=feature-gates=A=true,B=false",))
    assert gates["feature-gates"] == "A=true,B=false"


def test_kwok_goes_by_the_name_that_kwokctl_knows() -> None:
    assert configured(without=("kwok",))[0]["options"]["disable"] == ["kwok-controller"]
    assert arguments("kwok-controller", extra_args=("kwok=v=4",))["v"] == "4"


@pytest.mark.parametrize("text", ["etcd", "etcd=", "etcd=key", "nginx=key=value", ""])
def test_an_extra_argument_must_name_component_key_and_value(text: str) -> None:
    with pytest.raises(LocalkubeError, match="component=key=value"):
        configured(extra_args=(text,))


def test_the_audit_log_goes_where_it_is_wanted() -> None:
    assert arguments("kube-apiserver", audit_log="/a/audit.jsonl")["audit-log-path"] == "/a/audit.jsonl"
    assert "audit-log-path" not in arguments("kube-apiserver")


def test_the_configuration_is_plain_text_without_a_yaml_library() -> None:
    first = kwokctl.configuration(
        Record(name="one", backend="kwokctl", kubeconfig="/k", ports=(1, 2, 3, 4, 5, 6)), Path("/programs")
    ).split("\n---\n")[0]
    assert json.loads(first)["kind"] == "KwokctlConfiguration"


@pytest.mark.parametrize("component", ["etcd", "kube-apiserver", "nginx"])
def test_what_a_cluster_cannot_do_without_is_not_left_out(component: str) -> None:
    with pytest.raises(LocalkubeError, match=f"Cannot leave out {component}"):
        Cluster.up(without=[component])
