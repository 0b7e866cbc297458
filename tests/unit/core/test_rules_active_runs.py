"""What active runs mean for due slots: semantics.md §3, rules 4 (overlap) and 5 (throttle)."""

import pytest
from acts import a_job, a_spec, at, carry_out, clock, ended, facts_of
from due_slots import CATCH_UP, Due, expect

from cronschedule.core.planner import plan

ALLOW = {"concurrencyPolicy": "Allow"}

OVERLAP = {
    "Forbid is the default": Due(spec={}, now="10:00", jobs=(a_job("09:00"),), expected={"10:00": "Overlap"}),
    "Forbid, a run by hand blocks": Due(
        spec={}, now="10:00", jobs=(a_job(None, trigger="Manual"),), expected={"10:00": "Overlap"}
    ),
    "Forbid, a backfill blocks": Due(
        spec={}, now="10:00", jobs=(a_job("13 05:00", trigger="Backfill"),), expected={"10:00": "Overlap"}
    ),
    "Forbid, a catch-up run from before a policy edit blocks": Due(
        spec={}, now="10:00", jobs=(a_job("08:00", trigger="CatchUp"),), expected={"10:00": "Overlap"}
    ),
    "Forbid, a run that is over does not block": Due(
        spec={}, now="10:00", jobs=(a_job("09:00", active=False),), expected={"10:00": "Run"}
    ),
    "Forbid, a Job that was deleted does not block": Due(spec={}, now="10:00", expected={"10:00": "Run"}),
    "Forbid under CatchUp waits": Due(
        spec=CATCH_UP, now="10:00", jobs=(a_job("09:00"),), expected={}, waiting=1
    ),
    "Forbid under CatchUp waits behind a run by hand": Due(
        spec=CATCH_UP, now="11:10", jobs=(a_job(None, trigger="Manual"),), expected={}, waiting=2
    ),
    "Allow goes on": Due(spec=ALLOW, now="10:00", jobs=(a_job("09:00"),), expected={"10:00": "Run"}),
    "Replace goes on": Due(
        spec={"concurrencyPolicy": "Replace"}, now="10:00", jobs=(a_job("09:00"),), expected={"10:00": "Run"}
    ),
}

THROTTLE = {
    "one catch-up run at a time by default": Due(
        spec=CATCH_UP | ALLOW, now="12:10", expected={"10:00": "CatchUp run"}, waiting=2
    ),
    "as many as maxConcurrent": Due(
        spec=CATCH_UP | ALLOW | {"catchUp": {"maxConcurrent": 2}},
        now="12:10",
        expected={"10:00": "CatchUp run", "11:00": "CatchUp run"},
        waiting=1,
    ),
    "runs by schedule do not count": Due(
        spec=CATCH_UP | ALLOW,
        now="11:10",
        jobs=(a_job("09:00"),),
        expected={"10:00": "CatchUp run"},
        waiting=1,
    ),
    "runs by hand and backfills do not count": Due(
        spec=CATCH_UP | ALLOW,
        now="11:10",
        jobs=(a_job(None, trigger="Manual"), a_job("13 05:00", trigger="Backfill")),
        expected={"10:00": "CatchUp run"},
        waiting=1,
    ),
    "catch-up runs that are over do not count": Due(
        spec=CATCH_UP | ALLOW,
        now="11:10",
        jobs=(a_job("09:00", trigger="CatchUp", active=False),),
        expected={"10:00": "CatchUp run"},
        waiting=1,
    ),
    "where there is no backlog nothing waits": Due(
        spec=CATCH_UP | ALLOW,
        now="10:00",
        jobs=(a_job("09:00", trigger="CatchUp"),),
        expected={"10:00": "Run"},
    ),
    "where there is no backlog nothing waits: at the threshold": Due(
        spec=CATCH_UP | ALLOW,
        now="10:01:00",
        jobs=(a_job("09:00", trigger="CatchUp"),),
        expected={"10:00": "Run"},
    ),
    "a second after the threshold it is a backlog": Due(
        spec=CATCH_UP | ALLOW,
        now="10:01:01",
        jobs=(a_job("09:00", trigger="CatchUp"),),
        expected={},
        waiting=1,
    ),
    "an on-time slot waits behind the backlog": Due(
        spec=CATCH_UP | ALLOW,
        now="11:00:00",
        jobs=(a_job("09:00", trigger="CatchUp"),),
        expected={},
        waiting=2,
    ),
    "an on-time slot is no backlog once the older one has started": Due(
        spec=CATCH_UP | ALLOW, now="11:00:00", expected={"10:00": "CatchUp run", "11:00": "Run"}
    ),
    "the last of a backlog, if on time, does not wait": Due(
        spec=CATCH_UP | ALLOW | {"catchUp": {"maxConcurrent": 1}},
        since="10:30",
        now="11:00:30",
        jobs=(a_job("10:00", trigger="CatchUp"),),
        expected={"11:00": "Run"},
    ),
    "maxConcurrent does not overrule Forbid": Due(
        spec=CATCH_UP | {"catchUp": {"maxConcurrent": 5}},
        now="12:10",
        expected={"10:00": "CatchUp run"},
        waiting=2,
    ),
}

TABLES = OVERLAP | THROTTLE


@pytest.mark.parametrize("case", TABLES.values(), ids=TABLES)
def test_active_runs_block_replace_or_throttle(case: Due) -> None:
    expect(case)


def test_rule_4_replace_deletes_every_active_run_whatever_made_it() -> None:
    jobs = (
        a_job("08:00", active=False),
        a_job("09:00"),
        a_job(None, trigger="Manual"),
        a_job("13 05:00", trigger="Backfill"),
    )
    facts = facts_of(a_spec(concurrencyPolicy="Replace"), jobs=jobs)
    start = plan(facts, at("10:00")).start
    assert start is not None
    assert set(start.replaces) == {job.name for job in jobs[1:]}


def test_rule_4_replace_deletes_nothing_when_the_slot_is_stale() -> None:
    facts = facts_of(a_spec(concurrencyPolicy="Replace", maxStaleness="5m"), jobs=(a_job("09:00"),))
    carried = carry_out(facts, "10:30")
    assert carried.words == {"10:00": "Stale"}
    assert [job.active for job in carried.facts.jobs] == [True]


def test_rule_4_forbid_is_final_when_the_blocker_ends() -> None:
    carried = carry_out(facts_of(jobs=(a_job("09:00"),)), "10:00")
    after = carry_out(ended(carried.facts), "10:05")
    assert after.words == {}
    assert after.waiting == 0


def test_rule_4_a_slot_that_waits_for_its_turn_starts_when_the_blocker_ends() -> None:
    facts = facts_of(a_spec(**CATCH_UP), jobs=(a_job("09:00"),))
    waits = carry_out(facts, "10:00")
    assert (waits.words, waits.waiting) == ({}, 1)
    assert carry_out(ended(waits.facts), "10:00:40").words == {"10:00": "Run"}
    assert carry_out(ended(waits.facts), "10:05").words == {"10:00": "CatchUp run"}


def test_rules_3_and_4_a_slot_that_waits_is_looked_at_when_it_becomes_too_stale() -> None:
    facts = facts_of(a_spec(**CATCH_UP | {"maxStaleness": "15m"}), jobs=(a_job("09:00"),))
    waits = carry_out(facts, "10:00")
    assert clock(waits.last.wake or 0) == "10:15:01"
    assert carry_out(waits.facts, "10:15:00").words == {}
    assert carry_out(waits.facts, "10:15:01").words == {"10:00": "Stale"}


def test_rules_3_and_5_a_throttled_slot_is_looked_at_when_it_becomes_too_stale() -> None:
    spec = a_spec(**CATCH_UP | ALLOW | {"maxStaleness": "95m"})
    waits = carry_out(facts_of(spec, jobs=(a_job("09:00", trigger="CatchUp"),)), "11:10")
    assert (waits.words, clock(waits.last.wake or 0)) == ({}, "11:35:01")
    assert carry_out(waits.facts, "11:35:01").words == {"10:00": "Stale"}


def test_rule_5_new_slots_join_the_end_of_the_backlog() -> None:
    facts = facts_of(a_spec(**CATCH_UP))
    first = carry_out(facts, "11:10")
    assert first.words == {"10:00": "CatchUp run"}
    second = carry_out(ended(first.facts), "12:00:05")
    assert second.words == {"11:00": "CatchUp run"}
    third = carry_out(ended(second.facts), "12:00:30")
    assert third.words == {"12:00": "Run"}, "the last one is on time, so it is live work"


def test_rule_5_the_backlog_is_asked_for_anew_after_every_decision() -> None:
    facts = facts_of(a_spec(**CATCH_UP | ALLOW | {"maxStaleness": "50m"}))
    assert carry_out(facts, "11:00:20").words == {"10:00": "Stale", "11:00": "Run"}
