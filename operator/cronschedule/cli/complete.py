"""Completion: for kubectl, which asks `kubectl_complete-cronschedule`, and for a shell that asks ourselves."""

import os
import sys

from click.shell_completion import ShellComplete

from cronschedule.cli.main import group

PROGRAM = "kubectl-cronschedule"
VARIABLE = "_KUBECTL_CRONSCHEDULE_COMPLETE"
NO_FILES, FILES = ":4", ":0"
"""kubectl's directives: whether the shell may fall back on the names of files."""


def main() -> None:
    """The console script: the words typed so far are the arguments, the last of them unfinished."""
    words = sys.argv[1:] or [""]
    shell = ShellComplete(group, {}, PROGRAM, VARIABLE)
    try:
        found = shell.get_completions(words[:-1], words[-1])
    except Exception:  # a completion that fails must not disturb the prompt
        found = []
    wants_files = any(item.type in ("file", "dir") for item in found)
    for item in found:
        if item.type == "plain":
            print(f"{item.value}\t{item.help}" if item.help else item.value)
    print(FILES if wants_files else NO_FILES)


def shell_script(shell: str) -> str:
    """What a shell has to run so that `kubectl-cronschedule` is completed. Raises KeyError for another shell."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise KeyError(shell)
    return kind(group, {}, PROGRAM, VARIABLE).source()


def answer_shell() -> bool:
    """Answer a shell that asks through our variable; whether it did."""
    instruction = os.environ.get(VARIABLE)
    if not instruction:
        return False
    from click.shell_completion import shell_complete

    shell_complete(group, {}, PROGRAM, VARIABLE, instruction)
    return True
