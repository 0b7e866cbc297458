"""Watch streams on their way through the proxy: whole, cut, silent, doubled or in the wrong order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from aiohttp import StreamReader, web

from faults.plan import STREAM_ACTIONS, Rule

GONE = {
    "type": "ERROR",
    "object": {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": "Expired",
        "message": "too old resource version (injected by the fault proxy)",
        "code": 410,
    },
}


async def forward(source: StreamReader, response: web.StreamResponse, rule: Rule | None) -> bool:
    """Pass the events on. False where the connection shall break at the end."""
    if rule is None or rule.action not in STREAM_ACTIONS:
        async for line in _lines(source):
            await response.write(line)
        await response.write_eof()
        return True
    match rule.action:
        case "repeat":
            async for line in _lines(source):
                await response.write(line * 2)
        case "swap":
            await _swap(source, response)
        case _:
            return await _stop_after(rule, source, response)
    await response.write_eof()
    return True


async def _stop_after(rule: Rule, source: StreamReader, response: web.StreamResponse) -> bool:
    passed = 0
    async for line in _lines(source):
        if passed >= rule.events:
            if rule.action == "cut":
                await response.write(line[: len(line) // 2])
            break
        await response.write(line)
        passed += 1
    match rule.action:
        case "cut":
            return False
        case "silence":
            async for _ in _lines(source):
                pass  # the server talks on, nobody hears
            await asyncio.sleep(3600)
        case "gone":
            await response.write(json.dumps(GONE).encode() + b"\n")
    await response.write_eof()
    return True


async def _swap(source: StreamReader, response: web.StreamResponse) -> None:
    """Each second event overtakes the one before it."""
    held: bytes | None = None
    async for line in _lines(source):
        if held is None and b'"BOOKMARK"' not in line[:40]:
            held = line
            continue
        await response.write(line)
        if held is not None:
            await response.write(held)
            held = None


async def _lines(source: StreamReader) -> AsyncIterator[bytes]:
    pending = b""
    async for chunk in source.iter_any():
        *whole, pending = (pending + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"
