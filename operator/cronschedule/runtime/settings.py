"""What the person who runs the operator may set: environment variables, read and checked once."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

from cronschedule.api.names import SUSPENDED_LABEL
from cronschedule.api.shapes import format_duration, parse_duration
from cronschedule.core.budget import Limits
from cronschedule.core.facts import DEFAULT_MISFIRE_THRESHOLD

T = TypeVar("T")

_NAME = r"[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?"
_OBJECT_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_TERM = re.compile(rf"(?P<absent>!)?(?P<key>{_NAME})((?P<operator>!=|==?)(?P<value>({_NAME})?))?")


class Read(Protocol):
    """Reads one variable, given by the end of its name, its default and what makes a value of its text."""

    def __call__(self, name: str, default: str, parse: Callable[[str], T]) -> T: ...


class SettingsError(ValueError):
    """A setting that cannot be used; the message names the variable and says what is allowed."""


@dataclass(frozen=True, slots=True)
class Selector:
    """A label selector of equalities: `key=value`, `key!=value`, `key`, `!key`, joined by commas."""

    text: str
    terms: tuple[tuple[str, str | None, bool], ...] = field(repr=False)
    """(key, value or None for "whatever value", whether the label must be there or not)"""

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(self._holds(labels, key, value) is wanted for key, value, wanted in self.terms)

    @staticmethod
    def _holds(labels: Mapping[str, str], key: str, value: str | None) -> bool:
        return key in labels if value is None else labels.get(key) == value


@dataclass(frozen=True, kw_only=True, slots=True)
class Webhook:
    """Where alerts are sent. Token and CA are read again from their files for each POST; `timeout` is in seconds."""

    url: str = field(repr=False)
    """Many receivers take what is in it for a password."""
    token_file: str | None = None
    ca_file: str | None = None
    timeout: int = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Election:
    """The Lease by which replicas agree who decides. Spans are in whole seconds.

    `namespace` None means that of the credentials. Others wait for `duration`; the leader itself stops when it has
    not renewed the lease for `renew_deadline`, which is shorter. It is asked for, and renewed, each `retry_period`.
    """

    name: str
    namespace: str | None
    duration: int
    renew_deadline: int
    retry_period: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The operator's settings. Spans are in seconds. `namespaces` are those to look after, none meaning all, and of
    them those only whose labels match `namespace_selector`."""

    namespaces: tuple[str, ...]
    namespace_selector: Selector
    misfire_threshold: int
    suspension_selector: Selector
    catch_up: Limits
    backfill_suspended: bool
    webhook: Webhook | None
    writers: int
    election: Election | None
    health_port: int
    metrics_per_schedule: bool
    log_level: str
    log_format: str


def parse_selector(text: str) -> Selector:
    """Raises ValueError with a sentence."""
    terms = []
    for part in text.split(","):
        match = _TERM.fullmatch(part.strip())
        if match is None or (match["absent"] and match["operator"]):
            raise ValueError(f"{text!r} is not a label selector such as team=a or suspended,tier!=gold")
        wanted = match["operator"] != "!=" and not match["absent"]
        terms.append((match["key"], match["value"] if match["operator"] else None, wanted))
    return Selector(text, tuple(terms))


def _selector_or_all(text: str) -> Selector:
    return parse_selector(text) if text else Selector("", ())


def read_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings in the environment, with their defaults. Raises `SettingsError`."""

    def read(name: str, default: str, parse: Callable[[str], T]) -> T:
        text = environ.get(f"CRONSCHEDULE_{name}", default)
        try:
            return parse(text)
        except ValueError as error:
            raise SettingsError(f"CRONSCHEDULE_{name}: {error}") from None

    return Settings(
        namespaces=read("WATCH_NAMESPACES", "", _object_names),
        namespace_selector=read("NAMESPACE_SELECTOR", "", _selector_or_all),
        misfire_threshold=read("MISFIRE_THRESHOLD", f"{DEFAULT_MISFIRE_THRESHOLD}s", _span(1, 600)),
        suspension_selector=read("SUSPENSION_SELECTOR", f"{SUSPENDED_LABEL}=true", parse_selector),
        catch_up=Limits(
            per_minute=read("CATCH_UP_PER_MINUTE", "600", _number(1, 100_000)),
            per_minute_and_namespace=read("CATCH_UP_PER_MINUTE_AND_NAMESPACE", "60", _number(1, 100_000)),
            active=read("CATCH_UP_ACTIVE", "200", _number(1, 100_000)),
        ),
        webhook=_read_webhook(read),
        backfill_suspended=read("BACKFILL_SUSPENDED", "off", _one_of("on", "off")) == "on",
        writers=read("WRITERS", "500", _number(1, 5_000)),
        election=_read_election(read),
        health_port=read("HEALTH_PORT", "8080", _number(0, 65_535)),
        metrics_per_schedule=read("METRICS_PER_SCHEDULE", "off", _one_of("on", "off")) == "on",
        log_level=read("LOG_LEVEL", "info", _one_of("debug", "info", "warning", "error")),
        log_format=read("LOG_FORMAT", "json", _one_of("json", "text")),
    )


def _read_webhook(read: Read) -> Webhook | None:
    url = read("ALERT_WEBHOOK_URL", "", _webhook_url)
    token_file = read("ALERT_WEBHOOK_TOKEN_FILE", "", _readable_file)
    ca_file = read("ALERT_WEBHOOK_CA_FILE", "", _readable_file)
    timeout = read("ALERT_WEBHOOK_TIMEOUT", "10s", _span(1, 60))
    if url is None:
        return None
    if token_file is not None and not may_carry_secrets(url):
        raise SettingsError(
            "CRONSCHEDULE_ALERT_WEBHOOK_TOKEN_FILE: the token would cross the network unencrypted; use an https URL"
        )
    return Webhook(url=url, token_file=token_file, ca_file=ca_file, timeout=timeout)


def may_carry_secrets(url: str) -> bool:
    """Whether what is sent there stays unread on the way: https, or this very machine."""
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname == "localhost":
        return True
    try:
        return ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def _webhook_url(text: str) -> str | None:
    """The text itself is not repeated in messages: many receivers take what is in it for a password."""
    if not text:
        return None
    allowed = "an http or https URL with a host, such as https://alerts.example.com/cronschedule"
    if len(text) > 2048 or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError(f"not {allowed}, of at most 2048 characters")
    try:
        parts = urlsplit(text)
        port_is_one = parts.port is None or parts.port > 0
    except ValueError:
        raise ValueError(f"not {allowed}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_one:
        raise ValueError(f"not {allowed}")
    if parts.username is not None or parts.password is not None:
        raise ValueError(
            "a name and password in the URL are not used; put a token into ALERT_WEBHOOK_TOKEN_FILE"
        )
    return text


def _read_election(read: Read) -> Election | None:
    switch = read("LEADER_ELECTION", "on", _one_of("on", "off"))
    election = Election(
        name=read("LEASE_NAME", "cronschedule-operator", _object_name),
        namespace=read("LEASE_NAMESPACE", "", lambda text: _object_name(text) if text else None),
        duration=read("LEASE_DURATION", "15s", _span(2, 600)),
        renew_deadline=read("RENEW_DEADLINE", "10s", _span(1, 600)),
        retry_period=read("RETRY_PERIOD", "2s", _span(1, 600)),
    )
    if not election.retry_period < election.renew_deadline < election.duration:
        raise SettingsError(
            "CRONSCHEDULE_RENEW_DEADLINE must be longer than CRONSCHEDULE_RETRY_PERIOD and shorter than "
            "CRONSCHEDULE_LEASE_DURATION"
        )
    return election if switch == "on" else None


def _object_name(text: str) -> str:
    if not _OBJECT_NAME.fullmatch(text):
        raise ValueError(
            f"{text!r} is not a name of at most 63 a-z, 0-9 and - that begins and ends with no -"
        )
    return text


def _object_names(text: str) -> tuple[str, ...]:
    names = tuple(_object_name(part.strip()) for part in text.split(",")) if text else ()
    if len(set(names)) < len(names):
        raise ValueError(f"{text!r} names a namespace twice")
    return names


def _readable_file(text: str) -> str | None:
    if not text:
        return None
    try:
        with Path(text).open("rb"):
            return text
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ValueError(
            f"{text!r} cannot be read ({why}); name a file that is there when the operator starts"
        ) from None


def _span(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        seconds = parse_duration(text)
        if not low <= seconds <= high:
            raise ValueError(
                f"{text!r} is out of range: {format_duration(low)} to {format_duration(high)} is allowed"
            )
        return seconds

    return parse


def _number(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise ValueError(f"{text!r} is not a whole number from {low} to {high}")
        return int(text)

    return parse


def _one_of(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{text!r} is not one of {', '.join(allowed)}")
        return text

    return parse
