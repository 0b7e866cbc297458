"""Does the fake API server of the tests answer as the real one does?

Each conversation is held with both. What must agree: status codes, reasons, messages, causes, generations, what a
write leaves of a status, when a resourceVersion moves, what watches tell.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from cronschedule.runtime.credentials import load_credentials
from cronschedule.runtime.kube import Api, ApiError, KubeError, QuotaExceeded
from cronschedule.runtime.kube_http import HttpApi
from cronschedule.runtime.kube_verbs import (
    EVENTS,
    JOBS,
    LEASES,
    MERGE_PATCH,
    METADATA_ONLY,
    NAMESPACES,
    Resource,
)
from fakes.calls import CRDS, KINDS, kind_of_crd
from fakes.clock import LoopClock
from fakes.kube import FakeKube
from fakes.objects import cron_schedule, job, quota
from fakes.objects import namespace as namespace_object
from localkube import Cluster

GROUP = "agree.cronschedule.dev"
"""CronSchedules that no operator sees: another one may be running."""

TWINS = Resource(group=GROUP, version="v1alpha1", plural="cronschedules")
(CRD,) = (crd for crd in CRDS if crd["spec"]["names"]["kind"] == "CronSchedule")
TWIN_CRD = {
    **{key: CRD[key] for key in ("apiVersion", "kind")},
    "metadata": {"name": f"cronschedules.{GROUP}"},
    "spec": {
        **CRD["spec"],
        "group": GROUP,
        # kubectl remembers names for a while: `cronschedule` must not be the twin's when it is gone
        "names": {**CRD["spec"]["names"], "singular": "twin", "shortNames": [], "categories": []},
    },
}
CRDS = Resource(group="apiextensions.k8s.io", version="v1", plural="customresourcedefinitions")
QUOTAS = Resource(group="", version="v1", plural="resourcequotas")
JSON_PATCH = "application/json-patch+json"
PATIENCE = 90.0
"""Seconds that controllers of the real cluster may take: garbage collection looks for new kinds every 30."""


class Talk:
    """One conversation with one server, in a namespace of its own. `heard` is what must agree."""

    def __init__(self, api: Api, place: str) -> None:
        self.api = api
        self.place = place
        self.heard: list[Any] = []

    def note(self, what: Any) -> None:
        self.heard.append(what)

    async def ask(self, method: str, path: str, **options: Any) -> Any:
        """Send a request and note the answer, or the failure in all its details."""
        try:
            answer = await self.api.request(method, path, **options)
        except ApiError as error:
            self.note(self._failure(error))
            return None
        meta = answer["metadata"] if answer["kind"] != "Status" else {}
        self.note((answer["kind"], meta.get("generation"), answer.get("status")))
        return answer

    def _failure(self, error: ApiError) -> dict[str, Any]:
        details = {key: value for key, value in error.details.items() if key != "uid"}
        told = {"class": type(error).__name__, "code": error.status, "reason": error.reason}
        failure: dict[str, Any] = self._nameless({**told, "message": error.message, "details": details})
        return failure

    def _nameless(self, told: Any) -> Any:
        if isinstance(told, dict):
            return {key: self._nameless(value) for key, value in told.items()}
        if isinstance(told, list):
            return [self._nameless(value) for value in told]
        if not isinstance(told, str):
            return told
        told = told.replace(self.place, "NAMESPACE")
        told = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", told)
        return re.sub(r"\(\d+\)|version: \d+", "VERSION", told)

    async def until(self, come_true: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                if await come_true():
                    return
                await asyncio.sleep(0.1)

    async def gone(self, path: str) -> bool:
        try:
            await self.api.request("GET", path)
        except ApiError as error:
            return error.status == 404
        return False

    def path(self, resource: Resource, name: str | None = None, subresource: str | None = None) -> str:
        return resource.path(namespace=self.place, name=name, subresource=subresource)

    def job(self, name: str, **options: Any) -> dict[str, Any]:
        return job(name, namespace=self.place, **options)


def without(told: dict[str, Any], *names: str) -> dict[str, Any]:
    return {**told, "metadata": {k: v for k, v in told["metadata"].items() if k not in names}}


def twin(name: str, **options: Any) -> dict[str, Any]:
    return {**cron_schedule(name, **options), "apiVersion": TWINS.api_version}


# The conversations


async def a_job_is_created_twice(talk: Talk) -> None:
    await talk.ask("GET", talk.path(JOBS, "a"))
    made = await talk.api.request("POST", talk.path(JOBS), body=talk.job("a", suspend=True))
    talk.note(made["metadata"]["generation"])
    await talk.ask("POST", talk.path(JOBS), body=talk.job("a", suspend=True))


async def a_job_is_refused(talk: Talk) -> None:
    broken = talk.job("a")
    del broken["spec"]["template"]["spec"]["restartPolicy"]
    await talk.ask("POST", talk.path(JOBS), body=broken)
    broken = talk.job("a")
    del broken["metadata"]["name"]
    await talk.ask("POST", talk.path(JOBS), body=broken)
    await talk.ask("POST", talk.path(JOBS), body=job("a", namespace="elsewhere"))
    await talk.ask(
        "POST", JOBS.path(namespace="no-such-namespace"), body=job("a", namespace="no-such-namespace")
    )


async def a_path_leads_nowhere(talk: Talk) -> None:
    await talk.ask("GET", talk.path(Resource(group="batch", version="v1", plural="jobz")))
    answer = await talk.ask("GET", JOBS.path(namespace="no-such-namespace"))
    talk.note(answer["items"])


async def a_namespace_is_going(talk: Talk) -> None:
    going = f"{talk.place}-going"
    await talk.api.request("POST", NAMESPACES.path(), body=namespace_object(going))
    jobs, held = JOBS.path(namespace=going), JOBS.path(namespace=going, name="held")
    told = job("held", namespace=going, suspend=True)
    told["metadata"]["finalizers"] = ["cronschedule.dev/test"]
    await talk.api.request("POST", jobs, body=told)
    answer = await talk.api.request("DELETE", NAMESPACES.path(name=going))
    talk.note(answer["status"]["phase"])
    await talk.ask("POST", jobs, body=job("late", namespace=going))

    async def marked() -> bool:
        return "deletionTimestamp" in (await talk.api.request("GET", held))["metadata"]

    await talk.until(marked)
    free = {"metadata": {"finalizers": None}}
    await talk.api.request("PATCH", held, body=free, content_type=MERGE_PATCH)
    await talk.until(lambda: talk.gone(NAMESPACES.path(name=going)))
    await talk.ask("POST", jobs, body=job("later", namespace=going))


async def a_quota_is_used_up(talk: Talk) -> None:
    await talk.api.request("POST", talk.path(JOBS), body=talk.job("a", suspend=True))
    await talk.api.request("POST", talk.path(QUOTAS), body=quota("small", namespace=talk.place, jobs=1))

    async def counted() -> bool:
        """Before the quota is counted and known everywhere, the name that is taken is what the server sees."""
        try:
            await talk.api.request("POST", talk.path(JOBS), body=talk.job("a", suspend=True))
        except ApiError as error:
            return isinstance(error, QuotaExceeded)
        return False

    await talk.until(counted)
    await talk.ask("POST", talk.path(JOBS), body=talk.job("b", suspend=True))
    talk.note("the name of the Job that is there already")
    await talk.ask("POST", talk.path(JOBS), body=talk.job("a", suspend=True))
    talk.note("a Job that is refused anyway")
    broken = talk.job("c")
    del broken["spec"]["template"]["spec"]["restartPolicy"]
    await talk.ask("POST", talk.path(JOBS), body=broken)


async def spec_and_status_are_written(talk: Talk) -> None:
    path, status = talk.path(TWINS, "a"), talk.path(TWINS, "a", "status")
    told = twin("a", namespace=talk.place, status={"activeRuns": 7})
    made = await talk.ask("POST", talk.path(TWINS), body=told)
    read = await talk.ask("GET", path)
    talk.note(read["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"])
    talk.note("a status, written with the version that was read")
    written = await talk.ask("PUT", status, body={**read, "spec": {}, "status": {"activeRuns": 1}})
    talk.note(written["spec"] == read["spec"])
    talk.note("the same once more changes nothing")
    again = await talk.ask("PUT", status, body=written)
    talk.note(again["metadata"]["resourceVersion"] == written["metadata"]["resourceVersion"])
    talk.note("an old version")
    await talk.ask("PUT", status, body=read)
    talk.note("another object's UID")
    stranger = {**written, "metadata": {**written["metadata"], "uid": "00000000-0000-4000-8000-000000000000"}}
    await talk.ask("PUT", status, body=stranger)
    talk.note("no version")
    await talk.ask("PUT", status, body=without(written, "resourceVersion"))
    talk.note("labels move no generation, spec does, status in the body is ignored")
    await talk.ask("PATCH", path, body={"metadata": {"labels": {"a": "b"}}}, content_type=MERGE_PATCH)
    await talk.ask(
        "PATCH", path, body={"spec": {"suspend": True}, "status": {"activeRuns": 9}}, content_type=MERGE_PATCH
    )
    talk.note("a merge patch of the status keeps the rest of it")
    await talk.ask("PATCH", status, body={"status": {"backlog": {"waiting": 3}}}, content_type=MERGE_PATCH)
    talk.note("a patch with an old version")
    old = {"metadata": {"resourceVersion": read["metadata"]["resourceVersion"]}, "status": {"activeRuns": 0}}
    await talk.ask("PATCH", status, body=old, content_type=MERGE_PATCH)
    talk.note("what the schema does not know is dropped")
    await talk.ask("PATCH", status, body={"status": {"nonsense": 1}}, content_type=MERGE_PATCH)


async def an_object_is_patched_by_json_patch(talk: Talk) -> None:
    made = await talk.api.request("POST", talk.path(TWINS), body=twin("a", namespace=talk.place))
    path = talk.path(TWINS, "a")
    version = {
        "op": "test",
        "path": "/metadata/resourceVersion",
        "value": made["metadata"]["resourceVersion"],
    }
    change = {"op": "replace", "path": "/spec/suspend", "value": True}
    await talk.ask("PATCH", path, body=[version, change], content_type=JSON_PATCH)
    with contextlib.suppress(KubeError):
        await talk.api.request("PATCH", path, body=[version, change], content_type=JSON_PATCH)
        talk.note("a failed test must not pass")


async def a_lease_changes_hands(talk: Talk) -> None:
    spec = {"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}
    told = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}, "spec": spec}
    path = talk.path(LEASES, "a")
    made = await talk.ask("POST", talk.path(LEASES), body=told)
    taken = await talk.ask("PUT", path, body={**made, "spec": {**spec, "holderIdentity": "two"}})
    talk.note(taken["spec"]["holderIdentity"])
    await talk.ask("PUT", path, body={**made, "spec": {**spec, "holderIdentity": "three"}})
    await talk.ask("PUT", path, body=without(taken, "resourceVersion"))
    await talk.ask("POST", talk.path(LEASES), body=told)


async def an_object_is_deleted(talk: Talk) -> None:
    made = await talk.api.request("POST", talk.path(JOBS), body=talk.job("a", suspend=True))
    path, meta = talk.path(JOBS, "a"), made["metadata"]

    def options(**preconditions: str) -> dict[str, Any]:
        return {"propagationPolicy": "Background", "preconditions": preconditions}

    await talk.ask("DELETE", path, body=options(uid="00000000-0000-4000-8000-000000000000"))
    await talk.ask("DELETE", path, body=options(uid=meta["uid"], resourceVersion="1"))
    gone = await talk.ask("DELETE", path, body=options(uid=meta["uid"]))
    talk.note(sorted(gone["details"]))
    await talk.ask("DELETE", path, body=options(uid=meta["uid"]))


async def an_object_is_deleted_that_something_holds(talk: Talk) -> None:
    held = twin("a", namespace=talk.place)
    held["metadata"]["finalizers"] = ["cronschedule.dev/test"]
    await talk.api.request("POST", talk.path(TWINS), body=held)
    path = talk.path(TWINS, "a")
    going = await talk.ask("DELETE", path)
    talk.note("deletionTimestamp" in going["metadata"])
    again = await talk.ask("DELETE", path)
    talk.note(again["metadata"]["resourceVersion"] == going["metadata"]["resourceVersion"])
    await talk.ask("PATCH", path, body={"metadata": {"finalizers": None}}, content_type=MERGE_PATCH)
    await talk.ask("GET", path)


async def an_owner_goes(talk: Talk) -> None:
    owner = await talk.api.request("POST", talk.path(TWINS), body=twin("a", namespace=talk.place))
    await talk.api.request("POST", talk.path(JOBS), body=talk.job("kept", suspend=True))
    await talk.api.request("POST", talk.path(JOBS), body=talk.job("owned", owner=owner, suspend=True))
    await talk.api.request("DELETE", talk.path(TWINS, "a"))
    await talk.until(lambda: talk.gone(talk.path(JOBS, "owned")))
    talk.note("a Job that comes too late goes too")
    await talk.api.request("POST", talk.path(JOBS), body=talk.job("late", owner=owner, suspend=True))
    await talk.until(lambda: talk.gone(talk.path(JOBS, "late")))
    talk.note(await talk.gone(talk.path(JOBS, "kept")))


LABELS = {"a": {"app": "x", "tier": "one"}, "b": {"app": "y"}, "c": {"tier": "two"}, "d": {}}
SELECTORS = [
    "app=x",
    "app==x",
    "app!=x",
    "app",
    "!app",
    "app in (x,y)",
    "app notin (x)",
    "app=x,tier=one",
    "app in (x, y),tier",
    "app=",
    "cronschedule.dev/none!=a",
    "",
]


async def labels_select(talk: Talk) -> None:
    for name, labels in LABELS.items():
        await talk.api.request("POST", talk.path(JOBS), body=talk.job(name, labels=labels, suspend=True))
    for selector in SELECTORS:
        answer = await talk.api.request("GET", talk.path(JOBS), query={"labelSelector": selector})
        talk.note((selector, [item["metadata"]["name"] for item in answer["items"]]))
    answer = await talk.api.request("GET", talk.path(JOBS), query={"fieldSelector": "metadata.name=c"})
    talk.note([item["metadata"]["name"] for item in answer["items"]])


async def a_list_comes_in_chunks(talk: Talk) -> None:
    for name in ("a", "b", "c", "d", "e"):
        await talk.api.request("POST", talk.path(JOBS), body=talk.job(name, suspend=True))
    query, versions = {"limit": "2"}, set()
    while True:
        page = await talk.api.request("GET", talk.path(JOBS), query=query)
        versions.add(page["metadata"]["resourceVersion"])
        talk.note([item["metadata"]["name"] for item in page["items"]])
        talk.note((page["kind"], sorted(set(page["items"][0]) & {"apiVersion", "kind", "metadata", "spec"})))
        if not page["metadata"].get("continue"):
            break
        query["continue"] = page["metadata"]["continue"]
        await talk.api.request("DELETE", talk.path(JOBS, page["items"][0]["metadata"]["name"]))
        await talk.api.request(
            "POST",
            talk.path(JOBS),
            body=talk.job(f"f{len(versions)}{page['items'][0]['metadata']['name']}", suspend=True),
        )
    talk.note(len(versions))
    await talk.api.request("POST", talk.path(TWINS), body=twin("a", namespace=talk.place))
    page = await talk.api.request("GET", talk.path(TWINS))
    talk.note((page["kind"], page["items"][0]["kind"]))
    page = await talk.api.request("GET", talk.path(TWINS), accept=METADATA_ONLY)
    talk.note((page["kind"], page["apiVersion"], sorted(page["items"][0]), page["items"][0]["kind"]))


def lease(name: str, **labels: str) -> dict[str, Any]:
    meta = {"name": name, "labels": labels}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": {}}


async def watched(talk: Talk, count: int, **query: str) -> list[tuple[str, str]]:
    """The first events of a watch of the Leases: what happened to which."""
    steps: list[tuple[str, str]] = []
    path = talk.path(LEASES)
    async with asyncio.timeout(PATIENCE), contextlib.aclosing(talk.api.watch(path, query=query)) as told:
        while len(steps) < count:
            event = await anext(told)
            name = event["object"]["metadata"].get("name", event["object"].get("reason", ""))
            steps.append((event["type"], name))
    return steps


async def a_watch_tells(talk: Talk) -> None:
    path = talk.path(LEASES, "a")
    start = (await talk.api.request("GET", talk.path(LEASES)))["metadata"]["resourceVersion"]
    await talk.api.request("POST", talk.path(LEASES), body=lease("a", app="x"))
    await talk.api.request("POST", talk.path(LEASES), body=lease("b"))
    for app in ("y", "x", "x"):
        change = {"metadata": {"labels": {"app": app}}}
        await talk.api.request("PATCH", path, body=change, content_type=MERGE_PATCH)
    await talk.api.request("DELETE", path)
    talk.note(await watched(talk, 5, resourceVersion=start))
    talk.note(await watched(talk, 4, resourceVersion=start, labelSelector="app=x"))
    talk.note(await watched(talk, 1))
    talk.note(await watched(talk, 1, resourceVersion="0"))
    talk.note(await watched(talk, 1, resourceVersion="1"))


async def a_deletion_has_a_version_of_its_own(talk: Talk) -> None:
    made = await talk.api.request("POST", talk.path(LEASES), body=lease("a"))
    await talk.api.request("DELETE", talk.path(LEASES, "a"))
    query = {"resourceVersion": made["metadata"]["resourceVersion"]}
    async with contextlib.aclosing(talk.api.watch(talk.path(LEASES), query=query)) as events:
        event = await anext(events)
    talk.note(event["type"])
    version = event["object"]["metadata"]["resourceVersion"]
    talk.note(int(version) > int(made["metadata"]["resourceVersion"]))


async def a_job_ends(talk: Talk) -> None:
    await talk.api.request("POST", talk.path(JOBS), body=talk.job("a"))

    async def ended() -> bool:
        told = await talk.api.request("GET", talk.path(JOBS, "a"))
        rows = told["status"].get("conditions") or [] if "status" in told else []
        return any(row["type"] == "Complete" for row in rows)

    await talk.until(ended)
    status = (await talk.api.request("GET", talk.path(JOBS, "a")))["status"]
    talk.note([(row["type"], row["status"], row["reason"]) for row in status["conditions"]])
    talk.note((status["succeeded"], "startTime" in status, "completionTime" in status, "active" in status))


async def an_event_is_recorded(talk: Talk) -> None:
    told: dict[str, Any] = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "a.1"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "cronschedule.dev/operator",
        "reportingInstance": "one",
        "action": "Run",
        "reason": "RunStarted",
        "type": "Normal",
        "note": "It runs.",
        "regarding": {
            "apiVersion": TWINS.api_version,
            "kind": "CronSchedule",
            "name": "a",
            "namespace": talk.place,
        },
    }
    await talk.ask("POST", talk.path(EVENTS), body=told)
    for name in ("eventTime", "reportingInstance", "action", "reason", "type"):
        broken = {key: value for key, value in told.items() if key != name} | {"metadata": {"name": "a.2"}}
        await talk.ask("POST", talk.path(EVENTS), body=broken)
    await talk.ask("POST", talk.path(EVENTS), body={**told, "note": "x" * 1025, "metadata": {"name": "a.3"}})
    elsewhere = {
        **told,
        "regarding": {**told["regarding"], "namespace": "default"},
        "metadata": {"name": "a.4"},
    }
    await talk.ask("POST", talk.path(EVENTS), body=elsewhere)
    series = {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}}
    await talk.ask("PATCH", talk.path(EVENTS, "a.1"), body=series, content_type=MERGE_PATCH)


CONVERSATIONS = [
    a_job_is_created_twice,
    a_job_is_refused,
    a_path_leads_nowhere,
    a_namespace_is_going,
    a_quota_is_used_up,
    spec_and_status_are_written,
    an_object_is_patched_by_json_patch,
    a_lease_changes_hands,
    an_object_is_deleted,
    an_object_is_deleted_that_something_holds,
    an_owner_goes,
    labels_select,
    a_list_comes_in_chunks,
    a_watch_tells,
    a_deletion_has_a_version_of_its_own,
    a_job_ends,
    an_event_is_recorded,
]


@pytest.fixture(scope="module")
def cluster_with_twins(cluster: Cluster) -> Iterator[Cluster]:
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=json.dumps(TWIN_CRD))
    until = time.monotonic() + PATIENCE
    while cluster.kubectl.run("get", f"cronschedules.{GROUP}").returncode:
        assert time.monotonic() < until, "the twins' CRD is not served"
        time.sleep(0.1)
    yield cluster
    cluster.kubectl("delete", "crd", TWIN_CRD["metadata"]["name"], "--wait=false")


@pytest.fixture
async def real(cluster_with_twins: Cluster, namespace: str) -> AsyncIterator[Talk]:
    async with HttpApi(load_credentials(str(cluster_with_twins.kubeconfig))) as api:
        yield Talk(api, namespace)


@pytest.fixture
async def fake() -> Talk:
    kube = FakeKube(
        clock=LoopClock(1_772_000_000), kinds=(*KINDS, kind_of_crd(TWIN_CRD)), gc_seconds=0.2, job_seconds=0.5
    )
    kube.add(namespace_object("e2e-fake"))
    return Talk(kube, "e2e-fake")


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=lambda it: it.__name__.replace("_", " "))
async def test_does_the_fake_agree_when(
    conversation: Callable[[Talk], Awaitable[None]], real: Talk, fake: Talk
) -> None:
    await conversation(real)
    await conversation(fake)
    assert fake.heard == real.heard
