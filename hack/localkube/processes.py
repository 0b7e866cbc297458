"""Processes of this machine: is it still the same one, which belong to a folder, end them.

A process id alone may have been given to another process meanwhile; with its start time it is an identity.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

PROC = Path("/proc")


def identity(pid: int) -> str | None:
    """A text that no other process ever has, or None where there is no such process.

    A zombie is none once all its threads have ended: until then it may hold on to files and ports.
    """
    if PROC.joinpath("self", "stat").exists():
        try:
            fields = PROC.joinpath(str(pid), "stat").read_text().rpartition(")")[2].split()
            threads = len(os.listdir(PROC / str(pid) / "task"))
        except OSError:
            return None
        return None if fields[0] in "ZX" and threads <= 1 else f"{pid} {fields[19]}"
    answer = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True)
    return f"{pid} {answer.stdout.strip()}" if answer.stdout.strip() else None


def is_alive(known: str) -> bool:
    """Does the process with this identity still run?"""
    return identity(int(known.split()[0])) == known


def mentioning(text: str) -> list[int]:
    """The processes with this text in their command line, this one and its parents' excepted."""
    mine = {os.getpid(), os.getppid()}
    return [pid for pid, command in _commands() if text in command and pid not in mine]


def _commands() -> Iterable[tuple[int, str]]:
    if not PROC.joinpath("self", "cmdline").exists():
        answer = subprocess.run(["ps", "-axww", "-o", "pid=,command="], capture_output=True, text=True)
        for line in answer.stdout.splitlines():
            pid, _, command = line.strip().partition(" ")
            yield int(pid), command
        return
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            yield int(entry.name), b" ".join(words).decode(errors="replace")


def kill(pids: Iterable[int], seconds: float = 10) -> None:
    """SIGKILL, and wait until they are gone.

    Raises TimeoutError when one is still there after so many seconds.
    """
    waiting = {pid for pid in pids if send(pid, signal.SIGKILL)}
    deadline = time.monotonic() + seconds
    while waiting := {pid for pid in waiting if identity(pid)}:
        if time.monotonic() > deadline:
            raise TimeoutError(f"still running after {seconds:.0f} s: processes {sorted(waiting)}")
        time.sleep(0.02)


def send(pid: int, number: signal.Signals) -> bool:
    """Send a signal; False where there is no such process."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True
