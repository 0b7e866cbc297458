"""Which finished Jobs go, and when (semantics.md §4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cronschedule.api.v1alpha1 import CronScheduleSpec, Row
from cronschedule.core.jobs import SeenJob, read_job
from cronschedule.core.retention import retain_jobs

NOW = 1_800_014_400


def spec(**limits: Any) -> CronScheduleSpec:
    return CronScheduleSpec.model_validate({"schedule": "* * * * *", "jobTemplate": {"spec": {}}, **limits})


def seen(minute: int, state: str = "Succeeded", **changes: Any) -> SeenJob:
    """The Job of a slot so many minutes ago, which took ten seconds."""
    slot = NOW - 60 * minute
    metadata = {"namespace": "default", "name": f"x-{minute}", "uid": f"u{minute}", "resourceVersion": "1"}
    finished = None if state == "Active" else slot + 10
    told = {"state": state, "created": slot, "slot": slot, "started": slot, "finished": finished}
    return replace(read_job({"metadata": metadata}), **(told | changes))


def deleted(*jobs: SeenJob, rows: tuple[Row, ...] = (), last_decided: int = NOW, **limits: Any) -> list[str]:
    retention = retain_jobs(list(jobs), rows, spec(**limits), last_decided=last_decided, now=NOW)
    return sorted(job.name for job in retention.delete)


def test_the_newest_of_each_outcome_stay() -> None:
    jobs = [seen(n) for n in (1, 3, 5, 7, 9)] + [seen(n, "Failed") for n in (2, 4, 6)]
    assert deleted(*jobs) == ["x-4", "x-6", "x-7", "x-9"]


def test_a_limit_of_none_keeps_none() -> None:
    jobs = seen(1), seen(2, "Failed")
    assert deleted(*jobs, successfulJobsHistoryLimit=0, failedJobsHistoryLimit=0) == ["x-1", "x-2"]


def test_a_job_whose_run_is_still_active_in_the_record_stays() -> None:
    row = Row(scheduled_time=NOW - 60, outcome="Active", job="x-1")
    assert deleted(seen(1), rows=(row,), successfulJobsHistoryLimit=0) == []


def test_a_job_whose_slot_is_not_decided_stays() -> None:
    assert deleted(seen(1), last_decided=NOW - 61, successfulJobsHistoryLimit=0) == []
    assert deleted(seen(1), last_decided=NOW - 60, successfulJobsHistoryLimit=0) == ["x-1"]


@pytest.mark.parametrize("changes", [{"state": "Active", "finished": None}, {"deleting": True}])
def test_a_job_that_is_active_or_going_already_is_left_alone(changes: dict[str, Any]) -> None:
    assert deleted(seen(1, **changes), successfulJobsHistoryLimit=0) == []


def test_a_job_of_an_age_goes_when_it_has_reached_it() -> None:
    young, old = seen(1, ttl=51), seen(2, ttl=110)
    retention = retain_jobs([young, old], (), spec(), last_decided=NOW, now=NOW)
    assert [job.name for job in retention.delete] == ["x-2"]
    assert retention.wake == NOW + 1


def test_without_an_age_there_is_nothing_to_wake_for() -> None:
    assert retain_jobs([seen(1)], (), spec(), last_decided=NOW, now=NOW).wake is None
