"""The fake's etcd: objects under one growing resourceVersion, what happened to them, and who watches.

Stored objects are never changed in place, so snapshots and history are cheap references.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]
Key = tuple[str, str, str]  # plural, namespace ('' for cluster-scoped), name
Selector = Callable[[Object], bool]


def copy(told: Any) -> Any:
    """A deep copy, as sending over the wire makes one."""
    return json.loads(json.dumps(told))


@dataclass(frozen=True)
class Change:
    """One write: the object before (None: it was not there) and after (None: it is gone)."""

    version: int
    key: Key
    before: Object | None
    after: Object | None

    def seen_through(self, selector: Selector) -> Object | None:
        """The watch event that a watcher with this selector gets, or None."""
        was = self.before is not None and selector(self.before)
        if self.after is not None and selector(self.after):
            return {"type": "MODIFIED" if was else "ADDED", "object": copy(self.after)}
        if not was:
            return None
        gone = copy(self.before)
        gone["metadata"]["resourceVersion"] = str(self.version)
        return {"type": "DELETED", "object": gone}


@dataclass(eq=False)
class Watcher:
    """One open stream of a collection. None in its queue means that the stream breaks."""

    plural: str
    namespace: str | None
    after: int
    queue: asyncio.Queue[Change | None] = field(default_factory=asyncio.Queue)

    def offer(self, change: Change) -> None:
        plural, namespace, _ = change.key
        if plural == self.plural and self.namespace in (None, namespace) and change.version > self.after:
            self.queue.put_nowait(change)


@dataclass(frozen=True)
class Snapshot:
    """What a backup of etcd holds."""

    version: int
    objects: dict[Key, Object]


class Store:
    """Objects by key. Only `write` changes anything."""

    def __init__(self) -> None:
        self.version = 100
        self.objects: dict[Key, Object] = {}
        self.compacted = 0
        self._history: list[Change] = []
        self.watchers: set[Watcher] = set()

    def write(self, key: Key, after: Object | None) -> Object:
        """Put or (None) remove an object. Returns it as it is, or last was, stored."""
        before = self.objects.get(key)
        self.version += 1
        if after is not None:
            meta = {**after["metadata"], "resourceVersion": str(self.version)}
            self.objects[key] = after = {**after, "metadata": meta}
        else:
            before = self.objects.pop(key)
        change = Change(self.version, key, before, after)
        self._history.append(change)
        for watcher in self.watchers:
            watcher.offer(change)
        return after or before or {}

    def select(
        self, plural: str, namespace: str | None, selector: Selector, *, at: int | None = None
    ) -> list[Object]:
        """Objects in key order, now or as of a resourceVersion that is still remembered."""
        objects = self.objects if at is None else self._as_of(at)
        found = sorted((key, told) for key, told in objects.items() if key[0] == plural)
        return [told for (_, where, _), told in found if namespace in (None, where) and selector(told)]

    def _as_of(self, version: int) -> dict[Key, Object]:
        objects = dict(self.objects)
        for change in reversed(self._history):
            if change.version <= version:
                break
            if change.before is None:
                del objects[change.key]
            else:
                objects[change.key] = change.before
        return objects

    def watch(self, plural: str, namespace: str | None, after: int) -> Watcher | None:
        """A watcher that first gets what happened since. None: that is no longer remembered."""
        if after < self.compacted:
            return None
        watcher = Watcher(plural, namespace, after)
        for change in self._history:
            watcher.offer(change)
        self.watchers.add(watcher)
        return watcher

    def unwatch(self, watcher: Watcher) -> None:
        self.watchers.discard(watcher)

    def compact(self) -> None:
        """Forget the past. Streams that are open go on."""
        self._history.clear()
        self.compacted = self.version

    def break_streams(self) -> None:
        for watcher in self.watchers:
            watcher.queue.put_nowait(None)

    def backup(self) -> Snapshot:
        return Snapshot(self.version, dict(self.objects))

    def restore(self, snapshot: Snapshot) -> None:
        """Go back in time, resourceVersion included, as restoring etcd does. Streams break."""
        self.version, self.objects = snapshot.version, dict(snapshot.objects)
        self.compact()
        self.break_streams()


_TERM = re.compile(
    r"^\s*(?:(?P<absent>!)?(?P<alone>[\w./-]+)"
    r"|(?P<key>[\w./-]+)\s*(?:(?P<op>==?|!=)\s*(?P<value>[\w.-]*)"
    r"|\s(?P<set>in|notin)\s*\((?P<values>[^)]*)\)))\s*$"
)


def label_selector(text: str) -> Selector:
    """All of `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`, joined by commas."""
    terms = [_term(part) for part in re.split(r",(?![^(]*\))", text) if part.strip()]
    return lambda told: all(term(told["metadata"].get("labels") or {}) for term in terms)


def _term(text: str) -> Callable[[dict[str, str]], bool]:
    match = _TERM.match(text)
    if match is None:
        raise ValueError(f"unable to parse requirement: {text!r}")
    if alone := match["alone"]:
        return lambda labels: (alone in labels) != bool(match["absent"])
    key = match["key"]
    values = {v.strip() for v in match["values"].split(",")} if match["set"] else {match["value"]}
    wanted = match["op"] in ("=", "==") or match["set"] == "in"
    return lambda labels: (labels.get(key) in values) == wanted
