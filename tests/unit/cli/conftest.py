"""The command line in this process, and a `kubectl` that answers from a small world of objects."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cronschedule.cli import words
from cronschedule.cli.main import run

CONFORMANCE = Path(__file__).parents[2] / "conformance"
FAKE_KUBECTL = Path(__file__).parent / "fake_kubectl.py"
NOW = 1_764_504_000  # 2025-11-30T12:00:00Z


@dataclass(frozen=True)
class Answer:
    """What a person sees of one command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


Run = Callable[..., Answer]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`cli("simulate", "-f", path)`; `stdin` is what standard input holds. It is 2025-11-30T12:00:00Z."""
    monkeypatch.setattr(words, "now", lambda: NOW)
    monkeypatch.delenv("NO_COLOR", raising=False)

    def answer(*arguments: object, stdin: str | bytes = b"") -> Answer:
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        code = run([str(argument) for argument in arguments])
        return Answer(code, *capsys.readouterr())

    return answer


class FakeCluster:
    """The objects that the fake kubectl knows, and what was done to them."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._write({"objects": [], "denied": {}, "calls": []})

    def _read(self) -> Any:
        return json.loads(self._file.read_text())

    def _write(self, world: Any) -> None:
        self._file.write_text(json.dumps(world))

    def add(self, *objects: dict[str, Any]) -> None:
        world = self._read()
        world["objects"] += objects
        self._write(world)

    def change(self, kind: str, **parts: Any) -> None:
        """Give every object of a kind these parts, as its controller would."""
        world = self._read()
        for each in world["objects"]:
            if each["kind"] == kind:
                each.update(parts)
        self._write(world)

    def deny(self, kind: str, said: str) -> None:
        """Whatever is asked about a kind ends with this on standard error."""
        world = self._read()
        world["denied"][kind] = said
        self._write(world)

    @property
    def calls(self) -> list[list[str]]:
        return list(self._read()["calls"])

    def objects(self, kind: str) -> list[dict[str, Any]]:
        return [each for each in self._read()["objects"] if each["kind"] == kind]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """An empty cluster that the fake kubectl, first on PATH, answers from."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "kubectl"
    program.write_text(f"#!{sys.executable} -S\n{FAKE_KUBECTL.read_text()}")
    program.chmod(0o755)
    world = tmp_path / "world.json"
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_WORLD", str(world))
    return FakeCluster(world)
