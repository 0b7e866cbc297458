"""Schedules that run every minute beside something else: are they late for it?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bench import manifests
from bench.fairness import Start
from bench.scene import Notes

NAME = "live"


def bodies(tenants: Sequence[str], count: int) -> list[dict[str, Any]]:
    """So many, spread over these namespaces."""
    return [
        manifests.cron_schedule(
            tenants[number % len(tenants)],
            f"{NAME}-{number:03}",
            manifests.job_spec(),
            schedule="* * * * *",
            maxStaleness="1h",
        )
        for number in range(count)
    ]


def starts(notes: Notes) -> Iterator[Start]:
    """Of all schedules, live ones or not: when the watcher first saw the Job of each slot."""
    for (namespace, job, slot), at in notes.first_seen.items():
        yield Start(at=at, namespace=namespace, schedule=job.rpartition("-")[0], slot=slot)


def lags(notes: Notes, slots: range) -> list[float]:
    """Seconds from slot to Job of the live schedules."""
    return [
        start.at - start.slot
        for start in starts(notes)
        if start.schedule.startswith(NAME) and start.slot in slots
    ]
