"""Backfills: which slots of a range are run after all, which are not and why, and what they wait for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from acts import TENANT, a_job, a_spec, at, clock, facts_of, known

from cronschedule.api.v1alpha1 import Segment
from cronschedule.core.backfill import Known, Order, next_step

UID = "backfill-1"
ALLOW = {"concurrencyPolicy": "Allow"}


def order(first: str = "06:00", last: str = "12:00", **more: Any) -> Order:
    given: dict[str, Any] = {
        "uid": UID,
        "max_concurrent": 1,
        "rerun_failed": False,
        "include_suspended": False,
        "dry_run": False,
    }
    return Order(first=at(first), last=at(last), **(given | more))


def stretch(first: str, last: str, fate: str) -> Segment:
    count = (at(last) - at(first)) // 3600 + 1
    return Segment(first=at(first), last=at(last), count=count, fate=fate)


OUTAGE = (
    stretch("03:00", "05:00", "Run"),
    stretch("06:00", "11:00", "Skipped"),
    stretch("12:00", "12:00", "Run"),
)


def carried_out(
    wanted: Order,
    decided: Sequence[Segment] = OUTAGE,
    *,
    spec: dict[str, Any] | None = None,
    jobs: tuple[Any, ...] = (),
    failed: tuple[str, ...] = (),
    **facts: Any,
) -> tuple[dict[str, str], str | None]:
    """Hourly, decided up to 12:30: what became of each slot until it waits or is done; each run ends at once."""
    told: dict[str, str] = {}
    settled_until = 0
    found = facts_of(a_spec(**(spec or {})), jobs=jobs, **({"since": "12:30"} | facts))
    while True:
        seen = Known(facts=found, decided=tuple(decided), failed={at(slot) for slot in failed}, busy=False)
        step = next_step(wanted, seen, settled_until=settled_until)
        for segment in step.settled:
            for slot in range(segment.first, segment.last + 1, 3600):
                assert clock(slot) not in told, f"{clock(slot)} was settled twice"
                told[clock(slot)] = segment.fate
            settled_until = segment.last
        if step.start is None:
            return told, step.hold
        start = step.start
        kept = tuple(job for job in found.jobs if job.name not in start.replaces)
        made = a_job(clock(start.slot), trigger="Backfill", active=False, backfill=UID)
        assert made.name not in {job.name for job in kept}, "a second Job of that slot"
        found = replace(found, jobs=(*kept, made))


def fates(first: str, last: str, fate: str) -> dict[str, str]:
    return {clock(slot): fate for slot in range(at(first), at(last) + 1, 3600)}


def test_the_slots_that_were_skipped_run_and_the_others_do_not() -> None:
    told, hold = carried_out(order("04:00", "12:00"))
    assert told == fates("04:00", "05:00", "AlreadyRan") | fates("06:00", "11:00", "Run") | {
        "12:00": "AlreadyRan"
    }
    assert hold is None


def test_nothing_runs_of_which_it_is_not_known_that_it_did_not() -> None:
    decided = (stretch("07:00", "08:00", "Mixed"), stretch("09:00", "10:00", "Skipped"))
    told, _ = carried_out(order("05:00", "12:00"), decided)
    assert told == fates("05:00", "08:00", "NotRecorded") | fates("09:00", "10:00", "Run") | fates(
        "11:00", "12:00", "NotRecorded"
    )


def test_a_suspension_window_is_not_run_unless_that_is_asked_for_and_allowed() -> None:
    decided = (stretch("06:00", "07:00", "Suspended"), stretch("08:00", "12:00", "Skipped"))
    assert carried_out(order(), decided)[0] == fates("06:00", "07:00", "Suspended") | fates(
        "08:00", "12:00", "Run"
    )
    assert carried_out(order(include_suspended=True), decided)[0] == fates("06:00", "12:00", "Run")


def test_a_dry_run_starts_nothing_and_tells_it_all_even_while_suspended() -> None:
    decided = (stretch("06:00", "07:00", "Suspended"), stretch("08:00", "12:00", "Skipped"))
    told, hold = carried_out(
        order(dry_run=True), decided, jobs=(a_job("09:00", active=False),), tenant_suspended=TENANT
    )
    assert told == fates("06:00", "07:00", "Suspended") | fates("08:00", "12:00", "WouldRun") | {
        "09:00": "AlreadyRan"
    }
    assert hold is None


def test_a_slot_with_a_job_is_not_run_again() -> None:
    told, _ = carried_out(order("06:00", "07:00"), jobs=(a_job("06:00", active=False),))
    assert told == {"06:00": "AlreadyRan", "07:00": "Run"}


def test_its_own_job_is_its_run_even_if_that_was_not_recorded() -> None:
    mine = a_job("06:00", trigger="Backfill", active=False, backfill=UID)
    assert carried_out(order("06:00", "06:00"), jobs=(mine,))[0] == {"06:00": "Run"}


@pytest.mark.parametrize("job", [True, False], ids=["its Job is there", "only its row is"])
def test_failed_runs_run_again_only_where_that_is_asked_for(*, job: bool) -> None:
    jobs = (a_job("04:00", active=False, failed=True), a_job("05:00", active=False)) if job else ()
    for again, fate in ((True, "Run"), (False, "AlreadyRan")):
        told, _ = carried_out(order("03:00", "05:00", rerun_failed=again), jobs=jobs, failed=("04:00",))
        assert told == {"03:00": "AlreadyRan", "04:00": fate, "05:00": "AlreadyRan"}


@pytest.mark.parametrize(
    ("hold", "spec", "more"),
    [
        ("RunActive", {}, {"jobs": (a_job(None, trigger="Manual"),)}),
        ("RunActive", {"concurrencyPolicy": "Replace"}, {"jobs": (a_job("12:00"),)}),
        ("MaxConcurrentReached", ALLOW, {"jobs": (a_job("05:00", trigger="Backfill"),)}),
        (None, ALLOW, {"jobs": (a_job("12:00"), a_job(None, trigger="Manual"))}),
        ("Suspended", {}, {"tenant_suspended": TENANT}),
        ("Suspended", {"suspend": True}, {}),
        ("Suspended", {}, {"ledger": known("12:30", suspended="12:10", reason="TenantSuspended")}),
        ("Undecided", {}, {"since": "05:30"}),
    ],
)
def test_it_waits_for_what_goes_before(hold: str | None, spec: dict[str, Any], more: dict[str, Any]) -> None:
    told, found = carried_out(order("06:00", "11:00"), spec=spec, **more)
    assert found == hold
    assert told == ({} if hold else fates("06:00", "11:00", "Run"))


def test_the_slots_of_the_schedule_itself_go_first() -> None:
    seen = Known(facts=facts_of(since="12:30"), decided=OUTAGE, failed=(), busy=True)
    assert next_step(order(), seen, settled_until=0).hold == "LiveWork"


def test_a_year_of_minutes_that_ran_is_settled_at_one_look() -> None:
    first, last = at("06:00"), at("06:00") + 525_600 * 60
    decided = (Segment(first=first, last=last, count=525_601, fate="Run"),)
    facts = facts_of(a_spec(schedule="* * * * *"), ledger=replace(known("12:00"), last_decided=last))
    step = next_step(
        replace(order(), last=last),
        Known(facts=facts, decided=decided, failed=(), busy=False),
        settled_until=0,
    )
    assert step.settled == (Segment(first=first, last=last, count=525_601, fate="AlreadyRan"),)
    assert step.done
