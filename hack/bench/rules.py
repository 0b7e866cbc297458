"""The rules of the judge: each is a generator of sentences, one for every way in which a schedule's records break it.

They are those of the promise (`semantics.md §1`): at most one Job object per schedule UID and slot, every slot gets
exactly one decision, final, and nothing is silent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from bench.records import (
    Case,
    JobCreated,
    Status,
    counts_of,
    decided_until,
    rows_of,
    skips_of,
    slots_of,
)
from bench.times import MINUTE, show

Rule = Callable[[Case], Iterator[str]]

THRESHOLD = 60
"""The operator's misfireThreshold, in seconds: a slot later than that was missed."""

IN_FLIGHT = 5
"""Seconds that a request may take from the decision that a slot is not too late to the Job on the API server."""

FINAL = ("Succeeded", "Failed", "Replaced", "Deleted")


# Jobs


def one_job_per_slot(case: Case) -> Iterator[str]:
    """§1: at most one Job object, whatever became of the first."""
    by_slot: dict[int, list[JobCreated]] = {}
    for job in case.created:
        by_slot.setdefault(job.slot, []).append(job)
    for slot, jobs in by_slot.items():
        if len(jobs) > 1:
            yield f"{len(jobs)} Jobs were created for {show(slot)}: {', '.join(job.uid for job in jobs)}"


def only_due_slots_run(case: Case) -> Iterator[str]:
    """A Job is for a slot that exists and has come: never early, never from before the schedule."""
    for job in case.created:
        if job.slot not in case.slots(int(job.at)):
            yield f"{job.job} was created at {show(job.at)} for {show(job.slot)}, which is no due slot"


def oldest_first(case: Case) -> Iterator[str]:
    """§3 rule 2: whatever the policy, no Job is created for an older slot than one before it."""
    for earlier, later in zip(case.created, case.created[1:], strict=False):
        if later.slot < earlier.slot:
            yield f"the Job of {show(later.slot)} was created after that of {show(earlier.slot)}"


def no_overlap(case: Case) -> Iterator[str]:
    """§3 rule 4: under Forbid and Replace, no Job is created while another one of the schedule is active."""
    if case.schedule.concurrency_policy == "Allow":
        return
    for position, job in enumerate(case.created):
        for other in case.created[:position]:
            end = case.ended.get(other.uid)
            if end is None or end.version > job.version:
                yield f"{job.job} was created while {other.job} was active"


def nothing_too_late(case: Case) -> Iterator[str]:
    """§3 rules 2 and 3: no run later than maxStaleness, and under Skip none that was missed."""
    limit = case.schedule.max_staleness
    if case.schedule.misfire_policy == "Skip":
        limit = min(limit, THRESHOLD)
    for job in case.created:
        if job.at - job.slot > limit + IN_FLIGHT:
            yield f"{job.job} was created {job.at - job.slot:.0f} s late; {limit} s are allowed"


def nothing_runs_while_suspended(case: Case) -> Iterator[str]:
    """§5: once the operator knows of it, a suspension lets no Job be created, not then and not afterwards."""
    for begin, end in case.schedule.suspended:
        known = begin + case.notice
        for job in case.created:
            if known <= job.at < end:
                yield f"{job.job} was created at {show(job.at)}; the tenant was suspended since {show(begin)}"
            elif known < end <= job.at and begin <= job.slot < end:
                yield f"{job.job} was created for a slot of the suspension from {show(begin)} to {show(end)}"


# The ledger over time


def every_write_is_fenced(case: Case) -> Iterator[str]:
    """§4: a status is written only in place of the very version that it was computed from."""
    for write in case.writes:
        if write.based_on is None:
            yield f"a status was written without a resourceVersion, up to {_moment(write.status)}"
    for version, count in Counter(write.based_on for write in case.writes).items():
        if version is not None and count > 1:
            yield f"{count} statuses were accepted in place of version {version}"


def ledger_moves_forward(case: Case) -> Iterator[str]:
    """§4: `lastDecidedTime` never moves back and never goes away."""
    newest: int | None = None
    for write in case.writes:
        decided = decided_until(write.status)
        if decided is None:
            if newest is not None:
                yield f"lastDecidedTime was {show(newest)} and then gone"
            continue
        if newest is not None and decided < newest:
            yield f"lastDecidedTime went back from {show(newest)} to {show(decided)}"
        newest = max(decided, newest or decided)


def totals_only_grow(case: Case) -> Iterator[str]:
    """§7: rows fall off, totals do not."""
    highest: Counter[str] = Counter()
    for write in case.writes:
        now = counts_of(write.status)
        for name, number in highest.items():
            if now[name] < number:
                yield f"counts.{name} fell from {number} to {now[name]}"
        highest |= now


def every_slot_is_counted(case: Case) -> Iterator[str]:
    """§7: slots decided = runs + skips, in every status that was ever written."""
    for write in case.writes:
        decided = decided_until(write.status)
        if decided is None:
            continue
        existed = len(case.slots(decided))
        counted = counts_of(write.status)["runs"] + sum(skips_of(write.status).values())
        if counted != existed:
            yield f"{existed} slots existed up to {show(decided)}, but runs + skips = {counted}"


def rows_say_what_they_count(case: Case) -> Iterator[str]:
    """§7: a row about several slots is about adjacent ones, and none is ahead of the ledger."""
    for write in case.writes:
        decided = decided_until(write.status)
        for row in rows_of(write.status):
            slots = slots_of(row)
            if len(slots) != row.get("count", 1):
                yield f"a row up to {row['scheduledTime']} is about {len(slots)} slots and counts {row.get('count', 1)}"
            if slots and (decided is None or slots[-1] > decided):
                yield f"a row is about {show(slots[-1])}, but lastDecidedTime is {_moment(write.status)}"


def decisions_are_final(case: Case) -> Iterator[str]:
    """§1: exactly one decision per slot: never both run and skipped, never changed."""
    if case.decisions:  # going through them finds the contradictions
        yield from case.contradictions


def outcomes_are_final(case: Case) -> Iterator[str]:
    """A run that has ended stays as it ended."""
    ended: dict[str, str] = {}
    for write in case.writes:
        for job, outcome in _outcomes(write.status).items():
            if ended.get(job, outcome) != outcome:
                yield f"{job} was {ended[job]}, then {outcome}"
            if outcome in FINAL:
                ended.setdefault(job, outcome)


# The ledger against the Jobs


def ledger_and_jobs_agree(case: Case) -> Iterator[str]:
    """§1: `Run` means that a Job was created for the slot, and a Job that was created means `Run`."""
    jobs = {job.slot: job.job for job in case.created}
    for slot, job in jobs.items():
        decision = case.decisions.get(slot)
        if decision is None:
            yield f"{job} was created, but no status ever told of {show(slot)}"
        elif decision.job != job:
            yield f"{job} was created, but {show(slot)} was {decision}"
    for slot, decision in case.decisions.items():
        if decision.job and slot not in jobs:
            yield f"{show(slot)} was {decision}, but no such Job was ever created"


def outcomes_are_true(case: Case) -> Iterator[str]:
    """What the rows say of how a run ended is what became of its Job."""
    told: dict[str, str] = {}
    for write in case.writes:
        told |= _outcomes(write.status)
    for job in case.created:
        outcome, end = told.get(job.job), case.ended.get(job.uid)
        if outcome not in FINAL:
            continue
        if end is None:
            yield f"{job.job} is {outcome} in the rows, but its Job never ended"
        elif outcome != end.outcome and (outcome, end.outcome) != ("Replaced", "Deleted"):
            yield f"{job.job} is {outcome} in the rows, but its Job {end.outcome.lower()}"


def runs_are_counted(case: Case) -> Iterator[str]:
    """§7: the totals of runs, and of how those that are not active any more ended, are those of the Jobs."""
    counts = counts_of(case.final)
    outcomes = _outcomes(case.final)
    due = [job for job in case.created if job.slot <= (decided_until(case.final) or 0)]
    if counts["runs"] != len(due):
        yield f"counts.runs is {counts['runs']}, but {len(due)} Jobs were created"
    told = [case.ended[job.uid] for job in due if outcomes.get(job.job) != "Active" and job.uid in case.ended]
    for name in ("succeeded", "failed"):
        jobs = sum(end.outcome.lower() == name for end in told)
        if counts[name] != jobs:
            yield f"counts.{name} is {counts[name]}, but {jobs} Jobs {name}"


def nothing_is_silent(case: Case) -> Iterator[str]:
    """§1: every slot up to the end is decided, or waits in a backlog that is told, and some status told how."""
    decided = decided_until(case.final)
    waiting = (case.final.get("backlog") or {}).get("waiting", 0)
    if decided is None or case.until - decided > waiting * MINUTE:
        yield f"the ledger ends at {_moment(case.final)}; slots up to {show(case.until)} were due"
    for slot in case.slots(min(decided or 0, case.until)):
        if slot not in case.decisions:
            yield f"{show(slot)} is behind the ledger, but no status ever told its decision"


def skips_are_of_the_policy(case: Case) -> Iterator[str]:
    """§3: slots are only skipped for reasons that the policy has."""
    for reason, number in skips_of(case.final).items():
        if number and reason not in case.schedule.expected_skips:
            yield f"{number} slots were skipped as {reason} under {case.schedule.misfire_policy}"


RULES: tuple[Rule, ...] = (
    one_job_per_slot,
    only_due_slots_run,
    oldest_first,
    no_overlap,
    nothing_too_late,
    nothing_runs_while_suspended,
    every_write_is_fenced,
    ledger_moves_forward,
    totals_only_grow,
    every_slot_is_counted,
    rows_say_what_they_count,
    decisions_are_final,
    outcomes_are_final,
    ledger_and_jobs_agree,
    outcomes_are_true,
    runs_are_counted,
    nothing_is_silent,
    skips_are_of_the_policy,
)


def _moment(status: Status) -> str:
    decided = decided_until(status)
    return "nowhere" if decided is None else show(decided)


def _outcomes(status: Status) -> dict[str, str]:
    """How the runs of the rows stand, by Job."""
    return {row["job"]: row["outcome"] for row in rows_of(status) if row.get("job")}
