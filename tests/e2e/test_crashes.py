"""The operator ends, well or badly: exit codes, and what is left of a run that it was about to record.

The two crash points of semantics.md §4 are reached by an admission policy that refuses the second step while the
first succeeds; there the operator is killed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cronschedule.api.names import job_name
from cronschedule.api.shapes import format_time
from e2e.world import World, cron_schedule, down, eventually, minutely_until, pod, this_minute
from localkube import Cluster, Kubectl, OperatorProcess
from localkube.operator_process import ALONE

NO_RUN_IS_RECORDED = {
    "group": "cronschedule.dev",
    "resource": "cronschedules/status",
    "expression": "!has(object.status.counts) || object.status.counts.runs == 0",
    "message": "No run is recorded today.",
}


@pytest.fixture
def world(kubectl: Kubectl, operator: OperatorProcess, namespace: str) -> World:
    return World(kubectl, namespace)


@pytest.mark.parametrize("outcome", ["succeed", "hang"])
def test_a_run_created_but_not_recorded_is_found_again(
    world: World, operator: OperatorProcess, outcome: str
) -> None:
    """Killed after the Job was created, before the ledger said so; the run has ended meanwhile, or has not."""
    newest = this_minute()
    name = job_name("x", newest)
    schedule = cron_schedule("x", minutely_until(newest, 5), job=pod(outcome=outcome))
    with world.policy(**NO_RUN_IS_RECORDED):
        world.create_with_ledger(schedule, decided_until=newest - 241)
        created = eventually(lambda: world.job(name), bool)
        assert created is not None
        with down(operator, by="kill"):
            assert world.rows("x") == []
            if outcome == "succeed":
                eventually(lambda: world.job(name), lambda job: job and job["status"].get("succeeded"))
            else:
                assert list(world.jobs("x")) == [name]
            world.lift_policy()
    wanted = "Succeeded" if outcome == "succeed" else "Active"
    coalesced, run = world.wait_for_outcomes("x", wanted)
    assert (coalesced["reason"], coalesced["count"]) == ("Coalesced", 4)
    assert (run["job"], run["trigger"]) == (name, "Schedule")
    assert run["standsFor"] == {"count": 5, "first": format_time(newest - 240)}
    counts = world.counts("x")
    assert counts.pop("succeeded", 0) == (1 if outcome == "succeed" else 0)
    assert counts == {"runs": 1, "skipped": {"Coalesced": 4}}
    assert [job["metadata"]["uid"] for job in world.jobs("x").values()] == [created["metadata"]["uid"]]


def test_a_backlog_cut_off_between_creating_and_recording_goes_on_where_it_was(
    world: World, operator: OperatorProcess
) -> None:
    newest = this_minute() - 120
    schedule = cron_schedule(
        "x", minutely_until(newest, 3), misfirePolicy="CatchUp", successfulJobsHistoryLimit=10
    )
    with world.policy(**NO_RUN_IS_RECORDED):
        world.create_with_ledger(schedule, decided_until=newest - 121)
        eventually(lambda: world.jobs("x"), lambda jobs: len(jobs) == 1)
        with down(operator, by="kill"):
            assert world.rows("x") == []
            world.lift_policy()
    rows = world.wait_for_outcomes("x", *["Succeeded"] * 3)
    assert [row["job"] for row in rows] == [job_name("x", newest - ago) for ago in (120, 60, 0)]
    assert list(world.jobs("x")) == [row["job"] for row in rows]
    assert world.counts("x") == {"runs": 3, "succeeded": 3}


def test_a_recorded_run_whose_event_was_lost_is_not_run_again(
    world: World, operator: OperatorProcess
) -> None:
    """Killed after the ledger was written, before the Event was sent."""
    newest = this_minute()
    ours = "object.reportingController != 'cronschedule-operator'"
    with world.policy(group="events.k8s.io", resource="events", expression=ours, message="No news."):
        world.create_with_ledger(
            cron_schedule("x", minutely_until(newest, 1), job=pod(outcome="hang")), decided_until=newest - 1
        )
        world.wait_for_outcomes("x", "Active")
        with down(operator, by="kill"):
            world.lift_policy()
    world.see_again("x")
    (row,) = world.rows("x")
    assert (row["outcome"], list(world.jobs("x"))) == ("Active", [row["job"]])
    assert world.status("x")["counts"]["runs"] == 1
    assert world.events("x") == []


def test_what_cannot_be_recorded_is_recorded_once_it_can(world: World) -> None:
    newest = this_minute()
    with world.policy(**NO_RUN_IS_RECORDED):
        hangs = cron_schedule("x", minutely_until(newest, 1), job=pod(outcome="hang"))
        world.create_with_ledger(hangs, decided_until=newest - 1)
        eventually(lambda: world.jobs("x"), bool)
        assert world.rows("x") == []
    world.wait_for_outcomes("x", "Active")
    assert world.status("x")["counts"]["runs"] == 1
    assert len(world.jobs("x")) == 1
    world.wait_for_events("x", "RunCreated")


def test_two_operators_at_once_do_no_harm(
    world: World, new_operator: Callable[[str], OperatorProcess]
) -> None:
    """No election keeps them apart here: names and conflicts do."""
    new_operator("second").start()
    newest = this_minute() - 120
    catch_up = {"misfirePolicy": "CatchUp", "concurrencyPolicy": "Allow", "catchUp": {"maxConcurrent": 5}}
    text, hangs = minutely_until(newest, 5), pod(outcome="hang")
    once = [cron_schedule(f"once-{n}", text, job=hangs) for n in range(4)]
    each = [cron_schedule(f"each-{n}", text, job=hangs, **catch_up) for n in range(4)]
    world.create_with_ledger(*once, *each, decided_until=newest - 241)
    for n in range(4):
        world.wait_for_outcomes(f"once-{n}", "Active")
        world.see_again(f"once-{n}")
        assert world.counts(f"once-{n}") == {"runs": 1, "skipped": {"Coalesced": 4}}
        assert len(world.jobs(f"once-{n}")) == 1
        world.wait_for_outcomes(f"each-{n}", *["Active"] * 5)
        world.see_again(f"each-{n}")
        assert world.counts(f"each-{n}") == {"runs": 5}
        assert len(world.jobs(f"each-{n}")) == 5


def test_sigterm_ends_it_well_while_it_is_busy(world: World, operator: OperatorProcess) -> None:
    newest = this_minute() - 120
    busy = [cron_schedule(f"x{n}", minutely_until(newest, 30), misfirePolicy="CatchUp") for n in range(5)]
    world.create_with_ledger(*busy, decided_until=newest - 1801)
    eventually(lambda: world.jobs("x0"), bool)
    try:
        assert operator.stop(within=10) == 0
    finally:
        operator.start()


def test_sigterm_during_start_up_ends_it_well(kubectl: Kubectl) -> None:
    environment = os.environ | ALONE | {"KUBECONFIG": kubectl.kubeconfig}
    with subprocess.Popen(
        [sys.executable, "-m", "cronschedule"], env=environment, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        assert b"operator.starting" in process.stderr.readline()
        process.terminate()
        process.stderr.read()
        assert process.wait(timeout=10) == 0


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        pytest.param("CRONSCHEDULE_MISFIRE_THRESHOLD", "11m", id="threshold-too-long"),
        pytest.param("CRONSCHEDULE_MISFIRE_THRESHOLD", "a while", id="threshold-no-duration"),
        pytest.param("CRONSCHEDULE_WRITERS", "0", id="no-writers"),
        pytest.param("CRONSCHEDULE_SUSPENSION_SELECTOR", "a in (b)", id="selector"),
        pytest.param("CRONSCHEDULE_LOG_FORMAT", "xml", id="log-format"),
        pytest.param("KUBECONFIG", "nowhere.kubeconfig", id="no-kubeconfig"),
    ],
)
def test_settings_that_cannot_be_used_end_it_with_one_line(
    kubectl: Kubectl, tmp_path: Path, setting: str, value: str
) -> None:
    environment = os.environ | {"KUBECONFIG": kubectl.kubeconfig} | {setting: value}
    command = [sys.executable, "-m", "cronschedule"]
    ended = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert setting in line or value in line
    assert ended.stdout == ""


SIGNALLED_BEFORE_KOPF_LISTENS = """
import asyncio, os, signal, sys
import kopf
from cronschedule.__main__ import main
run = kopf.operator
async def signalled_first(**options):
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.sleep(0.1)
    await run(**options)
kopf.operator = signalled_first
sys.exit(main())
"""


def test_a_signal_in_the_moment_in_which_kopf_takes_over_is_not_lost(
    cluster: Cluster, tmp_path: Path
) -> None:
    operator = OperatorProcess(
        cluster.kubeconfig, tmp_path / "log", [sys.executable, "-c", SIGNALLED_BEFORE_KOPF_LISTENS]
    )
    with operator.started():
        assert operator.wait(within=15) == 0
        assert operator.lines()[-1]["event"] == "operator.stopped"
