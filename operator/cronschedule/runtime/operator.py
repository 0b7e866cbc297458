"""The parts, wired: inventory, Jobs reflector, audit, loop, executor, recorder. One task group owns them all."""

import asyncio
from random import Random

import structlog

from cronschedule.api.names import MANAGED_BY, MANAGED_BY_LABEL
from cronschedule.core.jobs import SeenJob, read_job
from cronschedule.runtime.alerts import Alerts
from cronschedule.runtime.audit import Audit
from cronschedule.runtime.clock import Clock
from cronschedule.runtime.executor import Executor
from cronschedule.runtime.inventory import Inventory, Key
from cronschedule.runtime.kube import Api
from cronschedule.runtime.kube_verbs import JOBS
from cronschedule.runtime.lanes import Lanes
from cronschedule.runtime.loop import Loop
from cronschedule.runtime.recorder import Recorder
from cronschedule.runtime.reflector import Reflector
from cronschedule.runtime.settings import Settings
from cronschedule.runtime.throttle import Throttle

log = structlog.get_logger(__name__)


class Operator:
    """Everything but kopf. The watches of CronSchedules and Namespaces feed `inventory` from outside."""

    def __init__(self, *, api: Api, settings: Settings, clock: Clock, random: Random) -> None:
        self.ready = asyncio.Event()
        """Set once everything is known and slots are being decided."""
        self.inventory = Inventory(settings=settings, on_change=self._poke)
        lanes = Lanes()
        self.recorder = Recorder(api=api, clock=clock, lanes=lanes)
        self.throttle = Throttle(
            settings.catch_up,
            clock=clock,
            active=lambda: self.inventory.catching_up,
            on_turn=lambda key: self.loop.poke(key),
        )
        self.alerts = Alerts(settings.webhook, clock=clock, random=random)
        executor = Executor(
            api=api,
            clock=clock,
            random=random,
            inventory=self.inventory,
            recorder=self.recorder,
            throttle=self.throttle,
            lanes=lanes,
            alerts=self.alerts,
        )
        self.loop = Loop(clock=clock, random=random, writers=settings.writers, fly=executor.fly)
        self.audit = Audit(api=api, clock=clock, inventory=self.inventory, on_change=self._poke)
        self.jobs: Reflector[SeenJob] = Reflector(
            api,
            JOBS.path(),
            slim=read_job,
            on_change=self.inventory.take_job,
            on_delete=self.inventory.drop_job,
            on_synced=self._jobs_listed,
            clock=clock,
            random=random,
            label_selector=f"{MANAGED_BY_LABEL}={MANAGED_BY}",
        )

    async def run(self) -> None:
        """Until cancelled. Nothing is decided before everything is known."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.jobs.run())
            group.create_task(self.recorder.run())
            group.create_task(self.throttle.run())
            group.create_task(self.alerts.run())
            await self.audit.fill()
            await self.jobs.synced.wait()
            group.create_task(self.audit.run())
            group.create_task(self.loop.run())
            await asyncio.sleep(0)
            self.ready.set()
            log.info("operator.ready", schedules=len(self.inventory.schedules), jobs=len(self.jobs))

    async def drain(self) -> None:
        """Let what is in flight finish, and what waits be told, for some seconds at most."""
        await self.loop.drain()
        await asyncio.gather(self.recorder.drain(), self.alerts.drain())

    def _poke(self, key: Key) -> None:
        self.loop.poke(key)
        self.throttle.recheck()

    def _jobs_listed(self) -> None:
        self.inventory.keep_jobs(self.jobs.objects(), self.jobs.version)
