"""A copy of the working tree, in which bugs are made and tests are run."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from environment import ROOT
from mutations.catalogue import SOURCES, Mutation

LONGEST = 300.0
"""Seconds that the tests of one mutation may take."""

_FAILED = re.compile(r"^FAILED (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Verdict:
    """`by` names the test that failed. Otherwise `problem` says what came instead."""

    by: str = ""
    problem: str = ""


class Tree:
    """One copy; only one mutation at a time is in it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @staticmethod
    @contextlib.contextmanager
    def copied() -> Iterator[Tree]:
        """A copy of all files that git knows or would take, for as long as the block lasts."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
            for name in filter(None, listed.split("\0")):
                if (ROOT / name).is_file():
                    (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / name, Path(folder) / name)
            yield Tree(Path(folder))

    def try_out(self, mutation: Mutation) -> Verdict:
        """Run the mutation's test with it."""
        with self._changed(mutation):
            return self.test(mutation.test)

    def test(self, *tests: str) -> Verdict:
        """Run tests, up to the first that fails."""
        command = [sys.executable, "-m", "pytest", "-x", "--tb=no", "-p", "no:cacheprovider", *tests]
        path = os.pathsep.join([str(self.root / "operator"), str(self.root / "hack")])
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            ran = subprocess.run(
                command, cwd=self.root, env=environment, capture_output=True, text=True, timeout=LONGEST
            )
        except subprocess.TimeoutExpired:
            return Verdict(problem=f"no end within {LONGEST:.0f} s")
        return judge(ran.returncode, ran.stdout)

    @contextlib.contextmanager
    def _changed(self, mutation: Mutation) -> Iterator[None]:
        before = {file: (self.root / SOURCES / file).read_text() for file, _, _ in mutation.changes}
        try:
            for file, old, new in mutation.changes:
                path = self.root / SOURCES / file
                path.write_text(path.read_text().replace(old, new))
            yield
        finally:
            for file, text in before.items():
                (self.root / SOURCES / file).write_text(text)


def judge(code: int, output: str) -> Verdict:
    """What pytest's exit code and output mean: 1 is a test that failed, any other but 0 is no test at all."""
    failed = _FAILED.findall(output)
    if code == 1 and failed:
        return Verdict(by=failed[0])
    if code == 0:
        return Verdict(problem="survived")
    return Verdict(problem=f"the tests did not run (pytest ended with {code})")


def strange(mutations: Sequence[Mutation]) -> list[str]:
    """Changes whose text is not there exactly once, and tests that are not there."""
    told = []
    for mutation in mutations:
        for file, old, _ in mutation.changes:
            times = (ROOT / SOURCES / file).read_text().count(old)
            if times != 1:
                told.append(f"{mutation.bug}: {file} has {times} times {old.strip().splitlines()[0]!r}")
        file, _, rest = mutation.test.partition("::")
        function = rest.partition("[")[0]
        if not (ROOT / file).exists() or f"def {function}(" not in (ROOT / file).read_text():
            told.append(f"{mutation.bug}: there is no test {mutation.test}")
    return told
