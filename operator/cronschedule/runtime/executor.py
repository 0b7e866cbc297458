"""Carries out what the planner says for one schedule, in the order that survives a crash (`semantics.md §4`).

    1  plan: decisions → rows and totals
    2  while a slot shall run: create its Job, settle it, plan again
    3  what became of Jobs → rows and totals
    4  write the status, with the resourceVersion that all this was computed from
    5  tell: log and Events
    6  mark a schedule that is taken up; delete finished Jobs

Crash points: after 2 (a Job is there, the ledger does not say so) the next plan meets the Job and takes it for the
run that it is; after 4 (the ledger is written, no Event was sent) the row stands and the Event is lost. A crash
within 2 or 6 is the same as one before it: creating and deleting again changes nothing. A Job that the new run
replaces is deleted within 2, so its own run must have been through 4 before.
"""

from dataclasses import replace

import structlog

from cronschedule.core.asked import record_asked, settle_truncation
from cronschedule.core.facts import Decision, Plan, Ran, Start
from cronschedule.core.history import forget_slots, record_decisions, record_lost_ledger, record_outcomes
from cronschedule.core.planner import plan
from cronschedule.core.retention import retain_jobs
from cronschedule.core.status import View, build_status, template_rejection
from cronschedule.runtime.backfills import Backfills
from cronschedule.runtime.clock import Clock
from cronschedule.runtime.flight import Flight
from cronschedule.runtime.inventory import Inventory, Key, Snapshot
from cronschedule.runtime.job_calls import delete_jobs
from cronschedule.runtime.kube import Api, Conflict, Invalid, KubeError, NotFound
from cronschedule.runtime.kube_verbs import CRONSCHEDULES
from cronschedule.runtime.lanes import Lane, Lanes
from cronschedule.runtime.metrics import Metrics
from cronschedule.runtime.recorder import Recorder
from cronschedule.runtime.starter import Starter
from cronschedule.runtime.teller import Teller
from cronschedule.runtime.throttle import Throttle

CONFLICTS_IN_A_ROW = 5

log = structlog.get_logger(__name__)


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
        inventory: Inventory,
        recorder: Recorder,
        throttle: Throttle,
        lanes: Lanes,
        metrics: Metrics,
        backfills: Backfills,
        starter: Starter,
        teller: Teller,
    ) -> None:
        self._api = api
        self._clock = clock
        self._inventory = inventory
        self._recorder = recorder
        self._throttle = throttle
        self._lanes = lanes
        self._metrics = metrics
        self._backfills = backfills
        self._starter = starter
        self._teller = teller

    async def fly(self, key: Key) -> int | None:
        """Do what is due; when to look again (UTC seconds), if nothing happens before. Raises `Unfinished`."""
        for attempt in range(1, CONFLICTS_IN_A_ROW + 1):
            flight: Flight | None = None
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

    def _begin(self, key: Key) -> Flight | None:
        """The schedule as it is known this moment; `None` when it is gone or going."""
        snapshot = self._inventory.snapshot(key)
        if snapshot is None:
            return None
        return Flight(
            snapshot=snapshot,
            facts=snapshot.facts,
            status=snapshot.status,
            rejected=template_rejection(snapshot.status, snapshot.entry.generation),
        )

    async def _decide(self, flight: Flight) -> Plan:
        """Steps 1 and 2: plan, and start what shall run."""
        key = flight.snapshot.entry.key
        while True:
            planned = plan(flight.facts, self._clock.now())
            if await self._starter.was_run_after_all(flight, planned):
                continue
            self._record(flight, planned)
            if planned.start is None:
                return planned
            if self._has_to_be_recorded_first(flight, planned.start):
                return replace(planned, start=None, waiting=None, wake=self._clock.now())
            if planned.start.trigger == "CatchUp" and not self._throttle.start(key, planned.start.slot):
                return planned
            await self._starter.start(flight, planned.start)

    def _has_to_be_recorded_first(self, flight: Flight, start: Start) -> bool:
        """Whether a run would be replaced that no status tells of yet. Until one does, its Job is the only record, and
        a crash right after the deletion would leave none."""
        if not start.replaces:
            return False
        jobs = self._inventory.jobs_of(flight.snapshot.entry.owner)
        known = record_asked(flight.status, jobs.values(), flight.facts.slots)
        told = {row.job for row in flight.snapshot.status.run_history}
        return any(row.job in start.replaces and row.job not in told for row in known.run_history)

    async def _finish(self, flight: Flight, planned: Plan) -> int | None:
        """Steps 3 to 6: record, tell and tidy up. Slots that a Backfill wants come after the schedule's own."""
        flight.wake = planned.wake
        entry = flight.snapshot.entry
        work = await self._backfills.begin(entry.owner, flight.facts, flight.status, own=planned.waiting)
        if planned.start is None and not (work and work.asks):
            self._throttle.withdraw(entry.key)
        await self._write(flight, planned)
        self._teller.tell(flight)
        moments = [planned.wake]
        if work is None or await self._backfills.record(work):
            moments.append(await self._tidy(flight, planned))
        moments.append(work.wake if work else None)
        if planned.start is not None and flight.facts.spec is not None:
            moments.append(planned.start.slot + flight.facts.spec.max_staleness + 1)
        return min((moment for moment in moments if moment is not None), default=None)

    async def _may_go_on(self, flight: Flight, error: KubeError, attempt: int) -> bool:
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

    def _record(self, flight: Flight, planned: Plan) -> None:
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

    async def _write(self, flight: Flight, planned: Plan) -> None:
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

    async def _tidy(self, flight: Flight, planned: Plan) -> int | None:
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
            [job for job in jobs.values() if not self._backfills.has_yet_to_tell(entry.key, job)],
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
