"""Does the herd tell whether the operator keeps within its budget, and who asked what of the API server?"""

from typing import Any

import pytest

from bench.budget import Check, check, compare, tell
from bench.figures import MEBI, percentile, table
from bench.herd import Outcome
from bench.subjects import SUBJECTS
from bench.traffic import Request, client_of, per_run, read_requests, tell_reads
from bench.usage import Usage

OPERATOR = "cronschedule-operator"


def request(verb: str, resource: str, client: str = OPERATOR, uri: str = "/x") -> Request:
    return Request(client=client, verb=verb, resource=resource, code=200, at=0.0, end=0.1, uri=uri)


def one_run() -> list[Request]:
    status = request("update", "cronschedules/status")
    return [request("create", "jobs"), status, status, request("create", "events")]


def outcome(*extra: Request, **changes: Any) -> Outcome:
    """A hundred runs within the budget, and what else was asked."""
    usage = {"operator": Usage(cpu=1.0, rss=80 * MEBI, peak=90 * MEBI)}
    fields: dict[str, Any] = {
        "subject": SUBJECTS["operator"],
        "expected": 100,
        "seconds": 14.0,
        "lags": [0.5] * 100,
        "spans": [1.0],
        "requests": [*one_run() * 100, *extra],
        "records": 100,
        "recorded": 2.0,
        "before": usage,
        "after": usage,
    }
    return Outcome(**fields | changes)


def broken(seen: Outcome) -> list[str]:
    return [line.what for line in check(seen) if not line.holds]


def test_does_the_budget_hold() -> None:
    assert broken(outcome()) == []


@pytest.mark.parametrize(
    ("seen", "what"),
    [
        pytest.param(outcome(lags=[0.5] * 99), "runs", id="a-run-is-missing"),
        pytest.param(outcome(request("create", "jobs")), "Job POSTs per run", id="a-job-is-posted-again"),
        pytest.param(
            outcome(request("patch", "cronschedules/status")), "status writes per run", id="a-third-write"
        ),
        pytest.param(outcome(request("get", "cronschedules")), "GETs", id="a-get"),
        pytest.param(outcome(request("get", "namespaces", "kopf")), "GETs", id="a-get-by-kopf"),
        pytest.param(outcome(lags=[0.5] * 98 + [2.1] * 2), "p99 of slot to Job", id="two-of-a-hundred-late"),
        pytest.param(
            outcome(after={"operator": Usage(cpu=2.0, rss=1, peak=102 * MEBI)}),
            "RSS at most",
            id="memory-that-was-given-back",
        ),
        pytest.param(outcome(complaints=["Traceback"]), "errors in the log", id="an-error-in-the-log"),
    ],
)
def test_is_a_broken_line_of_the_budget_told(seen: Outcome, what: str) -> None:
    assert what in broken(seen)


def test_is_one_late_run_of_a_hundred_within_the_budget() -> None:
    assert broken(outcome(lags=[0.5] * 99 + [9.0])) == []


def test_do_others_requests_not_count() -> None:
    assert broken(outcome(request("get", "jobs", "kubectl"), request("list", "namespaces"))) == []


def test_does_the_leader_election_not_count() -> None:
    assert broken(outcome(request("get", "leases"))) == []


def test_is_the_verdict_told() -> None:
    line = Check(what="GETs", seen="1", allowed="0", holds=False)
    assert tell([line]).splitlines()[1:] == [
        "GETs                       1        0  BROKEN",
        "",
        "The budget is broken in 1 of 1 lines.",
    ]


def test_are_lags_compared_with_no_number_of_seconds_where_others_were_measured() -> None:
    late = outcome(lags=[9.0] * 100)
    assert "p99 of slot to Job" not in [line.what for line in check(late, compared=True)]


def of_others(name: str, **changes: Any) -> Outcome:
    return outcome(subject=SUBJECTS[name], before={}, after={}, **changes)


def ratios(*rounds: list[Outcome]) -> dict[str, tuple[str, bool]]:
    return {line.what: (line.seen, line.holds) for line in compare(rounds)}


def test_how_do_ours_compare_with_the_others() -> None:
    ours = outcome(lags=[1.0] * 99 + [3.0], spans=[1.0], recorded=6.0)
    tuned = of_others("tuned", lags=[2.0] * 98 + [5.0] * 2, recorded=3.0)
    raw = of_others("raw", spans=[0.5], records=0)
    assert ratios([ours, tuned, raw]) == {
        "p50 / tuned CronJob's": ("0.50", True),
        "p99 / tuned CronJob's": ("0.20", True),
        "Jobs and records / tuned CronJob's": ("1.20", True),
        "Jobs a second / raw POSTs": ("0.50", False),
    }


def test_is_the_median_of_the_rounds_told() -> None:
    tuned = of_others("tuned", lags=[1.0] * 100)
    rounds = [[outcome(lags=[lag] * 100), tuned] for lag in (0.5, 9.0, 0.7)]
    assert ratios(*rounds)["p99 / tuned CronJob's"] == ("0.70 (0.50, 9.00, 0.70)", True)


def test_is_a_whole_with_a_record_missing_no_whole() -> None:
    tuned = of_others("tuned")
    assert ratios([outcome(records=99), tuned])["Jobs and records / tuned CronJob's"] == ("inf", False)


def test_is_nothing_compared_where_nothing_else_was_measured() -> None:
    assert ratios([outcome()]) == {}


def audit(stage: str, verb: str, at: str = "2027-01-15T08:00:01Z", code: int = 200) -> dict[str, Any]:
    return {
        "stage": stage,
        "verb": verb,
        "requestReceivedTimestamp": at,
        "stageTimestamp": at,
        "userAgent": "cronschedule-operator/0.1.0",
        "objectRef": {"resource": "cronschedules", "subresource": "status"},
        "responseStatus": {"code": code},
        "requestURI": "/apis/cronschedule.dev/v1alpha1/cronschedules?watch=true&resourceVersion=12",
    }


def test_is_a_request_of_the_time_read_once() -> None:
    events = [
        audit("ResponseComplete", "update", code=409),
        audit("ResponseStarted", "watch"),
        audit("ResponseComplete", "watch"),
        audit("ResponseComplete", "update", at="2027-01-15T07:59:59Z"),
        audit("ResponseComplete", "update", at="2027-01-15T08:00:02Z"),
    ]
    found = read_requests(events, begin=1_800_000_000.0, end=1_800_000_002.0)
    assert [(r.client, r.verb, r.resource, r.failed) for r in found] == [
        (OPERATOR, "update", "cronschedules/status", True),
        (OPERATOR, "watch", "cronschedules/status", False),
    ]


@pytest.mark.parametrize(
    ("user_agent", "client"),
    [
        ("cronschedule-operator/0.1.0", OPERATOR),
        ("kopf/1.45.2", "kopf"),
        (
            "kube-controller-manager/v1.37.2 (linux/amd64) kubernetes/a/cronjob-controller",
            "cronjob-controller",
        ),
        (
            "kube-controller-manager/v1.37.2 (linux/amd64) k/a/system:serviceaccount:kube-system:job-controller",
            "job-controller",
        ),
        ("", "unknown"),
    ],
)
def test_is_a_client_known_by_its_user_agent(user_agent: str, client: str) -> None:
    assert client_of(user_agent) == client


def test_are_requests_told_per_run() -> None:
    assert per_run(one_run() * 2, runs=2) == {
        (OPERATOR, "update", "cronschedules/status"): 2,
        (OPERATOR, "create", "jobs"): 1,
        (OPERATOR, "create", "events"): 1,
    }


def test_is_each_read_told_with_its_cause() -> None:
    reads = [
        request("list", "cronschedules", uri="/a?limit=500&continue=x"),
        request("list", "cronschedules", uri="/a?limit=500&continue=y"),
        request("watch", "namespaces", "kopf", uri="/b?watch=true"),
        request("create", "jobs"),
    ]
    assert tell_reads(reads) == [
        "2 × LIST /a?continue&limit by cronschedule-operator: the periodic comparison with what is held (audit)",
        "1 × WATCH /b?watch by kopf: kopf's watcher goes on",
    ]


@pytest.mark.parametrize(
    ("share", "value"), [(0.5, 50.0), (0.99, 99.0), (1.0, 100.0)], ids=["median", "p99", "most"]
)
def test_is_a_percentile_one_of_the_values(share: float, value: float) -> None:
    assert percentile([float(n) for n in range(100, 0, -1)], share) == value


def test_are_columns_aligned() -> None:
    assert table([["", "one"], ["longer", "2"]]) == "        one\nlonger    2"
