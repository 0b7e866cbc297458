"""What the operator logs as an error fails the test, unless the test takes it out of `errors`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
import structlog

sys.path.append(
    str(Path(__file__).resolve().parents[1] / "unit" / "core")
)  # random_scenarios and what it needs

WARNING = 30


@pytest.fixture(autouse=True)
def errors() -> Iterator[list[MutableMapping[str, Any]]]:
    """The lines that the operator logged as errors."""
    lines: list[MutableMapping[str, Any]] = []

    def keep(_: object, level: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        if level not in ("warning", "warn"):
            lines.append(line)
        raise structlog.DropEvent

    structlog.configure(
        processors=[structlog.processors.format_exc_info, keep],
        wrapper_class=structlog.make_filtering_bound_logger(WARNING),
        cache_logger_on_first_use=False,
    )
    yield lines
    structlog.reset_defaults()
    assert not lines


WALKED: Counter[str] = Counter()
"""Crashes walked by all processes, by story."""


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Each process tells what it has walked."""
    walk = sys.modules.get("test_crash_walk")
    walked = dict(walk.WALKED) if walk is not None else {}
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["walked"] = walked
    else:
        WALKED.update(walked)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A process of pytest-xdist has ended."""
    WALKED.update(getattr(node, "workeroutput", {}).get("walked", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many crashes were walked: a walk of no steps would prove nothing."""
    if WALKED:
        terminalreporter.write_line(f"crashes walked: {WALKED.total()} in {len(WALKED)} stories")
