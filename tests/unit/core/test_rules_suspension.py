"""Suspension: semantics.md §3 rule 1 and §5, one case per sentence."""

from dataclasses import replace
from typing import Any

import pytest
from acts import (
    TENANT,
    a_job,
    a_retry,
    a_spec,
    at,
    carry_out,
    clock,
    ended,
    facts_of,
    known,
    unreadable,
    with_spec,
)

from cronschedule.api.reasons import SkipReason
from cronschedule.core.facts import Facts, Skip

POLICIES: dict[str, dict[str, Any]] = {
    "FireOnce": {},
    "Skip": {"misfirePolicy": "Skip"},
    "CatchUp": {"misfirePolicy": "CatchUp", "maxStaleness": "24h"},
    "CatchUp, Allow": {"misfirePolicy": "CatchUp", "maxStaleness": "24h", "concurrencyPolicy": "Allow"},
    "Replace": {"concurrencyPolicy": "Replace"},
}


def by_tenant(facts: Facts) -> Facts:
    return replace(facts, tenant_suspended=TENANT)


def by_nobody(facts: Facts) -> Facts:
    return replace(facts, tenant_suspended=None)


@pytest.mark.parametrize("fields", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("now", ["10:00", "10:00:30", "12:10"])
def test_rule_1_nothing_starts_under_any_policy(fields: dict[str, Any], now: str) -> None:
    tenant = carry_out(by_tenant(facts_of(a_spec(**fields))), now)
    schedule = carry_out(facts_of(a_spec(**fields, suspend=True)), now)
    assert (tenant.starts, schedule.starts) == ([], [])
    assert set(tenant.words.values()) == {"TenantSuspended"}
    assert set(schedule.words.values()) == {"ScheduleSuspended"}
    assert list(tenant.words) == list(schedule.words) == ["10:00", "11:00", "12:00"][: len(tenant.words)]


def test_the_first_look_skips_what_was_due_and_then_nothing_is_written_per_slot() -> None:
    seen = carry_out(by_tenant(facts_of()), "11:10")
    assert seen.words == {"10:00": "TenantSuspended", "11:00": "TenantSuspended"}
    assert clock(seen.ledger.last_decided) == "11:00"
    for now in ("12:00", "13:00", "23:00"):
        quiet = carry_out(seen.facts, now)
        assert (quiet.words, quiet.notes, quiet.ledger) == ({}, [], seen.ledger)


def test_the_ledger_remembers_since_when_and_why() -> None:
    seen = carry_out(by_tenant(facts_of()), "11:10")
    assert seen.ledger.suspension is not None
    assert (clock(seen.ledger.suspension.since), seen.ledger.suspension.reason) == (
        "11:10",
        "TenantSuspended",
    )
    assert seen.ledger.suspension.message == TENANT
    assert [note.kind for note in seen.notes] == ["Suspended"]


def test_there_is_no_next_slot_and_no_wake_up_while_suspended() -> None:
    seen = carry_out(by_tenant(facts_of()), "10:10")
    assert (seen.last.next_slot, seen.last.wake, seen.last.waiting) == (None, None, None)


def test_slots_that_waited_when_it_began_are_skipped() -> None:
    waits = carry_out(facts_of(a_spec(**POLICIES["CatchUp"]), jobs=(a_job("09:00"),)), "11:00")
    assert waits.waiting == 2
    assert carry_out(by_tenant(waits.facts), "11:30").words == {
        "10:00": "TenantSuspended",
        "11:00": "TenantSuspended",
    }


def test_a_slot_in_retry_when_it_began_is_skipped_with_those_it_stands_for() -> None:
    facts = facts_of(retry=a_retry("11:00", until="11:10:30", first="10:00", count=2))
    assert carry_out(by_tenant(facts), "11:10").words == {
        "10:00": "TenantSuspended",
        "11:00": "TenantSuspended",
    }


def test_active_runs_are_left_alone() -> None:
    facts = facts_of(a_spec(concurrencyPolicy="Replace"), jobs=(a_job("09:00"),))
    seen = carry_out(by_tenant(facts), "10:30")
    assert seen.facts.jobs == facts.jobs
    assert carry_out(ended(seen.facts), "10:40").words == {}


@pytest.mark.parametrize("fields", POLICIES.values(), ids=POLICIES)
def test_resumption_skips_everything_due_whatever_the_policy_as_one_row(fields: dict[str, Any]) -> None:
    seen = carry_out(by_tenant(facts_of(a_spec(**fields))), "09:45")
    assert seen.words == {}
    resumed = carry_out(by_nobody(seen.facts), "12:00")
    assert len(resumed.decisions) == 1
    assert isinstance(resumed.decisions[0], Skip)
    assert resumed.words == dict.fromkeys(["10:00", "11:00", "12:00"], "TenantSuspended"), "12:00 included"
    assert clock(resumed.ledger.last_decided) == "12:00"
    assert [note.kind for note in resumed.notes] == ["Resumed"]
    assert resumed.ledger.suspension is None


def test_the_ledger_moves_to_the_moment_of_resumption_and_the_next_slot_fires() -> None:
    seen = carry_out(by_tenant(facts_of()), "09:45")
    resumed = carry_out(by_nobody(seen.facts), "12:34:56")
    assert clock(resumed.ledger.last_decided) == "12:34:56"
    assert clock(resumed.last.next_slot or 0) == "13:00"
    assert carry_out(resumed.facts, "13:00").words == {"13:00": "Run"}


def test_resumption_with_nothing_due_moves_the_ledger_all_the_same() -> None:
    seen = carry_out(by_tenant(facts_of()), "09:45")
    resumed = carry_out(by_nobody(seen.facts), "09:50")
    assert (resumed.words, clock(resumed.ledger.last_decided)) == ({}, "09:50")


def test_what_the_ledger_knows_wins_over_what_the_label_says_now() -> None:
    """The operator was down when the tenant was resumed: the window runs until it is up."""
    facts = facts_of(ledger=known("10:00", suspended="10:15", reason="TenantSuspended"))
    carried = carry_out(facts, "15:20")
    assert carried.words == dict.fromkeys(["11:00", "12:00", "13:00", "14:00", "15:00"], "TenantSuspended")
    assert clock(carried.ledger.last_decided) == "15:20"


def test_what_was_due_before_the_suspension_began_is_skipped_too_when_the_operator_was_down() -> None:
    assert carry_out(by_tenant(facts_of(since="05:30")), "08:10").words == dict.fromkeys(
        ["06:00", "07:00", "08:00"], "TenantSuspended"
    )


def test_a_suspension_that_nobody_saw_never_happened() -> None:
    assert carry_out(facts_of(), "11:10").words == {"10:00": "Coalesced", "11:00": "Run"}


def test_the_tenants_reason_goes_before_the_schedules_own() -> None:
    both = carry_out(by_tenant(facts_of(a_spec(suspend=True))), "10:10")
    assert both.words == {"10:00": "TenantSuspended"}


def test_when_the_reason_changes_the_row_so_far_is_closed_the_slot_at_that_instant_included() -> None:
    both = carry_out(by_tenant(facts_of(a_spec(suspend=True))), "09:45")
    own = carry_out(by_nobody(both.facts), "12:00")
    assert own.words == dict.fromkeys(["10:00", "11:00", "12:00"], "TenantSuspended")
    assert own.ledger.suspension is not None
    assert own.ledger.suspension.reason == SkipReason.SCHEDULE_SUSPENDED
    assert clock(own.ledger.suspension.since) == "12:00"
    resumed = carry_out(with_spec(own.facts, suspend=False), "13:30")
    assert resumed.words == {"13:00": "ScheduleSuspended"}


def test_a_change_of_reason_without_a_due_slot_does_not_move_the_ledger() -> None:
    own = carry_out(facts_of(a_spec(suspend=True)), "09:45")
    both = carry_out(by_tenant(own.facts), "09:50")
    assert (both.words, clock(both.ledger.last_decided)) == ({}, "09:30")


def test_a_schedules_own_suspension_while_the_tenant_is_suspended_changes_nothing() -> None:
    tenant = carry_out(by_tenant(facts_of()), "10:10")
    both = carry_out(with_spec(tenant.facts, suspend=True), "11:10")
    assert (both.words, both.notes, both.ledger) == ({}, [], tenant.ledger)


def test_an_edit_while_suspended_decides_the_old_slots_with_the_suspensions_reason() -> None:
    seen = carry_out(by_tenant(facts_of()), "09:45")
    edited = carry_out(with_spec(seen.facts, schedule="*/30 * * * *"), "12:00")
    assert edited.words == dict.fromkeys(["10:00", "11:00", "12:00"], "TenantSuspended")
    assert clock(edited.ledger.last_decided) == "12:00"
    assert edited.ledger.suspension == seen.ledger.suspension
    assert [note.kind for note in edited.notes] == []
    resumed = carry_out(by_nobody(edited.facts), "13:10")
    assert resumed.words == dict.fromkeys(["12:30", "13:00"], "TenantSuspended")


def test_an_edit_and_a_suspension_seen_together_give_the_suspensions_reason() -> None:
    edited = with_spec(facts_of(), schedule="*/30 * * * *")
    carried = carry_out(by_tenant(edited), "11:10")
    assert carried.words == dict.fromkeys(["10:00", "11:00"], "TenantSuspended")
    assert clock(carried.ledger.last_decided) == "11:10"


def test_an_edit_and_a_resumption_seen_together_give_the_suspensions_reason() -> None:
    seen = carry_out(facts_of(a_spec(suspend=True)), "09:45")
    carried = carry_out(with_spec(seen.facts, schedule="*/30 * * * *"), "11:10")
    assert carried.words == dict.fromkeys(["10:00", "11:00"], "ScheduleSuspended")
    assert carry_out(carried.facts, "11:30").words == {"11:30": "Run"}


def test_a_spec_that_became_unreadable_has_not_resumed() -> None:
    seen = carry_out(facts_of(a_spec(suspend=True)), "09:45")
    broken = carry_out(unreadable(seen.facts), "11:10")
    assert broken.words == dict.fromkeys(["10:00", "11:00"], "ScheduleSuspended")
    assert broken.ledger.suspension == seen.ledger.suspension
    mended = carry_out(with_spec(broken.facts, suspend=False), "12:30")
    assert mended.words == {}
    assert [note.kind for note in mended.notes] == ["Resumed"]
    assert clock(mended.ledger.last_decided) == "12:30"


def test_a_tenant_can_be_suspended_while_the_spec_is_unreadable() -> None:
    broken = carry_out(unreadable(facts_of()), "09:45")
    seen = carry_out(by_tenant(broken.facts), "10:10")
    assert seen.ledger.suspension is not None
    assert seen.words == {}
    assert carry_out(by_nobody(seen.facts), "10:20").ledger.suspension is None


def test_a_job_that_was_created_before_the_suspension_was_seen_is_a_run() -> None:
    """Crash between create and record, then the tenant is suspended."""
    facts = facts_of(jobs=(a_job("11:00"),))
    assert carry_out(by_tenant(facts), "12:10").words == {
        "10:00": "TenantSuspended",
        "11:00": "Run",
        "12:00": "TenantSuspended",
    }


def test_the_clock_set_back_while_suspended_loses_nothing() -> None:
    seen = carry_out(by_tenant(facts_of(since="12:30")), "12:45")
    resumed = carry_out(by_nobody(seen.facts), "10:10")
    assert (resumed.words, clock(resumed.ledger.last_decided)) == ({}, "12:30")
    assert resumed.ledger.last_decided >= at("12:30")
