"""Which process is it, and is it gone?"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from localkube import processes

SLEEP = "import time; print(flush=True); time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start Python programs that have begun when they are returned."""
    started: list[subprocess.Popen[bytes]] = []

    def run(program: str, *words: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, "-c", program, *words], stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout
        process.stdout.readline()
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def test_a_process_is_itself() -> None:
    known = processes.identity(os.getpid())
    assert known
    assert processes.is_alive(known)


def test_another_process_with_its_number_is_not_it() -> None:
    known = processes.identity(os.getpid())
    assert known
    assert not processes.is_alive(known + "1")


def test_a_process_that_ended_is_not_alive_even_as_a_zombie(start: Start) -> None:
    process = start(SLEEP)
    known = processes.identity(process.pid)
    assert known
    process.kill()
    os.waitid(
        os.P_PID, process.pid, os.WEXITED | os.WNOWAIT
    )  # it has ended and nobody has taken note: a zombie
    assert not processes.is_alive(known)
    assert processes.identity(process.pid) is None


def test_processes_are_found_by_what_their_command_line_mentions(start: Start) -> None:
    mine, other = start(SLEEP, "/clusters/one/data"), start(SLEEP, "/clusters/one-more/data")
    found = processes.mentioning("/clusters/one/")
    assert mine.pid in found
    assert other.pid not in found


def test_the_searching_process_does_not_find_itself() -> None:
    assert os.getpid() not in processes.mentioning("python")


@pytest.mark.parametrize("program", [SLEEP, STUBBORN], ids=["ends-when-asked", "ignores-sigterm"])
def test_kill_returns_when_it_is_gone(start: Start, program: str) -> None:
    process = start(program)
    processes.kill([process.pid])
    assert processes.identity(process.pid) is None


def test_killing_what_is_gone_is_no_error(start: Start) -> None:
    process = start(SLEEP)
    process.kill()
    process.wait()
    processes.kill([process.pid])
