"""What happens to due slots: semantics.md §1 and §3, rules 2 and 3, and §8, one case per sentence."""

from typing import Any

import pytest
from acts import a_job, a_spec, at, carry_out, clock, ended, facts_of, with_spec
from due_slots import CATCH_UP, Due, expect

from cronschedule.core.planner import plan

ALLOW = {"concurrencyPolicy": "Allow"}

ON_TIME_OR_MISSED = {
    "§1 a slot is due at its very second": Due(
        spec={"misfirePolicy": "Skip"}, now="10:00", expected={"10:00": "Run"}
    ),
    "§1 and not a second before": Due(spec={}, now="09:59:59", expected={}),
    "§1 due is what comes after the ledger": Due(spec={}, since="10:00", now="10:30", expected={}),
    "§1 on time at the threshold": Due(
        spec={"misfirePolicy": "Skip"}, now="10:01:00", expected={"10:00": "Run"}
    ),
    "§1 missed a second after the threshold": Due(
        spec={"misfirePolicy": "Skip"}, now="10:01:01", expected={"10:00": "Misfire"}
    ),
    "§1 the threshold is the operator's to set": Due(
        spec={"misfirePolicy": "Skip"}, now="10:10:00", threshold=600, expected={"10:00": "Run"}
    ),
    "§1 a threshold of a second": Due(
        spec={"misfirePolicy": "Skip"}, now="10:00:02", threshold=1, expected={"10:00": "Misfire"}
    ),
    "§1 overtaken by a newer slot is missed, be it ever so fresh": Due(
        spec={"misfirePolicy": "Skip", "schedule": "* * * * *"},
        since="10:00",
        now="10:02:10",
        threshold=600,
        expected={"10:01": "Misfire", "10:02": "Run"},
    ),
}

MISFIRE_POLICIES = {
    "FireOnce is the default: the newest runs for all": Due(
        spec={}, now="12:10", expected={"10:00": "Coalesced", "11:00": "Coalesced", "12:00": "Run"}
    ),
    "FireOnce, the newest on time": Due(
        spec={}, now="11:00:05", expected={"10:00": "Coalesced", "11:00": "Run"}
    ),
    "FireOnce, the older ones older than maxStaleness are coalesced all the same": Due(
        spec={"maxStaleness": "30m"},
        now="12:10",
        expected={"10:00": "Coalesced", "11:00": "Coalesced", "12:00": "Run"},
    ),
    "FireOnce, the newest too stale": Due(
        spec={"maxStaleness": "5m"}, now="11:10", expected={"10:00": "Stale", "11:00": "Stale"}
    ),
    "FireOnce, the newest overlaps": Due(
        spec={}, now="11:10", jobs=(a_job("09:00"),), expected={"10:00": "Overlap", "11:00": "Overlap"}
    ),
    "Skip, all missed": Due(
        spec={"misfirePolicy": "Skip"}, now="11:10", expected={"10:00": "Misfire", "11:00": "Misfire"}
    ),
    "Skip, the newest on time": Due(
        spec={"misfirePolicy": "Skip"}, now="11:00:05", expected={"10:00": "Misfire", "11:00": "Run"}
    ),
    "Skip, the on-time slot goes on to rule 3": Due(
        spec={"misfirePolicy": "Skip", "maxStaleness": "1m"},
        now="10:02",
        threshold=600,
        expected={"10:00": "Stale"},
    ),
    "Skip, the on-time slot goes on to rule 4": Due(
        spec={"misfirePolicy": "Skip"}, now="10:00", jobs=(a_job("09:00"),), expected={"10:00": "Overlap"}
    ),
    "CatchUp, oldest first, one at a time": Due(
        spec=CATCH_UP, now="12:10", expected={"10:00": "CatchUp run"}, waiting=2
    ),
    "CatchUp, an on-time slot alone is live work": Due(
        spec=CATCH_UP, now="10:00:30", expected={"10:00": "Run"}
    ),
    "CatchUp, a missed slot alone is a backlog": Due(
        spec=CATCH_UP, now="10:05", expected={"10:00": "CatchUp run"}
    ),
    "CatchUp, too stale ones leave first": Due(
        spec=CATCH_UP | {"maxStaleness": "90m"},
        now="12:10",
        expected={"10:00": "Stale", "11:00": "CatchUp run"},
        waiting=1,
    ),
    "CatchUp, stale counts before the age and the number": Due(
        spec=CATCH_UP | {"maxStaleness": "3h", "catchUp": {"maxAge": "2h", "maxRuns": 1}},
        since="07:30",
        now="12:10",
        expected={
            "08:00": "Stale",
            "09:00": "Stale",
            "10:00": "CatchUpCapExceeded",
            "11:00": "CatchUpCapExceeded",
            "12:00": "CatchUp run",
        },
    ),
    "CatchUp, at maxAge a slot stays": Due(
        spec=CATCH_UP | {"catchUp": {"maxAge": "2h"}},
        now="12:00:00",
        expected={"10:00": "CatchUp run"},
        waiting=2,
    ),
    "CatchUp, a second older than maxAge it goes": Due(
        spec=CATCH_UP | {"catchUp": {"maxAge": "2h"}},
        now="12:00:01",
        expected={"10:00": "CatchUpCapExceeded", "11:00": "CatchUp run"},
        waiting=1,
    ),
    "CatchUp, all but the newest maxRuns go, the on-time one among those kept": Due(
        spec=CATCH_UP | {"catchUp": {"maxRuns": 2}},
        now="12:00:10",
        expected={"10:00": "CatchUpCapExceeded", "11:00": "CatchUp run"},
        waiting=1,
    ),
    "CatchUp, the caps never drop an on-time slot: by number": Due(
        spec=CATCH_UP | {"catchUp": {"maxRuns": 1}},
        now="12:00:10",
        expected={"10:00": "CatchUpCapExceeded", "11:00": "CatchUpCapExceeded", "12:00": "Run"},
    ),
    "CatchUp, the caps never drop an on-time slot: by age": Due(
        spec=CATCH_UP | {"catchUp": {"maxAge": "1m"}},
        now="12:05",
        threshold=600,
        expected={"10:00": "CatchUpCapExceeded", "11:00": "CatchUpCapExceeded", "12:00": "Run"},
    ),
    "CatchUp, the caps never drop an on-time slot: at the threshold": Due(
        spec=CATCH_UP | {"catchUp": {"maxAge": "1m"}},
        now="11:10:00",
        threshold=600,
        expected={"10:00": "CatchUpCapExceeded", "11:00": "Run"},
    ),
    "CatchUp, a missed slot alone is dropped by its age": Due(
        spec=CATCH_UP | {"catchUp": {"maxAge": "5m"}},
        now="10:05:01",
        expected={"10:00": "CatchUpCapExceeded"},
    ),
    "CatchUp, overtaken is missed, be it ever so fresh": Due(
        spec=CATCH_UP | ALLOW | {"schedule": "* * * * *"},
        since="10:00",
        now="10:02:10",
        threshold=600,
        expected={"10:01": "CatchUp run", "10:02": "Run"},
    ),
    "CatchUp, the default caps hold 100 slots": Due(
        spec=CATCH_UP | {"schedule": "* * * * *"},
        since="10:00",
        now="11:42:10",
        expected={"10:01": "CatchUpCapExceeded", "10:02": "CatchUpCapExceeded", "10:03": "CatchUp run"},
        waiting=99,
    ),
}

STALENESS = {
    "§3.3 at maxStaleness a slot still runs": Due(
        spec={"maxStaleness": "10m"}, now="10:10:00", expected={"10:00": "Run"}
    ),
    "§3.3 a second later it does not": Due(
        spec={"maxStaleness": "10m"}, now="10:10:01", expected={"10:00": "Stale"}
    ),
    "§3.3 an hour by default": Due(
        spec={"schedule": "0 10 * * *"}, now="11:00:01", expected={"10:00": "Stale"}
    ),
    "§3.3 goes before §3.4": Due(
        spec={"maxStaleness": "10m"}, now="10:10:01", jobs=(a_job("09:00"),), expected={"10:00": "Stale"}
    ),
}

TABLES = ON_TIME_OR_MISSED | MISFIRE_POLICIES | STALENESS


@pytest.mark.parametrize("case", TABLES.values(), ids=TABLES)
def test_due_slots_are_decided_by_the_first_rule_that_settles_them(case: Due) -> None:
    expect(case)


def test_rule_2_a_run_carries_what_it_stands_for() -> None:
    start = plan(facts_of(), at("12:10")).start
    assert start is not None
    assert (clock(start.first), clock(start.slot), start.count) == ("10:00", "12:00", 3)


@pytest.mark.parametrize("policy", ["Skip", "CatchUp"])
def test_rule_2_a_run_of_another_policy_stands_for_itself_alone(policy: str) -> None:
    start = plan(facts_of(a_spec(misfirePolicy=policy, maxStaleness="24h")), at("12:00:10")).start
    assert start is not None
    assert (start.count, start.first) == (1, start.slot)


def test_rule_2_the_caps_apply_to_a_backlog_that_grew_by_waiting() -> None:
    facts = facts_of(a_spec(**CATCH_UP | {"catchUp": {"maxRuns": 2}}), jobs=(a_job("09:00"),))
    grown = carry_out(facts, "11:00")
    assert (grown.words, grown.waiting) == ({}, 2)
    over = carry_out(grown.facts, "12:00")
    assert (over.words, over.waiting) == ({"10:00": "CatchUpCapExceeded"}, 2)


POLICY_EDITS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "to FireOnce": ({}, {"10:00": "Overlap", "11:00": "Overlap"}),
    "to FireOnce and Allow": (ALLOW, {"10:00": "Coalesced", "11:00": "Run"}),
    "to Skip": ({"misfirePolicy": "Skip"}, {"10:00": "Misfire", "11:00": "Misfire"}),
    "to a shorter maxStaleness": (CATCH_UP | {"maxStaleness": "50m"}, {"10:00": "Stale"}),
    "to a smaller backlog": (CATCH_UP | {"catchUp": {"maxRuns": 1}}, {"10:00": "CatchUpCapExceeded"}),
    "to Allow": (CATCH_UP | ALLOW, {"10:00": "CatchUp run"}),
    "of nothing that matters": (CATCH_UP | {"runHistoryLimit": 10}, {}),
}


@pytest.mark.parametrize(("fields", "expected"), POLICY_EDITS.values(), ids=POLICY_EDITS)
def test_section_6_an_edit_of_policy_or_limits_applies_to_what_waits(
    fields: dict[str, Any], expected: dict[str, str]
) -> None:
    waits = carry_out(facts_of(a_spec(**CATCH_UP), jobs=(a_job("09:00"),)), "11:00")
    assert (waits.words, waits.waiting) == ({}, 2)
    edited = carry_out(with_spec(waits.facts, **fields), "11:02")
    assert edited.words == expected


SIX_HOURS_DOWN: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "every minute, FireOnce, 1h": ({"schedule": "* * * * *"}, {"Coalesced": 360, "Run": 1}),
    "hourly, CatchUp, 24h": (CATCH_UP, {"CatchUp run": 6, "Run": 1}),
    "hourly, CatchUp, 1h": (CATCH_UP | {"maxStaleness": "1h"}, {"Stale": 6, "Run": 1}),
    "once a day, Skip, 24h": (
        {"schedule": "0 9 * * *", "misfirePolicy": "Skip", "maxStaleness": "24h"},
        {"Misfire": 1},
    ),
    "once a day, FireOnce, 1h": ({"schedule": "0 9 * * *"}, {"Stale": 1}),
    "every five minutes, CatchUp, 24h, maxRuns 10": (
        CATCH_UP | {"schedule": "*/5 * * * *", "catchUp": {"maxRuns": 10}},
        {"CatchUpCapExceeded": 63, "CatchUp run": 9, "Run": 1},
    ),
}


@pytest.mark.parametrize(("fields", "expected"), SIX_HOURS_DOWN.values(), ids=SIX_HOURS_DOWN)
def test_section_8_six_hours_down(fields: dict[str, Any], expected: dict[str, int]) -> None:
    """Runs take no time here, so that a backlog is worked off at 12:00:20."""
    facts, words = facts_of(a_spec(**fields), since="05:59:59", created=at("05:00")), []
    while True:
        carried = carry_out(facts, "12:00:20")
        words += list(carried.words.values())
        if not carried.decisions:
            break
        facts = ended(carried.facts)
    assert {word: words.count(word) for word in words} == expected
