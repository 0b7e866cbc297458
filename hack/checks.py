"""The parts of hack/test: what each runs, all of them even when one fails, and a summary at the end."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from environment import ROOT
from localkube import Cluster, LocalkubeError
from localkube.progress import minutes

Command = Sequence[str]
PYTHON = sys.executable
PYTEST = (PYTHON, "-m", "pytest")
IN_PARALLEL = ("-n", "auto")  # these tests share nothing but the processors
E2E, INTEGRATION = "tests/e2e", "tests/integration"
NO_TESTS = 5  # pytest's exit code when it found none: a part without tests has not passed

EXAMPLES = """\
parts:
  lint          ruff, its formatting, the direction of imports; bandit, zizmor and hadolint for what is unsafe
  types         mypy --strict
  generated     every hack/generate-*, and the pins of hack/pins
  unit          all tests but the two below
  integration   the operator against a fake API server, in fake time
  e2e           the operator against a real API server (see hack/cluster)

examples:
  hack/test                           everything
  hack/test lint types
  hack/test unit -- -k cron -x        what follows -- goes to pytest
  hack/test integration --seeds 10    ten times, each with other chances (TEST_SEED is 1 to 10)
  hack/test e2e --cluster dev         in a cluster of `hack/cluster up`
  hack/test e2e --use-kubeconfig      in the cluster of $KUBECONFIG
"""


@dataclass(frozen=True, kw_only=True)
class Result:
    """How a part ended: `problems` is empty when it passed."""

    part: str
    problems: list[str]
    seconds: float


class Terminated(Exception):
    """SIGTERM came."""


def lint() -> list[Command]:
    return [
        (PYTHON, "-m", "ruff", "check", "."),
        (PYTHON, "-m", "ruff", "format", "--check", "."),
        (_program("lint-imports"),),
        (PYTHON, "-m", "bandit", "--quiet", "-ll", "--recursive", "operator"),
        (_program("zizmor"), "--offline", "--quiet", "--persona=auditor", ".github/workflows"),
        (_program("hadolint"), "hack/image/Dockerfile"),
    ]


def _program(name: str) -> str:
    """A program that came with a package of `.venv`."""
    return str(Path(PYTHON).with_name(name))


def types() -> list[Command]:
    return [(PYTHON, "-m", "mypy"), (PYTHON, "-m", "mypy", "--strict", "hack")]


def generated() -> list[Command]:
    scripts = sorted((ROOT / "hack").glob("generate-*"))
    return [(PYTHON, str(script), "--check") for script in [*scripts, ROOT / "hack" / "pins" / "pins.py"]]


def unit() -> list[Command]:
    return [(*PYTEST, *IN_PARALLEL, "tests", f"--ignore={INTEGRATION}", f"--ignore={E2E}")]


def integration() -> list[Command]:
    return [(*PYTEST, *IN_PARALLEL, INTEGRATION)]


def e2e() -> list[Command]:
    return [(*PYTEST, E2E)]


PARTS: dict[str, Callable[[], list[Command]]] = {
    part.__name__: part for part in (lint, types, generated, unit, integration, e2e)
}


def main(arguments: list[str] | None = None) -> int:
    """Run the parts; 0 when all passed."""
    given, for_pytest = _arguments(sys.argv[1:] if arguments is None else arguments)
    results: list[Result] = []
    signal.signal(signal.SIGTERM, _terminated)
    try:
        for part in given.parts or PARTS:
            results.append(_run_part(part, given, for_pytest))
    except (KeyboardInterrupt, Terminated):
        _summarize(results)
        print("Interrupted: what is not listed was not checked.", flush=True)
        return 130
    failed = _summarize(results)
    total = minutes(sum(result.seconds for result in results))
    print(f"{'FAILED: ' + ', '.join(failed) if failed else 'All passed'} in {total}.", flush=True)
    return 1 if failed else 0


def _arguments(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    at = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        prog="hack/test",
        description="Check everything, or the parts that are named.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--cluster", metavar="NAME", help="let e2e use this cluster of hack/cluster")
    parser.add_argument("--use-kubeconfig", action="store_true", help="let e2e use $KUBECONFIG's cluster")
    parser.add_argument("--seeds", metavar="N", type=int, help="run the tests with each seed from 1 to N")
    given = parser.parse_args(words[:at])
    if unknown := [part for part in given.parts if part not in PARTS]:
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return given, words[at + 1 :]


def _run_part(part: str, given: argparse.Namespace, for_pytest: list[str]) -> Result:
    print(f"\n== {part}", flush=True)
    began, problems = time.monotonic(), []
    try:
        with _place(part, given) as variables:
            for command in PARTS[part]():
                line = [*command, *(for_pytest if "pytest" in command else [])]
                for seed in _seeds(given, command):
                    found = _problem(line, _run(line, variables | seed))
                    problems += [" ".join((problem, *map("=".join, seed.items()))) for problem in found]
    except LocalkubeError as error:
        print(error, file=sys.stderr)
        problems.append("no cluster")
    return Result(part=part, problems=problems, seconds=time.monotonic() - began)


def _seeds(given: argparse.Namespace, command: Command) -> list[dict[str, str]]:
    """The variables of each run of a command."""
    if given.seeds is None or "pytest" not in command:
        return [{}]
    return [{"TEST_SEED": str(seed)} for seed in range(1, given.seeds + 1)]


@contextlib.contextmanager
def _place(part: str, given: argparse.Namespace) -> Iterator[dict[str, str]]:
    """The variables that a part's commands get; for e2e they name a cluster, which is gone afterwards."""
    if part != "e2e":
        yield {}
    elif given.cluster:
        yield {"E2E_CLUSTER": given.cluster}
    elif given.use_kubeconfig:
        yield {"E2E_KUBECONFIG": os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")}
    else:
        with (
            tempfile.TemporaryDirectory() as folder,
            Cluster.up(audit_log=Path(folder) / "audit.jsonl") as cluster,
        ):
            yield {"E2E_CLUSTER": cluster.name}


def _run(command: Command, variables: dict[str, str]) -> int:
    """Its exit code. Ctrl-C reaches the command by itself; SIGTERM is handed on; either way it may tidy up."""
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **variables}, stdin=subprocess.DEVNULL)
    try:
        return process.wait()
    except Terminated:
        process.terminate()
        process.wait()
        raise
    except KeyboardInterrupt:
        process.wait()
        raise


def _problem(command: Command, code: int) -> list[str]:
    if code == 0:
        return []
    words = (word for word in command if word not in (PYTHON, *IN_PARALLEL) and not word.startswith("-"))
    name = " ".join(Path(word).name for word in words)
    return [
        f"{name}: {'no tests were found' if code == NO_TESTS and 'pytest' in command else f'exit code {code}'}"
    ]


def _summarize(results: list[Result]) -> list[str]:
    """Print how each part ended; returns the names of those that failed."""
    print("\n== summary", flush=True)
    for result in results:
        print(f"{result.part:12} {'FAILED' if result.problems else 'passed'} {minutes(result.seconds):>12}")
        for problem in result.problems:
            print(f"{'':12} {problem}")
    return [result.part for result in results if result.problems]


def _terminated(number: int, frame: object) -> None:
    raise Terminated
