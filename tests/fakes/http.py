"""The fake API server over HTTP on 127.0.0.1, for kopf and the real client."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from cronschedule.runtime.kube import ApiError, error_from_status
from fakes.calls import Kind, understand
from fakes.faults import WasReset, WasTruncated, status_of
from fakes.kube import FakeKube


@dataclass
class Served:
    """Where the server is, and whom it lets in (None: everybody)."""

    url: str
    tokens: set[str] | None = None
    requests: list[web.Request] = field(default_factory=list)


@contextlib.asynccontextmanager
async def serve_http(kube: FakeKube) -> AsyncIterator[Served]:
    """Serve until the block ends."""
    served = Served(url="")
    app = web.Application(client_max_size=16 * 1024 * 1024)
    app.router.add_route("*", "/{path:.*}", _Door(kube, served).answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    served.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield served
    finally:
        await runner.cleanup()


class _Door:
    def __init__(self, kube: FakeKube, served: Served) -> None:
        self._kube = kube
        self._served = served
        self._discovery = _discovery(kube.kinds)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self._served.requests.append(request)
        try:
            self._let_in(request)
            found = self._discovery.get(request.path.rstrip("/"))
            if found is not None:
                return web.json_response(found)
            call = understand(
                self._kube.kinds,
                request.method,
                request.path,
                query=dict(request.query),
                body=json.loads(await request.read() or "null"),
                content_type=request.content_type,
                accept=request.headers.get("Accept", ""),
            )
            if call.verb == "watch":
                return await self._stream(request, await self._kube.open_watch(call))
            code = 201 if call.verb == "create" else 200
            return web.json_response(await self._kube.serve(call), status=code)
        except ApiError as error:
            wait = {} if error.retry_after is None else {"Retry-After": f"{error.retry_after:.0f}"}
            return web.json_response(status_of(error), status=error.status, headers=wait)
        except WasReset:
            return _abort(request)

    async def _stream(self, request: web.Request, events: Any) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        async with contextlib.aclosing(events):
            try:
                await response.prepare(request)
                async for event in events:
                    await response.write(json.dumps(event).encode() + b"\n")
            except WasTruncated:
                await response.write(b'{"type":"MODIFIED","object":{"metadata":{"na')
            except WasReset:
                return _abort(request)
            except ConnectionResetError:
                return response  # the client has gone
        await response.write_eof()
        return response

    def _let_in(self, request: web.Request) -> None:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self._served.tokens is not None and token not in self._served.tokens:
            told = {"kind": "Status", "code": 401, "reason": "Unauthorized", "message": "Unauthorized"}
            raise error_from_status(told)


def _discovery(kinds: tuple[Kind, ...]) -> dict[str, dict[str, Any]]:
    by_version: dict[str, list[Kind]] = {}
    for kind in kinds:
        by_version.setdefault(kind.api_version, []).append(kind)
    groups = [_group(version) for version in by_version if "/" in version]
    answers: dict[str, dict[str, Any]] = {
        "/version": {"major": "1", "minor": "37", "gitVersion": "v1.37.2"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "groups": groups},
    }
    for version, members in by_version.items():
        root = "/apis/" if "/" in version else "/api/"
        rows = [row for kind in members for row in _rows(kind)]
        answers[root + version] = {"kind": "APIResourceList", "groupVersion": version, "resources": rows}
    return answers


def _group(api_version: str) -> dict[str, Any]:
    name, version = api_version.split("/")
    told = {"groupVersion": api_version, "version": version}
    return {"name": name, "versions": [told], "preferredVersion": told}


def _rows(kind: Kind) -> list[dict[str, Any]]:
    verbs = ["create", "delete", "get", "list", "patch", "update", "watch"]
    row = {
        "name": kind.plural,
        "singularName": kind.kind.lower(),
        "kind": kind.kind,
        "namespaced": kind.namespaced,
        "shortNames": list(kind.short_names),
        "verbs": verbs,
    }
    if not kind.has_status:
        return [row]
    return [row, {**row, "name": f"{kind.plural}/status", "verbs": ["get", "patch", "update"]}]


def _abort(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
