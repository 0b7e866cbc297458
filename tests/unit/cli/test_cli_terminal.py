"""The installed program in a terminal, in a pipe, and how little it takes to start."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = str(Path(sys.executable).parent / "kubectl-cronschedule")
SCENARIO = {
    "schedule": {"schedule": "0 * * * *"},
    "from": "2026-03-03T00:00:00Z",
    "to": "2026-03-03T03:00:00Z",
}


def on_a_terminal(file, **environment):
    """What the program writes to a terminal."""
    ours, theirs = pty.openpty()
    command = [PROGRAM, "simulate", "-f", str(file)]
    subprocess.run(command, stdout=theirs, env=os.environ | {"TERM": "xterm"} | environment, check=True)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the terminal's end, on Linux
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return shown.decode()


@pytest.fixture
def scenario(tmp_path):
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps(SCENARIO))
    return file


def test_a_terminal_gets_colour(scenario, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)

    assert "\x1b[32m" in on_a_terminal(scenario)


@pytest.mark.parametrize(
    "environment",
    [pytest.param({"NO_COLOR": "1"}, id="NO_COLOR"), pytest.param({"TERM": "dumb"}, id="a dumb terminal")],
)
def test_but_not_if_it_does_not_want_any(scenario, environment):
    assert "\x1b" not in on_a_terminal(scenario, **environment)


def test_a_pipe_gets_none(scenario):
    answer = subprocess.run([PROGRAM, "simulate", "-f", scenario], capture_output=True, text=True, check=True)

    assert "\x1b" not in answer.stdout


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    file = tmp_path / "long.json"
    file.write_text(
        json.dumps(SCENARIO | {"schedule": {"schedule": "* * * * *"}, "to": "2026-03-20T00:00:00Z"})
    )
    program = subprocess.Popen(
        [PROGRAM, "simulate", "-f", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    program.stdout.readline()
    program.stdout.close()

    assert program.wait(timeout=60) == 1
    assert program.stderr.read() == b""
    program.stderr.close()


@pytest.mark.parametrize(
    ("words", "unneeded"),
    [
        pytest.param(["--help"], {"pydantic", "yaml", "zoneinfo"}, id="the list of commands"),
        pytest.param(["history", "--help"], {"pydantic", "yaml"}, id="the help of a command"),
        pytest.param(["next", "--schedule", "@daily"], {"yaml", "aiohttp", "kopf"}, id="a small answer"),
        pytest.param(["simulate", "-f", "-"], {"aiohttp", "kopf", "structlog", "uvloop"}, id="a simulation"),
    ],
)
def test_what_is_not_needed_is_not_loaded(words, unneeded):
    code = (
        "import sys; from cronschedule.cli.main import run; run(sys.argv[1:]); sys.stdout.flush();"
        "print('\\n@' + ' '.join(sys.modules))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, *words],
        input=json.dumps(SCENARIO),
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = set(answer.stdout.rpartition("@")[2].split())
    assert "click" in loaded
    assert loaded & unneeded == set()
