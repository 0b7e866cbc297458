"""Creating Jobs: semantics.md §3 rule 6 (retries) and §4 (a Job that is there already), one case per sentence."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from acts import TENANT, a_job, a_retry, a_spec, at, carry_out, clock, create, facts_of, known, with_spec

from cronschedule.api.reasons import SkipReason
from cronschedule.core.facts import Skip
from cronschedule.core.planner import plan, schedule_text, settle_refusal, settle_run

CATCH_UP: dict[str, Any] = {"misfirePolicy": "CatchUp", "maxStaleness": "2h"}
FAILED, QUOTA = "CreateFailed", "QuotaExhausted"


@dataclass(frozen=True, kw_only=True)
class InRetry:
    """Hourly from 09:30; the Job of 10:00 could not be created, the next try is at 10:20:00."""

    now: str
    expected: dict[str, str]
    spec: dict[str, Any]
    reason: str = FAILED
    jobs: tuple[Any, ...] = ()
    wake: str | None = None
    """When it is looked at again, where it waits."""


RETRIES = {
    "waits for its back-off": InRetry(spec={}, now="10:19:59", expected={}, wake="10:20"),
    "is tried again when the back-off has passed": InRetry(spec={}, now="10:20", expected={"10:00": "Run"}),
    "is not judged by rule 2 again: Skip": InRetry(
        spec={"misfirePolicy": "Skip"}, now="10:20", expected={"10:00": "Run"}
    ),
    "is not judged by rule 2 again: the age cap of CatchUp": InRetry(
        spec=CATCH_UP | {"catchUp": {"maxAge": "5m"}}, now="10:20", expected={"10:00": "CatchUp run"}
    ),
    "ends when its next slot is due": InRetry(
        spec={}, now="11:00", expected={"10:00": FAILED, "11:00": "Run"}
    ),
    "ends when its next slot is due, and the slots since then go by their policy": InRetry(
        spec={"misfirePolicy": "Skip"},
        now="12:00",
        expected={"10:00": FAILED, "11:00": "Misfire", "12:00": "Run"},
    ),
    "ends when its next slot is due, and that one is judged": InRetry(
        spec={}, now="11:00", jobs=(a_job("09:00"),), expected={"10:00": FAILED, "11:00": "Overlap"}
    ),
    "ends when it is too stale": InRetry(
        spec={"maxStaleness": "15m"}, now="10:15:01", expected={"10:00": FAILED}
    ),
    "is looked at when it becomes too stale, if that is before the next try": InRetry(
        spec={"maxStaleness": "15m"}, now="10:15:00", expected={}, wake="10:15:01"
    ),
    "under CatchUp it goes on past its next slot": InRetry(
        spec=CATCH_UP | {"concurrencyPolicy": "Forbid"}, now="11:05", expected={"10:00": "CatchUp run"}
    ),
    "under CatchUp it holds up those behind it": InRetry(
        spec=CATCH_UP, now="10:19", expected={}, wake="10:20"
    ),
    "under CatchUp it ends with its own reason, not as Stale": InRetry(
        spec=CATCH_UP, now="12:00:01", reason=QUOTA, expected={"10:00": QUOTA, "11:00": "CatchUp run"}
    ),
    "under CatchUp a run by hand in between makes it wait its turn": InRetry(
        spec=CATCH_UP, now="10:20", jobs=(a_job(None, trigger="Manual"),), expected={}, wake="11:00"
    ),
    "under Forbid a run by hand in between overlaps": InRetry(
        spec={}, now="10:20", jobs=(a_job(None, trigger="Manual"),), expected={"10:00": "Overlap"}
    ),
    "a Job that came after all is a run": InRetry(
        spec={}, now="10:05", jobs=(a_job("10:00"),), expected={"10:00": "Run"}
    ),
    "a Job that came after all, past the next slot": InRetry(
        spec={"concurrencyPolicy": "Allow"},
        now="11:05",
        jobs=(a_job("10:00"),),
        expected={"10:00": "Run", "11:00": "Run"},
    ),
}


@pytest.mark.parametrize("case", RETRIES.values(), ids=RETRIES)
def test_rule_6_a_slot_in_retry(case: InRetry) -> None:
    retry = a_retry("10:00", until="10:20", reason=case.reason)
    carried = carry_out(facts_of(a_spec(**case.spec), jobs=case.jobs, retry=retry), case.now)
    assert carried.words == case.expected
    if case.wake is not None:
        assert carried.last.wake == at(case.wake)


def test_rule_6_the_skip_tells_the_last_error() -> None:
    carried = carry_out(facts_of(retry=a_retry("10:00", until="10:20")), "11:00")
    assert isinstance(carried.decisions[0], Skip)
    assert carried.decisions[0].message == "It broke."


def test_rule_6_when_it_ends_those_it_stands_for_end_with_it() -> None:
    retry = a_retry("12:00", until="12:59:30", first="10:00", count=3)
    carried = carry_out(facts_of(retry=retry), "13:00")
    assert carried.words == {"10:00": FAILED, "11:00": FAILED, "12:00": FAILED, "13:00": "Run"}


def test_rule_6_when_it_is_tried_again_it_still_stands_for_the_older_ones() -> None:
    retry = a_retry("12:00", until="12:20", first="10:00", count=3)
    carried = carry_out(facts_of(retry=retry), "12:20")
    assert carried.words == {"10:00": "Coalesced", "11:00": "Coalesced", "12:00": "Run"}
    assert carried.starts[0].count == 3


def test_rule_6_a_retry_that_the_ledger_has_passed_means_nothing() -> None:
    facts = facts_of(since="10:30", retry=a_retry("10:00", until="12:00"))
    assert carry_out(facts, "11:00").words == {"11:00": "Run"}


def test_rule_6_nothing_waits_for_a_retry_of_another_slot() -> None:
    facts = facts_of(a_spec(schedule="30 * * * *"), since="10:45", retry=a_retry("10:00", until="12:00"))
    assert carry_out(facts, "11:30").words == {"11:30": "Run"}


def test_rule_6_the_trigger_is_judged_when_the_job_is_created() -> None:
    facts = facts_of(a_spec(**CATCH_UP), retry=a_retry("10:00", until="10:00:10"))
    assert carry_out(facts, "10:01:00").words == {"10:00": "Run"}
    assert carry_out(facts, "10:01:01").words == {"10:00": "CatchUp run"}


def test_rule_6_an_edit_of_the_schedule_ends_a_retry() -> None:
    facts = facts_of(retry=a_retry("10:00", until="10:20"))
    edited = carry_out(with_spec(facts, schedule="15 * * * *"), "10:10")
    assert edited.words == {"10:00": "ScheduleChanged"}


@pytest.mark.parametrize("reason", ["QuotaExhausted", "JobRejected", "NameConflict", "CreateFailed"])
def test_rule_6_a_final_refusal_settles_the_slot_and_those_it_stands_for(reason: str) -> None:
    facts = facts_of()
    planned = plan(facts, at("12:10"))
    assert planned.start is not None
    assert facts.spec is not None
    text = schedule_text(facts.spec)
    ledger, decisions = settle_refusal(planned.ledger, planned.start, text, SkipReason(reason), "x" * 1000)
    assert clock(ledger.last_decided) == "12:00"
    assert [(clock(d.first), clock(d.last), d.count, d.reason) for d in decisions if isinstance(d, Skip)] == [
        ("10:00", "12:00", 3, reason)
    ]
    assert isinstance(decisions[0], Skip)
    assert len(decisions[0].message) == 256
    assert carry_out(replace(facts, ledger=ledger), "12:11").words == {}


@dataclass(frozen=True, kw_only=True)
class Crashed:
    """A Job is there that the ledger, up to 09:30, knows nothing of."""

    spec: dict[str, Any]
    job: Any
    now: str
    expected: dict[str, str]


CRASHES = {
    "at once": Crashed(spec={}, job=a_job("10:00"), now="10:00:05", expected={"10:00": "Run"}),
    "hours later, FireOnce, still active": Crashed(
        spec={},
        job=a_job("10:00"),
        now="12:10",
        expected={"10:00": "Run", "11:00": "Overlap", "12:00": "Overlap"},
    ),
    "hours later, FireOnce, ended": Crashed(
        spec={},
        job=a_job("10:00", active=False),
        now="12:10",
        expected={"10:00": "Run", "11:00": "Coalesced", "12:00": "Run"},
    ),
    "FireOnce, the Job stands for older ones": Crashed(
        spec={},
        job=a_job("11:00", active=False, first=at("10:00"), count=2),
        now="11:10",
        expected={"10:00": "Coalesced", "11:00": "Run"},
    ),
    "Skip": Crashed(
        spec={"misfirePolicy": "Skip"},
        job=a_job("11:00", active=False),
        now="12:00:10",
        expected={"10:00": "Misfire", "11:00": "Run", "12:00": "Run"},
    ),
    "CatchUp": Crashed(
        spec=CATCH_UP,
        job=a_job("10:00", trigger="CatchUp"),
        now="11:00:10",
        expected={"10:00": "CatchUp run"},
    ),
    "CatchUp, too stale by now": Crashed(
        spec=CATCH_UP,
        job=a_job("10:00", trigger="CatchUp", active=False),
        now="12:30",
        expected={"10:00": "CatchUp run", "11:00": "CatchUp run"},
    ),
    "CatchUp, beyond the caps by now": Crashed(
        spec=CATCH_UP | {"catchUp": {"maxRuns": 1}},
        job=a_job("10:00", trigger="CatchUp", active=False),
        now="12:10",
        expected={"10:00": "CatchUp run", "11:00": "CatchUpCapExceeded", "12:00": "CatchUp run"},
    ),
    "the policy was edited to CatchUp since": Crashed(
        spec=CATCH_UP
        | {"maxStaleness": "24h", "concurrencyPolicy": "Allow", "catchUp": {"maxConcurrent": 5}},
        job=a_job("11:00"),
        now="12:00:10",
        expected={"10:00": "CatchUp run", "11:00": "Run", "12:00": "Run"},
    ),
    "the policy was edited to CatchUp since, with a cap": Crashed(
        spec=CATCH_UP | {"maxStaleness": "24h", "catchUp": {"maxRuns": 1}},
        job=a_job("11:00", active=False),
        now="12:00:10",
        expected={"10:00": "CatchUpCapExceeded", "11:00": "Run", "12:00": "Run"},
    ),
    "the policy was edited to CatchUp since, and the Job stands for older ones": Crashed(
        spec=CATCH_UP | {"maxStaleness": "24h", "concurrencyPolicy": "Allow"},
        job=a_job("12:00", first=at("11:00"), count=2),
        now="12:00:10",
        expected={"10:00": "CatchUp run", "11:00": "Coalesced", "12:00": "Run"},
    ),
    "the policy was edited to CatchUp since, with a cap, and the Job stands for older ones": Crashed(
        spec=CATCH_UP | {"maxStaleness": "24h", "catchUp": {"maxRuns": 1}},
        job=a_job("12:00", active=False, first=at("11:00"), count=2),
        now="12:00:10",
        expected={"10:00": "CatchUpCapExceeded", "11:00": "Coalesced", "12:00": "Run"},
    ),
    "the policy was edited to Skip since, and the Job stands for older ones": Crashed(
        spec={"misfirePolicy": "Skip"},
        job=a_job("12:00", first=at("11:00"), count=2),
        now="12:10",
        expected={"10:00": "Misfire", "11:00": "Coalesced", "12:00": "Run"},
    ),
    "a forged mark of slots to come": Crashed(
        spec={}, job=a_job("10:00", first=at("12:00"), count=9), now="10:10", expected={"10:00": "Run"}
    ),
    "too stale by now": Crashed(
        spec={"maxStaleness": "10m"}, job=a_job("10:00"), now="10:30", expected={"10:00": "Run"}
    ),
    "of a moment that is no slot any more": Crashed(
        spec={}, job=a_job("09:45", active=False), now="10:00:10", expected={"09:45": "Run", "10:00": "Run"}
    ),
    "Replace does not replace what it adopts": Crashed(
        spec={"concurrencyPolicy": "Replace"}, job=a_job("10:00"), now="10:30", expected={"10:00": "Run"}
    ),
}


@pytest.mark.parametrize("case", CRASHES.values(), ids=CRASHES)
def test_section_4_a_job_that_the_ledger_does_not_know_is_adopted(case: Crashed) -> None:
    carried = carry_out(facts_of(a_spec(**case.spec), jobs=(case.job,)), case.now)
    assert carried.words == case.expected


def test_section_4_an_adopted_run_keeps_its_trigger_and_what_it_stands_for() -> None:
    job = a_job("12:00", trigger="CatchUp", first=at("10:00"), count=3)
    carried = carry_out(facts_of(jobs=(job,)), "12:10")
    run = carried.decisions[-1]
    assert not isinstance(run, Skip)
    assert (run.job, run.start.trigger, run.start.first, run.start.count) == (
        job.name,
        "CatchUp",
        at("10:00"),
        3,
    )


def test_section_4_an_edit_of_the_schedule_leaves_an_unrecorded_run_a_run() -> None:
    edited = with_spec(facts_of(jobs=(a_job("11:00"),)), schedule="15 * * * *")
    assert carry_out(edited, "12:10").words == {
        "10:00": "ScheduleChanged",
        "11:00": "Run",
        "12:00": "ScheduleChanged",
    }


def test_rule_2_what_an_unrecorded_run_stands_for_is_settled_with_it_whatever_came_since() -> None:
    facts = facts_of(jobs=(a_job("12:00", first=at("11:00"), count=2),))
    settled = {"11:00": "Coalesced", "12:00": "Run"}
    edited = with_spec(facts, schedule="15 * * * *")
    assert carry_out(edited, "13:10").words == settled | {
        "10:00": "ScheduleChanged",
        "13:00": "ScheduleChanged",
    }
    suspended = replace(facts, tenant_suspended=TENANT)
    assert carry_out(suspended, "13:10").words == settled | {
        "10:00": "TenantSuspended",
        "13:00": "TenantSuspended",
    }


@pytest.mark.parametrize(
    "fields", [{}, {"misfirePolicy": "Skip"}, CATCH_UP, {"concurrencyPolicy": "Replace"}], ids=str
)
@pytest.mark.parametrize("later", ["10:00", "10:00:30", "10:30", "11:00"])
def test_section_4_a_crash_between_create_and_record_gives_no_second_job(
    fields: dict[str, Any], later: str
) -> None:
    facts = facts_of(a_spec(**fields))
    planned = plan(facts, at("10:00"))
    assert planned.start is not None
    crashed = create(facts, planned.start)  # and the ledger is as it was
    recovered = carry_out(crashed, later)
    assert recovered.words["10:00"] == "Run"
    assert [start.slot for start in recovered.starts if start.slot == planned.start.slot] == []


def test_rule_2_settling_a_run_skips_what_it_stands_for_and_moves_the_ledger_to_the_slot() -> None:
    facts = facts_of()
    planned = plan(facts, at("12:10"))
    assert planned.start is not None
    assert planned.decisions == ()
    assert facts.spec is not None
    ledger, decisions = settle_run(planned.ledger, planned.start, "report-1", schedule_text(facts.spec))
    assert clock(ledger.last_decided) == "12:00"
    skip, run = decisions
    assert isinstance(skip, Skip)
    assert (skip.reason, clock(skip.first), clock(skip.last), skip.count) == (
        "Coalesced",
        "10:00",
        "11:00",
        2,
    )
    assert not isinstance(run, Skip)
    assert run.job == "report-1"


def test_section_3_what_waits_has_no_decision_and_the_ledger_stays_before_it() -> None:
    facts = facts_of(
        a_spec(**CATCH_UP), jobs=(a_job("09:00"),), ledger=known("09:30", spec=a_spec(**CATCH_UP))
    )
    planned = plan(facts, at("11:10"))
    assert planned.waiting is not None
    assert (planned.waiting.count, clock(planned.waiting.oldest)) == (2, "10:00")
    assert planned.ledger == facts.ledger
