"""What a request to the fake asks for, and the ways to refuse it in the API server's words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cronschedule.runtime.kube import ApiError, error_from_status
from fakes.store import Key, Selector, label_selector


def qualified(name: str, group: str) -> str:
    return f"{name}.{group}" if group else name


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of object that the server knows. `schema` prunes and defaults, as a CRD's does."""

    group: str = ""
    version: str = "v1"
    plural: str
    kind: str
    short_names: tuple[str, ...] = ()
    namespaced: bool = True
    has_status: bool = False
    has_generation: bool = False
    schema: Mapping[str, Any] | None = None

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def built_in(self) -> bool:
        """Items in lists of these do not repeat their apiVersion and kind."""
        return "." not in self.group or self.group.endswith(".k8s.io")

    @property
    def qualified(self) -> str:
        return qualified(self.plural, self.group)


def kind_of_crd(crd: Mapping[str, Any]) -> Kind:
    """The kind that a CustomResourceDefinition of one version defines."""
    spec = crd["spec"]
    (version,) = spec["versions"]
    return Kind(
        group=spec["group"],
        version=version["name"],
        plural=spec["names"]["plural"],
        kind=spec["names"]["kind"],
        short_names=tuple(spec["names"].get("shortNames", ())),
        has_status="status" in version.get("subresources", {}),
        has_generation=True,
        schema=version["schema"]["openAPIV3Schema"],
    )


CRDS: list[dict[str, Any]] = [
    yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)  # the safe one written in C: ten times as fast
    for file in sorted((Path(__file__).parents[2] / "crds").glob("*.cronschedule.dev.yaml"))
]

KINDS = (
    Kind(plural="namespaces", kind="Namespace", namespaced=False, has_status=True),
    Kind(plural="resourcequotas", kind="ResourceQuota", has_status=True),
    Kind(group="batch", plural="jobs", kind="Job", has_status=True, has_generation=True),
    Kind(group="events.k8s.io", plural="events", kind="Event"),
    Kind(group="coordination.k8s.io", plural="leases", kind="Lease"),
    *map(kind_of_crd, CRDS),
)


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request, understood."""

    verb: str
    kind: Kind
    namespace: str | None
    name: str | None
    subresource: str | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    content_type: str = ""
    accept: str = ""

    @property
    def resource(self) -> str:
        return f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural

    @property
    def key(self) -> Key:
        return self.kind.plural, self.namespace or "", self.name or ""

    def refusal(self, code: int, reason: str, says: str, **details: Any) -> ApiError:
        about = {"name": self.name, "group": self.kind.group, "kind": self.kind.plural, **details}
        about = {key: value for key, value in about.items() if value}
        status = {"kind": "Status", "code": code, "reason": reason, "message": says, "details": about}
        return error_from_status(status)

    def refused(self, code: int, reason: str, says: str, **details: Any) -> ApiError:
        return self.refusal(code, reason, f'{self.kind.qualified} "{self.name}" {says}', **details)

    def conflict(self, why: str, *, of: str | None = None) -> ApiError:
        what = qualified(of or self.kind.plural, self.kind.group)
        says = f'Operation cannot be fulfilled on {what} "{self.name}": {why}'
        return self.refusal(409, "Conflict", says, kind=of or self.kind.plural)

    def invalid(self, where: str, reason: str, says: str, *, of: str | None = None) -> ApiError:
        of = of or self.kind.kind
        group = "" if of == "Event" else self.kind.group  # Events are checked as those of the core group
        message = f'{qualified(of, group)} "{self.name or ""}" is invalid: {where}: {says}'
        causes = [{"reason": reason, "message": says, "field": where}]
        return self.refusal(422, "Invalid", message, causes=causes, kind=of, group=group)

    def selector(self) -> Selector:
        try:
            labels = label_selector(self.query.get("labelSelector", ""))
        except ValueError as error:
            raise self.refusal(400, "BadRequest", str(error)) from error
        fields = [term.split("=", 1) for term in self.query.get("fieldSelector", "").split(",") if term]
        names = [(path.removeprefix("metadata."), value) for path, value in fields]
        return lambda told: labels(told) and all(told["metadata"].get(n) == v for n, v in names)


_PATH = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<subresource>[^/]+))?)?"
)
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def _reading(query: Mapping[str, str], name: str | None) -> str:
    return "watch" if query.get("watch") in ("true", "1") else "get" if name else "list"


def understand(
    kinds: tuple[Kind, ...],
    method: str,
    path: str,
    *,
    query: Mapping[str, str],
    body: Any = None,
    **rest: Any,
) -> Call:
    """Find out what a request wants. Raises `NotFound` for a path that leads nowhere."""
    match = _PATH.fullmatch(path)
    parts = match.groupdict() if match else {}
    if parts.get("plural") == "status":  # /api/v1/namespaces/NAME/status reads as a collection in a namespace
        parts |= {
            "plural": "namespaces",
            "name": parts["namespace"],
            "namespace": None,
            "subresource": "status",
        }
    for kind in kinds:
        if (parts.get("group") or "", parts.get("version"), parts.get("plural")) == (
            kind.group,
            kind.version,
            kind.plural,
        ):
            name = parts.get("name")
            verb = _VERBS.get(method) or _reading(query, name)
            if verb == "create":
                name = (body.get("metadata") or {}).get("name")
            return Call(
                verb=verb,
                kind=kind,
                namespace=parts.get("namespace"),
                name=name,
                subresource=parts.get("subresource"),
                query=query,
                body=body,
                **rest,
            )
    says = "the server could not find the requested resource"
    raise error_from_status({"kind": "Status", "code": 404, "reason": "NotFound", "message": says})
