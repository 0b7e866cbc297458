"""A receiver of webhooks on 127.0.0.1 over real sockets, and all the ways in which one can misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Answer so; `body` is sent in parts of 64 KiB for as long as the other side reads."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


@dataclass(frozen=True)
class Hang:
    """Read the request and never answer."""


@dataclass(frozen=True)
class Drip:
    """Send the answer byte by byte, one each tenth of a second, without an end."""


@dataclass(frozen=True)
class Close:
    """Close the connection without an answer."""


Act = Answer | Hang | Drip | Close


@dataclass(frozen=True, kw_only=True)
class Post:
    """One request that came in."""

    line: str
    headers: dict[str, str]
    body: Any


@dataclass(kw_only=True)
class Receiver:
    """`acts` are what it does with one request after another; the last one goes on for ever."""

    acts: Sequence[Act] = (Answer(),)
    posts: list[Post] = field(default_factory=list)
    sent: int = 0
    """Bytes of answers that were handed to the network."""
    url: str = ""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            line, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value for name, value in (text.split(": ", 1) for text in lines)}
            body = json.loads(await reader.readexactly(int(headers["content-length"])))
            act = self.acts[min(len(self.posts), len(self.acts) - 1)]
            self.posts.append(Post(line=line, headers=headers, body=body))
            await self._act(act, writer)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass  # the other side has gone, as it should at times
        finally:
            writer.close()

    async def _act(self, act: Act, writer: asyncio.StreamWriter) -> None:
        if isinstance(act, Close):
            return
        if isinstance(act, Hang):
            await asyncio.Event().wait()
        if isinstance(act, Drip):
            for byte in b"HTTP/1.1 200 OK\r\nX-Padding: " + b"x" * 100_000:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.1)
        assert isinstance(act, Answer)
        told = [*act.headers, ("Content-Length", str(len(act.body))), ("Connection", "close")]
        head = "".join(f"{name}: {value}\r\n" for name, value in told)
        writer.write(f"HTTP/1.1 {act.status} Told\r\n{head}\r\n".encode())
        for begin in range(0, len(act.body), 65536):
            part = act.body[begin : begin + 65536]
            writer.write(part)
            await writer.drain()
            self.sent += len(part)


@contextlib.asynccontextmanager
async def receiving(
    *acts: Act, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Receiver]:
    """A receiver that listens; `host` is what its URL says."""
    receiver = Receiver(acts=acts or (Answer(),))
    clients: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        clients.add(task)
        await receiver._serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    receiver.url = f"{'https' if tls else 'http'}://{host}:{port}/cronschedule"
    try:
        yield receiver
    finally:
        server.close()
        for task in clients:
            task.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
