"""The client over HTTP, against the fake API server and against servers that answer nonsense."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cronschedule.runtime import kube, kube_http
from cronschedule.runtime.credentials import Credentials
from cronschedule.runtime.kube_http import HttpApi
from cronschedule.runtime.kube_verbs import (
    CRONSCHEDULES,
    JOBS,
    MERGE_PATCH,
    METADATA_ONLY,
    delete,
    list_pages,
    replace_status,
)
from fakes.clock import LoopClock
from fakes.faults import Answer, Delay, Fault, Hang, Reset, Stream
from fakes.http import Served, serve_http
from fakes.kube import FakeKube
from fakes.objects import cron_schedule, job

EPOCH = 1_772_000_000
PATH = JOBS.path(namespace="default")


@pytest.fixture
async def fake() -> FakeKube:
    return FakeKube(clock=LoopClock(EPOCH))


@pytest.fixture
async def served(fake: FakeKube) -> AsyncIterator[Served]:
    async with serve_http(fake) as served:
        yield served


@pytest.fixture
async def api(served: Served) -> AsyncIterator[HttpApi]:
    async with HttpApi(Credentials(source="test", server=served.url)) as api:
        yield api


@contextlib.asynccontextmanager
async def answering(raw: bytes) -> AsyncIterator[HttpApi]:
    """A client of a server that answers any request with these bytes and hangs up."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(raw)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, HttpApi(Credentials(source="test", server=f"http://127.0.0.1:{port}")) as api:
        yield api


async def events(api: HttpApi, count: int, **query: str) -> list[dict[str, Any]]:
    """The first few events of a watch."""
    async with contextlib.aclosing(api.watch(PATH, query=query)) as stream:
        return [await anext(stream) for _ in range(count)]


# Requests


async def test_do_the_verbs_round_trip(api: HttpApi) -> None:
    made = await api.request("POST", PATH, body=job("a"))
    path = JOBS.path(namespace="default", name="a")
    assert (await api.request("GET", path))["metadata"]["uid"] == made["metadata"]["uid"]
    patch = {"metadata": {"labels": {"x": "y"}}}
    patched = await api.request("PATCH", path, body=patch, content_type=MERGE_PATCH)
    assert patched["metadata"]["labels"] == {"x": "y"}
    await delete(api, path, uid=made["metadata"]["uid"])
    with pytest.raises(kube.NotFound):
        await api.request("GET", path)


async def test_does_a_request_say_who_asks(api: HttpApi, served: Served) -> None:
    await api.request("POST", PATH, body=job("a"))
    sent = served.requests[-1]
    assert sent.headers["User-Agent"].startswith("cronschedule-operator/")
    assert sent.query["fieldManager"] == "cronschedule-operator"
    assert sent.headers["Accept-Encoding"] == "identity"


async def test_is_a_list_read_in_chunks_of_one_moment(api: HttpApi, fake: FakeKube) -> None:
    for number in range(7):
        fake.add(job(f"a{number}", labels={"app": "x"}))
    fake.add(job("other"))
    names, versions = [], set()
    async for page in list_pages(api, PATH, label_selector="app=x", limit=3):
        names += [item["metadata"]["name"] for item in page.items]
        versions.add(page.resource_version)
        fake.add(job(f"late-{len(names)}", labels={"app": "x"}))
    assert names == [f"a{number}" for number in range(7)]
    assert len(versions) == 1
    assert fake.calls["list", "jobs"] == 3


async def test_is_a_list_that_outlived_the_servers_memory_told_as_gone(api: HttpApi, fake: FakeKube) -> None:
    for number in range(4):
        fake.add(job(f"a{number}"))
    pages = list_pages(api, PATH, limit=2)
    await anext(pages)
    fake.add(job("b"))
    fake.compact()
    with pytest.raises(kube.Gone):
        await anext(pages)


async def test_can_a_list_leave_out_spec_and_status(api: HttpApi, fake: FakeKube) -> None:
    fake.add(job("a"))
    (page,) = [page async for page in list_pages(api, PATH, accept=METADATA_ONLY)]
    assert page.items[0]["metadata"]["name"] == "a"
    assert "spec" not in page.items[0]


async def put_status(api: HttpApi, read: dict[str, Any]) -> Any:
    """Replace the status of the object as it was read."""
    meta = read["metadata"]
    return await replace_status(
        api,
        CRONSCHEDULES,
        namespace=meta["namespace"],
        name=meta["name"],
        uid=meta["uid"],
        version=meta["resourceVersion"],
        status={"activeRuns": 2},
    )


async def test_does_replacing_a_status_drop_what_went_away(api: HttpApi, fake: FakeKube) -> None:
    read = fake.add(cron_schedule("a", status={"activeRuns": 1, "nextScheduleTime": "2026-01-01T00:00:00Z"}))
    written = await put_status(api, read)
    assert written["status"] == {"activeRuns": 2}
    assert written["spec"] == read["spec"]
    assert written["metadata"]["generation"] == 1


async def test_is_a_status_computed_from_an_older_object_refused(api: HttpApi, fake: FakeKube) -> None:
    read = fake.add(cron_schedule("a"))
    fake.edit("cronschedules", "default", "a", {"spec": {"suspend": True}})
    with pytest.raises(kube.Conflict):
        await put_status(api, read)


async def test_is_a_status_for_a_deleted_and_remade_object_refused(api: HttpApi, fake: FakeKube) -> None:
    read = fake.add(cron_schedule("a"))
    fake.remove("cronschedules", "default", "a")
    fake.add(cron_schedule("a"))
    with pytest.raises(kube.Conflict, match="UID"):
        await put_status(api, read)


async def test_is_another_object_of_the_same_name_spared(api: HttpApi, fake: FakeKube) -> None:
    fake.add(job("a"))
    with pytest.raises(kube.Conflict):
        await delete(api, JOBS.path(namespace="default", name="a"), uid="somebody-else")
    assert fake.find("jobs", "default", "a")


# What goes wrong


async def test_are_wait_and_reason_of_a_failure_kept(api: HttpApi, fake: FakeKube) -> None:
    fake.faults.append(
        Fault(action=Answer(code=429, reason="TooManyRequests", message="slow", retry_after=7))
    )
    with pytest.raises(kube.TooManyRequests, match="slow") as caught:
        await api.request("GET", PATH)
    assert caught.value.retry_after == 7


async def test_is_an_answer_lost_on_the_way_back_unreachable(api: HttpApi, fake: FakeKube) -> None:
    fake.faults.append(Fault(verb="create", action=Reset(), phase="after"))
    with pytest.raises(kube.Unreachable):
        await api.request("POST", PATH, body=job("a"))
    assert fake.find("jobs", "default", "a"), "the server had acted"


async def test_is_silence_unreachable(api: HttpApi, fake: FakeKube) -> None:
    fake.faults.append(Fault(action=Hang()))
    with pytest.raises(kube.Unreachable, match="no answer in time"):
        await api.request("GET", PATH, timeout=0.05)


async def test_is_a_refused_connection_unreachable(unused_tcp_port: int) -> None:
    async with HttpApi(Credentials(source="test", server=f"http://127.0.0.1:{unused_tcp_port}")) as api:
        with pytest.raises(kube.Unreachable, match="Cannot connect to host 127"):
            await api.request("GET", PATH)


async def test_is_a_server_that_speaks_no_tls_unreachable(served: Served) -> None:
    server = served.url.replace("http:", "https:")
    async with HttpApi(Credentials(source="test", server=server)) as api:
        with pytest.raises(kube.Unreachable):
            await api.request("GET", PATH)


BROKEN = {
    "a body that is cut short": b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{",
    "a body that is no JSON": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "no HTTP at all": b"SSH-2.0-OpenSSH_9.6\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("raw", BROKEN.values(), ids=BROKEN)
async def test_is_nonsense_unreachable(raw: bytes) -> None:
    async with answering(raw) as api:
        with pytest.raises(kube.Unreachable):
            await api.request("GET", PATH)


async def test_is_the_overloaded_servers_plain_text_understood() -> None:
    text = b"Too many requests, please try again later.\n"
    head = b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nRetry-After: 1\r\nContent-Length: 43\r\n\r\n"
    async with answering(head + text) as api:
        with pytest.raises(kube.TooManyRequests, match="please try again later") as caught:
            await api.request("GET", PATH)
    assert caught.value.retry_after == 1


async def test_is_a_proxys_page_kept_out_of_the_message() -> None:
    page = b"<html>secret</html>"
    head = b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 19\r\n\r\n"
    async with answering(head + page) as api:
        with pytest.raises(kube.ServerError, match="502 Bad Gateway") as caught:
            await api.request("GET", PATH)
    assert "secret" not in str(caught.value)


async def test_is_a_redirect_not_followed() -> None:
    async with answering(
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    ) as api:
        with pytest.raises(kube.ApiError) as caught:
            await api.request("GET", PATH)
    assert caught.value.status == 302


async def test_are_bodies_and_tokens_kept_out_of_errors(served: Served, fake: FakeKube) -> None:
    fake.faults.append(Fault(action=Reset()))
    async with HttpApi(Credentials(source="test", server=served.url, token="s3cret")) as api:
        with pytest.raises(kube.Unreachable) as caught:
            await api.request("POST", PATH, body=job("a", labels={"x": "s3cret"}))
    assert "s3cret" not in f"{caught.value!r} {caught.value.__cause__!r}"


# Who we are


async def test_is_a_rotated_token_picked_up_on_a_401(served: Served, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("old")
    served.tokens = {"old"}
    credentials = Credentials(source="test", server=served.url, token_path=str(tmp_path / "token"))
    async with HttpApi(credentials) as api:
        await api.request("GET", PATH)
        (tmp_path / "token").write_text("new")
        served.tokens = {"new"}
        await api.request("POST", PATH, body=job("a"))
        assert await events(api, 1)


async def test_is_a_refused_token_sent_only_once(served: Served, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("bad")
    served.tokens = {"good"}
    credentials = Credentials(source="test", server=served.url, token_path=str(tmp_path / "token"))
    async with HttpApi(credentials) as api:
        with pytest.raises(kube.Unauthorized):
            await api.request("GET", PATH)
    assert len(served.requests) == 1


async def test_is_a_token_read_anew_when_it_has_got_old(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("old")
    credentials = Credentials(source="test", server=served.url, token_path=str(tmp_path / "token"))
    async with HttpApi(credentials) as api:
        await api.request("GET", PATH)
        (tmp_path / "token").write_text("new")
        await api.request("GET", PATH)
        monkeypatch.setattr(kube_http, "TOKEN_SECONDS", -1)
        await api.request("GET", PATH)
        (tmp_path / "token").unlink()
        await api.request("GET", PATH)
    sent = [request.headers["Authorization"] for request in served.requests]
    assert sent == ["Bearer old", "Bearer old", "Bearer new", "Bearer new"]


async def test_is_a_token_file_that_was_never_there_told(served: Served, tmp_path: Path) -> None:
    credentials = Credentials(source="test", server=served.url, token_path=str(tmp_path / "token"))
    async with HttpApi(credentials) as api:
        with pytest.raises(kube.Unreachable, match="FileNotFoundError"):
            await api.request("GET", PATH)


async def test_are_user_name_and_password_sent(served: Served) -> None:
    credentials = Credentials(source="test", server=served.url, username="me", password="s3cret")
    async with HttpApi(credentials) as api:
        await api.request("GET", PATH)
    assert served.requests[0].headers["Authorization"] == "Basic bWU6czNjcmV0"


# Watching


async def test_does_a_watch_tell_what_happened_since(api: HttpApi, fake: FakeKube) -> None:
    fake.add(job("a"))
    version = str(fake.store.version)
    fake.add(job("b"))
    fake.remove("jobs", "default", "a")
    told = await events(api, 3, resourceVersion=version)
    assert [(event["type"], event["object"]["metadata"]["name"]) for event in told] == [
        ("ADDED", "b"),
        ("DELETED", "a"),
        ("MODIFIED", "b"),
    ]


async def test_does_an_event_longer_than_any_buffer_arrive_whole(api: HttpApi, fake: FakeKube) -> None:
    fake.add(job("a", annotations={"long": "x" * 1_000_000}))
    (told,) = await events(api, 1)
    assert len(told["object"]["metadata"]["annotations"]["long"]) == 1_000_000


async def test_is_an_endless_event_refused(
    api: HttpApi, fake: FakeKube, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube_http, "MAX_LINE", 100_000)
    fake.add(job("a", annotations={"long": "x" * 1_000_000}))
    with pytest.raises(kube.Unreachable, match="longer than"):
        await events(api, 1)


async def test_does_a_watch_end_when_the_server_ends_it(api: HttpApi, fake: FakeKube) -> None:
    fake.add(job("a"))
    fake.faults.append(Fault(verb="watch", action=Stream(after=1, then="end")))
    told = [event["type"] async for event in api.watch(PATH, query={})]
    assert told == ["ADDED"]


@pytest.mark.parametrize("then", ["reset", "truncate"])
async def test_is_a_broken_stream_unreachable(api: HttpApi, fake: FakeKube, then: Any) -> None:
    fake.add(job("a"))
    fake.add(job("b"))
    fake.faults.append(Fault(verb="watch", action=Stream(after=1, then=then)))
    stream = api.watch(PATH, query={})
    assert (await anext(stream))["object"]["metadata"]["name"] == "a"
    with pytest.raises(kube.Unreachable):
        await anext(stream)


async def test_is_an_error_event_handed_on(api: HttpApi, fake: FakeKube) -> None:
    fake.faults.append(Fault(verb="watch", action=Stream(then=Answer(code=500, message="etcd"))))
    (told,) = await events(api, 1)
    assert told["type"] == "ERROR"
    assert type(kube.error_from_status(told["object"])) is kube.ServerError


async def test_is_a_watch_that_is_refused_an_error(api: HttpApi, fake: FakeKube) -> None:
    fake.faults.append(Fault(verb="watch", action=Answer(code=403, reason="Forbidden")))
    with pytest.raises(kube.Forbidden):
        await events(api, 1)


async def test_does_closing_a_watch_free_its_connection(served: Served, fake: FakeKube) -> None:
    fake.add(job("a"))
    async with HttpApi(Credentials(source="test", server=served.url), max_connections=1) as api:
        for _ in range(3):
            async with contextlib.aclosing(api.watch(PATH, query={})) as stream:
                await anext(stream)
            await api.request("GET", PATH)


async def test_does_a_fence_that_closes_while_waiting_for_a_connection_keep_the_request_back(
    fake: FakeKube, served: Served
) -> None:
    """With one connection, which another request occupies, it is asked again before the body goes out."""
    async with HttpApi(Credentials(source="test", server=served.url), max_connections=1) as api:
        fake.faults.append(Fault(action=Delay(0.2), verb="list"))
        occupying = asyncio.create_task(api.request("GET", PATH))
        await asyncio.sleep(0.05)
        asked = 0

        def fence() -> None:
            nonlocal asked
            asked += 1
            if asked > 1:
                raise kube.NotLeading("closed")

        with pytest.raises(kube.KubeError):
            await api.request("POST", PATH, body=job("late"), fence=fence)
        await occupying
        assert asked == 2
        await api.request("GET", PATH)
        assert fake.find("jobs", "default", "late") is None
        assert ("create", "jobs") not in fake.calls


async def test_does_a_fence_that_is_closed_send_nothing(fake: FakeKube, api: HttpApi) -> None:
    def fence() -> None:
        raise kube.NotLeading("closed")

    with pytest.raises(kube.NotLeading):
        await api.request("POST", PATH, body=job("late"), fence=fence)
    assert not fake.calls


async def test_does_an_open_fence_let_everything_through(api: HttpApi) -> None:
    made = await api.request("POST", PATH, body=job("one"), fence=lambda: None)
    assert made["metadata"]["name"] == "one"
