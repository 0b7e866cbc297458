"""The operator's settings: defaults, bounds, and the sentence for what cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from cronschedule.runtime.settings import SettingsError, parse_selector, read_settings


def test_without_an_environment_the_defaults_hold() -> None:
    settings = read_settings({})
    assert settings.misfire_threshold == 60
    assert settings.suspension_selector.matches({"cronschedule.dev/suspended": "true"})
    assert not settings.suspension_selector.matches({"cronschedule.dev/suspended": "false"})
    limits = settings.catch_up
    assert (limits.per_minute, limits.per_minute_and_namespace, limits.active) == (600, 60, 200)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("MISFIRE_THRESHOLD", "0s", id="threshold-too-short"),
        pytest.param("MISFIRE_THRESHOLD", "10m1s", id="threshold-too-long"),
        pytest.param("MISFIRE_THRESHOLD", "60", id="threshold-without-a-unit"),
        pytest.param("SUSPENSION_SELECTOR", "a in (b)", id="selector-of-sets"),
        pytest.param("SUSPENSION_SELECTOR", "", id="selector-of-nothing"),
        pytest.param("CATCH_UP_PER_MINUTE", "0", id="no-catching-up"),
        pytest.param("CATCH_UP_ACTIVE", "-1", id="below-zero"),
        pytest.param("WRITERS", "5001", id="too-many-writers"),
        pytest.param("WRITERS", "4.5", id="half-a-writer"),
        pytest.param("LEADER_ELECTION", "true", id="election-neither-on-nor-off"),
        pytest.param("LEASE_NAME", "A_b", id="lease-name"),
        pytest.param("LEASE_NAMESPACE", "-", id="lease-namespace"),
        pytest.param("WATCH_NAMESPACES", "team-a,,team-b", id="a-namespace-without-a-name"),
        pytest.param("NAMESPACE_SELECTOR", "shard in (a)", id="a-selector-of-sets"),
        pytest.param("WATCH_NAMESPACES", "*", id="namespaces-by-a-pattern"),
        pytest.param("WATCH_NAMESPACES", "team-a, team-a", id="a-namespace-twice"),
        pytest.param("LEASE_DURATION", "1s", id="lease-too-short"),
        pytest.param("LEASE_DURATION", "10m1s", id="lease-too-long"),
        pytest.param("RENEW_DEADLINE", "15s", id="deadline-as-long-as-the-lease"),
        pytest.param("RENEW_DEADLINE", "2s", id="deadline-as-short-as-the-retry-period"),
        pytest.param("RETRY_PERIOD", "0s", id="no-retry-period"),
        pytest.param("HEALTH_PORT", "65536", id="port"),
        pytest.param("LOG_LEVEL", "loud", id="log-level"),
        pytest.param("LOG_FORMAT", "xml", id="log-format"),
        pytest.param("ALERT_WEBHOOK_URL", "alerts.example.com", id="webhook-without-a-scheme"),
        pytest.param("ALERT_WEBHOOK_URL", "ftp://alerts.example.com/", id="webhook-of-another-kind"),
        pytest.param("ALERT_WEBHOOK_URL", "file:///etc/passwd", id="webhook-that-is-a-file"),
        pytest.param("ALERT_WEBHOOK_URL", "https:///path", id="webhook-without-a-host"),
        pytest.param("ALERT_WEBHOOK_URL", "https://[::1/", id="webhook-with-half-an-address"),
        pytest.param("ALERT_WEBHOOK_URL", "https://a.example:99999/", id="webhook-with-no-port"),
        pytest.param("ALERT_WEBHOOK_URL", "https://me:secret@a.example/", id="webhook-with-a-password"),
        pytest.param("ALERT_WEBHOOK_URL", "https://a.example/ b", id="webhook-with-a-blank"),
        pytest.param("ALERT_WEBHOOK_URL", "https://a.example/\r\nX: y", id="webhook-with-a-header"),
        pytest.param("ALERT_WEBHOOK_URL", "https://a.example/" + "x" * 2048, id="webhook-too-long"),
        pytest.param("ALERT_WEBHOOK_TOKEN_FILE", "/not/there", id="token-that-is-not-there"),
        pytest.param("ALERT_WEBHOOK_CA_FILE", "/", id="authority-that-is-a-folder"),
        pytest.param("ALERT_WEBHOOK_TIMEOUT", "0s", id="no-time-to-answer"),
        pytest.param("ALERT_WEBHOOK_TIMEOUT", "1m1s", id="too-long-to-answer"),
    ],
)
def test_what_cannot_be_used_is_refused_by_the_name_of_its_variable(name: str, text: str) -> None:
    with pytest.raises(SettingsError, match=f"^CRONSCHEDULE_{name}\\b"):
        read_settings({f"CRONSCHEDULE_{name}": text})


def test_all_namespaces_are_looked_after_unless_some_are_named() -> None:
    assert read_settings({}).namespaces == ()
    assert read_settings({"CRONSCHEDULE_WATCH_NAMESPACES": "b, a"}).namespaces == ("b", "a")


def test_namespaces_may_be_told_apart_by_their_labels() -> None:
    everywhere = read_settings({}).namespace_selector
    assert everywhere.matches({})
    assert everywhere.matches({"shard": "north"})
    rest = read_settings({"CRONSCHEDULE_NAMESPACE_SELECTOR": "shard!=north"}).namespace_selector
    assert [rest.matches(labels) for labels in ({}, {"shard": "south"}, {"shard": "north"})] == [
        True,
        True,
        False,
    ]


def test_there_is_an_election_unless_it_is_switched_off() -> None:
    election = read_settings({}).election
    assert election is not None
    assert (election.name, election.namespace) == ("cronschedule-operator", None)
    assert (election.duration, election.renew_deadline, election.retry_period) == (15, 10, 2)
    assert read_settings({"CRONSCHEDULE_LEADER_ELECTION": "off"}).election is None


@pytest.mark.parametrize("text", ["1s", "10m"])
def test_the_bounds_of_the_threshold_are_allowed(text: str) -> None:
    assert read_settings({"CRONSCHEDULE_MISFIRE_THRESHOLD": text}).misfire_threshold in (1, 600)


@pytest.mark.parametrize(
    ("selector", "labels", "wanted"),
    [
        pytest.param("a=b", {"a": "b"}, True, id="equal"),
        pytest.param("a==b", {"a": "c"}, False, id="other-value"),
        pytest.param("a!=b", {}, True, id="not-equal-for-want-of-the-label"),
        pytest.param("a!=b", {"a": "b"}, False, id="not-equal"),
        pytest.param("a", {"a": ""}, True, id="there"),
        pytest.param("!a", {"a": ""}, False, id="not-there"),
        pytest.param("a=b, !c", {"a": "b"}, True, id="both-hold"),
        pytest.param("a=b,!c", {"a": "b", "c": "d"}, False, id="one-does-not"),
        pytest.param("a=", {"a": ""}, True, id="the-empty-value"),
    ],
)
def test_a_selector_matches_as_kubectl_does(selector: str, labels: dict[str, str], wanted: object) -> None:
    assert parse_selector(selector).matches(labels) is wanted


def test_without_a_url_there_is_no_webhook() -> None:
    assert read_settings({}).webhook is None
    assert read_settings({"CRONSCHEDULE_ALERT_WEBHOOK_TIMEOUT": "5s"}).webhook is None


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://alerts.example.com/", True),
        ("HTTPS://alerts.example.com/", True),
        ("http://127.0.0.1:8080/", True),
        ("http://[::1]/", True),
        ("http://localhost/", True),
        ("http://alerts.example.com/", False),
        ("http://10.0.0.1/", False),
        ("http://localhost.example.com/", False),
        ("http://127.0.0.1.example.com/", False),
    ],
)
def test_a_token_crosses_no_network_in_the_clear(url: str, allowed: object, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    environ = {"CRONSCHEDULE_ALERT_WEBHOOK_URL": url, "CRONSCHEDULE_ALERT_WEBHOOK_TOKEN_FILE": str(token)}
    if not allowed:
        with pytest.raises(SettingsError, match="unencrypted"):
            read_settings(environ)
        return
    webhook = read_settings(environ).webhook
    assert webhook is not None
    assert (webhook.url, webhook.token_file, webhook.timeout) == (url, str(token), 10)


def test_no_message_repeats_a_url_that_may_hold_a_secret() -> None:
    for url in "hooks.example/T00/B00/secret", "https://me:secret@a.example/", "https://a/secret b":
        with pytest.raises(SettingsError) as told:
            read_settings({"CRONSCHEDULE_ALERT_WEBHOOK_URL": url})
        assert "secret" not in str(told.value)
    webhook = read_settings({"CRONSCHEDULE_ALERT_WEBHOOK_URL": "https://a.example/secret"}).webhook
    assert "secret" not in repr(webhook)
