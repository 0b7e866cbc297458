"""What else acts in a cluster: garbage collection and the Job controller, as far as an operator can see them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fakes.calls import Call
from fakes.rules import stamp
from fakes.store import Object

if TYPE_CHECKING:
    from fakes.world import World


class Controllers:
    """React to writes, some time later."""

    def __init__(self, world: World, *, gc_seconds: float, job_seconds: float | None) -> None:
        self._world = world
        self._gc_seconds = gc_seconds
        self._job_seconds = job_seconds

    def react(self, call: Call, made: Object) -> None:
        later = asyncio.get_running_loop().call_later
        if call.verb == "delete" or (made.get("metadata") or {}).get("ownerReferences"):
            later(self._gc_seconds, self._collect_garbage)
        if call.verb == "create" and call.kind.plural == "jobs" and not made["spec"].get("suspend"):
            later(0, self._start_job, made)

    def _collect_garbage(self) -> None:
        """Remove what is in namespaces that are going, what has lost all its owners, and those namespaces."""
        everything = list(self._world.store.objects.items())
        known = {told["metadata"]["uid"] for _, told in everything}
        going = {key[2] for key, told in everything if told.get("status", {}).get("phase") == "Terminating"}
        for (plural, namespace, name), told in everything:
            owners = told["metadata"].get("ownerReferences") or []
            if namespace in going or (owners and not any(owner["uid"] in known for owner in owners)):
                self._world.remove(plural, namespace, name)
        kept = {namespace for _, namespace, _ in self._world.store.objects}
        for name in going - kept:
            self._world.store.write(("namespaces", "", name), None)
        if going & kept:  # something in them has a finalizer
            asyncio.get_running_loop().call_later(self._gc_seconds, self._collect_garbage)

    def _start_job(self, made: Object) -> None:
        if self._current(made):
            self._write(made, {"startTime": stamp(self._world.clock.now()), "active": 1, "ready": 1})
            if self._job_seconds is not None:
                asyncio.get_running_loop().call_later(self._job_seconds, self._end_job, made)

    def _end_job(self, made: Object) -> None:
        job = self._current(made)
        if job and not job["status"].get("conditions"):
            self.finish_job(made["metadata"]["namespace"], made["metadata"]["name"], succeeded=True)

    def finish_job(self, namespace: str, name: str, *, succeeded: bool) -> None:
        """In the two writes that the Job controller makes."""
        job = self._world.find("jobs", namespace, name)
        assert job is not None, f"no Job {namespace}/{name}"
        at = stamp(self._world.clock.now())
        kinds = ("SuccessCriteriaMet", "Complete") if succeeded else ("FailureTarget", "Failed")
        reason = "CompletionsReached" if succeeded else "BackoffLimitExceeded"
        first, last = (
            {"type": kind, "status": "True", "reason": reason, "lastProbeTime": at, "lastTransitionTime": at}
            for kind in kinds
        )
        begun = (job.get("status") or {}).get("startTime", at)
        self._write(job, {"startTime": begun, "active": None, "ready": 0, "conditions": [first]})
        end: Object = {"succeeded": 1, "completionTime": at} if succeeded else {"failed": 1}
        self._write(job, {**end, "conditions": [first, last]})

    def _current(self, made: Object) -> Object | None:
        """The Job as it is now, if it is still the same one."""
        job = self._world.find("jobs", made["metadata"]["namespace"], made["metadata"]["name"])
        return job if job and job["metadata"]["uid"] == made["metadata"]["uid"] else None

    def _write(self, job: Object, status: Object) -> None:
        meta = job["metadata"]
        self._world.edit("jobs", meta["namespace"], meta["name"], {"status": status}, subresource="status")
