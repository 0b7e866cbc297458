"""Starts the run of a slot: its Job is created, or refused for good, or tried again later (`semantics.md §4`)."""

import math
from dataclasses import replace
from random import Random

import structlog

from cronschedule.core.facts import Decision, Plan, Retry, Skip, Start
from cronschedule.core.history import record_decisions, record_replaced
from cronschedule.core.planner import schedule_text, settle_refusal, settle_run
from cronschedule.runtime.clock import Clock
from cronschedule.runtime.flight import Flight
from cronschedule.runtime.inventory import Inventory
from cronschedule.runtime.job_calls import Created, Outdated, Postponed, create_run, find_run, is_run_of
from cronschedule.runtime.kube import Api, backoff
from cronschedule.runtime.metrics import Metrics

log = structlog.get_logger(__name__)


class Starter:
    """`start(flight, start)` takes what became of it into the flight, for the next plan."""

    def __init__(
        self, *, api: Api, clock: Clock, random: Random, inventory: Inventory, metrics: Metrics
    ) -> None:
        self._api = api
        self._clock = clock
        self._random = random
        self._inventory = inventory
        self._metrics = metrics

    async def start(self, flight: Flight, start: Start) -> None:
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

    def _replace(self, flight: Flight, start: Start) -> None:
        """The Jobs that the new run replaces are gone for us, even before their deletion is seen."""
        flight.status = record_replaced(flight.status, start.replaces, self._clock.now())
        flight.replaced += [(job, start.slot) for job in start.replaces]
        for name in start.replaces:
            job = flight.snapshot.jobs.get(name)
            if job is not None:
                self._inventory.hold_job(replace(job, deleting=True, version=job.version + 1))

    def _postpone(self, flight: Flight, start: Start, attempt: Postponed, *, unsure: bool) -> None:
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

    async def was_run_after_all(self, flight: Flight, planned: Plan) -> bool:
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
