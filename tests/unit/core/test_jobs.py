"""The Job of a slot: what it takes from the template, what it carries, and what is read back (semantics.md §4)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from cronschedule.api.v1alpha1 import CronScheduleSpec
from cronschedule.core.facts import Start
from cronschedule.core.jobs import Owner, SeenJob, build_job, read_job

NOON = 1_800_014_400
NAME = f"x-{NOON // 60}"
OWNER = Owner(namespace="default", name="x", uid="u-1")
ALONE = Start(slot=NOON, trigger="Schedule", first=NOON, count=1)
FOR_FIVE = Start(slot=NOON, trigger="Schedule", first=NOON - 240, count=5)
POD = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example.com/main"}]}


def spec(job_spec: dict[str, Any] | None = None, **template: Any) -> CronScheduleSpec:
    job_template = {"spec": job_spec or {"template": {"spec": deepcopy(POD)}}, **template}
    told = {"schedule": "* * * * *", "timeZone": "Europe/Berlin", "jobTemplate": job_template}
    return CronScheduleSpec.model_validate(told)


def seen(job: dict[str, Any], **status: Any) -> SeenJob:
    """As the API server would show it."""
    metadata = job["metadata"] | {
        "uid": "j-1",
        "resourceVersion": "7",
        "creationTimestamp": "2027-01-15T12:00:01Z",
    }
    return read_job({**job, "metadata": metadata, "status": status})


def environment(job: dict[str, Any], container: int = 0) -> dict[str, str]:
    return {e["name"]: e["value"] for e in job["spec"]["template"]["spec"]["containers"][container]["env"]}


def test_the_name_is_the_schedules_and_the_slot_in_minutes() -> None:
    assert build_job(OWNER, spec(), ALONE)["metadata"]["name"] == NAME


def test_the_time_to_live_is_kept_from_the_job_controller_and_remembered() -> None:
    job = build_job(OWNER, spec({"ttlSecondsAfterFinished": 90, "template": {"spec": deepcopy(POD)}}), ALONE)
    assert "ttlSecondsAfterFinished" not in job["spec"]
    assert seen(job).ttl == 90


def test_the_owner_is_no_controller() -> None:
    (owner,) = build_job(OWNER, spec(), ALONE)["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == ("u-1", False)


def test_labels_and_annotations_of_the_template_are_kept_and_ours_win() -> None:
    template = {"labels": {"queue": "night", "cronschedule.dev/schedule": "other"}, "annotations": {"a": "b"}}
    meta = build_job(OWNER, spec(metadata=template), ALONE)["metadata"]
    assert meta["labels"]["queue"] == "night"
    assert meta["labels"]["cronschedule.dev/schedule"] == "x"
    assert meta["annotations"]["a"] == "b"


def test_job_and_pod_carry_the_slot_in_utc_and_under_the_built_in_key_in_the_zone() -> None:
    job = build_job(OWNER, spec(), ALONE)
    for place in job["metadata"], job["spec"]["template"]["metadata"]:
        assert place["annotations"]["cronschedule.dev/scheduled-for"] == "2027-01-15T12:00:00Z"
        built_in = place["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"]
        assert built_in == "2027-01-15T13:00:00+01:00"


def test_every_container_is_told_its_slot() -> None:
    pod = deepcopy(POD) | {
        "initContainers": [{"name": "first"}],
        "containers": [{"name": "a"}, {"name": "b"}],
    }
    job = build_job(OWNER, spec({"template": {"spec": pod}}), FOR_FIVE)
    wanted = {
        "CRONSCHEDULE_SCHEDULED_FOR": "2027-01-15T12:00:00Z",
        "CRONSCHEDULE_TRIGGER": "Schedule",
        "CRONSCHEDULE_COALESCED_COUNT": "5",
        "CRONSCHEDULE_COALESCED_FIRST": "2027-01-15T11:56:00Z",
        "CRONSCHEDULE_COALESCED_LAST": "2027-01-15T12:00:00Z",
    }
    told = job["spec"]["template"]["spec"]
    for container in [*told["initContainers"], *told["containers"]]:
        assert {e["name"]: e["value"] for e in container["env"]} == wanted


def test_a_run_for_one_slot_is_told_of_no_others() -> None:
    told = environment(build_job(OWNER, spec(), ALONE))
    assert set(told) == {"CRONSCHEDULE_SCHEDULED_FOR", "CRONSCHEDULE_TRIGGER"}


def test_the_authors_variables_stay_and_cannot_take_the_place_of_ours() -> None:
    theirs = [{"name": "MINE", "value": "1"}, {"name": "CRONSCHEDULE_TRIGGER", "value": "Forged"}]
    pod = deepcopy(POD) | {"containers": [{"name": "main", "env": theirs}]}
    told = environment(build_job(OWNER, spec({"template": {"spec": pod}}), ALONE))
    assert (told["MINE"], told["CRONSCHEDULE_TRIGGER"]) == ("1", "Schedule")


def test_the_template_itself_is_not_changed() -> None:
    template = spec({"ttlSecondsAfterFinished": 90, "template": {"spec": deepcopy(POD)}})
    before = template.model_dump_json()
    build_job(OWNER, template, FOR_FIVE)
    assert template.model_dump_json() == before


@pytest.mark.parametrize("start", [ALONE, FOR_FIVE], ids=["alone", "for-five"])
def test_what_a_crash_makes_us_forget_is_read_back_from_the_job(start: Start) -> None:
    job = seen(build_job(OWNER, spec(), start))
    assert (job.owner_uid, job.slot, job.trigger, job.count) == ("u-1", NOON, "Schedule", start.count)
    assert job.first == (start.first if start.count > 1 else None)


def test_a_job_whose_name_and_marks_disagree_is_of_no_slot() -> None:
    job = build_job(OWNER, spec(), ALONE)
    job["metadata"]["name"] = f"x-{NOON // 60 + 1}"
    assert seen(job).slot is None


@pytest.mark.parametrize(
    ("conditions", "state"),
    [
        pytest.param([], "Active", id="none"),
        pytest.param([("SuccessCriteriaMet", "True")], "Active", id="about-to-be-complete"),
        pytest.param([("Complete", "True")], "Succeeded", id="complete"),
        pytest.param([("Complete", "False")], "Active", id="not-complete"),
        pytest.param([("FailureTarget", "True")], "Active", id="about-to-have-failed"),
        pytest.param([("FailureTarget", "True"), ("Failed", "True")], "Failed", id="failed"),
        pytest.param([("Suspended", "True")], "Active", id="suspended"),
    ],
)
def test_a_job_has_ended_when_it_is_complete_or_failed(conditions: list[tuple[str, str]], state: str) -> None:
    told = [{"type": kind, "status": status} for kind, status in conditions]
    assert seen(build_job(OWNER, spec(), ALONE), conditions=told).state == state


def test_an_active_job_that_is_being_deleted_blocks_no_more() -> None:
    job = build_job(OWNER, spec(), ALONE)
    assert seen(job).fact.active
    job["metadata"]["deletionTimestamp"] = "2027-01-15T12:00:05Z"
    assert not seen(job).fact.active
