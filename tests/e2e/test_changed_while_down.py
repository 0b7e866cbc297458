"""What changed while the operator was down is seen when it is up, by the same rules as ever.

Schedules are set up, the operator is stopped, each of them is changed in another way, the operator is started; each
test looks at one of them. Those with a run had it before; for the others five slots came due in between, a minute
apart, the newest three minutes ago. No further slot comes for an hour. Rules: semantics.md §3 to §6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from cronschedule.api.names import job_name
from cronschedule.api.shapes import format_time, parse_time
from e2e.world import World, cron_schedule, down, eventually, minutely_until, pod, this_minute
from localkube import Kubectl, OperatorProcess

HANGS = pod(outcome="hang")
WITH_A_RUN = ["run-ended", "run-deleted", "made-anew", "wiped"]
WITH_SLOTS = ["untouched", "edited", "suspended", "resumed", "wiped-early"]


@dataclass(frozen=True, kw_only=True)
class Gap:
    """`resumed` and `suspended` are namespaces whose label changed; each has one schedule, `x`."""

    world: World
    resumed: World
    suspended: World
    newest: int

    @property
    def before(self) -> int:
        """Just before the first of the five slots."""
        return self.newest - 4 * 60 - 1

    def set_up(self) -> None:
        once, five_times = minutely_until(self.newest, 1), minutely_until(self.newest, 5)
        self.resumed.suspend_tenant()
        for world in self.resumed, self.suspended:
            world.create(cron_schedule("x", five_times))
        slots = [cron_schedule(name, five_times, suspend=name == "resumed") for name in WITH_SLOTS]
        self.world.create(*slots)
        lasting = {"run-ended": pod(duration="4s")}
        runs = [cron_schedule(name, once, job=lasting.get(name, HANGS)) for name in WITH_A_RUN]
        self.world.create_with_ledger(*runs, decided_until=self.newest - 1)
        for name in WITH_A_RUN:
            self.world.wait_for_outcomes(name, "Active")
        for world, names in (self.world, WITH_SLOTS), (self.resumed, ["x"]), (self.suspended, ["x"]):
            for name in names:
                world.wait_until_seen(name)
        self.resumed.wait_for_status("x", lambda status: "suspension" in status)

    def change(self) -> None:
        """The operator is down."""
        world = self.world
        for each, names in (world, WITH_SLOTS), (self.resumed, ["x"]), (self.suspended, ["x"]):
            for name in names:
                each.restore_ledger(name, decided_until=self.before)
        self.resumed.resume_tenant()
        self.suspended.suspend_tenant()
        world.edit("edited", schedule="0 0 1 1 *")
        world.edit("suspended", suspend=True)
        world.edit("resumed", suspend=False)
        for name in "wiped", "wiped-early":
            world.wipe_status(name)
        world.kubectl("delete", "job", job_name("run-deleted", self.newest))
        world.kubectl("delete", "csch", "made-anew")
        world.create(cron_schedule("made-anew", minutely_until(self.newest, 1)))
        ended = job_name("run-ended", self.newest)
        eventually(lambda: world.job(ended), lambda job: job and job["status"].get("succeeded"))


@pytest.fixture(scope="module")
def gap(kubectl: Kubectl, operator: OperatorProcess) -> Iterator[Gap]:
    with World.fresh(kubectl) as world, World.fresh(kubectl) as resumed, World.fresh(kubectl) as suspended:
        gap = Gap(world=world, resumed=resumed, suspended=suspended, newest=this_minute() - 180)
        gap.set_up()
        with down(operator):
            gap.change()
        for each, names in (world, [*WITH_A_RUN, *WITH_SLOTS]), (resumed, ["x"]), (suspended, ["x"]):
            for name in names:
                each.see_again(name)
        yield gap


def summary(world: World, name: str) -> list[tuple[str, int]]:
    """Outcome or reason of each row, and how many slots it is about, oldest first."""
    return [(row.get("reason", row["outcome"]), row.get("count", 1)) for row in world.rows(name)]


def test_an_untouched_schedule_runs_once_for_all(gap: Gap) -> None:
    gap.world.wait_for_outcomes("untouched", "Succeeded")
    assert summary(gap.world, "untouched") == [("Coalesced", 4), ("Succeeded", 1)]


def test_a_run_that_ended_meanwhile_is_recorded_as_it_ended(gap: Gap) -> None:
    (row,) = gap.world.rows("run-ended")
    job = gap.world.job(row["job"])
    assert job is not None
    assert (row["outcome"], row["completionTime"]) == ("Succeeded", job["status"]["completionTime"])
    assert gap.world.status("run-ended")["counts"]["succeeded"] == 1


def test_a_run_whose_job_was_deleted_meanwhile_is_recorded_as_deleted(gap: Gap) -> None:
    assert summary(gap.world, "run-deleted") == [("Deleted", 1)]
    assert gap.world.status("run-deleted")["activeRuns"] == 0


def test_a_schedule_made_anew_meanwhile_has_no_past(gap: Gap) -> None:
    eventually(lambda: gap.world.jobs("made-anew"), lambda jobs: not jobs)
    assert (gap.world.rows("made-anew"), gap.world.counts("made-anew")) == ([], {})


def test_a_lost_ledger_is_taken_from_the_jobs_and_nothing_is_replayed(gap: Gap) -> None:
    run, lost = gap.world.rows("wiped")
    name = job_name("wiped", gap.newest)
    assert (run["outcome"], run["job"], list(gap.world.jobs("wiped"))) == ("Active", name, [name])
    assert (lost["reason"], lost["scheduledTime"]) == ("LedgerLost", format_time(gap.newest))
    events = gap.world.wait_for_events("wiped", "RunCreated", "LedgerLost")
    assert {event["reason"]: event["type"] for event in events}["LedgerLost"] == "Warning"


def test_a_lost_ledger_without_jobs_starts_now_and_nothing_is_replayed(gap: Gap) -> None:
    (lost,) = gap.world.rows("wiped-early")
    assert lost["reason"] == "LedgerLost"
    assert parse_time(lost["scheduledTime"]) > gap.newest
    assert gap.world.jobs("wiped-early") == {}
    status = gap.world.status("wiped-early")
    assert gap.world.counts("wiped-early") == {}
    assert parse_time(status["nextScheduleTime"]) == gap.newest - 240 + 3600
    gap.world.wait_for_events("wiped-early", "LedgerLost")


def test_slots_of_a_schedule_edited_meanwhile_are_skipped(gap: Gap) -> None:
    assert summary(gap.world, "edited") == [("ScheduleChanged", 5)]
    assert gap.world.jobs("edited") == {}


def test_what_was_due_before_a_suspension_was_seen_is_skipped(gap: Gap) -> None:
    assert summary(gap.world, "suspended") == [("ScheduleSuspended", 5)]
    assert summary(gap.suspended, "x") == [("TenantSuspended", 5)]
    for world, name in (gap.world, "suspended"), (gap.suspended, "x"):
        assert world.jobs(name) == {}
        assert "nextScheduleTime" not in world.status(name)


def test_a_suspension_lifted_meanwhile_lasts_until_that_is_seen(gap: Gap) -> None:
    assert summary(gap.world, "resumed") == [("ScheduleSuspended", 5)]
    assert summary(gap.resumed, "x") == [("TenantSuspended", 5)]
    for world, name in (gap.world, "resumed"), (gap.resumed, "x"):
        assert world.jobs(name) == {}
        assert "suspension" not in world.status(name)
        assert parse_time(world.status(name)["nextScheduleTime"]) == gap.newest - 240 + 3600
