"""Finds what watching missed: lists CronSchedules and Namespaces every minute and compares.

The first pass fills the inventory. Later ones list metadata only; whatever differs from what is held is given a
moment for its event to come, and then read for itself. So deletions that no watch told of are found, and an etcd
that was restored to the past.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from cronschedule.runtime.clock import Clock
from cronschedule.runtime.inventory import Inventory, Key
from cronschedule.runtime.kube import JSON, Api, Gone, KubeError, NotFound
from cronschedule.runtime.kube_verbs import CRONSCHEDULES, METADATA_ONLY, NAMESPACES, list_pages

INTERVAL = 60.0
GRACE = 2.0
"""Seconds that an event on its way may take."""

RETRY = 5.0
PAGE = 500

log = structlog.get_logger(__name__)


@dataclass(kw_only=True)
class Audit:
    """`fill()` once, then `run()`, until cancelled. `last_pass` is by `clock.monotonic()`."""

    api: Api
    clock: Clock
    inventory: Inventory
    on_change: Callable[[Key], None]
    last_pass: float = float("-inf")
    _older: dict[str, int] = field(default_factory=dict)
    """UID → the version held, where the API server showed an older one at the last pass."""

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

    async def compare(self) -> None:
        """One pass. Raises `KubeError`."""
        self.inventory.gone.clear()
        schedules: dict[Key, Mapping[str, Any]] = {}
        namespaces: dict[str, Mapping[str, Any]] = {}

        def see_schedule(body: Mapping[str, Any]) -> None:
            schedules[body["metadata"]["namespace"], body["metadata"]["name"]] = body["metadata"]

        def see_namespace(body: Mapping[str, Any]) -> None:
            namespaces[body["metadata"]["name"]] = body["metadata"]

        await self._list(NAMESPACES.path(), METADATA_ONLY, see_namespace)
        await self._list(CRONSCHEDULES.path(), METADATA_ONLY, see_schedule)
        if not self._doubtful(namespaces, schedules):
            return
        await asyncio.sleep(GRACE)
        doubtful = self._doubtful(namespaces, schedules)
        for place in doubtful:
            if isinstance(place, str):
                await self._read_namespace(place)
            else:
                await self._read_schedule(place)
        if doubtful:
            log.info("audit.read_again", count=len(doubtful))

    def _doubtful(
        self, namespaces: Mapping[str, Mapping[str, Any]], schedules: Mapping[Key, Mapping[str, Any]]
    ) -> list[str | Key]:
        """What is held and what was listed do not agree on."""
        tenants = {name: (tenant.version,) for name, tenant in self.inventory.tenants.items()}
        listed_tenants = {name: (int(meta["resourceVersion"]),) for name, meta in namespaces.items()}
        held = {key: (entry.owner.uid, entry.version) for key, entry in self.inventory.schedules.items()}
        listed = {key: (meta["uid"], int(meta["resourceVersion"])) for key, meta in schedules.items()}
        names = sorted(
            n for n in tenants.keys() | listed_tenants.keys() if tenants.get(n) != listed_tenants.get(n)
        )
        keys = sorted(key for key in held.keys() | listed.keys() if held.get(key) != listed.get(key))
        return [*names, *keys]

    async def _read_schedule(self, key: Key) -> None:
        held = self.inventory.schedules.get(key)
        try:
            body = await self.api.request("GET", CRONSCHEDULES.path(namespace=key[0], name=key[1]))
        except NotFound:
            if held is not None:
                self.inventory.drop_schedule(key, held.owner.uid)
            return
        if held is not None and self._is_past(held.owner.uid, held.version, body):
            self.inventory.believe_schedule(body)
            self.on_change(key)
        else:
            self.inventory.take_schedule(body)

    async def _read_namespace(self, name: str) -> None:
        held = self.inventory.tenants.get(name)
        try:
            body = await self.api.request("GET", NAMESPACES.path(name=name))
        except NotFound:
            self.inventory.drop_namespace(name)
            return
        if held is not None and self._is_past(name, held.version, body):
            self.inventory.believe_namespace(body)
        else:
            self.inventory.take_namespace(body)

    def _is_past(self, what: str, held: int, body: Mapping[str, Any]) -> bool:
        """Whether the API server has shown an older object at two passes: then it is the truth, etcd was restored.

        Once is not enough: an event may have overtaken the answer.
        """
        if int(body["metadata"]["resourceVersion"]) >= held:
            self._older.pop(what, None)
            return False
        if self._older.get(what) == held:
            del self._older[what]
            return True
        self._older[what] = held
        return False

    async def _list(self, path: str, accept: str, take: Callable[[Mapping[str, Any]], None]) -> None:
        """Everything of one kind, begun anew where the API server forgot the moment half-way."""
        for attempt in range(3):
            try:
                async for page in list_pages(self.api, path, limit=PAGE, accept=accept):
                    for body in page.items:
                        take(body)
                    await asyncio.sleep(0)
                return
            except Gone:
                if attempt == 2:
                    raise
