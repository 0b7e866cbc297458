"""Does the mirror catch up, whatever the server does? In the loop's fake time, against the in-memory server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from random import Random
from typing import Any

import pytest

from cronschedule.runtime.kube_verbs import JOBS
from cronschedule.runtime.reflector import MAX_WAIT, SILENCE, Reflector
from fakes.clock import LoopClock
from fakes.faults import Action, Answer, Delay, Fault, Hang, Reset, Stale, Stream
from fakes.kube import FakeKube
from fakes.objects import job, namespace

pytestmark = [pytest.mark.looptime]

Kept = tuple[str, str, str, str]  # uid, name, resourceVersion, label x

FOREVER = float("inf")


def slim(told: dict[str, Any]) -> Kept:
    meta = told["metadata"]
    return meta["uid"], meta["name"], meta["resourceVersion"], meta.get("labels", {}).get("x", "")


class Mirror:
    """A reflector, and the state that its callbacks told of."""

    def __init__(self, fake: FakeKube, **options: Any) -> None:
        self.fake = fake
        self.told: dict[str, Kept] = {}
        self.log: list[tuple[str, str]] = []
        self.reflector = Reflector(
            fake,
            JOBS.path(),
            **{
                "slim": slim,
                "on_change": self._changed,
                "on_delete": self._deleted,
                "on_synced": lambda: self.log.append(("synced", "")),
                "clock": fake.clock,
                "random": Random(1),
                **options,
            },
        )

    def _changed(self, kept: Kept) -> None:
        self.log.append(("changed", kept[1]))
        self.told[kept[1]] = kept

    def _deleted(self, kept: Kept) -> None:
        self.log.append(("deleted", kept[1]))
        if self.told[kept[1]][0] == kept[0]:
            del self.told[kept[1]]

    def world(self) -> list[Kept]:
        return sorted(slim(told) for told in self.fake.objects("jobs"))

    def assert_caught_up(self) -> None:
        assert sorted(self.reflector.objects()) == self.world()
        assert sorted(self.told.values()) == self.world()


def three_jobs() -> FakeKube:
    fake = FakeKube(clock=LoopClock(1_772_000_000), latency=0.01)
    for name in ("a", "b", "c"):
        fake.add(job(name))
    return fake


@contextlib.asynccontextmanager
async def running(mirror: Mirror) -> AsyncIterator[None]:
    task = asyncio.create_task(mirror.reflector.run())
    try:
        yield
        assert not task.done(), "the reflector must never end by itself"
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@contextlib.asynccontextmanager
async def watching() -> AsyncIterator[Mirror]:
    """A mirror of three Jobs that is synced and watches. No fixture: their time is the real one."""
    mirror = Mirror(three_jobs())
    async with running(mirror):
        await mirror.reflector.synced.wait()
        await asyncio.sleep(1)
        mirror.log.clear()
        yield mirror


def change_the_world(fake: FakeKube) -> None:
    """One Job more, one fewer, one made anew under its name, one changed."""
    fake.add(job("new"))
    fake.remove("jobs", "default", "a")
    fake.remove("jobs", "default", "b")
    fake.add(job("b"))
    fake.edit("jobs", "default", "c", {"metadata": {"labels": {"x": "y"}}})


# The good days


async def test_does_a_cold_start_mirror_what_is_there() -> None:
    fake = three_jobs()
    mirror = Mirror(fake)
    assert not mirror.reflector.synced.is_set()
    async with running(mirror):
        await mirror.reflector.synced.wait()
        mirror.assert_caught_up()
        assert mirror.log == [("changed", "a"), ("changed", "b"), ("changed", "c"), ("synced", "")]


async def test_is_a_change_told_at_once_and_once() -> None:
    async with watching() as mirror:
        mirror.fake.add(job("new", suspend=True))
        mirror.fake.remove("jobs", "default", "a")
        await asyncio.sleep(0.1)
        assert mirror.log == [("changed", "new"), ("deleted", "a")]
        mirror.assert_caught_up()


async def test_is_an_idle_day_one_list_and_a_few_streams() -> None:
    async with watching() as mirror:
        await asyncio.sleep(86_400)
        mirror.fake.add(job("new"))
        await asyncio.sleep(1)
        mirror.assert_caught_up()
        assert mirror.fake.calls["list", "jobs"] == 1
        assert mirror.fake.calls["watch", "jobs"] <= 86_400 / 300 + 1


async def test_do_bookmarks_keep_an_idle_watch_from_growing_old() -> None:
    async with watching() as mirror:
        mirror.fake.add(namespace("elsewhere"))
        await asyncio.sleep(70)
        mirror.fake.compact()
        mirror.fake.break_streams()
        await asyncio.sleep(10)
        change_the_world(mirror.fake)
        await asyncio.sleep(1)
        mirror.assert_caught_up()
        assert mirror.fake.calls["list", "jobs"] == 1


async def test_does_the_mirror_tell_when_it_last_heard() -> None:
    async with watching() as mirror:
        await asyncio.sleep(200)
        assert mirror.fake.clock.monotonic() - mirror.reflector.last_heard < 61


async def test_does_the_mirror_keep_to_its_label() -> None:
    fake = three_jobs()
    mirror = Mirror(fake, label_selector="ours=yes")
    async with running(mirror):
        await mirror.reflector.synced.wait()
        assert len(mirror.reflector) == 0
        await asyncio.sleep(1)
        fake.edit("jobs", "default", "a", {"metadata": {"labels": {"ours": "yes"}}})
        fake.edit("jobs", "default", "b", {"metadata": {"labels": {"ours": "no"}}})
        await asyncio.sleep(1)
        assert list(mirror.told) == ["a"]
        fake.edit("jobs", "default", "a", {"metadata": {"labels": None}})
        await asyncio.sleep(1)
        assert mirror.told == {}


async def test_is_a_long_list_read_in_pages() -> None:
    fake = three_jobs()
    for number in range(1200):
        fake.add(job(f"many-{number}", suspend=True))
    mirror = Mirror(fake)
    async with running(mirror):
        await mirror.reflector.synced.wait()
        mirror.assert_caught_up()
    assert fake.calls["list", "jobs"] == 3


# The bad days. Each fault begins while the mirror watches; the world changes; nobody comes to help.

EXPIRED = Answer(code=410, reason="Expired", message="too old resource version")
UNAVAILABLE = Answer(code=503, reason="ServiceUnavailable")
PATIENCE = Answer(code=429, reason="TooManyRequests", retry_after=5)
FORBIDDEN = Answer(code=403, reason="Forbidden", message='jobs.batch is forbidden: User "x" cannot watch')

FAULTS: dict[str, list[dict[str, Any]]] = {
    "the stream is reset": [],
    "the next watch is refused with 410": [{"verb": "watch", "action": EXPIRED}],
    "every other watch is refused with 410": [
        {"verb": "watch", "nth": nth, "action": EXPIRED} for nth in (1, 3, 5)
    ],
    "410 comes within the stream": [{"verb": "watch", "action": Stream(after=1, then=EXPIRED)}],
    "500 comes within the stream": [
        {"verb": "watch", "action": Stream(after=1, then=Answer(code=500, reason="InternalError"))}
    ],
    "429 comes within the stream": [{"verb": "watch", "action": Stream(after=2, then=PATIENCE)}],
    "watches are refused with 503 for a while": [{"verb": "watch", "times": 4, "action": UNAVAILABLE}],
    "watches are refused with 429": [{"verb": "watch", "times": 3, "action": PATIENCE}],
    "RBAC is missing for a while": [{"verb": "watch", "times": 3, "action": FORBIDDEN}],
    "the API is gone for a while": [{"times": 6, "action": Answer(code=404, reason="NotFound")}],
    "credentials are refused for a while": [{"times": 3, "action": Answer(code=401, reason="Unauthorized")}],
    "connections are reset for a while": [{"times": 5, "action": Reset()}],
    "every stream is cut after an event": [
        {"verb": "watch", "times": 6, "action": Stream(after=1, then="reset")}
    ],
    "every stream is cut within an event": [
        {"verb": "watch", "times": 6, "action": Stream(after=1, then="truncate")}
    ],
    "every stream ends after an event": [
        {"verb": "watch", "times": 6, "action": Stream(after=1, then="end")}
    ],
    "streams end before they tell anything": [{"verb": "watch", "times": 6, "action": Stream(then="end")}],
    "the stream goes silent": [{"verb": "watch", "action": Stream(after=1, then="silence")}],
    "the stream is silent from the first": [{"verb": "watch", "action": Stream(then="silence")}],
    "the watch is never answered": [{"verb": "watch", "action": Hang()}],
    "everything is slow": [{"times": FOREVER, "action": Delay(8)}],
    "410 and then a list is refused": [
        {"verb": "watch", "action": EXPIRED},
        {"verb": "list", "times": 2, "action": UNAVAILABLE},
    ],
    "410 and then a list is never answered": [
        {"verb": "watch", "action": EXPIRED},
        {"verb": "list", "action": Hang()},
    ],
    "410 and then a list is stale": [
        {"verb": "watch", "action": EXPIRED},
        {"verb": "list", "action": Stale(writes=7)},
    ],
}


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
async def test_does_the_mirror_catch_up_when(faults: list[dict[str, Any]]) -> None:
    async with watching() as mirror:
        mirror.fake.faults += [Fault(resource="jobs", **fault) for fault in faults]
        mirror.fake.break_streams()
        await asyncio.sleep(0)
        change_the_world(mirror.fake)
        await asyncio.sleep(200)
        mirror.assert_caught_up()
        assert not [fault for fault in mirror.fake.faults if not fault.seen], "each fault was met"
        mirror.fake.add(job("later"))
        await asyncio.sleep(10)
        mirror.assert_caught_up()


@pytest.mark.parametrize(
    "action",
    [UNAVAILABLE, PATIENCE, FORBIDDEN, Reset(), Hang(), EXPIRED],
    ids=["503", "429", "403", "resets", "no answer", "410"],
)
async def test_does_the_mirror_outlast_an_outage_of_hours(action: Action) -> None:
    async with watching() as mirror:
        mirror.fake.faults = [Fault(action=action, times=FOREVER)]
        mirror.fake.break_streams()
        await asyncio.sleep(1)
        change_the_world(mirror.fake)
        before = mirror.fake.calls.total()
        await asyncio.sleep(7_200)
        knocks = mirror.fake.calls.total() - before
        assert 7_200 / (MAX_WAIT + SILENCE) <= knocks <= 7_200 / (MAX_WAIT / 2) + 10, (
            "about one in half a minute"
        )
        mirror.fake.faults.clear()
        await asyncio.sleep(SILENCE + 2 * MAX_WAIT)
        mirror.assert_caught_up()


async def test_does_the_mirror_catch_up_when_the_server_has_forgotten() -> None:
    async with watching() as mirror:
        mirror.fake.faults = [Fault(verb="watch", times=3, action=UNAVAILABLE)]
        mirror.fake.break_streams()
        await asyncio.sleep(1)
        change_the_world(mirror.fake)
        mirror.fake.compact()
        await asyncio.sleep(60)
        mirror.assert_caught_up()
        assert mirror.reflector.counts["Gone"] == 1


async def test_is_an_outage_that_is_over_forgotten() -> None:
    async with watching() as mirror:
        mirror.fake.faults = [Fault(action=UNAVAILABLE, times=20)]
        mirror.fake.break_streams()
        await asyncio.sleep(3600)
        mirror.fake.break_streams()
        change_the_world(mirror.fake)
        await asyncio.sleep(1.1)
        mirror.assert_caught_up()


async def test_is_an_outage_that_was_followed_by_a_quiet_while_forgotten() -> None:
    async with watching() as mirror:
        mirror.fake.faults = [Fault(verb="watch", action=UNAVAILABLE, times=6)]
        mirror.fake.break_streams()
        await asyncio.sleep(110)
        assert mirror.reflector.counts["ServerError"] == 6
        assert mirror.reflector.counts["BOOKMARK"] == 0
        mirror.fake.break_streams()
        change_the_world(mirror.fake)
        await asyncio.sleep(1.1)
        mirror.assert_caught_up()


async def test_does_a_stream_that_ends_as_asked_leave_no_gap() -> None:
    async with watching() as mirror:
        mirror.fake.faults = [Fault(verb="watch", action=Stream(after=1, then="end"))]
        mirror.fake.break_streams()
        await asyncio.sleep(10)
        mirror.fake.add(job("last of the stream", suspend=True))
        mirror.fake.add(job("first of the next", suspend=True))
        await asyncio.sleep(0.1)
        mirror.assert_caught_up()


async def test_is_what_a_list_lacks_told_as_deleted_before_its_name_is_told_anew() -> None:
    async with watching() as mirror:
        mirror.fake.faults = [Fault(verb="watch", action=EXPIRED)]
        mirror.fake.break_streams()
        change_the_world(mirror.fake)
        await asyncio.sleep(5)
        assert mirror.log.index(("deleted", "b")) < mirror.log.index(("changed", "b"))
        assert ("deleted", "a") in mirror.log
        assert mirror.reflector.counts["TOMBSTONE"] == 2


async def test_is_what_did_not_change_left_out_of_a_relist() -> None:
    async with watching() as mirror:
        mirror.fake.faults = [Fault(verb="watch", action=EXPIRED)]
        mirror.fake.break_streams()
        await asyncio.sleep(5)
        assert mirror.log == [("synced", "")]


async def test_is_a_list_that_expires_half_way_begun_anew() -> None:
    fake = three_jobs()
    for number in range(600):
        fake.add(job(f"many-{number}", suspend=True))
    fake.faults = [Fault(verb="list", nth=2, action=EXPIRED)]
    mirror = Mirror(fake)
    async with running(mirror):
        await mirror.reflector.synced.wait()
        mirror.assert_caught_up()
    assert mirror.log.count(("changed", "many-1")) == 1


async def test_is_one_stale_list_not_believed() -> None:
    async with watching() as mirror:
        mirror.fake.add(job("new"))
        await asyncio.sleep(1)
        mirror.fake.faults = [
            Fault(verb="watch", action=EXPIRED),
            Fault(verb="list", action=Stale(writes=2)),
        ]
        mirror.fake.break_streams()
        await asyncio.sleep(10)
        assert ("deleted", "new") not in mirror.log
        mirror.assert_caught_up()


async def test_does_the_mirror_follow_an_etcd_restored_to_the_past() -> None:
    async with watching() as mirror:
        backup = mirror.fake.backup()
        change_the_world(mirror.fake)
        await asyncio.sleep(10)
        mirror.fake.restore(backup)
        mirror.fake.edit("jobs", "default", "a", {"metadata": {"labels": {"after": "restore"}}})
        await asyncio.sleep(SILENCE + 10)
        mirror.assert_caught_up()
        mirror.fake.add(job("later"))
        await asyncio.sleep(1)
        mirror.assert_caught_up()


async def test_is_a_version_that_etcd_has_given_away_twice_told_again() -> None:
    async with watching() as mirror:
        backup = mirror.fake.backup()
        mirror.fake.edit("jobs", "default", "a", {"metadata": {"labels": {"x": "first"}}})
        version = mirror.fake.store.version
        mirror.fake.add(job("lost"))
        await asyncio.sleep(10)
        mirror.fake.restore(backup)
        mirror.fake.edit("jobs", "default", "a", {"metadata": {"labels": {"x": "second"}}})
        assert mirror.fake.store.version == version
        await asyncio.sleep(SILENCE + 10)
        mirror.assert_caught_up()


async def test_is_an_event_from_the_past_a_reason_to_list() -> None:
    async with watching() as mirror:
        backup = mirror.fake.backup()
        change_the_world(mirror.fake)
        await asyncio.sleep(10)
        # The server is restored under an open stream, as it is behind a proxy that keeps the connection.
        mirror.fake.store.version, mirror.fake.store.objects = backup.version, dict(backup.objects)
        mirror.fake.compact()
        for watcher in mirror.fake.store.watchers:
            watcher.after = 0
        mirror.fake.add(job("other"))
        await asyncio.sleep(10)
        mirror.assert_caught_up()


async def test_is_a_server_that_asks_for_patience_given_it() -> None:
    async with watching() as mirror:
        mirror.fake.faults = [Fault(action=Answer(code=429, retry_after=20))]
        mirror.fake.break_streams()
        await asyncio.sleep(19)
        before = mirror.fake.calls.total()
        await asyncio.sleep(5)
        assert (before, mirror.fake.calls.total()) == (before, before + 1)


async def test_is_patience_asked_for_within_the_stream_given_too() -> None:
    async with watching() as mirror:
        answer = Answer(code=429, details={"retryAfterSeconds": 20})
        mirror.fake.faults = [Fault(verb="watch", action=Stream(then=answer))]
        mirror.fake.break_streams()
        await asyncio.sleep(19)
        before = mirror.fake.calls.total()
        await asyncio.sleep(5)
        assert (before, mirror.fake.calls.total()) == (before, before + 1)
        assert mirror.reflector.counts["TooManyRequests"] == 1


class Odd(FakeKube):
    """A server whose watch tells everything twice, and of a Job `poison` only nonsense."""

    async def watch(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[dict[str, Any], None]:
        async with contextlib.aclosing(super().watch(path, query=query)) as events:
            async for event in events:
                if event["object"]["metadata"].get("name") == "poison":
                    del event["object"]["metadata"]["resourceVersion"]
                yield event
                yield event


async def test_is_what_the_server_tells_twice_told_once() -> None:
    mirror = Mirror(Odd(clock=LoopClock(1_772_000_000)))
    async with running(mirror):
        await asyncio.sleep(1)
        mirror.fake.add(job("a", suspend=True))
        mirror.fake.remove("jobs", "default", "a")
        mirror.fake.add(job("b", suspend=True))
        await asyncio.sleep(1)
        assert mirror.log == [("synced", ""), ("changed", "a"), ("deleted", "a"), ("changed", "b")]


async def test_does_an_event_that_makes_no_sense_block_nothing() -> None:
    mirror = Mirror(Odd(clock=LoopClock(1_772_000_000)))
    async with running(mirror):
        await asyncio.sleep(1)
        mirror.fake.add(job("poison", suspend=True))
        mirror.fake.add(job("b", suspend=True))
        await asyncio.sleep(10)
        mirror.assert_caught_up()


# Mistakes of our own


async def test_does_a_callback_that_fails_stop_nothing() -> None:
    fake = three_jobs()

    def fail(*_: Any) -> None:
        raise ZeroDivisionError

    mirror = Mirror(fake, on_change=fail, on_delete=fail, on_synced=fail)
    async with running(mirror):
        await mirror.reflector.synced.wait()
        fake.remove("jobs", "default", "a")
        await asyncio.sleep(10)
        assert sorted(mirror.reflector.objects()) == mirror.world()
        assert mirror.reflector.counts["CALLBACK_FAILED"] >= 5


async def test_does_an_object_that_makes_no_sense_hide_no_other() -> None:
    fake = three_jobs()

    def picky(told: dict[str, Any]) -> Kept:
        if told["metadata"]["name"] == "b":
            raise ValueError("b?")
        return slim(told)

    mirror = Mirror(fake, slim=picky)
    async with running(mirror):
        await mirror.reflector.synced.wait()
        fake.add(job("new"))
        await asyncio.sleep(1)
        assert set(mirror.told) == {"a", "c", "new"}
        assert mirror.reflector.counts["UNREADABLE"] >= 1


async def test_does_an_answer_that_makes_no_sense_stop_nothing() -> None:
    fake = three_jobs()

    class Confused(FakeKube):
        confused = 3

        async def request(self, method: str, path: str, **options: Any) -> Any:
            answer = await super().request(method, path, **options)
            if self.confused:
                self.confused -= 1
                answer["metadata"]["resourceVersion"] = "latest"
            return answer

    confused = Confused(clock=fake.clock)
    confused.add(job("a"))
    mirror = Mirror(confused)
    async with running(mirror):
        await mirror.reflector.synced.wait()
        mirror.assert_caught_up()
        assert mirror.reflector.counts["ValueError"] == 3
