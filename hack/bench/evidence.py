"""The API server's audit log and the watcher's notes → records for the judge."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from bench.errors import BenchError
from bench.records import Evidence, JobCreated, JobEnded, Schedule, StatusWrite
from bench.times import parse_time

KIND = "CronSchedule"
SLOT = "batch.kubernetes.io/cronjob-scheduled-timestamp"
"""Annotation with the slot on the Jobs of the operator and of the built-in CronJob controller alike."""

SKIPS = {
    ("FireOnce", "Allow"): {"Coalesced"},
    ("FireOnce", "Forbid"): {"Coalesced", "Overlap"},
    ("FireOnce", "Replace"): {"Coalesced"},
    ("Skip", "Allow"): {"Misfire"},
    ("Skip", "Forbid"): {"Misfire", "Overlap"},
    ("Skip", "Replace"): {"Misfire"},
    ("CatchUp", "Allow"): set(),
    ("CatchUp", "Forbid"): set(),
}
"""Why slots may be skipped where outages are shorter than every staleness and every cap."""

SUSPENDED = "cronschedule.dev/suspended"
"""Label with which a tenant's Namespace is suspended where its value is `true`."""


class EvidenceError(BenchError):
    """The records do not fit together: nothing can be judged by them."""


def read_lines(file: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file that is still written to: whole lines only."""
    with file.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                yield json.loads(line)


def gather(
    *,
    bodies: Iterable[Mapping[str, Any]],
    audit: Iterable[Mapping[str, Any]],
    notes: Iterable[Mapping[str, Any]],
    until: int,
    kills: Sequence[float] = (),
    notice: float = 5.0,
) -> Evidence:
    """All records. `bodies`: the CronSchedules as they stand in the end. Raises EvidenceError."""
    bodies, audit, notes = list(bodies), list(audit), list(notes)
    suspended = read_suspensions(audit)
    created, writes = read_audit(audit, _uids(bodies))
    created += read_unanswered(audit, notes, known={job.uid for job in created})
    last = {write.schedule: write.status for write in sorted(writes, key=lambda write: write.version)}
    for body in bodies:
        written = last.get(body["metadata"]["uid"])
        if written is not None and written != body.get("status"):
            raise EvidenceError(f"The audit log does not end with the status of {body['metadata']['name']}.")
    return Evidence(
        schedules=[_with_suspensions(read_schedule(body), suspended) for body in bodies],
        created=created,
        ended=list(read_ends(notes)),
        writes=writes,
        until=until,
        kills=kills,
        notice=notice,
    )


def read_schedule(body: Mapping[str, Any]) -> Schedule:
    """What the judge must know of a CronSchedule of the soak."""
    metadata, spec = body["metadata"], body["spec"]
    policies = spec["misfirePolicy"], spec["concurrencyPolicy"]
    return Schedule(
        uid=metadata["uid"],
        name=f"{metadata['namespace']}/{metadata['name']}",
        created=int(parse_time(metadata["creationTimestamp"])),
        misfire_policy=policies[0],
        concurrency_policy=policies[1],
        max_staleness=int(spec["maxStaleness"].removesuffix("h")) * 3600,
        expected_skips=frozenset(SKIPS[policies]),
    )


def read_audit(
    events: Iterable[Mapping[str, Any]], uids: Mapping[tuple[str, str], str]
) -> tuple[list[JobCreated], list[StatusWrite]]:
    """The Jobs that were created and the statuses that were accepted, of the schedules with these UIDs."""
    created: list[JobCreated] = []
    writes: list[StatusWrite] = []
    for event in events:
        if event.get("stage") != "ResponseComplete" or event["responseStatus"]["code"] not in (200, 201):
            continue
        where = event.get("objectRef") or {}
        if (event["verb"], where.get("resource")) == ("create", "jobs"):
            created += _job(event)
        elif event["verb"] in ("update", "patch") and _is_ledger(where):
            uid = uids.get((where["namespace"], where["name"]))
            if uid is not None:
                writes.append(_write(event, uid))
    return created, writes


def read_unanswered(
    audit: Iterable[Mapping[str, Any]], notes: Iterable[Mapping[str, Any]], *, known: Collection[str]
) -> Iterator[JobCreated]:
    """Jobs whose creator was killed before it had its answer: logged as a failure, but the watcher saw them."""
    seen = {
        (note["namespace"], note["name"]): note
        for note in notes
        if note["type"] == "ADDED" and note["uid"] not in known
    }
    for event in audit:
        where = event.get("objectRef") or {}
        if (event.get("stage"), event["verb"], where.get("resource")) != (
            "ResponseComplete",
            "create",
            "jobs",
        ):
            continue
        note = seen.get((where.get("namespace"), where.get("name")))
        if note is None or event["responseStatus"]["code"] < 500:
            continue
        stands = event["requestObject"]["metadata"] | {"uid": note["uid"], "resourceVersion": note["version"]}
        yield from _job({**event, "responseObject": {"metadata": stands}})


def read_ends(notes: Iterable[Mapping[str, Any]]) -> Iterator[JobEnded]:
    """How and when Jobs stopped being active, as the watcher saw it."""
    for note in notes:
        if note["type"] == "READY":
            continue
        if note["state"] != "Active":
            yield JobEnded(uid=note["uid"], version=note["version"], outcome=note["state"])
        elif note["deleting"] or note["type"] == "DELETED":
            yield JobEnded(uid=note["uid"], version=note["version"], outcome="Deleted")


def read_suspensions(events: Iterable[Mapping[str, Any]]) -> dict[str, list[tuple[float, float]]]:
    """Of each Namespace, from when until when it was suspended; infinity where it still is."""
    found: dict[str, list[tuple[float, float]]] = {}
    for event in events:
        where = event.get("objectRef") or {}
        labelled = where.get("resource") == "namespaces" and not where.get("subresource")
        if event.get("stage") != "ResponseComplete" or not labelled or "responseObject" not in event:
            continue
        if event["responseStatus"]["code"] not in (200, 201):
            continue
        suspended = (event["responseObject"]["metadata"].get("labels") or {}).get(SUSPENDED) == "true"
        windows = found.setdefault(event["responseObject"]["metadata"]["name"], [])
        open_now = bool(windows) and windows[-1][1] == inf
        if suspended and not open_now:
            windows.append((parse_time(event["stageTimestamp"]), inf))
        elif open_now and not suspended:
            windows[-1] = (windows[-1][0], parse_time(event["requestReceivedTimestamp"]))
    return found


def _with_suspensions(schedule: Schedule, found: Mapping[str, list[tuple[float, float]]]) -> Schedule:
    windows = tuple(found.get(schedule.name.partition("/")[0], ()))
    skips = {"TenantSuspended"} if windows else set()
    return replace(schedule, suspended=windows, expected_skips=schedule.expected_skips | skips)


def _uids(bodies: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    return {(b["metadata"]["namespace"], b["metadata"]["name"]): b["metadata"]["uid"] for b in bodies}


def _is_ledger(where: Mapping[str, str]) -> bool:
    return where.get("resource") == "cronschedules" and where.get("subresource") == "status"


def _job(event: Mapping[str, Any]) -> Iterator[JobCreated]:
    metadata = event["responseObject"]["metadata"]
    slot = (metadata.get("annotations") or {}).get(SLOT)
    owner = next((o for o in metadata.get("ownerReferences") or [] if o["kind"] == KIND), None)
    if slot is not None and owner is not None:
        yield JobCreated(
            schedule=owner["uid"],
            slot=int(parse_time(slot)),
            job=metadata["name"],
            uid=metadata["uid"],
            at=parse_time(event["requestReceivedTimestamp"]),
            version=int(metadata["resourceVersion"]),
        )


def _write(event: Mapping[str, Any], uid: str) -> StatusWrite:
    asked = (event.get("requestObject") or {}).get("metadata") or {}
    stands = event["responseObject"]
    based_on = asked.get("resourceVersion")
    return StatusWrite(
        schedule=uid,
        at=parse_time(event["requestReceivedTimestamp"]),
        version=int(stands["metadata"]["resourceVersion"]),
        based_on=int(based_on) if based_on else None,
        status=stands.get("status") or {},
    )
