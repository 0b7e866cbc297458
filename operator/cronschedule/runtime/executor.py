"""Carries out what the planner says for one schedule, in the order that survives a crash (`semantics.md §4`).

    1  plan: decisions → rows and totals
    2  while a slot shall run: create its Job, settle it, plan again
    3  what became of Jobs → rows and totals
    4  write the status, with the resourceVersion that all this was computed from
    5  tell: log and Events
    6  mark a schedule that is taken up; delete finished Jobs

Crash points: after 2 (a Job is there, the ledger does not say so) the next plan meets the Job and takes it for the
run that it is; after 4 (the ledger is written, no Event was sent) the row stands and the Event is lost. A crash
within 2 or 6 is the same as one before it: creating and deleting again changes nothing.
"""

import math
from dataclasses import dataclass, field, replace
from random import Random

import structlog

from cronschedule.api.alerts import truncation
from cronschedule.api.conditions import find
from cronschedule.api.reasons import EventReason, SkipReason
from cronschedule.api.v1alpha1 import CronScheduleStatus
from cronschedule.core.asked import record_asked, settle_truncation
from cronschedule.core.facts import Decision, Facts, Note, Plan, Ran, Retry, Skip, Start
from cronschedule.core.history import (
    ASKED,
    forget_slots,
    record_decisions,
    record_lost_ledger,
    record_outcomes,
    record_replaced,
    row_of,
)
from cronschedule.core.jobs import Owner
from cronschedule.core.planner import plan, schedule_text, settle_refusal, settle_run
from cronschedule.core.retention import retain_jobs
from cronschedule.core.status import View, build_status, template_rejection
from cronschedule.runtime.alerts import Alerts
from cronschedule.runtime.backfills import Backfills
from cronschedule.runtime.clock import Clock
from cronschedule.runtime.inventory import Inventory, Key, Snapshot
from cronschedule.runtime.job_calls import (
    Created,
    Outdated,
    Postponed,
    create_run,
    delete_jobs,
    find_run,
    is_run_of,
)
from cronschedule.runtime.kube import Api, Conflict, Invalid, KubeError, NotFound, backoff
from cronschedule.runtime.kube_verbs import CRONSCHEDULES
from cronschedule.runtime.lanes import Lane, Lanes
from cronschedule.runtime.metrics import Metrics
from cronschedule.runtime.recorder import Recorder
from cronschedule.runtime.throttle import Throttle

CONFLICTS_IN_A_ROW = 5

log = structlog.get_logger(__name__)


@dataclass(kw_only=True)
class _Flight:
    """One schedule on its way through the steps."""

    snapshot: Snapshot
    facts: Facts
    status: CronScheduleStatus
    rejected: str | None
    wake: int | None = None
    decisions: list[Decision] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    replaced: list[tuple[str, int]] = field(default_factory=list)
    """Jobs that were deleted, each with the slot that it was deleted for."""


class Unfinished(Exception):
    """A flight that could not record what it did. `wake` is when the next slot is due all the same."""

    def __init__(self, failure: KubeError, *, wake: int | None) -> None:
        super().__init__(str(failure)[:256])
        self.wake = wake


class Executor:
    """`fly(key)` looks at one schedule and does what is due. Only one flight per schedule at a time."""

    def __init__(
        self,
        *,
        api: Api,
        clock: Clock,
        random: Random,
        inventory: Inventory,
        recorder: Recorder,
        throttle: Throttle,
        lanes: Lanes,
        alerts: Alerts,
        metrics: Metrics,
        backfills: Backfills,
    ) -> None:
        self._api = api
        self._clock = clock
        self._random = random
        self._inventory = inventory
        self._recorder = recorder
        self._throttle = throttle
        self._lanes = lanes
        self._alerts = alerts
        self._metrics = metrics
        self._backfills = backfills

    async def fly(self, key: Key) -> int | None:
        """Do what is due; when to look again (UTC seconds), if nothing happens before. Raises `Unfinished`."""
        for attempt in range(1, CONFLICTS_IN_A_ROW + 1):
            flight: _Flight | None = None
            try:
                async with self._lanes.turn(Lane.RUNS):
                    flight = self._begin(key)
                    if flight is None:
                        self._throttle.withdraw(key)
                        return await self._backfills.tell_orphans(key)
                    planned = await self._decide(flight)
                only_waits = planned.start is not None and not flight.decisions
                async with self._lanes.turn(Lane.WAITS if only_waits else Lane.RECORDS):
                    return await self._finish(flight, planned)
            except KubeError as error:
                if flight is None or not await self._may_go_on(flight, error, attempt):
                    raise Unfinished(error, wake=flight.wake if flight else None) from error
        self._throttle.withdraw(key)
        return None

    def _begin(self, key: Key) -> _Flight | None:
        """The schedule as it is known this moment; `None` when it is gone or going."""
        snapshot = self._inventory.snapshot(key)
        if snapshot is None:
            return None
        return _Flight(
            snapshot=snapshot,
            facts=snapshot.facts,
            status=snapshot.status,
            rejected=template_rejection(snapshot.status, snapshot.entry.generation),
        )

    async def _decide(self, flight: _Flight) -> Plan:
        """Steps 1 and 2: plan, and start what shall run."""
        key = flight.snapshot.entry.key
        while True:
            planned = plan(flight.facts, self._clock.now())
            if await self._was_run_after_all(flight, planned):
                continue
            self._record(flight, planned)
            if planned.start is None:
                return planned
            if planned.start.trigger == "CatchUp" and not self._throttle.start(key, planned.start.slot):
                return planned
            await self._try(flight, planned.start)

    async def _finish(self, flight: _Flight, planned: Plan) -> int | None:
        """Steps 3 to 6: record, tell and tidy up. Slots that a Backfill wants come after the schedule's own."""
        flight.wake = planned.wake
        entry = flight.snapshot.entry
        work = await self._backfills.begin(entry.owner, flight.facts, flight.status, own=planned.waiting)
        if planned.start is None and not (work and work.asks):
            self._throttle.withdraw(entry.key)
        await self._write(flight, planned)
        self._tell(flight)
        moments = [planned.wake]
        if work is None or await self._backfills.record(work):
            moments.append(await self._tidy(flight, planned))
        moments.append(work.wake if work else None)
        if planned.start is not None and flight.facts.spec is not None:
            moments.append(planned.start.slot + flight.facts.spec.max_staleness + 1)
        return min((moment for moment in moments if moment is not None), default=None)

    async def _may_go_on(self, flight: _Flight, error: KubeError, attempt: int) -> bool:
        """Whether planning again at once may help: somebody else wrote or deleted the schedule."""
        entry = flight.snapshot.entry
        if isinstance(error, NotFound):
            self._inventory.drop_schedule(entry.key, entry.owner.uid)
            return True
        if isinstance(error, Conflict):
            return attempt < CONFLICTS_IN_A_ROW and await self._read_again(flight.snapshot)
        if isinstance(error, Invalid):  # a status that is not taken leaves no other trace for the owner
            self._recorder.tell_refused(entry.owner, entry.generation, error.message)
        return False

    def _record(self, flight: _Flight, planned: Plan) -> None:
        """Take the plan's decisions into rows, totals and the facts of the next plan."""
        now = self._clock.now()
        for note in planned.notes:
            if note.kind == "LedgerLost":
                jobs = self._inventory.jobs_of(flight.snapshot.entry.owner)
                flight.status = record_lost_ledger(flight.status, note, jobs.values())
        flight.status = record_decisions(flight.status, planned.decisions, now)
        ledger = flight.facts.ledger
        if ledger is not None and ledger.schedule != planned.ledger.schedule:
            flight.status = forget_slots(flight.status)
        flight.decisions += planned.decisions
        flight.notes += planned.notes
        flight.facts = flight.facts.with_ledger(planned.ledger)

    async def _try(self, flight: _Flight, start: Start) -> None:
        """Create the Job of a slot and settle what can be settled."""
        facts, owner = flight.facts, flight.snapshot.entry.owner
        assert facts.spec is not None
        assert facts.ledger is not None
        text = schedule_text(facts.spec)
        replaced = [job for name in start.replaces if (job := flight.snapshot.jobs.get(name)) is not None]
        unsure = facts.retry is not None and facts.retry.start.slot == start.slot and facts.retry.unsure
        attempt = await create_run(self._api, owner, facts.spec, start, replaced=replaced, unsure=unsure)
        if isinstance(attempt, Postponed):
            self._postpone(flight, start, attempt, unsure=unsure or attempt.unsure)
            return
        if isinstance(attempt, Outdated):
            self._inventory.hold_job(attempt.job)
            known = {**self._inventory.jobs_of(owner), attempt.job.name: attempt.job}
            flight.facts = replace(facts, jobs=tuple(job.fact for job in known.values()))
            return
        decisions: tuple[Decision, ...]
        if isinstance(attempt, Created):
            self._inventory.hold_job(attempt.job)
            self._metrics.created(start.slot, start.trigger, self._clock.precise())
            self._replace(flight, start)
            ledger, decisions = settle_run(facts.ledger, start, attempt.job.name, text)
            flight.rejected = None
        else:
            ledger, decisions = settle_refusal(facts.ledger, start, text, attempt.reason, attempt.message)
            if attempt.template:
                flight.rejected = f"No Job can be made of spec.jobTemplate: {attempt.message[:256]}"
        flight.status = record_decisions(flight.status, decisions, self._clock.now())
        flight.decisions += decisions
        flight.facts = replace(
            facts,
            ledger=ledger,
            jobs=tuple(job.fact for job in self._inventory.jobs_of(owner).values()),
            tenant_suspended=self._inventory.suspension_of(owner.namespace),  # it may have come meanwhile
            retry=None,
        )

    def _replace(self, flight: _Flight, start: Start) -> None:
        """The Jobs that the new run replaces are gone for us, even before their deletion is seen."""
        flight.status = record_replaced(flight.status, start.replaces, self._clock.now())
        flight.replaced += [(job, start.slot) for job in start.replaces]
        for name in start.replaces:
            job = flight.snapshot.jobs.get(name)
            if job is not None:
                self._inventory.hold_job(replace(job, deleting=True, version=job.version + 1))

    def _postpone(self, flight: _Flight, start: Start, attempt: Postponed, *, unsure: bool) -> None:
        """Try again later: the slot stays undecided."""
        before = flight.facts.retry
        attempts = before.attempts + 1 if before is not None and before.start.slot == start.slot else 1
        delay = backoff(attempts, random=self._random, retry_after=attempt.retry_after)
        retry = Retry(
            start=start,
            not_before=self._clock.now() + math.ceil(delay),
            attempts=attempts,
            reason=attempt.reason,
            error=attempt.message[:256],
            unsure=unsure,
        )
        owner = flight.snapshot.entry.owner
        self._inventory.retries[owner.uid] = retry
        flight.facts = replace(flight.facts, retry=retry)
        log.warning(
            "run.postponed",
            namespace=owner.namespace,
            schedule=owner.name,
            attempt=attempts,
            failure=retry.error,
            wait=math.ceil(delay),
        )

    async def _was_run_after_all(self, flight: _Flight, planned: Plan) -> bool:
        """Before a slot whose last try had no answer is given up: is its Job there? Then plan with it."""
        retry = flight.facts.retry
        if retry is None or not retry.unsure:
            return False
        given_up = any(
            isinstance(decision, Skip) and decision.first <= retry.start.slot <= decision.last
            for decision in planned.decisions
        )
        if not given_up:
            return False
        owner = flight.snapshot.entry.owner
        job = await find_run(self._api, owner, retry.start)
        sure = replace(retry, unsure=False)
        self._inventory.retries[owner.uid] = sure
        flight.facts = replace(flight.facts, retry=sure)
        if job is not None and is_run_of(job, owner, retry.start):
            self._inventory.hold_job(job)
            flight.facts = replace(flight.facts, jobs=(*flight.facts.jobs, job.fact))
        return True

    async def _write(self, flight: _Flight, planned: Plan) -> None:
        """Write the status if it says anything new, and take the answer for what is known."""
        now = self._clock.now()
        snapshot = flight.snapshot
        entry = snapshot.entry
        jobs = self._inventory.jobs_of(entry.owner)
        known = record_asked(flight.status, jobs.values(), flight.facts.slots)
        known = settle_truncation(known, entry.acknowledged)
        view = View(
            owner=entry.owner,
            before=snapshot.status,
            status=record_outcomes(known, jobs, now),
            plan=planned,
            spec=flight.facts.spec,
            mistakes=snapshot.mistakes,
            rejected=flight.rejected,
            retry=flight.facts.retry,
            active_runs=sum(job.fact.active for job in jobs.values()),
            caught_up=sum(_is_catch_up(decision) for decision in flight.decisions),
            generation=entry.generation,
            now=now,
        )
        flight.status = build_status(view)
        if flight.status != snapshot.status:
            self._inventory.take_answer(await self._recorder.write_status(entry, flight.status))
        self._metrics.saw(entry.key, snapshot.status, flight.status)
        retry = self._inventory.retries.get(entry.owner.uid)
        if retry is not None and retry.start.slot <= planned.ledger.last_decided:
            del self._inventory.retries[entry.owner.uid]

    def _tell(self, flight: _Flight) -> None:
        owner, generation = flight.snapshot.entry.owner, flight.snapshot.entry.generation
        for note in flight.notes:
            self._recorder.tell_note(owner, note)
        for decision in flight.decisions:
            self._metrics.decided(decision)
            if isinstance(decision, Skip):
                self._recorder.tell_skip(owner, decision, row_of(flight.status.run_history, decision))
                self._alert(owner, decision)
            else:
                self._recorder.tell_run(owner, decision)
        for job, slot in flight.replaced:
            self._recorder.tell_replaced(owner, job, slot)
        known = {(row.job, row.scheduled_time, row.trigger) for row in flight.snapshot.status.run_history}
        for row in flight.status.run_history:
            if row.trigger in ASKED and (row.job, row.scheduled_time, row.trigger) not in known:
                self._recorder.tell_asked(owner, row)
        ready = find(flight.status.conditions, "Ready")
        before = find(flight.snapshot.status.conditions, "Ready")
        if ready is None or ready.status != "False" or ready.reason not in list(EventReason):
            return
        if before is None or (before.reason, before.message) != (ready.reason, ready.message):
            self._recorder.tell_invalid(owner, generation, ready.reason, ready.message)

    def _alert(self, owner: Owner, skip: Skip) -> None:
        if skip.reason is not SkipReason.CATCH_UP_CAP_EXCEEDED:
            return
        alert = truncation(
            namespace=owner.namespace,
            schedule=owner.name,
            uid=owner.uid,
            first=skip.first,
            last=skip.last,
            slots=skip.count,
            decided_at=self._clock.now(),
        )
        self._alerts.tell(alert)

    async def _tidy(self, flight: _Flight, planned: Plan) -> int | None:
        """Mark the schedule as taken up and delete finished Jobs; when the next one is due to go."""
        entry = flight.snapshot.entry
        if not entry.adopted:
            # It is not tied to a version, so its answer may be the first that shows what somebody else wrote.
            self._inventory.take_schedule(await self._recorder.mark_adopted(entry))
        spec = flight.facts.spec
        if spec is None:
            return None
        jobs = self._inventory.jobs_of(entry.owner)
        now = self._clock.now()
        retention = retain_jobs(
            list(jobs.values()),
            flight.status.run_history,
            spec,
            last_decided=planned.ledger.last_decided,
            now=now,
        )
        try:
            gone = await delete_jobs(self._api, retention.delete)
        except KubeError as error:
            log.warning("jobs.not_deleted", namespace=entry.owner.namespace, failure=str(error)[:256])
            return now + 60
        for job in gone:
            self._inventory.drop_job(job)
        return retention.wake if len(gone) == len(retention.delete) else now + 60

    async def _read_again(self, snapshot: Snapshot) -> bool:
        """Somebody else wrote the schedule, so what was held is not what is there. Whether that is known now."""
        entry = snapshot.entry
        path = CRONSCHEDULES.path(namespace=entry.owner.namespace, name=entry.owner.name)
        try:
            body = await self._api.request("GET", path)
        except NotFound:
            self._inventory.drop_schedule(entry.key, entry.owner.uid)
            return True
        held = self._inventory.schedules.get(entry.key)
        if held is not None and held.version == entry.version:
            self._inventory.believe_schedule(body)
        held = self._inventory.schedules.get(entry.key)
        return held is None or held.version != entry.version


def _is_catch_up(decision: Decision) -> bool:
    return isinstance(decision, Ran) and decision.start.trigger == "CatchUp"
