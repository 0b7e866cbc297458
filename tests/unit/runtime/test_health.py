"""What the pages of health say, of parts in every state."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import pytest

from cronschedule.runtime.health import Health, PortTaken, build_app, serving
from cronschedule.runtime.operator import Operator

NOW = 10_000.0


class Still:
    """A clock that stands."""

    def now(self) -> int:
        return 0

    def precise(self) -> float:
        return 0.0

    def monotonic(self) -> float:
        return NOW


def health(
    *, ready: bool = True, loop: float = 0, audit: float = 0, jobs: float = 0, lapsed: float | None = None
) -> Health:
    """Parts that were last heard of so many seconds ago; `lapsed` is None where there is no election."""
    parts = SimpleNamespace(
        ready=SimpleNamespace(is_set=lambda: ready),
        loop=SimpleNamespace(last_turn=NOW - loop),
        audit=SimpleNamespace(last_pass=NOW - audit),
        jobs_heard=NOW - jobs,
        elector=None if lapsed is None else SimpleNamespace(lapsed_for=lambda: lapsed),
    )
    return Health(cast(Operator, parts), Still())


@pytest.mark.parametrize(
    ("state", "told"),
    [
        pytest.param({}, "", id="all-is-well"),
        pytest.param({"loop": 29}, "", id="a-slow-loop"),
        pytest.param({"loop": 31}, "the loop has not turned for 31 s", id="a-loop-that-stands"),
        pytest.param({"audit": 3600, "jobs": 3600}, "", id="an-outage-of-the-api-server"),
        pytest.param({"audit": 290}, "", id="an-audit-that-failed-a-few-times"),
        pytest.param({"audit": 400}, "the audit has not come to an end for 400 s", id="a-dead-audit"),
        pytest.param({"jobs": 400}, "nothing is heard of Jobs for 400 s", id="a-dead-watch"),
        pytest.param({"lapsed": 0}, "", id="a-lease-that-is-held-or-was-never-had"),
        pytest.param({"lapsed": 6}, "the lease was lost 6 s ago", id="a-process-that-does-not-end"),
        pytest.param({"ready": False, "loop": 99, "audit": float("inf")}, "", id="starting"),
    ],
)
def test_what_has_stopped_is_told(state: dict[str, Any], told: str) -> None:
    ailments = health(**state).ailments()
    assert len(ailments) == (1 if told else 0)
    assert "".join(ailments).startswith(told)


async def get(port: int, page: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{page}") as answer:
        return answer.status, await answer.text()


def free_port() -> int:
    with socket.create_server(("", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.mark.parametrize(
    ("state", "healthz", "readyz"),
    [
        pytest.param({}, (200, "ok"), (200, "ok"), id="well"),
        pytest.param(
            {"ready": False}, (200, "ok"), (503, "the first lists have not come yet"), id="starting"
        ),
        pytest.param({"loop": 40}, (503, "the loop has not turned for 40 s"), (200, "ok"), id="ill"),
    ],
)
async def test_the_pages_say_so(
    state: dict[str, Any], healthz: tuple[int, str], readyz: tuple[int, str]
) -> None:
    port = free_port()
    async with serving(build_app(health(**state)), port):
        assert await get(port, "/healthz") == healthz
        assert await get(port, "/readyz") == readyz
    with pytest.raises(aiohttp.ClientConnectorError):
        await get(port, "/healthz")


async def test_a_port_that_is_taken_is_named() -> None:
    port = free_port()
    async with serving(build_app(health()), port):
        with pytest.raises(PortTaken, match=f"CRONSCHEDULE_HEALTH_PORT: {port} cannot be used"):
            async with serving(build_app(health()), port):
                pass


async def test_port_0_is_served_nowhere() -> None:
    app = build_app(health())
    async with serving(app, 0):
        assert not app.frozen
