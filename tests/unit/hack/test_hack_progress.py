"""What a person sees of a long step."""

from __future__ import annotations

import io

import pytest

from localkube.progress import Progress, minutes


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def run(stream: io.StringIO, *, steps: list[tuple[float, int]], total: int = 100) -> str:
    """Play (second, done) steps and finish at the last second."""
    clock = Clock()
    progress = Progress("Building", total, stream=stream, clock=clock)
    for clock.now, done in steps:
        progress.update(done)
    progress.finish()
    return stream.getvalue()


def test_a_log_gets_a_plain_line_now_and_then() -> None:
    shown = run(io.StringIO(), steps=[(10, 5), (30, 25), (45, 40), (60, 50), (120, 100)])
    assert shown.splitlines() == [
        "Building …",
        "Building: 25%, about 1 min 30 s left",
        "Building: 50%, about 1 min 00 s left",
        "Building: 100%, about 0 s left",
        "Building: done in 2 min 00 s",
    ]


def test_a_terminal_gets_one_line_that_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    shown = run(Terminal(), steps=[(1, 0), (2, 50)])
    moves = [move.removeprefix("\033[K") for move in shown.split("\r")]
    assert moves[-2].startswith("Building [==========")
    assert moves[-2].endswith("]  50%, about 2 s left")
    assert moves[-1] == "Building: done in 2 s\n"
    assert all(len(move) <= 60 for move in moves)


def test_before_the_first_step_no_time_is_promised() -> None:
    assert "time left unknown yet" in run(io.StringIO(), steps=[(31, 0)])


def test_more_steps_than_expected_stay_at_a_hundred_percent() -> None:
    assert "100%, about 0 s left" in run(io.StringIO(), steps=[(31, 120)])


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (605, "10 min 05 s")],
    ids=["at-once", "below-a-minute", "rounded-up-to-a-minute", "minutes"],
)
def test_durations_are_for_people(seconds: float, text: str) -> None:
    assert minutes(seconds) == text
