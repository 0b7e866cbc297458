"""The API server refuses the Job: what becomes of the slot, and what people see of it. Rules: semantics.md §3.6."""

from __future__ import annotations

import pytest

from cronschedule.api.names import job_name
from cronschedule.api.shapes import format_time
from e2e.world import (
    JsonObject,
    World,
    condition,
    cron_schedule,
    eventually,
    minutely_until,
    pod,
    this_minute,
)
from localkube import Kubectl, OperatorProcess

QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "no-jobs"},
    "spec": {"hard": {"count/jobs.batch": "0"}},
}


@pytest.fixture
def world(kubectl: Kubectl, operator: OperatorProcess, namespace: str) -> World:
    return World(kubectl, namespace)


@pytest.fixture
def full(world: World) -> World:
    """A namespace whose quota leaves no room for a Job."""
    world.create(QUOTA)
    eventually(
        lambda: world.kubectl.json("get", "resourcequota", "no-jobs"),
        lambda quota: quota["status"].get("hard"),
    )
    return world


def test_a_used_up_quota_skips_the_slot(full: World) -> None:
    newest = this_minute()
    full.create_with_ledger(cron_schedule("x", minutely_until(newest, 3)), decided_until=newest - 180)
    (row,) = eventually(lambda: full.rows("x"), bool)
    assert (row["reason"], row["count"], row["scheduledTime"]) == ("QuotaExhausted", 3, format_time(newest))
    assert "exceeded quota: no-jobs" in row["message"]
    assert full.status("x")["counts"]["skipped"] == {"QuotaExhausted": 3}
    full.wait_for_events("x", "QuotaExhausted")
    assert condition(full.status("x"), "Ready")["status"] == "True"


def test_catch_up_waits_for_room_and_then_runs_in_order(full: World) -> None:
    newest = this_minute() - 120
    schedule = cron_schedule("x", minutely_until(newest, 3), misfirePolicy="CatchUp")
    full.create_with_ledger(schedule, decided_until=newest - 180)
    waiting = full.wait_for_status(
        "x", lambda status: condition(status, "CatchingUp").get("reason") == "Retrying"
    )
    assert (waiting["backlog"]["waiting"], waiting["backlog"]["oldest"]) == (3, format_time(newest - 120))
    assert condition(waiting, "CatchingUp")["status"] == "True"
    full.kubectl("delete", "resourcequota", "no-jobs")
    rows = full.wait_for_outcomes("x", "Succeeded", "Succeeded", "Succeeded")
    assert [row["scheduledTime"] for row in rows] == [format_time(newest - ago) for ago in (120, 60, 0)]
    assert [row["trigger"] for row in rows] == ["CatchUp"] * 3


def test_what_may_heal_is_tried_again_until_it_does(world: World) -> None:
    newest = this_minute() - 120
    with world.unreachable_webhook():
        world.create_with_ledger(cron_schedule("x", minutely_until(newest, 3)), decided_until=newest - 121)
        trying = world.wait_for_status("x", lambda status: "backlog" in status)
        assert "failed calling webhook" in condition(trying, "Ready")["message"]
        assert condition(trying, "Ready")["status"] == "True"
        assert trying["backlog"]["waiting"] == 3
    coalesced, run = world.wait_for_outcomes("x", "Succeeded")
    assert (coalesced["reason"], coalesced["count"], run["standsFor"]["count"]) == ("Coalesced", 2, 3)
    assert world.counts("x") == {"runs": 1, "succeeded": 1, "skipped": {"Coalesced": 2}}


def test_a_name_held_by_a_foreign_job_is_a_conflict(world: World) -> None:
    newest = this_minute()
    foreign = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": job_name("x", newest)}}
    world.create({**foreign, "spec": pod(outcome="hang")})
    before = world.job(job_name("x", newest))
    world.create_with_ledger(cron_schedule("x", minutely_until(newest, 1)), decided_until=newest - 1)
    (row,) = eventually(lambda: world.rows("x"), bool)
    assert (row["outcome"], row["reason"]) == ("Skipped", "NameConflict")
    world.wait_for_events("x", "NameConflict")
    after = world.job(job_name("x", newest))
    assert _lasting(after) == _lasting(before)
    assert world.status("x")["activeRuns"] == 0


def _lasting(job: JsonObject | None) -> JsonObject:
    """What nobody but its author changes."""
    assert job is not None
    kept = ("uid", "labels", "annotations", "ownerReferences", "generation")
    return {key: value for key, value in job["metadata"].items() if key in kept} | {"spec": job["spec"]}


def test_an_admission_policy_rejects_the_job_in_its_own_words(world: World) -> None:
    with world.policy(
        resource="jobs", group="batch", expression="false", message="No Jobs on Sundays, says the abbot."
    ):
        newest = this_minute()
        world.create_with_ledger(cron_schedule("x", minutely_until(newest, 1)), decided_until=newest - 1)
        (row,) = eventually(lambda: world.rows("x"), bool)
    assert (row["outcome"], row["reason"]) == ("Skipped", "JobRejected")
    assert "No Jobs on Sundays, says the abbot." in row["message"]
    (event,) = world.wait_for_events("x", "JobRejected")
    assert "No Jobs on Sundays, says the abbot." in event["note"]
    assert event["type"] == "Warning"


def test_a_template_that_the_server_refuses_needs_a_person_until_it_is_edited(world: World) -> None:
    newest = this_minute()
    job = pod()
    job["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "nowhere", "mountPath": "/data"}]
    world.create_with_ledger(cron_schedule("x", minutely_until(newest, 1), job=job), decided_until=newest - 1)
    status = world.wait_for_status("x", lambda status: status.get("runHistory"))
    (row,) = status["runHistory"]
    assert (row["outcome"], row["reason"]) == ("Skipped", "JobRejected")
    for kind, wanted in ("Ready", "False"), ("Stalled", "True"):
        told = condition(status, kind)
        assert (told["status"], told["reason"]) == (wanted, "TemplateRejected")
        assert 'Not found: "nowhere"' in told["message"]
    world.edit("x", jobTemplate={"spec": pod()})
    healed = world.wait_until_seen("x")
    assert condition(healed, "Ready")["status"] == "True"
    assert condition(healed, "Stalled") == {}
    world.restore_ledger("x", decided_until=newest - 1)
    world.wait_for_outcomes("x", "Succeeded")
