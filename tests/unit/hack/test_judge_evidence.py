"""Is the API server's own record read for what it says, and nothing else taken for it?"""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bench.errors import BenchError
from bench.evidence import (
    EvidenceError,
    gather,
    read_audit,
    read_ends,
    read_lines,
    read_suspensions,
    read_unanswered,
)
from bench.records import JobCreated, JobEnded, StatusWrite
from bench.soak import Options, plan_kills

UIDS = {("tenant", "backup"): "s"}
SLOT = 1_800_000_060


def job_event(**changes: Any) -> dict[str, Any]:
    return {
        "stage": "ResponseComplete",
        "verb": "create",
        "objectRef": {"resource": "jobs", "namespace": "tenant", "name": "backup-1"},
        "responseStatus": {"code": 201},
        "requestReceivedTimestamp": "2027-01-15T08:01:01.250000Z",
        "responseObject": {
            "metadata": {
                "name": "backup-1",
                "uid": "j",
                "resourceVersion": "7",
                "annotations": {
                    "batch.kubernetes.io/cronjob-scheduled-timestamp": "2027-01-15T09:01:00+01:00",
                },
                "ownerReferences": [{"kind": "CronSchedule", "uid": "s"}],
            }
        },
    } | changes


def status_event(**changes: Any) -> dict[str, Any]:
    return {
        "stage": "ResponseComplete",
        "verb": "update",
        "objectRef": {
            "resource": "cronschedules",
            "subresource": "status",
            "namespace": "tenant",
            "name": "backup",
        },
        "responseStatus": {"code": 200},
        "requestReceivedTimestamp": "2027-01-15T08:01:01.250000Z",
        "requestObject": {"metadata": {"resourceVersion": "8"}, "status": {"asked": 1}},
        "responseObject": {"metadata": {"resourceVersion": "9"}, "status": {"stands": 1}},
    } | changes


def note(**changes: Any) -> dict[str, Any]:
    return {"type": "MODIFIED", "uid": "j", "version": 12, "state": "Active", "deleting": False} | changes


def body(status: dict[str, Any]) -> dict[str, Any]:
    return {
        "metadata": {
            "namespace": "tenant",
            "name": "backup",
            "uid": "s",
            "creationTimestamp": "2027-01-15T08:00:10Z",
        },
        "spec": {"misfirePolicy": "FireOnce", "concurrencyPolicy": "Forbid", "maxStaleness": "1h"},
        "status": status,
    }


def test_is_a_created_job_read() -> None:
    created, _ = read_audit([job_event()], UIDS)
    expected = JobCreated(schedule="s", slot=SLOT, job="backup-1", uid="j", at=SLOT + 1.25, version=7)
    assert created == [expected]


def test_is_an_accepted_status_read_as_it_stands() -> None:
    _, writes = read_audit([status_event()], UIDS)
    assert writes == [StatusWrite(schedule="s", at=SLOT + 1.25, version=9, based_on=8, status={"stands": 1})]


def test_is_a_status_that_names_no_version_read_as_unfenced() -> None:
    _, writes = read_audit([status_event(verb="patch", requestObject={"status": {}})], UIDS)
    assert [write.based_on for write in writes] == [None]


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(job_event(responseStatus={"code": 409}), id="a-create-that-met-a-job"),
        pytest.param(job_event(stage="ResponseStarted"), id="a-request-under-way"),
        pytest.param(job_event(verb="delete"), id="a-deletion"),
        pytest.param(job_event(responseObject={"metadata": {}}), id="a-job-of-nobody"),
        pytest.param(status_event(responseStatus={"code": 409}), id="a-status-that-met-a-conflict"),
        pytest.param(status_event(objectRef={"resource": "cronschedules"}), id="a-write-of-the-spec"),
        pytest.param(status_event(verb="get"), id="a-read"),
    ],
)
def test_is_what_changed_nothing_left_out(event: dict[str, Any]) -> None:
    assert read_audit([event], UIDS) == ([], [])


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        pytest.param(note(state="Succeeded"), "Succeeded", id="complete"),
        pytest.param(note(state="Failed"), "Failed", id="failed"),
        pytest.param(note(deleting=True), "Deleted", id="being-deleted"),
        pytest.param(note(type="DELETED"), "Deleted", id="gone"),
        pytest.param(note(type="DELETED", state="Succeeded"), "Succeeded", id="gone-after-it-was-complete"),
    ],
)
def test_is_the_end_of_a_job_read(seen: dict[str, Any], outcome: Any) -> None:
    assert list(read_ends([seen])) == [JobEnded(uid="j", version=12, outcome=outcome)]


def test_is_an_active_job_not_taken_for_an_ended_one() -> None:
    assert list(read_ends([{"type": "READY", "seen": 1.0}, note(type="ADDED"), note()])) == []


def test_do_records_that_lack_the_last_write_judge_nothing() -> None:
    with pytest.raises(EvidenceError, match="backup"):
        gather(bodies=[body({"newer": 1})], audit=[status_event()], notes=[], until=SLOT)


def test_is_everything_gathered() -> None:
    evidence = gather(
        bodies=[body({"stands": 1})], audit=[job_event(), status_event()], notes=[note()], until=SLOT
    )
    assert [schedule.name for schedule in evidence.schedules] == ["tenant/backup"]
    assert evidence.schedules[0].max_staleness == 3600
    assert evidence.schedules[0].expected_skips == {"Coalesced", "Overlap"}
    assert (len(evidence.created), len(evidence.writes), len(evidence.ended)) == (1, 1, 0)


def label_event(second: int, *, suspended: bool, **changes: Any) -> dict[str, Any]:
    labels = {"cronschedule.dev/suspended": "true"} if suspended else {}
    return {
        "stage": "ResponseComplete",
        "verb": "patch",
        "objectRef": {"resource": "namespaces", "name": "tenant"},
        "responseStatus": {"code": 200},
        "requestReceivedTimestamp": f"2027-01-15T08:01:{second:02}.000000Z",
        "stageTimestamp": f"2027-01-15T08:01:{second:02}.500000Z",
        "responseObject": {"metadata": {"name": "tenant", "labels": labels}},
    } | changes


def test_are_suspensions_read_from_the_labels_of_namespaces() -> None:
    events = [
        label_event(1, suspended=False, verb="create"),
        label_event(5, suspended=True),
        label_event(6, suspended=True),
        label_event(7, suspended=False, responseStatus={"code": 409}),
        label_event(9, suspended=False),
        label_event(20, suspended=True),
    ]
    minute = SLOT
    assert read_suspensions(events) == {
        "tenant": [(minute + 5.5, minute + 9.0), (minute + 20.5, float("inf"))]
    }


def test_may_slots_of_a_suspended_tenant_be_skipped() -> None:
    evidence = gather(
        bodies=[body({"stands": 1})],
        audit=[status_event(), label_event(5, suspended=True)],
        notes=[],
        until=SLOT,
        notice=75,
    )
    assert evidence.schedules[0].expected_skips == {"Coalesced", "Overlap", "TenantSuspended"}
    assert evidence.schedules[0].suspended == ((SLOT + 5.5, float("inf")),)
    assert evidence.notice == 75


def test_is_a_line_that_is_still_being_written_left_for_later(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_text(json.dumps({"a": 1}) + '\n{"b"')
    assert list(read_lines(file)) == [{"a": 1}]


def test_do_kills_follow_from_the_seed_and_leave_a_quiet_minute() -> None:
    options = Options(minutes=30, schedules=1, kills=6, longest_down=40, seed=5)
    kills = plan_kills(options)
    assert kills == plan_kills(options)
    assert len(kills) == 6
    assert all(kill.after + kill.down < later.after for kill, later in pairwise(kills))
    assert kills[-1].after + kills[-1].down <= 30 * 60 + 40 - 60


def test_are_more_kills_than_fit_refused() -> None:
    with pytest.raises(BenchError, match="do not fit"):
        plan_kills(Options(minutes=2, schedules=1, kills=90, longest_down=40, seed=5))


def test_is_a_job_counted_whose_creator_was_killed_before_its_answer() -> None:
    slot = {"batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-03-03T09:00:00Z"}
    asked = {"name": "a-1", "annotations": slot, "ownerReferences": [{"kind": "CronSchedule", "uid": "s-1"}]}
    event = {
        "stage": "ResponseComplete",
        "verb": "create",
        "objectRef": {"resource": "jobs", "namespace": "n", "name": "a-1"},
        "responseStatus": {"code": 504},
        "requestReceivedTimestamp": "2026-03-03T09:00:00Z",
        "requestObject": {"metadata": asked},
    }
    note = {"type": "ADDED", "namespace": "n", "name": "a-1", "uid": "j-1", "version": 7}
    (job,) = read_unanswered([event], [note], known=set())
    assert (job.schedule, job.uid, job.version) == ("s-1", "j-1", 7)
    assert list(read_unanswered([event], [], known=set())) == []
    assert list(read_unanswered([event], [note], known={"j-1"})) == []
