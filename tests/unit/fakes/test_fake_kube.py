"""Does the fake API server do what tests ask of it? What the real one does too is in tests/e2e/test_fake_agrees.py."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from cronschedule.runtime import kube
from cronschedule.runtime.kube_verbs import CRONSCHEDULES, JOBS, NAMESPACES, list_pages
from fakes.clock import LoopClock
from fakes.faults import Answer, Delay, Duplicate, Fault, Hang, Reset, Stale
from fakes.kube import FakeKube
from fakes.objects import cron_schedule, job, namespace, quota
from fakes.store import label_selector

pytestmark = [pytest.mark.looptime]

EPOCH = 1_772_000_000
PATH = JOBS.path(namespace="default")


def fresh(**options: Any) -> FakeKube:
    return FakeKube(clock=LoopClock(EPOCH), **options)


def names(fake: FakeKube, plural: str = "jobs") -> list[str]:
    return [told["metadata"]["name"] for told in fake.objects(plural)]


async def events(fake: FakeKube, seconds: float, **query: str) -> list[tuple[str, str]]:
    """What a watch of the Jobs tells within some time: event types and names."""
    told = []
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            async for event in fake.watch(PATH, query=query):
                told.append((event["type"], event["object"].get("metadata", {}).get("name", "")))
    return told


# Faults


async def test_does_a_fault_before_keep_the_request_from_the_server() -> None:
    fake = fresh()
    fake.faults = [Fault(verb="create", action=Reset())]
    with pytest.raises(kube.Unreachable):
        await fake.request("POST", PATH, body=job("a"))
    assert names(fake) == []


@pytest.mark.parametrize(
    ("action", "expected"),
    [(Reset(), kube.Unreachable), (Answer(code=504), kube.ServerError), (Hang(), kube.Unreachable)],
    ids=["reset", "504", "no answer"],
)
async def test_does_a_fault_after_only_lose_the_answer(action: Any, expected: type[Exception]) -> None:
    fake = fresh()
    fake.faults = [Fault(verb="create", action=action, phase="after")]
    with pytest.raises(expected):
        await fake.request("POST", PATH, body=job("a"))
    assert names(fake) == ["a"]


async def test_does_a_duplicated_request_meet_itself() -> None:
    fake = fresh()
    fake.faults = [Fault(verb="create", action=Duplicate())]
    with pytest.raises(kube.AlreadyExists):
        await fake.request("POST", PATH, body=job("a"))
    assert names(fake) == ["a"]


async def test_does_no_answer_end_with_the_clients_patience() -> None:
    fake = fresh()
    fake.faults = [Fault(action=Hang(), times=2)]
    loop = asyncio.get_running_loop()
    began = loop.time()
    with pytest.raises(kube.Unreachable):
        await fake.request("GET", PATH)
    assert loop.time() - began == pytest.approx(30)
    with pytest.raises(kube.Unreachable):
        await fake.request("GET", PATH, timeout=2)
    assert loop.time() - began == pytest.approx(32)


async def test_does_a_delay_delay() -> None:
    fake = fresh(latency=0.5)
    fake.faults = [Fault(action=Delay(3))]
    began = asyncio.get_running_loop().time()
    await fake.request("GET", PATH)
    assert asyncio.get_running_loop().time() - began == pytest.approx(3.5)


async def test_does_a_fault_hit_only_the_requests_that_it_names() -> None:
    fake = fresh()
    fake.faults = [
        Fault(verb="create", resource="jobs", name="a-*", nth=2, times=1, action=Answer(code=500)),
    ]
    outcomes = []
    for name in ("a-1", "b-1", "a-2", "a-3"):
        try:
            await fake.request("POST", PATH, body=job(name))
            outcomes.append("made")
        except kube.ServerError:
            outcomes.append("failed")
    assert outcomes == ["made", "made", "failed", "made"]


async def test_does_a_stale_list_show_the_past() -> None:
    fake = fresh()
    fake.add(job("a", suspend=True))
    fake.add(job("b", suspend=True))
    fake.remove("jobs", "default", "a")
    fake.edit("jobs", "default", "b", {"metadata": {"labels": {"x": "y"}}})
    now = int((await fake.request("GET", PATH))["metadata"]["resourceVersion"])
    fake.faults = [Fault(verb="list", action=Stale(writes=2))]
    answer = await fake.request("GET", PATH)
    assert [item["metadata"]["name"] for item in answer["items"]] == ["a", "b"]
    assert "labels" not in answer["items"][1]["metadata"]
    assert int(answer["metadata"]["resourceVersion"]) == now - 2


# Memory and time


async def test_is_the_past_forgotten_by_compaction() -> None:
    fake = fresh()
    for name in ("a", "b", "c"):
        fake.add(job(name))
    pages = list_pages(fake, PATH, limit=2)
    version = (await anext(pages)).resource_version
    fake.add(job("d"))
    fake.compact()
    with pytest.raises(kube.Gone):
        await anext(pages)
    (event,) = [event async for event in fake.watch(PATH, query={"resourceVersion": version})]
    assert type(kube.error_from_status(event["object"])) is kube.Gone


async def test_does_restoring_a_backup_take_versions_back() -> None:
    fake = fresh()
    fake.add(job("a", suspend=True))
    backup, version = fake.backup(), fake.store.version
    fake.add(job("b"))
    stream = fake.watch(PATH, query={})
    await anext(stream)
    fake.restore(backup)
    assert (names(fake), fake.store.version) == (["a"], version)
    with pytest.raises(kube.Unreachable):
        [event async for event in stream]


async def test_does_a_watch_from_the_future_stay_silent_until_then() -> None:
    fake = fresh()
    future = str(fake.store.version + 3)
    task = asyncio.create_task(events(fake, 300, resourceVersion=future, allowWatchBookmarks="true"))
    await asyncio.sleep(100)
    for name in ("a", "b", "c", "d"):
        fake.add(job(name, suspend=True))
    assert (await task)[:1] == [("ADDED", "d")]


async def test_do_bookmarks_come_each_minute_to_those_who_want_them() -> None:
    fake = fresh()
    wanted, unwanted = await asyncio.gather(
        events(fake, 200, allowWatchBookmarks="true"),
        events(fake, 200),
    )
    assert wanted == [("BOOKMARK", "")] * 3
    assert unwanted == []


async def test_does_a_watch_end_when_its_time_is_up() -> None:
    fake = fresh()
    began = asyncio.get_running_loop().time()
    assert [event async for event in fake.watch(PATH, query={"timeoutSeconds": "45"})] == []
    assert asyncio.get_running_loop().time() - began == pytest.approx(45)


async def test_are_requests_counted_by_verb_and_resource() -> None:
    fake = fresh()
    fake.add(cron_schedule("a"))
    await fake.request("POST", PATH, body=job("a"))
    await fake.request("GET", PATH)
    path = CRONSCHEDULES.path(namespace="default", name="a", subresource="status")
    await fake.request(
        "PATCH", path, body={"status": {"activeRuns": 1}}, content_type="application/merge-patch+json"
    )
    await events(fake, 1)
    assert dict(fake.calls) == {
        ("create", "jobs"): 1,
        ("list", "jobs"): 1,
        ("patch", "cronschedules/status"): 1,
        ("watch", "jobs"): 1,
    }


async def test_can_nobody_change_what_is_stored_but_by_writing() -> None:
    fake = fresh()
    sent = job("a", labels={"x": "y"})
    answer = await fake.request("POST", PATH, body=sent)
    for told in (sent, answer, fake.find("jobs", "default", "a"), fake.objects("jobs")[0]):
        assert told is not None
        told["metadata"]["labels"]["x"] = "z"
    stored = fake.find("jobs", "default", "a")
    assert stored is not None
    assert stored["metadata"]["labels"] == {"x": "y"}


async def test_does_the_clock_follow_the_loop_and_its_steps() -> None:
    clock = LoopClock(EPOCH)
    await asyncio.sleep(90)
    assert clock.now() == EPOCH + 90
    assert clock.monotonic() == pytest.approx(asyncio.get_running_loop().time())
    before = clock.monotonic()
    clock.step(-3600)
    assert (clock.now(), clock.monotonic()) == (EPOCH + 90 - 3600, before)


# What else acts in a cluster


async def test_does_a_job_run_and_succeed_by_itself() -> None:
    fake = fresh(job_seconds=90)
    fake.add(job("a"))
    await asyncio.sleep(1)
    assert fake.objects("jobs")[0]["status"]["active"] == 1
    await asyncio.sleep(90)
    status = fake.objects("jobs")[0]["status"]
    assert [row["type"] for row in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]
    assert (status["startTime"], status["completionTime"]) == ("2026-02-25T06:13:20Z", "2026-02-25T06:14:50Z")
    assert "active" not in status


async def test_can_a_test_end_a_job_as_it_likes() -> None:
    fake = fresh()
    fake.add(job("a"))
    await asyncio.sleep(1)
    fake.finish("default", "a", succeeded=False)
    status = fake.objects("jobs")[0]["status"]
    assert [row["type"] for row in status["conditions"]] == ["FailureTarget", "Failed"]
    assert status["failed"] == 1


async def test_does_a_run_take_as_many_events_as_on_a_cluster() -> None:
    fake = fresh(job_seconds=10)
    fake.add(job("a"))
    told = await events(fake, 60, resourceVersion="100")
    assert told == [("ADDED", "a"), ("MODIFIED", "a"), ("MODIFIED", "a"), ("MODIFIED", "a")]


async def test_does_a_suspended_job_wait() -> None:
    fake = fresh(job_seconds=1)
    fake.add(job("a", suspend=True))
    await asyncio.sleep(100)
    assert "status" not in fake.objects("jobs")[0]


async def test_is_a_job_made_anew_not_ended_for_its_predecessor() -> None:
    fake = fresh(job_seconds=10)
    fake.add(job("a"))
    await asyncio.sleep(5)
    fake.remove("jobs", "default", "a")
    fake.add(job("a"))
    await asyncio.sleep(6)
    assert "conditions" not in fake.objects("jobs")[0]["status"]
    await asyncio.sleep(5)
    assert "conditions" in fake.objects("jobs")[0]["status"]


async def test_do_jobs_go_with_their_owner_a_little_later() -> None:
    fake = fresh(gc_seconds=5)
    owner = fake.add(cron_schedule("a"))
    fake.add(job("owned", owner=owner))
    fake.add(job("free"))
    fake.remove("cronschedules", "default", "a")
    await asyncio.sleep(4)
    assert names(fake) == ["free", "owned"]
    await asyncio.sleep(2)
    assert names(fake) == ["free"]


async def test_does_a_namespace_take_its_contents_along() -> None:
    fake = fresh(gc_seconds=5)
    fake.add(namespace("team"))
    fake.add(cron_schedule("a", namespace="team"))
    fake.add(job("b"))
    await fake.request("DELETE", NAMESPACES.path(name="team"))
    with pytest.raises(kube.NamespaceTerminating):
        await fake.request("POST", JOBS.path(namespace="team"), body=job("late", namespace="team"))
    await asyncio.sleep(6)
    assert names(fake, "namespaces") == ["default"]
    assert (names(fake, "cronschedules"), names(fake)) == ([], ["b"])


async def test_does_a_quota_count_jobs_of_its_namespace() -> None:
    fake = fresh()
    fake.add(namespace("other"))
    fake.add(job("elsewhere", namespace="other"))
    fake.add(quota("small", jobs=1))
    await fake.request("POST", PATH, body=job("a"))
    with pytest.raises(kube.QuotaExceeded):
        await fake.request("POST", PATH, body=job("b"))
    fake.remove("jobs", "default", "a")
    await fake.request("POST", PATH, body=job("b"))


async def test_does_the_crd_prune_and_default_what_is_written() -> None:
    fake = fresh()
    made = await fake.request(
        "POST", CRONSCHEDULES.path(namespace="default"), body=cron_schedule("a", typo=1)
    )
    assert "typo" not in made["spec"]
    assert made["spec"]["timeZone"] == "Etc/UTC"
    assert made["status"] == {"observedGeneration": -1}
    assert made["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["name"] == "main"


@pytest.mark.parametrize("text", ["a=b=c", "a in b", "=b", "a,,=", "a b"])
async def test_is_a_selector_that_makes_no_sense_refused(text: str) -> None:
    with pytest.raises(ValueError, match="unable to parse"):
        label_selector(text)
    with pytest.raises(kube.BadRequest):
        await fresh().request("GET", PATH, query={"labelSelector": text})


async def test_is_what_the_fake_cannot_do_told() -> None:
    fake = fresh()
    with pytest.raises(NotImplementedError):
        await fake.request("POST", PATH, body=job("a"), query={"dryRun": "All"})
    fake.add(job("a"))
    path = JOBS.path(namespace="default", name="a")
    with pytest.raises(NotImplementedError):
        await fake.request("DELETE", path, body={"propagationPolicy": "Foreground"})
