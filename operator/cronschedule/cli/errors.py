"""What may end a command, and with which exit code.

CommandError      one line for a person, exit code 1: refused, not there, not allowed, cluster not reachable
└─ InputError     mistakes in what was given, one line each, exit code 2
"""

from collections.abc import Iterable, Sequence

from cronschedule.cli.output import one_line


class CommandError(Exception):
    """The command cannot do what was asked; the message is one line that says why."""

    exit_code = 1

    @property
    def lines(self) -> Sequence[str]:
        return [f"error: {one_line(str(self))}"]


class InputError(CommandError):
    """Mistakes in the input, each as `path: message`."""

    exit_code = 2

    def __init__(self, mistakes: Iterable[object]) -> None:
        self.mistakes = [one_line(str(mistake)) for mistake in mistakes]
        super().__init__("; ".join(self.mistakes))

    @property
    def lines(self) -> Sequence[str]:
        return self.mistakes
