"""The operator's settings: defaults, bounds, and the sentence for what cannot be used."""

from __future__ import annotations

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
        pytest.param("LOG_LEVEL", "loud", id="log-level"),
        pytest.param("LOG_FORMAT", "xml", id="log-format"),
    ],
)
def test_what_cannot_be_used_is_refused_by_the_name_of_its_variable(name: str, text: str) -> None:
    with pytest.raises(SettingsError, match=f"^CRONSCHEDULE_{name}: "):
        read_settings({f"CRONSCHEDULE_{name}": text})


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
