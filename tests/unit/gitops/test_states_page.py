"""docs/states.md, which says what to do about each state."""

import re
from pathlib import Path

from cronschedule.api.reasons import SkipReason

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "states.md").read_text()


def test_says_what_to_do_about_every_reason_for_a_skip() -> None:
    rows = PAGE.split("## Slots that were skipped")[1].splitlines()
    named = [
        reason for row in rows for reason in re.findall(r"`(\w+)`", row.split("|")[1] if "|" in row else "")
    ]
    assert sorted(named) == sorted(SkipReason)
