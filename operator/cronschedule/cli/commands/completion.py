"""`completion`: what a shell needs to complete our commands, options and the names of schedules."""

import click

from cronschedule.cli.output import say

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Completion of `kubectl-cronschedule` for a shell.

    `kubectl cronschedule` is completed by kubectl's own completion: nothing is to be set up for it.

    \b
    Example:
      source <(kubectl cronschedule completion bash)
    """
    from cronschedule.cli.complete import shell_script

    say(shell_script(shell))
