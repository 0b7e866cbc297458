"""Where a zone's clock changes, and what that does to slots: for people who read a list of times."""

from dataclasses import dataclass

from cronschedule.core.cron import parse_cron
from cronschedule.core.slots import slots_of
from cronschedule.core.zones import stretches, year_of

DAY = 86400


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """At the UTC second `at` the offset (seconds east of UTC) becomes `after`; it was `before`."""

    at: int
    before: int
    after: int

    @property
    def forward(self) -> bool:
        return self.after > self.before

    def __str__(self) -> str:
        """`clocks go forward from 02:00 to 03:00 (+02:00 from here)`."""
        way = "forward" if self.forward else "back"
        old, new = _clock(self.at + self.before), _clock(self.at + self.after)
        return f"clocks go {way} from {old} to {new}"


def changes(zone: str, after: int, until: int) -> list[Change]:
    """The changes in (after, until]."""
    found = []
    for year in range(year_of(after), year_of(until) + 1):
        before: int | None = None
        for stretch in (*stretches(zone, year - 1)[-1:], *stretches(zone, year)):
            if before is not None and stretch.offset != before and after < stretch.start <= until:
                found.append(Change(at=stretch.start, before=before, after=stretch.offset))
            before = stretch.offset
    return found


def note(expression: str, zone: str, slot: int) -> str:
    """What a clock change does to this slot, in a sentence; empty for an ordinary one.

    `semantics.md §2`: under a wall-clock schedule a skipped time of day runs at the first instant after the gap,
    and one that comes twice runs at the first.
    """
    if not parse_cron(expression).wall_clock:
        return ""
    for change in changes(zone, slot - 1, slot + DAY):
        if change.forward and change.at == slot:
            skipped = _matching(expression, change.at + change.before, change.at + change.after)
            if skipped:
                landed = _clock(change.at + change.after)
                return f"{landed} stands for {_list(skipped)}, which {_does(skipped)} not exist on this day"
        local = slot + change.before
        if not change.forward and change.at + change.after <= local < change.at + change.before:
            return f"{_clock(local)} comes twice on this day; runs at the first only"
    return ""


def _matching(expression: str, first: int, last: int) -> list[str]:
    """The times of day at which the text matches, in local seconds [first, last)."""
    return [_clock(local) for local in slots_of(expression, "Etc/UTC").between(first - 1, last - 1)]


def _list(times: list[str]) -> str:
    return ", ".join(times[:3]) + (f" and {len(times) - 3} more" if len(times) > 3 else "")


def _does(times: list[str]) -> str:
    return "do" if len(times) > 1 else "does"


def _clock(local: int) -> str:
    return f"{local % DAY // 3600:02}:{local % 3600 // 60:02}"
