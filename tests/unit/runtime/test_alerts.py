"""The alert webhook against real receivers that behave and misbehave: what arrives, how often, and what is dropped."""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import json
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, MutableMapping
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
import structlog
import trustme

from cronschedule.api.alerts import Alert, truncation
from cronschedule.runtime import alerts as module
from cronschedule.runtime.alerts import LONGEST_QUEUE, LONGEST_WAIT, MOST_READ, QUIET, TRIES, Alerts
from cronschedule.runtime.settings import Webhook
from fakes.clock import LoopClock
from fakes.receiver import Answer, Close, Drip, Hang, receiving

NOON = 1_800_014_400
FAKE_TIME = pytest.mark.looptime(noop_cycles=0)


@pytest.fixture(autouse=True)
def lines() -> Iterator[list[MutableMapping[str, Any]]]:
    """What is logged."""
    with structlog.testing.capture_logs() as told:
        yield told


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Nothing is waited for; the waits between tries, in seconds."""
    waits: list[float] = []

    def wait(attempt: int, **options: Any) -> float:
        waits.append(backoff(attempt, **options))
        return 0.0

    backoff = module.backoff
    monkeypatch.setattr(module, "backoff", wait)
    monkeypatch.setattr(module, "LINGER", 0.0)
    return waits


@pytest.fixture
def tried_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each try takes its time-out, a second at least."""
    monkeypatch.setattr(module, "TRIES", 2)


def alert(name: str = "billing", *, first: int = NOON, last: int = NOON + 3600, slots: int = 2) -> Alert:
    return truncation(
        namespace="team-a",
        schedule=name,
        uid=f"uid-of-{name}",
        first=first,
        last=last,
        slots=slots,
        decided_at=NOON + 7200,
    )


@contextlib.asynccontextmanager
async def alerting(
    url: str, *, transport: httpx.AsyncBaseTransport | None = None, **settings: Any
) -> AsyncIterator[Alerts]:
    alerts = Alerts(Webhook(url=url, **settings), clock=LoopClock(NOON), random=Random(1))
    alerts.transport = transport
    task = asyncio.create_task(alerts.run())
    yield alerts
    assert not task.done(), "the task must live as long as the operator"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def settled(alerts: Alerts, *, alerts_told: int) -> None:
    """Until so many alerts have been sent or dropped."""
    async with asyncio.timeout(30):
        while alerts.counts["alert.sent"] + alerts.counts["alert.dropped"] < alerts_told:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def dropped(lines: list[MutableMapping[str, Any]]) -> list[str]:
    """Why alerts were dropped."""
    return [line["failure"] for line in lines if line["event"] == "alert.dropped"]


# What arrives


async def test_an_alert_arrives_as_documented(at_once: list[float], tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret-1\n")
    async with receiving() as receiver, alerting(receiver.url, token_file=str(token)) as alerts:
        alerts.tell(alert())
        await settled(alerts, alerts_told=1)
        token.write_text("secret-2")
        alerts.tell(alert("other"))
        await settled(alerts, alerts_told=2)
    post, second = receiver.posts
    assert post.line == "POST /cronschedule HTTP/1.1"
    assert post.headers["content-type"] == "application/json"
    assert post.headers["user-agent"] == "cronschedule-operator"
    assert post.headers["authorization"] == "Bearer secret-1"
    assert second.headers["authorization"] == "Bearer secret-2"  # the file is read again
    assert len(post.headers["idempotency-key"]) == 32
    (item,) = post.body.pop("items")
    assert post.body == {"apiVersion": "alerts.cronschedule.dev/v1", "kind": "AlertList"}
    assert len(item.pop("id")) == 32
    assert item == {
        "reason": "CatchUpCapExceeded",
        "namespace": "team-a",
        "schedule": "billing",
        "uid": "uid-of-billing",
        "firstSlot": "2027-01-15T12:00:00Z",
        "lastSlot": "2027-01-15T13:00:00Z",
        "slots": 2,
        "decidedAt": "2027-01-15T14:00:00Z",
        "message": "team-a/billing: 2 slots from 2027-01-15T12:00:00Z to 2027-01-15T13:00:00Z were dropped by the caps"
        " of catchUp.",
        "command": "kubectl cronschedule backfill billing --namespace team-a --from 2027-01-15T12:00:00Z"
        " --to 2027-01-15T13:00:00Z",
    }


async def test_many_at_once_go_in_one_post(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINGER", 0.05)
    async with receiving() as receiver, alerting(receiver.url) as alerts:
        for number in range(250):
            alerts.tell(alert(f"x{number}"))
        await settled(alerts, alerts_told=250)
    assert [len(post.body["items"]) for post in receiver.posts] == [100, 100, 50]
    assert len({post.headers["idempotency-key"] for post in receiver.posts}) == 3
    assert len({item["id"] for post in receiver.posts for item in post.body["items"]}) == 250


async def test_what_one_schedule_loses_at_a_time_is_one_alert(at_once: list[float]) -> None:
    async with receiving() as receiver, alerting(receiver.url) as alerts:
        alerts.tell(alert(first=NOON, last=NOON + 60, slots=2))
        alerts.tell(alert(first=NOON + 120, last=NOON + 300, slots=3))
        await settled(alerts, alerts_told=1)
    (item,) = receiver.posts[0].body["items"]
    assert (item["slots"], item["firstSlot"], item["lastSlot"]) == (
        5,
        "2027-01-15T12:00:00Z",
        "2027-01-15T12:05:00Z",
    )


async def test_without_a_webhook_nothing_is_kept_or_sent() -> None:
    alerts = Alerts(None, clock=LoopClock(NOON), random=Random(1))
    alerts.tell(alert())
    assert len(alerts) == 0
    await alerts.run()
    await alerts.drain()


# Receivers that misbehave


@pytest.mark.parametrize("status", [500, 502, 503, 504, 408, 429])
async def test_a_receiver_that_recovers_gets_the_same_post_again(at_once: list[float], status: int) -> None:
    async with (
        receiving(Answer(status=status), Close(), Answer(status=202)) as receiver,
        alerting(receiver.url) as alerts,
    ):
        alerts.tell(alert())
        await settled(alerts, alerts_told=1)
        assert dict(alerts.counts) == {"alert.retried": 2, "alert.sent": 1}
    assert len(receiver.posts) == 3
    assert len({json.dumps(post.body) for post in receiver.posts}) == 1
    assert len({post.headers["idempotency-key"] for post in receiver.posts}) == 1


async def test_a_receiver_that_stays_broken_is_given_up(
    at_once: list[float], lines: list[MutableMapping[str, Any]]
) -> None:
    async with (
        receiving(Answer(status=500, body=b"out of disk")) as receiver,
        alerting(receiver.url) as alerts,
    ):
        alerts.tell(alert())
        await settled(alerts, alerts_told=1)
        assert dict(alerts.counts) == {"alert.retried": TRIES - 1, "alert.dropped": 1}
    assert len(receiver.posts) == TRIES
    assert dropped(lines) == ["500: out of disk"]
    assert at_once == sorted(at_once)
    assert at_once[-1] > 4 * at_once[0]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 413])
async def test_a_refusal_that_will_not_heal_is_not_tried_again(
    at_once: list[float], lines: list[MutableMapping[str, Any]], status: int
) -> None:
    async with (
        receiving(Answer(status=status, body=b"no\x1b[31m")) as receiver,
        alerting(receiver.url) as alerts,
    ):
        alerts.tell(alert())
        await settled(alerts, alerts_told=1)
    assert len(receiver.posts) == 1
    assert dropped(lines) == [f"{status}: no\x1b[31m"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(
    at_once: list[float], lines: list[MutableMapping[str, Any]], status: int, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    async with receiving() as elsewhere:
        away = Answer(status=status, headers=(("Location", elsewhere.url),))
        async with receiving(away) as receiver, alerting(receiver.url, token_file=str(token)) as alerts:
            alerts.tell(alert())
            await settled(alerts, alerts_told=1)
    assert elsewhere.posts == []
    assert dropped(lines) == [f"{status}: redirects are not followed"]


async def test_nobody_listens(at_once: list[float], lines: list[MutableMapping[str, Any]]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        async with alerting(f"http://127.0.0.1:{taken.getsockname()[1]}/") as alerts:
            alerts.tell(alert())
            await settled(alerts, alerts_told=1)
            assert alerts.counts["alert.retried"] == TRIES - 1
    assert dropped(lines)[0].startswith("ConnectError: ")


async def test_a_name_that_no_one_knows(at_once: list[float], lines: list[MutableMapping[str, Any]]) -> None:
    async with alerting("http://receiver.invalid/") as alerts:
        alerts.tell(alert())
        await settled(alerts, alerts_told=1)
    assert dropped(lines)[0].startswith("ConnectError: ")


@pytest.mark.usefixtures("tried_twice")
@pytest.mark.parametrize("act", [Hang(), Drip()], ids=["hangs", "drips"])
async def test_the_time_out_is_for_the_whole_exchange(
    at_once: list[float], lines: list[MutableMapping[str, Any]], act: Hang | Drip
) -> None:
    async with receiving(act) as receiver, alerting(receiver.url, timeout=1) as alerts:
        alerts.tell(alert())
        await settled(alerts, alerts_told=1)
    assert len(receiver.posts) == 2
    assert dropped(lines) == ["no answer within 1 s"]


@pytest.mark.parametrize("status", [200, 400])
async def test_of_an_answer_of_ten_megabytes_hardly_anything_is_read(
    at_once: list[float], lines: list[MutableMapping[str, Any]], status: int
) -> None:
    large = 10 * 1024 * 1024
    async with (
        receiving(Answer(status=status, body=b"x" * large)) as receiver,
        alerting(receiver.url) as alerts,
    ):
        alerts.tell(alert())
        await settled(alerts, alerts_told=1)
        await asyncio.sleep(0)
    assert receiver.sent < large  # the rest is what the network's buffers take
    assert alerts.counts["alert.sent"] == (status == 200)
    assert all(len(why) <= 256 < MOST_READ for why in dropped(lines))


async def test_a_packed_answer_is_not_unpacked(
    at_once: list[float], lines: list[MutableMapping[str, Any]]
) -> None:
    async with (
        receiving(
            Answer(status=400, headers=(("Content-Encoding", "gzip"),), body=b"not gzip at all")
        ) as receiver,
        alerting(receiver.url) as alerts,
    ):
        alerts.tell(alert())
        await settled(alerts, alerts_told=1)
    assert dropped(lines) == ["400: not gzip at all"]


async def test_proxies_of_the_environment_do_not_see_it(
    at_once: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with receiving() as proxy, receiving() as receiver:
        for name in "HTTP_PROXY", "http_proxy", "ALL_PROXY":
            monkeypatch.setenv(name, proxy.url)
        async with alerting(receiver.url) as alerts:
            alerts.tell(alert())
            await settled(alerts, alerts_told=1)
    assert (len(receiver.posts), len(proxy.posts)) == (1, 0)


# TLS


class Authority:
    """A certificate authority, and the certificate it gave to a name."""

    def __init__(self, folder: Path, name: str) -> None:
        authority = trustme.CA()
        self.ca_file = str(folder / f"ca-of-{name}.pem")
        authority.cert_pem.write_to_path(self.ca_file)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(name).configure_cert(self.tls)


async def test_a_receiver_that_the_ca_file_vouches_for_is_believed(
    at_once: list[float], tmp_path: Path
) -> None:
    authority = Authority(tmp_path, "localhost")
    async with (
        receiving(tls=authority.tls, host="localhost") as receiver,
        alerting(receiver.url, ca_file=authority.ca_file) as alerts,
    ):
        alerts.tell(alert())
        await settled(alerts, alerts_told=1)
    assert len(receiver.posts) == 1


@pytest.mark.parametrize(
    ("name", "ca", "why"),
    [
        pytest.param("localhost", "other", "certificate verify failed", id="another-authority"),
        pytest.param("localhost", None, "certificate verify failed", id="the-system-knows-none-of-it"),
        pytest.param("example.com", "own", "Hostname mismatch", id="another-name"),
    ],
)
async def test_a_receiver_that_cannot_prove_who_it_is_gets_nothing(
    at_once: list[float],
    lines: list[MutableMapping[str, Any]],
    tmp_path: Path,
    name: str,
    ca: str | None,
    why: str,
) -> None:
    own, other = Authority(tmp_path, name), Authority(tmp_path, "localhost2")
    ca_file = {"own": own.ca_file, "other": other.ca_file, None: None}[ca]
    token = tmp_path / "token"
    token.write_text("secret")
    async with (
        receiving(tls=own.tls, host="localhost") as receiver,
        alerting(receiver.url, ca_file=ca_file, token_file=str(token)) as alerts,
    ):
        alerts.tell(alert())
        await settled(alerts, alerts_told=1)
    assert receiver.posts == []
    assert why in dropped(lines)[0]


@pytest.mark.usefixtures("tried_twice")
async def test_a_receiver_without_tls_gets_nothing_over_https(
    at_once: list[float], lines: list[MutableMapping[str, Any]]
) -> None:
    async with (
        receiving() as receiver,
        alerting(receiver.url.replace("http:", "https:"), timeout=1) as alerts,
    ):
        alerts.tell(alert())
        await settled(alerts, alerts_told=1)
    assert receiver.posts == []
    assert len(dropped(lines)) == 1


@pytest.mark.parametrize("what", ["token_file", "ca_file"])
async def test_a_file_that_went_missing_is_a_failure_like_others(
    at_once: list[float], lines: list[MutableMapping[str, Any]], tmp_path: Path, what: str
) -> None:
    async with receiving() as receiver:
        url = receiver.url.replace("http:", "https:") if what == "ca_file" else receiver.url
        async with alerting(url, **{what: str(tmp_path / "gone")}) as alerts:
            alerts.tell(alert())
            await settled(alerts, alerts_told=1)
    assert receiver.posts == []
    assert dropped(lines)[0].startswith("FileNotFoundError: ")


@pytest.mark.parametrize("text", ["", "two words", "line\r\nX-Other: 1", "naïve"])
async def test_a_token_that_is_none_is_not_sent_and_not_logged(
    at_once: list[float], lines: list[MutableMapping[str, Any]], tmp_path: Path, text: str
) -> None:
    token = tmp_path / "token"
    token.write_text(text)
    async with receiving() as receiver, alerting(receiver.url, token_file=str(token)) as alerts:
        alerts.tell(alert())
        await settled(alerts, alerts_told=1)
    assert receiver.posts == []
    assert dropped(lines) == ["ValueError: the token file holds no token"]


# Time


class Script(httpx.AsyncBaseTransport):
    """Answers without a network, so that fake time can pass; notes when each POST came and what it told of."""

    def __init__(self, *answers: httpx.Response | None) -> None:
        self._answers = answers or (httpx.Response(200),)
        self.told: list[tuple[float, list[tuple[str, int]]]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        items = json.loads(await request.aread())["items"]
        now = round(asyncio.get_running_loop().time(), 1)
        self.told.append((now, [(item["schedule"], item["slots"]) for item in items]))
        answer = self._answers[min(len(self.told), len(self._answers)) - 1]
        if answer is None:
            await asyncio.Event().wait()
        assert answer is not None
        headers = [(name, text) for name, text in answer.headers.items() if name != "content-length"]
        return httpx.Response(answer.status_code, headers=headers, stream=httpx.ByteStream(b"told"))


URL = "http://127.0.0.1/"


@FAKE_TIME
async def test_alerts_that_come_within_a_second_go_together() -> None:
    script = Script()
    async with alerting(URL, transport=script) as alerts:
        for number in range(4):
            alerts.tell(alert(f"x{number}"))
            await asyncio.sleep(0.3)
        await asyncio.sleep(5)
    assert [len(told) for _, told in script.told] == [4]


@FAKE_TIME
async def test_a_schedule_that_goes_on_losing_slots_is_told_of_once_an_hour() -> None:
    script = Script()
    async with alerting(URL, transport=script) as alerts:
        for _ in range(150):
            alerts.tell(alert("stuck", slots=1))
            await asyncio.sleep(60)
        alerts.tell(alert("another", slots=7))
        await asyncio.sleep(30)
    assert [told for _, told in script.told] == [
        [("stuck", 1)],
        [("stuck", 60)],
        [("stuck", 60)],
        [("another", 7)],
    ]


@FAKE_TIME
@pytest.mark.parametrize(
    ("retry_after", "least", "most"),
    [
        pytest.param("120", 120, 121, id="seconds"),
        pytest.param(email.utils.formatdate(NOON + 200, usegmt=True), 198, 201, id="a-date"),
        pytest.param("999999999", LONGEST_WAIT, LONGEST_WAIT, id="for-ever"),
        pytest.param(email.utils.formatdate(NOON - 9999, usegmt=True), 0.5, 1, id="a-date-that-is-past"),
        pytest.param("soon", 0.5, 1, id="no-number"),
        pytest.param("-5", 0.5, 1, id="before-now"),
    ],
)
async def test_a_receiver_is_left_alone_for_as_long_as_it_asks(
    retry_after: str, least: float, most: float
) -> None:
    script = Script(httpx.Response(429, headers={"Retry-After": retry_after}), httpx.Response(200))
    async with alerting(URL, transport=script) as alerts:
        alerts.tell(alert())
        await asyncio.sleep(LONGEST_WAIT + 60)
    first, second = (moment for moment, _ in script.told)
    assert least - 0.1 <= second - first <= most + 0.1


@FAKE_TIME
async def test_a_dead_receiver_costs_no_more_memory_than_the_queue_and_is_tried_at_leisure() -> None:
    """For six hours ten schedules a minute lose slots, and no answer ever comes."""
    script = Script(None)
    async with alerting(URL, transport=script) as alerts:
        for number in range(3600):
            alerts.tell(alert(f"x{number}"))
            assert len(alerts) <= LONGEST_QUEUE
            await asyncio.sleep(6)
        assert alerts.counts["alert.sent"] == 0
        assert alerts.counts["alert.dropped"] >= 3600 - LONGEST_QUEUE - 100
    assert len(script.told) <= 6 * 3600 / 10


@FAKE_TIME
async def test_what_does_not_fit_is_dropped_counted_and_logged(lines: list[MutableMapping[str, Any]]) -> None:
    async with alerting(URL, transport=Script()) as alerts:
        for number in range(LONGEST_QUEUE + 5):
            alerts.tell(alert(f"x{number}"))
        alerts.tell(alert("x0"))  # one that waits already takes no more room
        assert (len(alerts), alerts.counts["alert.dropped"]) == (LONGEST_QUEUE, 5)
        await asyncio.sleep(60)
        assert alerts.counts["alert.sent"] == LONGEST_QUEUE
    assert dropped(lines) == ["too many alerts wait to be sent"] * 5


@FAKE_TIME
async def test_what_could_not_be_told_does_not_hold_back_what_comes_next() -> None:
    script = Script(httpx.Response(403), httpx.Response(200))
    async with alerting(URL, transport=script) as alerts:
        alerts.tell(alert(slots=3))
        await asyncio.sleep(10)
        alerts.tell(alert(slots=4))
        await asyncio.sleep(10)
        assert (alerts.counts["alert.dropped"], alerts.counts["alert.sent"]) == (1, 1)


@FAKE_TIME
async def test_an_answer_that_breaks_everything_ends_nothing(lines: list[MutableMapping[str, Any]]) -> None:
    class Broken(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            raise RuntimeError("a defect")

    async with alerting(URL, transport=Broken()) as alerts:
        alerts.tell(alert())
        await asyncio.sleep(10)
        assert dropped(lines) == ["RuntimeError"]
        alerts.transport = Script()
        alerts.tell(alert())
        await asyncio.sleep(10)
        assert alerts.counts["alert.sent"] == 1


# The end


@FAKE_TIME
async def test_what_is_held_back_is_told_before_the_operator_stops() -> None:
    script = Script()
    async with alerting(URL, transport=script) as alerts:
        alerts.tell(alert(slots=1))
        await asyncio.sleep(QUIET / 2)
        alerts.tell(alert(slots=2))
        await asyncio.sleep(1)
        await alerts.drain()
        assert [told for _, told in script.told] == [[("billing", 1)], [("billing", 2)]]


@FAKE_TIME
async def test_a_dead_receiver_does_not_keep_the_operator_from_stopping(
    lines: list[MutableMapping[str, Any]],
) -> None:
    async with alerting(URL, transport=Script(None)) as alerts:
        alerts.tell(alert("a"))
        await asyncio.sleep(5)
        alerts.tell(alert("b"))
        before = asyncio.get_running_loop().time()
        await alerts.drain()
        assert asyncio.get_running_loop().time() - before <= 2.1
    assert dropped(lines) == ["the operator stops"] * 2
