"""Can kopf live on the fake API server?"""

from __future__ import annotations

import asyncio
from typing import Any

import kopf

from fakes.clock import LoopClock
from fakes.http import serve_http
from fakes.kube import FakeKube
from fakes.objects import cron_schedule


async def test_does_kopf_see_what_happens_to_cron_schedules() -> None:
    fake = FakeKube(clock=LoopClock(1_772_000_000))
    fake.add(cron_schedule("before"))
    seen: asyncio.Queue[tuple[str | None, str]] = asyncio.Queue()
    registry, ready, stop = kopf.OperatorRegistry(), asyncio.Event(), asyncio.Event()

    async with serve_http(fake) as served:

        @kopf.on.login(registry=registry)
        async def login(**_: Any) -> kopf.ConnectionInfo:
            return kopf.ConnectionInfo(server=served.url)

        @kopf.on.event("cronschedules", registry=registry)
        async def event(type: str | None, name: str | None, **_: Any) -> None:
            seen.put_nowait((type, name or ""))

        settings = kopf.OperatorSettings()
        settings.scanning.disabled = True
        settings.posting.enabled = False
        settings.watching.chunk_size = 500
        operator = asyncio.create_task(
            kopf.operator(
                registry=registry,
                settings=settings,
                clusterwide=True,
                standalone=True,
                ready_flag=ready,
                stop_flag=stop,
            )
        )
        async with asyncio.timeout(20):
            assert await seen.get() == (None, "before")
            fake.add(cron_schedule("a"))
            assert await seen.get() == ("ADDED", "a")
            fake.edit("cronschedules", "default", "a", {"spec": {"suspend": True}})
            assert await seen.get() == ("MODIFIED", "a")
            fake.remove("cronschedules", "default", "a")
            assert await seen.get() == ("DELETED", "a")
            stop.set()
            await operator
    written = {verb for verb, _ in fake.calls} - {"list", "watch", "get"}
    assert written == set(), "kopf only looks"
