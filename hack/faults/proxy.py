"""The proxy: takes requests, asks the plan what shall become of each, and carries that out.

    python -m faults KUBECONFIG FOLDER

It finds its plan in FOLDER/plan.json, where it may be replaced at any time, and leaves there, once it listens,
`kubeconfig` for its client. What it has done to whom it writes to `faults.jsonl`, a line for each fault.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import trustme
import yaml
from aiohttp import web

from cronschedule.runtime.credentials import Credentials, load_credentials
from faults.plan import STREAM_ACTIONS, Asked, Dice, Plan, Rule, read_plan, understand
from faults.streams import forward

HOST = "localhost"
"""A name, for only those who ask for one by name can be shown another certificate."""

LOOK_AT_PLAN = 0.1
REMEMBERED = 50
"""Lists of each kind that are kept, to be shown again when they are out of date."""

HOP_BY_HOP = {"connection", "host", "authorization", "transfer-encoding", "content-length", "keep-alive"}


class Reset(Exception):
    """The client's connection shall break."""


class Proxy:
    """One API server behind one plan."""

    def __init__(self, credentials: Credentials, folder: Path) -> None:
        self._credentials = credentials
        self._folder = folder
        self._dice = Dice(Plan())
        self._began = time.monotonic()
        self._plan_read = 0
        self._lists: dict[str, deque[tuple[float, bytes]]] = {}
        self._tokens = {"token-0"}
        self._token_number = 0
        self._distrusted = False
        self._session: aiohttp.ClientSession
        self._tls, self._foreign_tls, self._ca = _certificates()
        self._tls.sni_callback = self._choose_certificate

    async def run(self) -> None:
        """Until cancelled."""
        connector = aiohttp.TCPConnector(limit=0, ssl=self._credentials.ssl_context())
        async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as self._session:
            app = web.Application(client_max_size=64 * 1024 * 1024)
            app.router.add_route("*", "/{path:.*}", self._answer)
            runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.5)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._tls).start()
            try:
                self._tell_client(runner.addresses[0][1])
                while True:
                    self._look_at_plan()
                    await asyncio.sleep(LOOK_AT_PLAN)
            finally:
                await runner.cleanup()

    # The plan

    def _look_at_plan(self) -> None:
        file = self._folder / "plan.json"
        with contextlib.suppress(FileNotFoundError):
            stamp = file.stat().st_mtime_ns
            if stamp != self._plan_read:
                plan = read_plan(file)
                self._dice, self._began, self._plan_read = Dice(plan), time.monotonic(), stamp
                self._distrusted = False
                (self._folder / "plan.seen").write_text(str(stamp))

    def _strike(self, asked: Asked) -> Rule | None:
        second = time.monotonic() - self._began
        struck = self._dice.strike(asked, second)
        if struck is None:
            return None
        place, rule = struck
        told = {"second": round(second, 3), "rule": place, "action": rule.action, "phase": rule.phase}
        with (self._folder / "faults.jsonl").open("a") as out:
            out.write(json.dumps({**told, **vars(asked)}) + "\n")
        return rule

    # A request

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._serve(request)
        except Reset:
            return _broken(request)
        except (aiohttp.ClientError, OSError):
            return _broken(request)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        asked = understand(request.method, request.path, request.query)
        if request.headers.get("Authorization", "").removeprefix("Bearer ") not in self._tokens:
            return _failure(401, "Unauthorized")
        body = await request.read()
        rule = self._strike(asked)
        if rule is not None and rule.action not in STREAM_ACTIONS:
            early = await self._suffer(rule, request) if rule.phase == "before" else None
            if early is not None:
                return early
        if asked.verb == "watch":
            return await self._stream(request, rule)
        if rule is not None and rule.action == "twice":
            await self._send(request, body)
        status, headers, told = await self._send(request, body)
        if rule is not None and rule.phase == "after":
            late = await self._suffer(rule, request)
            if late is not None:
                return late
        if asked.verb == "list":
            told = self._list(request, told, rule)
        if rule is not None and rule.action == "drip":
            return await _drip(request, status, headers, told, rule.seconds)
        return web.Response(status=status, headers=headers, body=told)

    async def _suffer(self, rule: Rule, request: web.Request) -> web.Response | None:
        """What goes wrong before the request is sent, or before its answer is; an answer that replaces the true one."""
        match rule.action:
            case "delay":
                await asyncio.sleep(rule.seconds)
            case "answer":
                return _failure(rule.code, retry_after=rule.retry_after)
            case "reset":
                raise Reset
            case "hang":
                await asyncio.sleep(3600)
            case "token":
                self._expire_token(rule.seconds)
                return _failure(401, "Unauthorized")
            case "tls":
                self._distrusted = True
                until = (
                    self._began + rule.until if rule.until is not None else time.monotonic() + rule.seconds
                )
                asyncio.get_running_loop().call_later(until - time.monotonic(), self._trust)
                raise Reset
        return None

    async def _send(self, request: web.Request, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        async with self._session.request(
            request.method,
            self._credentials.server + request.raw_path,
            headers=_kept(request.headers),
            data=body or None,
        ) as answer:
            return answer.status, _kept(answer.headers), await answer.read()

    async def _stream(self, request: web.Request, rule: Rule | None) -> web.StreamResponse:
        url = self._credentials.server + request.raw_path
        limit = aiohttp.ClientTimeout(total=None)
        async with self._session.get(url, headers=_kept(request.headers), timeout=limit) as source:
            if source.status != 200:
                return web.Response(
                    status=source.status, headers=_kept(source.headers), body=await source.read()
                )
            response = web.StreamResponse(headers=_kept(source.headers))
            await response.prepare(request)
            if not await forward(source.content, response, rule):
                raise Reset
            return response

    def _list(self, request: web.Request, told: bytes, rule: Rule | None) -> bytes:
        """The list as it is, or, for `stale`, as it was. Lists of several pages are let through."""
        if "continue" in request.query or b'"continue":"' in told[:2000]:
            return told
        key = f"{request.path}?{request.query_string} {request.headers.get('Accept')}"
        past = self._lists.setdefault(key, deque(maxlen=REMEMBERED))
        now = time.monotonic()
        if rule is not None and rule.action == "stale" and past:
            old = [body for moment, body in past if moment <= now - rule.seconds]
            return old[-1] if old else past[0][1]
        past.append((now, told))
        return told

    # Who the proxy and its client are

    def _tell_client(self, port: int) -> None:
        (self._folder / "ca.crt").write_bytes(self._ca)
        (self._folder / "token").write_text("token-0")
        config = {
            "current-context": "faults",
            "contexts": [{"name": "faults", "context": {"cluster": "faults", "user": "faults"}}],
            "clusters": [
                {
                    "name": "faults",
                    "cluster": {"server": f"https://{HOST}:{port}", "certificate-authority": "ca.crt"},
                }
            ],
            "users": [{"name": "faults", "user": {"tokenFile": "token"}}],
        }
        fresh = self._folder / "kubeconfig.new"
        fresh.write_text(yaml.safe_dump(config))
        fresh.replace(self._folder / "kubeconfig")

    def _expire_token(self, seconds: float) -> None:
        self._token_number += 1
        token = f"token-{self._token_number}"
        self._tokens = {token}
        asyncio.get_running_loop().call_later(seconds, (self._folder / "token").write_text, token)

    def _trust(self) -> None:
        self._distrusted = False

    def _choose_certificate(self, connection: Any, _name: str, _context: ssl.SSLContext) -> None:
        if self._distrusted:
            connection.context = self._foreign_tls


def _certificates() -> tuple[ssl.SSLContext, ssl.SSLContext, bytes]:
    """Our own TLS, that of somebody whom nobody knows, and the CA that vouches for ours."""
    contexts = []
    authorities = [trustme.CA(), trustme.CA()]
    for authority in authorities:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert(HOST).configure_cert(context)
        contexts.append(context)
    return contexts[0], contexts[1], authorities[0].cert_pem.bytes()


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in HOP_BY_HOP}


def _failure(code: int, reason: str = "", *, retry_after: int | None = None) -> web.Response:
    """As the API server would say it."""
    reasons = {409: "Conflict", 410: "Expired", 429: "TooManyRequests", 500: "InternalError"}
    told = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason or reasons.get(code, "ServiceUnavailable"),
        "message": "injected by the fault proxy",
        "code": code,
    }
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return web.json_response(told, status=code, headers=headers)


def _broken(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def _drip(
    request: web.Request, status: int, headers: Mapping[str, str], told: bytes, seconds: float
) -> web.StreamResponse:
    response = web.StreamResponse(status=status, headers=headers)
    await response.prepare(request)
    pieces = 40
    size = max(1, -(-len(told) // pieces))
    for start in range(0, len(told), size):
        await response.write(told[start : start + size])
        await asyncio.sleep(seconds / pieces)
    await response.write_eof()
    return response


async def serve(kubeconfig: Path, folder: Path) -> None:
    """Until cancelled."""
    await Proxy(load_credentials(str(kubeconfig)), folder).run()
