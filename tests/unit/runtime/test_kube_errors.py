"""Which error an answer of the API server stands for."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from cronschedule.runtime import kube
from cronschedule.runtime.kube import ApiError, backoff, error_from_status

JOB = 'jobs.batch "report-28401120"'


@dataclass(frozen=True, kw_only=True)
class Case:
    id: str
    code: int
    expected: type[ApiError]
    reason: str = ""
    message: str = ""
    details: dict[str, Any] = field(default_factory=dict)


CASES = [
    Case(id="a malformed request", code=400, reason="BadRequest", expected=kube.BadRequest),
    Case(
        id="credentials that are no longer good", code=401, reason="Unauthorized", expected=kube.Unauthorized
    ),
    Case(id="an object that is not there", code=404, reason="NotFound", expected=kube.NotFound),
    Case(id="a name that is taken", code=409, reason="AlreadyExists", expected=kube.AlreadyExists),
    Case(id="an object that has changed", code=409, reason="Conflict", expected=kube.Conflict),
    Case(id="a resourceVersion that is too old", code=410, reason="Expired", expected=kube.Gone),
    Case(id="the same from old servers", code=410, reason="Gone", expected=kube.Gone),
    Case(id="an object that breaks its schema", code=422, reason="Invalid", expected=kube.Invalid),
    Case(id="a server that asks for patience", code=429, expected=kube.TooManyRequests),
    Case(id="a server that timed out", code=504, reason="Timeout", expected=kube.ServerError),
    Case(id="an answer of a kind not foreseen", code=413, expected=ApiError),
    Case(
        id="a used up quota",
        code=403,
        reason="Forbidden",
        message=f"{JOB} is forbidden: exceeded quota: small, requested: count/jobs.batch=1, "
        "used: count/jobs.batch=2, limited: count/jobs.batch=2",
        expected=kube.QuotaExceeded,
    ),
    Case(
        id="a quota that the server demands and the namespace lacks",
        code=403,
        reason="Forbidden",
        message=f"{JOB} is forbidden: insufficient quota to consume: count/jobs.batch",
        expected=kube.QuotaExceeded,
    ),
    Case(
        id="a quota that has not been counted yet is not used up",
        code=403,
        reason="Forbidden",
        message=f"{JOB} is forbidden: status unknown for quota: small, resources: count/jobs.batch",
        expected=kube.Forbidden,
    ),
    Case(
        id="a terminating namespace",
        code=403,
        reason="Forbidden",
        message=f"{JOB} is forbidden: unable to create new content in namespace a because it is being terminated",
        details={"causes": [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]},
        expected=kube.NamespaceTerminating,
    ),
    Case(
        id="a webhook's denial",
        code=403,
        reason="Forbidden",
        message='admission webhook "images.example.com" denied the request: no latest tags',
        expected=kube.AdmissionDenied,
    ),
    Case(
        id="a webhook's denial that quotes a quota",
        code=403,
        message=f'admission webhook "x" denied the request: {JOB} is forbidden: exceeded quota: y',
        expected=kube.AdmissionDenied,
    ),
    Case(
        id="a webhook's denial without a reason",
        code=400,
        message='admission webhook "x" denied the request without explanation',
        expected=kube.AdmissionDenied,
    ),
    Case(
        id="a webhook's denial with a server error's number",
        code=500,
        message='admission webhook "x" denied the request: I am odd',
        expected=kube.AdmissionDenied,
    ),
    Case(
        id="a policy's denial",
        code=422,
        reason="Invalid",
        message=f"{JOB} is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: too big",
        expected=kube.AdmissionDenied,
    ),
    Case(
        id="a webhook that cannot be reached",
        code=500,
        reason="InternalError",
        message='Internal error occurred: failed calling webhook "x": context deadline exceeded',
        expected=kube.ServerError,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_does_an_answer_stand_for(case: Case) -> None:
    status = {"kind": "Status", "reason": case.reason, "message": case.message, "details": case.details}
    error = error_from_status(status, status=case.code)
    assert type(error) is case.expected
    assert (error.status, error.reason, error.message) == (case.code, case.reason, case.message)


def test_is_missing_rbac_told_from_an_admission_plugin_that_is_not_ready() -> None:
    def forbidden(why: str) -> ApiError:
        message = f"jobs.batch is forbidden: {why}"
        return error_from_status({"kind": "Status", "code": 403, "reason": "Forbidden", "message": message})

    rbac = forbidden('User "robot" cannot create resource "jobs" in API group "batch" in the namespace "a"')
    plugin = forbidden("not yet ready to handle request")
    assert isinstance(rbac, kube.Forbidden)
    assert rbac.rbac_missing
    assert isinstance(plugin, kube.Forbidden)
    assert not plugin.rbac_missing


def test_is_a_webhook_out_of_reach_told_from_other_server_errors() -> None:
    message = 'Internal error occurred: failed calling webhook "x": connection refused'
    error = error_from_status({"kind": "Status", "code": 500, "message": message})
    assert isinstance(error, kube.ServerError)
    assert error.webhook_unreachable
    other = error_from_status({"kind": "Status", "code": 500, "message": "etcdserver: leader changed"})
    assert isinstance(other, kube.ServerError)
    assert not other.webhook_unreachable


def test_is_the_wait_of_an_error_event_kept() -> None:
    event = {"kind": "Status", "code": 429, "details": {"retryAfterSeconds": 7}}
    assert error_from_status(event).retry_after == 7


def test_does_an_answer_that_is_no_status_still_become_an_error() -> None:
    assert type(error_from_status("<html>", status=502)) is kube.ServerError


def test_does_backing_off_double_with_jitter_up_to_the_cap() -> None:
    rng = random.Random(1)
    for attempt, longest in enumerate([1, 2, 4, 8, 16, 32, 60, 60, 60]):
        waits = [backoff(attempt, random=rng) for _ in range(200)]
        assert longest / 2 <= min(waits) < max(waits) <= longest
    assert backoff(10_000, random=rng) <= 60


def test_is_retry_after_a_lower_bound_within_the_cap() -> None:
    rng = random.Random(1)
    assert backoff(0, random=rng, retry_after=20) == 20
    assert backoff(5, random=rng, retry_after=1) >= 16
    assert backoff(0, random=rng, retry_after=3600) == 60
    assert backoff(9, random=rng, cap=10) <= 10
