"""Whatever is put into a file: an answer, or lines about mistakes, and never a traceback."""

import copy
import json
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cronschedule.cli.documents import read_documents

HERE = Path(__file__).parent
FILES = [
    *sorted((HERE / "cron_jobs").glob("*.yaml")),
    *sorted((HERE.parents[1] / "conformance/simulate").glob("*.yaml")),
]
SEEDS = [read_documents(str(file))[0].value for file in FILES]
JUNK = [
    None,
    True,
    -1,
    1e308,
    float("nan"),
    10**30,
    "",
    "x" * 300,
    "\x00\x1b",
    [],
    {},
    [None],
    {"a": None},
    [[[]]],
]
JUNK += [
    "2026-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "@every 5m",
    "TZ=x * * * * *",
    "24h",
    "Europe/Berlin",
]
COMMANDS = [["simulate", "-f", "-", "-o", form] for form in ("json", "yaml", "table", "html")]
COMMANDS += [["check", "-"], ["convert", "-f", "-"]]


def places(value, way=()):
    yield way
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield from places(part, (*way, key))


def with_junk(value, way, junk):
    if not way:
        return junk
    value[way[0]] = with_junk(value[way[0]], way[1:], junk)
    return value


@st.composite
def broken(draw):
    value = copy.deepcopy(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 3))):
        way = draw(st.sampled_from(list(places(value))))
        value = with_junk(value, way, copy.deepcopy(draw(st.sampled_from(JUNK))))
    return value


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(value=broken(), command=st.sampled_from(COMMANDS))
@example(value={"kind": "CronJob", "spec": {"schedule": "@daily", "timeZone": {}}}, command=COMMANDS[-1])
@example(
    value={"kind": "CronJob", "spec": {"schedule": "@daily"}, "status": "x", "metadata": 5},
    command=COMMANDS[-1],
)
@example(value={"kind": "CronSchedule", "metadata": {"labels": "x"}, "spec": {}}, command=COMMANDS[-2])
def test_broken_input_is_told_and_never_crashes(cli, value, command):
    answer = cli(*command, stdin=json.dumps(value))

    assert answer.code in (0, 1, 2)
    assert "CRONSCHEDULE_DEBUG" not in answer.err
    assert answer.code == 0 or answer.err
