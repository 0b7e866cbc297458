"""Do the refusals that only the API server's own words tell apart still stand for what they are taken for?"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from cronschedule.runtime.credentials import Credentials, load_credentials
from cronschedule.runtime.kube import AdmissionDenied, ApiError, Forbidden, ServerError
from cronschedule.runtime.kube_http import HttpApi
from cronschedule.runtime.kube_verbs import JOBS, Resource
from fakes.objects import job
from localkube import Cluster

POLICIES = Resource(group="admissionregistration.k8s.io", version="v1", plural="validatingadmissionpolicies")
BINDINGS = replace(POLICIES, plural="validatingadmissionpolicybindings")
WEBHOOKS = replace(POLICIES, plural="validatingwebhookconfigurations")
ACCOUNTS = Resource(group="", version="v1", plural="serviceaccounts")
RULE = {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"]}
PATIENCE = 30.0


@pytest.fixture
async def api(cluster: Cluster) -> AsyncIterator[HttpApi]:
    async with HttpApi(load_credentials(str(cluster.kubeconfig))) as api:
        yield api


def only_in(namespace: str) -> dict[str, Any]:
    return {"matchLabels": {"kubernetes.io/metadata.name": namespace}}


@contextlib.asynccontextmanager
async def there(api: HttpApi, *objects: tuple[Resource, dict[str, Any]]) -> AsyncIterator[None]:
    """Objects of the whole cluster, for a while."""
    async with contextlib.AsyncExitStack() as ends:
        for resource, told in objects:
            body = {"apiVersion": resource.api_version, **told}
            await api.request("POST", resource.path(), body=body)
            ends.push_async_callback(api.request, "DELETE", resource.path(name=told["metadata"]["name"]))
        yield


async def refusal(api: HttpApi, namespace: str) -> ApiError:
    """How a Job is refused, once what refuses it is known everywhere."""
    async with asyncio.timeout(PATIENCE):
        for number in range(1_000_000):
            try:
                await api.request(
                    "POST", JOBS.path(namespace=namespace), body=job(f"a{number}", namespace=namespace)
                )
            except ApiError as error:
                return error
            await asyncio.sleep(0.2)
    raise AssertionError


@pytest.mark.parametrize(
    ("reason", "code"), [(None, 422), ("Forbidden", 403)], ids=["by default", "as forbidden"]
)
async def test_is_a_policys_denial_known(api: HttpApi, namespace: str, reason: str | None, code: int) -> None:
    validation = {"expression": "false", "message": "No Jobs today."} | ({"reason": reason} if reason else {})
    policy = {
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": namespace},
        "spec": {"matchConstraints": {"resourceRules": [RULE]}, "validations": [validation]},
    }
    binding = {
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": namespace},
        "spec": {
            "policyName": namespace,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": only_in(namespace)},
        },
    }
    async with there(api, (POLICIES, policy), (BINDINGS, binding)):
        error = await refusal(api, namespace)
    assert type(error) is AdmissionDenied
    assert (error.status, error.message.endswith("denied request: No Jobs today.")) == (code, True)


async def test_is_a_webhook_out_of_reach_known(api: HttpApi, namespace: str) -> None:
    webhook = {
        "name": "gone.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [RULE],
        "namespaceSelector": only_in(namespace),
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    told = {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": namespace}, "webhooks": [webhook]}
    async with there(api, (WEBHOOKS, told)):
        error = await refusal(api, namespace)
    assert isinstance(error, ServerError)
    assert error.webhook_unreachable


async def test_is_missing_rbac_known(cluster: Cluster, api: HttpApi, namespace: str) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "nobody"}}
    await api.request("POST", ACCOUNTS.path(namespace=namespace), body=account)
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = ACCOUNTS.path(namespace=namespace, name="nobody", subresource="token")
    token = (await api.request("POST", path, body=asked))["status"]["token"]
    known = load_credentials(str(cluster.kubeconfig))
    nobody = Credentials(
        source="token",
        server=known.server,
        ca_path=known.ca_path,
        ca_data=known.ca_data,
        insecure=known.insecure,
        token=token,
    )
    async with HttpApi(nobody) as as_nobody:
        error = await refusal(as_nobody, namespace)
    assert type(error) is Forbidden
    assert error.rbac_missing
