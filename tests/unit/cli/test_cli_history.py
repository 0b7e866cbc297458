"""`history`: rows in words."""

import pytest
from objects import condition, run, schedule, skip

ROWS = [
    run("2025-11-30T12:00:00Z", "Active"),
    skip("2025-11-30T11:00:00Z", "Overlap", "Still active: billing-10."),
    run(
        "2025-11-30T10:00:00Z",
        startTime="2025-11-30T10:05:30Z",
        standsFor={"count": 4, "first": "2025-11-30T07:00:00Z"},
    ),
    skip("2025-11-30T09:00:00Z", "Coalesced", count=3, firstScheduledTime="2025-11-30T07:00:00Z"),
    run(
        "2025-11-30T06:00:00Z",
        "Failed",
        trigger="CatchUp",
        reason="BackoffLimitExceeded",
        message="Too many failures.",
    ),
    run(
        "2025-11-30T05:30:12Z",
        "Deleted",
        trigger="Manual",
        completionTime="2025-11-30T05:31:12Z",
        message="by mistake",
    ),
]
COUNTS = {"runs": 3, "succeeded": 1, "failed": 1, "manual": 1, "skipped": {"Coalesced": 3, "Overlap": 1}}
TOLD = schedule(status={"runHistory": ROWS, "counts": COUNTS})


def test_the_history_of_a_schedule_is_told_in_its_zone(cli, cluster):
    cluster.add(TOLD)

    assert cli("history", "billing").out.splitlines() == [
        "TIME                                 WHAT                         WHY",
        "Sun 2025-11-30 13:00 +01:00          Active                       billing-12",
        "Sun 2025-11-30 12:00 +01:00          Skipped Overlap              Still active: billing-10.",
        "Sun 2025-11-30 11:00 +01:00          Succeeded                    billing-10; 5m 30s late; stands for 4 slots "
        "since Sun 2025-11-30 08:00 +01:00; took 4m 30s",
        "Sun 2025-11-30 08:00 … 10:00 +01:00  Skipped Coalesced (3 slots)  The slot was missed and one run of a newer "
        "slot stands for it (misfirePolicy FireOnce).",
        "Sun 2025-11-30 07:00 +01:00          Failed (CatchUp)             billing-06; took 10m; BackoffLimitExceeded; "
        "Too many failures.",
        "Sun 2025-11-30 06:30:12 +01:00       Deleted (Manual)             billing-05; took 1m; by mistake",
        "",
        "7 slots since creation: 3 runs (1 succeeded, 1 failed), 4 skipped (Coalesced 3, Overlap 1); 1 run by hand.",
    ]


@pytest.mark.parametrize(
    ("arguments", "slots"),
    [
        pytest.param(["--reason", "Overlap"], ["11"], id="a reason"),
        pytest.param(["--reason", "overlap", "--reason", "COALESCED"], ["11", "09"], id="two, in any case"),
        pytest.param(["--reason", "Stale"], [], id="a reason that did not come up"),
        pytest.param(["--since", "3h"], ["12", "11", "10"], id="the last three hours"),
        pytest.param(["--since", "2025-11-30T12:30"], ["12"], id="since a moment in the schedule's zone"),
        pytest.param(["--since", "2025-11-30T11:00:00Z"], ["12"], id="after a moment"),
        pytest.param(["--since", "7d", "-c", "2"], ["12", "11"], id="two rows"),
    ],
)
def test_rows_can_be_chosen(cli, cluster, arguments, slots):
    cluster.add(TOLD)

    rows = cli("history", "billing", "-o", "json", *arguments).json

    assert [row["scheduledTime"][11:13] for row in rows] == slots


def test_rows_across_schedules_are_sorted_by_time(cli, cluster):
    cluster.add(TOLD, schedule("b", "team-b", status={"runHistory": [run("2025-11-30T11:30:00Z")]}))

    rows = cli("history", "-A", "-o", "json", "-c", "3").json
    table = cli("history", "-A").out.splitlines()

    assert [(row["namespace"], row["schedule"], row["scheduledTime"][11:16]) for row in rows] == [
        ("default", "billing", "12:00"),
        ("team-b", "b", "11:30"),
        ("default", "billing", "11:00"),
    ]
    assert table[0].split() == ["NAMESPACE", "SCHEDULE", "TIME", "WHAT", "WHY"]
    assert table[2].split()[:2] == ["team-b", "b"]


@pytest.mark.parametrize(
    ("status", "line"),
    [
        pytest.param({}, "Nothing has been decided yet.", id="a new schedule"),
        pytest.param(
            {"conditions": [condition("Ready", "False", "InvalidSchedule", "spec.schedule: hour: '24'")]},
            "Nothing can run. InvalidSchedule: spec.schedule: hour: '24'",
            id="an invalid schedule",
        ),
    ],
)
def test_a_schedule_without_rows_says_why(cli, cluster, status, line):
    cluster.add(schedule(status=status))

    assert cli("history", "billing").out.splitlines()[0] == line


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        pytest.param(
            ["bilin"],
            1,
            "error: there is no CronSchedule 'bilin' in namespace 'default': did you mean billing?",
            id="name",
        ),
        pytest.param(
            ["billing", "-n", "other"],
            1,
            "error: there is no CronSchedule 'billing' in namespace 'other', but in default: add -n default",
            id="a namespace",
        ),
        pytest.param(
            ["xyz"], 1, "error: there is no CronSchedule 'xyz' in namespace 'default'", id="nothing like it"
        ),
        pytest.param(
            ["billing", "-A"],
            2,
            "-A is for the history of all schedules: leave out either it or NAME",
            id="all and one",
        ),
        pytest.param(["-n", "x", "-A"], 2, "-n and -A exclude each other", id="all and one namespace"),
        pytest.param(
            ["billing", "--since", "Tuesday"],
            2,
            "--since: 'Tuesday' is not a moment: write a time such as 2026-03-29T01:00:00Z or 2026-03-29T02:00 (in the "
            "schedule's zone), now, now-6h or now+1d, or how long ago, such as 24h or 7d",
            id="since when",
        ),
    ],
)
def test_a_mistake_is_one_line(cli, cluster, arguments, code, line):
    cluster.add(TOLD)

    answer = cli("history", *arguments)

    assert (answer.code, answer.err.splitlines(), answer.out) == (code, [line], "")


@pytest.mark.parametrize(
    ("said", "line"),
    [
        pytest.param(
            'E1130 12:00:00.1 1 memcache.go:265] "Unhandled Error"\n'
            "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?",
            "error: the cluster cannot be reached: The connection to the server 127.0.0.1:1 was refused",
            id="no cluster",
        ),
        pytest.param(
            "The connection to the server localhost:8080 was refused - did you specify the right host or port?",
            "error: no cluster is configured: kubectl has no kubeconfig with a current context",
            id="no kubeconfig",
        ),
        pytest.param(
            "Unable to connect to the server: net/http: TLS handshake timeout",
            "error: the cluster cannot be reached: Unable to connect to the server: net/http: TLS handshake timeout",
            id="no answer",
        ),
        pytest.param(
            'error: the server doesn\'t have a resource type "cronschedules"',
            "error: this cluster knows no CronSchedules: the operator's CRD is not installed",
            id="no CRD",
        ),
        pytest.param(
            'Error from server (Forbidden): cronschedules.cronschedule.dev is forbidden: User "u" cannot list',
            'error: cronschedules.cronschedule.dev is forbidden: User "u" cannot list',
            id="no permission",
        ),
        pytest.param(
            'error: context "x" does not exist', 'error: context "x" does not exist', id="no context"
        ),
        pytest.param("", "error: kubectl failed, silently", id="no word"),
        pytest.param("\x1b[2Jodd\x07", "error: ?[2Jodd?", id="what would move the cursor"),
    ],
)
def test_what_kubectl_says_becomes_one_line(cli, cluster, said, line):
    cluster.deny("CronSchedule", said)

    answer = cli("history", "billing")

    assert (answer.code, answer.err.splitlines()) == (1, [line])


def test_a_machine_without_kubectl_is_told_so(cli, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    assert (
        cli("history", "x").err
        == "error: kubectl is not on the PATH, and the cluster is reached through it\n"
    )


def test_cluster_options_reach_kubectl_wherever_they_stand(cli, cluster):
    cluster.add(schedule(namespace="team-a"))

    assert cli("--context=c", "-n", "team-a", "history", "billing", "--kubeconfig", "k").code == 0
    assert cluster.calls[-1][:4] == ["get", "--context=c", "--kubeconfig=k", "--namespace=team-a"]
