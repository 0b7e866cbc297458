"""The pages users read know every word of the catalogue and every setting."""

import re
from pathlib import Path

import pytest

from cronschedule.api.reasons import CATALOGUE, EventReason, SkipReason
from cronschedule.runtime import settings

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.mark.parametrize("reason", [*SkipReason, *EventReason])
def test_every_reason_is_explained_as_in_the_catalogue(reason: SkipReason | EventReason) -> None:
    row = next(line for line in (DOCS / "rules.md").read_text().splitlines() if f"| `{reason.value}` |" in line)
    assert CATALOGUE[reason].meaning in row


def test_every_setting_is_documented_and_nothing_else_is() -> None:
    read = set(re.findall(r'read\("([A-Z_]+)"', Path(settings.__file__).read_text()))
    documented = set(re.findall(r"\| `CRONSCHEDULE_([A-Z_]+)`", (DOCS / "settings.md").read_text()))
    assert read
    assert documented == read
