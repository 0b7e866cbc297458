"""The parser of cron texts against an independent reading of semantics.md §2, and against hostile texts."""

import re

import pytest
from cron_values import TEXTS, as_sets, parsed, scanned, text_with
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scan import read

from cronschedule.core.cron import FIELDS


@settings(deadline=None, derandomize=True, max_examples=600)
@given(TEXTS)
def test_the_values_are_those_of_an_independent_reading(text: str) -> None:
    cron = parsed(text)
    if isinstance(cron, str):
        assert "never run" in cron
        return
    expression = read(text)
    assert as_sets(cron) == scanned(text)
    assert cron.either_day is not (expression.day.starred or expression.weekday.starred)
    assert cron.wall_clock is expression.is_wall_clock


@pytest.mark.parametrize("name", [field.name for field in FIELDS])
def test_each_single_item_of_a_field_is_judged_by_the_rules(name: str) -> None:
    """Values, names and pairs of them, in and out of bounds, with a choice of steps."""
    field = next(field for field in FIELDS if field.name == name)
    words = [str(number) for number in range(0, field.high + 2, 2 if field.high > 40 else 1)]
    words += list(field.names)[:3]
    steps = ["", "/0", "/1", "/2", f"/{field.size}", f"/{field.size + 1}"]
    for base in ["*", *words, *(f"{low}-{high}" for low in words for high in words)]:
        for step in steps:
            expect_judgement(name, base + step)


def expect_judgement(name: str, item: str) -> None:
    text = text_with(name, item)
    found = parsed(text)
    if isinstance(found, str) and "never run" not in found:
        assert found.startswith(f"{name}: "), text
        assert not allowed(name, item), text
    else:
        assert allowed(name, item), text


def allowed(name: str, item: str) -> bool:
    """§2 for a single item, written anew."""
    field = next(field for field in FIELDS if field.name == name)
    base, slash, step = item.partition("/")
    if slash and not 1 <= int(step) <= field.size:
        return False
    if base == "*":
        return True
    ends = [field.names.get(end, int(end) if end.isdigit() else -1) for end in base.split("-")]
    return all(field.low <= end <= field.high for end in ends) and (len(ends) == 1 or ends[0] < ends[1])


HOSTILE = st.text(max_size=200) | st.text(alphabet="0123456789*/,-#?LWHR@~ \tjanfebsunTZ=+._", max_size=200)


@settings(deadline=None, derandomize=True, max_examples=1500)
@given(HOSTILE)
@example("9" * 100)
@example("*/" + "9" * 90 + " * * * *")
@example("0 0 * * " + "0" * 90 + "7")
@example("@" * 100)
@example(("0," * 45) + "0 * * * *")
@example("\ud800 * * * *")
def test_any_text_is_either_refused_in_a_sentence_or_read(text: str) -> None:
    cron = parsed(text)
    if isinstance(cron, str):
        assert re.match(r"(minute|hour|day-of-month|month|day-of-week): |the schedule |[\"']@", cron)
        return
    assert len(text) <= 100
    assert all(as_sets(cron))
