"""`kubectl-cronschedule`, which kubectl runs for `kubectl cronschedule`: the list of commands, and how each may end.

Exit codes: 0 answered, 1 refused or failed (one line says why), 2 mistakes in what was given (one line each). A
command's module is imported when it is used, so that the others cost nothing.
"""

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module

import click

from cronschedule.cli.errors import CommandError
from cronschedule.cli.options import cluster_options_across
from cronschedule.cli.output import one_line

PROGRAM = "kubectl cronschedule"
COMMANDS = {
    "simulate": "What would a schedule have done, or do? With outages, suspensions, edits.",
    "next": "The coming slots, clock changes marked.",
    "history": "Runs and skips, newest first, with reasons.",
    "explain": "Why did, or didn't, a slot run?",
    "check": "Mistakes and traps in manifests, for an editor, a commit hook or CI.",
    "trigger": "Run it now.",
    "backfill": "Run slots of a range that were skipped.",
    "acknowledge": "Let what the caps dropped stay dropped.",
    "suspend": "Stop a schedule; its slots are skipped until it is resumed.",
    "resume": "Let a suspended schedule run from its next slot on.",
    "tenants": "Namespaces that are suspended: since when, how many schedules.",
    "convert": "Make CronSchedules of CronJobs, and say every difference.",
    "completion": "Completion for a shell.",
}


class Commands(click.Group):
    """The commands by name; each lives in the module of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            close = get_close_matches(cmd_name, COMMANDS, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(COMMANDS)}"
            raise click.UsageError(f"no such command {cmd_name!r}: {hint}")
        command: click.Command = import_module(f"cronschedule.cli.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Each command has its own --help, with an example.",
)
@cluster_options_across
def group() -> None:
    """Ask before, look after: what CronSchedules would do, did, and why.

    \b
    Examples:
      kubectl cronschedule simulate -f scenario.yaml
      kubectl cronschedule explain billing -n team-a --at 2026-03-29T02:30
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit code. Never raises, never shows a traceback."""
    try:
        code = group.main(list(arguments) or ["--help"], prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        return _fail(2, error.format_message())
    except CommandError as error:
        return _fail(error.exit_code, *error.lines)
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (KeyboardInterrupt, click.Abort):
        return _fail(130, "interrupted")
    except Exception as error:
        if os.environ.get("CRONSCHEDULE_DEBUG"):
            raise
        what = one_line(f"{type(error).__name__}: {error}")
        return _fail(1, f"error: {what} (a bug of ours; CRONSCHEDULE_DEBUG=1 shows where)")
    return code if isinstance(code, int) else 0


def _fail(code: int, *lines: str) -> int:
    sys.stdout.flush()
    for line in lines:
        sys.stderr.write(line + "\n")
    return code


def main() -> None:
    """The console script; a shell that wants completions calls it too."""
    if os.environ.get("_KUBECTL_CRONSCHEDULE_COMPLETE"):
        from cronschedule.cli.complete import answer_shell

        answer_shell()
        return
    sys.exit(run(sys.argv[1:]))
