"""The life of a schedule, as Hypothesis makes it up: clocks, edits, suspensions, runs that end, refusals, crashes.

`Life` is the operator's part done in the plainest way, with a ledger that is written late or not at all, and it
watches over what semantics.md promises.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from acts import NAME, TENANT, a_spec, at, clock, create, facts_of
from hypothesis import strategies as st

from cronschedule.api.names import job_name
from cronschedule.api.reasons import SkipReason
from cronschedule.core.facts import Decision, Facts, JobFact, Ledger, Plan, Retry, Skip, Start
from cronschedule.core.planner import plan, schedule_text, settle_refusal, settle_run
from cronschedule.core.slots import slots_of

Answer = Literal["created", "quota", "rejected", "later"]
"""What the API server says to a Job."""

SCHEDULES = ["0 * * * *", "*/10 * * * *", "* * * * *", "30 2 * * *", "7,*/20 * * * *", "0 0 30 2 *"]
ZONES = ["Etc/UTC", "Europe/Berlin", "Australia/Lord_Howe"]

SPECS = st.fixed_dictionaries(
    {
        "schedule": st.sampled_from(SCHEDULES[:-1]),
        "timeZone": st.sampled_from(ZONES),
        "maxStaleness": st.sampled_from(["1m", "5m", "1h", "24h"]),
        "suspend": st.sampled_from([False, False, False, True]),
    }
).flatmap(
    lambda fields: st.sampled_from(
        [
            fields | {"misfirePolicy": "FireOnce", "concurrencyPolicy": "Forbid"},
            fields | {"misfirePolicy": "FireOnce", "concurrencyPolicy": "Allow"},
            fields | {"misfirePolicy": "FireOnce", "concurrencyPolicy": "Replace"},
            fields | {"misfirePolicy": "Skip", "concurrencyPolicy": "Forbid"},
            fields | {"misfirePolicy": "Skip", "concurrencyPolicy": "Replace"},
            fields | {"misfirePolicy": "CatchUp", "concurrencyPolicy": "Forbid", "catchUp": {"maxRuns": 2}},
            fields
            | {"misfirePolicy": "CatchUp", "concurrencyPolicy": "Allow", "catchUp": {"maxConcurrent": 2}},
            fields
            | {
                "misfirePolicy": "CatchUp",
                "concurrencyPolicy": "Allow",
                "catchUp": {"maxRuns": 5, "maxAge": "5m"},
            },
        ]
    )
)

ANSWERS = st.lists(
    st.sampled_from(["created", "created", "created", "created", "quota", "rejected", "later"]),
    min_size=1,
    max_size=4,
)
SECONDS = st.sampled_from([0, 1, 30, 59, 60, 61, 300, 600, 3599, 3600, 7200, 86400, 200_000]) | st.integers(
    0, 9000
)
EVENTS = st.one_of(
    st.tuples(st.just("look"), SECONDS, ANSWERS),
    st.tuples(st.just("look"), SECONDS, ANSWERS),
    st.tuples(st.just("crash"), SECONDS, ANSWERS, st.integers(0, 6)),
    st.tuples(st.just("clock set back"), SECONDS),
    st.tuples(st.just("edit"), SPECS),
    st.tuples(st.just("broken edit")),
    st.tuples(st.just("tenant"), st.booleans()),
    st.tuples(st.just("runs end"), st.integers(0, 3)),
    st.tuples(st.just("run by hand")),
)
LIVES = st.lists(EVENTS, min_size=1, max_size=30)


@dataclass
class Life:
    """One schedule; `written` is the ledger as it is on the API server, `decided` what was written with it."""

    facts: Facts
    now: int = at("09:30")
    written: Ledger | None = None
    decided: dict[tuple[str, int], str] = field(default_factory=dict)
    created: set[str] = field(default_factory=set)
    unwritten: list[Decision] = field(default_factory=list)
    steps_left: int | None = None

    @classmethod
    def of(cls, fields: dict[str, Any]) -> "Life":
        return cls(facts_of(a_spec(**fields), since=None, created=at("09:30")))

    def live(self, events: list[tuple[Any, ...]]) -> None:
        for event in events:
            match event:
                case ("look", seconds, answers):
                    self.now += seconds
                    self.look(answers)
                case ("crash", seconds, answers, steps):
                    self.now += seconds
                    self.steps_left = steps
                    self.look(answers)
                    self.steps_left = None
                    self.facts = replace(self.facts, retry=None)  # retries are kept in memory alone
                case ("clock set back", seconds):
                    self.now -= seconds
                case ("edit", fields):
                    spec = a_spec(**fields)
                    self.facts = replace(self.facts, spec=spec, slots=slots_of(spec.schedule, spec.time_zone))
                case ("broken edit",):
                    self.facts = replace(self.facts, spec=None, slots=None)
                case ("tenant", suspended):
                    self.facts = replace(self.facts, tenant_suspended=TENANT if suspended else None)
                case ("runs end", how_many):
                    self.end_runs(how_many)
                case ("run by hand",):
                    self.run_by_hand()

    def look(self, answers: list[Answer]) -> None:
        """Plan and carry out until nothing is left to do; a crash forgets what is not written yet."""
        self.facts, self.unwritten = replace(self.facts, ledger=self.written), []
        for turn in range(1000):
            planned = plan(self.facts, self.now)
            self.expect_sound(planned)
            self.unwritten += planned.decisions
            self.facts = replace(self.facts, ledger=planned.ledger)
            if planned.start is None:
                if self.may_step():
                    self.write()
                    self.expect_settled()
                return
            if not self.may_step() or not self.try_to_start(planned.start, answers[turn % len(answers)]):
                return
        raise AssertionError("the operator never comes to rest")

    def may_step(self) -> bool:
        """Whether it gets this far before it crashes."""
        if self.steps_left is None:
            return True
        self.steps_left -= 1
        return self.steps_left >= 0

    def try_to_start(self, start: Start, answer: Answer) -> bool:
        """Create, then record; `False` when it crashed in between."""
        spec, ledger = self.facts.spec, self.facts.ledger
        assert spec is not None
        assert ledger is not None
        waits = answer == "later" or (answer == "quota" and spec.misfire_policy == "CatchUp")
        reason = {"quota": SkipReason.QUOTA_EXHAUSTED, "rejected": SkipReason.JOB_REJECTED}.get(answer)
        if waits:
            retry = Retry(
                start=start,
                not_before=self.now + 20,
                attempts=1,
                reason=reason or SkipReason.CREATE_FAILED,
                error="Not now.",
            )
            self.facts = replace(self.facts, retry=retry)
            return True
        text = schedule_text(spec)
        if reason is not None:
            ledger, decisions = settle_refusal(ledger, start, text, reason, "No.")
        else:
            self.facts = create(self.facts, start)
            name = job_name(NAME, start.slot)
            assert name not in self.created, f"a second Job {name}"
            self.created.add(name)
            if not self.may_step():
                return False
            ledger, decisions = settle_run(ledger, start, name, text)
        self.unwritten += decisions
        self.facts = replace(self.facts, ledger=ledger, retry=None)
        return True

    def write(self) -> None:
        """The ledger and the decisions reach the API server together."""
        ledger = self.facts.ledger
        assert ledger is not None
        before = self.written or Ledger(last_decided=self.facts.created, schedule=ledger.schedule)
        assert ledger.last_decided >= before.last_decided, "the ledger moved back"
        self.expect_complete(before, ledger)
        self.written, self.unwritten = ledger, []
        self.facts = replace(self.facts, adopted=True)

    def expect_complete(self, before: Ledger, after: Ledger) -> None:
        """Every slot that the ledger passes has one decision, in slot order, and no other slot has."""
        told = [(slot, word) for decision in self.unwritten for slot, word in words_of(decision)]
        slots = [slot for slot, _ in told]
        assert slots == sorted(set(slots)), "out of order, or twice"
        if before.schedule is None:
            assert slots == []
            return
        known = slots_of(before.schedule.expression, before.schedule.time_zone)
        until = after.last_decided if before.schedule == after.schedule else self.now
        assert slots == list(known.between(before.last_decided, until))
        for slot, word in told:
            key = (NAME, slot)
            assert key not in self.decided, f"{clock(slot)} was decided twice"
            self.decided[key] = word

    def expect_sound(self, planned: Plan) -> None:
        """What holds for each plan by itself."""
        suspended = planned.ledger.suspension is not None
        start, spec = planned.start, self.facts.spec
        assert suspended == (self.facts.tenant_suspended is not None or self.is_suspended(planned))
        if planned.wake is not None:
            assert planned.wake > self.now
        if spec is None or suspended:
            assert start is None
            return
        active = [job for job in self.facts.jobs if job.active]
        if spec.misfire_policy == "CatchUp" and self.facts.retry is None:
            assert planned.waiting is None or planned.waiting.count <= spec.catch_up.max_runs
        if start is None:
            return
        assert self.now - start.slot <= spec.max_staleness
        assert start.slot > planned.ledger.last_decided
        assert start.slot <= self.now
        if spec.concurrency_policy == "Forbid":
            assert active == []
        if spec.concurrency_policy == "Replace":
            assert {job.name for job in active} == set(start.replaces)
        if start.trigger == "CatchUp":
            assert spec.misfire_policy == "CatchUp"
            assert sum(job.trigger == "CatchUp" for job in active) < spec.catch_up.max_concurrent

    def is_suspended(self, planned: Plan) -> bool:
        """By itself: a spec that cannot be read has not resumed."""
        if self.facts.spec is not None:
            return self.facts.spec.suspend
        known = planned.ledger.suspension
        return known is not None and known.reason == SkipReason.SCHEDULE_SUSPENDED

    def expect_settled(self) -> None:
        """Planning again at the same moment changes nothing."""
        again = plan(self.facts, self.now)
        assert (again.decisions, again.notes, again.start) == ((), (), None)
        assert again.ledger == self.facts.ledger

    def end_runs(self, how_many: int) -> None:
        """The oldest active runs end; a Job that is recorded and over is cleaned up."""
        jobs = list(self.facts.jobs)
        for job in [job for job in jobs if job.active][:how_many]:
            jobs[jobs.index(job)] = replace(job, active=False)
        recorded = self.written.last_decided if self.written is not None else self.facts.created
        kept = [job for job in jobs if job.active or (job.slot is not None and job.slot > recorded)]
        self.facts = replace(self.facts, jobs=tuple(kept))

    def run_by_hand(self) -> None:
        name = f"{NAME}-by-hand-{len(self.facts.jobs)}-{self.now}"
        job = JobFact(name=name, slot=None, trigger="Manual", active=True)
        self.facts = replace(self.facts, jobs=(*self.facts.jobs, job))


def words_of(decision: Decision) -> list[tuple[int, str]]:
    if not isinstance(decision, Skip):
        return [(decision.start.slot, decision.start.trigger)]
    slots = slots_of(decision.schedule.expression, decision.schedule.time_zone)
    found = list(slots.between(decision.first - 1, decision.last))
    assert (found[0], found[-1], len(found)) == (decision.first, decision.last, decision.count)
    return [(slot, decision.reason.value) for slot in found]
