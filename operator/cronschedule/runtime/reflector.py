"""Mirrors one collection of the API server: list, then watch, again and again, whatever goes wrong.

Knows nothing of Jobs: `slim` says what to keep of an object, callbacks say what changed. The promise is that
the mirror catches up, not that every change is told; callers look at what is, never at what happened.

A list is needed (anything else resumes the watch where it broke off):
  - at the start;
  - after a 410, as an answer or in the stream: the server no longer remembers what happened since;
  - after a silent stream: a watch from a resourceVersion that the server has yet to reach looks like that;
  - after a resourceVersion that went backwards: etcd was restored, so what is held may never have been.
Objects that a list lacks are told as deleted: the event was missed. (kopf does not tell; client-go's
`reflector.go` and `DeltaFIFO.Replace` do.)
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, Generic, TypeVar

import structlog

from cronschedule.runtime.clock import Clock
from cronschedule.runtime.kube import Api, Gone, KubeError, backoff, error_from_status
from cronschedule.runtime.kube_verbs import list_pages

PAGE = 500
MAX_WAIT = 30.0
"""Seconds between two attempts, at most."""

SILENCE = 75.0
"""Seconds without a byte before a stream counts as dead. The API server sends a bookmark about every 60."""

WATCH_SECONDS = (300, 600)
"""How long the server is asked to keep a stream: drawn at random, so that streams move between servers."""

log = structlog.get_logger(__name__)

T = TypeVar("T")


class _Silent(Exception):
    """The stream is open, but nothing has come for too long."""


class _Backwards(Exception):
    """A resourceVersion is lower than one already seen."""


class Reflector(Generic[T]):
    """One collection, mirrored. `run()` it as a task.

    `slim` picks what to keep of an object; the rest is dropped at once. Callbacks are synchronous and get
    what `slim` returned: `on_change` for an object that is new or other than before, `on_delete` for one that
    is gone (its last known state). `on_synced` follows every complete list. An exception in one of them is
    logged and counted.
    """

    def __init__(
        self,
        api: Api,
        path: str,
        *,
        slim: Callable[[dict[str, Any]], T],
        on_change: Callable[[T], None],
        on_delete: Callable[[T], None],
        on_synced: Callable[[], None],
        clock: Clock,
        random: Random,
        label_selector: str | None = None,
    ) -> None:
        self._api = api
        self._path = path
        self._slim = slim
        self._on_change = on_change
        self._on_delete = on_delete
        self._on_synced = on_synced
        self._clock = clock
        self._random = random
        self._label_selector = label_selector
        self._store: dict[str, tuple[int, T]] = {}  # UID → resourceVersion, what slim kept
        self._resume_from: int | None = None  # None: list first
        self._newest = 0
        self._doubting = False  # a list went backwards; the next one is believed
        self._stream_began = float("inf")

        self.synced = asyncio.Event()
        """Set once the mirror has been complete."""

        self.last_heard = float("-inf")
        """When the server was last heard of this collection, by `clock.monotonic()`."""

        self.counts: Counter[str] = Counter()
        """LIST, TOMBSTONE, watch events by type, UNREADABLE, CALLBACK_FAILED, and failures by name."""

    def __len__(self) -> int:
        return len(self._store)

    @property
    def version(self) -> int:
        """The newest resourceVersion seen."""
        return self._newest

    def objects(self) -> list[T]:
        """What is known now."""
        return [kept for _, kept in self._store.values()]

    async def run(self) -> None:
        """Mirror until cancelled. Never returns, never raises."""
        failures = 0
        while True:
            self._stream_began = float("inf")
            failure = await self._mirror_until_failure()
            lasted = self._clock.monotonic() - self._stream_began
            if self.last_heard - self._stream_began >= 1 or lasted >= MAX_WAIT:  # all was well again
                failures = 0
                if failure is None:
                    continue  # the server ended the stream, as it was asked to
            asked = getattr(failure, "retry_after", None)
            wait = backoff(failures, random=self._random, retry_after=asked, cap=MAX_WAIT)
            failures += 1
            self._report(failure, failures, wait)
            await asyncio.sleep(wait)

    async def _mirror_until_failure(self) -> Exception | None:
        try:
            if self._resume_from is None:
                await self._list()
            await self._watch()
        except (Gone, _Silent, _Backwards) as failure:
            self._resume_from = None
            return failure
        except KubeError as failure:
            return failure
        except Exception as failure:  # a bug, or an answer that makes no sense: a mirror that dies is worse
            self._resume_from = None
            log.exception("reflector.unexpected", path=self._path)
            return failure
        return None

    def _report(self, failure: Exception | None, attempt: int, wait: float) -> None:
        name = type(failure).__name__.lstrip("_") if failure else "StreamEnded"
        self.counts[name] += 1
        message = str(failure) if isinstance(failure, KubeError) else ""
        log.warning(
            "reflector.retry",
            path=self._path,
            failure=name,
            message=message,
            attempt=attempt,
            wait=round(wait, 1),
            relist=self._resume_from is None,
        )

    async def _list(self) -> None:
        fresh: dict[str, tuple[int, T]] = {}
        version = 0
        pages = list_pages(self._api, self._path, label_selector=self._label_selector, limit=PAGE)
        async with contextlib.aclosing(pages):
            async for page in pages:
                version = int(page.resource_version)
                if version < self._newest and not self._doubting:
                    # A restored etcd or a stale answer: one such list alone is not believed.
                    self._doubting = True
                    raise _Backwards
                for told in page.items:
                    self._keep(fresh, told)
                self.last_heard = self._clock.monotonic()
        self.counts["LIST"] += 1
        await self._replace(fresh, restored=version < self._newest)
        self._doubting = False
        self._resume_from = self._newest = version
        self.synced.set()
        self._call(self._on_synced)

    async def _replace(self, fresh: dict[str, tuple[int, T]], *, restored: bool) -> None:
        """Take a complete list for the truth. Deletions first: a name may have been made anew."""
        before, self._store = self._store, fresh
        for uid in before.keys() - fresh.keys():
            self.counts["TOMBSTONE"] += 1
            self._call(self._on_delete, before[uid][1])
        versions = {} if restored else {uid: version for uid, (version, _) in before.items()}
        for number, (uid, (version, kept)) in enumerate(fresh.items(), start=1):
            if version != versions.get(uid):
                self._call(self._on_change, kept)
            if number % PAGE == 0:
                await asyncio.sleep(0)  # thousands of callbacks in a row would hold up everyone else

    async def _watch(self) -> None:
        query = {
            "resourceVersion": str(self._resume_from),
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(self._random.randint(*WATCH_SECONDS)),
        }
        if self._label_selector:
            query["labelSelector"] = self._label_selector
        loop = asyncio.get_running_loop()
        self._stream_began = self._clock.monotonic()
        try:
            async with (
                asyncio.timeout(SILENCE) as silence,
                contextlib.aclosing(self._api.watch(self._path, query=query)) as events,
            ):
                async for event in events:
                    silence.reschedule(loop.time() + SILENCE)
                    self._take(event["type"], event["object"])
        except TimeoutError:
            raise _Silent from None

    def _take(self, kind: str, told: dict[str, Any]) -> None:
        if kind == "ERROR":
            raise error_from_status(told)
        meta = told["metadata"]
        version = int(meta["resourceVersion"])
        if version < self._newest:
            raise _Backwards
        self.last_heard = self._clock.monotonic()
        self.counts[kind] += 1
        uid = meta.get("uid")  # a bookmark has none
        known = self._store.get(uid)
        if kind == "DELETED":
            if known is not None:
                last = self._keep(self._store, told) or known
                del self._store[uid]
                self._call(self._on_delete, last[1])
        elif kind in ("ADDED", "MODIFIED") and (known is None or known[0] != version):
            entry = self._keep(self._store, told)
            if entry is not None:
                self._call(self._on_change, entry[1])
        self._resume_from = self._newest = version

    def _keep(self, store: dict[str, tuple[int, T]], told: dict[str, Any]) -> tuple[int, T] | None:
        """Store what `slim` keeps. None, and a stain on the log, if it cannot make sense of the object."""
        meta = told["metadata"]
        try:
            entry = int(meta["resourceVersion"]), self._slim(told)
        except Exception:
            self.counts["UNREADABLE"] += 1
            log.exception("reflector.unreadable", path=self._path, uid=meta["uid"])
            return None
        store[meta["uid"]] = entry
        return entry

    def _call(self, callback: Callable[..., None], *arguments: T) -> None:
        try:
            callback(*arguments)
        except Exception:
            self.counts["CALLBACK_FAILED"] += 1
            log.exception("reflector.callback_failed", path=self._path)
