"""Tells what a flight has done, once it is recorded: log, Events, metrics and alerts (`semantics.md §7`)."""

from cronschedule.api.alerts import truncation
from cronschedule.api.conditions import find
from cronschedule.api.reasons import EventReason, SkipReason
from cronschedule.core.facts import Skip
from cronschedule.core.history import ASKED, row_of
from cronschedule.core.jobs import Owner
from cronschedule.runtime.alerts import Alerts
from cronschedule.runtime.clock import Clock
from cronschedule.runtime.flight import Flight
from cronschedule.runtime.metrics import Metrics
from cronschedule.runtime.recorder import Recorder


class Teller:
    """Nothing here waits or fails: whoever listens does not hold up a schedule."""

    def __init__(self, *, clock: Clock, recorder: Recorder, alerts: Alerts, metrics: Metrics) -> None:
        self._clock = clock
        self._recorder = recorder
        self._alerts = alerts
        self._metrics = metrics

    def tell(self, flight: Flight) -> None:
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
