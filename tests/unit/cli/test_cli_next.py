"""`next`: the coming slots, in the zone of the schedule."""

import pytest

SCHEDULE = {
    "apiVersion": "cronschedule.dev/v1alpha1",
    "kind": "CronSchedule",
    "metadata": {"name": "billing", "namespace": "default"},
    "spec": {"schedule": "0 9 * * *", "timeZone": "Asia/Tokyo"},
}


def test_slots_of_cron_text(cli):
    answer = cli("next", "--schedule", "0 13 * * *", "-c", "2")

    assert answer.out.splitlines() == [
        "SLOT                         IN UTC",
        "Sun 2025-11-30 13:00 +00:00  2025-11-30 13:00Z  in 1h",
        "Mon 2025-12-01 13:00 +00:00  2025-12-01 13:00Z  in 1d 1h",
    ]


@pytest.mark.parametrize(
    ("schedule", "start", "lines"),
    [
        pytest.param(
            "30 2 * * *",
            "2026-03-28T12:00",
            [
                "(clocks go forward from 02:00 to 03:00)",
                "Sun 2026-03-29 03:00 +02:00",
                "Mon 2026-03-30 02:30 +02:00",
            ],
            id="a time that does not exist",
        ),
        pytest.param(
            "30 2 * * *",
            "2026-10-24T12:00",
            [
                "Sun 2026-10-25 02:30 +02:00",
                "(clocks go back from 03:00 to 02:00)",
                "Mon 2026-10-26 02:30 +01:00",
            ],
            id="a time that comes twice",
        ),
        pytest.param(
            "*/30 2 * * *",
            "2026-10-25T00:30:00Z",
            [
                "(clocks go back from 03:00 to 02:00)",
                "Sun 2026-10-25 02:00 +01:00",
                "Sun 2026-10-25 02:30 +01:00",
            ],
            id="real time goes on",
        ),
    ],
)
def test_clock_changes_are_marked(cli, schedule, start, lines):
    answer = cli("next", "--schedule", schedule, "--time-zone", "Europe/Berlin", "--from", start, "-c", "2")

    assert [line.split("  ")[0] for line in answer.out.splitlines()[1:]] == lines


def test_the_answer_as_data_says_what_a_clock_change_does(cli):
    options = [
        "--schedule",
        "30 2 * * *",
        "--time-zone",
        "Europe/Berlin",
        "--from",
        "2026-03-28T12:00",
        "-c",
        "2",
    ]

    assert cli("next", *options, "-o", "json").json == {
        "schedule": "30 2 * * *",
        "timeZone": "Europe/Berlin",
        "slots": [
            {
                "slot": "2026-03-29T01:00:00Z",
                "local": "2026-03-29T03:00:00+02:00",
                "clockChange": "03:00 stands for 02:30, which does not exist on this day",
            },
            {"slot": "2026-03-30T00:30:00Z", "local": "2026-03-30T02:30:00+02:00"},
        ],
    }


def test_slots_of_a_live_schedule(cli, cluster):
    cluster.add(SCHEDULE)

    answer = cli("next", "billing", "-c", "1")

    assert answer.out.splitlines()[1] == "Mon 2025-12-01 09:00 +09:00  2025-12-01 00:00Z  in 12h"
    assert answer.err == ""


def test_a_suspension_is_said(cli, cluster):
    suspension = {"since": "2025-11-30T00:00:00Z", "reason": "TenantSuspended"}
    cluster.add(SCHEDULE | {"status": {"suspension": suspension}})

    answer = cli("next", "billing")

    assert answer.code == 0
    assert "suspended since 2025-11-30T00:00:00Z (TenantSuspended)" in answer.err


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        pytest.param([], ["give either the NAME of a schedule or --schedule EXPR"], id="nothing"),
        pytest.param(
            ["x", "--schedule", "@daily"],
            ["give either the NAME of a schedule or --schedule EXPR"],
            id="too much",
        ),
        pytest.param(
            ["--schedule", "0 24 * * *", "--time-zone", "Mars"],
            [
                "--schedule: hour: '24' is not allowed; values are 0-23, lists, ranges, steps, *",
                "--time-zone: 'Mars' is not a time zone; use a name of the IANA database such as Etc/UTC or "
                "Europe/Berlin (letter case matters)",
            ],
            id="two mistakes",
        ),
        pytest.param(
            ["--schedule", "@daily", "-c", "0"],
            ["Invalid value for '-c' / '--count': 0 is not in the range 1<=x<=10000."],
            id="none of them",
        ),
        pytest.param(
            ["--schedule", "@daily", "--from", "x"],
            [
                "--from: 'x' is not a moment: write a time such as 2026-03-29T01:00:00Z or 2026-03-29T02:00 (in the "
                "schedule's zone), now, now-6h or now+1d"
            ],
            id="no moment",
        ),
    ],
)
def test_mistakes_are_told(cli, arguments, lines):
    answer = cli("next", *arguments)

    assert (answer.code, answer.err.splitlines()) == (2, lines)
