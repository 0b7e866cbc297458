"""Works Backfills off, in the flights of their schedule: so they never race with its own decisions and records.

    1  what is final without a run gets its result; the next slot gets its Job, if nothing goes before it
    2  (the executor records the run in the schedule's status)
    3  the Backfill's status is written

A crash after 1 leaves a Job that says whose it is; the next flight records it. The oldest Backfill of a schedule goes
first, one at a time.
"""

import math
from dataclasses import dataclass, field, replace
from random import Random

import structlog

from cronschedule.api import names
from cronschedule.api.backfill import BackfillSpec, BackfillStatus, Fate
from cronschedule.api.reasons import SkipReason
from cronschedule.api.v1alpha1 import CronScheduleStatus, Segment
from cronschedule.core.backfill import HOLDS, Known, Order, failed_slots, next_step
from cronschedule.core.backfill_status import (
    State,
    done,
    with_jobs,
    with_results,
)
from cronschedule.core.facts import Facts, Start, Waiting
from cronschedule.core.jobs import Owner, SeenJob
from cronschedule.runtime.backfill_store import Backfill, BackfillRetry, BackfillStore, schedule_of
from cronschedule.runtime.clock import Clock
from cronschedule.runtime.inventory import Inventory, Key
from cronschedule.runtime.job_calls import Attempt, Created, Outdated, Postponed, create_run
from cronschedule.runtime.kube import Api, KubeError, backoff
from cronschedule.runtime.throttle import Throttle

LOOK_AGAIN = 5
"""Seconds after a status could not be written."""

log = structlog.get_logger(__name__)


@dataclass(kw_only=True)
class Work:
    """One Backfill in a flight: its status as it will be written."""

    entry: Backfill
    status: BackfillStatus
    state: State | None = None
    started: list[str] = field(default_factory=list)
    wake: int | None = None
    asks: bool = False
    """Whether it waits for its turn in the catch-up budget."""


class Backfills:
    """`begin` and `record` are called in a flight of the schedule."""

    def __init__(
        self,
        *,
        api: Api,
        store: BackfillStore,
        clock: Clock,
        random: Random,
        inventory: Inventory,
        throttle: Throttle,
        include_suspended: bool,
    ) -> None:
        self._api = api
        self._store = store
        self._clock = clock
        self._random = random
        self._inventory = inventory
        self._throttle = throttle
        self._include_suspended = include_suspended

    async def begin(
        self, owner: Owner, facts: Facts, status: CronScheduleStatus, *, own: Waiting | None
    ) -> Work | None:
        """Settle and start what can be, of the Backfill whose turn it is. `own`: slots of the schedule that wait."""
        work = None
        for entry in self._store.waiting((owner.namespace, owner.name)):
            if entry.spec is None or entry.mistake:
                await self._tell_stalled(entry, "Invalid", entry.mistake)
            elif facts.spec is None:
                await self._tell_stalled(entry, "ScheduleInvalid", "The CronSchedule's spec cannot be used.")
            elif work is None:
                work = Work(entry=entry, status=entry.status)
                await self._walk(work, entry.spec, owner, facts, status, busy=own)
            else:
                message = f"Backfill {work.entry.owner.name} of the same schedule goes first."
                await self._tell(entry, State(kind="Working", reason="Queued", message=message))
        return work

    async def record(self, work: Work) -> bool:
        """Write what has come of it; whether that stands. If not, it is done again at `work.wake`."""
        owner = work.entry.owner
        assert work.state is not None
        schedule = self._inventory.schedules.get(schedule_of(work.entry))
        jobs = self._inventory.jobs_of(schedule.owner) if schedule is not None else {}
        status = with_jobs(work.status, work.started, jobs)
        state = work.state
        if state.kind == "Done":
            active = len(status.active_jobs)
            message = f"Each slot has its result; runs that are still active: {active}."
            state = State(kind="Working", reason="RunsActive", message=message) if active else done(status)
            state = replace(state, message=state.message + self._advice(work.entry.spec, status))
        if not await self._store.write(work.entry, status, state):
            work.wake = self._clock.now() + LOOK_AGAIN
            return False
        if state.kind == "Done":
            log.info(
                "backfill.done", namespace=owner.namespace, backfill=owner.name, slots=dict(status.slots)
            )
        return True

    def _advice(self, spec: BackfillSpec | None, status: BackfillStatus) -> str:
        asked_in_vain = spec is not None and spec.include_suspended and not self._include_suspended
        if not asked_in_vain or not status.slots.get(Fate.SUSPENDED.value):
            return ""
        return " The operator's settings do not allow includeSuspended."

    def has_yet_to_tell(self, key: Key, job: SeenJob) -> bool:
        """Whether a Job is the run of a Backfill of this schedule that has not recorded it: it must stay till then."""
        return self._store.has_yet_to_tell(key, job)

    async def tell_orphans(self, key: Key) -> int | None:
        """There is no such schedule (any more): nothing can be run. When to tell again, where that failed."""
        waiting = self._store.waiting(key)
        if waiting and not self._inventory.is_ours(key[0]):
            return self._clock.now() + LOOK_AGAIN if key[0] not in self._inventory.tenants else None
        told = True
        for entry in waiting:
            if entry.spec is None:
                told &= await self._tell_stalled(entry, "Invalid", entry.mistake)
            elif key not in self._inventory.schedules:
                message = f"There is no CronSchedule {entry.spec.schedule} in namespace {key[0]}."
                told &= await self._tell_stalled(entry, "ScheduleNotFound", message)
        return None if told else self._clock.now() + LOOK_AGAIN

    async def _walk(
        self,
        work: Work,
        spec: BackfillSpec,
        owner: Owner,
        facts: Facts,
        status: CronScheduleStatus,
        *,
        busy: object,
    ) -> None:
        order = Order(
            uid=work.entry.owner.uid,
            first=spec.first,
            last=spec.last,
            max_concurrent=spec.max_concurrent,
            rerun_failed=spec.on_existing == "RerunFailed",
            include_suspended=spec.include_suspended and self._include_suspended,
            dry_run=spec.dry_run,
        )
        failed = failed_slots(status.run_history)
        unrecorded = {row.job for row in status.run_history if row.outcome == "Active" and row.job}
        while True:
            known = Known(
                facts=facts,
                decided=status.decided_slots,
                failed=failed,
                busy=busy is not None,
                open=unrecorded,
            )
            step = next_step(order, known, settled_until=work.status.settled_until or 0)
            work.status = with_results(work.status, step.settled)
            runs = [segment.first for segment in step.settled if segment.fate == Fate.RUN.value]
            work.started += [names.job_name(owner.name, slot) for slot in runs]
            if step.hold is not None:
                work.wake = self._clock.now() + 1 if step.hold == "Unrecorded" else None
                work.state = State(
                    kind="Paused" if step.hold == "Suspended" else "Working",
                    reason=step.hold,
                    message=HOLDS[step.hold],
                )
                return
            if step.start is None:
                work.state = State(kind="Done", reason="Finished", message="")
                return
            if not await self._start(work, owner, facts, step.start):
                return
            jobs = self._inventory.jobs_of(owner)
            facts = replace(facts, jobs=tuple(job.fact for job in jobs.values()))

    async def _start(self, work: Work, owner: Owner, facts: Facts, start: Start) -> bool:
        """Create the Job of a slot; whether the slot is settled by it."""
        assert facts.spec is not None
        retry = self._store.retries.get(work.entry.owner.uid)
        if retry is not None and self._clock.now() < retry.not_before:
            return self._wait(work, retry)
        if not self._throttle.start((owner.namespace, owner.name), start.slot):
            work.asks = True
            message = "The next slot waits for its turn in the operator's catch-up budget."
            work.state = State(kind="Working", reason="BudgetExhausted", message=message)
            return False
        jobs = self._inventory.jobs_of(owner)
        replaced = [jobs[name] for name in start.replaces if name in jobs]
        unsure = retry is not None and retry.unsure
        attempt: Attempt
        try:
            attempt = await create_run(self._api, owner, facts.spec, start, replaced=replaced, unsure=unsure)
        except KubeError as error:
            failed = SkipReason.CREATE_FAILED
            attempt = Postponed(reason=failed, message=str(error), unsure=unsure, retry_after=None)
        if isinstance(attempt, Outdated):
            self._inventory.hold_job(attempt.job)
        still_there = isinstance(attempt, Created) and attempt.job.backfill != start.backfill and replaced
        if still_there or isinstance(attempt, Outdated):
            message = "The Job that failed is still being deleted."
            attempt = Postponed(reason=SkipReason.CREATE_FAILED, message=message, unsure=False, retry_after=1)
        if isinstance(attempt, Postponed):
            attempts = retry.attempts + 1 if retry is not None else 1
            delay = backoff(attempts, random=self._random, retry_after=attempt.retry_after)
            retry = BackfillRetry(
                not_before=self._clock.now() + math.ceil(delay),
                attempts=attempts,
                message=attempt.message,
                unsure=unsure or attempt.unsure,
            )
            self._store.retries[work.entry.owner.uid] = retry
            return self._wait(work, retry)
        self._store.retries.pop(work.entry.owner.uid, None)
        fate = Fate.RUN
        if isinstance(attempt, Created):
            self._inventory.hold_job(attempt.job)
            mine = attempt.job.backfill == start.backfill
            fate = Fate.RUN if mine else Fate.ALREADY_RAN
            work.started += [attempt.job.name] if mine else []
        else:
            fate = Fate(attempt.reason.value)
        segment = Segment(first=start.slot, last=start.slot, count=1, fate=fate.value)
        work.status = with_results(work.status, [segment])
        return True

    def _wait(self, work: Work, retry: BackfillRetry) -> bool:
        work.wake = retry.not_before
        message = f"The Job of the next slot could not be created yet and is tried again: {retry.message}"
        work.state = State(kind="Working", reason="Retrying", message=message)
        return False

    async def _tell_stalled(self, entry: Backfill, reason: str, message: str) -> bool:
        return await self._tell(entry, State(kind="Stalled", reason=reason, message=message))

    async def _tell(self, entry: Backfill, state: State) -> bool:
        return await self._store.write(entry, entry.status, state)
