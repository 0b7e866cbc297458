"""What holds whatever happens: semantics.md §1 ("The promise"), §3, §4, §5."""

from dataclasses import replace
from typing import Any

from acts import TENANT, a_spec, at, carry_out, clock, ended, facts_of, known
from hypothesis import given, settings
from hypothesis import strategies as st
from lives import LIVES, SPECS, Life

from cronschedule.core.facts import Facts
from cronschedule.core.planner import plan

MOMENTS = st.integers(at("08:00"), at("16 12:00"))
LEDGERS = st.integers(at("12 00:00"), at("14 09:30"))


@settings(deadline=None, derandomize=True, max_examples=400)
@given(SPECS, LIVES)
def test_every_slot_gets_one_decision_and_at_most_one_job(fields: dict[str, Any], events: list[Any]) -> None:
    """Also: planning twice changes nothing, suspended starts nothing, caps hold, the ledger never moves back."""
    Life.of(fields).live(events)


def some_facts(fields: dict[str, Any], ledger: int) -> Facts:
    spec = a_spec(**fields)
    return facts_of(spec, ledger=replace(known("09:30", spec=spec), last_decided=ledger))


@settings(deadline=None, derandomize=True, max_examples=150)
@given(SPECS, LEDGERS, MOMENTS, st.integers(0, 100_000))
def test_a_later_moment_never_revives_a_stale_slot(
    fields: dict[str, Any], ledger: int, now: int, later: int
) -> None:
    facts = some_facts(fields, ledger)
    stale = {slot for slot, word in carry_out(facts, clock(now)).words.items() if word == "Stale"}
    runs = {clock(start.slot) for start in carry_out(facts, clock(now + later)).starts}
    assert not stale & runs


@settings(deadline=None, derandomize=True, max_examples=150)
@given(SPECS, LEDGERS, MOMENTS)
def test_a_suspended_tenant_has_no_starts_and_only_one_reason(
    fields: dict[str, Any], ledger: int, now: int
) -> None:
    carried = carry_out(replace(some_facts(fields, ledger), tenant_suspended=TENANT), clock(now))
    assert carried.starts == []
    assert set(carried.words.values()) <= {"TenantSuspended"}


@settings(deadline=None, derandomize=True, max_examples=150)
@given(SPECS, LEDGERS, MOMENTS)
def test_starting_up_late_decides_as_much_as_was_due(fields: dict[str, Any], ledger: int, now: int) -> None:
    """Decisions and what still waits are together the due slots, whatever the policy."""
    facts = some_facts(fields, ledger)
    carried = carry_out(facts, clock(now))
    assert facts.slots is not None
    due = [clock(slot) for slot in facts.slots.between(ledger, now)]
    assert list(carried.words) == due[: len(due) - carried.waiting]


@settings(deadline=None, derandomize=True, max_examples=100)
@given(SPECS, LEDGERS, MOMENTS)
def test_a_backlog_is_worked_off_within_its_caps(fields: dict[str, Any], ledger: int, now: int) -> None:
    spec = a_spec(**fields | {"misfirePolicy": "CatchUp", "concurrencyPolicy": "Allow", "suspend": False})
    facts, runs = facts_of(spec, ledger=replace(known("09:30", spec=spec), last_decided=ledger)), 0
    for _ in range(spec.catch_up.max_runs + 1):
        carried = carry_out(facts, clock(now))
        runs += len(carried.starts)
        assert len(carried.starts) <= spec.catch_up.max_concurrent + 1, "and one on time"
        facts = ended(carried.facts)
    assert runs <= spec.catch_up.max_runs
    assert plan(facts, now).waiting is None
