"""What a kubelet asks: is the process alive, and does it know all that it needs to know?

    /healthz   200, or 503 with a line for each part that has stopped: only a new start helps
    /readyz    200 once everything is known, whether it leads or stands by; 503 before

What heals by itself is not ill: while the API server cannot be reached a new start would help nobody, it would only
lose what is known. So what hears from the server is ill when it has heard nothing while others have.
"""

import contextlib
from collections.abc import AsyncIterator

from aiohttp import web

from cronschedule.runtime.clock import Clock
from cronschedule.runtime.operator import Operator

LOOP_STANDS = 30.0
"""Seconds without a turn of the loop after which it does not turn any more."""

DEAF = 300.0
"""Seconds that one part may have heard nothing from the API server since another one has."""

LAPSED = 5.0
"""Seconds that a process may need to end once its lease is lost."""


class PortTaken(Exception):
    """The port cannot be listened on; the message names the setting."""


class Health:
    """How the parts of one operator are."""

    def __init__(self, operator: Operator, clock: Clock) -> None:
        self._operator = operator
        self._clock = clock

    def ailments(self) -> list[str]:
        """A sentence for each part that has stopped."""
        operator, now = self._operator, self._clock.monotonic()
        if not operator.ready.is_set():
            return []  # the first lists are asked for until they come
        told = []
        stood = now - operator.loop.last_turn
        if stood > LOOP_STANDS:
            told.append(f"the loop has not turned for {stood:.0f} s")
        audit, jobs = operator.audit.last_pass, operator.jobs_heard
        if jobs - audit > DEAF:
            told.append(f"the audit has not come to an end for {now - audit:.0f} s, though Jobs are heard of")
        if audit - jobs > DEAF:
            told.append(f"nothing is heard of Jobs for {now - jobs:.0f} s, though the audit goes on")
        elector = operator.elector
        if elector is not None and elector.lapsed_for() > LAPSED:
            told.append(f"the lease was lost {elector.lapsed_for():.0f} s ago and the process has not ended")
        return told

    def unready(self) -> str | None:
        """Why it could not take over now, if it could not."""
        return None if self._operator.ready.is_set() else "the first lists have not come yet"


def build_app(health: Health) -> web.Application:
    """The pages; more may be added to the application."""

    async def healthz(_: web.Request) -> web.Response:
        ailments = health.ailments()
        return web.Response(text="\n".join(ailments) or "ok", status=503 if ailments else 200)

    async def readyz(_: web.Request) -> web.Response:
        unready = health.unready()
        return web.Response(text=unready or "ok", status=503 if unready else 200)

    app = web.Application()
    app.router.add_get("/healthz", healthz)
    app.router.add_get("/readyz", readyz)
    return app


@contextlib.asynccontextmanager
async def serving(app: web.Application, port: int) -> AsyncIterator[None]:
    """Serve on all addresses of the machine until the block ends; not at all where `port` is 0. Raises `PortTaken`."""
    if not port:
        yield
        return
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, port=port).start()
        except OSError as error:
            raise PortTaken(f"CRONSCHEDULE_HEALTH_PORT: {port} cannot be used: {error.strerror}") from error
        yield
    finally:
        await runner.cleanup()
