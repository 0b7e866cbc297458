"""The operator as a process, played by a few lines of Python that log as it does."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localkube.errors import LocalkubeError
from localkube.operator_process import OperatorProcess

PRELUDE = """
import json, os, signal, sys, time
def log(event, **more):
    print(json.dumps({"event": event, **more}), file=sys.stderr, flush=True)
"""
GOOD = f"""{PRELUDE}
signal.signal(signal.SIGTERM, lambda *_: (log("operator.stopped"), sys.exit(0)))
log("operator.starting", kubeconfig=os.environ["KUBECONFIG"], threshold=os.environ.get("THRESHOLD"))
print("a line that is no JSON", file=sys.stderr, flush=True)
log("operator.ready")
while True:
    log("clock", now=time.time())
    time.sleep(0.05)
"""
REFUSES = f'{PRELUDE}print("settings: no", file=sys.stderr); sys.exit(2)'
STUBBORN = f'{PRELUDE}signal.signal(signal.SIGTERM, signal.SIG_IGN); log("operator.ready"); time.sleep(60)'
Make = Callable[[str], OperatorProcess]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Operators that run these programs."""
    made: list[OperatorProcess] = []

    def operator(program: str) -> OperatorProcess:
        made.append(OperatorProcess(Path("/k"), tmp_path / "operator.log", [sys.executable, "-c", program]))
        return made[-1]

    yield operator
    for each in made:
        if each.running():
            each.resume()
            each.kill()


def test_it_is_ready_when_start_returns(make: Make) -> None:
    operator = make(GOOD)
    operator.start(THRESHOLD="5s")
    assert operator.running()
    assert [line["event"] for line in operator.lines()][:2] == ["operator.starting", "operator.ready"]
    assert operator.lines()[0] == {"event": "operator.starting", "kubeconfig": "/k", "threshold": "5s"}


def test_it_keeps_its_settings_through_all_starts_until_the_end(make: Make) -> None:
    operator = make(GOOD)
    with operator.started(THRESHOLD="5s"):
        operator.restart()
        operator.restart(THRESHOLD="7s")
    operator.start()
    lives = [line["threshold"] for line in operator.lines() if line["event"] == "operator.starting"]
    assert lives == ["5s", "5s", "7s", None]


def test_stopping_tells_its_exit_code(make: Make) -> None:
    operator = make(GOOD)
    operator.start()
    assert operator.stop() == 0
    assert operator.lines()[-1]["event"] == "operator.stopped"
    assert not operator.running()


def test_killing_gives_it_no_time_to_say_anything(make: Make) -> None:
    operator = make(GOOD)
    operator.start()
    operator.kill()
    assert "operator.stopped" not in operator.log.read_text()


def test_a_restart_keeps_the_log_and_takes_new_settings(make: Make) -> None:
    operator = make(GOOD)
    operator.start(THRESHOLD="1s")
    operator.restart(THRESHOLD="2s")
    started = [line["threshold"] for line in operator.lines() if line["event"] == "operator.starting"]
    assert started == ["1s", "2s"]


def test_one_that_does_not_start_says_why(make: Make) -> None:
    with pytest.raises(LocalkubeError, match="settings: no"):
        make(REFUSES).start()


def test_one_that_ignores_sigterm_is_killed_and_told_of(make: Make) -> None:
    operator = make(STUBBORN)
    operator.start()
    with pytest.raises(LocalkubeError, match="did not end within 0 s"):
        operator.stop(within=0.1)
    assert not operator.running()


def test_a_paused_one_is_gone_at_the_end_too(make: Make) -> None:
    operator = make(GOOD)
    with operator.started():
        operator.pause()
    assert not operator.running()


def test_what_an_earlier_start_logged_is_not_waited_for(make: Make) -> None:
    operator = make(GOOD)
    operator.start()
    operator.stop()
    operator.start()
    with pytest.raises(LocalkubeError, match="has not logged"):
        operator.wait_for(lambda line: line["event"] == "operator.stopped", within=0.2)


def test_waiting_for_a_line_of_one_that_died_ends_at_once(make: Make) -> None:
    operator = make(GOOD)
    operator.start()
    operator.kill()
    with pytest.raises(LocalkubeError, match="has ended without logging"):
        operator.wait_for(lambda line: line["event"] == "never", within=3600)


def test_its_exit_can_be_waited_for(make: Make) -> None:
    operator = make(f'{PRELUDE}log("operator.ready"); time.sleep(0.2); sys.exit(3)')
    operator.start()
    assert operator.wait() == 3


def test_two_at_once_are_refused(make: Make) -> None:
    operator = make(GOOD)
    operator.start()
    with pytest.raises(LocalkubeError, match="runs already"):
        operator.start()


def test_no_signal_goes_to_one_that_does_not_run(make: Make) -> None:
    with pytest.raises(LocalkubeError, match="does not run"):
        make(GOOD).kill()


@pytest.mark.skipif(sys.platform != "linux", reason="libfaketime is made for Linux here")
def test_its_clock_can_be_off_and_be_stepped(make: Make) -> None:
    operator = make(GOOD)
    operator.start(clock="+6h")
    first = operator.wait_for(lambda line: line["event"] == "clock")["now"]
    assert first - time.time() == pytest.approx(6 * 3600, abs=60)
    operator.set_clock("-2h")
    stepped = operator.wait_for(lambda line: line["event"] == "clock" and line["now"] < first)["now"]
    assert stepped - time.time() == pytest.approx(-2 * 3600, abs=60)


def test_the_log_may_hold_anything(make: Make) -> None:
    operator = make(f'{PRELUDE}os.write(2, b"\\xff\\n[1]\\n{{\\n"); log("operator.ready"); time.sleep(60)')
    operator.start()
    assert operator.lines() == [json.loads('{"event": "operator.ready"}')]
