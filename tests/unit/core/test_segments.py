"""What became of all slots, in few words (segments): bounded, and never wrong about a slot that ran."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cronschedule.api.reasons import SkipReason
from cronschedule.api.v1alpha1 import ScheduleText, Segment
from cronschedule.core.facts import Decision, Ran, Skip, Start
from cronschedule.core.segments import MOST, Segments, segment_of, with_decision, with_run
from cronschedule.core.slots import slots_of

NOON = 1_800_014_400
TEXT = ScheduleText(expression="* * * * *", time_zone="Etc/UTC")
SLOTS = slots_of("* * * * *", "Etc/UTC")
FATES = {
    SkipReason.STALE: "Skipped",
    SkipReason.CATCH_UP_CAP_EXCEEDED: "Skipped",
    SkipReason.OVERLAP: "Skipped",
    SkipReason.TENANT_SUSPENDED: "Suspended",
    SkipReason.SCHEDULE_SUSPENDED: "Suspended",
}
Lives = list[tuple[SkipReason | None, int]]
"""Runs (`None`) and skips, each of so many slots, one after the other."""

lives = st.lists(st.tuples(st.sampled_from([None, *FATES]), st.integers(1, 9)), max_size=120)


def at(minute: int) -> int:
    return NOON + 60 * minute


def lived(life: Lives) -> tuple[Segments, list[str]]:
    """The segments, and the true fate of each minute."""
    segments: Segments = ()
    truth: list[str] = []
    for reason, count in life:
        decisions: list[Decision] = []
        first = len(truth)
        if reason is None:
            for minute in range(first, first + count):
                start = Start(slot=at(minute), trigger="Schedule", first=at(minute), count=1)
                decisions.append(Ran(start=start, job=f"x-{minute}"))
        else:
            last = at(first + count - 1)
            decisions.append(
                Skip(reason=reason, schedule=TEXT, first=at(first), last=last, count=count, message="")
            )
        for decision in decisions:
            segments = with_decision(segments, decision)
        truth += ["Run" if reason is None else FATES[reason]] * count
    return segments, truth


def check(segments: Segments, truth: list[str]) -> None:
    assert len(segments) <= MOST
    assert [each.fate for each in segments] == [
        each.fate for n, each in enumerate(segments) if n == 0 or segments[n - 1].fate != each.fate
    ]
    covered = [at(0) + 60 * n for n in range(len(truth))]
    walked = [slot for each in segments for slot in range(each.first, each.last + 1, 60)]
    assert walked == covered
    assert all(each.count == (each.last - each.first) // 60 + 1 for each in segments)
    for slot, fate in zip(covered, truth, strict=True):
        found = segment_of(segments, slot)
        assert found is not None
        assert found.fate in (fate, "Mixed")


@given(lives)
def test_each_decided_slot_is_in_one_segment_that_tells_its_fate_or_nothing(life: Lives) -> None:
    check(*lived(life))


@given(lives, st.lists(st.integers(0, 400), max_size=40))
def test_a_slot_that_is_run_after_all_is_a_run_from_then_on(life: Lives, minutes: list[int]) -> None:
    segments, truth = lived(life)
    for minute in minutes:
        before = segment_of(segments, at(minute))
        segments = with_run(segments, at(minute), SLOTS)
        if before is not None and before.fate in ("Skipped", "Suspended"):
            truth[minute] = "Run"
        check(segments, truth)


def test_a_healthy_schedule_has_one() -> None:
    assert lived([(None, 5000)])[0] == (Segment(first=at(0), last=at(4999), count=5000, fate="Run"),)


def test_an_outage_stays_exact_however_many_short_ones_come_after() -> None:
    life: Lives = [(None, 9), (SkipReason.CATCH_UP_CAP_EXCEEDED, 900)]
    segments, _ = lived(life + [(None, 1), (SkipReason.OVERLAP, 2)] * 500)
    (outage,) = [each for each in segments if each.fate == "Skipped" and each.count > 100]
    assert (outage.first, outage.count) == (at(9), 900)


def test_a_slot_that_nobody_has_decided_has_none() -> None:
    assert segment_of(lived([(None, 3)])[0], at(3)) is None
