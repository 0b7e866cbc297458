"""The proxy as a process of its own, for tests and benches.

with FaultProxy(cluster.kubeconfig, folder).started() as proxy:
    operator = OperatorProcess(proxy.kubeconfig, log)
    proxy.carry_out(Plan(rules=(Rule(action="reset", phase="after", verbs="create", resource="jobs"),)))
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from faults.plan import Plan

WITHIN = 20.0  # seconds
HACK = Path(__file__).resolve().parents[1]


class FaultProxy:
    """`kubeconfig` is what its client shall use."""

    def __init__(self, server: Path, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._server, self._folder = Path(server), folder
        self.kubeconfig = folder / "kubeconfig"
        self.log = folder / "proxy.log"
        self._process: subprocess.Popen[bytes]

    @contextlib.contextmanager
    def started(self) -> Iterator[FaultProxy]:
        """Let everything through, until a plan is given. Raises RuntimeError with the end of its log."""
        environment = {**os.environ, "PYTHONPATH": str(HACK)}
        command = [sys.executable, "-m", "faults", str(self._server), str(self._folder)]
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
        try:
            self._wait(self.kubeconfig.exists, "listens")
            yield self
        finally:
            self._process.terminate()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def carry_out(self, plan: Plan) -> None:
        """From now on this plan, whose second 0 is now. `Plan()` lets everything through again."""
        file = self._folder / "plan.json"
        plan.write(file)
        stamp = str(file.stat().st_mtime_ns)
        seen = self._folder / "plan.seen"
        self._wait(lambda: seen.exists() and seen.read_text() == stamp, "has read the plan")

    def faults(self) -> list[dict[str, Any]]:
        """What it has done to which request, in order: `second` of the plan, `rule`, `action`, `verb`, `resource`…"""
        file = self._folder / "faults.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def _wait(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + WITHIN
        while not holds():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(
                    f"The fault proxy has not said that it {what}:\n{self.log.read_text()[-3000:]}"
                )
            time.sleep(0.02)
