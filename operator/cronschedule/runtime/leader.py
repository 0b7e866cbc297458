"""Who decides: leader election by a Lease, and the guard that keeps everyone else from writing (`semantics.md §4`).

A leader holds the lease until `renew_deadline` after it *began* its last successful request, by its own monotonic
clock. Others take it once its record has not changed for the holder's `leaseDurationSeconds`, by theirs. The times in
the record are for people to read: nobody's wall clock decides anything, so clocks that differ do no harm.

The fields are those of client-go, so that `kubectl` and other elections understand them.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from random import Random
from typing import Any

import structlog

from cronschedule.core.jobs import now_utc
from cronschedule.runtime.clock import Clock
from cronschedule.runtime.kube import (
    AlreadyExists,
    Api,
    Conflict,
    KubeError,
    NotFound,
    NotLeading,
)
from cronschedule.runtime.kube_verbs import LEASES
from cronschedule.runtime.settings import Election

LONGEST_RELEASE = 3.0
"""Seconds that giving the lease back may take."""

AGAIN = 0.3
"""Seconds until it is tried again."""

JITTER = 0.2
"""By how much of itself a pause may be shorter, so that those who wait do not all ask at once."""

log = structlog.get_logger(__name__)

Lease = Mapping[str, Any]


class LeaseLost(Exception):
    """The lease is no longer ours; the process must end."""


class Elector:
    """`run()` it as a task; `release()` once nothing is written any more. `taken` is set when the lease is ours."""

    def __init__(
        self, *, api: Api, clock: Clock, random: Random, election: Election, namespace: str, identity: str
    ) -> None:
        self._api = api
        self._clock = clock
        self._random = random
        self._election = election
        self._namespace = namespace
        self._identity = identity
        self._lease: Lease | None = None
        self._until = float("-inf")
        self._seen: Mapping[str, Any] = {}
        self._seen_at = float("-inf")
        self._complaint = ""
        self._asked = False
        self.taken = asyncio.Event()

    def holds(self) -> bool:
        """Whether the lease is ours at this moment, with time to spare. Asked before each write."""
        return self._clock.monotonic() < self._until

    def lapsed_for(self) -> float:
        """Seconds since the lease was no longer ours; 0 while it is, or never was."""
        return max(0.0, self._clock.monotonic() - self._until) if self.taken.is_set() else 0.0

    async def run(self) -> None:
        """Take the lease when it is free, then keep it until cancelled. Raises `LeaseLost`."""
        self._asked = True
        await self._take()
        log.info("lease.taken", identity=self._identity, lease=f"{self._namespace}/{self._election.name}")
        self.taken.set()
        try:
            await self._keep()
        except LeaseLost as lost:
            self._stop()
            log.error("lease.lost", why=str(lost))
            raise

    async def release(self) -> None:
        """Let others have the lease at once, if it is ours. Call it when nothing more will be written."""
        self._stop()
        if not self._asked:
            return
        try:
            async with asyncio.timeout(LONGEST_RELEASE):
                while True:
                    if await self._try_to_release():
                        return
                    await asyncio.sleep(AGAIN)
        except TimeoutError:
            log.warning("lease.not_released")

    async def _try_to_release(self) -> bool:
        """Whether the lease is not ours any more."""
        try:
            # Read first: the answer to our last request may never have come.
            lease = await self._read()
            if lease is None or _holder(lease) != self._identity:
                return True
            await self._write(lease, self._record(lease) | {"holderIdentity": "", "leaseDurationSeconds": 1})
        except KubeError as error:
            self._complain(error)
            return False
        log.info("lease.released")
        return True

    async def _take(self) -> None:
        while not await self._try_to_take():
            pause = self._election.retry_period * (1 - JITTER * self._random.random())
            lapses_in = self._free_in()
            await asyncio.sleep(min(pause, lapses_in) if lapses_in > 0 else pause)

    async def _try_to_take(self) -> bool:
        try:
            lease = await self._read()
            if lease is not None and not self._is_free(lease):
                self._complaint = ""
                return False
            if lease is None and self._seen and self._free_in() > 0:
                return False  # somebody has deleted it, which its holder may not know yet
            began = self._clock.monotonic()
            self._hold(await self._write(lease, self._record(lease)), began)
        except (Conflict, AlreadyExists, NotFound):
            return (
                False  # somebody was faster; NotFound: the namespace is not there, or the lease went just now
            )
        except KubeError as error:
            self._complain(error)
            return False
        return True

    async def _keep(self) -> None:
        while True:
            left = self._until - self._clock.monotonic()
            await asyncio.sleep(min(self._election.retry_period, max(left, 0.0)))
            if not self.holds():
                raise LeaseLost(f"it was not renewed within {self._election.renew_deadline} s")
            try:
                await self._renew()
                self._complaint = ""
            except KubeError as error:
                self._complain(error)

    async def _renew(self) -> None:
        """One request where all is well. Raises `LeaseLost` where somebody else has it, `KubeError`."""
        began = self._clock.monotonic()
        try:
            answer = await self._write(self._lease, self._record(self._lease))
        except (Conflict, AlreadyExists, NotFound):
            # The answer to an earlier request was lost, or somebody else wrote or deleted the lease.
            lease = await self._read()
            if lease is not None and _holder(lease) not in ("", self._identity):
                raise LeaseLost(f"{_holder(lease)} has taken it") from None
            answer = await self._write(lease, self._record(lease))
        self._hold(answer, began)

    def _stop(self) -> None:
        """From now on nothing is written, whatever the time."""
        self._until = min(self._until, self._clock.monotonic())

    def _hold(self, answer: Lease, began: float) -> None:
        self._lease = answer
        self._until = began + self._election.renew_deadline

    def _is_free(self, lease: Lease) -> bool:
        """Free is: given back, ours already, or not renewed for as long as its holder promised to."""
        record = lease.get("spec") or {}
        if record != self._seen:
            self._seen, self._seen_at = record, self._clock.monotonic()
        return _holder(lease) in ("", self._identity) or self._free_in() <= 0

    def _free_in(self) -> float:
        """Seconds until what was seen of the lease is too old, below 0 when it is."""
        promised = self._seen.get("leaseDurationSeconds") or self._election.duration
        return self._seen_at + float(promised) - self._clock.monotonic()

    def _record(self, lease: Lease | None) -> dict[str, Any]:
        """What the lease shall say of us, now."""
        before = (lease or {}).get("spec") or {}
        now = now_utc(self._clock.precise())
        known = before.get("holderIdentity") == self._identity
        transitions = before.get("leaseTransitions") or 0
        return {
            **before,
            "holderIdentity": self._identity,
            "leaseDurationSeconds": self._election.duration,
            "acquireTime": before.get("acquireTime") if known else now,
            "renewTime": now,
            "leaseTransitions": transitions if known or lease is None else transitions + 1,
        }

    async def _read(self) -> Lease | None:
        path = LEASES.path(namespace=self._namespace, name=self._election.name)
        try:
            lease: Lease = await self._api.request("GET", path, timeout=self._patience())
        except NotFound:
            return None
        return lease

    async def _write(self, lease: Lease | None, record: Mapping[str, Any]) -> Lease:
        """Put the record into the lease as it was read, or make the lease."""
        kind = {"apiVersion": LEASES.api_version, "kind": "Lease"}
        if lease is None:
            metadata = {"namespace": self._namespace, "name": self._election.name}
            method, path = "POST", LEASES.path(namespace=self._namespace)
        else:
            metadata = lease["metadata"]
            method, path = "PUT", LEASES.path(namespace=self._namespace, name=self._election.name)
        body = {**kind, "metadata": metadata, "spec": record}
        answer: Lease = await self._api.request(method, path, body=body, timeout=self._patience())
        return answer

    def _patience(self) -> float:
        """Seconds that one request may take: while the lease is ours it must leave time to try again."""
        patience = self._election.renew_deadline / 2
        left = self._until - self._clock.monotonic()
        return min(patience, left) if left > 0 else patience

    def _complain(self, error: KubeError) -> None:
        """Log a failure once, not at each try."""
        failure = str(error)[:256]
        if failure != self._complaint:
            self._complaint = failure
            log.warning("lease.failed", failure=failure, leading=self.holds())


class LeaderApi:
    """The `Api` of those who may write only while they lead: other writes fail with `NotLeading`, unsent."""

    def __init__(self, api: Api, elector: Elector) -> None:
        self._api = api
        self._elector = elector

    async def request(self, method: str, path: str, **options: Any) -> Any:
        if method == "GET":
            return await self._api.request(method, path, **options)

        def fence() -> None:
            if not self._elector.holds():
                raise NotLeading(f"{method} {path} was not sent: the lease is not held")

        return await self._api.request(method, path, **options, fence=fence)

    def watch(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[dict[str, Any], None]:
        return self._api.watch(path, query=query)


def _holder(lease: Lease) -> str:
    return str((lease.get("spec") or {}).get("holderIdentity") or "")
