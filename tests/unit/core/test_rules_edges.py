"""Edges: semantics.md §6, one case per sentence."""

from dataclasses import replace
from typing import Any

import pytest
from acts import (
    TENANT,
    a_job,
    a_spec,
    at,
    carry_out,
    clock,
    facts_of,
    known,
    unreadable,
    with_spec,
)

from cronschedule.api.v1alpha1 import ScheduleText
from cronschedule.core.facts import Ledger, Skip
from cronschedule.core.planner import plan

CATCH_UP: dict[str, Any] = {"misfirePolicy": "CatchUp", "maxStaleness": "24h"}


# New schedule


def test_a_new_schedule_has_slots_after_its_creation() -> None:
    new = facts_of(since=None, created=at("10:00"))
    assert carry_out(new, "10:00").words == {}
    assert carry_out(new, "11:00").words == {"11:00": "Run"}


def test_a_schedule_created_while_the_operator_was_down_has_missed_slots_like_any_other() -> None:
    new = facts_of(a_spec(misfirePolicy="Skip"), since=None, created=at("09:30"))
    assert carry_out(new, "11:00:10").words == {"10:00": "Misfire", "11:00": "Run"}


def test_the_first_look_opens_a_ledger_for_the_schedule_of_now() -> None:
    ledger = plan(facts_of(since=None), at("09:45")).ledger
    assert ledger == Ledger(
        last_decided=at("09:30"), schedule=ScheduleText(expression="0 * * * *", time_zone="Etc/UTC")
    )


def test_a_new_schedule_of_a_suspended_tenant_starts_suspended() -> None:
    new = facts_of(since=None, tenant_suspended=TENANT)
    assert carry_out(new, "11:10").words == {"10:00": "TenantSuspended", "11:00": "TenantSuspended"}


# Lost ledger


@pytest.mark.parametrize("fields", [{}, CATCH_UP, {"misfirePolicy": "Skip"}], ids=str)
def test_a_lost_ledger_without_jobs_starts_now_and_replays_nothing(fields: dict[str, Any]) -> None:
    lost = facts_of(a_spec(**fields), since=None, adopted=True)
    carried = carry_out(lost, "12:00")
    assert carried.words == {}
    assert clock(carried.ledger.last_decided) == "12:00"
    assert [note.kind for note in carried.notes] == ["LedgerLost"]
    assert "since it has no Jobs" in carried.notes[0].message
    assert carry_out(carried.facts, "13:00").words == {"13:00": "Run"}


def test_a_lost_ledger_starts_at_the_newest_slot_among_the_jobs() -> None:
    jobs = (a_job("08:00", active=False), a_job("11:00", active=False), a_job(None, trigger="Manual"))
    carried = carry_out(facts_of(since=None, adopted=True, jobs=jobs), "11:30")
    assert carried.words == {}
    assert clock(carried.ledger.last_decided) == "11:00"
    assert [note.kind for note in carried.notes] == ["LedgerLost"]
    assert "the newest slot among its Jobs" in carried.notes[0].message


def test_a_lost_ledger_is_told_once() -> None:
    carried = carry_out(facts_of(since=None, adopted=True), "12:30")
    assert carry_out(carried.facts, "12:31").notes == []


def test_a_lost_ledger_ignores_jobs_of_a_clock_that_ran_ahead() -> None:
    jobs = (a_job("11:00", active=False), a_job("18:00", active=False))
    carried = carry_out(facts_of(since=None, adopted=True, jobs=jobs), "11:30")
    assert clock(carried.ledger.last_decided) == "11:00"


def test_a_lost_ledger_of_a_suspended_tenant_is_opened_and_suspended() -> None:
    jobs = (a_job("10:00", active=False),)
    lost = facts_of(since=None, adopted=True, jobs=jobs, tenant_suspended=TENANT)
    carried = carry_out(lost, "12:10")
    assert carried.words == {"11:00": "TenantSuspended", "12:00": "TenantSuspended"}
    assert [note.kind for note in carried.notes] == ["LedgerLost", "Suspended"]


# Schedule or time zone edited

EDITS: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "the schedule": (
        {"schedule": "*/30 * * * *"},
        {"10:00": "ScheduleChanged", "11:00": "ScheduleChanged"},
        "11:30",
    ),
    "the time zone": (
        {"timeZone": "Asia/Kolkata"},
        {"10:00": "ScheduleChanged", "11:00": "ScheduleChanged"},
        "11:30",
    ),
    "the text only": (
        {"schedule": "@hourly"},
        {"10:00": "ScheduleChanged", "11:00": "ScheduleChanged"},
        "12:00",
    ),
    "the zone's name only": (
        {"timeZone": "UTC"},
        {"10:00": "ScheduleChanged", "11:00": "ScheduleChanged"},
        "12:00",
    ),
}


@pytest.mark.parametrize(("fields", "expected", "next_slot"), EDITS.values(), ids=EDITS)
def test_an_edit_takes_effect_when_seen(
    fields: dict[str, Any], expected: dict[str, str], next_slot: str
) -> None:
    edited = carry_out(with_spec(facts_of(), **fields), "11:00")
    assert edited.words == expected, "up to and including that moment"
    assert clock(edited.ledger.last_decided) == "11:00"
    assert clock(edited.last.next_slot or 0) == next_slot, "strictly after that moment"
    assert carry_out(edited.facts, next_slot).words == {next_slot: "Run"}


def test_an_edit_with_nothing_due_moves_the_ledger() -> None:
    edited = carry_out(with_spec(facts_of(), schedule="*/5 * * * *"), "09:47")
    assert (edited.words, clock(edited.ledger.last_decided)) == ({}, "09:47")
    assert carry_out(edited.facts, "09:50").words == {"09:50": "Run"}


def test_the_default_zone_written_out_is_no_edit() -> None:
    edited = carry_out(with_spec(facts_of(), timeZone="Etc/UTC"), "10:00")
    assert edited.words == {"10:00": "Run"}


def test_a_text_read_from_the_status_is_the_same_text() -> None:
    ledger = replace(known("09:30"), schedule=ScheduleText(expression="0 * * * *", time_zone="Etc/UTC"))
    assert carry_out(facts_of(ledger=ledger), "10:00").words == {"10:00": "Run"}


def test_an_edit_and_back_unseen_is_no_edit() -> None:
    assert carry_out(with_spec(facts_of(), schedule="0 * * * *"), "10:00").words == {"10:00": "Run"}


def test_an_edit_decides_what_waited() -> None:
    waits = carry_out(facts_of(a_spec(**CATCH_UP), jobs=(a_job("09:00"),)), "11:00")
    edited = carry_out(with_spec(waits.facts, **CATCH_UP, schedule="*/30 * * * *"), "11:10")
    assert edited.words == {"10:00": "ScheduleChanged", "11:00": "ScheduleChanged"}


def test_an_edit_tells_the_old_and_the_new_text() -> None:
    edited = carry_out(with_spec(facts_of(), schedule="*/30 * * * *"), "10:00")
    assert isinstance(edited.decisions[0], Skip)
    assert "'0 * * * *'" in edited.decisions[0].message
    assert "'*/30 * * * *'" in edited.decisions[0].message


def test_an_edit_from_a_schedule_that_nobody_can_read_any_more_counts_from_now() -> None:
    ledger = replace(known("09:30"), schedule=ScheduleText(expression="0 * * * *", time_zone="Mars/Phobos"))
    carried = carry_out(facts_of(ledger=ledger), "11:10")
    assert (carried.words, clock(carried.ledger.last_decided)) == ({}, "11:10")


# Invalid spec


def test_an_invalid_spec_has_no_slots() -> None:
    broken = carry_out(unreadable(facts_of(since=None)), "12:10")
    assert (broken.words, broken.starts) == ({}, [])
    assert (broken.last.next_slot, broken.last.wake, broken.last.waiting) == (None, None, None)


def test_a_spec_that_becomes_invalid_is_an_edit() -> None:
    broken = carry_out(unreadable(facts_of()), "11:00")
    assert broken.words == {"10:00": "ScheduleChanged", "11:00": "ScheduleChanged"}
    assert broken.ledger.schedule is None


def test_when_it_becomes_valid_that_is_an_edit() -> None:
    broken = carry_out(unreadable(facts_of()), "09:45")
    mended = carry_out(with_spec(broken.facts), "12:00")
    assert (mended.words, clock(mended.ledger.last_decided)) == ({}, "12:00")
    assert carry_out(mended.facts, "13:00").words == {"13:00": "Run"}


def test_a_schedule_created_invalid_has_slots_from_when_it_is_valid() -> None:
    broken = carry_out(unreadable(facts_of(since=None)), "09:45")
    mended = carry_out(with_spec(broken.facts, **CATCH_UP), "12:00")
    assert (mended.words, clock(mended.last.next_slot or 0)) == ({}, "13:00")


def test_an_unknown_zone_is_an_invalid_spec_too() -> None:
    unknown = replace(facts_of(), slots=None)
    broken = carry_out(unknown, "10:00")
    assert (broken.words, broken.ledger.schedule) == ({"10:00": "ScheduleChanged"}, None)


def test_a_new_schedule_with_an_unknown_zone_has_slots_from_when_it_is_valid() -> None:
    unknown = replace(facts_of(since=None), slots=None)
    broken = carry_out(unknown, "10:00")
    assert (broken.words, broken.ledger.schedule) == ({}, None)
    mended = carry_out(with_spec(broken.facts), "11:30")
    assert (mended.words, clock(mended.ledger.last_decided)) == ({}, "11:30")


# Clocks and backups


def test_a_clock_set_back_decides_nothing_until_now_passes_the_ledger() -> None:
    facts = facts_of(since="12:00")
    for now in ("10:00", "11:00", "11:59:59", "12:00"):
        assert carry_out(facts, now).words == {}
    assert carry_out(facts, "13:00").words == {"13:00": "Run"}


def test_a_clock_set_back_wakes_at_the_next_slot_after_the_ledger() -> None:
    assert clock(plan(facts_of(since="12:00"), at("10:00")).wake or 0) == "13:00"


def test_a_clock_set_back_never_moves_the_ledger_back_by_an_edit() -> None:
    edited = carry_out(with_spec(facts_of(since="12:00"), schedule="*/30 * * * *"), "10:10")
    assert clock(edited.ledger.last_decided) == "12:00"


def test_a_clock_set_forward_makes_the_slots_in_between_due() -> None:
    facts = carry_out(facts_of(), "09:59").facts
    assert carry_out(facts, "13:00:05").words == {
        "10:00": "Coalesced",
        "11:00": "Coalesced",
        "12:00": "Coalesced",
        "13:00": "Run",
    }


def test_an_old_ledger_restored_runs_one_slot_under_fire_once() -> None:
    restored = facts_of(ledger=known("01 09:30"))
    carried = carry_out(restored, "12:10")
    assert list(carried.words.values()).count("Run") == 1
    assert len(carried.words) == 13 * 24 + 3
    assert set(carried.words.values()) == {"Run", "Coalesced"}


def test_an_old_ledger_restored_runs_at_most_its_caps_under_catch_up() -> None:
    spec = a_spec(**CATCH_UP, concurrencyPolicy="Allow", catchUp={"maxRuns": 5, "maxConcurrent": 10})
    carried = carry_out(facts_of(spec, ledger=known("01 09:30", spec=spec)), "12:10")
    words = list(carried.words.values())
    assert (words.count("CatchUp run"), set(words)) == (5, {"Stale", "CatchUpCapExceeded", "CatchUp run"})
