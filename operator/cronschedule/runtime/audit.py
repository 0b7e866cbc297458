"""Finds what watching missed: lists CronSchedules and Namespaces every minute and compares.

The first pass fills the inventory. Later ones list metadata only; whatever is behind the list is given a moment for
its event to come, and is then read for itself. So deletions that no watch told of are found. A list that is older
than the one before tells that etcd was restored to the past: then what it shows is the truth.
"""

import asyncio
import contextlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from cronschedule.api.names import OUR_JOBS
from cronschedule.core.jobs import read_job
from cronschedule.runtime.clock import Clock
from cronschedule.runtime.inventory import Inventory, Key
from cronschedule.runtime.kube import JSON, Api, Gone, KubeError, NotFound
from cronschedule.runtime.kube_verbs import CRONSCHEDULES, JOBS, METADATA_ONLY, NAMESPACES, list_pages

INTERVAL = 60.0
GRACE = 2.0
"""Seconds that an event on its way may take."""

RETRY = 5.0
PAGE = 500

log = structlog.get_logger(__name__)

Place = str | Key
"""A Namespace by its name, or a CronSchedule by its key."""
Seen = tuple[str, int]
"""UID and resourceVersion."""


@dataclass(kw_only=True)
class Audit:
    """`fill()` once, then `run()`, until cancelled. `last_pass` is by `clock.monotonic()`."""

    api: Api
    clock: Clock
    inventory: Inventory
    on_change: Callable[[Key], None]
    last_pass: float = float("-inf")
    _newest: int = 0
    """The resourceVersion of the newest list so far."""
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def fill(self) -> None:
        """Take everything that is there. Does not return before that has succeeded."""
        while True:
            try:
                await self._list(NAMESPACES.path(), JSON, self.inventory.take_namespace)
                await self._list(CRONSCHEDULES.path(), JSON, self.inventory.take_schedule)
                self.last_pass = self.clock.monotonic()
                return
            except KubeError as error:
                log.warning("audit.failed", failure=str(error)[:256])
                await asyncio.sleep(RETRY)

    async def run(self) -> None:
        """Compare again and again."""
        while True:
            await asyncio.sleep(INTERVAL)
            try:
                await self.compare()
                self.last_pass = self.clock.monotonic()
            except KubeError as error:
                log.warning("audit.failed", failure=str(error)[:256])

    async def refresh(self) -> None:
        """Know all that was there when this began, Jobs included: a watch that lags behind could show a slot as
        undecided whose run is over, and whose Job, with the lock that its name is, is deleted. Raises `KubeError`."""
        async with self._one_at_a_time:
            await self._compare(grace=0)
            await self._compare_jobs()

    async def _compare_jobs(self) -> None:
        """Read the Jobs that the reflector has yet to hear of. Raises `KubeError`."""
        listed: dict[str, tuple[str, str, int]] = {}

        def see(body: Mapping[str, Any]) -> None:
            meta = body["metadata"]
            listed[meta["uid"]] = meta["namespace"], meta["name"], int(meta["resourceVersion"])

        as_of = await self._list(JOBS.path(), METADATA_ONLY, see, label_selector=OUR_JOBS)
        held = {job.uid: job for jobs in self.inventory.jobs.values() for job in jobs.values()}
        self.inventory.keep_jobs(listed.keys(), as_of)
        for uid, (namespace, name, version) in listed.items():
            if uid in held and held[uid].version >= version:
                continue
            with contextlib.suppress(NotFound):
                path = JOBS.path(namespace=namespace, name=name)
                self.inventory.take_job(read_job(await self.api.request("GET", path)))

    async def compare(self) -> None:
        """One pass. Raises `KubeError`."""
        async with self._one_at_a_time:
            await self._compare(grace=GRACE)

    async def _compare(self, *, grace: float) -> None:
        self.inventory.gone.clear()
        listed: dict[Place, Seen] = {}

        def see(body: Mapping[str, Any]) -> None:
            meta = body["metadata"]
            place = (meta["namespace"], meta["name"]) if "namespace" in meta else meta["name"]
            listed[place] = meta["uid"], int(meta["resourceVersion"])

        as_of = await self._list(NAMESPACES.path(), METADATA_ONLY, see)
        as_of = min(as_of, await self._list(CRONSCHEDULES.path(), METADATA_ONLY, see))
        restored, self._newest = as_of < self._newest, as_of
        behind = self._behind(listed, math.inf if restored else as_of)
        if not behind:
            return
        await asyncio.sleep(grace)
        held = self._held()
        doubtful = [place for place, seen in behind.items() if held.get(place) == seen]
        for place in doubtful:
            await self._read(place, restored=restored)
        log.info("audit.read_again", count=len(doubtful), restored=restored)

    def _held(self) -> dict[Place, Seen]:
        held: dict[Place, Seen] = {
            name: (tenant.uid, tenant.version) for name, tenant in self.inventory.tenants.items()
        }
        for key, entry in self.inventory.schedules.items():
            held[key] = entry.owner.uid, entry.version
        return held

    def _behind(self, listed: Mapping[Place, Seen], as_of: float) -> dict[Place, Seen | None]:
        """Where what is held is not what a list as of that resourceVersion shows, unless it is newer than the list."""
        held = self._held()
        return {
            place: held.get(place)
            for place in held.keys() | listed.keys()
            if held.get(place) != listed.get(place) and (place not in held or held[place][1] <= as_of)
        }

    async def _read(self, place: Place, *, restored: bool) -> None:
        """Take one object for what it is now."""
        is_namespace = isinstance(place, str)
        path = NAMESPACES.path(name=place) if isinstance(place, str) else _path_of(place)
        held = self._held().get(place)
        try:
            body = await self.api.request("GET", path)
        except NotFound:
            self._drop(place, held)
            return
        if self._held().get(place) != held:
            return  # a watch was faster
        if is_namespace:
            (self.inventory.believe_namespace if restored else self.inventory.take_namespace)(body)
        elif restored:
            self.inventory.believe_schedule(body)
            self.on_change((body["metadata"]["namespace"], body["metadata"]["name"]))
        else:
            self.inventory.take_schedule(body)

    def _drop(self, place: Place, held: Seen | None) -> None:
        if isinstance(place, str):
            self.inventory.drop_namespace(place)
        elif held is not None:
            self.inventory.drop_schedule(place, held[0])

    async def _list(
        self,
        path: str,
        accept: str,
        take: Callable[[Mapping[str, Any]], None],
        *,
        label_selector: str | None = None,
    ) -> int:
        """Everything of one kind; as of which resourceVersion. Begun anew where that fell out of memory half-way."""
        try:
            return await self._list_once(path, accept, take, label_selector)
        except Gone:
            return await self._list_once(path, accept, take, label_selector)

    async def _list_once(
        self,
        path: str,
        accept: str,
        take: Callable[[Mapping[str, Any]], None],
        label_selector: str | None,
    ) -> int:
        as_of = 0
        pages = list_pages(self.api, path, limit=PAGE, accept=accept, label_selector=label_selector)
        async for page in pages:
            as_of = int(page.resource_version)
            for body in page.items:
                take(body)
            await asyncio.sleep(0)
        return as_of


def _path_of(key: Key) -> str:
    return CRONSCHEDULES.path(namespace=key[0], name=key[1])
