"""The command line of hack/mutate."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

from mutations.catalogue import MUTATIONS, Mutation
from mutations.tree import Tree, Verdict, strange


def main(arguments: list[str] | None = None) -> int:
    """Make each bug in a copy of the tree; 0 when its test has noticed each."""
    parser = argparse.ArgumentParser(
        prog="hack/mutate",
        description="Make one deliberate bug after the other, each in a copy of the working tree, and run the test"
        " that shall notice it. The tests must pass without any bug first.",
    )
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="only bugs whose scenario or text has one of these"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="how many at a time")
    given = parser.parse_args(arguments)
    chosen = [each for each in MUTATIONS if not given.words or any(w in str(each) for w in given.words)]
    if problems := strange(chosen) or ([] if chosen else ["There is no such bug."]):
        print("\n".join(problems), file=sys.stderr)
        return 2
    with contextlib.ExitStack() as trees:
        free: SimpleQueue[Tree] = SimpleQueue()
        for _ in range(min(given.processes, len(chosen))):
            free.put(trees.enter_context(Tree.copied()))
        return _try_all(chosen, free, given.processes)


def _try_all(chosen: Sequence[Mutation], free: SimpleQueue[Tree], processes: int) -> int:
    def in_a_tree(mutation: Mutation | None) -> Verdict:
        tree = free.get()
        try:
            if mutation is None:
                return tree.test(*dict.fromkeys(each.test for each in chosen))
            return tree.try_out(mutation)
        finally:
            free.put(tree)

    without = in_a_tree(None)
    if without.problem != "survived":
        print(f"Without any bug: {without.by or without.problem}", file=sys.stderr)
        return 2
    missed = 0
    with ThreadPoolExecutor(processes) as pool:
        for mutation, verdict in zip(chosen, pool.map(in_a_tree, chosen), strict=True):
            missed += bool(verdict.problem)
            told = verdict.by.rpartition("::")[2] or verdict.problem.upper()
            print(f"{mutation.scenario}: {mutation.bug}\n    {told}", flush=True)
    print(f"\n{len(chosen) - missed} of {len(chosen)} bugs were noticed.")
    return 1 if missed else 0
