"""Every case of tests/conformance, through the same path as `simulate -f FILE -o json`."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from written import read_yaml

from cronschedule.api.mistakes import Mistake
from cronschedule.api.shapes import format_time, parse_time
from cronschedule.core.cron import parse_cron
from cronschedule.core.scenario import read_scenario, to_data
from cronschedule.core.simulation import Scenario, simulate
from cronschedule.core.slots import slots_of

CONFORMANCE = Path(__file__).parents[2] / "conformance"
ORIGINAL = Path(__file__).parents[4] / "shared" / "conformance"
SCENARIOS = sorted((CONFORMANCE / "simulate").glob("*.yaml"))
GOLDEN = json.loads((CONFORMANCE / "cron_golden.json").read_text(encoding="utf-8"))["cases"]
SCHEDULES = read_yaml(CONFORMANCE / "schedules.yaml")


def simulated(raw: Any) -> Any:
    scenario = read_scenario(raw)
    assert isinstance(scenario, Scenario), [str(mistake) for mistake in scenario]
    return json.loads(json.dumps(to_data(simulate(scenario))))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_simulate_answers_as_written(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert simulated(read_yaml(path)) == expected


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["id"])
def test_the_next_slots_are_the_golden_ones(case: dict[str, Any]) -> None:
    slots = slots_of(case["schedule"], case["timeZone"])
    found, moment = [], parse_time(case["from"])
    for _ in case["next"]:
        moment = slots.after(moment) or 0
        found.append(format_time(moment))
    assert found == case["next"]
    assert parse_cron(case["schedule"]).wall_clock is (case["class"] == "wall-clock")


def scenario_of(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of schedules.yaml put into its base; the head of that file says how."""
    raw: dict[str, Any] = copy.deepcopy(SCHEDULES["base"])
    for key in ("schedule", "timeZone"):
        if key in entry:
            raw["schedule"][key] = entry[key]
    raw["schedule"] |= entry.get("spec", {})
    raw |= entry.get("scenario", {})
    return {key: value for key, value in raw.items() if key not in entry.get("without", [])}


def entry_id(entry: dict[str, Any]) -> str:
    told = {key: value for key, value in entry.items() if key not in ("why", "field", "next")}
    return json.dumps(told)[1:80]


@pytest.mark.parametrize("entry", SCHEDULES["reject"], ids=entry_id)
def test_what_must_be_refused_is(entry: dict[str, Any]) -> None:
    mistakes = read_scenario(scenario_of(entry))
    assert isinstance(mistakes, list)
    assert mistakes
    assert all(isinstance(mistake, Mistake) and mistake.path and mistake.message for mistake in mistakes)
    if "field" in entry:
        told = "".join(filter(str.isalnum, " ".join(map(str, mistakes)))).lower()
        assert "".join(filter(str.isalnum, entry["field"])).lower() in told


@pytest.mark.parametrize("entry", SCHEDULES["accept"], ids=entry_id)
def test_what_must_be_taken_is(entry: dict[str, Any]) -> None:
    answer = simulated(scenario_of(entry))
    if "next" in entry:
        assert answer["nextScheduleTime"] == entry["next"]


if ORIGINAL.is_dir():

    def test_the_copy_of_the_cases_is_fresh() -> None:
        def files(folder: Path) -> dict[str, bytes]:
            return {
                str(path.relative_to(folder)): path.read_bytes()
                for path in folder.rglob("*")
                if path.is_file()
            }

        assert files(CONFORMANCE) == files(ORIGINAL)
