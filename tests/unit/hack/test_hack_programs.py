"""Where the control plane's programs come from."""

from __future__ import annotations

import io
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from localkube import download, programs, versions
from localkube.errors import LocalkubeError
from localkube.versions import PROGRAMS, Versions

PREFIXES = ("KWOK_ETCD_BINARY_PREFIX", "KWOK_BINARY_PREFIX", "KWOK_KUBE_BINARY_PREFIX")


def fill(folder: Path, *, without: str = "") -> Path:
    folder.mkdir(parents=True)
    for program in PROGRAMS:
        if program != without:
            (folder / program).write_text("#!/bin/sh\n")
            (folder / program).chmod(0o755)
    return folder


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Builds are only noted, and yield programs at once."""
    folders: list[Path] = []

    def build(folder: Path, work: Path) -> None:
        folders.append(fill(folder))

    monkeypatch.setattr(programs, "build", build)
    return folders


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing listens on port 1 of this machine."""
    for prefix in PREFIXES:
        monkeypatch.setenv(prefix, "http://127.0.0.1:1")


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A web server on this machine with all programs under the names of their projects."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    for url in download.urls(versions.pinned()).values():
        (folder / url.rpartition("/")[2]).write_bytes(f"published as {url.rpartition('/')[2]}".encode())
    with tarfile.open(
        folder / f"etcd-v{versions.pinned().etcd}-{'-'.join(versions.target())}.tar.gz", "w:gz"
    ) as tar:
        member = tarfile.TarInfo("etcd-v3/etcd")
        member.size = 4
        tar.addfile(member, io.BytesIO(b"etcd"))

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    for prefix in PREFIXES:
        monkeypatch.setenv(prefix, f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield folder
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_named_folder_is_taken_as_it_is(tmp_path: Path, built: list[Path]) -> None:
    assert programs.find(fill(tmp_path / "mine")) == tmp_path / "mine"
    assert built == []


def test_a_named_folder_must_have_them_all(tmp_path: Path) -> None:
    with pytest.raises(LocalkubeError, match="lacks kwok"):
        programs.find(fill(tmp_path / "mine", without="kwok"))


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("without", ["", "kwokctl"], ids=["complete", "incomplete"])
def test_kubebuilders_folder_is_taken_if_it_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: list[Path], without: str
) -> None:
    assets = fill(tmp_path / "assets", without=without)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    assert (programs.find() == assets) is (without == "")


@pytest.mark.usefixtures("no_network")
def test_without_a_network_they_are_built_once_and_kept(cache: Path, built: list[Path]) -> None:
    folder = programs.find()
    assert programs.find() == folder
    assert len(built) == 1
    assert {file.name for file in folder.iterdir()} == set(PROGRAMS)
    assert {file.name for file in cache.iterdir()} == {folder.name, f"{folder.name}.lock"}


@pytest.mark.usefixtures("no_network")
def test_two_callers_build_once(built: list[Path]) -> None:
    callers = [threading.Thread(target=programs.find) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(built) == 1


@pytest.mark.usefixtures("no_network")
def test_a_build_that_fails_leaves_no_half_filled_folder(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(folder: Path, work: Path) -> None:
        fill(folder, without="etcd")
        raise LocalkubeError("no memory")

    monkeypatch.setattr(programs, "build", build)
    with pytest.raises(LocalkubeError, match="no memory"):
        programs.find()
    assert not versions.programs_folder().exists()


@pytest.mark.usefixtures("mirror")
@pytest.mark.skipif(versions.target()[0] != "linux", reason="ready-made programs exist for Linux only")
def test_with_a_network_they_are_downloaded(built: list[Path]) -> None:
    folder = programs.find()
    assert built == []
    assert (folder / "etcd").read_bytes() == b"etcd"
    assert (folder / "kwokctl").read_text().startswith("published as kwokctl-linux-")
    assert (folder / "kube-apiserver").read_text() == "published as kube-apiserver"


def test_a_download_that_breaks_off_is_followed_by_a_build(mirror: Path, built: list[Path]) -> None:
    (mirror / "kube-scheduler").unlink()
    folder = programs.find()
    assert len(built) == 1
    assert (folder / "etcd").read_text() == "#!/bin/sh\n"


def test_what_is_published_is_named_by_version_and_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for prefix in PREFIXES:
        monkeypatch.delenv(prefix, raising=False)
    monkeypatch.setattr(download, "target", lambda: ("linux", "arm64"))
    urls = download.urls(Versions(kubernetes="1.2.3", etcd="4.5.6", kwok="7.8.9"))
    assert urls["kube-apiserver"].endswith("/v1.2.3/bin/linux/arm64/kube-apiserver")
    assert urls["etcd"].endswith("/v4.5.6/etcd-v4.5.6-linux-arm64.tar.gz")
    assert urls["kwok"].endswith("/v7.8.9/kwok-linux-arm64")


def test_the_folder_is_named_after_the_versions_of_go_mod(cache: Path, tmp_path: Path) -> None:
    go_mod = tmp_path / "go.mod"
    go_mod.write_text(
        "require (\n\tgo.etcd.io/etcd/server/v3 v3.0.1 // indirect\n\tk8s.io/kubernetes v1.0.2\n)\n"
        "require sigs.k8s.io/kwok v0.0.3\n"
    )
    assert versions.pinned(go_mod) == Versions(kubernetes="1.0.2", etcd="3.0.1", kwok="0.0.3")
    assert versions.pinned().kubernetes in versions.programs_folder().name
    assert versions.programs_folder().parent == cache


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/cronschedule"),
        ({"HOME": "/h"}, "/h/.cache/cronschedule"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/cronschedule"),
    ],
    ids=["xdg", "home", "xdg-set-to-nothing"],
)
def test_the_cache_is_where_people_expect_it(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(versions.cache()) == expected
