"""The book of this machine's clusters: who owns a name, which ports are taken, what is left over."""

from __future__ import annotations

import dataclasses
import os
import socket
from pathlib import Path

import pytest

from localkube import cluster, processes, records
from localkube.errors import LocalkubeError

ME = processes.identity(os.getpid())
GONE = "999999999 1"


def make(name: str = "one", *, ports: int = 6, **fields: object) -> records.Record:
    given = {"backend": "kwokctl", "kubeconfig": str(records.clusters() / name / "kubeconfig"), **fields}
    return records.create(name=name, ports=ports, **given)


def test_a_cluster_is_found_by_its_name() -> None:
    record = make("one")
    assert records.find("one") == record
    assert records.find("two") is None
    assert records.everything() == [record]


def test_a_name_is_given_once() -> None:
    make("one")
    with pytest.raises(LocalkubeError, match="a cluster called one already"):
        make("one")


def test_two_clusters_never_share_a_port() -> None:
    ports = [port for number in range(20) for port in make(f"c{number}").ports]
    assert len(set(ports)) == 20 * 6


def test_a_port_in_use_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        taken = holder.getsockname()[1]
        monkeypatch.setattr(records, "PORTS", range(taken, taken + 1))
        assert make(ports=1).ports == ()


@pytest.mark.parametrize(
    ("fields", "stale"),
    [
        ({"launcher": ME, "owner": None}, False),
        ({"launcher": GONE, "owner": None}, True),
        ({"launcher": None, "owner": ME}, False),
        ({"launcher": None, "owner": GONE}, True),
        ({"launcher": None, "owner": None}, True),
        ({"launcher": None, "owner": None, "backend": "kind"}, False),
    ],
    ids=[
        "being-started",
        "its-starter-died",
        "its-owner-lives",
        "its-owner-died",
        "nobodys-and-no-process-is-left",
        "nobodys-in-docker",
    ],
)
def test_what_nobody_wants_any_more_is_stale(fields: dict[str, str | None], *, stale: bool) -> None:
    record = dataclasses.replace(make(), **fields)  # type: ignore[arg-type]
    assert records.is_stale(record) is stale


def test_a_sweep_removes_the_stale_and_nothing_else() -> None:
    wanted, stale = make("wanted"), make("stale")
    dataclasses.replace(stale, launcher=None, owner=GONE).save()
    assert cluster.sweep() == ["stale"]
    assert records.everything() == [wanted]
    assert not stale.folder.exists()


@pytest.mark.parametrize("owned", [True, False], ids=["made-for-the-cluster", "shared-with-others"])
def test_only_a_kubeconfig_file_of_its_own_goes_with_it(tmp_path: Path, *, owned: bool) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text("{}")
    records.forget(make(kubeconfig=str(file), owns_kubeconfig_file=owned))
    assert file.exists() is not owned


def test_somebody_elses_cluster_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "theirs"
    file.write_text("{}")
    with cluster.Cluster.of_kubeconfig(file) as theirs:
        assert theirs.components() == {}
        with pytest.raises(LocalkubeError):
            theirs.stop("etcd")
    assert file.exists()
