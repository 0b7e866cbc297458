"""/metrics: what was counted, and what is looked up in the parts of the operator when somebody asks.

Text of some thousand series takes a while, so a thread makes it. It reads the event loop's own dictionaries, each
through one copy, which nothing interrupts.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator

from aiohttp import web
from prometheus_client import PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from cronschedule import __version__
from cronschedule.core.zones import iana_version
from cronschedule.runtime.clock import Clock
from cronschedule.runtime.inventory import Key
from cronschedule.runtime.metrics import Seen
from cronschedule.runtime.operator import Operator

STATES = ("Scheduled", "Suspended", "NotReady")


class View(Collector):
    """The operator at this moment. Who does not lead knows nothing of schedules."""

    def __init__(self, operator: Operator, clock: Clock, *, per_schedule: bool) -> None:
        self._operator = operator
        self._clock = clock
        self._per_schedule = per_schedule

    def collect(self) -> Iterator[Metric]:
        """All families, those without a sample too."""
        yield from self._process()
        yield from self._heard()
        yield from self._told()
        seen = self._seen()
        yield from _totals(seen)
        catching_up = self._operator.inventory.catching_up
        yield _gauge("cronschedule_catch_up_runs_active", "Active runs with trigger CatchUp.", catching_up)
        if self._per_schedule:
            yield from _each(seen)

    def _process(self) -> Iterator[Metric]:
        build = GaugeMetricFamily(
            "cronschedule_build_info",
            "1, with the operator's version and that of its time zone database.",
            labels=["version", "iana"],
        )
        build.add_metric([__version__, iana_version()], 1)
        yield build
        leading = self._operator.leading.is_set()
        yield _gauge("cronschedule_leader", "1 where this replica decides, 0 where it stands by.", leading)

    def _heard(self) -> Iterator[Metric]:
        """Moments, where there has been one."""
        operator = self._operator
        yield self._moment(
            "cronschedule_last_turn_timestamp_seconds",
            "When the loop last looked for slots that are due.",
            operator.loop.last_turn,
        )
        yield self._moment(
            "cronschedule_watch_last_heard_timestamp_seconds",
            "When the API server was last heard of on the watch of Jobs, at least once a minute.",
            operator.jobs_heard,
        )
        yield self._moment(
            "cronschedule_audit_last_success_timestamp_seconds",
            "When what is known was last compared with what is there, each minute.",
            operator.audit.last_pass,
        )

    def _moment(self, name: str, meaning: str, monotonic: float) -> Metric:
        family = GaugeMetricFamily(name, meaning)
        if monotonic > float("-inf"):
            family.add_metric([], self._clock.precise() - (self._clock.monotonic() - monotonic))
        return family

    def _told(self) -> Iterator[Metric]:
        recorder, alerts = self._operator.recorder, self._operator.alerts
        yield _counter("cronschedule_status_writes", "Statuses written.", recorder.counts["status.written"])
        yield _counts(
            "cronschedule_events",
            "Events of Kubernetes, posted or given up.",
            {result: recorder.counts[f"event.{result}"] for result in ("posted", "dropped")},
        )
        yield _counts(
            "cronschedule_alerts",
            "Alerts to the webhook, delivered or given up.",
            {result: alerts.counts[f"alert.{result}"] for result in ("sent", "dropped")},
        )
        yield _gauge("cronschedule_alerts_waiting", "Alerts that wait for the webhook.", len(alerts))

    def _seen(self) -> dict[Key, Seen]:
        """What is known of schedules that are still there, and ours; the others are forgotten on the way."""
        held, inventory = self._operator.metrics.schedules, self._operator.inventory
        seen = dict(held)
        for key in [key for key in seen if key not in inventory.schedules or not inventory.is_ours(key[0])]:
            held.pop(key, None)
            del seen[key]
        return seen


def _totals(seen: dict[Key, Seen]) -> Iterator[Metric]:
    states = Counter(schedule.state for schedule in seen.values())
    family = GaugeMetricFamily("cronschedule_schedules", "Schedules that are known.", labels=["state"])
    for state in STATES:
        family.add_metric([state], states[state])
    yield family
    waiting = [schedule for schedule in seen.values() if schedule.waiting]
    active = sum(schedule.active for schedule in seen.values())
    yield _gauge("cronschedule_runs_active", "Runs that have not ended.", active)
    yield _gauge(
        "cronschedule_backlog_slots",
        "Slots that are due and wait under CatchUp.",
        sum(schedule.waiting for schedule in waiting),
    )
    yield _gauge("cronschedule_schedules_catching_up", "Schedules with such a backlog.", len(waiting))
    yield _gauge(
        "cronschedule_schedules_truncated",
        "Schedules whose caps dropped slots that nobody has run or acknowledged since.",
        sum(schedule.truncated for schedule in seen.values()),
    )
    oldest = GaugeMetricFamily("cronschedule_backlog_oldest_timestamp_seconds", "The oldest slot that waits.")
    moments = [schedule.oldest for schedule in waiting if schedule.oldest is not None]
    if moments:
        oldest.add_metric([], min(moments))
    yield oldest


def _each(seen: dict[Key, Seen]) -> Iterator[Metric]:
    """The series per schedule, for who asked for them."""
    labels = ["namespace", "schedule"]
    next_run = GaugeMetricFamily(
        "cronschedule_schedule_next_run_timestamp_seconds",
        "The next slot of a schedule; none while it is suspended or not ready.",
        labels=labels,
    )
    last_success = GaugeMetricFamily(
        "cronschedule_schedule_last_success_timestamp_seconds",
        "When a run of a schedule last succeeded.",
        labels=labels,
    )
    for key, schedule in seen.items():
        if schedule.next_run is not None:
            next_run.add_metric(key, schedule.next_run)
        if schedule.last_success is not None:
            last_success.add_metric(key, schedule.last_success)
    yield next_run
    yield last_success


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(name, meaning, value=value)


def _counter(name: str, meaning: str, value: float) -> Metric:
    return CounterMetricFamily(name, meaning, value=value)


def _counts(name: str, meaning: str, values: dict[str, int]) -> Metric:
    family = CounterMetricFamily(name, meaning, labels=["result"])
    for result, value in values.items():
        family.add_metric([result], value)
    return family


def add_metrics(app: web.Application, operator: Operator, clock: Clock, *, per_schedule: bool) -> None:
    """Serve /metrics too."""
    registry = operator.metrics.registry
    registry.register(View(operator, clock, per_schedule=per_schedule))
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)

    async def metrics(request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        body = await asyncio.to_thread(encode, registry)
        return web.Response(body=body, headers={"Content-Type": content_type})

    app.router.add_get("/metrics", metrics)
