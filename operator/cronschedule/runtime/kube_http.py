"""The `Api` over HTTP: one aiohttp session, its limits, its token, and the way from answers to errors."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Self

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from pydantic_core import from_json, to_json

from cronschedule import __version__
from cronschedule.runtime.credentials import Credentials
from cronschedule.runtime.kube import JSON, ApiError, Unreachable, error_from_status

FIELD_MANAGER = "cronschedule-operator"
USER_AGENT = f"cronschedule-operator/{__version__}"

MAX_CONNECTIONS = 48
"""Writers must keep fewer in flight than this, so that the lease and the watches always find a connection."""

KEPT_SECONDS = 80.0
"""How long an idle connection is kept: from one minute's runs to the next's."""

CONNECT_SECONDS = 5.0
REQUEST_SECONDS = 30.0
TOKEN_SECONDS = 60.0
"""How old a token read from a file may get. The kubelet renews it at 80 % of its life, at most hourly."""

OnAnswer = Callable[[str, str, float], None]
"""Told of each request: its verb (WATCH apart from GET), the status code (`none` without an answer), seconds."""

MAX_LINE = 16 * 1024 * 1024
"""Bytes of one watch event: many times what etcd lets an object be."""


class HttpApi:
    """`async with HttpApi(load_credentials()) as api`. See `kube.Api` for what it does.

    Writes carry our field manager. Neither bodies nor tokens get into errors or logs.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        max_connections: int = MAX_CONNECTIONS,
        on_answer: OnAnswer = lambda verb, code, seconds: None,
    ) -> None:
        self._credentials = credentials
        self._on_answer = on_answer
        self._max_connections = max_connections
        self._authorization = _Authorization(credentials)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        tls = self._credentials.server.startswith("https:")
        connector = aiohttp.TCPConnector(
            limit=self._max_connections,
            keepalive_timeout=KEPT_SECONDS,
            ssl=self._credentials.ssl_context() if tls else False,
        )
        # Compression saves no time inside a cluster: lists of 1,000 Jobs took as long or longer with gzip.
        headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
        self._session = aiohttp.ClientSession(connector=connector, headers=headers)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = JSON,
        accept: str = JSON,
        timeout: float | None = None,  # noqa: ASYNC109 (see `Api`)
        fence: Callable[[], None] | None = None,
    ) -> Any:
        headers = {"Accept": accept}
        data = None
        if fence is not None:
            fence()
        if body is not None:
            headers["Content-Type"] = content_type
            data = _Body(to_json(body), fence)
        if method in ("POST", "PUT", "PATCH"):
            query = {"fieldManager": FIELD_MANAGER, **(query or {})}
        limit = aiohttp.ClientTimeout(total=timeout or REQUEST_SECONDS, sock_connect=CONNECT_SECONDS)
        async with self._answer(method, path, query, headers, limit, data) as response:
            return _parse(await response.read(), method, path)

    async def watch(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[dict[str, Any], None]:
        limit = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)
        query = {"watch": "true", **query}
        async with self._answer("GET", path, query, {"Accept": JSON}, limit) as response:
            async for line in _lines(response.content.iter_any()):
                yield _parse(line, "WATCH", path)

    @contextlib.asynccontextmanager
    async def _answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        headers: dict[str, str],
        limit: aiohttp.ClientTimeout,
        data: _Body | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A successful answer; every failure, also one while its body is read, becomes a `KubeError`."""
        if self._session is None:
            raise RuntimeError("HttpApi is used outside of `async with`")
        send = functools.partial(
            self._session.request,
            method,
            self._credentials.server + path,
            params=query,
            data=data,
            timeout=limit,
            allow_redirects=False,
        )
        verb = "WATCH" if query and "watch" in query else method
        clock = asyncio.get_running_loop().time
        began, code = clock(), "none"
        try:
            try:
                response = await self._authorized(send, headers)
                code = str(response.status)
            finally:
                self._on_answer(verb, code, clock() - began)
            async with response:
                if response.status >= 300:
                    raise await _error(response)
                yield response
        except (aiohttp.ClientError, OSError) as failure:  # TimeoutError is an OSError
            raise Unreachable(f"{method} {path}: {_describe(failure)}") from failure

    async def _authorized(
        self, send: Callable[..., Awaitable[aiohttp.ClientResponse]], headers: dict[str, str]
    ) -> aiohttp.ClientResponse:
        """Send it with the token, once more where that has been renewed meanwhile."""
        response = await send(headers=headers | self._authorization.headers())
        if response.status == 401 and self._authorization.renew():
            response.release()
            response = await send(headers=headers | self._authorization.headers())
        return response


class _Body(aiohttp.BytesPayload):
    """A body that asks once more just before it goes out: waiting for a connection may have taken long.

    A request whose body never comes is none for the server. The failure comes out as `Unreachable`.
    """

    def __init__(self, value: bytes, fence: Callable[[], None] | None) -> None:
        super().__init__(value)
        self._fence = fence

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        if self._fence is not None:
            self._fence()
        await super().write_with_length(writer, content_length)


class _Authorization:
    """The header that says who we are. A token from a file is read anew when it has got old."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._token: str | None = None
        self._read_at = float("-inf")

    def headers(self) -> dict[str, str]:
        basic = self._credentials
        if basic.username and basic.password:
            return {"Authorization": aiohttp.encode_basic_auth(basic.username, basic.password)}
        if asyncio.get_running_loop().time() - self._read_at > TOKEN_SECONDS:
            self.renew()
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}

    def renew(self) -> bool:
        """Read the token. True if it is another one than before; a file that is gone changes nothing."""
        before = self._token
        try:
            self._token = self._credentials.read_token()
        except OSError:
            if before is None:
                raise
        self._read_at = asyncio.get_running_loop().time()
        return self._token != before


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Whole lines. Raises `Unreachable` if the stream ends in the middle of one, or one has no end."""
    pending: list[bytes] = []
    size = 0
    async for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        if whole:
            whole[0] = b"".join([*pending, whole[0]])
            pending.clear()
            size = 0
            for line in whole:
                if line:
                    yield line
        if rest:
            pending.append(rest)
            size += len(rest)
            if size > MAX_LINE:
                raise Unreachable(f"a watch event is longer than {MAX_LINE} bytes")
    if pending:
        raise Unreachable("the watch stream was cut in the middle of an event")


def _parse(raw: bytes, method: str, path: str) -> Any:
    try:
        return from_json(raw)
    except ValueError as error:
        raise Unreachable(f"{method} {path}: the answer is not JSON") from error


async def _error(response: aiohttp.ClientResponse) -> ApiError:
    """The error an answer stands for. Proxies, and the API server under load, do not answer in JSON."""
    raw = await response.read()
    wait = response.headers.get("Retry-After", "")
    retry_after = float(wait) if wait.isdecimal() else None
    try:
        told = from_json(raw)
    except ValueError:
        text = raw[:256].decode("utf-8", "replace") if response.content_type == "text/plain" else ""
        told = {"kind": "Status", "reason": response.reason, "message": text.strip()}
    return error_from_status(told, status=response.status, retry_after=retry_after)


def _describe(failure: Exception) -> str:
    if isinstance(failure, TimeoutError):
        return "no answer in time"
    if isinstance(failure, aiohttp.ClientConnectorError):
        return str(failure)  # host, port and what the socket or TLS said
    return type(failure).__name__
