"""The alert webhook of the real operator: one alert per schedule whose backlog lost slots, from a receiver's side."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cronschedule.api.shapes import format_time
from e2e.world import World, condition, cron_schedule, eventually, minutely_until, this_minute
from localkube import Kubectl, OperatorProcess


class Receiver(ThreadingHTTPServer):
    """Takes alerts on 127.0.0.1; at first it is out of order."""

    def __init__(self) -> None:
        self.posts: list[tuple[dict[str, str], dict[str, Any]]] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    def taken(self, namespace: str) -> list[dict[str, Any]]:
        """The alerts about a namespace that were answered well, by schedule."""
        items = [
            item for _, body in self.posts[1:] for item in body["items"] if item["namespace"] == namespace
        ]
        return sorted(items, key=lambda item: str(item["schedule"]))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/alerts"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.posts.append((dict(self.headers), body))
        self.send_response(503 if len(self.server.posts) == 1 else 204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        yield receiver
        receiver.shutdown()


def test_what_the_caps_drop_reaches_the_webhook_and_is_told_in_status(
    kubectl: Kubectl,
    operator: OperatorProcess,
    new_operator: Callable[[str], OperatorProcess],
    namespace: str,
    receiver: Receiver,
    tmp_path: Path,
) -> None:
    world = World(kubectl, namespace)
    token = tmp_path / "token"
    token.write_text("secret")
    newest = this_minute() - 120
    slots = [newest - 60 * ago for ago in (4, 3, 2, 1, 0)]
    operator.stop()
    told = new_operator("told")
    try:
        names = [f"x{number}" for number in range(3)]
        schedule = minutely_until(newest, 5)
        manifests = [
            cron_schedule(name, schedule, misfirePolicy="CatchUp", catchUp={"maxRuns": 2}) for name in names
        ]
        world.create_with_ledger(*manifests, decided_until=slots[0] - 1)
        told.start(
            CRONSCHEDULE_ALERT_WEBHOOK_URL=receiver.url, CRONSCHEDULE_ALERT_WEBHOOK_TOKEN_FILE=str(token)
        )
        for name in names:
            world.wait_for_outcomes(name, "Succeeded", "Succeeded")
        eventually(lambda: receiver.taken(namespace), lambda taken: len(taken) >= 3)
        told.stop()
    finally:
        told.end()
        operator.start()
    (headers, first), (again, second) = receiver.posts[:2]
    assert (first, headers["Idempotency-Key"]) == (second, again["Idempotency-Key"])
    assert headers["Authorization"] == "Bearer secret"
    assert [item["schedule"] for item in receiver.taken(namespace)] == names
    for item in receiver.taken(namespace):
        assert (item["firstSlot"], item["lastSlot"], item["slots"]) == (
            format_time(slots[0]),
            format_time(slots[2]),
            3,
        )
        truncated = condition(world.status(item["schedule"]), "BacklogTruncated")
        assert item["command"] in truncated["message"]
