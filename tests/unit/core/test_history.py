"""Decisions and outcomes become rows and totals (semantics.md §7)."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronschedule.api.reasons import SkipReason
from cronschedule.api.shapes import dump
from cronschedule.api.v1alpha1 import Counts, CronScheduleStatus, Row, ScheduleText
from cronschedule.core.asked import record_asked
from cronschedule.core.facts import Note, Ran, Skip, Start
from cronschedule.core.history import (
    record_decisions,
    record_lost_ledger,
    record_outcomes,
    record_replaced,
    trim,
)
from cronschedule.core.jobs import SeenJob, read_job
from cronschedule.core.slots import slots_of

NOON = 1_800_014_400
TEXT = ScheduleText(expression="* * * * *", time_zone="Etc/UTC")
EMPTY = CronScheduleStatus()
SLOTS = slots_of("* * * * *", "Etc/UTC")


def at(minute: int) -> int:
    return NOON + 60 * minute


def skip(first: int, last: int, reason: SkipReason = SkipReason.OVERLAP, message: str = "why") -> Skip:
    count = last - first + 1
    return Skip(reason=reason, schedule=TEXT, first=at(first), last=at(last), count=count, message=message)


def ran(minute: int, *, first: int | None = None) -> Ran:
    since = minute if first is None else first
    start = Start(slot=at(minute), trigger="Schedule", first=at(since), count=minute - since + 1)
    return Ran(start=start, job=f"x-{minute}")


def seen(minute: int, **changes: object) -> SeenJob:
    metadata = {"namespace": "default", "name": f"x-{minute}", "uid": f"u{minute}", "resourceVersion": "1"}
    told = {"created": at(minute), "slot": at(minute), "trigger": "Schedule", **changes}
    return replace(read_job({"metadata": metadata}), **told)


def spans(status: CronScheduleStatus) -> list[tuple[str, int, int, int]]:
    """Reason or outcome, first, last and count of each row, oldest first, in minutes since noon."""
    return [
        (
            row.reason if row.outcome == "Skipped" and row.reason else row.outcome,
            ((row.first_scheduled_time or row.scheduled_time) - NOON) // 60,
            (row.scheduled_time - NOON) // 60,
            row.count or 1,
        )
        for row in reversed(status.run_history)
    ]


# Folding


def test_adjacent_skips_for_one_reason_are_one_row() -> None:
    status = record_decisions(EMPTY, [skip(1, 1), skip(2, 4), skip(5, 5)], at(5))
    assert spans(status) == [("Overlap", 1, 5, 5)]
    assert status.counts.skipped == {"Overlap": 5}


def test_a_row_of_one_slot_says_neither_count_nor_first() -> None:
    (row,) = record_decisions(EMPTY, [skip(1, 1)], at(1)).run_history
    assert (row.count, row.first_scheduled_time) == (None, None)


def test_another_reason_or_a_run_in_between_begins_a_new_row() -> None:
    told = [skip(1, 1), skip(2, 2, SkipReason.STALE), ran(3), skip(4, 4, SkipReason.STALE)]
    assert spans(record_decisions(EMPTY, told, at(4))) == [
        ("Overlap", 1, 1, 1),
        ("Stale", 2, 2, 1),
        ("Active", 3, 3, 1),
        ("Stale", 4, 4, 1),
    ]


def test_folding_goes_on_where_an_earlier_write_left_off() -> None:
    status = EMPTY
    for minute in range(1, 11):
        status = record_decisions(status, [skip(minute, minute)], at(minute))
    assert spans(status) == [("Overlap", 1, 10, 10)]


def test_a_row_about_a_lost_ledger_takes_no_skip_in() -> None:
    lost = record_lost_ledger(EMPTY, Note(kind="LedgerLost", at=at(0), message="gone"), ())
    status = record_decisions(lost, [skip(1, 1, SkipReason.LEDGER_LOST)], at(1))
    assert [row.count for row in status.run_history] == [None, 0]


# Runs


def test_a_run_that_stands_for_others_says_how_many_and_since_when() -> None:
    (row,) = record_decisions(EMPTY, [ran(5, first=2)], at(5)).run_history
    assert row.stands_for is not None
    assert (row.stands_for.count, row.stands_for.first) == (4, at(2))


def test_a_run_that_stands_for_itself_says_nothing_of_that() -> None:
    (row,) = record_decisions(EMPTY, [ran(5)], at(5)).run_history
    assert row.stands_for is None


@pytest.mark.parametrize(
    ("changes", "outcome", "totals"),
    [
        pytest.param({"state": "Succeeded", "finished": at(9)}, "Succeeded", (1, 0), id="succeeded"),
        pytest.param({"state": "Failed", "finished": at(9), "reason": "Late"}, "Failed", (0, 1), id="failed"),
        pytest.param({}, "Active", (0, 0), id="still-active"),
        pytest.param({"deleting": True}, "Deleted", (0, 0), id="being-deleted"),
        pytest.param(
            {"deleting": True, "state": "Succeeded", "finished": at(9)},
            "Succeeded",
            (1, 0),
            id="deleted-once-ended",
        ),
    ],
)
def test_a_row_gets_the_outcome_of_its_job(
    changes: dict[str, object], outcome: str, totals: tuple[int, int]
) -> None:
    status = record_decisions(EMPTY, [ran(5)], at(5))
    told = record_outcomes(status, {"x-5": seen(5, **changes)}, at(10))
    assert told.run_history[0].outcome == outcome
    assert (told.counts.succeeded, told.counts.failed) == totals
    assert record_outcomes(told, {"x-5": seen(5, **changes)}, at(20)) == told


def test_a_run_whose_job_is_gone_was_deleted_and_stays_so() -> None:
    gone = record_outcomes(record_decisions(EMPTY, [ran(5)], at(5)), {}, at(10))
    assert (gone.run_history[0].outcome, gone.run_history[0].completion_time) == ("Deleted", at(10))
    assert record_outcomes(gone, {"x-5": seen(5, state="Succeeded", finished=at(11))}, at(12)) == gone


def test_only_active_runs_can_be_replaced() -> None:
    status = record_decisions(EMPTY, [ran(1), ran(2), ran(3)], at(3))
    ended = record_outcomes(status, {f"x-{n}": seen(n) for n in (2, 3)}, at(4))
    replaced = record_replaced(ended, ["x-1", "x-2"], at(5))
    assert [row.outcome for row in reversed(replaced.run_history)] == ["Deleted", "Replaced", "Active"]


def test_runs_whose_jobs_are_there_are_known_again_after_a_loss() -> None:
    note = Note(kind="LedgerLost", at=at(3), message="m" * 500)
    status = record_lost_ledger(EMPTY, note, [seen(1), seen(3), seen(4)])
    assert [row.job for row in status.run_history] == [None, "x-3", "x-1"]
    assert status.counts.runs == 2
    assert len(status.run_history[0].message or "") == 256


# Bounds


def test_the_oldest_ended_rows_fall_off_and_active_ones_never() -> None:
    active = [Row(scheduled_time=at(n), outcome="Active", job=f"x-{n}") for n in (9, 1, 0)]
    ended = [Row(scheduled_time=at(n), outcome="Succeeded", job=f"x-{n}") for n in (8, 7, 6)]
    status = CronScheduleStatus(run_history=(active[0], *ended, *active[1:]))
    assert [row.scheduled_time for row in trim(status, 4).run_history] == [at(9), at(8), at(1), at(0)]
    assert trim(status, 1).run_history == tuple(active)
    assert trim(status, 6) == status


def json_bytes(status: CronScheduleStatus) -> int:
    return len(json.dumps(dump(status), ensure_ascii=False, separators=(",", ":")).encode())


@given(
    message=st.text(st.characters(codec="utf-8"), max_size=256),
    reason=st.text(st.characters(codec="utf-8"), max_size=64),
    rows=st.integers(0, 400),
    active=st.integers(0, 40),
)
def test_a_status_never_exceeds_64_kib(*, message: str, reason: str, rows: int, active: int) -> None:
    running = Row(scheduled_time=at(0), outcome="Active", job="j" * 63, trigger="Schedule", start_time=at(0))
    ended = running.model_copy(
        update={"outcome": "Failed", "completion_time": at(9), "reason": reason, "message": message}
    )
    full = CronScheduleStatus(run_history=(*(ended,) * rows, *(running,) * active))
    trimmed = trim(full, 200)
    assert json_bytes(trimmed) <= 64 * 1024
    assert trimmed.run_history.count(running) == active
    one_more = trimmed.model_copy(update={"run_history": (ended, *trimmed.run_history)})
    all_of_them = len(trimmed.run_history) == min(rows + active, 200)
    assert all_of_them or json_bytes(one_more) > 64 * 1024


def test_active_rows_stay_in_a_status_that_is_too_large_until_the_schema_takes_no_more() -> None:
    active = tuple(
        Row(scheduled_time=at(n), outcome="Active", job=f"x-{n}", trigger="Schedule", start_time=at(n))
        for n in reversed(range(1001))
    )
    assert trim(CronScheduleStatus(run_history=active[1:]), 50).run_history == active[1:]
    one_more = EMPTY.model_copy(update={"run_history": active})
    assert trim(one_more, 50).run_history == active[:-1]


def test_totals_do_not_fall_off() -> None:
    status = EMPTY
    for minute in range(1, 101):
        told = ran(minute) if minute % 2 else skip(minute, minute)
        status = record_decisions(status, [told], at(minute))
        status = trim(status, 10)
    assert status.counts == Counts(runs=50, skipped={"Overlap": 50})


@pytest.mark.parametrize("length", [256, 257, 100_000])
def test_messages_are_cut_to_256_characters(length: int) -> None:
    (row,) = record_decisions(EMPTY, [skip(1, 1, message="m" * length)], at(1)).run_history
    assert row.message == "m" * 256
    status = record_decisions(EMPTY, [ran(5)], at(5))
    failed = seen(5, state="Failed", finished=at(6), reason="r" * length, message="m" * length)
    (row,) = record_outcomes(status, {"x-5": failed}, at(6)).run_history
    assert row.message == "m" * 256
    assert row.reason == "r" * 64


@pytest.mark.parametrize("seed", range(20))
def test_slots_decided_are_runs_and_skips_whatever_comes(seed: int) -> None:
    random, status, minute = Random(seed), EMPTY, 0
    for _ in range(200):
        length = random.randint(1, 5)
        told = (
            ran(minute + 1)
            if random.random() < 0.5
            else skip(minute + 1, minute + length, random.choice(list(SkipReason)))
        )
        minute += 1 if isinstance(told, Ran) else length
        status = record_decisions(status, [told], at(minute))
        status = trim(status, 7)
        assert status.counts.runs + sum(status.counts.skipped.values()) == minute
        rows = spans(status)
        assert all(count == last - first + 1 for _, first, last, count in rows)


# Runs by hand


def by_hand(minute: int) -> SeenJob:
    return replace(seen(minute), name=f"x-manual-{minute}", slot=None, trigger="Manual", created=at(minute))


def test_a_run_by_hand_is_counted_once_though_its_row_fell_off() -> None:
    jobs = [by_hand(1), by_hand(3)]
    told = record_asked(EMPTY, jobs, SLOTS)
    assert ([row.job for row in told.run_history], told.counts.manual) == (["x-manual-3", "x-manual-1"], 2)
    ended = record_outcomes(told, {}, at(9))
    for limit, later in ((1, []), (2, ["x-manual-5"])):
        trimmed = trim(ended, limit)
        again = record_asked(trimmed, [*jobs, *[by_hand(5) for _ in later]], SLOTS)
        assert again.counts.manual == 2 + len(later)


def test_a_run_by_hand_is_told_though_rows_of_slots_fell_off() -> None:
    status = trim(record_outcomes(record_decisions(EMPTY, [ran(1), ran(2), ran(3)], at(3)), {}, at(4)), 1)
    assert [row.job for row in record_asked(status, [by_hand(2)], SLOTS).run_history] == ["x-3", "x-manual-2"]


def test_a_run_by_hand_under_the_name_of_one_that_is_gone_is_another_run() -> None:
    before = record_asked(EMPTY, [by_hand(1)], SLOTS)
    again = replace(by_hand(1), created=at(2))
    status = record_outcomes(record_asked(before, [again], SLOTS), {again.name: again}, at(3))
    assert [(row.job, row.outcome) for row in status.run_history] == [
        ("x-manual-1", "Active"),
        ("x-manual-1", "Deleted"),
    ]
    assert status.counts.manual == 2
    assert record_asked(status, [again], SLOTS) == status


def test_a_run_of_a_slot_that_lost_its_mark_is_no_run_by_hand() -> None:
    status = record_decisions(EMPTY, [ran(1)], at(1))
    assert (
        record_asked(status, [replace(seen(1), slot=None, trigger="Manual", created=at(2))], SLOTS) == status
    )
