"""`simulate` as its users see it: answers, tables and mistakes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

CONFORMANCE = Path(__file__).parents[2] / "conformance"
SCENARIOS = sorted(path.stem for path in (CONFORMANCE / "simulate").glob("*.yaml"))
WRITTEN = yaml.load((CONFORMANCE / "schedules.yaml").read_text(), Loader=yaml.BaseLoader)
PROGRAM = str(Path(sys.executable).parent / "kubectl-cronschedule")

DAY = {"schedule": {"schedule": "0 */6 * * *"}, "from": "2026-03-03T00:00:00Z", "to": "2026-03-04T00:00:00Z"}
MANIFEST = {
    "apiVersion": "cronschedule.dev/v1alpha1",
    "kind": "CronSchedule",
    "metadata": {"name": "billing", "namespace": "default"},
    "spec": {"schedule": "0 * * * *", "timeZone": "Europe/Berlin", "jobTemplate": {"spec": {"template": {}}}},
}


def scenario(**changed):
    return json.dumps(DAY | changed)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_answer_to_a_conformance_case(cli, name):
    source = CONFORMANCE / "simulate" / f"{name}.yaml"
    expected = json.loads(source.with_suffix(".json").read_text())

    assert cli("simulate", "-f", source, "-o", "json").json == expected
    assert yaml.load(cli("simulate", "-f", source, "-o", "yaml").out, yaml.SafeLoader) == expected


@pytest.mark.parametrize("name", SCENARIOS[::17])
def test_the_installed_program_answers_the_same(name):
    source = CONFORMANCE / "simulate" / f"{name}.yaml"
    answer = subprocess.run([PROGRAM, "simulate", "-f", source, "-o", "json"], capture_output=True, text=True)

    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout) == json.loads(source.with_suffix(".json").read_text())


def conformance_input(entry):
    """An entry of schedules.yaml put into its base, as its head says."""
    base = yaml.safe_load(yaml.safe_dump(WRITTEN["base"]))
    spec = base["schedule"]
    spec.update({key: entry[key] for key in ("schedule", "timeZone") if key in entry})
    spec.update(entry.get("spec", {}))
    base.update(entry.get("scenario", {}))
    for key in entry.get("without", ()):
        del base[key]
    return base


def read_as_written():
    """The entries with their numbers as numbers, and times as text."""
    from cronschedule.cli.documents import parse_documents

    (document,) = parse_documents((CONFORMANCE / "schedules.yaml").read_text(), "schedules.yaml")
    return document.value


AS_WRITTEN = read_as_written()
WRITTEN["base"] = AS_WRITTEN["base"]


def entry_id(entry):
    return (
        str(entry.get("why", ""))
        + " "
        + str(entry.get("schedule", entry.get("timeZone", entry.get("spec", ""))))
    )


def folded(text):
    return "".join(c for c in text.lower() if c not in " -_")


@pytest.mark.parametrize("entry", AS_WRITTEN["reject"], ids=entry_id)
def test_what_must_be_refused_names_its_field(cli, tmp_path, entry):
    file = tmp_path / "scenario.yaml"
    file.write_text(yaml.safe_dump(conformance_input(entry)))

    answer = cli("simulate", "-f", file, "-o", "json")

    assert (answer.code, answer.out) == (2, "")
    assert folded(entry.get("field", "schedule")) in folded(answer.err)
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("entry", AS_WRITTEN["accept"], ids=entry_id)
def test_what_must_be_taken_has_its_next_slot(cli, tmp_path, entry):
    file = tmp_path / "scenario.yaml"
    file.write_text(yaml.safe_dump(conformance_input(entry)))

    answer = cli("simulate", "-f", file, "-o", "json").json

    assert answer["nextScheduleTime"] == entry.get("next", answer["nextScheduleTime"])


def test_every_mistake_is_one_line_with_its_path(cli):
    answer = cli(
        "simulate", "-f", "-", stdin=scenario(schedule={"schedule": "0 24 * * *", "misfirePolicy": "x"}, to=5)
    )

    assert answer.code == 2
    assert [line.split(":")[0] for line in answer.err.splitlines()] == [
        "to",
        "schedule.misfirePolicy",
        "schedule.schedule",
    ]


@pytest.mark.parametrize(
    ("arguments", "decisions"),
    [
        pytest.param(["--to", "2026-03-03T12:00:00Z"], ["Run 06:00", "Run 12:00"], id="an earlier end"),
        pytest.param(
            ["--from", "2026-03-03T12:00", "--to", "2026-03-03T18:00"], ["Run 18:00"], id="without an offset"
        ),
        pytest.param(
            ["--down", "2026-03-03T05:00:00Z/2026-03-03T13:00:00Z"],
            ["Coalesced 06:00", "Run 12:00", "Run 18:00", "Run 00:00"],
            id="an outage",
        ),
        pytest.param(
            ["--down", "2026-03-03T05:00/2h", "--down", "2026-03-03T11:00/2h"],
            ["Run 06:00", "Run 12:00", "Run 18:00", "Run 00:00"],
            id="two outages, each with its length",
        ),
        pytest.param(
            ["--suspended", "2026-03-03T00:00/13h"],
            ["TenantSuspended 06:00", "TenantSuspended 12:00", "Run 18:00", "Run 00:00"],
            id="a suspension",
        ),
        pytest.param(
            ["--run-duration", "7h"],
            ["Run 06:00", "Overlap 12:00", "Run 18:00", "Overlap 00:00"],
            id="runs that take long",
        ),
        pytest.param(
            ["--run-duration", "25200"],
            ["Run 06:00", "Overlap 12:00", "Run 18:00", "Overlap 00:00"],
            id="runs that take so many seconds",
        ),
    ],
)
def test_flags_change_the_scenario(cli, arguments, decisions):
    answer = cli("simulate", "-f", "-", "-o", "json", *arguments, stdin=scenario()).json

    found = [f"{each.get('reason', 'Run')} {each['slot'][11:16]}" for each in answer["decisions"]]
    assert found == decisions


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        pytest.param(
            ["--down", "yesterday"],
            "--down: 'yesterday' is not a window: write FROM/TO or FROM/DURATION, such as now+1h/6h",
            id="not a window",
        ),
        pytest.param(
            ["--down", "2026-03-03T02:00/2026-03-03T01:00"],
            "--down: '2026-03-03T02:00/2026-03-03T01:00' ends before it begins",
            id="a window that runs backwards",
        ),
        pytest.param(["--to", "soon"], "--to: 'soon' is not a moment", id="not a moment"),
        pytest.param(
            ["--from", "now+99999999999h"], "--from: '99999999999h' is not a span of time", id="too far away"
        ),
        pytest.param(
            ["--from", "now+999999h"], "to: 2026-03-04T00:00:00Z is before from", id="after the end"
        ),
        pytest.param(["--run-duration", "5d"], "runDuration: '5d' is not a duration", id="not a duration"),
        pytest.param(
            ["--run-duration", "-5s"], "runDuration: '-5s' is not allowed", id="a negative duration"
        ),
    ],
)
def test_a_mistake_in_a_flag_names_it(cli, arguments, line):
    answer = cli("simulate", "-f", "-", *arguments, stdin=scenario())

    assert answer.code == 2
    assert line in answer.err


def test_a_manifest_is_played_for_a_day_from_now(cli):
    answer = cli("simulate", "-f", "-", "-o", "json", stdin=json.dumps(MANIFEST)).json

    assert answer["counts"] == {"runs": 24, "skipped": {}}
    assert answer["decisions"][0]["slot"] == "2025-11-30T13:00:00Z"


def test_a_live_schedule_is_played_by_its_name(cli, cluster):
    cluster.add(MANIFEST)

    answer = cli("simulate", "billing", "-o", "json", "--down", "now+30m/6h").json

    assert answer["counts"] == {"runs": 19, "skipped": {"Coalesced": 5}}


def test_a_suspended_tenant_is_said_when_it_is_left_out(cli, cluster):
    suspension = {"suspension": {"since": "2025-11-30T11:00:00Z", "reason": "TenantSuspended"}}
    cluster.add(MANIFEST | {"status": suspension})

    assert "suspended since 2025-11-30T11:00:00Z" in cli("simulate", "billing").err
    assert cli("simulate", "billing", "--suspended", "now/1h").err == ""


def test_the_table_is_in_the_zone_of_the_schedule(cli):
    down = [{"from": "2026-03-29T00:30:00Z", "to": "2026-03-29T03:10:20Z"}]
    text = scenario(
        schedule={"schedule": "0 * * * *", "timeZone": "Europe/Berlin"},
        **{"from": "2026-03-28T23:30:00Z", "to": "2026-03-29T04:30:00Z"},
        operatorDown=down,
        runDuration="5m",
    )

    assert cli("simulate", "-f", "-", stdin=text).out.splitlines() == [
        "schedule: '0 * * * *' in Europe/Berlin, misfirePolicy FireOnce, maxStaleness 1h, "
        "concurrencyPolicy Forbid, runs take 5m.",
        "",
        "TIME                                 WHAT                         WHY",
        "Sun 2026-03-29 01:00 +01:00          Run                          on time; succeeded after 5m.",
        "Sun 2026-03-29 01:30 +01:00          Operator down                for 2h 40m",
        "Sun 2026-03-29 03:00 +02:00          Clock change                 clocks go forward from 02:00 to 03:00",
        "Sun 2026-03-29 05:10:20 +02:00       Operator up",
        "Sun 2026-03-29 03:00 … 04:00 +02:00  Skipped Coalesced (2 slots)  The slot was missed and one run of a newer "
        "slot stands for it (misfirePolicy FireOnce). Decided at Sun 2026-03-29 05:10:20 +02:00.",
        "Sun 2026-03-29 05:00 +02:00          Run                          10m 20s late; stands for 3 slots since "
        "Sun 2026-03-29 03:00 +02:00; succeeded after 5m.",
        "Sun 2026-03-29 06:00 +02:00          Run                          on time; succeeded after 5m.",
        "",
        "5 slots: 3 runs, 2 skipped (Coalesced 2).",
        "Next slot: Sun 2026-03-29 07:00 +02:00.",
    ]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        pytest.param([], "give either the NAME of a schedule or a file: -f FILE", id="neither"),
        pytest.param(["x", "-f", "y"], "give either the NAME of a schedule or a file: -f FILE", id="both"),
    ],
)
def test_a_name_or_a_file_is_needed(cli, arguments, line):
    answer = cli("simulate", *arguments)

    assert (answer.code, answer.err.strip()) == (2, line)
