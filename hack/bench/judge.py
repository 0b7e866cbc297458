"""The judge of a soak: records of what the API server did → every way in which a promise was broken.

Pure, like the records and the rules that it goes by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from bench.records import Case, Evidence, cases, counts_of, decided_until, skips_of
from bench.rules import RULES

SHOWN = 5
"""Violations of one rule that are told for one schedule; the rest is only counted."""


@dataclass(frozen=True, kw_only=True)
class Violation:
    """One broken promise: which rule, of which schedule, and a sentence with the evidence."""

    rule: str
    schedule: str
    text: str

    def __str__(self) -> str:
        return f"{self.schedule}: {self.rule}: {self.text}"


@dataclass(frozen=True, kw_only=True)
class Totals:
    """How much there was to judge. `slots`, `runs`, `skips`: by the final statuses; `jobs`: by the audit log.

    `orphans`: Jobs whose creator was killed before it had recorded them; `suspended`: slots within suspensions.
    """

    schedules: int
    slots: int
    runs: int
    skips: Mapping[str, int]
    jobs: int
    writes: int
    ends: int
    orphans: int
    suspended: int


def judge(evidence: Evidence) -> list[Violation]:
    """Every violation. An empty list means that the promises were kept."""
    found = []
    for case in cases(evidence):
        for rule in RULES:
            texts = list(dict.fromkeys(rule(case)))
            if len(texts) > SHOWN:
                texts = [*texts[:SHOWN], f"… and {len(texts) - SHOWN} more like these"]
            name = rule.__name__.replace("_", " ")
            found += [Violation(rule=name, schedule=case.schedule.name, text=text) for text in texts]
    return found


def totals(evidence: Evidence) -> Totals:
    """What was judged, in numbers: a judge that saw nothing finds nothing."""
    judged = cases(evidence)
    skips: Counter[str] = Counter()
    for case in judged:
        skips.update(skips_of(case.final))
    return Totals(
        schedules=len(judged),
        slots=sum(len(case.slots(decided_until(case.final) or 0)) for case in judged),
        runs=sum(counts_of(case.final)["runs"] for case in judged),
        skips=dict(sorted(skips.items())),
        jobs=len(evidence.created),
        writes=len(evidence.writes),
        ends=len({end.uid for end in evidence.ended}),
        orphans=sum(_orphans(case, evidence.kills) for case in judged),
        suspended=sum(_suspended(case) for case in judged),
    )


def _orphans(case: Case, kills: Sequence[float]) -> int:
    recorded = [(job.at, case.told_at.get(job.slot, inf)) for job in case.created if case.decisions]
    return sum(any(created < kill < told for kill in kills) for created, told in recorded)


def _suspended(case: Case) -> int:
    slots = case.slots(case.until)
    return sum(any(begin <= slot < end for begin, end in case.schedule.suspended) for slot in slots)
