"""What is counted as it happens, and kept of each schedule's status, for Prometheus.

Labels have few values by themselves; series per schedule are asked for by a setting, since a cluster may have
thousands. What can be looked up when somebody asks is not kept here: see `exposition.py`.
"""

import asyncio
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram

from cronschedule.api.conditions import find
from cronschedule.api.reasons import SkipReason
from cronschedule.api.v1alpha1 import CronScheduleStatus
from cronschedule.core.facts import Ran, Skip
from cronschedule.runtime.clock import Clock
from cronschedule.runtime.inventory import Key

DELAYS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600, 6 * 3600, 12 * 3600, 24 * 3600)
"""Seconds: runs on time take parts of one, those that are caught up may be a day late."""

LOOP_LAGS = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
REQUESTS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

TRIGGERS = ("Schedule", "CatchUp")
LOOK = 1.0
"""Seconds between two looks at how late the event loop is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What is told of a schedule, as of its last flight. Moments are in Unix seconds."""

    state: str
    active: int
    waiting: int
    oldest: int | None
    truncated: bool
    next_run: int | None
    last_success: int | None


class Metrics:
    """Counters and histograms of one operator. Its methods take microseconds and never fail."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.schedules: dict[Key, Seen] = {}
        """May hold schedules that are gone by now."""
        self._decisions = Counter(
            "cronschedule_decisions",
            "Slots decided. The reason of a run is its trigger; one that stands for others counts as one.",
            ["decision", "reason"],
            registry=registry,
        )
        self._delays = Histogram(
            "cronschedule_run_start_delay_seconds",
            "From the slot until its Job is created.",
            ["trigger"],
            buckets=DELAYS,
            registry=registry,
        )
        self._finished = Counter(
            "cronschedule_runs_finished",
            "Runs for slots that have ended and been recorded.",
            ["outcome"],
            registry=registry,
        )
        self._requests = Counter(
            "cronschedule_api_requests",
            "Requests to the API server, by HTTP verb (WATCH apart) and status code, none where no answer came."
            " The watches of CronSchedules and Namespaces, which are kopf's, are not among them.",
            ["verb", "code"],
            registry=registry,
        )
        self._request_seconds = Histogram(
            "cronschedule_api_request_duration_seconds",
            "From sending a request until its answer begins, watches not counted.",
            ["verb"],
            buckets=REQUESTS,
            registry=registry,
        )
        self._loop_lag = Histogram(
            "cronschedule_loop_lag_seconds",
            "How late the event loop wakes who has slept. Looked at once a second.",
            buckets=LOOP_LAGS,
            registry=registry,
        )
        for trigger in TRIGGERS:  # there from the beginning, so that the first one is an increase too
            self._decisions.labels("Run", trigger)
            self._delays.labels(trigger)
        for reason in SkipReason:
            self._decisions.labels("Skipped", reason.value)
        for outcome in ("Succeeded", "Failed"):
            self._finished.labels(outcome)

    def created(self, slot: int, trigger: str, now: float) -> None:
        """The Job of a slot is there. `now` in Unix seconds."""
        self._delays.labels(trigger).observe(max(0.0, now - slot))

    def decided(self, decision: Ran | Skip) -> None:
        """A decision is recorded."""
        if isinstance(decision, Skip):
            self._decisions.labels("Skipped", decision.reason.value).inc(decision.count)
        else:
            self._decisions.labels("Run", decision.start.trigger).inc()

    def saw(self, key: Key, before: CronScheduleStatus, status: CronScheduleStatus) -> None:
        """A schedule's status is written, or says nothing new."""
        self._finished.labels("Succeeded").inc(max(0, status.counts.succeeded - before.counts.succeeded))
        self._finished.labels("Failed").inc(max(0, status.counts.failed - before.counts.failed))
        backlog = status.backlog
        self.schedules[key] = Seen(
            state=_state(status),
            active=status.active_runs,
            waiting=backlog.waiting if backlog is not None else 0,
            oldest=backlog.oldest if backlog is not None else None,
            truncated=find(status.conditions, "BacklogTruncated") is not None,
            next_run=status.next_schedule_time,
            last_success=status.last_successful_time,
        )

    def answered(self, verb: str, code: str, seconds: float) -> None:
        """The API server has answered, or not; `seconds` until then."""
        self._requests.labels(verb, code).inc()
        if verb != "WATCH":
            self._request_seconds.labels(verb).observe(seconds)

    async def watch_loop(self, clock: Clock) -> None:
        """Until cancelled."""
        while True:
            began = clock.monotonic()
            await asyncio.sleep(LOOK)
            self._loop_lag.observe(max(0.0, clock.monotonic() - began - LOOK))


def _state(status: CronScheduleStatus) -> str:
    ready = find(status.conditions, "Ready")
    if ready is not None and ready.status == "False":
        return "NotReady"
    return "Suspended" if status.suspension is not None else "Scheduled"
