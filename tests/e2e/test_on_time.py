"""One minute boundary for everybody: what happens when a slot comes due under each policy and in each state.

The schedules are set up within one minute, `before`, whose slot some of them run by a ledger set back. Then the next
slot, `slot`, comes due for all of them at once. Rules: semantics.md §3, §5, §6.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from cronschedule.api.names import job_name
from cronschedule.api.shapes import format_time
from e2e.world import (
    JsonObject,
    World,
    cron_schedule,
    eventually,
    have_seconds_left,
    minutely_until,
    pod,
    this_minute,
)
from localkube import Kubectl, OperatorProcess

HANGS = pod(outcome="hang")
NEVER_SOON = "0 0 1 1 *"
WOKEN = ("fire-once", "catch-up", "own")
HOUR = 3600
DAY = 24 * HOUR


@dataclass(frozen=True, kw_only=True)
class Minute:
    """`slot` has come due; `before` is the slot one minute earlier."""

    world: World
    asleep: World
    woken: World
    unlucky: World
    before: int
    slot: int

    @property
    def twice(self) -> str:
        """Cron text with these two slots, and none after them for the rest of the hour."""
        return minutely_until(self.slot, 2)

    def rows(self, name: str) -> list[tuple[str, str]]:
        """(slot, outcome or reason) of each row, oldest first, for reading at a glance."""
        names = {format_time(self.before): "before", format_time(self.slot): "slot"}
        return [
            (names.get(row["scheduledTime"], row["scheduledTime"]), row.get("reason", row["outcome"]))
            for row in self.world.rows(name)
        ]

    def wait_for_rows(self, name: str, *rows: tuple[str, str]) -> None:
        eventually(lambda: self.rows(name), lambda seen: seen == list(rows))


@pytest.fixture(scope="module")
def minute(kubectl: Kubectl, operator: OperatorProcess) -> Iterator[Minute]:
    with ExitStack() as ends:
        world, asleep, woken, unlucky = (ends.enter_context(World.fresh(kubectl)) for _ in range(4))
        ends.enter_context(unlucky.unreachable_webhook())
        before = have_seconds_left(40)
        minute = Minute(
            world=world, asleep=asleep, woken=woken, unlucky=unlucky, before=before, slot=before + 60
        )
        _set_up_runs(minute)
        _set_up_failures(minute)
        _set_up_twins(minute)
        _set_up_edits(minute)
        _set_up_suspensions(minute)
        assert this_minute() == before, "the set-up took longer than a minute"
        for name in ("plain", "allow", "replace", "lost-job", "recreated", "edited-here"):
            world.wait_for_status(
                name, lambda status: status.get("lastScheduleTime") == format_time(minute.slot)
            )
        yield minute


def _set_up_runs(minute: Minute) -> None:
    world = minute.world
    world.create(
        cron_schedule("plain", minute.twice),
        cron_schedule("skip", minute.twice, misfirePolicy="Skip"),
        cron_schedule("catch-up", minute.twice, misfirePolicy="CatchUp"),
        cron_schedule("manual", minute.twice),
    )
    world.create_manual_run("manual", "manual-by-hand", job=HANGS)
    active = [
        cron_schedule("allow", minute.twice, job=HANGS, concurrencyPolicy="Allow"),
        cron_schedule("forbid", minute.twice, job=HANGS, concurrencyPolicy="Forbid"),
        cron_schedule("replace", minute.twice, job=HANGS, concurrencyPolicy="Replace"),
        cron_schedule("lost-job", minute.twice, job=HANGS),
        cron_schedule("recreated", minute.twice, job=HANGS),
    ]
    world.create_with_ledger(*active, decided_until=minute.before - 1)
    for each in active:
        world.wait_for_outcomes(each["metadata"]["name"], "Active")
    world.kubectl("delete", "job", job_name("lost-job", minute.before))
    world.kubectl("delete", "csch", "recreated")
    eventually(lambda: world.jobs("recreated"), lambda jobs: not jobs)
    world.create(cron_schedule("recreated", minute.twice))


def _set_up_failures(minute: Minute) -> None:
    minute.unlucky.create_with_ledger(cron_schedule("x", minute.twice), decided_until=minute.before - 1)
    minute.unlucky.wait_for_status("x", lambda status: "backlog" in status)


def _set_up_twins(minute: Minute) -> None:
    """Built-in CronJobs beside CronSchedules of the same names; theirs run in this minute, ours ran before."""
    world = minute.world
    world.create_with_ledger(
        cron_schedule("twin-hangs", minutely_until(minute.before, 1), job=HANGS),
        cron_schedule("twin-tidies", minutely_until(minute.before, 1), successfulJobsHistoryLimit=0),
        decided_until=minute.before - 1,
    )
    world.wait_for_outcomes("twin-hangs", "Active")
    world.create(
        _cron_job("twin-hangs", minute.slot, concurrencyPolicy="Forbid", successfulJobsHistoryLimit=0),
        _cron_job("twin-tidies", minute.slot, successfulJobsHistoryLimit=3),
    )


def _cron_job(name: str, slot: int, **spec: object) -> JsonObject:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name},
        "spec": {"schedule": minutely_until(slot, 1), "jobTemplate": {"spec": pod()}, **spec},
    }


def _set_up_edits(minute: Minute) -> None:
    world = minute.world
    world.create(cron_schedule("edited-away", minute.twice))
    world.create_with_ledger(cron_schedule("edited-here", NEVER_SOON), decided_until=minute.before - 300)
    world.wait_until_seen("edited-away")
    world.edit("edited-away", schedule=NEVER_SOON)
    world.edit("edited-here", schedule=minute.twice)


def _set_up_suspensions(minute: Minute) -> None:
    """Both tenants are suspended for three days; one of them is resumed before the slot."""
    asleep, woken = minute.asleep, minute.woken
    for world in asleep, woken:
        world.suspend_tenant()
        world.create(cron_schedule("fire-once"), cron_schedule("catch-up", misfirePolicy="CatchUp"))
    woken.create(cron_schedule("own", minute.twice, suspend=True))
    for world, name in [(asleep, "fire-once"), (asleep, "catch-up"), *((woken, name) for name in WOKEN)]:
        world.wait_for_status(name, lambda status: "suspension" in status)
        world.restore_ledger(name, decided_until=minute.before - 3 * DAY)
    woken.resume_tenant()


def test_an_on_time_slot_runs(minute: Minute) -> None:
    (row,) = minute.world.wait_for_outcomes("plain", "Succeeded")
    job = minute.world.jobs("plain")[row["job"]]
    assert row == {
        "scheduledTime": format_time(minute.slot),
        "outcome": "Succeeded",
        "job": job_name("plain", minute.slot),
        "trigger": "Schedule",
        "startTime": job["status"]["startTime"],
        "completionTime": job["status"]["completionTime"],
    }


def test_the_job_and_its_pod_know_their_slot(minute: Minute) -> None:
    minute.world.wait_for_outcomes("plain", "Succeeded")
    job = minute.world.jobs("plain")[job_name("plain", minute.slot)]
    marks = {
        "cronschedule.dev/scheduled-for": format_time(minute.slot),
        "batch.kubernetes.io/cronjob-scheduled-timestamp": format_time(minute.slot).replace("Z", "+00:00"),
    }
    (pod_of_job,) = minute.world.kubectl.json("get", "pods", "-l", f"job-name={job['metadata']['name']}")[
        "items"
    ]
    for metadata in job["metadata"], pod_of_job["metadata"]:
        assert marks.items() <= metadata["annotations"].items()
        assert metadata["labels"]["cronschedule.dev/trigger"] == "Schedule"
    assert pod_of_job["spec"]["containers"][0]["env"] == [
        {"name": "CRONSCHEDULE_SCHEDULED_FOR", "value": format_time(minute.slot)},
        {"name": "CRONSCHEDULE_TRIGGER", "value": "Schedule"},
    ]


def test_kubectl_get_shows_what_a_schedule_does(minute: Minute) -> None:
    minute.world.wait_for_outcomes("plain", "Succeeded")
    heads, line = minute.world.kubectl("get", "csch", "plain").splitlines()
    columns = dict(zip(heads.split(), line.replace(minute.twice, "twice").split(), strict=True))
    assert columns.pop("AGE")
    assert columns.pop("LAST")
    assert columns == {
        "NAME": "plain",
        "SCHEDULE": "twice",
        "POLICY": "FireOnce",
        "SUSPENDED": "False",
        "ACTIVE": "0",
        "NEXT": format_time(minute.before + HOUR),
        "READY": "True",
    }


def test_skip_runs_an_on_time_slot(minute: Minute) -> None:
    minute.world.wait_for_outcomes("skip", "Succeeded")
    assert minute.rows("skip") == [("slot", "Succeeded")]


def test_catch_up_without_a_backlog_runs_an_on_time_slot_as_scheduled(minute: Minute) -> None:
    (row,) = minute.world.wait_for_outcomes("catch-up", "Succeeded")
    assert (row["scheduledTime"], row["trigger"]) == (format_time(minute.slot), "Schedule")


def test_forbid_skips_while_a_run_is_active(minute: Minute) -> None:
    minute.wait_for_rows("forbid", ("before", "Active"), ("slot", "Overlap"))
    assert list(minute.world.jobs("forbid")) == [job_name("forbid", minute.before)]
    assert minute.world.status("forbid")["counts"]["skipped"] == {"Overlap": 1}
    minute.world.wait_for_events("forbid", "RunCreated", "Overlap")


def test_a_run_started_by_hand_blocks_too(minute: Minute) -> None:
    by_hand, skipped = eventually(lambda: minute.world.rows("manual"), lambda rows: len(rows) == 2)
    assert (by_hand["job"], by_hand["trigger"], by_hand["outcome"]) == ("manual-by-hand", "Manual", "Active")
    assert (skipped["scheduledTime"], skipped["reason"]) == (format_time(minute.slot), "Overlap")
    assert minute.world.counts("manual") == {"manual": 1, "skipped": {"Overlap": 1}}
    assert list(minute.world.jobs("manual")) == ["manual-by-hand"]


def test_allow_starts_a_run_beside_the_active_one(minute: Minute) -> None:
    minute.wait_for_rows("allow", ("before", "Active"), ("slot", "Active"))
    assert list(minute.world.jobs("allow")) == [
        job_name("allow", minute.before),
        job_name("allow", minute.slot),
    ]
    assert minute.world.status("allow")["activeRuns"] == 2


def test_a_slot_that_could_not_run_is_given_up_when_the_next_is_due(minute: Minute) -> None:
    (row,) = eventually(lambda: minute.unlucky.rows("x"), bool)
    assert (row["scheduledTime"], row["outcome"]) == (format_time(minute.before), "Skipped")
    assert row["reason"] == "CreateFailed"
    assert "failed calling webhook" in row["message"]
    status = minute.unlucky.status("x")
    assert (status["backlog"]["waiting"], status["backlog"]["oldest"]) == (1, format_time(minute.slot))
    minute.unlucky.wait_for_events("x", "CreateFailed")


def test_replace_deletes_the_active_run_for_the_new_one(minute: Minute) -> None:
    minute.wait_for_rows("replace", ("before", "Replaced"), ("slot", "Active"))
    left = eventually(lambda: list(minute.world.jobs("replace")), lambda jobs: len(jobs) == 1)
    assert left == [job_name("replace", minute.slot)]
    assert minute.world.status("replace")["activeRuns"] == 1
    minute.world.wait_for_events("replace", "RunCreated", "RunCreated", "RunReplaced")


def test_a_job_deleted_by_hand_no_longer_blocks(minute: Minute) -> None:
    minute.wait_for_rows("lost-job", ("before", "Deleted"), ("slot", "Active"))
    assert list(minute.world.jobs("lost-job")) == [job_name("lost-job", minute.slot)]


def test_a_schedule_made_anew_under_its_name_has_no_past(minute: Minute) -> None:
    minute.world.wait_for_outcomes("recreated", "Succeeded")
    assert minute.rows("recreated") == [("slot", "Succeeded")]
    assert minute.world.counts("recreated") == {"runs": 1, "succeeded": 1}


def test_an_edit_to_another_schedule_forgets_the_old_slots(minute: Minute) -> None:
    minute.world.see_again("edited-away")
    assert minute.world.jobs("edited-away") == {}
    assert minute.world.status("edited-away")["schedule"]["expression"] == NEVER_SOON


def test_slots_of_an_edited_schedule_count_from_the_edit_on(minute: Minute) -> None:
    minute.world.wait_for_outcomes("edited-here", "Succeeded")
    assert minute.rows("edited-here") == [("slot", "Succeeded")]


def test_a_suspended_tenant_runs_nothing(minute: Minute) -> None:
    for name in "fire-once", "catch-up":
        minute.asleep.see_again(name)
        status = minute.asleep.status(name)
        assert minute.asleep.jobs(name) == {}
        assert status["suspension"]["reason"] == "TenantSuspended"
        assert "nextScheduleTime" not in status
        assert "runHistory" not in status or status["runHistory"] == []


@pytest.mark.parametrize("name", ["fire-once", "catch-up"])
def test_a_suspension_of_three_days_is_one_row_whatever_the_policy(minute: Minute, name: str) -> None:
    """It goes on every minute; what counts are the three days and the first slot after them."""
    suspended, run = eventually(lambda: minute.woken.rows(name), lambda rows: len(rows) > 1)[:2]
    assert suspended.pop("message")
    assert suspended == {
        "scheduledTime": format_time(minute.before),
        "firstScheduledTime": format_time(minute.before - 3 * DAY + 60),
        "count": 4320,
        "outcome": "Skipped",
        "reason": "TenantSuspended",
    }
    assert (run["scheduledTime"], run["trigger"]) == (format_time(minute.slot), "Schedule")
    assert min(minute.woken.jobs(name)) == job_name(name, minute.slot)
    events = eventually(lambda: minute.woken.events(name), lambda events: len(events) > 3)
    assert sorted(e["reason"] for e in events if e["reason"] != "RunCreated") == [
        "Resumed",
        "Suspended",
        "TenantSuspended",
    ]


def test_where_suspensions_overlap_each_slot_has_the_reason_of_its_time(minute: Minute) -> None:
    """The tenant was resumed before the slot, the schedule itself only now."""
    minute.woken.edit("own", suspend=False)
    rows = eventually(lambda: minute.woken.rows("own"), lambda rows: len(rows) == 2)
    assert [(row["reason"], row.get("count", 1), row["scheduledTime"]) for row in rows] == [
        ("TenantSuspended", 3 * 24 * 2, format_time(minute.before)),
        ("ScheduleSuspended", 1, format_time(minute.slot)),
    ]


def test_a_built_in_cronjob_of_the_same_name_leaves_our_jobs_alone(minute: Minute) -> None:
    world = minute.world
    ours, theirs = job_name("twin-hangs", minute.before), job_name("twin-hangs", minute.slot)

    def tidied(cron_job: JsonObject) -> bool:
        """It ran although ours is active, and keeps none of its finished Jobs."""
        return bool(cron_job["status"].get("lastSuccessfulTime")) and world.job(theirs) is None

    cron_job = eventually(lambda: world.kubectl.json("get", "cronjob", "twin-hangs"), tidied)
    assert "active" not in cron_job["status"]
    assert world.job(ours) is not None
    assert minute.rows("twin-hangs") == [("before", "Active")]


def test_jobs_of_a_built_in_cronjob_of_the_same_name_are_left_alone(minute: Minute) -> None:
    world = minute.world
    ours, theirs = job_name("twin-tidies", minute.before), job_name("twin-tidies", minute.slot)
    eventually(lambda: world.job(theirs), lambda job: job and job["status"].get("succeeded"))
    eventually(lambda: world.job(ours), lambda job: job is None)
    world.see_again("twin-tidies")
    assert world.job(theirs) is not None
    assert minute.rows("twin-tidies") == [("before", "Succeeded")]
    assert world.status("twin-tidies")["counts"]["runs"] == 1
