"""The schedules of the catch-up bench that have a backlog of some hours."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench import manifests
from bench.scene import Scene
from bench.times import MINUTE, format_time, parse_time

BEHIND = "behind"
RAN_AGO = 5
"""Minutes since the newest slot of a backlog: it is missed, and the next one is far away."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """`minutes` of live schedules alone; `calm` minutes of backlogs before the first kill; the budget per minute."""

    tenants: int
    schedules: int
    hours: int
    live: int
    minutes: int
    calm: int
    kills: int
    per_minute: int
    per_namespace: int
    seed: int
    pods: bool

    @property
    def slots(self) -> int:
        """How many slots a backlog has: one an hour."""
        return self.hours

    @property
    def settings(self) -> dict[str, str]:
        return {
            "CRONSCHEDULE_CATCH_UP_PER_MINUTE": f"{self.per_minute}",
            "CRONSCHEDULE_CATCH_UP_PER_MINUTE_AND_NAMESPACE": f"{self.per_namespace}",
            "CRONSCHEDULE_CATCH_UP_ACTIVE": "200" if self.pods else "100000",
        }


def behind_by_hours(options: Options) -> Iterator[dict[str, Any]]:
    """Those with a backlog, in every namespace."""
    for tenant in manifests.namespaces(options.tenants):
        for number in range(options.schedules):
            yield hourly(tenant, f"{BEHIND}-{number:02}", options)


def hourly(namespace: str, name: str, options: Options) -> dict[str, Any]:
    """A schedule of every hour; where its Jobs never end, each of its slots may have one at the same time."""
    minute = (int(time.time()) // MINUTE - RAN_AGO) % 60
    side_by_side = {"concurrencyPolicy": "Allow", "catchUp": {"maxConcurrent": 10}}
    return manifests.cron_schedule(
        namespace,
        name,
        manifests.job_spec(suspend=not options.pods),
        **({} if options.pods else side_by_side),
        schedule=f"{minute} * * * *",
        misfirePolicy="CatchUp",
        maxStaleness="24h",
    )


def slots_of(body: dict[str, Any], options: Options) -> list[int]:
    """The slots of its backlog: its minute of each hour before it was created."""
    minute = int(body["spec"]["schedule"].split()[0])
    created = int(parse_time(body["metadata"]["creationTimestamp"]))
    newest = (created // MINUTE // 60 * 60 + minute) * MINUTE
    newest -= 3600 if newest > created else 0
    return [newest - 3600 * ago for ago in reversed(range(options.slots))]


def set_up(place: Scene, bodies: Sequence[dict[str, Any]], *, hours: int) -> None:
    """Create schedules with ledgers that end so many hours ago, while the operator does not run."""
    place.create("cronschedules", bodies)
    then = format_time(time.time() - 3600 * hours)

    def ledger(body: dict[str, Any]) -> dict[str, Any]:
        spec = body["spec"]
        text = {"expression": spec["schedule"], "timeZone": spec["timeZone"]}
        return {"schedule": text, "lastDecidedTime": then}

    place.set_status(bodies, ledger)
