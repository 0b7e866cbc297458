"""Conditions: each is told from what is so, and its moment moves only with its status (api.md)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cronschedule.api.conditions import find
from cronschedule.api.mistakes import Mistake
from cronschedule.api.reasons import WAITS, SkipReason, WaitReason
from cronschedule.api.shapes import dump
from cronschedule.api.v1alpha1 import (
    Backlog,
    CronScheduleSpec,
    CronScheduleStatus,
    Row,
    ScheduleText,
    Truncation,
)
from cronschedule.core.facts import Ledger, Plan, Retry, Start, Suspended, Waiting
from cronschedule.core.jobs import Owner
from cronschedule.core.status import View, build_status, read_ledger

NOON = 1_800_014_400
TEXT = ScheduleText(expression="* * * * *", time_zone="Etc/UTC")
ASLEEP = Suspended(since=NOON, reason=SkipReason.TENANT_SUSPENDED, message="Namespace a has the label b.")
ROW = Row(scheduled_time=NOON, outcome="Succeeded", job="x-1", completion_time=NOON)


def spec(**fields: Any) -> CronScheduleSpec:
    return CronScheduleSpec.model_validate({"schedule": "* * * * *", "jobTemplate": {"spec": {}}, **fields})


def told(
    *,
    rows: tuple[Row, ...] = (),
    truncated: Truncation | None = None,
    suspension: Suspended | None = None,
    waiting: Waiting | None = None,
    before: CronScheduleStatus | None = None,
    now: int = NOON,
    **view: Any,
) -> CronScheduleStatus:
    """The status of a schedule with nothing special but this."""
    plan = Plan(
        ledger=Ledger(last_decided=NOON, schedule=TEXT, suspension=suspension),
        decisions=(),
        notes=(),
        start=None,
        waiting=waiting,
        wake=None,
        next_slot=NOON + 60,
    )
    defaults = {
        "owner": Owner(namespace="team-a", name="billing", uid="1"),
        "spec": spec(),
        "mistakes": (),
        "rejected": None,
        "retry": None,
        "active_runs": 0,
        "caught_up": 0,
        "generation": 1,
    }
    status = CronScheduleStatus(run_history=rows, truncated=truncated)
    view = defaults | view
    return build_status(
        View(before=before or CronScheduleStatus(), status=status, plan=plan, now=now, **view)
    )


def conditions(status: CronScheduleStatus) -> dict[str, tuple[str, str]]:
    return {condition.type: (condition.status, condition.reason) for condition in status.conditions}


DROPPED = Truncation(first=NOON - 600, last=NOON, count=10)
UNKNOWN = Mistake(path="spec.timeZone", message="'Mars' is not known")
WRONG = Mistake(path="spec.schedule", message="minute 61 is out of range")
RETRY = Retry(
    start=Start(slot=NOON + 60, trigger="Schedule", first=NOON + 60, count=1),
    not_before=NOON + 65,
    attempts=1,
    reason=SkipReason.CREATE_FAILED,
    error="503",
)


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        pytest.param({}, {"Ready": ("True", "Scheduled")}, id="all-is-well"),
        pytest.param(
            {"mistakes": (WRONG,)},
            {"Ready": ("False", "InvalidSchedule"), "Stalled": ("True", "InvalidSchedule")},
            id="bad-cron",
        ),
        pytest.param(
            {"mistakes": (UNKNOWN,)},
            {"Ready": ("False", "UnknownTimeZone"), "Stalled": ("True", "UnknownTimeZone")},
            id="unknown-zone",
        ),
        pytest.param({"mistakes": (UNKNOWN, WRONG)}, {"Ready": ("False", "InvalidSchedule")}, id="both"),
        pytest.param(
            {"rejected": "no containers"},
            {"Ready": ("False", "TemplateRejected"), "Stalled": ("True", "TemplateRejected")},
            id="template-refused",
        ),
        pytest.param({"retry": RETRY}, {"Ready": ("True", "Retrying")}, id="retrying"),
        pytest.param(
            {"suspension": ASLEEP},
            {"Ready": ("True", "Suspended"), "Suspended": ("True", "TenantSuspended")},
            id="suspended-is-still-ready",
        ),
        pytest.param(
            {"rows": (ROW,)}, {"LastRunSucceeded": ("True", "RunSucceeded")}, id="last-run-succeeded"
        ),
        pytest.param(
            {"rows": (ROW.model_copy(update={"outcome": "Failed", "reason": "Deadline"}),)},
            {"Ready": ("True", "Scheduled"), "LastRunSucceeded": ("False", "Deadline")},
            id="a-failed-run-is-still-ready",
        ),
        pytest.param(
            {"truncated": DROPPED},
            {"BacklogTruncated": ("True", "CatchUpCapExceeded")},
            id="cap-exceeded",
        ),
        pytest.param(
            {
                "spec": spec(misfirePolicy="CatchUp"),
                "waiting": Waiting(count=3, oldest=NOON, reason=WaitReason.BUDGET),
            },
            {"CatchingUp": ("True", "BudgetExhausted")},
            id="catching-up",
        ),
    ],
)
def test_a_condition_says_what_is_so(facts: dict[str, Any], wanted: dict[str, tuple[str, str]]) -> None:
    assert wanted.items() <= conditions(told(**facts)).items()


@pytest.mark.parametrize("kind", ["Stalled", "CatchingUp", "BacklogTruncated", "LastRunSucceeded"])
def test_a_condition_with_nothing_to_say_is_absent(kind: str) -> None:
    assert kind not in conditions(told())


def test_the_moment_of_a_condition_moves_only_with_its_status() -> None:
    first = told(now=NOON)
    asleep = told(before=first, suspension=ASLEEP, now=NOON + 10)
    later = told(before=asleep, suspension=ASLEEP, now=NOON + 20)
    moments = [
        {c.type: c.last_transition_time - NOON for c in status.conditions}
        for status in (first, asleep, later)
    ]
    assert [told["Ready"] for told in moments] == [0, 0, 0]
    assert [told["Suspended"] for told in moments] == [0, 10, 10]


def test_what_was_dropped_by_the_caps_comes_with_the_command_that_runs_it() -> None:
    condition = find(told(truncated=DROPPED).conditions, "BacklogTruncated")
    assert condition is not None
    assert condition.message == (
        "10 slots from 2027-01-15T11:50:00Z to 2027-01-15T12:00:00Z were dropped by the caps. To run them: kubectl"
        " cronschedule backfill billing --namespace team-a --from 2027-01-15T11:50:00Z --to 2027-01-15T12:00:00Z"
    )


def backlog_of(
    count: int, *, before: CronScheduleStatus | None = None, minute: int = 0, done: int = 0, **view: Any
) -> CronScheduleStatus:
    """The status while so many slots wait, so many minutes after noon, with so many runs begun just now."""
    reason = view.pop("reason", WaitReason.RUN_ACTIVE)
    return told(
        before=before,
        spec=view.pop("spec", spec(misfirePolicy="CatchUp")),
        waiting=Waiting(count=count, oldest=NOON - 3600, reason=reason),
        caught_up=done,
        now=NOON + 60 * minute,
    )


def catching_up(status: CronScheduleStatus) -> str:
    condition = find(status.conditions, "CatchingUp")
    assert condition is not None
    return condition.message


def test_a_backlog_tells_how_far_it_has_got_and_when_it_will_be_through() -> None:
    first = backlog_of(10, done=1)
    assert first.backlog is not None
    assert (first.backlog.since, first.backlog.at_first, first.backlog.done) == (NOON, 10, 1)
    second = backlog_of(9, before=first, minute=3, done=1)
    third = backlog_of(8, before=second, minute=6, done=1)
    assert third.backlog is not None
    assert (third.backlog.done, third.backlog.through) == (
        3,
        NOON + 60 * 30,
    )  # eight more, three minutes each
    assert catching_up(third) == (
        "3 done since 2027-01-15T12:00:00Z, 8 waiting, the oldest of 2027-01-15T11:00:00Z. The next one waits until the"
        " active run has ended (concurrencyPolicy Forbid). At the pace so far all will be through at about"
        " 2027-01-15T12:30:00Z."
    )


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        pytest.param([10], False, id="just-begun"),
        pytest.param([10, 9], False, id="one-is-no-pace"),
        pytest.param([10, 9, 8], True, id="two-are"),
        pytest.param([10, 11, 12], False, id="it-grows"),
        pytest.param([10, 8, 10], False, id="it-has-grown-again"),
    ],
)
def test_an_end_is_told_only_where_there_is_a_pace_to_tell_it_from(counts: list[int], says: bool) -> None:  # noqa: FBT001
    status = None
    for minute, count in enumerate(counts):
        status = backlog_of(count, before=status, minute=minute, done=1)
    assert status is not None
    assert ("through at" in catching_up(status)) is says


def test_time_that_passes_without_a_decision_changes_nothing() -> None:
    """So that no look at a schedule writes its status for the estimate's sake."""
    first = backlog_of(10)
    second = backlog_of(7, before=first, minute=5, done=3)
    assert backlog_of(7, before=second, minute=50) == second


def test_the_next_backlog_counts_from_its_own_beginning() -> None:
    first = backlog_of(7, before=backlog_of(10), minute=5, done=3)
    none = told(before=first, spec=spec(misfirePolicy="CatchUp"), now=NOON + 600)
    assert none.backlog is None
    again = backlog_of(2, before=none, minute=20)
    assert again.backlog is not None
    assert (again.backlog.since, again.backlog.at_first, again.backlog.done) == (NOON + 1200, 2, 0)


@pytest.mark.parametrize("reason", WaitReason)
def test_a_backlog_says_why_its_next_slot_waits(reason: WaitReason) -> None:
    status = backlog_of(3, reason=reason)
    assert conditions(status)["CatchingUp"] == ("True", reason.value)
    assert WAITS[reason] in catching_up(status)


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param({"since": NOON + 9999, "at_first": 5}, id="begun-in-the-future"),
        pytest.param({"since": -62_135_596_800, "at_first": 5}, id="begun-in-the-year-1"),
        pytest.param({"since": NOON - 60}, id="not-known-how-many"),
        pytest.param({"at_first": 5}, id="not-known-since-when"),
    ],
)
def test_a_damaged_progress_begins_anew(damaged: dict[str, int]) -> None:
    before = CronScheduleStatus(backlog=Backlog(waiting=3, **damaged))
    status = backlog_of(3, before=before)
    assert status.backlog is not None
    assert (status.backlog.since, status.backlog.at_first, status.backlog.done) == (NOON, 3, 0)


def test_an_end_in_another_millennium_is_not_told() -> None:
    before = CronScheduleStatus(backlog=Backlog(waiting=99, since=-2_208_988_800, at_first=100))
    assert "through at" not in catching_up(backlog_of(98, before=before))


def test_a_slot_that_is_retried_under_another_policy_is_no_backlog_to_catch_up() -> None:
    status = backlog_of(1, spec=spec(), reason=WaitReason.RETRYING)
    assert "CatchingUp" not in conditions(status)
    assert status.backlog == Backlog(waiting=1, oldest=NOON - 3600)


def test_a_suspension_is_read_back_as_it_was_written() -> None:
    ledger = read_ledger(told(suspension=ASLEEP))
    assert ledger == Ledger(last_decided=NOON, schedule=TEXT, suspension=ASLEEP)


def test_without_a_ledger_there_is_none() -> None:
    assert read_ledger(CronScheduleStatus()) is None


@pytest.mark.parametrize(("limit", "kept"), [(1, 1), (50, 50), (200, 100)])
def test_a_status_full_of_the_longest_texts_keeps_within_its_bound(limit: int, kept: int) -> None:
    longest = Row(
        scheduled_time=NOON,
        first_scheduled_time=NOON,
        outcome="Failed",
        job="j" * 63,
        trigger="Schedule",
        start_time=NOON,
        completion_time=NOON,
        reason="r" * 64,
        message="m" * 256,
    )
    status = told(rows=(longest,) * 400, spec=spec(runHistoryLimit=limit), rejected="e" * 9999)
    written = dump(status)
    assert len(written["runHistory"]) >= kept
    assert len(json.dumps(written, separators=(",", ":"))) <= 64 * 1024
