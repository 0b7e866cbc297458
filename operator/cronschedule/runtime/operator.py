"""The parts, wired: inventory, Jobs reflector, audit, loop, executor, recorder. One task group owns them all."""

import asyncio
from random import Random

import structlog

from cronschedule.api.names import OUR_JOBS
from cronschedule.core.jobs import SeenJob, read_job
from cronschedule.runtime.alerts import Alerts
from cronschedule.runtime.audit import Audit
from cronschedule.runtime.backfill_store import Backfill, BackfillStore, read_backfill
from cronschedule.runtime.backfills import Backfills
from cronschedule.runtime.clock import Clock
from cronschedule.runtime.executor import Executor
from cronschedule.runtime.inventory import Inventory, Key
from cronschedule.runtime.kube import Api, KubeError
from cronschedule.runtime.kube_verbs import BACKFILLS, JOBS
from cronschedule.runtime.lanes import Lanes
from cronschedule.runtime.leader import Elector, LeaderApi
from cronschedule.runtime.loop import Loop
from cronschedule.runtime.metrics import Metrics
from cronschedule.runtime.recorder import Recorder
from cronschedule.runtime.reflector import Reflector
from cronschedule.runtime.settings import Settings
from cronschedule.runtime.starter import Starter
from cronschedule.runtime.teller import Teller
from cronschedule.runtime.throttle import Throttle

log = structlog.get_logger(__name__)


TRY_AGAIN = 1.0
"""Seconds until a new leader asks again what is there."""


class Operator:
    """Everything but kopf. The watches of CronSchedules and Namespaces feed `inventory` from outside.

    With an `elector` it is one of several: it watches at all times, and decides and writes only while it leads.
    """

    def __init__(
        self,
        *,
        api: Api,
        settings: Settings,
        clock: Clock,
        random: Random,
        elector: Elector | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.ready = asyncio.Event()
        """Set once everything is known."""
        self.leading = asyncio.Event()
        """Set once slots are being decided. Never taken back: who no longer leads ends."""
        self.elector = elector
        self.metrics = metrics or Metrics()
        self._clock = clock
        self._random = random
        self._namespaces = settings.namespaces
        if elector is not None:
            api = LeaderApi(api, elector)
        self.inventory = Inventory(
            settings=settings, on_change=self._poke, on_join=lambda namespace: self.audit.join(namespace)
        )
        lanes = Lanes()
        self.recorder = Recorder(api=api, clock=clock, lanes=lanes)
        self.throttle = Throttle(
            settings.catch_up,
            clock=clock,
            active=lambda: self.inventory.catching_up,
            on_turn=lambda key: self.loop.poke(key),
        )
        self.alerts = Alerts(settings.webhook, clock=clock, random=random)
        store = BackfillStore(api=api, clock=clock, on_change=self._poke)
        backfills = Backfills(
            api=api,
            store=store,
            clock=clock,
            random=random,
            inventory=self.inventory,
            throttle=self.throttle,
            include_suspended=settings.backfill_suspended,
        )
        executor = Executor(
            api=api,
            clock=clock,
            inventory=self.inventory,
            recorder=self.recorder,
            throttle=self.throttle,
            lanes=lanes,
            metrics=self.metrics,
            backfills=backfills,
            starter=Starter(
                api=api, clock=clock, random=random, inventory=self.inventory, metrics=self.metrics
            ),
            teller=Teller(clock=clock, recorder=self.recorder, alerts=self.alerts, metrics=self.metrics),
        )
        self.loop = Loop(
            clock=clock, random=random, writers=settings.writers, fly=executor.fly, leading=self.leading
        )
        self.audit = Audit(
            api=api,
            clock=clock,
            inventory=self.inventory,
            on_change=self._poke,
            namespaces=settings.namespaces,
        )
        places = settings.namespaces or (None,)
        self.jobs = [self._reflect_jobs(api, namespace) for namespace in places]
        self.asked = [self._reflect_backfills(api, store, namespace) for namespace in places]

    @property
    def jobs_heard(self) -> float:
        """When the server was last heard of Jobs, by `clock.monotonic()`; of those of any namespace, since who may
        not be asked of one is none the worse."""
        return max(reflector.last_heard for reflector in self.jobs)

    async def run(self) -> None:
        """Until cancelled. Nothing is decided before everything is known. Raises `LeaseLost`, in a group.

        kopf ends every task that began after it, so the parts that wait for the lease begin at once too.
        """
        async with asyncio.TaskGroup() as group:
            for jobs in self.jobs:
                group.create_task(jobs.run())
            for asked in self.asked:
                group.create_task(asked.run())
            group.create_task(self.recorder.run())
            group.create_task(self.throttle.run())
            group.create_task(self.alerts.run())
            group.create_task(self.metrics.watch_loop(self._clock))
            await self.audit.fill()
            if self._namespaces:
                group.create_task(self.audit.follow_namespaces())
            else:
                await self.jobs[0].synced.wait()
            group.create_task(self.audit.run())
            group.create_task(self.audit.follow_joins())
            group.create_task(self.loop.run())
            if self.elector is None:
                self.leading.set()
            else:
                group.create_task(self._lead(self.elector))
                group.create_task(self.elector.run())
            await asyncio.sleep(0)
            self.ready.set()
            log.info("operator.ready", schedules=len(self.inventory.schedules), jobs=sum(map(len, self.jobs)))

    async def _lead(self, elector: Elector) -> None:
        """Begin to decide when the lease is ours, knowing all that the one before has written."""
        await elector.taken.wait()
        while True:
            try:
                await self.audit.refresh()
                break
            except KubeError as error:
                log.warning("audit.failed", failure=str(error)[:256])
                await asyncio.sleep(TRY_AGAIN)
        self.throttle.begin()
        self.leading.set()
        log.info("operator.leading")

    async def drain(self) -> None:
        """Let what is in flight finish, and what waits be told, for some seconds at most."""
        await self.loop.drain()
        await asyncio.gather(self.recorder.drain(), self.alerts.drain())

    async def release(self) -> None:
        """Let another one lead at once. To be called when `run()` has ended."""
        if self.elector is not None:
            await self.elector.release()

    def _poke(self, key: Key) -> None:
        self.loop.poke(key)
        self.throttle.recheck()

    def _reflect_jobs(self, api: Api, namespace: str | None) -> Reflector[SeenJob]:
        def listed() -> None:
            uids = {job.uid for job in reflector.objects()}
            self.inventory.keep_jobs(uids, reflector.version, namespace)

        reflector: Reflector[SeenJob] = Reflector(
            api,
            JOBS.path(namespace=namespace),
            slim=read_job,
            on_change=self.inventory.take_job,
            on_delete=self.inventory.drop_job,
            on_synced=listed,
            clock=self._clock,
            random=self._random,
            label_selector=OUR_JOBS,
        )
        return reflector

    def _reflect_backfills(
        self, api: Api, store: BackfillStore, namespace: str | None
    ) -> Reflector[Backfill]:
        return Reflector(
            api,
            BACKFILLS.path(namespace=namespace),
            slim=read_backfill,
            on_change=store.take,
            on_delete=store.drop,
            on_synced=lambda: None,
            clock=self._clock,
            random=self._random,
        )
