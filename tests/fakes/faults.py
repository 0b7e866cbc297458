"""What a test can make go wrong, and for which requests."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from random import Random
from typing import Any, Literal

from cronschedule.runtime.kube import ApiError, Unreachable, error_from_status


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Answer with this failure. As `then` of a `Stream`, an ERROR event."""

    code: int
    reason: str = ""
    message: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    retry_after: float | None = None

    def error(self) -> ApiError:
        status = {"kind": "Status", "reason": self.reason, "message": self.message, "details": self.details}
        return error_from_status(status, status=self.code, retry_after=self.retry_after)


@dataclass(frozen=True)
class Reset:
    """The connection breaks."""


@dataclass(frozen=True)
class Hang:
    """No answer ever comes; the client's time-out ends it."""


@dataclass(frozen=True)
class Delay:
    """The answer takes this many seconds longer."""

    seconds: float


@dataclass(frozen=True)
class Duplicate:
    """The request reaches the server twice, as a retrying proxy can make it; the second answer counts."""


@dataclass(frozen=True)
class Stale:
    """A list is served as of so many writes ago."""

    writes: int


@dataclass(frozen=True, kw_only=True)
class Stream:
    """A watch goes well for `after` events; then it ends, breaks, is cut within an event, or falls silent."""

    after: int = 0
    then: Literal["end", "reset", "truncate", "silence"] | Answer

    async def cut(self) -> dict[str, Any] | None:
        """End the stream. Returns the last event, if there is one."""
        match self.then:
            case Answer():
                return {"type": "ERROR", "object": status_of(self.then.error())}
            case "reset":
                raise WasReset("connection reset (injected)")
            case "truncate":
                raise WasTruncated("cut in the middle of an event (injected)")
            case "silence":
                await asyncio.Event().wait()
        return None


Action = Answer | Reset | Hang | Delay | Duplicate | Stale | Stream


def status_of(error: ApiError) -> dict[str, Any]:
    """The `Status` object that says it."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": error.message,
        "reason": error.reason,
        "details": dict(error.details),
        "code": error.status,
    }


class WasReset(Unreachable):
    """What a `Reset` looks like from inside."""


class WasTruncated(Unreachable):
    """What `truncate` looks like from inside."""


@dataclass(kw_only=True)
class Fault:
    """`action` for the requests that match, from the `nth` on (1 is the first), `times` times.

    `verb` as in RBAC (`create`, `watch`…), `resource` as `jobs` or `cronschedules/status`; all patterns are globs.
    `phase` says whether the server acts first and the answer is what suffers, or never sees the request. Of those that
    match, a `share` is hit, by the `dice`.
    """

    action: Action
    verb: str = "*"
    resource: str = "*"
    namespace: str = "*"
    name: str = "*"
    nth: int = 1
    times: float = 1
    phase: Literal["before", "after"] = "before"
    share: float = 1
    dice: Random = field(default_factory=lambda: Random(0))
    seen: int = field(default=0, init=False)

    def strikes(self, *, verb: str, resource: str, namespace: str, name: str) -> bool:
        """Whether this request, which counts as seen, is hit."""
        request = (
            (verb, self.verb),
            (resource, self.resource),
            (namespace, self.namespace),
            (name, self.name),
        )
        if not all(fnmatchcase(value, pattern) for value, pattern in request):
            return False
        self.seen += 1
        return self.nth <= self.seen < self.nth + self.times and self.dice.random() < self.share


async def suffer(action: Action) -> None:
    """Carry out the actions that need no server: those that wait and those that end the request."""
    match action:
        case Answer():
            raise action.error()
        case Reset():
            raise WasReset("connection reset (injected)")
        case Hang():
            await asyncio.Event().wait()
        case Delay(seconds):
            await asyncio.sleep(seconds)
