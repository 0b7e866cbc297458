"""In UTC, where no clock changes, the slots are those of two well-known evaluators: croniter and cronsim.

Neither is asked for what it is known to read in its own way (a bare `*` in a list, equal or reversed ranges): these
are refused here. croniter goes by Debian's rule for the day fields when told so.
"""

import re
from datetime import UTC, datetime
from itertools import islice

from cron_values import TEXTS, parsed
from croniter import CroniterBadDateError, croniter
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from cronschedule.core.cron import parse_cron
from cronschedule.core.slots import Slots

AHEAD = 4
MOMENTS = st.integers(
    int(datetime(2020, 1, 1, tzinfo=UTC).timestamp()), int(datetime(2032, 1, 1, tzinfo=UTC).timestamp())
)


def by_croniter(text: str, moment: int) -> list[int]:
    start = datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)
    walk = croniter(text, start, ret_type=datetime, implement_cron_bug=True)
    return [int(walk.get_next().replace(tzinfo=UTC).timestamp()) for _ in range(AHEAD)]


def by_croniter_backwards(text: str, moment: int) -> list[int]:
    start = datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)
    walk = croniter(text, start, ret_type=datetime, implement_cron_bug=True)
    return [int(walk.get_prev().replace(tzinfo=UTC).timestamp()) for _ in range(AHEAD)]


def by_cronsim(text: str, moment: int) -> list[int]:
    start = datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)
    return [int(slot.replace(tzinfo=UTC).timestamp()) for slot in islice(CronSim(text, start), AHEAD)]


def read_in_another_way(text: str) -> bool:
    """Where §2 parts from the peers.

    They see a star only as the first character of a day field; cronsim lets `a/n` of weekdays run to 7, Sunday.
    """
    cron = parse_cron(text)
    *_, day, _, weekday = text.split()
    star_seen = day.startswith("*") or weekday.startswith("*")
    return cron.either_day is star_seen or re.search(r"(^|,)\w+/", weekday) is not None


@settings(deadline=None, derandomize=True, max_examples=400)
@given(TEXTS, MOMENTS)
def test_the_next_slots_in_utc_are_those_of_the_peers(text: str, moment: int) -> None:
    cron = parsed(text)
    if isinstance(cron, str) or read_in_another_way(text):
        return
    slots = Slots(cron, "Etc/UTC")
    mine = list(islice(slots.between(moment, moment + 45 * 366 * 86400), AHEAD))
    assert mine == by_cronsim(text, moment)
    try:
        assert mine == by_croniter(text, moment)
    except CroniterBadDateError:  # it gives up sooner
        return
    span = moment - 45 * 366 * 86400
    assert list(islice(slots.newest_first(max(span, 0), moment - 1), AHEAD)) == by_croniter_backwards(
        text, moment
    )
