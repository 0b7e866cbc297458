"""The Backfills that are known: read from a watch, held by the schedule that they are about, written back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from cronschedule.api.backfill import BackfillSpec, BackfillStatus
from cronschedule.api.shapes import dump, parse_time
from cronschedule.core.backfill_status import State, is_complete, with_state
from cronschedule.core.jobs import Owner, SeenJob
from cronschedule.runtime.clock import Clock
from cronschedule.runtime.inventory import Key
from cronschedule.runtime.kube import Api, KubeError, NotFound
from cronschedule.runtime.kube_verbs import BACKFILLS, replace_status

MARGIN = 60
"""Seconds that `to` may be after the making of the Backfill: clocks differ."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Backfill:
    """One Backfill. `spec` is `None`, and `mistake` says why, where it cannot be read."""

    owner: Owner
    version: int
    generation: int
    created: int
    spec: BackfillSpec | None
    status: BackfillStatus
    mistake: str = ""


@dataclass(kw_only=True)
class BackfillRetry:
    """A Job of it that could not be created yet."""

    not_before: int
    attempts: int
    message: str
    unsure: bool


def read_backfill(body: Mapping[str, Any]) -> Backfill:
    """Cut a Backfill down to what is needed; one that cannot be read is kept, to be told so."""
    metadata = body["metadata"]
    spec, mistake = None, ""
    try:
        spec = BackfillSpec.model_validate(body.get("spec") or {})
    except ValueError as error:
        mistake = str(error)
    try:
        status = BackfillStatus.model_validate(body.get("status") or {})
    except ValueError:
        status = BackfillStatus()
    created = parse_time(metadata["creationTimestamp"])
    if spec is not None and spec.last > created + MARGIN:
        mistake = "spec.to is after the moment at which the Backfill was made: only slots that have passed can be run."
    return Backfill(
        owner=Owner(namespace=metadata["namespace"], name=metadata["name"], uid=metadata["uid"]),
        version=int(metadata["resourceVersion"]),
        generation=int(metadata.get("generation") or 0),
        created=created,
        spec=spec,
        status=status,
        mistake=mistake,
    )


def schedule_of(entry: Backfill) -> Key:
    """The schedule that it is about; of one that cannot be read, no schedule's."""
    return entry.owner.namespace, entry.spec.schedule if entry.spec is not None else ""


class BackfillStore:
    """`take` and `drop` are fed by a watch; `on_change` is told whose Backfill something happened to."""

    def __init__(self, *, api: Api, clock: Clock, on_change: Callable[[Key], None]) -> None:
        self._api = api
        self._clock = clock
        self._on_change = on_change
        self._entries: dict[Key, dict[str, Backfill]] = {}
        self.retries: dict[str, BackfillRetry] = {}
        """By the UID of the Backfill."""

    def take(self, entry: Backfill) -> None:
        """A Backfill as a watch or a list shows it; its schedule is told."""
        if self._hold(entry):
            self._on_change(schedule_of(entry))

    def drop(self, entry: Backfill) -> None:
        """It is gone: what has not begun is not begun any more."""
        self._forget(entry)
        self._on_change(schedule_of(entry))

    def waiting(self, key: Key) -> list[Backfill]:
        """Those of a schedule that are not complete, oldest first."""
        entries = self._entries.get(key)
        if not entries:
            return []
        waiting = [entry for entry in entries.values() if not is_complete(entry.status)]
        return sorted(waiting, key=lambda entry: (entry.created, entry.owner.name))

    def has_yet_to_tell(self, key: Key, job: SeenJob) -> bool:
        """Whether a Job is the run of a Backfill whose status does not say so yet: till then nothing else does."""
        entry = self._entries.get(key, {}).get(job.backfill)
        if entry is None or is_complete(entry.status) or job.slot is None:
            return False
        return job.slot > (entry.status.settled_until or 0) or job.name in entry.status.active_jobs

    async def write(self, entry: Backfill, status: BackfillStatus, state: State) -> bool:
        """Write the status if it says anything new; whether it stands now."""
        status = with_state(status, state, generation=entry.generation, now=self._clock.now())
        if status == entry.status:
            return True
        try:
            written = await replace_status(
                self._api,
                BACKFILLS,
                namespace=entry.owner.namespace,
                name=entry.owner.name,
                uid=entry.owner.uid,
                version=entry.version,
                status=dump(status),
            )
            self._hold(read_backfill(written))
        except NotFound:
            self._forget(entry)
        except KubeError as error:
            log.warning(
                "backfill.not_written",
                namespace=entry.owner.namespace,
                backfill=entry.owner.name,
                failure=str(error)[:256],
            )
            return False
        return True

    def _hold(self, entry: Backfill) -> bool:
        """Keep a Backfill; whether it was news."""
        held = self._entries.setdefault(schedule_of(entry), {})
        known = held.get(entry.owner.uid)
        if known is not None and known.version >= entry.version:
            return False
        held[entry.owner.uid] = entry
        return True

    def _forget(self, entry: Backfill) -> None:
        self._entries.get(schedule_of(entry), {}).pop(entry.owner.uid, None)
        self.retries.pop(entry.owner.uid, None)
