"""Tells people: writes the status, posts Events, logs one line per decision.

Events are a convenience, rows of the status are the record: an Event that cannot be posted is dropped and counted,
and never holds up a run. There is one Event per run and one per row of skips (`semantics.md §7`): when a row grows,
its Event becomes a series.
"""

import asyncio
import contextlib
import hashlib
import socket
from collections import Counter
from collections.abc import Mapping
from typing import Any

import structlog

from cronschedule.api import names
from cronschedule.api.reasons import CATALOGUE, EventReason, SkipReason
from cronschedule.api.shapes import dump, format_time
from cronschedule.api.v1alpha1 import CronScheduleStatus, Row
from cronschedule.core.facts import Note, Ran, Skip
from cronschedule.core.jobs import Owner, now_utc
from cronschedule.runtime.clock import Clock
from cronschedule.runtime.inventory import Entry
from cronschedule.runtime.kube import (
    AlreadyExists,
    Api,
    KubeError,
    NotFound,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from cronschedule.runtime.kube_verbs import CRONSCHEDULES, EVENTS, MERGE_PATCH, replace_status
from cronschedule.runtime.lanes import Lane, Lanes

EVENTS_WAITING = 10_000
POSTERS = 4
TRIES = 3
LONGEST_NOTE = 1024
LONGEST_DRAIN = 2.0

log = structlog.get_logger(__name__)


class Recorder:
    """Writes status and Events. `run()` posts the Events that wait, until cancelled."""

    def __init__(self, *, api: Api, clock: Clock, lanes: Lanes) -> None:
        self._api = api
        self._lanes = lanes
        self._clock = clock
        self._events: asyncio.Queue[dict[str, Any]] = asyncio.Queue(maxsize=EVENTS_WAITING)
        self._instance = socket.gethostname()[:128]
        self.counts: Counter[str] = Counter()
        """status.written, event.posted, event.dropped."""

    async def write_status(self, entry: Entry, status: CronScheduleStatus) -> Mapping[str, Any]:
        """Put the status in place of the one that was read. Raises `Conflict`, `NotFound`, other `KubeError`."""
        body: Mapping[str, Any] = await replace_status(
            self._api,
            CRONSCHEDULES,
            namespace=entry.owner.namespace,
            name=entry.owner.name,
            uid=entry.owner.uid,
            version=entry.version,
            status=dump(status),
        )
        self.counts["status.written"] += 1
        return body

    async def mark_adopted(self, entry: Entry) -> Mapping[str, Any]:
        """Mark a schedule as taken up (`semantics.md §6`), once its ledger is there. Raises `KubeError`."""
        path = CRONSCHEDULES.path(namespace=entry.owner.namespace, name=entry.owner.name)
        annotations = {names.ADOPTED_AT: format_time(self._clock.now())}
        body = {"metadata": {"uid": entry.owner.uid, "annotations": annotations}}
        marked: Mapping[str, Any] = await self._api.request(
            "PATCH", path, body=body, content_type=MERGE_PATCH
        )
        return marked

    def tell_run(self, owner: Owner, decision: Ran) -> None:
        """Log and Event of a run."""
        start = decision.start
        slot = format_time(start.slot)
        stands_for = (
            f", standing for {start.count} slots since {format_time(start.first)}" if start.count > 1 else ""
        )
        log.info(
            "run.created",
            **_who(owner),
            slot=slot,
            job=decision.job,
            trigger=start.trigger,
            count=start.count,
        )
        note = f"Created Job {decision.job} for {slot} ({start.trigger}{stands_for})."
        self._post(owner, EventReason.RUN_CREATED, "Run", note, at=start.slot, job=decision.job)

    def tell_skip(self, owner: Owner, skip: Skip, row: Row | None) -> None:
        """Log and Event of a skip; `row` is where it is recorded, if that has not fallen off."""
        log.info(
            "slot.skipped",
            **_who(owner),
            reason=skip.reason.value,
            first=format_time(skip.first),
            last=format_time(skip.last),
            count=skip.count,
        )
        first, last, count = skip.first, skip.last, skip.count
        if row is not None:
            first, last = row.first_scheduled_time or row.scheduled_time, row.scheduled_time
            count = row.count or 1
        what = format_time(last)
        if count > 1:
            what = f"{count} slots from {format_time(first)} to {what}"
        note = f"Skipped {what}: {skip.message}"
        if skip.reason == SkipReason.CATCH_UP_CAP_EXCEEDED:
            command = names.backfill_command(
                owner.namespace, owner.name, format_time(first), format_time(last)
            )
            note += f" To run them: {command}"
        repeats = count if first < skip.first else None
        self._post(owner, skip.reason, "Skip", note, at=first, repeats=repeats)

    def tell_replaced(self, owner: Owner, job: str, slot: int) -> None:
        """Log and Event of a run whose Job was deleted for that of `slot`."""
        log.info("run.replaced", **_who(owner), job=job)
        note = f"Deleted Job {job} for a newer slot."
        self._post(owner, EventReason.RUN_REPLACED, "Replace", note, at=slot, mark=job, job=job)

    def tell_asked(self, owner: Owner, row: Row) -> None:
        """Log and Event of a run that a person asked for."""
        slot = format_time(row.scheduled_time)
        log.info(f"run.{str(row.trigger).lower()}", **_who(owner), job=row.job, slot=slot)
        note = f"Job {row.job} was started by hand: {row.message or 'no reason given'}"
        if row.trigger == "Backfill":
            note = f"Created Job {row.job} for {slot} (Backfill)."
        at, mark = row.scheduled_time, f"{row.job}-{row.trigger}"
        self._post(owner, EventReason.RUN_CREATED, "Run", note, at=at, mark=mark, job=row.job)

    def tell_note(self, owner: Owner, note: Note) -> None:
        """Log and Event of a suspension, a resumption or a lost ledger."""
        reason: SkipReason | EventReason
        if note.kind == "LedgerLost":
            reason = SkipReason.LEDGER_LOST
        else:
            reason = EventReason.SUSPENDED if note.kind == "Suspended" else EventReason.RESUMED
        log.info("schedule." + note.kind.lower(), **_who(owner), message=note.message)
        self._post(owner, reason, note.kind, note.message, at=note.at)

    def tell_invalid(self, owner: Owner, generation: int, reason: str, message: str) -> None:
        """Log and Event of a spec that cannot be used."""
        log.warning("schedule.invalid", **_who(owner), reason=reason, message=message)
        now = self._clock.now()
        self._post(owner, EventReason(reason), "Validate", message, at=now, mark=f"{generation}")

    def tell_refused(self, owner: Owner, generation: int, message: str) -> None:
        """Event of a status that the API server does not take: one, however often that is tried."""
        self._post(owner, EventReason.STATUS_REFUSED, "Record", message, at=0, mark=f"{generation}")

    async def run(self) -> None:
        """Post what waits, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(POSTERS):
                group.create_task(self._post_events())

    async def drain(self) -> None:
        """Wait until the Events that wait are posted, for some seconds at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_DRAIN):
                await self._events.join()

    async def _post_events(self) -> None:
        while True:
            event = await self._events.get()
            await self._post_event(event)
            self._events.task_done()

    async def _post_event(self, event: dict[str, Any]) -> None:
        for attempt in range(TRIES):
            try:
                async with self._lanes.turn(Lane.EVENTS):
                    await self._send(event)
                self.counts["event.posted"] += 1
                return
            except AlreadyExists:
                return  # told before, by an earlier life
            except KubeError as error:
                if attempt + 1 < TRIES and isinstance(error, Unreachable | ServerError | TooManyRequests):
                    await asyncio.sleep(2**attempt)
                    continue
                self.counts["event.dropped"] += 1
                log.debug("event.dropped", reason=event["reason"], failure=str(error)[:256])
                return

    async def _send(self, event: dict[str, Any]) -> None:
        """Post an Event, or make the one that is there a series. Raises `KubeError`."""
        namespace, name = event["metadata"]["namespace"], event["metadata"]["name"]
        if "series" in event:
            path = EVENTS.path(namespace=namespace, name=name)
            try:
                await self._api.request(
                    "PATCH", path, body={"series": event["series"]}, content_type=MERGE_PATCH
                )
                return
            except NotFound:  # Events are kept for an hour
                event = {key: value for key, value in event.items() if key != "series"}
        await self._api.request("POST", EVENTS.path(namespace=namespace), body=event)

    def _post(
        self,
        owner: Owner,
        reason: SkipReason | EventReason,
        action: str,
        note: str,
        *,
        at: int,
        mark: str = "",
        job: str | None = None,
        repeats: int | None = None,
    ) -> None:
        """Queue an Event. Its name follows from what it is about, so that it is there once.

        The moment it is about, `at`, comes first: `kubectl describe` shows these Events in the order of their names.
        With `repeats`, the one that is there happened again and has happened so often by now.
        """
        digest = hashlib.sha256(f"{owner.uid}/{reason.value}/{at}/{mark}".encode()).hexdigest()[:16]
        event: dict[str, Any] = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": owner.namespace, "name": f"{owner.name}.{at:08x}.{digest}"},
            "eventTime": now_utc(self._clock.precise()),
            "type": CATALOGUE[reason].event_type,
            "reason": reason.value,
            "action": action,
            "note": note[:LONGEST_NOTE],
            "regarding": _reference(names.API_VERSION, names.KIND, owner) | {"uid": owner.uid},
            "reportingController": names.OPERATOR,
            "reportingInstance": self._instance,
        }
        if repeats is not None:
            event["series"] = {"count": repeats, "lastObservedTime": event["eventTime"]}
        if job is not None:
            event["related"] = {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "namespace": owner.namespace,
                "name": job,
            }
        try:
            self._events.put_nowait(event)
        except asyncio.QueueFull:
            self.counts["event.dropped"] += 1


def _who(owner: Owner) -> dict[str, str]:
    return {"namespace": owner.namespace, "schedule": owner.name}


def _reference(api_version: str, kind: str, owner: Owner) -> dict[str, str]:
    return {"apiVersion": api_version, "kind": kind, "namespace": owner.namespace, "name": owner.name}
