"""Tests that failed by chance can be run again: the seed is told."""

from __future__ import annotations

import pytest

from seeded import SEED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if SEED:
        terminalreporter.write_line(f"TEST_SEED={SEED}")
