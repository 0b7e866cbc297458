"""The judge: from what the API server saw, every way in which a promise was broken (`semantics.md §1, §4, §5, §7`).

Pure. It knows what slots exist and what the operator wrote, never what the operator thought. A status that a test
wiped begins a new account; what Jobs were created counts over all of them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from cronschedule.api.shapes import format_time, parse_time
from cronschedule.core.slots import Slots, slots_of
from integration.world import JobMade, StatusWritten, Story

Body = dict[str, Any]
Window = tuple[int, int]

LARGEST_STATUS = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class Case:
    """One schedule. In each of `suspended`, [first, last], no Job may be created: the operator knew.

    Every slot up to `until` must be decided in the end.
    """

    uid: str
    created: int
    until: int
    suspended: Sequence[Window] = ()


@dataclass(frozen=True)
class Decision:
    """What became of a slot, told at `at`. Of runs: the trigger, and how many slots since which it stands for."""

    slot: int
    at: int = field(default=0, compare=False)
    reason: str = ""
    job: str = ""
    trigger: str = ""
    stands_for: tuple[int, int] = (0, 0)

    def __str__(self) -> str:
        return f"{format_time(self.slot)} {self.job or self.reason}"


@dataclass(kw_only=True)
class Account:
    """The statuses of one schedule between two losses, and the decisions that they tell."""

    uid: str
    created: int
    statuses: list[StatusWritten] = field(default_factory=list)
    decisions: dict[int, Decision] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def read(self) -> None:
        """Go through the statuses in order."""
        before: Body = {}
        for written in self.statuses:
            status = written.status
            if "lastDecidedTime" not in status:
                self.problems.append(f"a status without a ledger was written at {format_time(written.at)}")
                continue
            self.problems += _shape(status)
            self._read_new(before, status, written.at)
            before = status

    def _read_new(self, before: Body, status: Body, at: int) -> None:
        """Compare two statuses: each slot that the ledger passed is in exactly one row, and all are counted."""
        start, end = self._decided(before, status), parse_time(status["lastDecidedTime"])
        if end < start:
            self.problems.append(f"the ledger moved back from {format_time(start)} to {format_time(end)}")
            return
        slots = _slots(before or status)  # none while the spec is invalid
        passed = list(slots.between(start, end)) if slots is not None else []
        rows = _real_rows(status)
        for slot in passed:
            covering = [row for row in rows if _first(row) <= slot <= parse_time(row["scheduledTime"])]
            if len(covering) != 1:
                self.problems.append(
                    f"{format_time(slot)} is in {len(covering)} rows of {status['lastDecidedTime']}"
                )
                continue
            self.decisions[slot] = _decision(slot, covering[0], at)
        counted = _total(status) - _total(before)
        known = _runs_known_again(status) if not before else 0
        if not before:
            known += self._read_runs_before_an_edit(rows, passed, since=start, at=at)
        if counted != len(passed) + known:
            text = f"up to {status['lastDecidedTime']} {len(passed)} slots passed, {counted - known} were counted"
            self.problems.append(text)
        for name, number in _totals(before).items():
            if _totals(status)[name] < number:
                self.problems.append(f"counts.{name} fell from {number} to {_totals(status)[name]}")

    def _read_runs_before_an_edit(
        self, rows: Sequence[Body], passed: Sequence[int], *, since: int, at: int
    ) -> int:
        """Runs of a schedule that was edited before anything of it was recorded: no slots of the one recorded."""
        runs = [_decision(parse_time(row["scheduledTime"]), row, at) for row in rows if "job" in row]
        early = {run.slot: run for run in runs if run.slot > since and run.slot not in passed}
        self.decisions |= early
        return len(early)

    def _decided(self, before: Body, status: Body) -> int:
        if before:
            return parse_time(before["lastDecidedTime"])
        lost = next((row for row in status.get("runHistory", ()) if row.get("count") == 0), None)
        return parse_time(lost["scheduledTime"]) if lost is not None else self.created


def judge(story: Story, case: Case) -> list[str]:
    """Every broken promise, as a sentence."""
    accounts = accounts_of(story, case)
    jobs = [job for job in story.jobs if job.owner == case.uid]
    problems = [problem for account in accounts for problem in account.problems]
    problems += _jobs_once(jobs)
    problems += _jobs_while_suspended(jobs, case)
    problems += _contradictions(story, case)
    decisions: dict[int, Decision] = {}
    for account in accounts:
        for slot, decision in account.decisions.items():
            before = decisions.setdefault(slot, decision)
            if (before.reason, before.job) != (decision.reason, decision.job):
                problems.append(f"{before}, later {decision}")
    final = accounts[-1].statuses[-1].status if accounts and accounts[-1].statuses else {}
    if "lastDecidedTime" not in final:
        return [*problems, "there is no ledger in the end"]
    problems += _jobs_and_rows([job for job in jobs if not job.backfill], decisions, accounts)
    problems += _backfilled([job for job in jobs if job.backfill], decisions, accounts)
    slots = _slots(final)
    left = list(slots.between(parse_time(final["lastDecidedTime"]), case.until)) if slots is not None else []
    if left:
        problems.append(f"{len(left)} slots since {format_time(left[0])} are undecided in the end")
    return problems


def accounts_of(story: Story, case: Case) -> list[Account]:
    """The statuses that the operator wrote, divided where a test took one away, and what they tell."""
    accounts = [Account(uid=case.uid, created=case.created)]
    for written in story.statuses:
        if written.owner != case.uid:
            continue
        if written.by_operator:
            accounts[-1].statuses.append(written)
        elif "lastDecidedTime" not in written.status:
            accounts.append(Account(uid=case.uid, created=case.created))
    told = [account for account in accounts if account.statuses]
    for account in told:
        account.read()
    return told


def decisions_of(story: Story, case: Case) -> dict[int, Decision]:
    """What became of each slot, as the first status that told of it says."""
    decisions: dict[int, Decision] = {}
    for account in accounts_of(story, case):
        decisions = account.decisions | decisions
    return decisions


def _jobs_once(jobs: Sequence[JobMade]) -> Iterator[str]:
    for slot, number in Counter(job.slot for job in jobs).items():
        if number > 1 and slot is not None:
            yield f"{number} Jobs were created for {format_time(slot)}"


def _jobs_while_suspended(jobs: Sequence[JobMade], case: Case) -> Iterator[str]:
    for job in jobs:
        if any(first <= job.at <= last for first, last in case.suspended):
            yield f"{job.name} was created at {format_time(int(job.at))}, while suspended"


def _contradictions(story: Story, case: Case) -> Iterator[str]:
    """No slot is both run and skipped in any status that was ever written."""
    for written in story.statuses:
        if written.owner != case.uid:
            continue
        runs = {
            parse_time(r["scheduledTime"]) for r in _real_rows(written.status) if r["outcome"] != "Skipped"
        }
        for row in _real_rows(written.status):
            if row["outcome"] == "Skipped":
                both = [slot for slot in runs if _first(row) <= slot <= parse_time(row["scheduledTime"])]
                if both:
                    yield f"{format_time(both[0])} is both run and skipped at {format_time(written.at)}"


def _jobs_and_rows(
    jobs: Sequence[JobMade], decisions: dict[int, Decision], accounts: Sequence[Account]
) -> Iterator[str]:
    """A Job means Run, and Run means a Job."""
    again = {
        row["job"] for account in accounts for row in _real_rows(account.statuses[0].status) if "job" in row
    }
    for job in jobs:
        decision = decisions.get(job.slot or 0)
        if (decision is None or decision.job != job.name) and job.name not in again:
            yield f"{job.name} was created, but its slot is {decision or 'undecided'}"
    made = {job.name for job in jobs}
    for decision in decisions.values():
        if decision.job and decision.job not in made:
            yield f"{decision}, but there was never such a Job"


def _backfilled(
    jobs: Sequence[JobMade], decisions: dict[int, Decision], accounts: Sequence[Account]
) -> Iterator[str]:
    """The Job of a Backfill is for a slot that was skipped, and recorded as its run; what ran is not to run again."""
    final = accounts[-1].statuses[-1].status
    for job in jobs:
        if job.slot is None or not decisions.get(job.slot, Decision(0)).reason:
            yield f"{job.name} of a Backfill is for {decisions.get(job.slot or 0) or 'no decided slot'}"
    recorded = (final.get("counts") or {}).get("backfilled", 0)
    if recorded != len(jobs):
        yield f"{len(jobs)} Jobs were created by Backfills, {recorded} were counted"
    ran = {slot for slot, decision in decisions.items() if decision.job}
    ran |= {job.slot for job in jobs if job.slot is not None}
    for part in final.get("decidedSlots", ()):
        first, last = parse_time(part["first"]), parse_time(part["last"])
        runs = [slot for slot in ran if first <= slot <= last]
        if part["fate"] in ("Skipped", "Suspended") and runs:
            yield f"{format_time(runs[0])} ran, and is said to be {part['fate']}"
        if part["fate"] == "Run" and len(runs) != part["count"]:
            yield f"{len(runs)} of {part['count']} slots ran from {part['first']} to {part['last']}"


def judge_backfill(story: Story, uid: str, body: Body, slots: Slots) -> list[str]:
    """What is wrong with the end of a Backfill: each slot has one result, and `Run` means a Job of its own."""
    spec, status, problems = body["spec"], body.get("status") or {}, []
    first, last = parse_time(spec["from"]), parse_time(spec["to"])
    told = {each["type"]: each["status"] for each in status.get("conditions", ())}
    if told.get("Complete") != "True" or "Reconciling" in told or "Stalled" in told:
        return [f"the Backfill is not complete: {told}"]
    wanted, results = list(slots.between(first - 1, last)), status.get("results", ())
    if sum(status.get("slots", {}).values()) != len(wanted):
        problems.append(f"{status.get('slots')} are the results of {len(wanted)} slots")
    covered = [s for s in wanted for r in results if parse_time(r["first"]) <= s <= parse_time(r["last"])]
    if covered != wanted or sum(result["count"] for result in results) != len(wanted):
        problems.append(f"{len(covered)} of {len(wanted)} slots are in {results}")
    made = [job.slot for job in story.jobs if job.backfill == uid]
    runs = status.get("slots", {}).get("Run", 0)
    if len(made) != runs:
        problems.append(f"{len(made)} Jobs were created, {runs} slots are told as Run")
    ended = sum(status.get(name, 0) for name in ("succeeded", "failed", "deleted"))
    if ended != runs or status.get("activeJobs"):
        problems.append(f"{ended} of {runs} runs have ended")
    if made != sorted(slot or 0 for slot in made):
        problems.append("the runs were not begun oldest first")
    return problems


def _shape(status: Body) -> Iterator[str]:
    """Rows are newest first and do not overlap; a status stays small."""
    newer = None
    for row in _real_rows(status):
        last = parse_time(row["scheduledTime"])
        if _first(row) > last or (newer is not None and last >= newer):
            yield f"the row up to {row['scheduledTime']} is out of order at {status['lastDecidedTime']}"
        newer = _first(row)
    size = len(json.dumps(status))
    if size > LARGEST_STATUS:
        yield f"a status has {size} bytes"


def _real_rows(status: Body) -> list[Body]:
    """The rows about decisions: no lost ledger, and no run after all of a slot that was skipped."""
    rows = status.get("runHistory", ())
    return [row for row in rows if row.get("count") != 0 and row.get("trigger") != "Backfill"]


def _first(row: Body) -> int:
    return parse_time(row.get("firstScheduledTime") or row["scheduledTime"])


def _decision(slot: int, row: Body, at: int) -> Decision:
    if row["outcome"] == "Skipped":
        return Decision(slot, at, reason=row["reason"])
    stands_for = row.get("standsFor")
    return Decision(
        slot,
        at,
        job=row["job"],
        trigger=row["trigger"],
        stands_for=(stands_for["count"], parse_time(stands_for["first"])) if stands_for else (1, slot),
    )


def _slots(status: Body) -> Slots | None:
    text = status.get("schedule")
    return slots_of(text["expression"], text["timeZone"]) if text else None


def _totals(status: Body) -> Counter[str]:
    counts = status.get("counts") or {}
    flat = Counter({name: counts.get(name, 0) for name in ("runs", "succeeded", "failed")})
    flat.update({f"skipped.{reason}": number for reason, number in (counts.get("skipped") or {}).items()})
    return flat


def _total(status: Body) -> int:
    totals = _totals(status)
    return sum(totals.values()) - totals["succeeded"] - totals["failed"]


def _runs_known_again(status: Body) -> int:
    """How many runs were known again from their Jobs where the ledger was lost."""
    rows = status.get("runHistory", ())
    lost = next((place for place, row in enumerate(rows) if row.get("count") == 0), None)
    return 0 if lost is None else len(rows) - lost - 1
