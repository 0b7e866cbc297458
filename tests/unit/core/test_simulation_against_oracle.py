"""`simulate` against the naive oracle: hundreds of seeded scenarios with many things at once."""

import json
from typing import Any

import pytest
from oracle import answer
from random_scenarios import scenario

from cronschedule.core.scenario import read_scenario, to_data
from cronschedule.core.simulation import Scenario, simulate

SEEDS = 600
BLOCK = 50


def expect_agreement(raw: dict[str, Any], *, told: str) -> None:
    read = read_scenario(raw)
    assert isinstance(read, Scenario), (told, read)
    found, expected = json.loads(json.dumps(to_data(simulate(read)))), answer(raw)
    if found != expected:
        different = list(zip(found["decisions"], expected["decisions"], strict=False))
        first = next((pair for pair in different if pair[0] != pair[1]), None)
        pytest.fail(f"{told}: {json.dumps(raw)}\nfirst difference, found and expected: {first}")


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_random_scenarios_come_out_as_the_oracle_says(first: int) -> None:
    for seed in range(first, first + BLOCK):
        expect_agreement(scenario(seed), told=f"seed {seed}")


def test_the_scenarios_reach_every_outcome() -> None:
    """A check of the check: what the rules can decide does come up in these scenarios."""
    seen = set()
    for seed in range(0, SEEDS, 2):
        for decision in answer(scenario(seed))["decisions"]:
            seen.add(decision.get("reason") or (decision["trigger"], decision["outcome"]))
    runs = {(trigger, outcome) for trigger in ("Schedule", "CatchUp") for outcome in ("Succeeded", "Active")}
    skips = {"Coalesced", "Misfire", "Stale", "CatchUpCapExceeded", "Overlap", "ScheduleChanged"}
    assert seen >= runs | skips | {"TenantSuspended", "ScheduleSuspended", ("Schedule", "Replaced")}


CATCH_UP = {"misfirePolicy": "CatchUp", "concurrencyPolicy": "Forbid", "catchUp": {"maxAge": "5m"}}

NAMED: dict[str, dict[str, Any]] = {
    "the end that a replaced run would have had is no moment at which anything is decided": {
        "schedule": {"schedule": "1-59/2 * * * *", "concurrencyPolicy": "Replace", "maxStaleness": "24h"},
        "from": "2026-03-28T22:38:00Z",
        "to": "2026-03-28T23:30:00Z",
        "operatorDown": [{"from": "2026-03-28T22:38:30Z", "to": "2026-03-28T22:49:44Z"}],
        "runDuration": 1350,
        "edits": [{"at": "2026-03-28T22:53:11Z", "spec": CATCH_UP}],
    },
    "a run of no length ends at the same instant, so that the next one starts then": {
        "schedule": {"schedule": "*/10 * * * *", "misfirePolicy": "CatchUp", "maxStaleness": "24h"},
        "from": "2026-01-14T09:55:00Z",
        "to": "2026-01-14T12:00:00Z",
        "operatorDown": [{"from": "2026-01-14T10:05:00Z", "to": "2026-01-14T11:25:00Z"}],
    },
    "never seen at all": {
        "schedule": {"schedule": "0 * * * *"},
        "from": "2026-01-14T09:30:00Z",
        "to": "2026-01-14T12:00:00Z",
        "operatorDown": [{"from": "2026-01-14T09:00:00Z", "to": "2026-01-14T13:00:00Z"}],
        "edits": [{"at": "2026-01-14T10:30:00Z", "spec": {"schedule": "30 * * * *"}}],
    },
    "edited before it was first seen": {
        "schedule": {"schedule": "0 * * * *"},
        "from": "2026-01-14T09:30:00Z",
        "to": "2026-01-14T13:00:00Z",
        "operatorDown": [{"from": "2026-01-14T09:00:00Z", "to": "2026-01-14T12:10:00Z"}],
        "edits": [{"at": "2026-01-14T10:30:00Z", "spec": {"schedule": "30 * * * *"}}],
    },
    "edited and edited back unseen": {
        "schedule": {"schedule": "0 * * * *"},
        "from": "2026-01-14T09:30:00Z",
        "to": "2026-01-14T13:00:00Z",
        "operatorDown": [{"from": "2026-01-14T09:50:00Z", "to": "2026-01-14T12:10:00Z"}],
        "edits": [
            {"at": "2026-01-14T10:30:00Z", "spec": {"schedule": "30 * * * *"}},
            {"at": "2026-01-14T11:30:00Z", "spec": {"schedule": "0 * * * *"}},
        ],
    },
    "everything at one instant": {
        "schedule": {"schedule": "0 * * * *", "misfirePolicy": "CatchUp"},
        "from": "2026-01-14T09:30:00Z",
        "to": "2026-01-14T15:00:00Z",
        "operatorDown": [{"from": "2026-01-14T10:30:00Z", "to": "2026-01-14T12:00:00Z"}],
        "tenantSuspended": [
            {"from": "2026-01-14T10:00:00Z", "to": "2026-01-14T12:00:00Z"},
            {"from": "2026-01-14T12:00:00Z", "to": "2026-01-14T13:00:00Z"},
        ],
        "runDuration": "2h",
        "edits": [
            {"at": "2026-01-14T12:00:00Z", "spec": {"suspend": True}},
            {"at": "2026-01-14T12:00:00Z", "spec": {"schedule": "*/30 * * * *"}},
            {"at": "2026-01-14T13:00:00Z", "spec": {"suspend": False}},
        ],
    },
    "suspended from the start, and still at the end": {
        "schedule": {"schedule": "0 * * * *"},
        "from": "2026-01-14T09:30:00Z",
        "to": "2026-01-14T12:00:00Z",
        "tenantSuspended": [{"from": "2026-01-14T09:00:00Z", "to": "2026-01-14T13:00:00Z"}],
    },
    "the operator knows of a suspension that is over in fact": {
        "schedule": {"schedule": "0 * * * *"},
        "from": "2026-01-14T09:30:00Z",
        "to": "2026-01-14T13:00:00Z",
        "operatorDown": [{"from": "2026-01-14T10:30:00Z", "to": "2026-01-14T14:00:00Z"}],
        "tenantSuspended": [{"from": "2026-01-14T10:15:00Z", "to": "2026-01-14T11:30:00Z"}],
    },
    "the operator does not know of the suspension": {
        "schedule": {"schedule": "0 * * * *"},
        "from": "2026-01-14T09:30:00Z",
        "to": "2026-01-14T13:00:00Z",
        "operatorDown": [{"from": "2026-01-14T10:30:00Z", "to": "2026-01-14T14:00:00Z"}],
        "tenantSuspended": [{"from": "2026-01-14T11:15:00Z", "to": "2026-01-14T13:30:00Z"}],
    },
    "edits at and before the start belong to the first spec": {
        "schedule": {"schedule": "0 * * * *"},
        "from": "2026-01-14T09:30:00Z",
        "to": "2026-01-14T11:00:00Z",
        "edits": [
            {"at": "2026-01-14T09:30:00Z", "spec": {"timeZone": "Asia/Kolkata"}},
            {"at": "2026-01-14T08:00:00Z", "spec": {"schedule": "15 * * * *", "timeZone": "Europe/Berlin"}},
        ],
    },
    "the default zone written out is no edit, the same zone by another name is": {
        "schedule": {"schedule": "0 * * * *"},
        "from": "2026-01-14T09:30:00Z",
        "to": "2026-01-14T13:00:00Z",
        "edits": [
            {"at": "2026-01-14T11:00:00Z", "spec": {"timeZone": "Etc/UTC"}},
            {"at": "2026-01-14T12:00:00Z", "spec": {"timeZone": "UTC"}},
        ],
    },
    "nothing is due": {
        "schedule": {"schedule": "0 * * * *"},
        "from": "2026-01-14T09:30:00Z",
        "to": "2026-01-14T09:30:00Z",
    },
}


@pytest.mark.parametrize("raw", NAMED.values(), ids=NAMED)
def test_named_scenarios_come_out_as_the_oracle_says(raw: dict[str, Any]) -> None:
    expect_agreement(raw, told="named")
