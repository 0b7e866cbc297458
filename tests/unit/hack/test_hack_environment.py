"""The bootstrap of `.venv`: when it is made, and what it is made from."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import environment


class Clone:
    """A clone of the project whose `.venv` costs nothing to make."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.commands: list[list[str]] = []
        self.fails_at = "nothing"
        (root / "hack" / "pins").mkdir(parents=True)
        (root / "hack" / "pins" / "dev.txt").write_text("one==1\n")
        (root / "pyproject.toml").write_text("[project]\n")

    def run(self, command: list[str], hint: str = "") -> None:
        self.commands.append(command)
        if self.fails_at in command:
            raise SystemExit("it failed")
        if "venv" in command:
            (self.root / ".venv" / "bin").mkdir(parents=True)
            (self.root / ".venv" / "bin" / "python").symlink_to(sys.executable)

    def made(self) -> bool:
        """Was anything made since the last question?"""
        made, self.commands = bool(self.commands), []
        return made


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    clone = Clone(tmp_path / "clone")
    monkeypatch.setattr(environment, "ROOT", clone.root)
    monkeypatch.setattr(environment, "VENV", clone.root / ".venv")
    monkeypatch.setattr(environment, "PINS", clone.root / "hack" / "pins" / "dev.txt")
    monkeypatch.setattr(environment, "STAMP", clone.root / ".venv" / ".made-from")
    monkeypatch.setattr(environment, "_run", clone.run)
    return clone


def test_a_second_call_does_nothing(clone: Clone) -> None:
    environment.ensure()
    assert clone.made()
    environment.ensure()
    assert not clone.made()


def test_exact_packages_come_first_and_then_the_project_without_any(clone: Clone) -> None:
    environment.ensure()
    _, packages, project = clone.commands
    assert {"--require-hashes", str(environment.PINS)} <= set(packages)
    assert {"--no-deps", "--no-build-isolation", "--editable", str(clone.root)} <= set(project)


def change_pins(clone: Clone) -> None:
    environment.PINS.write_text("one==2\n")


def change_metadata(clone: Clone) -> None:
    (clone.root / "pyproject.toml").write_text("[project]\nname = 'other'\n")


def lose_python(clone: Clone) -> None:
    (clone.root / ".venv" / "bin" / "python").unlink()


def move_elsewhere(clone: Clone) -> None:
    environment.STAMP.write_text("a stamp of another place\n")


@pytest.mark.parametrize("event", [change_pins, change_metadata, lose_python, move_elsewhere])
def test_it_is_made_anew_when_what_it_came_from_has_changed(
    clone: Clone, event: Callable[[Clone], None]
) -> None:
    environment.ensure()
    clone.made()
    event(clone)
    environment.ensure()
    assert clone.made()


def test_one_that_failed_half_way_does_not_pass_for_whole(clone: Clone) -> None:
    clone.fails_at = "--editable"
    with pytest.raises(SystemExit):
        environment.ensure()
    clone.fails_at = "nothing"
    clone.made()
    environment.ensure()
    assert clone.made()


def test_the_pinned_kubectl_is_first_in_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    assert environment._variables()["PATH"] == f"{environment.VENV / 'bin'}:/usr/bin"
