"""The fault proxy, in front of the fake API server: does each fault happen, and does a plan happen again?"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cronschedule.runtime import kube
from cronschedule.runtime.credentials import load_credentials
from cronschedule.runtime.kube_http import HttpApi
from cronschedule.runtime.kube_verbs import JOBS
from fakes.clock import LoopClock
from fakes.http import serve_http
from fakes.kube import FakeKube
from fakes.objects import job
from faults.plan import Asked, Dice, Plan, PlanError, Rule, read_plan, understand, weather
from faults.proxy import serve

PATH = JOBS.path(namespace="default")


class Place:
    """A client, the proxy, the fake API server."""

    def __init__(self, api: HttpApi, kube: FakeKube, folder: Path) -> None:
        self.api, self.kube, self.folder = api, kube, folder

    async def carry_out(self, *rules: Rule, seed: int = 0) -> None:
        file = self.folder / "plan.json"
        Plan(seed=seed, rules=rules).write(file)
        seen = self.folder / "plan.seen"
        for _ in range(100):
            if seen.exists() and seen.read_text() == str(file.stat().st_mtime_ns):
                return
            await asyncio.sleep(0.05)
        raise AssertionError("the plan was not read")

    async def create(self, name: str) -> Any:
        return await self.api.request("POST", PATH, body=job(name), timeout=5)

    async def names(self) -> list[str]:
        return [each["metadata"]["name"] for each in (await self.api.request("GET", PATH))["items"]]

    def stored(self, name: str) -> bool:
        return self.kube.find("jobs", "default", name) is not None

    async def watched(self, count: int, *, within: float = 3) -> list[tuple[str, str]]:
        """The first events of a watch, which begins with what is there; fewer where no more come."""
        told: list[tuple[str, str]] = []
        with contextlib.suppress(TimeoutError):
            async with (
                asyncio.timeout(within),
                contextlib.aclosing(self.api.watch(PATH, query={})) as events,
            ):
                async for event in events:
                    told.append((event["type"], event["object"].get("metadata", {}).get("name", "")))
                    if len(told) == count:
                        break
        return told


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    fake = FakeKube(clock=LoopClock(1_772_000_000))
    async with serve_http(fake) as served:
        config = {
            "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "x"}}],
            "clusters": [{"name": "x", "cluster": {"server": served.url}}],
        }
        (tmp_path / "server.yaml").write_text(yaml.safe_dump(config))
        proxy = asyncio.create_task(serve(tmp_path / "server.yaml", tmp_path))
        try:
            for _ in range(100):
                if (tmp_path / "kubeconfig").exists():
                    break
                await asyncio.sleep(0.05)
            async with HttpApi(load_credentials(str(tmp_path / "kubeconfig"))) as api:
                yield Place(api, fake, tmp_path)
        finally:
            proxy.cancel()
            await asyncio.gather(proxy, return_exceptions=True)


async def test_does_it_let_everything_through_without_a_plan(place: Place) -> None:
    await place.create("a")
    assert await place.names() == ["a"]
    assert await place.watched(1) == [("ADDED", "a")]
    with pytest.raises(kube.AlreadyExists):
        await place.create("a")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        pytest.param(409, kube.Conflict, id="conflict"),
        pytest.param(410, kube.Gone, id="gone"),
        pytest.param(429, kube.TooManyRequests, id="too-many"),
        pytest.param(500, kube.ServerError, id="internal"),
        pytest.param(503, kube.ServerError, id="unavailable"),
    ],
)
async def test_is_a_failure_answered_in_place_of_the_server(
    place: Place, code: int, kind: type[kube.ApiError]
) -> None:
    await place.carry_out(Rule(action="answer", code=code, retry_after=3, verbs="create", times=1))
    with pytest.raises(kind) as failure:
        await place.create("a")
    assert failure.value.retry_after == 3
    assert not place.stored("a")
    await place.create("a")


@pytest.mark.parametrize(
    ("action", "phase", "acted"),
    [
        pytest.param("reset", "before", False, id="reset-before"),
        pytest.param("reset", "after", True, id="reset-after"),
        pytest.param("hang", "before", False, id="hang-before"),
        pytest.param("hang", "after", True, id="hang-after"),
    ],
)
async def test_is_no_answer_given_before_or_after_the_server_has_acted(
    place: Place, action: Any, phase: Any, acted: object
) -> None:
    await place.carry_out(Rule(action=action, phase=phase, verbs="create", times=1))
    with pytest.raises(kube.Unreachable):
        await place.api.request("POST", PATH, body=job("a"), timeout=1)
    assert place.stored("a") is acted


async def test_is_an_answer_late(place: Place) -> None:
    await place.carry_out(Rule(action="delay", seconds=0.5, verbs="create"))
    began = asyncio.get_running_loop().time()
    await place.create("a")
    assert asyncio.get_running_loop().time() - began >= 0.5


async def test_does_an_answer_come_byte_by_byte_and_whole(place: Place) -> None:
    await place.create("a")
    await place.carry_out(Rule(action="drip", seconds=0.5, verbs="list"))
    began = asyncio.get_running_loop().time()
    assert await place.names() == ["a"]
    assert asyncio.get_running_loop().time() - began >= 0.4


async def test_is_a_request_sent_twice(place: Place) -> None:
    await place.carry_out(Rule(action="twice", verbs="create"))
    with pytest.raises(kube.AlreadyExists):
        await place.create("a")
    assert place.kube.calls["create", "jobs"] == 2


async def test_is_a_list_shown_as_it_was(place: Place) -> None:
    await place.names()
    await place.create("a")
    await place.carry_out(Rule(action="stale", seconds=0, verbs="list", times=1))
    assert await place.names() == []
    assert await place.names() == ["a"]


@pytest.mark.parametrize("action", ["cut", "end", "silence", "gone"])
async def test_does_a_watch_end_badly_after_so_many_events(place: Place, action: Any) -> None:
    for name in "abc":
        await place.create(name)
    await place.carry_out(Rule(action=action, events=2, times=1))
    whole = [("ADDED", "a"), ("ADDED", "b")]
    match action:
        case "cut":
            with pytest.raises(kube.Unreachable):
                await place.watched(9)
        case "gone":
            assert await place.watched(3) == [*whole, ("ERROR", "")]
        case _:
            assert await place.watched(9, within=1) == whole
    assert len(await place.watched(3)) == 3


async def test_do_events_come_twice(place: Place) -> None:
    await place.create("a")
    await place.carry_out(Rule(action="repeat"))
    assert await place.watched(2) == [("ADDED", "a"), ("ADDED", "a")]


async def test_do_events_come_in_the_wrong_order(place: Place) -> None:
    for name in "ab":
        await place.create(name)
    await place.carry_out(Rule(action="swap"))
    assert await place.watched(2) == [("ADDED", "b"), ("ADDED", "a")]


async def test_is_a_token_refused_until_the_new_one_is_read(place: Place) -> None:
    await place.carry_out(Rule(action="token", seconds=0.3, times=1))
    with pytest.raises(kube.Unauthorized):
        await place.names()
    await asyncio.sleep(0.5)
    assert await place.names() == []


async def test_is_the_certificate_somebody_elses_for_a_while(place: Place) -> None:
    await place.names()
    await place.carry_out(Rule(action="tls", seconds=1, times=1))
    with pytest.raises(kube.Unreachable):
        await place.names()
    with pytest.raises(kube.Unreachable, match="certificate"):
        await place.names()
    await asyncio.sleep(1.2)
    assert await place.names() == []


# Plans


def struck(plan: Plan, requests: int = 200) -> list[int]:
    dice = Dice(plan)
    asked = Asked(verb="create", resource="jobs", name="a")
    return [number for number in range(requests) if dice.strike(asked, 0) is not None]


def test_does_the_same_plan_strike_the_same_requests(tmp_path: Path) -> None:
    plan = Plan(seed=7, rules=(Rule(action="reset", share=0.2),))
    plan.write(tmp_path / "plan.json")
    first = struck(plan)
    assert first == struck(read_plan(tmp_path / "plan.json"))
    assert first != struck(Plan(seed=8, rules=plan.rules))
    assert 20 <= len(first) <= 60


def test_does_a_rule_hold_only_when_it_shall_and_as_often_as_it_shall() -> None:
    dice = Dice(Plan(rules=(Rule(action="reset", since=1, until=3, times=2),)))
    asked = Asked(verb="get", resource="jobs")
    hits = [dice.strike(asked, second) is not None for second in (0, 1, 1.5, 2, 3)]
    assert hits == [False, True, True, False, False]


@pytest.mark.parametrize(
    ("method", "path", "query", "wanted"),
    [
        ("GET", "/apis/batch/v1/jobs", {}, Asked(verb="list", resource="jobs")),
        ("GET", "/apis/batch/v1/jobs", {"watch": "true"}, Asked(verb="watch", resource="jobs")),
        (
            "PUT",
            "/apis/cronschedule.dev/v1alpha1/namespaces/a/cronschedules/x/status",
            {},
            Asked(verb="update", resource="cronschedules/status", name="x"),
        ),
        ("GET", "/api/v1/namespaces/a", {}, Asked(verb="get", resource="namespaces", name="a")),
        ("GET", "/version", {}, Asked(verb="get", resource="")),
    ],
)
def test_is_a_request_understood(method: str, path: str, query: dict[str, str], wanted: Asked) -> None:
    assert understand(method, path, query) == wanted


@pytest.mark.parametrize(
    "text",
    [
        '{"seed": 1, "rules": [{"action": "bite"}]}',
        '{"seed": 1, "rules": [{"action": "reset", "when": 3}]}',
        '{"seed": 1, "rules": [{"action": "reset", "share": 2}]}',
        '{"rules": []}',
        "nonsense",
    ],
)
def test_is_a_plan_that_makes_no_sense_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "plan.json"
    file.write_text(text)
    with pytest.raises(PlanError):
        read_plan(file)


def test_does_bad_weather_end_in_a_calm_minute_and_is_it_the_same_again() -> None:
    plan = weather(5, seconds=600)
    assert plan == weather(5, seconds=600)
    assert plan != weather(6, seconds=600)
    assert all(rule.until is not None and rule.until <= 570 for rule in plan.rules)
    assert {"answer", "reset", "twice", "silence", "swap"} <= {rule.action for rule in plan.rules}
