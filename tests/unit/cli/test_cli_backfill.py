"""`backfill` and `acknowledge`: what they say and ask the operator for, and when they refuse."""

from types import SimpleNamespace

import pytest
from objects import condition, job, namespace, run, schedule, suspension

from cronschedule.cli.commands import backfill

OUTAGE = [
    {"first": "2025-11-30T01:00:00Z", "last": "2025-11-30T03:00:00Z", "count": 3, "fate": "Run"},
    {"first": "2025-11-30T04:00:00Z", "last": "2025-11-30T09:00:00Z", "count": 6, "fate": "Skipped"},
    {"first": "2025-11-30T10:00:00Z", "last": "2025-11-30T11:00:00Z", "count": 2, "fate": "Suspended"},
    {"first": "2025-11-30T12:00:00Z", "last": "2025-11-30T12:00:00Z", "count": 1, "fate": "Run"},
]
RANGE = ("--from", "2025-11-30T03:00:00Z", "--to", "2025-11-30T11:00:00Z")


def billing(**status):
    return schedule(status={"decidedSlots": OUTAGE, **status})


def test_a_dry_run_tells_each_slot_and_creates_nothing(cli, cluster):
    cluster.add(billing(), namespace())

    answer = cli("backfill", "billing", *RANGE, "--dry-run")

    assert answer.code == 0
    assert answer.out.splitlines() == [
        "TIME                                 SLOTS  WHAT        WHY",
        "Sun 2025-11-30 04:00 +01:00          1      AlreadyRan  It had its Job before, which is not run"
        " again.",
        "Sun 2025-11-30 05:00 … 10:00 +01:00  6      WouldRun    It would be run (dryRun).",
        "Sun 2025-11-30 11:00 … 12:00 +01:00  2      Suspended   The tenant or the schedule was suspended"
        " then; a suspension window is not backfilled.",
        "",
        "6 of 9 slots are to be run; 3 are not (AlreadyRan 1, Suspended 2).",
    ]
    assert cluster.objects("Backfill") == []


def test_a_dry_run_is_readable_for_programs(cli, cluster):
    cluster.add(billing(), namespace())

    answer = cli("backfill", "billing", *RANGE, "--dry-run", "-o", "json")

    assert [(each["fate"], each["count"]) for each in answer.json] == [
        ("AlreadyRan", 1),
        ("WouldRun", 6),
        ("Suspended", 2),
    ]


def test_it_asks_the_operator(cli, cluster):
    cluster.add(billing(), namespace())

    answer = cli("backfill", "billing", *RANGE, "--rerun-failed", "--max-concurrent", 3)

    (made,) = cluster.objects("Backfill")
    assert made["metadata"]["generateName"] == "billing-"
    assert made["spec"] == {
        "schedule": "billing",
        "from": "2025-11-30T03:00:00Z",
        "to": "2025-11-30T11:00:00Z",
        "maxConcurrent": 3,
        "onExisting": "RerunFailed",
    }
    assert answer.out == (
        f"default/billing: created Backfill {made['metadata']['name']}. 6 of 9 slots are to be run;"
        " 3 are not (AlreadyRan 1, Suspended 2).\n"
    )


def test_times_are_those_of_the_schedules_zone(cli, cluster):
    cluster.add(billing(), namespace())

    cli("backfill", "billing", "--from", "2025-11-30T05:00", "--to", "now-1h")

    (made,) = cluster.objects("Backfill")
    assert (made["spec"]["from"], made["spec"]["to"]) == ("2025-11-30T04:00:00Z", "2025-11-30T11:00:00Z")


def test_slots_of_a_suspension_window_are_run_only_when_asked_for(cli, cluster):
    cluster.add(billing(), namespace())

    answer = cli("backfill", "billing", *RANGE, "--include-suspended")

    (made,) = cluster.objects("Backfill")
    assert made["spec"]["includeSuspended"] is True
    assert "8 of 9 slots are to be run" in answer.out
    assert (
        answer.err
        == "note: whether slots of a suspension window are run is for the operator's settings to say\n"
    )


def test_failed_runs_are_run_again_only_when_asked_for(cli, cluster):
    failed = run("2025-11-30T02:00:00Z", "Failed")
    cluster.add(billing(runHistory=[failed]), namespace())
    ran = ("--from", "2025-11-30T01:00:00Z", "--to", "2025-11-30T03:00:00Z", "--dry-run")

    assert cli("backfill", "billing", *ran).out.splitlines()[-1] == (
        "0 of 3 slots are to be run; 3 are not (AlreadyRan 3)."
    )
    assert cli("backfill", "billing", *ran, "--rerun-failed").out.splitlines()[-1] == (
        "1 of 3 slots are to be run; 2 are not (AlreadyRan 2)."
    )


def test_nothing_is_created_where_nothing_would_run(cli, cluster):
    cluster.add(billing(), namespace())

    answer = cli(
        "backfill", "billing", "--from", "2025-11-30T01:00:00Z", "--to", "2025-11-30T03:00:00Z", "--wait"
    )

    assert answer.code == 0
    assert answer.out.splitlines()[-1] == "Nothing is to be run, so no Backfill is created."
    assert cluster.objects("Backfill") == []


def test_slots_that_the_schedule_has_yet_to_decide_are_told(cli, cluster):
    cluster.add(billing(lastDecidedTime="2025-11-30T09:00:00Z"), namespace())

    answer = cli("backfill", "billing", *RANGE, "--dry-run")

    assert answer.out.splitlines()[-1] == (
        "6 of 9 slots are to be run; 1 are not (AlreadyRan 1); 2 are yet to be decided."
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        pytest.param(("--from", "soon"), "--from: 'soon' is not a moment", id="no moment"),
        pytest.param(
            ("--from", "now-1h", "--to", "now-2h"), "--from: is after --to", id="the wrong way round"
        ),
        pytest.param(
            ("--from", "now-1h", "--to", "now+1h"),
            "--to: is in the future; only slots that have passed can be run",
            id="to come",
        ),
    ],
)
def test_a_range_that_is_none_is_a_mistake(cli, cluster, arguments, line):
    cluster.add(billing(), namespace())

    answer = cli("backfill", "billing", *arguments)

    assert answer.code == 2
    assert answer.err.startswith(line)
    assert cluster.objects("Backfill") == []


@pytest.mark.parametrize(
    ("given", "line"),
    [
        pytest.param(
            schedule(suspend=True),
            "error: default/billing is suspended (spec.suspend): resume it first\n",
            id="suspended",
        ),
        pytest.param(
            schedule(status=suspension(message="Namespace default has the label a=b.")),
            "error: default/billing is suspended. Namespace default has the label a=b.\n",
            id="tenant suspended",
        ),
        pytest.param(
            schedule(schedule="0 24 * * *"),
            "error: default/billing cannot run. Its spec is invalid.\n",
            id="invalid",
        ),
    ],
)
def test_it_is_refused(cli, cluster, given, line):
    cluster.add(given, namespace())

    answer = cli("backfill", "billing", *RANGE)

    assert (answer.code, answer.err) == (1, line)
    assert cluster.objects("Backfill") == []


def ending(cluster, monkeypatch, status):
    """While it is waited for, the operator writes this status."""
    clock = SimpleNamespace(sleep=lambda _: cluster.change("Backfill", status=status))
    monkeypatch.setattr(backfill, "time", clock)


def test_waiting_ends_well_when_all_runs_succeeded(cli, cluster, monkeypatch):
    cluster.add(billing(), namespace())
    ending(
        cluster,
        monkeypatch,
        {
            "conditions": [condition("Complete", "True", "Finished", "6 Run. All runs succeeded.")],
            "slots": {"Run": 6},
            "succeeded": 6,
        },
    )

    answer = cli("backfill", "billing", *RANGE, "--wait")

    assert answer.code == 0
    assert answer.err.splitlines()[0] == "0 run (0 succeeded, 0 failed, 0 active)."
    assert answer.err.splitlines()[-1].endswith("is complete. 6 Run. All runs succeeded.")


@pytest.mark.parametrize(
    ("status", "says"),
    [
        pytest.param(
            {
                "conditions": [condition("Complete", "True", "SomeRunsFailed", "6 Run. 1 failed.")],
                "slots": {"Run": 6},
                "succeeded": 5,
                "failed": 1,
            },
            "is complete. 6 Run. 1 failed.",
            id="a run failed",
        ),
        pytest.param(
            {
                "conditions": [condition("Complete", "True", "Finished", "6 JobRejected.")],
                "slots": {"JobRejected": 6},
            },
            "is complete. 6 JobRejected.",
            id="the Jobs were refused",
        ),
        pytest.param(
            {"conditions": [condition("Stalled", "True", "ScheduleNotFound", "There is none.")]},
            "cannot go on. ScheduleNotFound: There is none.",
            id="it stalls",
        ),
    ],
)
def test_waiting_ends_badly_otherwise(cli, cluster, monkeypatch, status, says):
    cluster.add(billing(), namespace())
    ending(cluster, monkeypatch, status)

    answer = cli("backfill", "billing", *RANGE, "--wait")

    assert answer.code == 1
    assert answer.err.splitlines()[-1].startswith("error: Backfill ")
    assert answer.err.splitlines()[-1].endswith(says)


def test_a_slot_whose_job_is_there_is_not_run(cli, cluster):
    slot = "2025-11-30T05:00:00Z"
    made = job(f"billing-{1_764_478_800 // 60}")
    made["metadata"]["annotations"] = {"cronschedule.dev/scheduled-for": slot}
    cluster.add(billing(), namespace(), made)

    answer = cli("backfill", "billing", *RANGE, "--dry-run", "-o", "json")

    assert [(each["first"], each["fate"]) for each in answer.json][1:4] == [
        ("2025-11-30T04:00:00Z", "WouldRun"),
        (slot, "AlreadyRan"),
        ("2025-11-30T06:00:00Z", "WouldRun"),
    ]


DROPPED = {"first": "2025-11-30T04:00:00Z", "last": "2025-11-30T09:00:00Z", "count": 6}


def test_what_was_dropped_is_acknowledged_without_an_edit_of_the_spec(cli, cluster):
    given = billing(truncated=DROPPED)
    cluster.add(given)

    answer = cli("acknowledge", "billing")

    assert answer.out == (
        "default/billing: 6 slots from 2025-11-30T04:00:00Z to 2025-11-30T09:00:00Z stay dropped.\n"
    )
    (found,) = cluster.objects("CronSchedule")
    assert found["spec"] == given["spec"]
    assert found["metadata"]["annotations"] == {"cronschedule.dev/acknowledged-until": "2025-11-30T09:00:00Z"}


def test_there_may_be_nothing_to_acknowledge(cli, cluster):
    cluster.add(billing())

    assert cli("acknowledge", "billing").out == "default/billing: nothing that the caps dropped is open.\n"
    (found,) = cluster.objects("CronSchedule")
    assert "annotations" not in found["metadata"]
