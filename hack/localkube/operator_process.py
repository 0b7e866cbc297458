"""The operator as a process of its own, for tests, benches and faults.

operator = OperatorProcess(cluster.kubeconfig, log=folder / "operator.log")
with operator.started(CRONSCHEDULE_MISFIRE_THRESHOLD="5s"):
    operator.kill()
    operator.start()
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from localkube import fakeclock
from localkube.errors import LocalkubeError

COMMAND = (sys.executable, "-m", "cronschedule")
ALONE = {"CRONSCHEDULE_LEADER_ELECTION": "off", "CRONSCHEDULE_HEALTH_PORT": "0"}
"""Settings of an operator that is the only one: whoever kills it need not wait for its lease to lapse."""

READY = "operator.ready"
READY_WITHIN = 30.0  # seconds


class OperatorProcess:
    """At most one process at a time; its log lines of all starts stay in one file."""

    def __init__(
        self,
        kubeconfig: Path,
        log: Path,
        command: Sequence[str] = COMMAND,
        *,
        ready_within: float = READY_WITHIN,
    ) -> None:
        self.kubeconfig, self.log, self._command = Path(kubeconfig), log, tuple(command)
        self._ready_within = ready_within
        self._clock = log.with_suffix(".clock")
        self._process: subprocess.Popen[bytes] | None = None
        self._settings: dict[str, str] = {}
        self._began_at = 0  # where in the log the latest start begins
        log.touch()

    def start(self, *, clock: str | None = None, **settings: str) -> None:
        """Start it and wait until it says that it is ready.

        `settings` are environment variables, above those of `started` and of ALONE; `clock` is how far its wall clock
        is off, such as `+6h`. Raises LocalkubeError with the end of its log when it ends, or is not ready in time.
        """
        if self.running():
            raise LocalkubeError("The operator runs already.")
        environment = {
            **os.environ,
            **ALONE,
            **self._settings,
            **settings,
            "KUBECONFIG": str(self.kubeconfig),
        }
        if clock is not None:
            self.set_clock(clock)
            environment |= fakeclock.variables(self._clock)
        self._began_at = self.log.stat().st_size
        with self.log.open("ab") as file:
            self._process = subprocess.Popen(
                self._command, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file
            )
        self.wait_for(lambda line: line.get("event") == READY, within=self._ready_within)

    @contextlib.contextmanager
    def started(self, *, clock: str | None = None, **settings: str) -> Iterator[OperatorProcess]:
        """Start it; at the end it is stopped, or killed where it does not stop. It keeps the settings through all
        starts until then."""
        self._settings = settings
        try:
            self.start(clock=clock)
            yield self
        finally:
            self.end()
            self._settings = {}

    def stop(self, within: float = 15) -> int:
        """SIGTERM, and its exit code (negative: the signal that ended it).

        Raises LocalkubeError when it is still there after so many seconds; it is killed then.
        """
        process = self._running_process()
        process.terminate()
        try:
            return process.wait(within)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise LocalkubeError(f"The operator did not end within {within:.0f} s of SIGTERM.") from None

    def kill(self) -> None:
        """SIGKILL: as if its machine had lost power."""
        process = self._running_process()
        process.kill()
        process.wait()

    def pause(self) -> None:
        """Let it hang, as on a machine that sleeps."""
        self._running_process().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """End a pause."""
        self._running_process().send_signal(signal.SIGCONT)

    def restart(self, *, clock: str | None = None, **settings: str) -> None:
        """Stop it and start it with these settings."""
        self.stop()
        self.start(clock=clock, **settings)

    def end(self) -> None:
        """Whatever it does, see to it that it is gone."""
        if self.running():
            self.resume()
            self.stop()

    def set_clock(self, offset: str) -> None:
        """Step its wall clock, such as `+6h` or `-90s`; it must have been started with a `clock`. Seen within 1 s."""
        new = self._clock.with_suffix(".new")
        new.write_text(f"{offset}\n")
        new.replace(self._clock)

    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def wait(self, within: float = 30) -> int:
        """Wait until it ends by itself, or has; its exit code. Raises LocalkubeError when it does not."""
        assert self._process is not None, "it was never started"
        try:
            return self._process.wait(within)
        except subprocess.TimeoutExpired:
            raise LocalkubeError(f"The operator still runs after {within:.0f} s.") from None

    @property
    def pid(self) -> int:
        return self._running_process().pid

    def lines(self) -> list[dict[str, Any]]:
        """The log of all starts, oldest line first; lines that are not JSON objects are left out."""
        return _parsed(self.log.read_bytes())

    def wait_for(self, wanted: Callable[[dict[str, Any]], object], within: float = 30) -> dict[str, Any]:
        """The first line of the latest start for which `wanted` holds, waiting for it. Raises LocalkubeError."""
        deadline = time.monotonic() + within
        while True:
            ended = not self.running()
            for line in _parsed(self.log.read_bytes()[self._began_at :]):
                if wanted(line):
                    return line
            if ended or time.monotonic() > deadline:
                how = "has ended without logging" if ended else f"has not logged within {within:.0f} s"
                raise LocalkubeError(
                    f"The operator {how} what was waited for. Its log ends so:\n{self.tail()}"
                )
            time.sleep(0.05)

    def tail(self, characters: int = 3000) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-characters:]

    def _running_process(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            raise LocalkubeError(f"The operator does not run. Its log ends so:\n{self.tail()}")
        return self._process


def _parsed(log: bytes) -> list[dict[str, Any]]:
    found = []
    for line in log.decode(errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                found.append(value)
    return found
