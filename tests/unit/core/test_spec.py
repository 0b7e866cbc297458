"""A user's spec → one that can be scheduled, or every mistake in it: semantics.md §2 and §6 ("Invalid spec")."""

from typing import Any

import pytest
from acts import at

from cronschedule.core.spec import Schedulable, read_schedulable

TEMPLATE = {"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": []}}}}


def a_raw_spec(**fields: Any) -> dict[str, Any]:
    return {"schedule": "0 * * * *", "jobTemplate": TEMPLATE} | fields


def paths(read: Schedulable | list[Any]) -> list[str]:
    assert isinstance(read, list)
    return [mistake.path for mistake in read]


def test_a_right_spec_comes_with_its_slots() -> None:
    read = read_schedulable(a_raw_spec(timeZone="Asia/Kolkata"), name="report", unknown="ignore")
    assert isinstance(read, Schedulable)
    assert read.slots.after(at("10:00")) == at("10:30")
    assert (read.spec.schedule, read.spec.time_zone) == ("0 * * * *", "Asia/Kolkata")


def test_the_operator_ignores_keys_that_it_does_not_know() -> None:
    raw = a_raw_spec(priority=5)
    assert isinstance(read_schedulable(raw, unknown="ignore"), Schedulable)
    assert paths(read_schedulable(raw, unknown="refuse")) == ["spec.priority"]


def test_a_template_may_be_optional() -> None:
    raw = {"schedule": "0 * * * *"}
    assert isinstance(read_schedulable(raw, unknown="refuse", template="optional"), Schedulable)
    assert paths(read_schedulable(raw, unknown="ignore")) == ["spec.jobTemplate"]


@pytest.mark.parametrize(("length", "wrong"), [(52, []), (53, ["metadata.name"])])
def test_a_name_leaves_room_for_the_slot(length: int, wrong: list[str]) -> None:
    read = read_schedulable(a_raw_spec(), name="x" * length, unknown="ignore")
    assert (paths(read) if wrong else []) == wrong
    assert isinstance(read, Schedulable) is not bool(wrong)


WRONG: dict[str, tuple[dict[str, Any], list[str]]] = {
    "the cron text": ({"schedule": "60 * * * *"}, ["spec.schedule"]),
    "the zone": ({"timeZone": "Mars/Phobos"}, ["spec.timeZone"]),
    "both": ({"schedule": "60 * * * *", "timeZone": "Mars/Phobos"}, ["spec.schedule", "spec.timeZone"]),
    "shape and meaning": (
        {"timeZone": "Mars/Phobos", "maxStaleness": "2d"},
        ["spec.maxStaleness", "spec.timeZone"],
    ),
    "types": ({"schedule": 5, "timeZone": []}, ["spec.schedule", "spec.timeZone"]),
    "a combination": ({"catchUp": {}}, ["spec.catchUp"]),
}


@pytest.mark.parametrize(("fields", "expected"), WRONG.values(), ids=WRONG)
def test_every_mistake_is_told(fields: dict[str, Any], expected: list[str]) -> None:
    assert sorted(paths(read_schedulable(a_raw_spec(**fields), unknown="ignore"))) == expected


@pytest.mark.parametrize("raw", [None, [], "x", 5, {}], ids=repr)
def test_what_is_no_spec_at_all_is_a_mistake(raw: Any) -> None:
    assert paths(read_schedulable(raw, unknown="ignore"))
