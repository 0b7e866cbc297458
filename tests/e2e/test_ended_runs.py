"""Runs that have ended: what is recorded of them, and which of their Jobs are kept. Rules: semantics.md §4, §7."""

from __future__ import annotations

import pytest

from cronschedule.api.names import job_name
from cronschedule.api.shapes import format_time, parse_time
from e2e.world import World, condition, cron_schedule, eventually, minutely_until, pod, this_minute
from localkube import Kubectl, OperatorProcess


@pytest.fixture
def world(kubectl: Kubectl, operator: OperatorProcess, namespace: str) -> World:
    return World(kubectl, namespace)


def test_a_failed_run_is_recorded_with_its_reason(world: World) -> None:
    newest = this_minute()
    schedule = cron_schedule("x", minutely_until(newest, 1), job=pod(outcome="fail"))
    world.create_with_ledger(schedule, decided_until=newest - 1)
    (row,) = world.wait_for_outcomes("x", "Failed")
    assert row["reason"] == "BackoffLimitExceeded"
    assert parse_time(row["startTime"]) <= parse_time(row["completionTime"])
    status = world.status("x")
    assert world.counts("x") == {"runs": 1, "failed": 1}
    assert status["lastFailureTime"] == row["completionTime"]
    assert "lastSuccessfulTime" not in status
    told = condition(status, "LastRunSucceeded")
    assert (told["status"], told["reason"]) == ("False", "BackoffLimitExceeded")
    assert condition(status, "Ready")["status"] == "True"


def test_history_limits_keep_the_newest_jobs_and_every_row(world: World) -> None:
    newest = this_minute() - 120
    text = minutely_until(newest, 4)
    catch_up = {"misfirePolicy": "CatchUp", "concurrencyPolicy": "Allow", "catchUp": {"maxConcurrent": 10}}
    failing = pod(outcome="fail")
    world.create_with_ledger(
        cron_schedule("good", text, successfulJobsHistoryLimit=2, **catch_up),
        cron_schedule("bad", text, failedJobsHistoryLimit=1, job=failing, **catch_up),
        cron_schedule("none", text, successfulJobsHistoryLimit=0, **catch_up),
        decided_until=newest - 181,
    )
    for name, outcome, kept in ("good", "Succeeded", 2), ("bad", "Failed", 1), ("none", "Succeeded", 0):
        world.wait_for_outcomes(name, *[outcome] * 4)
        jobs = eventually(lambda name=name: world.jobs(name), lambda jobs, kept=kept: len(jobs) == kept)
        assert {"Active", "Replaced"}.isdisjoint(row["outcome"] for row in world.rows(name))
        assert all(job["status"].get("conditions") for job in jobs.values())


def test_rows_fall_off_and_totals_do_not(world: World) -> None:
    newest = this_minute() - 120
    schedule = cron_schedule(
        "x", minutely_until(newest, 4), misfirePolicy="CatchUp", concurrencyPolicy="Allow", runHistoryLimit=2
    )
    world.create_with_ledger(schedule, decided_until=newest - 181)
    status = world.wait_for_status("x", lambda status: status.get("counts", {}).get("succeeded") == 4)
    assert [row["scheduledTime"] for row in status["runHistory"]] == [
        format_time(newest),
        format_time(newest - 60),
    ]
    assert status["counts"]["runs"] == 4


def test_a_finished_job_goes_when_it_is_as_old_as_the_template_says(world: World) -> None:
    newest = this_minute()
    job = {**pod(), "ttlSecondsAfterFinished": 2}
    world.create_with_ledger(cron_schedule("x", minutely_until(newest, 1), job=job), decided_until=newest - 1)
    created = eventually(lambda: world.job(job_name("x", newest)), bool)
    assert created is not None
    assert "ttlSecondsAfterFinished" not in created["spec"]
    eventually(lambda: world.jobs("x"), lambda jobs: not jobs)
    (row,) = world.rows("x")
    assert (row["outcome"], row["job"]) == ("Succeeded", created["metadata"]["name"])
    assert world.status("x")["counts"]["succeeded"] == 1


def test_what_the_template_says_of_the_job_is_kept(world: World) -> None:
    newest = this_minute()
    schedule = cron_schedule("x", minutely_until(newest, 1), job={**pod(), "suspend": True})
    schedule["metadata"]["labels"] = {"argocd.argoproj.io/instance": "shop"}
    schedule["spec"]["jobTemplate"]["metadata"] = {
        "labels": {"kueue.x-k8s.io/queue-name": "night"},
        "annotations": {"team": "billing"},
    }
    world.create_with_ledger(schedule, decided_until=newest - 1)
    world.wait_for_outcomes("x", "Active")
    ((name, job),) = world.jobs("x").items()
    metadata = job["metadata"]
    assert name == job_name("x", newest)
    assert metadata["labels"]["kueue.x-k8s.io/queue-name"] == "night"
    assert metadata["annotations"]["team"] == "billing"
    assert "argocd.argoproj.io/instance" not in metadata["labels"]
    assert job["spec"]["suspend"] is True
    (owner,) = metadata["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("CronSchedule", "x")
    assert not owner.get("controller")


def test_jobs_and_pods_of_a_deleted_schedule_go_with_it(world: World) -> None:
    newest = this_minute()
    hangs = cron_schedule("x", minutely_until(newest, 1), job=pod(outcome="hang"))
    world.create_with_ledger(hangs, decided_until=newest - 1)
    world.wait_for_outcomes("x", "Active")
    eventually(lambda: world.kubectl.json("get", "pods")["items"], bool)
    world.kubectl("delete", "csch", "x")
    eventually(lambda: world.jobs("x"), lambda jobs: not jobs)
    eventually(lambda: world.kubectl.json("get", "pods")["items"], lambda pods: not pods)


def test_a_run_that_stands_for_others_tells_its_pod(world: World) -> None:
    newest = this_minute()
    world.create_with_ledger(cron_schedule("x", minutely_until(newest, 5)), decided_until=newest - 241)
    world.wait_for_outcomes("x", "Succeeded")
    (job,) = world.jobs("x").values()
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert {entry["name"]: entry["value"] for entry in container["env"]} == {
        "CRONSCHEDULE_SCHEDULED_FOR": format_time(newest),
        "CRONSCHEDULE_TRIGGER": "Schedule",
        "CRONSCHEDULE_COALESCED_COUNT": "5",
        "CRONSCHEDULE_COALESCED_FIRST": format_time(newest - 240),
        "CRONSCHEDULE_COALESCED_LAST": format_time(newest),
    }
