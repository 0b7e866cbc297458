"""What was asked of the API server, by whom: from its audit log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bench.times import parse_time

READS = ("get", "list", "watch")
CAUSES = {
    ("kopf", "list", "*"): "kopf's watcher begins anew",
    ("kopf", "watch", "*"): "kopf's watcher goes on",
    ("cronschedule-operator", "list", "jobs"): "the Jobs reflector begins anew",
    ("cronschedule-operator", "watch", "jobs"): "the Jobs reflector goes on",
    ("cronschedule-operator", "list", "*"): "the periodic comparison with what is held (audit)",
    ("cronschedule-operator", "get", "jobs"): "a Job's name was taken, or a create had no answer",
    (
        "cronschedule-operator",
        "get",
        "cronschedules",
    ): "a status write met a conflict, or the comparison a doubt",
    ("cronschedule-operator", "get", "namespaces"): "the comparison met a doubt",
    ("cronschedule-operator", "get", "leases"): "the leader election",
}


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request. `resource` has its subresource: `cronschedules/status`. `at`, `end`: when it came and when it was
    answered, UTC seconds."""

    client: str
    verb: str
    resource: str
    code: int
    at: float
    end: float
    uri: str

    @property
    def failed(self) -> bool:
        return self.code >= 400

    def is_write_of(self, resource: str) -> bool:
        return self.verb in ("update", "patch") and self.resource == resource and not self.failed


def read_requests(events: Iterable[Mapping[str, Any]], *, begin: float, end: float) -> list[Request]:
    """The requests that came in this time. A watch counts once, when it begins."""
    found = []
    for event in events:
        at = parse_time(event["requestReceivedTimestamp"])
        begun = "ResponseStarted" if event["verb"] == "watch" else "ResponseComplete"
        if event["stage"] != begun or not begin <= at < end:
            continue
        where = event.get("objectRef") or {}
        resource, part = where.get("resource", "?"), where.get("subresource")
        found.append(
            Request(
                client=client_of(event.get("userAgent", "")),
                verb=event["verb"],
                resource=f"{resource}/{part}" if part else resource,
                code=(event.get("responseStatus") or {}).get("code", 0),
                at=at,
                end=parse_time(event["stageTimestamp"]),
                uri=event["requestURI"],
            )
        )
    return found


def client_of(user_agent: str) -> str:
    """Who it was: the program, and of the controller manager the controller."""
    program = user_agent.split("/", 1)[0]
    if program == "kube-controller-manager":
        return user_agent.rsplit("/", 1)[-1].rsplit(":", 1)[-1]
    return program or "unknown"


def per_run(requests: Iterable[Request], runs: int) -> dict[tuple[str, str, str], float]:
    """(client, verb, resource) → requests per run, the most frequent first."""
    counted = Counter((request.client, request.verb, request.resource) for request in requests)
    return {what: number / max(runs, 1) for what, number in counted.most_common()}


def count(requests: Iterable[Request], matches: Callable[[Request], bool]) -> int:
    return sum(map(matches, requests))


def tell_reads(requests: Iterable[Request]) -> list[str]:
    """One line for each kind of GET, LIST and WATCH: how many, which URI, and who caused it."""
    reads = Counter(
        (request.client, request.verb, request.resource, _pattern(request.uri))
        for request in requests
        if request.verb in READS
    )
    return [
        f"{number} × {verb.upper()} {uri} by {client}: {_cause(client, verb, resource)}"
        for (client, verb, resource, uri), number in sorted(reads.items())
    ]


def _pattern(uri: str) -> str:
    """The URI without the values of its query: those differ from one to the next."""
    parts = urlsplit(uri)
    keys = sorted(parse_qs(parts.query))
    return parts.path + (f"?{'&'.join(keys)}" if keys else "")


def _cause(client: str, verb: str, resource: str) -> str:
    return CAUSES.get((client, verb, resource)) or CAUSES.get((client, verb, "*")) or "?"
