"""What became of all slots, in few words: stretches of slots with one fate, oldest first.

Rows of the history fall off and Jobs are deleted; these stay, so that a slot that ran is never run again. There are at
most `MOST` of them: beyond that the two neighbours that are about the fewest slots become one whose fate is not known
any more. So the large stretches (outages) stay exact, and what is not exact is never taken for a slot that did not run.
"""

from collections.abc import Sequence

from cronschedule.api.reasons import SkipReason
from cronschedule.api.v1alpha1 import Segment
from cronschedule.core.facts import Decision, Skip
from cronschedule.core.slots import Slots

MOST = 32
RUN, SKIPPED, SUSPENDED, MIXED = "Run", "Skipped", "Suspended", "Mixed"
SUSPENSIONS = (SkipReason.TENANT_SUSPENDED, SkipReason.SCHEDULE_SUSPENDED)

Segments = tuple[Segment, ...]


def with_decision(segments: Segments, decision: Decision) -> Segments:
    """The segments with one more decision; decisions come in slot order."""
    if not isinstance(decision, Skip):
        slot = decision.start.slot
        return joined((*segments, Segment(first=slot, last=slot, count=1, fate=RUN)))
    fate = SUSPENDED if decision.reason in SUSPENSIONS else SKIPPED
    fresh = Segment(first=decision.first, last=decision.last, count=decision.count, fate=fate)
    return joined((*segments, fresh))


def with_run(segments: Segments, slot: int, slots: Slots) -> Segments:
    """The segments once a slot that was skipped has been run after all."""
    found = segment_of(segments, slot)
    if found is None or found.fate in (RUN, MIXED):
        return segments
    position = segments.index(found)
    before, after = slots.newest(found.first - 1, slot - 1), slots.after(slot)
    parts = [Segment(first=slot, last=slot, count=1, fate=RUN)]
    if before is not None:
        count = slots.count(found.first - 1, before)
        parts.insert(0, Segment(first=found.first, last=before, count=count, fate=found.fate))
    if after is not None and after <= found.last:
        count = slots.count(after - 1, found.last)
        parts.append(Segment(first=after, last=found.last, count=count, fate=found.fate))
    return joined((*segments[:position], *parts, *segments[position + 1 :]))


def segment_of(segments: Sequence[Segment], slot: int) -> Segment | None:
    """The segment that a slot is in; `None` where nothing is known of it."""
    return next((segment for segment in segments if segment.first <= slot <= segment.last), None)


def joined(segments: Sequence[Segment]) -> Segments:
    """Neighbours of one fate as one, and no more than `MOST` in all."""
    kept: list[Segment] = []
    for segment in segments:
        if kept and kept[-1].fate == segment.fate:
            kept[-1] = _one(kept[-1], segment, segment.fate)
        else:
            kept.append(segment)
    while len(kept) > MOST:
        position = min(range(len(kept) - 1), key=lambda at: kept[at].count + kept[at + 1].count)
        both = _one(kept[position], kept[position + 1], MIXED)
        kept[position : position + 2] = [both]
        while position + 1 < len(kept) and kept[position + 1].fate == MIXED:
            kept[position : position + 2] = [_one(kept[position], kept[position + 1], MIXED)]
        while position and kept[position - 1].fate == MIXED:
            kept[position - 1 : position + 1] = [_one(kept[position - 1], kept[position], MIXED)]
            position -= 1
    return tuple(kept)


def _one(before: Segment, after: Segment, fate: str) -> Segment:
    return Segment(first=before.first, last=after.last, count=before.count + after.count, fate=fate)
