"""A bare client of the API server: so many requests at a time, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from bench.errors import BenchError
from bench.watcher import USER_AGENT
from cronschedule.runtime.credentials import load_credentials

CONNECTIONS = 32
"""As many as the operator has requests under way."""

MERGE_PATCH = "application/merge-patch+json"


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request."""

    method: str
    path: str
    body: dict[str, Any]
    content_type: str = "application/json"


def post(plural: str, body: dict[str, Any]) -> Call:
    """Create this object."""
    path = f"/apis/{body['apiVersion']}/namespaces/{body['metadata']['namespace']}/{plural}"
    return Call(method="POST", path=path, body=body)


def patch_status(plural: str, body: dict[str, Any], status: dict[str, Any]) -> Call:
    """Change this of the object's status."""
    path = f"{post(plural, body).path}/{body['metadata']['name']}/status"
    return Call(method="PATCH", path=path, body={"status": status}, content_type=MERGE_PATCH)


def send(kubeconfig: Path, calls: Iterable[Call]) -> None:
    """Make all these requests. Raises BenchError when one is refused."""
    asyncio.run(_send(kubeconfig, calls))


async def _send(kubeconfig: Path, calls: Iterable[Call]) -> None:
    credentials, waiting = load_credentials(str(kubeconfig)), iter(calls)
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=credentials.ssl_context())
    headers = {"User-Agent": USER_AGENT}

    async def work(session: aiohttp.ClientSession) -> None:
        for call in waiting:
            kind = {"Content-Type": call.content_type}
            async with session.request(call.method, call.path, json=call.body, headers=kind) as answer:
                text = await answer.text()
            if answer.status >= 300:
                raise BenchError(f"{call.method} {call.path}: {text}")

    async with aiohttp.ClientSession(credentials.server, connector=connector, headers=headers) as session:
        await asyncio.gather(*(work(session) for _ in range(CONNECTIONS)))
