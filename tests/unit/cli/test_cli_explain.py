"""`explain`: one answer for every state that a slot may be in."""

import pytest
from objects import condition, run, schedule, skip, suspension

from cronschedule.api.reasons import SkipReason
from cronschedule.cli.advice import ADVICE

AGGREGATED = skip("2025-11-30T09:00:00Z", "Coalesced", count=3, firstScheduledTime="2025-11-30T07:00:00Z")
STANDS_FOR = run("2025-11-30T10:00:00Z", standsFor={"count": 4, "first": "2025-11-30T07:00:00Z"})


def explained(cli, cluster, given, *arguments):
    cluster.add(given)
    return cli("explain", "billing", "-o", "json", *arguments).json


@pytest.mark.parametrize(
    ("status", "at", "answer", "facts"),
    [
        pytest.param(
            {"runHistory": [run("2025-11-30T12:00:00Z")]},
            None,
            "Succeeded.",
            {"why": "It came due, and no rule held it back."},
            id="the newest",
        ),
        pytest.param({}, None, "Nothing has been decided yet.", {}, id="nothing yet"),
        pytest.param(
            {"runHistory": [run("2025-11-30T11:00:00Z", "Active")]},
            "2025-11-30T11:00:00Z",
            "Active.",
            {"since": "Sun 2025-11-30 12:00 +01:00, 1h ago"},
            id="an active run",
        ),
        pytest.param(
            {
                "runHistory": [
                    run("2025-11-30T11:00:00Z", "Failed", reason="DeadlineExceeded", message="too long")
                ]
            },
            "2025-11-30T11:00:00Z",
            "Failed.",
            {"change": "Look at its pods: kubectl logs -n default job/billing-11"},
            id="a failed run",
        ),
        pytest.param(
            {"runHistory": [run("2025-11-30T11:20:07Z", trigger="Manual", message="please")]},
            "2025-11-30T12:20",
            "Succeeded (Manual).",
            {"why": "A person started it, for no slot."},
            id="a run by hand, in the schedule's zone",
        ),
        pytest.param(
            {"runHistory": [skip("2025-11-30T11:00:00Z", "Overlap", "Still active: billing-10.")]},
            "2025-11-30T11:00:00Z",
            "Skipped Overlap.",
            {
                "why": "A run of the same schedule was still active (concurrencyPolicy Forbid).",
                "rule": ADVICE[SkipReason.OVERLAP].rule,
                "change": ADVICE[SkipReason.OVERLAP].change,
            },
            id="a skip",
        ),
        pytest.param(
            {"runHistory": [STANDS_FOR, AGGREGATED]},
            "2025-11-30T08:00:00Z",
            "Skipped Coalesced (3 slots).",
            {
                "instead": "Sun 2025-11-30 11:00 +01:00  Succeeded: billing-10; stands for 4 slots since "
                "Sun 2025-11-30 08:00 +01:00; took 10m"
            },
            id="one of several, and what ran instead",
        ),
        pytest.param(
            {"runHistory": [skip("2025-11-30T11:00:00Z", "FromTheFuture", "who knows")]},
            "2025-11-30T11:00:00Z",
            "Skipped FromTheFuture.",
            {"why": "who knows"},
            id="a reason of a newer operator",
        ),
        pytest.param(
            {"runHistory": [AGGREGATED]},
            "2025-11-30T07:30:00Z",
            "No slot at Sun 2025-11-30 08:30 +01:00: the schedule is '0 * * * *' in Europe/Berlin.",
            {"before": "Sun 2025-11-30 08:00 +01:00", "after": "Sun 2025-11-30 09:00 +01:00"},
            id="between two slots",
        ),
        pytest.param(
            {},
            "2025-11-30T15:00:00Z",
            "It comes in 3h.",
            {"now": "Next slot Sun 2025-11-30 14:00 +01:00, in 1h."},
            id="in the future",
        ),
        pytest.param(
            suspension(),
            "2025-11-30T15:00:00Z",
            "It comes in 3h, and will be skipped unless the suspension is over by then.",
            {},
            id="in the future, suspended",
        ),
        pytest.param(
            {"lastDecidedTime": "2025-11-30T09:00:00Z"}
            | suspension(message="Namespace default has the label x=y."),
            "2025-11-30T11:00:00Z",
            "Due, and not decided yet.",
            {"why": "Suspended. Namespace default has the label x=y."},
            id="during a suspension",
        ),
        pytest.param(
            {
                "lastDecidedTime": "2025-11-30T09:00:00Z",
                "backlog": {"waiting": 3, "oldest": "2025-11-30T10:00:00Z"},
                "runHistory": [run("2025-11-30T09:00:00Z", "Active")],
            },
            "2025-11-30T11:00:00Z",
            "Due, and not decided yet.",
            {
                "why": "It waits its turn: 3 slots wait, the oldest Sun 2025-11-30 11:00 +01:00.",
                "active": "billing-09, since Sun 2025-11-30 10:00 +01:00",
            },
            id="in a backlog",
        ),
        pytest.param(
            {
                "lastDecidedTime": "2025-11-30T09:00:00Z",
                "backlog": {"waiting": 3, "oldest": "2025-11-30T10:00:00Z"},
                "conditions": [condition("CatchingUp", "True", "BudgetExhausted", "2 done, 3 waiting.")],
            },
            "2025-11-30T11:00:00Z",
            "Due, and not decided yet.",
            {"backlog": "2 done, 3 waiting."},
            id="in a backlog that tells how far it has got",
        ),
        pytest.param(
            {
                "lastDecidedTime": "2025-11-30T10:00:00Z",
                "conditions": [
                    condition("Ready", "True", "Retrying", "Accepted; the Job could not be created yet: 500")
                ],
            },
            "2025-11-30T11:00:00Z",
            "Due, and not decided yet.",
            {"why": "Accepted; the Job could not be created yet: 500"},
            id="in retry",
        ),
        pytest.param(
            {"lastDecidedTime": "2025-11-30T11:00:00Z"},
            "2025-11-30T12:00:00Z",
            "Due, and not decided yet.",
            {"why": "It has just come due."},
            id="this very moment",
        ),
        pytest.param(
            {"lastDecidedTime": "2025-11-30T09:00:00Z", "nextScheduleTime": "2025-11-30T10:00:00Z"},
            "2025-11-30T10:00:00Z",
            "Due, and not decided yet.",
            {
                "why": "The operator has not decided it for 2h: is it running?",
                "now": "Next slot Sun 2025-11-30 11:00 +01:00, due for 2h.",
            },
            id="no operator",
        ),
        pytest.param(
            {
                "conditions": [condition("Ready", "False", "UnknownTimeZone", "spec.timeZone: x")],
                "lastDecidedTime": None,
            },
            "2025-11-30T10:00:00Z",
            "Due, and not decided yet.",
            {"why": "Nothing can run. UnknownTimeZone: spec.timeZone: x"},
            id="an invalid spec",
        ),
        pytest.param(
            {"observedGeneration": -1, "lastDecidedTime": None, "schedule": None, "conditions": []},
            "2025-11-30T15:00:00Z",
            "It comes in 3h.",
            {"now": "No operator has seen this schedule yet: is one running?"},
            id="never seen",
        ),
        pytest.param(
            {},
            "2025-11-29T10:00:00Z",
            "No decision: the schedule was created later, at Sat 2025-11-29 13:00 +01:00.",
            {},
            id="before it was created",
        ),
        pytest.param(
            {
                "runHistory": [run("2025-11-30T12:00:00Z")],
                "counts": {"runs": 24, "succeeded": 24, "failed": 0},
            },
            "2025-11-29T18:00:00Z",
            "Decided, but its row is gone.",
            {"totals": "24 slots since creation: 24 runs (24 succeeded, 0 failed), 0 skipped."},
            id="a row that fell off",
        ),
    ],
)
def test_what_became_of_a_slot(cli, cluster, status, at, answer, facts):
    found = explained(cli, cluster, schedule(status=status), *(["--at", at] if at else []))

    assert found["answer"] == answer
    assert {key: found.get(key) for key in facts} == facts


def test_the_text_has_the_slot_in_its_zone_and_in_utc(cli, cluster):
    cluster.add(schedule(status={"runHistory": [skip("2025-11-30T11:00:00Z", "Stale", "Later than 1h.")]}))

    assert cli("explain", "billing", "--at", "2025-11-30T12:00").out.splitlines() == [
        "default/billing  Sun 2025-11-30 12:00 +01:00  (2025-11-30 11:00Z)",
        "Skipped Stale.",
        "  row     Sun 2025-11-30 12:00 +01:00  Skipped Stale: Later than 1h.",
        "  why     The slot would have started later than maxStaleness allows.",
        f"  rule    {ADVICE[SkipReason.STALE].rule}",
        f"  change  {ADVICE[SkipReason.STALE].change}",
        "  now     Next slot Sun 2025-11-30 14:00 +01:00, in 1h.",
    ]


def test_a_clock_change_is_part_of_the_answer(cli, cluster):
    text = {"expression": "30 2 * * *", "timeZone": "Europe/Berlin"}
    row = run("2025-03-30T01:00:00Z")
    given = schedule(schedule="30 2 * * *", status={"schedule": text, "runHistory": [row]})

    assert (
        explained(cli, cluster, given)["clock"] == "03:00 stands for 02:30, which does not exist on this day."
    )


def test_why_it_was_suspended_is_told(cli, cluster):
    cause = {"annotations": {"kubernetes.io/change-cause": "suspended: migration"}}
    given = schedule(
        suspend=True, metadata=cause, status=suspension("ScheduleSuspended", message="spec.suspend is true.")
    )

    assert explained(cli, cluster, given)["now"] == (
        "Suspended since Sun 2025-11-30 10:30 +01:00 (ScheduleSuspended). spec.suspend is true. suspended: migration"
    )


def test_every_reason_has_a_rule_and_an_advice():
    assert set(ADVICE) == set(SkipReason)


def test_a_time_that_is_none_is_a_mistake(cli, cluster):
    cluster.add(schedule())

    answer = cli("explain", "billing", "--at", "noon")

    assert answer.code == 2
    assert answer.err.startswith("--at: 'noon' is not a moment: write a time such as")
