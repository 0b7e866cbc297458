"""What the operator asks of the Kubernetes API, in the few forms it needs. Nothing here knows a schedule.

Creating and reading need no words: `await api.request("POST", JOBS.path(namespace=ns), body=job)`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from cronschedule.api.names import BACKFILL_KIND, KIND
from cronschedule.runtime.kube import JSON, Api

MERGE_PATCH = "application/merge-patch+json"
METADATA_ONLY = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
"""Accept header of a list: its items come without spec and status."""


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A kind of object, as URLs name it. The core group is ''. `kind` is for what is written as a whole."""

    group: str
    version: str
    plural: str
    kind: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(
        self, *, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """The URL path of the collection, of one object, or of its subresource."""
        root = f"/apis/{self.group}" if self.group else "/api"
        parts = [root, self.version]
        if namespace is not None:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        if name is not None:
            parts.append(quote(name, safe=""))
        if subresource is not None:
            parts.append(subresource)
        return "/".join(parts)


JOBS = Resource(group="batch", version="v1", plural="jobs")
NAMESPACES = Resource(group="", version="v1", plural="namespaces")
EVENTS = Resource(group="events.k8s.io", version="v1", plural="events")
LEASES = Resource(group="coordination.k8s.io", version="v1", plural="leases")
CRONSCHEDULES = Resource(group="cronschedule.dev", version="v1alpha1", plural="cronschedules", kind=KIND)
BACKFILLS = Resource(group="cronschedule.dev", version="v1alpha1", plural="backfills", kind=BACKFILL_KIND)


@dataclass(frozen=True, kw_only=True)
class Page:
    """One chunk of a list. `resource_version` is that of the whole list, the same on every page."""

    items: list[dict[str, Any]]
    resource_version: str


async def list_pages(
    api: Api, path: str, *, label_selector: str | None = None, limit: int = 500, accept: str = JSON
) -> AsyncGenerator[Page, None]:
    """List in chunks, all of them from one consistent moment.

    Raises `Gone` when that moment fell out of the server's memory half-way: begin again from the first page.
    """
    query = {"limit": str(limit)}
    if label_selector:
        query["labelSelector"] = label_selector
    while True:
        answer = await api.request("GET", path, query=query, accept=accept)
        meta = answer.get("metadata") or {}
        yield Page(items=answer.get("items") or [], resource_version=meta.get("resourceVersion") or "")
        if not meta.get("continue"):
            return
        query["continue"] = meta["continue"]


async def replace_status(
    api: Api, resource: Resource, *, namespace: str, name: str, uid: str, version: int, status: Any
) -> Any:
    """Put `status` in place of the object's whole status, if it is still the one that was read (`uid`, `version`).

    A PUT to the subresource, not a merge patch: what went away need not be named, and the rest of the body is ignored.
    Raises `Conflict` when the object changed or was made anew meanwhile, `NotFound`.
    """
    body = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"namespace": namespace, "name": name, "uid": uid, "resourceVersion": str(version)},
        "status": status,
    }
    path = resource.path(namespace=namespace, name=name, subresource="status")
    return await api.request("PUT", path, body=body)


async def delete(
    api: Api, path: str, *, uid: str, propagation: str = "Background", resource_version: str | None = None
) -> None:
    """Delete the object with this UID, no other of its name. Raises `Conflict` (another UID or version), `NotFound`."""
    preconditions = {"uid": uid}
    if resource_version is not None:
        preconditions["resourceVersion"] = resource_version
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": propagation,
        "preconditions": preconditions,
    }
    await api.request("DELETE", path, body=options)
