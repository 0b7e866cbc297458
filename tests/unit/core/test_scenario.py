"""What a person may write for `simulate`, and what is said about the rest: simulate.md, "Input" and "Output"."""

import copy
from typing import Any

import pytest

from cronschedule.core.scenario import read_scenario, to_data
from cronschedule.core.simulation import Scenario, simulate

MANIFEST = {
    "apiVersion": "cronschedule.dev/v1alpha1",
    "kind": "CronSchedule",
    "metadata": {"name": "report"},
    "spec": {"schedule": "0 * * * *"},
}
AT = "2026-01-14T10:30:00Z"


def scenario_with(**keys: Any) -> dict[str, Any]:
    base = {
        "schedule": {"schedule": "0 * * * *"},
        "from": "2026-01-14T09:30:00Z",
        "to": "2026-01-14T12:20:00Z",
    }
    return base | {key.rstrip("_"): value for key, value in keys.items()}


def with_spec(**fields: Any) -> dict[str, Any]:
    return scenario_with(schedule={"schedule": "0 * * * *"} | fields)


def edited(*specs: Any) -> dict[str, Any]:
    return scenario_with(edits=[{"at": AT, "spec": spec} for spec in specs])


def manifest(**keys: Any) -> dict[str, Any]:
    return scenario_with(schedule=MANIFEST | keys)


REFUSED: dict[str, tuple[Any, str]] = {
    "no mapping": ([], "scenario: is not a mapping of keys to values"),
    "nothing": (None, "scenario: is not a mapping"),
    "an unknown key": (
        scenario_with(operatorDwon=[]),
        "operatorDwon: is not a known key: did you mean operatorDown?",
    ),
    "a key in another style": (scenario_with(operator_down=[]), "operator_down: is not a known key"),
    "a key that is no text": (scenario_with() | {1: 2}, "Keys should be strings"),
    "from after to": (scenario_with(from_="2026-01-15T00:00:00Z"), "to: 2026-01-14T12:20:00Z is before from"),
    "from as a number": (
        scenario_with(from_=1772496030),
        "from: 1772496030 is not a time with Z or an offset",
    ),
    "from as a truth": (scenario_with(from_=True), "from: True is not a time"),
    "from as a date": (scenario_with(from_="2026-01-14"), "from: '2026-01-14' is not a time"),
    "from without an offset": (
        scenario_with(from_="2026-01-14T09:30:00"),
        "is not a time with Z or an offset",
    ),
    "from without seconds": (scenario_with(from_="2026-01-14T09:30Z"), "from: '2026-01-14T09:30Z' is not"),
    "from with a blank": (scenario_with(from_="2026-01-14 09:30:00Z"), "is not a time"),
    "from with blanks around": (scenario_with(from_=" 2026-01-14T09:30:00Z"), "is not a time"),
    "from with a line break": (scenario_with(from_="2026-01-14T09:30:00Z\n"), "is not a time"),
    "an offset without a colon": (scenario_with(from_="2026-01-14T09:30:00+0100"), "is not a time"),
    "an offset of a day": (scenario_with(from_="2026-01-14T09:30:00+24:00"), "is not a time"),
    "30 February": (scenario_with(from_="2026-02-30T09:30:00Z"), "is not a time"),
    "24 o'clock": (scenario_with(from_="2026-01-14T24:00:00Z"), "is not a time"),
    "the year 1": (scenario_with(from_="0001-01-01T00:00:00Z"), "from: 0001-01-01T00:00:00Z is out of range"),
    "before the year 1": (scenario_with(from_="0001-01-01T00:00:00+05:00"), "from: "),
    "the year 9999": (scenario_with(to="9999-12-31T23:59:59Z"), "to: 9999-12-31T23:59:59Z is out of range"),
    "a run of negative length": (scenario_with(runDuration=-5), "runDuration: -5 is negative"),
    "a run of negative length as text": (
        scenario_with(runDuration="-5s"),
        "runDuration: '-5s' is not allowed",
    ),
    "a run of a fraction": (scenario_with(runDuration=0.5), "runDuration: 0.5 is not allowed"),
    "a run of a number as text": (scenario_with(runDuration="90"), "runDuration: '90' is not a duration"),
    "a run of a truth": (scenario_with(runDuration=True), "runDuration: True is not a duration"),
    "a run of a day": (scenario_with(runDuration="1d"), "whole hours, minutes and seconds in this order"),
    "a threshold of a number": (
        scenario_with(settings={"misfireThreshold": 60}),
        "settings.misfireThreshold: 60",
    ),
    "a threshold of nothing": (scenario_with(settings={"misfireThreshold": "0s"}), "1s to 10m is allowed"),
    "a threshold too long": (scenario_with(settings={"misfireThreshold": "10m1s"}), "1s to 10m is allowed"),
    "an unknown setting": (
        scenario_with(settings={"misfirethreshold": "5s"}),
        "did you mean misfireThreshold?",
    ),
    "a window that is no mapping": (
        scenario_with(operatorDown=["x"]),
        "operatorDown[0]: 'x' is not a mapping",
    ),
    "windows that are no list": (scenario_with(tenantSuspended={}), "tenantSuspended: {} is not a list"),
    "a window without an end": (
        scenario_with(operatorDown=[{"from": AT}]),
        "operatorDown[0].to: is required",
    ),
    "a window that runs backwards": (
        scenario_with(tenantSuspended=[{"from": AT, "to": "2026-01-14T10:29:59Z"}]),
        "tenantSuspended[0]: to, 2026-01-14T10:29:59Z, is before from",
    ),
    "a window with another key": (
        scenario_with(operatorDown=[{"from": AT, "to": AT, "why": "power"}]),
        "operatorDown[0].why: is not a known key",
    ),
    "an edit without a moment": (scenario_with(edits=[{"spec": {}}]), "edits[0].at: is required"),
    "an edit of nothing": (scenario_with(edits=[{"at": AT}]), "edits[0].spec: is required"),
    "an edit that takes the schedule away": (
        edited({"schedule": None}),
        "edits[0].spec.schedule: is required",
    ),
    "an edit to a wrong schedule": (edited({"schedule": "0 24 * * *"}), "edits[0].spec.schedule: hour: '24'"),
    "an edit to an unknown zone": (
        edited({"timeZone": "Mars/Phobos"}),
        "edits[0].spec.timeZone: 'Mars/Phobos'",
    ),
    "an edit of an unknown key": (
        edited({"shedule": "x"}),
        "edits[0].spec.shedule: is not a known key: did you mean schedule?",
    ),
    "an edit that breaks a combination": (
        edited({"misfirePolicy": "CatchUp"}, {"concurrencyPolicy": "Replace"}),
        "edits[1].spec.concurrencyPolicy: Replace is not allowed with misfirePolicy CatchUp",
    ),
    "an edit that leaves catchUp behind": (
        edited({"misfirePolicy": "CatchUp", "catchUp": {"maxRuns": 5}}, {"misfirePolicy": "Skip"}),
        "edits[1].spec.catchUp: is allowed only with misfirePolicy CatchUp",
    ),
    "no schedule at all": ({"from": AT, "to": AT}, "schedule: is required"),
    "an empty spec": (scenario_with(schedule={}), "schedule.schedule: is required"),
    "a schedule that is no text": (with_spec(schedule=5), "schedule.schedule: 5 is not text"),
    "a zone that is no text": (with_spec(timeZone=5), "schedule.timeZone: 5 is not text"),
    "a truth as text": (with_spec(suspend="true"), "schedule.suspend: 'true' is not true or false"),
    "a number as text": (
        with_spec(misfirePolicy="CatchUp", catchUp={"maxRuns": "5"}),
        "schedule.catchUp.maxRuns: '5' is not a whole number",
    ),
    "another kind": (manifest(kind="CronJob"), "schedule.kind: 'CronJob' is not CronSchedule"),
    "another version": (
        manifest(apiVersion="batch/v1"),
        "schedule.apiVersion: 'batch/v1' is not cronschedule.dev/v1alpha1",
    ),
    "a manifest without a name": (manifest(metadata={}), "schedule.metadata.name: is required"),
    "a name that is no text": (manifest(metadata={"name": 5}), "schedule.metadata.name: is required"),
    "an empty name": (manifest(metadata={"name": ""}), "schedule.metadata.name: is required"),
    "a manifest without a spec": (manifest(spec=None), "schedule.spec: is required"),
    "a manifest with another key": (manifest(data={}), "schedule.data: is not a known key"),
    "a name too long": (
        manifest(metadata={"name": "x" * 53}),
        "schedule.metadata.name: has 53 characters; at most 52",
    ),
    "a template that is no mapping": (with_spec(jobTemplate=5), "schedule.jobTemplate: 5 is not a mapping"),
    "a pod template that is no mapping": (
        with_spec(jobTemplate={"spec": {"template": 5}}),
        "schedule.jobTemplate.spec: ",
    ),
    "a pod that is no mapping": (
        with_spec(jobTemplate={"spec": {"template": {"spec": [1]}}}),
        "schedule.jobTemplate.spec: ",
    ),
}


@pytest.mark.parametrize(("raw", "words"), REFUSED.values(), ids=REFUSED)
def test_a_mistake_is_told_with_its_place_and_what_is_allowed(raw: Any, words: str) -> None:
    mistakes = read_scenario(raw)
    assert isinstance(mistakes, list)
    assert any(words in str(mistake) for mistake in mistakes), [str(mistake) for mistake in mistakes]


def test_every_mistake_is_told_at_once() -> None:
    raw = with_spec(schedule="60 * * * *", timeZone="Mars/Phobos", maxStaleness="1d", suspnd=True)
    raw |= {"to": "tomorrow", "runDuration": -1}
    paths = {mistake.path for mistake in read_scenario(raw)}  # type: ignore[union-attr]
    assert paths == {
        "to",
        "runDuration",
        "schedule.schedule",
        "schedule.timeZone",
        "schedule.maxStaleness",
        "schedule.suspnd",
    }


TAKEN: dict[str, dict[str, Any]] = {
    "a spec alone": scenario_with(),
    "a manifest": manifest(),
    "a manifest as the cluster gives it": manifest(
        metadata={"name": "report", "uid": "1", "resourceVersion": "2"}, status={"activeRuns": 1}
    ),
    "a manifest with a name of 52 characters": manifest(metadata={"name": "x" * 52}),
    "an offset": scenario_with(from_="2026-01-14T15:00:00+05:30"),
    "lower case, as RFC 3339 allows": scenario_with(from_="2026-01-14t09:30:00z"),
    "fractions of a second": scenario_with(from_="2026-01-14T09:30:00.75Z"),
    "nulls are left out": scenario_with(operatorDown=None, edits=None, settings=None, runDuration=None),
    "empty lists": scenario_with(operatorDown=[], tenantSuspended=[], edits=[]),
    "an empty window": scenario_with(
        operatorDown=[{"from": AT, "to": AT}], tenantSuspended=[{"from": AT, "to": AT}]
    ),
    "windows outside": scenario_with(
        operatorDown=[{"from": "2025-01-01T00:00:00Z", "to": "2025-01-02T00:00:00Z"}]
    ),
    "an edit of nothing": edited({}),
    "an edit that takes away what is not there": edited({"catchUp": None, "suspend": None}),
    "an edit that mends what the one before allows": edited(
        {"concurrencyPolicy": "Replace"}, {"misfirePolicy": "Skip"}
    ),
    "an edit after the end": scenario_with(edits=[{"at": "2027-01-01T00:00:00Z", "spec": {"suspend": True}}]),
    "a run of no length": scenario_with(runDuration="0s"),
    "a run of no length as a number": scenario_with(runDuration=0),
    "a run of years": scenario_with(
        runDuration=10**12, schedule={"schedule": "0 * * * *", "concurrencyPolicy": "Allow"}
    ),
    "a whole job template": with_spec(
        jobTemplate={
            "metadata": {"labels": {"a": "b"}},
            "spec": {"template": {"spec": {"restartPolicy": "Never"}}},
        }
    ),
}


@pytest.mark.parametrize("raw", TAKEN.values(), ids=TAKEN)
def test_what_is_taken_does_not_change_these_three_runs(raw: dict[str, Any]) -> None:
    before = copy.deepcopy(raw)
    scenario = read_scenario(raw)
    assert isinstance(scenario, Scenario), scenario
    assert raw == before, "the input is left as it was"
    answer = to_data(simulate(scenario))
    assert [decision["slot"][11:16] for decision in answer["decisions"]] == ["10:00", "11:00", "12:00"]
    assert answer["nextScheduleTime"] == "2026-01-14T13:00:00Z"


def test_from_may_be_to() -> None:
    scenario = read_scenario(scenario_with(to="2026-01-14T09:30:00Z"))
    assert isinstance(scenario, Scenario)
    answer = to_data(simulate(scenario))
    assert (answer["decisions"], answer["lastDecidedTime"]) == ([], "2026-01-14T09:30:00Z")
