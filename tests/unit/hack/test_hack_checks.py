"""hack/test: which parts run, and what its end says."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import checks
import environment


def play(
    monkeypatch: pytest.MonkeyPatch, *words: str, codes: dict[str, list[int]] | None = None
) -> tuple[int, list[list[str]]]:
    """Run hack/test with parts whose commands only exit with these codes; its own code, and what it ran."""
    ran: list[list[str]] = []
    real = checks._run

    def run(command: checks.Command, variables: dict[str, str]) -> int:
        ran.append(list(command))
        return real([sys.executable, "-c", f"raise SystemExit({command[1]})"], variables)

    monkeypatch.setattr(checks, "_run", run)
    parts = {
        name: (lambda exits=exits: [("pytest", str(code)) for code in exits])
        for name, exits in (codes or {"lint": [0], "unit": [0]}).items()
    }
    monkeypatch.setattr(checks, "PARTS", parts)
    return checks.main(list(words)), ran


def test_all_parts_run_even_when_one_fails(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    code, ran = play(monkeypatch, codes={"lint": [1, 0], "types": [0], "unit": [2]})
    assert code == 1
    assert len(ran) == 4
    shown = capfd.readouterr().out.split("== summary")[1]
    assert "FAILED: lint, unit in" in shown
    assert "pytest 1: exit code 1" in shown
    assert "types        passed" in shown


def test_a_run_without_failures_exits_with_zero(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert play(monkeypatch)[0] == 0
    assert "All passed in" in capfd.readouterr().out


def test_a_part_without_tests_has_not_passed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert play(monkeypatch, codes={"unit": [5]})[0] == 1
    assert "no tests were found" in capfd.readouterr().out


def test_an_interrupted_run_does_not_pass(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> list[checks.Command]:
        raise KeyboardInterrupt

    monkeypatch.setattr(checks, "PARTS", {"lint": interrupted})
    assert checks.main([]) == 130
    shown = capfd.readouterr().out
    assert "Interrupted" in shown
    assert "passed" not in shown


def test_only_the_named_parts_run_in_the_order_given(monkeypatch: pytest.MonkeyPatch) -> None:
    _, ran = play(monkeypatch, "types", "lint", codes={"lint": [0], "types": [3], "unit": [0]})
    assert [command[1] for command in ran] == ["3", "0"]


def test_what_follows_two_dashes_goes_to_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    _, ran = play(monkeypatch, "unit", "--", "-k", "cron", codes={"unit": [0]})
    assert ran == [["pytest", "0", "-k", "cron"]]


def test_each_seed_is_a_run_of_the_tests_and_is_named_where_it_fails(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    code, ran = play(monkeypatch, "unit", "--seeds", "3", codes={"unit": [1]})
    assert (code, len(ran)) == (1, 3)
    assert "exit code 1 TEST_SEED=3" in capfd.readouterr().out


def test_an_unknown_part_is_refused(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        play(monkeypatch, "units")
    assert "no such part: units" in capfd.readouterr().err


def test_every_folder_of_tests_belongs_to_a_part() -> None:
    tests = {path.parent for path in Path(environment.ROOT, "tests").rglob("test_*.py")}
    assert any("unit" in str(folder) for folder in tests)
    assert ("tests", f"--ignore={checks.INTEGRATION}", f"--ignore={checks.E2E}") == checks.unit()[0][-3:]
    assert (checks.integration()[0][-1], checks.e2e()[0][-1]) == (checks.INTEGRATION, checks.E2E)


def test_every_generator_is_asked_whether_its_file_is_fresh() -> None:
    asked = {os.path.basename(command[1]) for command in checks.generated()}
    assert {path.name for path in Path(environment.ROOT, "hack").glob("generate-*")} <= asked
    assert "pins.py" in asked
    assert all(command[-1] == "--check" for command in checks.generated())
