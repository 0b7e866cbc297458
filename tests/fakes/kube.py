"""`FakeKube`: the world behind the `Api`, with lists, watches, faults and a count of requests."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from cronschedule.runtime.clock import Clock
from cronschedule.runtime.kube import ApiError, Unreachable
from fakes.calls import KINDS, Call, Kind, understand
from fakes.faults import Duplicate, Fault, Stale, Stream, WasReset, status_of, suffer
from fakes.store import Change, Object, Watcher, copy
from fakes.world import World

CLIENT_SECONDS = 30.0
BOOKMARK_SECONDS = 60.0


class FakeKube(World):
    """One API server. Each request takes `latency` seconds of the running loop's time."""

    def __init__(
        self,
        *,
        clock: Clock,
        kinds: tuple[Kind, ...] = KINDS,
        latency: float = 0.0,
        gc_seconds: float = 1.0,
        job_seconds: float | None = None,
    ) -> None:
        super().__init__(clock=clock, kinds=kinds, gc_seconds=gc_seconds, job_seconds=job_seconds)
        self.faults: list[Fault] = []
        self.calls: Counter[tuple[str, str]] = Counter()
        """Requests by RBAC verb and resource, as ("update", "cronschedules/status")."""
        self.latency = latency
        self._pages: dict[str, tuple[int, list[Object]]] = {}

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        timeout: float | None = None,  # noqa: ASYNC109
        fence: Callable[[], None] | None = None,
    ) -> Any:
        if fence is not None:
            fence()
        call = understand(
            self.kinds, method, path, query=query or {}, body=body, content_type=content_type, accept=accept
        )
        try:
            async with asyncio.timeout(timeout or CLIENT_SECONDS):
                return await self.serve(call)
        except TimeoutError as error:
            raise Unreachable(f"{method} {path}: no answer in time") from error

    async def watch(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[dict[str, Any], None]:
        call = understand(self.kinds, "GET", path, query={**query, "watch": "true"})
        async with contextlib.aclosing(await self.open_watch(call)) as events:
            async for event in events:
                yield event

    async def serve(self, call: Call) -> Any:
        """Answer one call that is not a watch, faults included. Raises `KubeError`."""
        faults = self._count(call)
        await asyncio.sleep(self.travel_seconds())
        for fault in faults:
            if fault.phase == "before":
                await suffer(fault.action)
        if any(isinstance(fault.action, Duplicate) for fault in faults):
            self._outcome(call, faults)
        outcome = self._outcome(call, faults)
        await asyncio.sleep(self.travel_seconds())
        for fault in faults:
            if fault.phase == "after":
                await suffer(fault.action)
        if isinstance(outcome, ApiError):
            raise outcome
        return outcome

    def travel_seconds(self) -> float:
        """How long a request is on its way to the server, or its answer on the way back."""
        return self.latency / 2

    async def open_watch(self, call: Call) -> AsyncGenerator[dict[str, Any], None]:
        """Begin a watch, faults included; returns its events. Raises `KubeError`, as they may too."""
        faults = self._count(call)
        await asyncio.sleep(self.travel_seconds() + self.travel_seconds())
        for fault in faults:
            await suffer(fault.action)
        cuts = [fault.action for fault in faults if isinstance(fault.action, Stream)]
        return self._until(cuts[0], self._events(call)) if cuts else self._events(call)

    async def _until(
        self, cut: Stream, events: AsyncGenerator[dict[str, Any], None]
    ) -> AsyncGenerator[dict[str, Any], None]:
        async with contextlib.aclosing(events):
            for _ in range(cut.after):
                event = await anext(events, None)
                if event is None:
                    return
                yield event
        last = await cut.cut()
        if last is not None:
            yield last

    def _count(self, call: Call) -> list[Fault]:
        self.calls[call.verb, call.resource] += 1
        where, name = call.namespace or "", call.name or ""
        return [
            fault
            for fault in self.faults
            if fault.strikes(verb=call.verb, resource=call.resource, namespace=where, name=name)
        ]

    def _outcome(self, call: Call, faults: list[Fault]) -> Any:
        try:
            if call.verb == "list":
                stale = [fault.action.writes for fault in faults if isinstance(fault.action, Stale)]
                return self._list(call, writes_ago=sum(stale))
            return self.apply(call)
        except ApiError as error:
            return error

    def _list(self, call: Call, *, writes_ago: int) -> Object:
        token = call.query.get("continue")
        if token is None:
            version = self.store.version - writes_ago
            at = version if writes_ago else None
            items = self.store.select(call.kind.plural, call.namespace, call.selector(), at=at)
        elif token in self._pages and self._pages[token][0] >= self.store.compacted:
            version, items = self._pages.pop(token)
        else:
            says = "The provided continue parameter is too old to display a consistent list result."
            raise call.refusal(410, "Expired", says)
        limit = int(call.query.get("limit") or 0) or len(items)
        meta: Object = {"resourceVersion": str(version)}
        if rest := items[limit:]:
            meta |= {"continue": f"{version}-{rest[0]['metadata']['uid']}", "remainingItemCount": len(rest)}
            self._pages[meta["continue"]] = version, rest
        if "as=PartialObjectMetadataList" in call.accept:
            shown = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
            items = [{**shown, "metadata": told["metadata"]} for told in items[:limit]]
            named = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
        else:
            hidden = ("kind", "apiVersion") if call.kind.built_in else ()
            items = [{key: told[key] for key in told if key not in hidden} for told in items[:limit]]
            named = {"kind": f"{call.kind.kind}List", "apiVersion": call.kind.api_version}
        answer: Object = copy({**named, "metadata": meta, "items": items})
        return answer

    async def _events(self, call: Call) -> AsyncGenerator[dict[str, Any], None]:
        selector = call.selector()
        since = int(call.query.get("resourceVersion") or 0)
        watcher = self.store.watch(call.kind.plural, call.namespace, since or self.store.version)
        if watcher is None:
            says = f"too old resource version: {since} ({self.store.version})"
            yield {"type": "ERROR", "object": status_of(call.refusal(410, "Expired", says))}
            return
        try:
            if not since:
                for told in self.store.select(call.kind.plural, call.namespace, selector):
                    yield {"type": "ADDED", "object": copy(told)}
            async for change in self._changes(call, watcher):
                event = self._bookmark(call) if change is None else change.seen_through(selector)
                if event is not None:
                    yield event
        finally:
            self.store.unwatch(watcher)

    async def _changes(self, call: Call, watcher: Watcher) -> AsyncGenerator[Change | None, None]:
        """What happens, until the client's time is up. None: time for a bookmark."""
        time = asyncio.get_running_loop().time
        end = time() + float(call.query.get("timeoutSeconds") or 1800)
        bookmarks = call.query.get("allowWatchBookmarks") in ("true", "1")
        due = time() + BOOKMARK_SECONDS if bookmarks else end
        while True:
            try:
                async with asyncio.timeout_at(min(due, end)):
                    change = await watcher.queue.get()
            except TimeoutError:
                if due >= end:
                    return
                due += BOOKMARK_SECONDS
                if self.store.version >= watcher.after:
                    yield None
                continue
            if change is None:
                raise WasReset("the stream broke")
            yield change

    def _bookmark(self, call: Call) -> dict[str, Any]:
        meta = {"resourceVersion": str(self.store.version), "creationTimestamp": None}
        told = {"kind": call.kind.kind, "apiVersion": call.kind.api_version, "metadata": meta}
        return {"type": "BOOKMARK", "object": told}
