"""The pages users read know every word of the catalogue and every setting."""

import re
from pathlib import Path

from cronschedule.api import conditions
from cronschedule.api.reasons import CATALOGUE, EventReason, SkipReason
from cronschedule.core import status
from cronschedule.runtime import settings

DOCS = Path(__file__).resolve().parents[3] / "docs"


def test_every_condition_the_operator_writes_is_explained() -> None:
    written = set(re.findall(r'_condition\(\s*view, "([A-Za-z]+)"', Path(status.__file__).read_text()))
    assert written == set(conditions.MEANINGS)


def test_every_reason_has_a_meaning() -> None:
    assert set(CATALOGUE) == {*SkipReason, *EventReason}


def test_every_setting_is_documented_and_nothing_else_is() -> None:
    read = set(re.findall(r'read\("([A-Z_]+)"', Path(settings.__file__).read_text()))
    documented = set(re.findall(r"\| `CRONSCHEDULE_([A-Z_]+)`", (DOCS / "settings.md").read_text()))
    assert read
    assert documented == read
