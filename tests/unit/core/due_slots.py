"""One case about due slots: a spec, a moment, and what shall become of each slot."""

from dataclasses import dataclass
from typing import Any

from acts import a_spec, at, carry_out, facts_of

CATCH_UP = {"misfirePolicy": "CatchUp", "maxStaleness": "24h"}


@dataclass(frozen=True, kw_only=True)
class Due:
    """Hourly from 09:30 on where nothing else is said; `expected` is slot → what became of it."""

    spec: dict[str, Any]
    now: str
    expected: dict[str, str]
    since: str = "09:30"
    jobs: tuple[Any, ...] = ()
    threshold: int = 60
    waiting: int = 0


def expect(case: Due) -> None:
    facts = facts_of(a_spec(**case.spec), since=case.since, jobs=case.jobs, misfire_threshold=case.threshold)
    carried = carry_out(facts, case.now)
    assert carried.words == case.expected
    assert carried.waiting == case.waiting
    decided = [at(slot) for slot in case.expected]
    assert carried.ledger.last_decided == max(decided, default=at(case.since))
