"""docs/cli.md tells the truth: its examples have the output it shows, and it leaves no command or option out."""

import re
import shlex
from pathlib import Path

import pytest

from cronschedule.cli import words
from cronschedule.cli.commands.check import RULE_NAMES
from cronschedule.cli.lint import RULES
from cronschedule.cli.main import COMMANDS, group

TEXT = (Path(__file__).parents[3] / "docs" / "cli.md").read_text()
FILES = dict(re.findall(r"```yaml\n# (\S+\.yaml)\n(.*?)```", TEXT, re.DOTALL))
EXAMPLES = [
    (command, output)
    for block in re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)
    for command, output in re.findall(
        r"^\$ kubectl cronschedule (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE
    )
]
OFFLINE = [
    (command, output)
    for command, output in EXAMPLES
    if output and not re.match("explain|trigger|tenants", command)
]


@pytest.mark.parametrize(("command", "output"), OFFLINE, ids=[command for command, _ in OFFLINE])
def test_an_example_has_the_output_it_shows(cli, tmp_path, monkeypatch, command, output):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(words, "now", lambda: 1_774_605_600)  # 2026-03-27T10:00:00Z
    for name, content in FILES.items():
        Path(name).write_text(f"# {name}\n{content}")

    answer = cli(*shlex.split(command.partition(" > ")[0].partition(" #")[0]))

    shown = answer.err if command.startswith("convert") else answer.out
    assert shown == output


def test_examples_were_found():
    assert {command.split()[0] for command, _ in OFFLINE} == {"simulate", "next", "check", "convert"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_told(cli, name):
    with group.make_context("x", [name], resilient_parsing=True) as ctx:
        command = group.get_command(ctx, name)
    known = {
        *("--namespace", "--all-namespaces", "--context", "--kubeconfig", "--help"),  # told once for all
        *("--filename", "--output", "--count", "--quiet"),  # told by their letters
    }

    assert f"`{name}`" in TEXT or f"cronschedule {name}" in TEXT
    for parameter in command.params:
        for option in getattr(parameter, "opts", ()):
            assert not option.startswith("--") or option in known or option in TEXT, option


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example(cli, name):
    answer = cli(name, "--help")

    assert answer.code == 0
    assert f"kubectl cronschedule {name}" in answer.out.partition("Example")[2]


def test_every_rule_is_told():
    assert set(RULE_NAMES) == set(RULES)
    assert all(f"| `{rule}` |" in TEXT for rule in RULES)
