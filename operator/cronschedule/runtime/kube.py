"""The Kubernetes API as the operator sees it: one small interface, and what may go wrong.

`kube_verbs.py` says what is asked, `kube_http.py` carries it; tests put an in-memory server in its place.

Errors, by what the caller should make of them (never by the number alone):

    KubeError
    ├── Unreachable            no usable answer: connection, TLS, time-out, broken body.
    │                          Whether the server acted is UNKNOWN: repeat only what may be repeated
    ├── NotLeading             a write that was not even sent: another one leads, or may by now
    └── ApiError               the server answered with a failure
        ├── BadRequest         400: the request itself is malformed
        ├── Unauthorized       401: the credentials are not (or no longer) good
        ├── Forbidden          403: RBAC is missing, or an admission plugin is not ready yet; may heal
        │   ├── QuotaExceeded        a ResourceQuota is used up
        │   └── NamespaceTerminating nothing new can be created there any more
        ├── AdmissionDenied    an admission policy or webhook said no; its number is whatever it chose
        ├── NotFound           404: the object or, on a create, its namespace
        ├── AlreadyExists      409: the name is taken (also by an object that is being deleted)
        ├── Conflict           409: the object is not the one the caller read (resourceVersion, UID)
        ├── Gone               410: the resourceVersion or the continue token is too old
        ├── Invalid            422: the object breaks its schema
        ├── TooManyRequests    429: the server asks for patience
        └── ServerError        5xx: may heal; after a 504 the server may have acted all the same.
                               A webhook that could not be asked is one of these
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Mapping
from random import Random
from typing import Any, Protocol

JSON = "application/json"


class Api(Protocol):
    """One Kubernetes API server."""

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = JSON,
        accept: str = JSON,
        timeout: float | None = None,  # noqa: ASYNC109 (ends as Unreachable, as every other silence does)
        fence: Callable[[], None] | None = None,
    ) -> Any:
        """Send one request, return the parsed JSON answer. `timeout` in seconds. Raises `KubeError`.

        `fence` is called first, and again at the last moment before anything that the server could act on is sent;
        what it raises keeps that from happening.
        """
        ...

    def watch(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[dict[str, Any], None]:
        """Yield `{"type", "object"}` until the server ends the stream. Raises `KubeError`.

        ERROR events are yielded as they came: see `error_from_status`. Close it (`contextlib.aclosing`).
        """
        ...


class KubeError(Exception):
    """Anything that kept a request from succeeding."""


class Unreachable(KubeError):
    """No usable answer came. The server may or may not have done what was asked."""


class NotLeading(KubeError):
    """The write was not sent."""


class ApiError(KubeError):
    """The server refused. `message` is its own sentence; it may quote values of the object that was sent."""

    def __init__(
        self,
        status: int,
        reason: str = "",
        message: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{status} {reason}: {message[:256]}")
        self.status = status
        self.reason = reason
        self.message = message
        self.details: Mapping[str, Any] = details or {}
        self.retry_after = retry_after
        """Seconds the server asks the caller to wait, or None."""


class BadRequest(ApiError):
    """400."""


class Unauthorized(ApiError):
    """401."""


class Forbidden(ApiError):
    """403 that is neither a quota, a terminating namespace nor an admission denial."""

    @property
    def rbac_missing(self) -> bool:
        """True when the authorizer refused; else an admission plugin did and may well change its mind."""
        return bool(_RBAC.search(self.message))


class QuotaExceeded(Forbidden):
    """403 by the ResourceQuota admission plugin."""


class NamespaceTerminating(Forbidden):
    """403 by the NamespaceLifecycle admission plugin."""


class AdmissionDenied(ApiError):
    """A policy (422 unless it says otherwise) or a webhook (400 unless it does) denied the request."""


class NotFound(ApiError):
    """404."""


class AlreadyExists(ApiError):
    """409 AlreadyExists."""


class Conflict(ApiError):
    """409 for any other reason."""


class Gone(ApiError):
    """410 Gone or Expired."""


class Invalid(ApiError):
    """422."""


class TooManyRequests(ApiError):
    """429."""


class ServerError(ApiError):
    """5xx."""

    @property
    def webhook_unreachable(self) -> bool:
        """True when an admission webhook with `failurePolicy: Fail` could not be asked."""
        return "failed calling webhook" in self.message


_BY_STATUS: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}

# Only the API server's own sentences tell these refusals apart. They come from k8s.io/apiserver, in order:
# webhook/errors/statuserror.go and policy/validating/dispatcher.go, resourcequota/controller.go,
# responsewriters/errors.go.
_DENIED = re.compile(r'^admission webhook "[^"]*" denied the request|[Pp]olicy \'[^\']*\'.* denied request: ')
_QUOTA = re.compile(r" is forbidden: (exceeded quota: |insufficient quota to consume: )")
_RBAC = re.compile(r' is forbidden: User "[^"]*" cannot ')


def error_from_status(
    answer: Any, *, status: int | None = None, retry_after: float | None = None
) -> ApiError:
    """Turn a `Status` object, or whatever else a failed request answered, into the error it stands for.

    `status` and `retry_after` (seconds) are the HTTP answer's, if there was one; else the object's own count.
    """
    told: Mapping[str, Any] = answer if isinstance(answer, Mapping) and answer.get("kind") == "Status" else {}
    code = status or int(told.get("code") or 500)
    reason, message = str(told.get("reason") or ""), str(told.get("message") or "")
    details: Mapping[str, Any] = told.get("details") or {}
    if retry_after is None and details.get("retryAfterSeconds"):
        retry_after = float(details["retryAfterSeconds"])
    kind = _kind(code, reason, message, details)
    return kind(code, reason, message, details, retry_after)


def _kind(code: int, reason: str, message: str, details: Mapping[str, Any]) -> type[ApiError]:
    # A webhook's sentence may quote any other, so it is looked for first.
    if _DENIED.search(message):
        return AdmissionDenied
    if code == 403:
        if any(cause.get("reason") == "NamespaceTerminating" for cause in details.get("causes") or []):
            return NamespaceTerminating
        if _QUOTA.search(message):
            return QuotaExceeded
    if code == 409 and reason == "AlreadyExists":
        return AlreadyExists
    if code >= 500:
        return ServerError
    return _BY_STATUS.get(code, ApiError)


def backoff(attempt: int, *, random: Random, retry_after: float | None = None, cap: float = 60.0) -> float:
    """Seconds to wait after failure number `attempt` (from 0) in a row: 0.5–1 s at first, doubling to `cap`.

    Half of it is jitter, so that callers that failed together do not come back together. The server's
    Retry-After is a lower bound, but never beyond `cap`: bounded waiting is promised (semantics.md §3.6).
    """
    delay = min(cap, 2.0 ** min(attempt, 30)) * (0.5 + random.random() / 2)
    return min(cap, max(delay, retry_after or 0.0))
