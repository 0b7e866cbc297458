"""The eye-witness: a process of its own that follows all Jobs of a cluster and notes what it sees, and when.

    python -m bench.watcher KUBECONFIG FILE

One JSON object a line: `type` (READY once it follows, then ADDED, MODIFIED, DELETED), `seen` (UTC seconds), and of the
Job `namespace`, `name`, `uid`, `version`, `slot` (or null), `state` and `deleting`. It ends with an error
when events were missed; silence never means that nothing happened.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from kubernetes import client, config

from bench.evidence import SLOT
from bench.times import parse_time

USER_AGENT = "cronschedule-bench"


def main(kubeconfig: str, file: str) -> None:
    """Follow until ended from outside."""
    api = connect(kubeconfig)
    with open(file, "w", buffering=1) as out:
        listed = api.list_cluster_custom_object("batch", "v1", "jobs")
        for job in listed["items"]:
            _note(out, "ADDED", job)
        _tell(out, {"type": "READY", "seen": time.time()})
        version = listed["metadata"]["resourceVersion"]
        while True:
            version = _follow(api, out, version)


def connect(kubeconfig: str) -> Any:
    """A client of the cluster that says who it is."""
    api = client.CustomObjectsApi(config.new_client_from_config(config_file=kubeconfig))  # type: ignore[no-untyped-call]
    api.api_client.user_agent = USER_AGENT
    return api


def _follow(api: Any, out: TextIO, version: str) -> str:
    """One stream, until the server ends it; returns the version to go on from."""
    stream = api.list_cluster_custom_object(
        "batch",
        "v1",
        "jobs",
        watch=True,
        resource_version=version,
        allow_watch_bookmarks=True,
        timeout_seconds=3600,
        _preload_content=False,
    )
    for line in _lines(stream):
        event = json.loads(line)
        if event["type"] == "ERROR":
            raise SystemExit(f"the watch was broken: {event['object']}")
        version = event["object"]["metadata"]["resourceVersion"]
        if event["type"] != "BOOKMARK":
            _note(out, event["type"], event["object"])
    return version


def _lines(stream: Any) -> Iterator[bytes]:
    pending = b""
    for chunk in stream.stream(amt=None, decode_content=False):
        *whole, pending = (pending + chunk).split(b"\n")
        yield from filter(None, whole)


def _note(out: TextIO, kind: str, job: Mapping[str, Any]) -> None:
    metadata = job["metadata"]
    slot = (metadata.get("annotations") or {}).get(SLOT)
    _tell(
        out,
        {
            "type": kind,
            "seen": time.time(),
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
            "version": int(metadata["resourceVersion"]),
            "slot": None if slot is None else int(parse_time(slot)),
            "state": _state(job.get("status") or {}),
            "deleting": "deletionTimestamp" in metadata,
        },
    )


def _tell(out: TextIO, note: Mapping[str, Any]) -> None:
    out.write(json.dumps(note, separators=(",", ":")) + "\n")


def _state(status: Mapping[str, Any]) -> str:
    """Active, Succeeded or Failed. Merely being about to succeed or to fail is active."""
    ended = {c["type"] for c in status.get("conditions") or [] if c["status"] == "True"}
    if "Complete" in ended:
        return "Succeeded"
    return "Failed" if "Failed" in ended else "Active"


if __name__ == "__main__":
    main(*sys.argv[1:])
