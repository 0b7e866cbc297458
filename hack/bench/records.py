"""What the judge looks at: records of what the API server did, put in order schedule by schedule.

Pure, and independent of the operator: nothing of it is imported here, and slots are enumerated anew. All schedules are
due every minute, so a slot is a whole minute after the creation of its schedule. Moments are UTC seconds; versions
are resourceVersions, which order all that happened on one API server exactly, as no clock does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from bench.times import MINUTE, parse_time, show

Status = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """A CronSchedule of the soak. `expected_skips`: the only reasons for which its slots may be skipped.

    `suspended`: from when until when its tenant was, moment by moment.
    """

    uid: str
    name: str
    created: int
    misfire_policy: str
    concurrency_policy: str
    max_staleness: int
    expected_skips: frozenset[str]
    suspended: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, kw_only=True)
class JobCreated:
    """A Job that the API server has created (its answer was 201) for a slot of a schedule."""

    schedule: str
    slot: int
    job: str
    uid: str
    at: float
    version: int


@dataclass(frozen=True, kw_only=True)
class JobEnded:
    """A Job that stopped being active. Only the first of these of a Job counts: finished, being deleted, or gone."""

    uid: str
    version: int
    outcome: Literal["Succeeded", "Failed", "Deleted"]


@dataclass(frozen=True, kw_only=True)
class StatusWrite:
    """A status that the API server has accepted. `based_on`: the version that it was to replace, if it said so."""

    schedule: str
    at: float
    version: int
    based_on: int | None
    status: Status


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that is known. Every slot up to `until` must be decided in the end. `kills`: when the operator was killed.

    `notice`: seconds after which the operator, whatever befell it, must have seen that a tenant is suspended.
    """

    schedules: Sequence[Schedule]
    created: Sequence[JobCreated]
    ended: Sequence[JobEnded]
    writes: Sequence[StatusWrite]
    until: int
    kills: Sequence[float] = ()
    notice: float = 5.0


@dataclass(frozen=True)
class Decision:
    """What a status says of one slot: the name of its Job, or the reason for which it was skipped."""

    job: str | None = None
    reason: str | None = None

    def __str__(self) -> str:
        return f"run as {self.job}" if self.job else f"skipped ({self.reason})"


@dataclass(kw_only=True)
class Case:
    """The evidence about one schedule, in the order in which it happened."""

    schedule: Schedule
    created: list[JobCreated]
    writes: list[StatusWrite]
    ended: Mapping[str, JobEnded]
    until: int
    notice: float
    contradictions: list[str] = field(default_factory=list)
    told_at: dict[int, float] = field(default_factory=dict)

    @cached_property
    def decisions(self) -> dict[int, Decision]:
        """The first decision that any status told of each slot. When it was told, and whatever contradicts it later,
        is kept aside."""
        told: dict[int, Decision] = {}
        for write in self.writes:
            for slot, decision in _decisions(write.status):
                before = told.setdefault(slot, decision)
                self.told_at.setdefault(slot, write.at)
                if before != decision:
                    self.contradictions.append(f"{show(slot)} was {before}, then {decision}")
        return told

    @property
    def final(self) -> Status:
        """The last status; empty where none was ever written."""
        return self.writes[-1].status if self.writes else {}

    def slots(self, last: int) -> range:
        """The slots from the schedule's creation up to `last`: every whole minute strictly after it."""
        return range(self.schedule.created // MINUTE * MINUTE + MINUTE, last + 1, MINUTE)


def cases(evidence: Evidence) -> list[Case]:
    """The evidence, schedule by schedule."""
    created: dict[str, list[JobCreated]] = {}
    for job in sorted(evidence.created, key=lambda job: job.version):
        created.setdefault(job.schedule, []).append(job)
    writes: dict[str, list[StatusWrite]] = {}
    for write in sorted(evidence.writes, key=lambda write: write.version):
        writes.setdefault(write.schedule, []).append(write)
    ended: dict[str, JobEnded] = {}
    for end in sorted(evidence.ended, key=lambda end: end.version):
        ended.setdefault(end.uid, end)
    return [
        Case(
            schedule=schedule,
            created=created.get(schedule.uid, []),
            writes=writes.get(schedule.uid, []),
            ended=ended,
            until=evidence.until,
            notice=evidence.notice,
        )
        for schedule in evidence.schedules
    ]


# Reading a status


def counts_of(status: Status) -> Counter[str]:
    """The totals under one roof: `runs`, `succeeded`, `failed`, and `skipped.REASON`."""
    counts = status.get("counts") or {}
    flat = Counter({name: counts.get(name, 0) for name in ("runs", "succeeded", "failed")})
    flat.update({f"skipped.{reason}": number for reason, number in (counts.get("skipped") or {}).items()})
    return flat


def skips_of(status: Status) -> Mapping[str, int]:
    """How many slots were skipped, by reason."""
    return (status.get("counts") or {}).get("skipped") or {}


def rows_of(status: Status) -> Sequence[Mapping[str, Any]]:
    """The rows of the history, newest first."""
    return status.get("runHistory") or []


def decided_until(status: Status) -> int | None:
    """`lastDecidedTime`."""
    text = status.get("lastDecidedTime")
    return None if text is None else int(parse_time(text))


def slots_of(row: Mapping[str, Any]) -> range:
    """The slots that a row is about; none where it is about a lost ledger, whose count is 0."""
    if row.get("count") == 0:
        return range(0)
    last = int(parse_time(row["scheduledTime"]))
    first = int(parse_time(row.get("firstScheduledTime") or row["scheduledTime"]))
    return range(first, last + 1, MINUTE)


def _decisions(status: Status) -> Iterator[tuple[int, Decision]]:
    for row in rows_of(status):
        skipped = row["outcome"] == "Skipped"
        decision = Decision(reason=row.get("reason")) if skipped else Decision(job=row.get("job"))
        for slot in slots_of(row):
            yield slot, decision
