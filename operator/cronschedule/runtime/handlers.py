"""kopf as the controller: start-up, login, and watching CronSchedules and Namespaces.

Only raw event handlers are used: nothing is persisted on objects, no finalizer, no annotation, no Event is kopf's.
What kopf does not tell (deletions during a gap, watches that died) is `audit.py`'s to find.
"""

import datetime
import logging
from collections.abc import Collection, Iterator
from typing import Any

import kopf

from cronschedule.api import names
from cronschedule.runtime.credentials import Credentials
from cronschedule.runtime.inventory import Inventory

TOKEN_LIFE = datetime.timedelta(minutes=5)
"""How long kopf uses a token before it asks for it again; the kubelet renews them."""


class _NoProgress(kopf.ProgressStorage):
    """kopf's progress store, which our handlers do not need."""

    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None:
        pass

    def purge(self, **_: Any) -> None:
        pass

    def touch(self, **_: Any) -> None:
        pass

    def clear(self, *, essence: kopf.BodyEssence) -> kopf.BodyEssence:
        return essence


class _NoDiffs(kopf.DiffBaseStorage):
    """kopf's store of last-seen specs, which our handlers do not need."""

    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None:
        pass

    def build(self, **_: Any) -> kopf.BodyEssence:
        return kopf.BodyEssence({})


class _Endless:
    """Seconds between tries: growing, then the same for ever, so that an outage never ends the operator."""

    def __iter__(self) -> Iterator[float]:
        yield from (1, 2, 3, 5, 8, 13)
        while True:
            yield 20


def build_registry(
    *, inventory: Inventory, credentials: Credentials, namespaces: Collection[str]
) -> kopf.OperatorRegistry:
    """The handlers, bound to an inventory. Where `namespaces` are named, it is the audit that reads these."""
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    async def _login(**_: Any) -> kopf.ConnectionInfo:
        return connection_info(credentials)

    @kopf.on.event(names.GROUP, names.VERSION, names.PLURAL, registry=registry)
    async def _schedule(event: kopf.RawEvent, **_: Any) -> None:
        body = event["object"]
        if event["type"] == "DELETED":
            metadata = body["metadata"]
            inventory.drop_schedule((metadata["namespace"], metadata["name"]), metadata["uid"])
        else:
            inventory.take_schedule(body)

    async def _namespace(event: kopf.RawEvent, **_: Any) -> None:
        body = event["object"]
        if event["type"] == "DELETED":
            inventory.drop_namespace(body["metadata"]["name"])
        else:
            inventory.take_namespace(body)

    if not namespaces:
        kopf.on.event("", "v1", "namespaces", registry=registry)(_namespace)
    return registry


def build_settings() -> kopf.OperatorSettings:
    """kopf, told to keep its hands off the objects and to try for ever."""
    settings = kopf.OperatorSettings()
    settings.peering.standalone = True
    settings.scanning.disabled = True
    settings.posting.enabled = False
    settings.posting.level = logging.CRITICAL
    settings.watching.chunk_size = 500
    settings.queueing.worker_limit = None
    settings.queueing.idle_timeout = 0.5
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 5
    settings.networking.error_backoffs = _Endless()
    settings.persistence.finalizer = f"{names.GROUP}/unused"
    settings.persistence.progress_storage = _NoProgress()
    settings.persistence.diffbase_storage = _NoDiffs()
    return settings


def connection_info(credentials: Credentials) -> kopf.ConnectionInfo:
    """Our credentials in kopf's terms; a token is asked for again before it can have expired."""
    renewed = datetime.datetime.now(datetime.UTC) + TOKEN_LIFE if credentials.token_path else None
    return kopf.ConnectionInfo(
        server=credentials.server,
        insecure=credentials.insecure,
        ca_path=credentials.ca_path,
        ca_data=credentials.ca_data,
        certificate_path=credentials.certificate_path,
        certificate_data=credentials.certificate_data,
        private_key_path=credentials.private_key_path,
        private_key_data=credentials.private_key_data,
        token=credentials.read_token(),
        scheme="Bearer" if credentials.read_token() else None,
        username=credentials.username,
        password=credentials.password,
        default_namespace=credentials.default_namespace,
        expiration=renewed,
    )
