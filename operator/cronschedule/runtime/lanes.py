"""Who may talk to the API server next: runs before records, records before Events.

When many slots are due at once, the Jobs come first: writing down what was decided never delays a run. What is decided
is written before what only waits: a schedule is looked at anew once it is written, so hundreds of backlogs that say
that they wait would hold up the next slots of those that are on time.
"""

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import IntEnum

WIDTH = 32
"""How many are served at a time; fewer than the client has connections, so that lists and watches find one too."""


class Lane(IntEnum):
    """The most urgent first."""

    RUNS = 0
    RECORDS = 1
    WAITS = 2
    EVENTS = 3


class Lanes:
    """`async with lanes.turn(Lane.RUNS)`: waits until it is this one's turn; first come, first served in a lane."""

    def __init__(self, width: int = WIDTH) -> None:
        self._free = width
        self._waiting: list[tuple[Lane, int, asyncio.Future[None]]] = []
        self._arrivals = itertools.count()

    @asynccontextmanager
    async def turn(self, lane: Lane) -> AsyncIterator[None]:
        await self._enter(lane)
        try:
            yield
        finally:
            self._leave()

    async def _enter(self, lane: Lane) -> None:
        if self._free and not self._waiting:
            self._free -= 1
            return
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (lane, next(self._arrivals), admitted))
        try:
            await admitted
        except asyncio.CancelledError:
            if admitted.done() and not admitted.cancelled():
                self._leave()  # admitted and cancelled at once: somebody else may go
            raise

    def _leave(self) -> None:
        while self._waiting:
            _, _, admitted = heapq.heappop(self._waiting)
            if not admitted.done():
                admitted.set_result(None)
                return
        self._free += 1
