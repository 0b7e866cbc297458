"""A cluster in fake time with the whole operator in it, kopf aside: watches feed its inventory as `handlers.py` does.

Nothing here looks into the operator: tests see what the API server has, and what it was asked to do (`Story`).
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pytest

from cronschedule.api.names import BACKFILL, SCHEDULED_FOR, SUSPENDED_LABEL, job_name
from cronschedule.api.shapes import format_time, parse_time
from cronschedule.runtime.kube import Gone, KubeError, Unreachable, error_from_status
from cronschedule.runtime.kube_verbs import CRONSCHEDULES, LEASES, NAMESPACES, list_pages
from cronschedule.runtime.leader import Elector
from cronschedule.runtime.operator import Operator
from cronschedule.runtime.settings import Settings, read_settings
from fakes.calls import Call
from fakes.clock import LoopClock
from fakes.faults import Answer, Fault
from fakes.kube import CLIENT_SECONDS, FakeKube
from fakes.objects import backfill, cron_schedule
from integration.steps import Steps
from seeded import SEED, chance

FAKE_TIME = pytest.mark.looptime(noop_cycles=0)
"""Time jumps to the next timer once nothing can be done now."""

NOON = 1_800_014_400
"""2027-01-15T12:00:00Z. Every cluster is made then, unless a test says otherwise."""

Body = dict[str, Any]


def at(minute: int, second: int = 0) -> int:
    """A moment, by the minutes and seconds since noon."""
    return NOON + 60 * minute + second


# What happened


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request of the operator that reached the server."""

    at: int
    verb: str
    resource: str
    name: str


@dataclass(frozen=True, kw_only=True)
class JobMade:
    """A Job that was created. `owner` is the UID of its schedule; `slot` is None where it says none.

    `backfill` is the UID of the Backfill that it says has made it.
    """

    at: float
    owner: str
    slot: int | None
    name: str
    uid: str
    backfill: str = ""


@dataclass(frozen=True, kw_only=True)
class StatusWritten:
    """A status as it stood after a write, and whether the operator wrote it or the test did."""

    at: int
    owner: str
    status: Body
    by_operator: bool


@dataclass(kw_only=True)
class Story:
    """All that the API server was asked and has done, in order."""

    requests: list[Request] = field(default_factory=list)
    jobs: list[JobMade] = field(default_factory=list)
    statuses: list[StatusWritten] = field(default_factory=list)

    def counts(self, *, since: int = 0, until: float = float("inf")) -> Counter[tuple[str, str]]:
        """The operator's requests in [since, until) by verb and resource; watches aside, which only last."""
        told = (r for r in self.requests if since <= r.at < until and r.verb != "watch")
        return Counter((request.verb, request.resource) for request in told)


class RecordedKube(FakeKube):
    """The fake API server with a memory. With a seed, requests and events of watches take their time by chance."""

    def __init__(self, **options: Any) -> None:
        self.story = Story()
        self.on_job: Callable[[JobMade], None] = lambda _: None
        self._serving = False
        self._dice = chance("network")
        super().__init__(**options)

    def travel_seconds(self) -> float:
        times = self._dice.uniform(0.05, 1.95) if SEED else 1.0
        return super().travel_seconds() * times

    async def watch(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[dict[str, Any], None]:
        time, before = asyncio.get_running_loop().time, 0.0
        async with contextlib.aclosing(super().watch(path, query=query)) as events:
            async for event in events:
                if SEED and time() > before:  # else it was under way together with the one before
                    await asyncio.sleep(self.travel_seconds())
                before = time()
                yield event

    def _count(self, call: Call) -> list[Fault]:
        self.story.requests.append(
            Request(at=self.clock.now(), verb=call.verb, resource=call.resource, name=call.name or "")
        )
        return super()._count(call)

    def _outcome(self, call: Call, faults: list[Fault]) -> Any:
        self._serving = True
        try:
            return super()._outcome(call, faults)
        finally:
            self._serving = False

    def apply(self, call: Call) -> Body:
        made = super().apply(call)
        if call.resource == "jobs" and call.verb == "create":
            self._note_job(made)
        elif call.resource == "cronschedules/status":
            self.story.statuses.append(
                StatusWritten(
                    at=self.clock.now(),
                    owner=made["metadata"]["uid"],
                    status=made.get("status") or {},
                    by_operator=self._serving,
                )
            )
        return made

    def _note_job(self, made: Body) -> None:
        meta = made["metadata"]
        marks, owners = meta.get("annotations") or {}, meta.get("ownerReferences") or []
        job = JobMade(
            at=self.clock.precise(),
            owner=owners[0]["uid"] if owners else "",
            slot=parse_time(marks[SCHEDULED_FOR]) if SCHEDULED_FOR in marks else None,
            name=meta["name"],
            uid=meta["uid"],
            backfill=marks.get(BACKFILL, ""),
        )
        self.story.jobs.append(job)
        self.on_job(job)


# The operator


@dataclass(frozen=True, kw_only=True)
class Cut:
    """Where an operator dies: at its `nth` write (1 is the first), before the server sees it or once it has acted, or
    `LATE` seconds before it does.

    `of` counts only writes such as `POST jobs` or `PUT status`: the method and the end of the path. With `step` it is
    at that moment of `steps.py` instead (0 only counts them), and with `ends` it is asked to end there, by SIGTERM.
    """

    nth: int = 1
    phase: Literal["before", "after", "late"] = "before"
    of: str = ""
    step: int | None = None
    ends: bool = False


LATE = 0.5
"""Seconds that the last request of one that has died may be on its way."""

LEASES_PATH = f"/{LEASES.plural}"


class Line:
    """One operator's line to the API server. Once cut, nothing gets through: its process has ended.

    `writes` are those for schedules; the lease is renewed all the time.
    """

    def __init__(self, kube: FakeKube, *, cut: Cut | None, on_cut: Callable[[], None]) -> None:
        self._kube = kube
        self._cut = cut
        self._on_cut = on_cut
        self.dead = False
        self.unplugged = False
        """No request gets through, and each ends when its time is up."""
        self.writes = 0
        self._counted = 0

    async def request(self, method: str, path: str, **options: Any) -> Any:
        await self._if_alive()
        if self.unplugged:
            await asyncio.sleep(options.get("timeout") or CLIENT_SECONDS)
            raise Unreachable(f"{method} {path}: no answer in time")
        if method == "GET" or LEASES_PATH in path:
            return await self._kube.request(method, path, **options)
        if options.get("fence") is not None:
            options["fence"]()  # what it stops never comes to the line
        self.writes += 1
        last = self._is_last(f"{method} {path.rpartition('/')[2]}")
        if last and self._cut is not None and self._cut.phase != "after":
            if self._cut.phase == "late":
                sending = self._send_late(method, path, **options)
                self._late = asyncio.get_running_loop().create_task(sending, context=Context())
            await self._die()
        try:
            return await self._kube.request(method, path, **options)
        finally:
            if last:
                await self._die()

    async def _send_late(self, method: str, path: str, **options: Any) -> None:
        await asyncio.sleep(LATE)
        with contextlib.suppress(KubeError):
            await self._kube.request(method, path, **options)

    def _is_last(self, what: str) -> bool:
        if self._cut is None or self._cut.step is not None or self._cut.of not in ("", what):
            return False
        self._counted += 1
        return self._counted == self._cut.nth

    async def watch(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[dict[str, Any], None]:
        await self._if_alive()
        async with contextlib.aclosing(self._kube.watch(path, query=query)) as events:
            async for event in events:
                yield event

    async def _if_alive(self) -> None:
        if self.dead:
            await asyncio.Event().wait()

    async def _die(self) -> None:
        self.dead = True
        self._on_cut()
        await asyncio.Event().wait()


class Life:
    """One life of the operator's process: it knows nothing of those before."""

    def __init__(
        self,
        kube: FakeKube,
        *,
        settings: Settings,
        clock: LoopClock,
        cut: Cut | None = None,
        replica: str | None = None,
    ) -> None:
        """With a name as a `replica` it decides only while it has the lease."""
        self.line = Line(kube, cut=cut, on_cut=self.cut_off)
        self.elector = None
        if replica is not None:
            assert settings.election is not None
            self.elector = Elector(
                api=self.line,
                clock=clock,
                random=chance(replica),
                election=settings.election,
                namespace="default",
                identity=replica,
            )
        self.operator = Operator(
            api=self.line, settings=settings, clock=clock, random=chance("operator"), elector=self.elector
        )
        self.steps = None
        if cut is not None and cut.step is not None:
            self.steps = Steps(last=cut.step, on_last=self._end if cut.ends else self.cut_off)
        self.namespaces = settings.namespaces
        self.task = asyncio.create_task(self._run())
        self.ended = asyncio.Event()

    async def _run(self) -> None:
        inventory = self.operator.inventory
        if self.steps is not None:
            self.steps.begin()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.operator.run())
                await self.operator.ready.wait()
                for place in self.namespaces or (None,):
                    path = CRONSCHEDULES.path(namespace=place)
                    group.create_task(self._feed(path, inventory.take_schedule, self._drop_schedule))
                if not self.namespaces:
                    path = NAMESPACES.path()
                    group.create_task(self._feed(path, inventory.take_namespace, self._drop_namespace))
        finally:
            self.ended.set()

    def _drop_schedule(self, body: Body) -> None:
        meta = body["metadata"]
        self.operator.inventory.drop_schedule((meta["namespace"], meta["name"]), meta["uid"])

    def _drop_namespace(self, body: Body) -> None:
        self.operator.inventory.drop_namespace(body["metadata"]["name"])

    async def _feed(self, path: str, take: Callable[[Body], None], drop: Callable[[Body], None]) -> None:
        """As kopf does it: list, then watch on from there; a relist tells of no deletion."""
        waits = iter((1, 2, 3, 5, 8, 13, *[20] * 100_000))
        while True:
            try:
                async for page in list_pages(self.line, path):
                    since = page.resource_version
                    for body in page.items:
                        take(body)
                await self._follow(path, since, take, drop)
            except Gone:
                continue
            except KubeError:
                await asyncio.sleep(next(waits))

    async def _follow(
        self, path: str, since: str, take: Callable[[Body], None], drop: Callable[[Body], None]
    ) -> None:
        while True:
            async with contextlib.aclosing(self.line.watch(path, query={"resourceVersion": since})) as events:
                async for event in events:
                    if event["type"] == "ERROR":
                        raise error_from_status(event["object"])
                    since = event["object"]["metadata"]["resourceVersion"]
                    (drop if event["type"] == "DELETED" else take)(event["object"])

    def _end(self) -> None:
        self._ending = asyncio.get_running_loop().create_task(self.terminate(), context=Context())

    def cut_off(self) -> None:
        """Like SIGKILL: nothing is finished, nothing is told."""
        self.line.dead = True
        self.task.cancel()

    async def kill(self) -> None:
        """As `cut_off`, and wait until nothing of it is left."""
        self.cut_off()
        await asyncio.gather(self.task, return_exceptions=True)

    async def terminate(self) -> None:
        """Like SIGTERM: what is in flight lands, what waits to be told is told."""
        await self.operator.drain()
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self.operator.release()
        self.line.dead = True


# The cluster


class World:
    """A cluster, made at `now`, and the operator in it, which does not run before `start()`.

    Moments are UTC seconds. `latency` is what one request takes; see `fakes.world` for the others.
    """

    def __init__(
        self,
        *,
        now: int = NOON,
        latency: float = 0.01,
        job_seconds: float | None = None,
        gc_seconds: float = 1.0,
        clock: LoopClock | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.clock = clock or LoopClock(now)
        self.kube = RecordedKube(
            clock=self.clock, latency=latency, job_seconds=job_seconds, gc_seconds=gc_seconds
        )
        self.story = self.kube.story
        self.settings = settings or with_settings()
        self.life: Life | None = None
        self.lives: list[Life] = []
        self._beside: list[Life] = []
        self._reviver: asyncio.Task[None] | None = None

    async def __aenter__(self) -> World:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        for life in self._beside:
            await life.kill()
        alone, self.life = self.life, None
        if self._reviver is not None:
            self._reviver.cancel()
        if alone is None:
            return
        ended = alone.task.done() and not alone.line.dead
        await alone.kill()
        if ended and kind is None:
            raise AssertionError("the operator ended by itself") from alone.task.exception()

    # Time

    async def until(self, moment: float) -> None:
        """Let time pass."""
        await asyncio.sleep(max(0.0, moment - self.clock.precise()))

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    # The operator

    def begin(self, *cuts: Cut, rest: float = 0) -> Life:
        """Begin a life of the operator. Where it is cut off, the next one begins after `rest` seconds.

        It dies at the first of `cuts`, the next one at the second.
        """
        assert self.life is None, "the operator runs already"
        cut = cuts[0] if cuts else None
        self.life = life = Life(self.kube, settings=self.settings, clock=self.clock, cut=cut)
        self.lives.append(life)
        if cuts:
            self._reviver = asyncio.create_task(self._revive(life, cuts[1:], rest))
        return life

    def begin_beside(
        self, *, replica: str | None = None, cut: Cut | None = None, clock: LoopClock | None = None
    ) -> Life:
        """Begin one more life, beside whatever runs. It is killed in the end."""
        clock = clock or self.clock
        life = Life(self.kube, settings=self.settings, clock=clock, cut=cut, replica=replica)
        self._beside.append(life)
        return life

    async def start(self) -> Life:
        """Begin a life of the operator and wait until it is ready."""
        life = self.begin()
        await life.operator.ready.wait()
        return life

    async def _revive(self, life: Life, cuts: Sequence[Cut], rest: float) -> None:
        await life.ended.wait()
        if self.life is life:
            self.life = None
            await asyncio.sleep(rest)
            self.begin(*cuts, rest=rest)

    def cut_off(self) -> None:
        assert self.life is not None
        self.life.cut_off()
        self.life = None

    async def kill(self) -> None:
        assert self.life is not None
        await self.life.kill()
        self.life = None

    async def terminate(self) -> None:
        assert self.life is not None
        await self.life.terminate()
        self.life = None

    # What users do

    def create(
        self, name: str = "x", schedule: str = "* * * * *", *, namespace: str = "default", **spec: Any
    ) -> str:
        """A CronSchedule; returns its UID."""
        made = self.kube.add(cron_schedule(name, namespace=namespace, schedule=schedule, **spec))
        return str(made["metadata"]["uid"])

    def backfill(
        self, first: int, last: int, *, name: str = "again", schedule: str = "x", **spec: Any
    ) -> str:
        """A Backfill of the slots from `first` to `last`; returns its UID."""
        asked = {"schedule": schedule, "from": format_time(first), "to": format_time(last), **spec}
        return str(self.kube.add(backfill(name, **asked))["metadata"]["uid"])

    def edit(self, name: str = "x", **spec: Any) -> None:
        self.kube.edit("cronschedules", "default", name, {"spec": spec})

    def delete(self, name: str = "x") -> None:
        self.kube.remove("cronschedules", "default", name)

    def wipe_status(self, name: str = "x") -> None:
        self.kube.edit("cronschedules", "default", name, {"status": None}, subresource="status")

    def suspend_tenant(self, namespace: str = "default") -> None:
        self.kube.edit("namespaces", None, namespace, {"metadata": {"labels": {SUSPENDED_LABEL: "true"}}})

    def resume_tenant(self, namespace: str = "default") -> None:
        self.kube.edit("namespaces", None, namespace, {"metadata": {"labels": {SUSPENDED_LABEL: None}}})

    def finish(self, slot: int, name: str = "x", *, succeeded: bool = True) -> None:
        """End the run of a slot, if its Job is there."""
        job = job_name(name, slot)
        if self.kube.find("jobs", "default", job):
            self.kube.finish("default", job, succeeded=succeeded)

    def delete_job(self, slot: int, name: str = "x") -> None:
        """Delete the Job of a slot by hand, once its run is recorded: before that its name is the only record."""
        job = job_name(name, slot)
        recorded = any(row.get("job") == job for row in self.rows(name))
        if recorded and self.kube.find("jobs", "default", job):
            self.kube.remove("jobs", "default", job)

    def fault(self, fault: Fault) -> Fault:
        self.kube.faults.append(fault)
        return fault

    def refuse_jobs(self, why: str) -> None:
        """From now on Jobs are refused by a policy."""
        says = (
            f"jobs.batch is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: {why}"
        )
        answer = Answer(code=422, reason="Invalid", message=says)
        self.fault(Fault(action=answer, verb="create", resource="jobs", times=math.inf))

    def story_of(self, uid: str) -> Story:
        """What the API server has done to one schedule."""
        return Story(
            jobs=[job for job in self.story.jobs if job.owner == uid],
            statuses=[written for written in self.story.statuses if written.owner == uid],
        )

    # What users see

    def object(self, name: str = "x", namespace: str = "default") -> Body:
        found = self.kube.find("cronschedules", namespace, name)
        assert found is not None, f"no CronSchedule {namespace}/{name}"
        return found

    def status(self, name: str = "x", namespace: str = "default") -> Body:
        return self.object(name, namespace).get("status") or {}

    def rows(self, name: str = "x", namespace: str = "default") -> list[Body]:
        """The rows of the history, newest first."""
        return list(self.status(name, namespace).get("runHistory", ()))

    def told(self, name: str = "x", namespace: str = "default") -> list[tuple[str, int]]:
        """Outcome (or reason) of each row and how many slots it is about, oldest first."""
        rows = reversed(self.rows(name, namespace))
        return [
            (row["reason"] if row["outcome"] == "Skipped" else row["outcome"], row.get("count", 1))
            for row in rows
        ]

    def backfilled(self, name: str = "again") -> Body:
        """The status of a Backfill."""
        found = self.kube.find("backfills", "default", name)
        assert found is not None, f"no Backfill {name}"
        return found.get("status") or {}

    def fates(self, name: str = "again") -> dict[str, int]:
        """How many slots of a Backfill have which result."""
        return {fate: count for fate, count in self.backfilled(name).get("slots", {}).items() if count}

    def ended(self, name: str = "again") -> str:
        """Why a Backfill is complete, or stalled; empty while it is neither."""
        told = {each["type"]: each for each in self.backfilled(name).get("conditions", ())}
        final = [told[kind] for kind in ("Complete", "Stalled") if kind in told]
        return next((each["reason"] for each in final if each["status"] == "True"), "")

    def condition(self, kind: str, name: str = "x", namespace: str = "default") -> Body | None:
        told = self.status(name, namespace).get("conditions", ())
        return next((condition for condition in told if condition["type"] == kind), None)

    def jobs(self, namespace: str | None = None) -> list[str]:
        """The names of all Jobs."""
        return [job["metadata"]["name"] for job in self.kube.objects("jobs", namespace)]

    def events(self, name: str = "x") -> list[Body]:
        """The Events about a CronSchedule, in the order in which they happened, then in that of `kubectl describe`."""
        told = [event for event in self.kube.objects("events") if event["regarding"]["name"] == name]

        def place(event: Body) -> tuple[str, str, int]:
            meta = event["metadata"]
            moment = meta["name"].rpartition(".")[0]
            return event["eventTime"], moment, int(meta["resourceVersion"])

        return sorted(told, key=place)

    def reasons(self, name: str = "x") -> list[str]:
        return [event["reason"] for event in self.events(name)]

    def runs(self, name: str = "x") -> list[int]:
        """The slots for which a Job was ever created, in order of creation."""
        return [
            job.slot
            for job in self.story.jobs
            if job.slot is not None and job.name.rpartition("-")[0] == name
        ]


def with_settings(**changes: Any) -> Settings:
    """The default settings, but for these, and few writers: each costs time at every turn."""
    return replace(read_settings({}), **{"writers": 4, **changes})


@contextlib.asynccontextmanager
async def running(*, job_seconds: float | None = 20, **options: Any) -> AsyncIterator[World]:
    """A cluster whose operator runs; Jobs take 20 s."""
    async with World(job_seconds=job_seconds, **options) as world:
        await world.start()
        yield world
