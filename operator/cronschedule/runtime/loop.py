"""Decides whose turn it is: one heap of wake-ups, one flight per schedule, writers shared fairly by namespaces."""

import asyncio
import contextlib
import heapq
from collections import deque
from collections.abc import Awaitable, Callable
from random import Random

import structlog

from cronschedule.runtime.clock import Clock
from cronschedule.runtime.executor import Unfinished
from cronschedule.runtime.inventory import Key
from cronschedule.runtime.kube import KubeError, backoff

LONGEST_SLEEP = 1.0
"""Seconds. A clock that is set, and a machine that slept, are noticed within that (`semantics.md §6`)."""

LONGEST_DRAIN = 8.0

log = structlog.get_logger(__name__)


class Turns:
    """Keys that wait for a writer: namespaces take turns, a key waits once."""

    def __init__(self) -> None:
        self._queues: dict[str, deque[Key]] = {}
        self._order: deque[str] = deque()
        self._waiting: set[Key] = set()
        self._count = asyncio.Semaphore(0)

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, key: Key) -> None:
        if key in self._waiting:
            return
        self._waiting.add(key)
        queue = self._queues.get(key[0])
        if queue is None:
            queue = self._queues[key[0]] = deque()
            self._order.append(key[0])
        queue.append(key)
        self._count.release()

    async def take(self) -> Key:
        """The next key; waits for one."""
        await self._count.acquire()
        namespace = self._order.popleft()
        queue = self._queues[namespace]
        key = queue.popleft()
        if queue:
            self._order.append(namespace)
        else:
            del self._queues[namespace]
        self._waiting.discard(key)
        return key


class Loop:
    """Wakes schedules when their time comes or when they are poked, and flies them, once `leading` is set."""

    def __init__(
        self,
        *,
        clock: Clock,
        random: Random,
        writers: int,
        fly: Callable[[Key], Awaitable[int | None]],
        leading: asyncio.Event,
    ) -> None:
        self._clock = clock
        self._random = random
        self._writers = writers
        self._fly = fly
        self._leading = leading
        self._turns = Turns()
        self._heap: list[tuple[int, Key]] = []
        self._wakes: dict[Key, int] = {}
        self._flying: set[Key] = set()
        self._again: set[Key] = set()
        self._failures: dict[Key, int] = {}
        self._alarm = asyncio.Event()
        self._draining = False
        self._landed = asyncio.Event()
        self.last_turn = float("-inf")
        """When the heap was last looked at, by `clock.monotonic()`."""

    def poke(self, key: Key) -> None:
        """Look at this schedule as soon as a writer is free."""
        if key in self._flying:
            self._again.add(key)
        else:
            self._turns.add(key)

    async def drain(self) -> None:
        """Begin no further flight, and wait for those under way, for some seconds at most."""
        self._draining = True
        if self._flying:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LONGEST_DRAIN):
                    await self._landed.wait()

    async def run(self) -> None:
        """Until cancelled."""
        self.last_turn = self._clock.monotonic()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_time())
            for _ in range(self._writers):
                group.create_task(self._write())

    async def _keep_time(self) -> None:
        while True:
            self.last_turn = self._clock.monotonic()
            now = self._clock.now()
            while self._heap and self._heap[0][0] <= now:
                when, key = heapq.heappop(self._heap)
                if self._wakes.get(key) == when:
                    del self._wakes[key]
                    self.poke(key)
            self._alarm.clear()
            rest = self._heap[0][0] - self._clock.precise() if self._heap else LONGEST_SLEEP
            try:
                async with asyncio.timeout(min(max(rest, 0.0), LONGEST_SLEEP)):
                    await self._alarm.wait()
            except TimeoutError:
                continue

    async def _write(self) -> None:
        await self._leading.wait()
        while True:
            key = await self._turns.take()
            if self._draining:
                return
            if key in self._flying:
                self._again.add(key)
                continue
            self._flying.add(key)
            try:
                self._wake_at(key, await self._attempt(key))
            finally:
                self._flying.discard(key)
                if self._draining and not self._flying:
                    self._landed.set()
                if key in self._again:
                    self._again.discard(key)
                    self._turns.add(key)

    async def _attempt(self, key: Key) -> int | None:
        """One flight. Whatever goes wrong with one schedule is tried again later and touches no other."""
        try:
            wake = await self._fly(key)
        except Unfinished as unfinished:
            later = self._later(key, str(unfinished))
            return later if unfinished.wake is None else min(later, unfinished.wake)
        except KubeError as error:
            return self._later(key, str(error)[:256])
        except Exception:
            log.exception("flight.broken", namespace=key[0], schedule=key[1])
            return self._later(key, "unexpected")
        self._failures.pop(key, None)
        return wake

    def _later(self, key: Key, failure: str) -> int:
        attempt = self._failures.get(key, 0)
        self._failures[key] = attempt + 1
        delay = backoff(attempt, random=self._random)
        log.warning("flight.failed", namespace=key[0], schedule=key[1], failure=failure, wait=round(delay, 1))
        return self._clock.now() + max(1, round(delay))

    def _wake_at(self, key: Key, when: int | None) -> None:
        if when is None:
            self._wakes.pop(key, None)
            return
        if self._wakes.get(key) == when:
            return
        self._wakes[key] = when
        heapq.heappush(self._heap, (when, key))
        if self._heap[0][0] == when:
            self._alarm.set()
