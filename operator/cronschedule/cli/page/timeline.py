"""Where things lie on a timeline: lanes of marks, and the ticks of its axis. Nothing here knows HTML.

Moments are UTC seconds. Marks that would touch on the screen are one mark that says how many it is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cronschedule.cli.story import Line, between
from cronschedule.cli.words import count
from cronschedule.core.zones import load_zone

GAP, PITCH = 1 / 600, 1 / 250
"""Parts of the width: marks with less between them, or beginning closer to each other, are one."""
TICKS = 13
LATE = "Ran late"
"""The lane of slots whose runs lie elsewhere."""
MINUTE, HOUR, DAY = 60, 3600, 86400
STEPS = (
    *(MINUTE * n for n in (1, 2, 5, 10, 15, 30)),
    *(HOUR * n for n in (1, 2, 3, 6, 12)),
    *(DAY * n for n in (1, 2, 7, 14, 28, 91, 182, 365)),
)


@dataclass(kw_only=True, slots=True)
class Mark:
    """One or more things of a kind: from when to when, what it is (an adjective of the lane), what it says."""

    start: int
    end: int
    said: str
    count: int = 1
    merged: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Band:
    """A time in the background of all lanes, as an outage."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Tick:
    at: int
    label: str
    strong: bool


@dataclass(kw_only=True, slots=True)
class Timeline:
    """From `start` to `end`, told in `zone`. Lanes are in the order in which they are shown."""

    start: int
    end: int
    zone: str
    order: tuple[str, ...]
    lanes: dict[str, list[Mark]] = field(default_factory=dict)
    bands: list[Band] = field(default_factory=list)

    def add(self, line: Line) -> None:
        """Put a line into its lane, oldest first; a run that began well after its slot into two."""
        if not line.lane:
            return
        said = f"{line.time}: {line.what}. {line.why}".rstrip()
        if line.slot is not None and line.start - line.slot > self._width * PITCH:
            self._mark(LATE, Mark(start=line.slot, end=line.slot, said=said, count=1))
        self._mark(
            line.lane, Mark(start=line.start, end=max(line.end, line.start), said=said, count=line.count)
        )

    def _mark(self, lane: str, mark: Mark) -> None:
        mark.start, mark.end = max(mark.start, self.start), min(mark.end, self.end)
        marks = self.lanes.setdefault(lane, [])
        last = marks[-1] if marks else None
        if last is None or not self._touch(last, mark):
            marks.append(mark)
            return
        last.end, last.count, last.merged = max(last.end, mark.end), last.count + mark.count, last.merged + 1

    def _touch(self, last: Mark, mark: Mark) -> bool:
        return mark.start - last.end < self._width * GAP or mark.start - last.start < self._width * PITCH

    @property
    def _width(self) -> int:
        return self.end - self.start

    def sorted_lanes(self) -> Iterator[tuple[str, list[Mark]]]:
        """The lanes that have marks."""
        names = [*self.order, *sorted(self.lanes.keys() - set(self.order))]
        for name in names:
            if name in self.lanes:
                yield name, self.lanes[name]

    def sentence(self, name: str, mark: Mark) -> str:
        """What a mark says."""
        if mark.merged == 1:
            return mark.said
        many = count(mark.count, "slot") if mark.count else count(mark.merged, "time")
        return f"{between(mark.start, mark.end, self.zone)}: {name}, {many}."

    def share(self, moment: int) -> float:
        """Where a moment lies, as a percentage of the width."""
        return 100 * (moment - self.start) / max(self.end - self.start, 1)

    def ticks(self) -> list[Tick]:
        """Moments at which the wall clock shows a round time, close enough to read and far enough apart."""
        length = self.end - self.start
        step = next((step for step in STEPS if length / step <= TICKS), 365 * DAY)
        return [tick for tick in self._round_times(step) if self.start <= tick.at <= self.end]

    def _round_times(self, step: int) -> Iterable[Tick]:
        there = datetime.fromtimestamp(self.start, load_zone(self.zone)).replace(tzinfo=None)
        clock = there.replace(hour=0, minute=0, second=0, microsecond=0)
        if step > DAY:
            clock -= timedelta(days=(clock.date().toordinal() - 1) % (step // DAY))
        for _ in range(length_in_steps(self.end - self.start, step)):
            at = int(clock.replace(tzinfo=load_zone(self.zone)).astimezone(UTC).timestamp())
            midnight = clock.hour == clock.minute == 0
            back = datetime.fromtimestamp(at, load_zone(self.zone)).replace(tzinfo=None)
            if back == clock:  # a time of day that a clock change skips has no place
                yield Tick(at=at, label=f"{clock:%d %b}" if midnight else f"{clock:%H:%M}", strong=midnight)
            clock += timedelta(seconds=step)


def length_in_steps(length: int, step: int) -> int:
    """How many steps from a day before the start reach beyond the end."""
    return (length + 2 * DAY + 2 * step) // step
