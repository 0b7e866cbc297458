"""Read the settings, wire the parts, run until signalled.

    python -m cronschedule

Exit status: 0 after SIGTERM or SIGINT, 1 when a part died that cannot heal or the lease was lost, 2 for settings or
credentials that cannot be used. The lease is given back in the end, whatever the reason.
"""

import asyncio
import gc
import random
import signal
import socket
import sys
import uuid

import kopf
import structlog
import uvloop

from cronschedule import __version__
from cronschedule.core.zones import iana_version
from cronschedule.runtime.clock import SystemClock
from cronschedule.runtime.credentials import Credentials, CredentialsError, load_credentials
from cronschedule.runtime.exposition import add_metrics
from cronschedule.runtime.handlers import build_registry, build_settings
from cronschedule.runtime.health import Health, PortTaken, build_app, serving
from cronschedule.runtime.kube_http import HttpApi
from cronschedule.runtime.leader import Elector
from cronschedule.runtime.logs import set_up_logs
from cronschedule.runtime.metrics import Metrics
from cronschedule.runtime.operator import Operator
from cronschedule.runtime.settings import Settings, SettingsError, read_settings

GARBAGE = 10_000
"""After how many new objects Python looks for garbage that its reference counts miss, of which there is little here. By
its default, 700, that took a sixth of the CPU of a cold start."""

log = structlog.get_logger("cronschedule")


def main() -> int:
    """The process. See the module for its exit status."""
    try:
        settings = read_settings()
        credentials = load_credentials()
    except (SettingsError, CredentialsError) as error:
        print(f"cronschedule-operator: {error}", file=sys.stderr)
        return 2
    set_up_logs(level=settings.log_level, form=settings.log_format)
    gc.set_threshold(GARBAGE)
    return uvloop.run(_operate(settings, credentials))


async def _operate(settings: Settings, credentials: Credentials) -> int:
    signalled = _catch_signals()
    log.info("operator.starting", version=__version__, iana=iana_version(), server=credentials.server)
    clock, chance, metrics = SystemClock(), random.Random(), Metrics()
    async with HttpApi(credentials, on_answer=metrics.answered) as api:
        elector = None
        if settings.election is not None:
            elector = Elector(
                api=api,
                clock=clock,
                random=chance,
                election=settings.election,
                namespace=settings.election.namespace or credentials.default_namespace or "default",
                identity=f"{socket.gethostname()}_{uuid.uuid4()}",
            )
        operator = Operator(
            api=api, settings=settings, clock=clock, random=chance, elector=elector, metrics=metrics
        )
        app = build_app(Health(operator, clock))
        add_metrics(app, operator, clock, per_schedule=settings.metrics_per_schedule)
        try:
            async with serving(app, settings.health_port):
                return await _run(operator, settings, credentials, signalled)
        except PortTaken as error:
            print(f"cronschedule-operator: {error}", file=sys.stderr)
            return 2


async def _run(
    operator: Operator, settings: Settings, credentials: Credentials, signalled: asyncio.Event
) -> int:
    """Run the parts, and kopf once all is known, until one of them ends; the exit status."""
    parts = asyncio.create_task(operator.run())
    # When kopf ends it cancels every task that began after it; ours shall end in their own order.
    if not await _until_ready(operator, parts, signalled):
        return 0
    chassis = asyncio.create_task(
        kopf.operator(
            registry=build_registry(
                inventory=operator.inventory, credentials=credentials, namespaces=settings.namespaces
            ),
            settings=build_settings(),
            clusterwide=not settings.namespaces,
            namespaces=settings.namespaces,
            standalone=True,
            stop_flag=signalled,  # a signal that came before kopf took them over
        )
    )
    await asyncio.wait([parts, chassis], return_when=asyncio.FIRST_COMPLETED)
    return await _wind_down(operator, parts, chassis)


def _catch_signals() -> asyncio.Event:
    """Set by SIGINT and SIGTERM, until kopf takes the signals for itself."""
    loop, signalled = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, signalled.set)
    return signalled


async def _until_ready(operator: Operator, parts: "asyncio.Task[None]", signalled: asyncio.Event) -> bool:
    """Wait until all is known; False when a signal came before."""
    ready = asyncio.create_task(operator.ready.wait())
    asked = asyncio.create_task(signalled.wait())
    await asyncio.wait([parts, ready, asked], return_when=asyncio.FIRST_COMPLETED)
    if not signalled.is_set():
        return True
    parts.cancel()
    await asyncio.gather(parts, return_exceptions=True)
    log.info("operator.stopped")
    return False


async def _wind_down(operator: Operator, parts: "asyncio.Task[None]", chassis: "asyncio.Task[None]") -> int:
    """One of the two has ended: kopf because of a signal, or either because of something that cannot heal."""
    broken = [task.exception() for task in (parts, chassis) if task.done()]
    log.info("operator.stopping")
    if not parts.done():
        await operator.drain()
    for task in (parts, chassis):
        task.cancel()
    await asyncio.gather(parts, chassis, return_exceptions=True)
    await operator.release()
    failure = next((error for error in broken if error is not None), None)
    if failure is not None:
        log.critical("operator.broken", exc_info=failure)
        return 1
    log.info("operator.stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
