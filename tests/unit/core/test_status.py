"""Conditions: each is told from what is so, and its moment moves only with its status (api.md)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cronschedule.api.conditions import find
from cronschedule.api.mistakes import Mistake
from cronschedule.api.reasons import SkipReason
from cronschedule.api.shapes import dump
from cronschedule.api.v1alpha1 import CronScheduleSpec, CronScheduleStatus, Row, ScheduleText
from cronschedule.core.facts import Ledger, Plan, Retry, Start, Suspended, Waiting
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
        "spec": spec(),
        "mistakes": (),
        "rejected": None,
        "retry": None,
        "active_runs": 0,
        "generation": 1,
    }
    status = CronScheduleStatus(run_history=rows)
    view = defaults | view
    return build_status(
        View(before=before or CronScheduleStatus(), status=status, plan=plan, now=now, **view)
    )


def conditions(status: CronScheduleStatus) -> dict[str, tuple[str, str]]:
    return {condition.type: (condition.status, condition.reason) for condition in status.conditions}


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
            {"rows": (Row(scheduled_time=NOON, outcome="Skipped", reason="CatchUpCapExceeded", count=9),)},
            {"BacklogTruncated": ("True", "CatchUpCapExceeded")},
            id="cap-exceeded",
        ),
        pytest.param(
            {
                "spec": spec(misfirePolicy="CatchUp"),
                "waiting": Waiting(count=3, oldest=NOON),
            },
            {"CatchingUp": ("True", "BacklogWaiting")},
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


def test_what_was_dropped_by_the_caps_stays_told_when_its_row_has_fallen_off() -> None:
    dropped = Row(scheduled_time=NOON, outcome="Skipped", reason="CatchUpCapExceeded", count=9)
    before = told(rows=(dropped,))
    assert find(told(before=before, now=NOON + 999).conditions, "BacklogTruncated") == find(
        before.conditions, "BacklogTruncated"
    )


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
