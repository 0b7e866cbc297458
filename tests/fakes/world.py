"""The state of the fake cluster, as tests see and change it: past every fault and counter."""

from __future__ import annotations

from typing import Any

from cronschedule.runtime.clock import Clock
from fakes.calls import KINDS, Call, Kind
from fakes.controllers import Controllers
from fakes.rules import Rules
from fakes.store import Object, Snapshot, Store, copy

MERGE = "application/merge-patch+json"


class World:
    """Objects, and what acts on them by itself. Times are in seconds of the running loop.

    `gc_seconds` is how long garbage collection lags behind a deletion, `job_seconds` how long Jobs run before they
    succeed by themselves (None: until `finish`).
    """

    def __init__(
        self,
        *,
        clock: Clock,
        kinds: tuple[Kind, ...] = KINDS,
        gc_seconds: float = 1.0,
        job_seconds: float | None = None,
    ) -> None:
        self.kinds = kinds
        self.clock = clock
        self.store = Store()
        self._rules = Rules(self.store, clock.now)
        self._controllers = Controllers(self, gc_seconds=gc_seconds, job_seconds=job_seconds)
        self.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})

    def apply(self, call: Call) -> Object:
        """Do what the call asks and let the controllers know. Raises `ApiError`."""
        made = self._rules.apply(call)
        self._controllers.react(call, made)
        return made

    def objects(self, plural: str, namespace: str | None = None) -> list[Object]:
        """Copies of all objects of a kind, by namespace and name."""
        return [copy(told) for told in self.store.select(plural, namespace, lambda _: True)]

    def find(self, plural: str, namespace: str | None, name: str) -> Object | None:
        found: Object | None = copy(self.store.objects.get((plural, namespace or "", name)))
        return found

    def add(self, told: Object) -> Object:
        """Create an object of any kind; its status, if it has one, is kept."""
        kind = next(k for k in self.kinds if (k.api_version, k.kind) == (told["apiVersion"], told["kind"]))
        meta = told["metadata"]
        namespace = meta.get("namespace") if kind.namespaced else None
        made = self._act("create", kind, namespace, meta.get("name"), body=told)
        if kind.has_status and told.get("status"):
            patch = {"status": told["status"]}
            made = self.edit(kind.plural, namespace, made["metadata"]["name"], patch, subresource="status")
        return made

    def edit(
        self, plural: str, namespace: str | None, name: str, patch: Object, *, subresource: str | None = None
    ) -> Object:
        """Merge-patch an object."""
        return self._act("patch", self._kind(plural), namespace, name, subresource=subresource, body=patch)

    def remove(self, plural: str, namespace: str | None, name: str) -> Object:
        return self._act("delete", self._kind(plural), namespace, name)

    def compact(self) -> None:
        """Forget the past: older watches and lists that are under way get a 410."""
        self.store.compact()

    def break_streams(self) -> None:
        """Reset every open watch."""
        self.store.break_streams()

    def backup(self) -> Snapshot:
        return self.store.backup()

    def restore(self, snapshot: Snapshot) -> None:
        """Put etcd back to a backup: resourceVersions go back too."""
        self.store.restore(snapshot)

    def finish(self, namespace: str, name: str, *, succeeded: bool = True) -> None:
        """End a Job's run."""
        self._controllers.finish_job(namespace, name, succeeded=succeeded)

    def _kind(self, plural: str) -> Kind:
        return next(kind for kind in self.kinds if kind.plural == plural)

    def _act(
        self,
        verb: str,
        kind: Kind,
        namespace: str | None,
        name: str | None,
        *,
        subresource: str | None = None,
        body: Any = None,
    ) -> Object:
        call = Call(
            verb=verb,
            kind=kind,
            namespace=namespace,
            name=name,
            subresource=subresource,
            body=body,
            content_type=MERGE,
        )
        return self.apply(call)
