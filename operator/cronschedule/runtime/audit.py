"""Finds what watching missed: lists CronSchedules and Namespaces every minute and compares.

The first pass fills the inventory. Later ones list metadata only; whatever is behind the list is given a moment for
its event to come, and is then read for itself. So deletions that no watch told of are found. A list that is older
than the one before tells that etcd was restored to the past: then what it shows is the truth.

Where only some namespaces are looked after there is no watch of them: a Role lets its own Namespace be read, not
watched. So each is read every few seconds. One that may not be read is not known, like one that is not there, and
nothing is decided in it; it holds up no other. It becomes known last, when all that is in it is.
"""

import asyncio
import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from cronschedule.api.names import OUR_JOBS
from cronschedule.core.jobs import read_job
from cronschedule.runtime.clock import Clock
from cronschedule.runtime.inventory import Inventory, Key
from cronschedule.runtime.kube import JSON, Api, Forbidden, Gone, KubeError, NotFound
from cronschedule.runtime.kube_verbs import CRONSCHEDULES, JOBS, METADATA_ONLY, NAMESPACES, list_pages

INTERVAL = 60.0
LOOK = 5.0
"""Seconds between two looks at the Namespaces where no watch tells of them."""

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
    """`fill()` once, then `run()`, until cancelled. `last_pass` is by `clock.monotonic()`.

    With `namespaces` also `follow_namespaces()`; without, all of them are looked after.
    """

    api: Api
    clock: Clock
    inventory: Inventory
    on_change: Callable[[Key], None]
    namespaces: tuple[str, ...] = ()
    last_pass: float = float("-inf")
    _unreadable: set[str] = field(default_factory=set)
    """Namespaces that were told of as such, ever."""
    _newest: float = 0
    """The resourceVersion of the newest list so far."""
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    _joining: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    async def fill(self) -> None:
        """Take everything that is there. Does not return before that has succeeded."""
        while True:
            try:
                if self.namespaces:
                    await self._look()
                else:
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

    async def follow_namespaces(self) -> None:
        """Read the Namespaces again and again. That they cannot be read, the pass of each minute tells."""
        while True:
            await asyncio.sleep(LOOK)
            async with self._one_at_a_time:
                with contextlib.suppress(KubeError):
                    await self._look()

    def join(self, namespace: str) -> None:
        """A Namespace has become ours, which another operator may have looked after."""
        self._joining.put_nowait(namespace)

    async def follow_joins(self) -> None:
        """Know what the other one has decided there, before anything is decided here: see `refresh`."""
        while True:
            namespace = await self._joining.get()
            try:
                async with self._one_at_a_time:
                    await self._meet(namespace)
            except KubeError as error:
                log.warning("audit.failed", failure=str(error)[:256])
                await asyncio.sleep(RETRY)
                self._joining.put_nowait(namespace)
                continue
            self.inventory.welcome(namespace)

    async def _look(self) -> None:
        """Read the Namespaces that are looked after. Raises `KubeError`."""
        for name in self.namespaces:
            with self._losing(name):
                body = await self.api.request("GET", NAMESPACES.path(name=name))
                if name not in self.inventory.tenants:
                    await self._meet(name)
                self.inventory.believe_namespace(body)

    async def _meet(self, namespace: str) -> None:
        """Take everything that is in a namespace. Raises `KubeError`."""
        schedules: set[str] = set()
        jobs: set[str] = set()

        def see_schedule(body: Mapping[str, Any]) -> None:
            schedules.add(body["metadata"]["uid"])
            self.inventory.take_schedule(body)

        def see_job(body: Mapping[str, Any]) -> None:
            job = read_job(body)
            jobs.add(job.uid)
            self.inventory.take_job(job)

        as_of = await self._list(CRONSCHEDULES.path(namespace=namespace), JSON, see_schedule)
        for key, entry in list(self.inventory.schedules.items()):
            if key[0] == namespace and entry.owner.uid not in schedules and entry.version <= as_of:
                self.inventory.drop_schedule(key, entry.owner.uid)
        as_of = await self._list(JOBS.path(namespace=namespace), JSON, see_job, label_selector=OUR_JOBS)
        self.inventory.keep_jobs(jobs, as_of, namespace)
        log.info("namespace.known", namespace=namespace, schedules=len(schedules))

    @contextlib.contextmanager
    def _losing(self, namespace: str | None) -> Iterator[None]:
        """A namespace that may not be read, or is gone, is known no longer. Our RoleBinding goes with a Namespace.

        Nor are its Jobs: for want of news they would count as active for ever, in the catch-up budget of all.
        """
        try:
            yield
        except (Forbidden, NotFound) as error:
            if namespace is None:
                raise
            if namespace in self.inventory.tenants or namespace not in self._unreadable:
                log.warning("namespace.unreadable", namespace=namespace, failure=str(error)[:256])
            self._unreadable.add(namespace)
            self.inventory.drop_namespace(namespace)
            self.inventory.keep_jobs((), math.inf, namespace)

    async def refresh(self) -> None:
        """Know all that was there when this began, Jobs included: a watch that lags behind could show a slot as
        undecided whose run is over, and whose Job, with the lock that its name is, is deleted. Raises `KubeError`."""
        async with self._one_at_a_time:
            await self._compare(grace=0)
            for namespace in self.namespaces or (None,):
                with self._losing(namespace):
                    await self._compare_jobs(namespace)

    async def _compare_jobs(self, namespace: str | None) -> None:
        """Read the Jobs that the reflector has yet to hear of. Raises `KubeError`."""
        listed: dict[str, tuple[str, str, int]] = {}

        def see(body: Mapping[str, Any]) -> None:
            meta = body["metadata"]
            listed[meta["uid"]] = meta["namespace"], meta["name"], int(meta["resourceVersion"])

        path = JOBS.path(namespace=namespace)
        as_of = await self._list(path, METADATA_ONLY, see, label_selector=OUR_JOBS)
        held = {job.uid: job for jobs in self.inventory.jobs.values() for job in jobs.values()}
        self.inventory.keep_jobs(listed.keys(), as_of, namespace)
        for uid, (place, name, version) in listed.items():
            if uid in held and held[uid].version >= version:
                continue
            with contextlib.suppress(NotFound):
                path = JOBS.path(namespace=place, name=name)
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

        as_of = math.inf
        if self.namespaces:
            await self._look()
        else:
            as_of = await self._list(NAMESPACES.path(), METADATA_ONLY, see)
        for namespace in self.namespaces or (None,):
            with self._losing(namespace):
                path = CRONSCHEDULES.path(namespace=namespace)
                as_of = min(as_of, await self._list(path, METADATA_ONLY, see))
        if as_of == math.inf:
            return  # none could be read
        restored, self._newest = as_of < self._newest, as_of
        behind = self._behind(listed, math.inf if restored else as_of)
        if not behind:
            return
        await asyncio.sleep(grace)
        held = self._held()
        doubtful = [place for place, seen in behind.items() if held.get(place) == seen]
        for place in doubtful:
            with self._losing(place[0] if self.namespaces else None):
                await self._read(place, restored=restored)
        log.info("audit.read_again", count=len(doubtful), restored=restored)

    def _held(self) -> dict[Place, Seen]:
        """What is to be compared with lists: schedules where there may be any, and Namespaces that are watched."""
        tenants = self.inventory.tenants
        held: dict[Place, Seen] = {}
        if not self.namespaces:
            held |= {name: (tenant.uid, tenant.version) for name, tenant in tenants.items()}
        for key, entry in self.inventory.schedules.items():
            if not self.namespaces or key[0] in tenants:
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
