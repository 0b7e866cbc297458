"""The models: defaults, and how they look as JSON."""

import pytest
from pydantic import ValidationError

from cronschedule.api.mistakes import read_spec, read_status
from cronschedule.api.shapes import dump
from cronschedule.api.v1alpha1 import CatchUp, CronScheduleSpec, CronScheduleStatus, Row, StandsFor

TEMPLATE = {
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}
}
SHORTEST = {"schedule": "0 9 * * *", "jobTemplate": TEMPLATE}


def test_a_short_spec_gets_the_documented_defaults():
    spec = read_spec(SHORTEST, unknown="refuse")
    assert isinstance(spec, CronScheduleSpec)
    assert dump(spec) == {
        "schedule": "0 9 * * *",
        "timeZone": "Etc/UTC",
        "misfirePolicy": "FireOnce",
        "maxStaleness": "1h",
        "catchUp": {"maxRuns": 100, "maxAge": "24h", "maxConcurrent": 1},
        "concurrencyPolicy": "Forbid",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
        "runHistoryLimit": 50,
        "jobTemplate": {"metadata": {"labels": {}, "annotations": {}}, **TEMPLATE},
    }


def test_durations_are_seconds_in_python():
    spec = read_spec({**SHORTEST, "maxStaleness": "1h30m"}, unknown="refuse")
    assert isinstance(spec, CronScheduleSpec)
    assert (spec.max_staleness, spec.catch_up) == (5400, CatchUp(max_runs=100, max_concurrent=1))


@pytest.mark.parametrize(
    "key", ["timeZone", "misfirePolicy", "maxStaleness", "catchUp", "suspend", "runHistoryLimit"]
)
def test_null_means_left_out(key):
    assert read_spec({**SHORTEST, key: None}, unknown="refuse") == read_spec(SHORTEST, unknown="refuse")


def test_a_spec_cannot_be_changed():
    spec = read_spec(SHORTEST, unknown="refuse")
    with pytest.raises(ValidationError, match="frozen"):
        spec.suspend = True


def test_a_status_that_nobody_wrote_is_of_no_generation():
    assert read_status({}) == CronScheduleStatus(observed_generation=-1)


def test_a_row_reads_by_itself():
    row = Row(
        scheduled_time=1774746000,
        outcome="Succeeded",
        job="nightly-29579100",
        trigger="Schedule",
        stands_for=StandsFor(count=2, first=1774742400),
    )
    assert dump(row) == {
        "scheduledTime": "2026-03-29T01:00:00Z",
        "outcome": "Succeeded",
        "job": "nightly-29579100",
        "trigger": "Schedule",
        "standsFor": {"count": 2, "first": "2026-03-29T00:00:00Z"},
    }


def test_a_whole_status_reads_back_as_it_was_written():
    written = {
        "observedGeneration": 3,
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "observedGeneration": 3,
                "lastTransitionTime": "2026-03-29T01:00:00Z",
                "reason": "Scheduling",
                "message": "The next slot is at 02:00.",
            }
        ],
        "schedule": {"expression": "0 * * * *", "timeZone": "Etc/UTC"},
        "lastDecidedTime": "2026-03-29T01:00:00Z",
        "lastScheduleTime": "2026-03-29T01:00:00Z",
        "lastSuccessfulTime": "2026-03-29T01:05:00Z",
        "lastFailureTime": "2026-03-28T01:05:00Z",
        "nextScheduleTime": "2026-03-29T02:00:00Z",
        "activeRuns": 1,
        "backlog": {"waiting": 2, "oldest": "2026-03-29T00:00:00Z"},
        "truncated": {"first": "2026-03-28T18:01:00Z", "last": "2026-03-28T20:00:00Z", "count": 120},
        "suspension": {"since": "2026-03-29T01:00:00Z", "reason": "TenantSuspended", "message": "label a=b"},
        "counts": {
            "runs": 5,
            "succeeded": 3,
            "failed": 1,
            "manual": 2,
            "backfilled": 4,
            "skipped": {"Coalesced": 360},
        },
        "decidedSlots": [
            {
                "first": "2026-03-28T18:01:00Z",
                "last": "2026-03-29T00:00:00Z",
                "count": 360,
                "fate": "Skipped",
            }
        ],
        "runHistory": [
            {
                "scheduledTime": "2026-03-29T00:00:00Z",
                "outcome": "Skipped",
                "reason": "Coalesced",
                "message": "settled with the newest",
                "count": 360,
                "firstScheduledTime": "2026-03-28T18:01:00Z",
            }
        ],
    }
    status = read_status(written)
    assert isinstance(status, CronScheduleStatus)
    assert dump(status) == written


def test_what_a_newer_operator_wrote_into_the_status_is_passed_over():
    newer = {
        "observedGeneration": 1,
        "runHistory": [{"scheduledTime": "2026-03-29T00:00:00Z", "outcome": "Paused", "x": 1}],
    }
    status = read_status({**newer, "more": True})
    assert isinstance(status, CronScheduleStatus)
    assert status.run_history[0].outcome == "Paused"


def test_a_status_that_makes_no_sense_is_mistakes_not_an_exception():
    mistakes = read_status({"lastDecidedTime": "yesterday"})
    assert [str(m) for m in mistakes] == [
        "status.lastDecidedTime: 'yesterday' is not a time with Z or an offset, such as 2026-03-29T01:00:00Z"
    ]
