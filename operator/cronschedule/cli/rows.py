"""Rows of `status.runHistory` in words."""

from cronschedule.api.reasons import CATALOGUE, SkipReason
from cronschedule.api.v1alpha1 import CronScheduleStatus, Row
from cronschedule.cli.story import between
from cronschedule.cli.words import count, local, span

STYLES = {"Succeeded": "good", "Failed": "bad", "Active": "strong"}


def first_slot(row: Row) -> int:
    """The oldest slot that a row is about."""
    return row.first_scheduled_time if row.first_scheduled_time is not None else row.scheduled_time


def time_of(row: Row, zone: str) -> str:
    return between(first_slot(row), row.scheduled_time, zone)


def what_of(row: Row) -> str:
    """`Succeeded (Manual)`, `Skipped Stale (6 slots)`."""
    if row.outcome != "Skipped":
        return row.outcome + (f" ({row.trigger})" if row.trigger not in (None, "Schedule") else "")
    many = f" ({count(row.count, 'slot')})" if row.count is not None and row.count > 1 else ""
    return f"Skipped {row.reason}{many}"


def why_of(row: Row, zone: str) -> str:
    """Of a skip why it was, of a run how it went."""
    if row.outcome == "Skipped":
        return row.message or meaning_of(row.reason)
    parts = []
    if row.start_time is not None and row.trigger != "Manual" and row.start_time - row.scheduled_time > 1:
        parts.append(f"{span(row.start_time - row.scheduled_time)} late")
    if row.stands_for is not None and row.stands_for.count > 1:
        parts.append(f"stands for {row.stands_for.count:,} slots since {local(row.stands_for.first, zone)}")
    if row.start_time is not None and row.completion_time is not None:
        parts.append(f"took {span(max(row.completion_time - row.start_time, 0))}")
    if row.reason:
        parts.append(row.reason)
    if row.message:
        parts.append(row.message)
    return "; ".join([row.job or "no Job", *parts])


def meaning_of(reason: str | None) -> str:
    """The catalogue's sentence; a reason of a newer operator has none here."""
    known = next((each for each in SkipReason if each.value == reason), None)
    return CATALOGUE[known].meaning if known is not None else ""


def style_of(row: Row) -> str:
    if row.outcome != "Skipped":
        return STYLES.get(row.outcome, "note")
    known = next((each for each in SkipReason if each.value == row.reason), None)
    return "bad" if known is not None and CATALOGUE[known].event_type == "Warning" else "note"


def totals_of(status: CronScheduleStatus) -> str:
    """`361 slots since creation: 1 run (1 succeeded, 0 failed), 360 skipped (Coalesced 360).`"""
    counts, skipped = status.counts, sum(status.counts.skipped.values())
    why = ", ".join(f"{reason} {number:,}" for reason, number in sorted(counts.skipped.items()))
    text = f"{count(counts.runs + skipped, 'slot')} since creation: {count(counts.runs, 'run')}"
    text += f" ({counts.succeeded:,} succeeded, {counts.failed:,} failed), {skipped:,} skipped"
    text += f" ({why})" if why else ""
    return text + (f"; {count(counts.manual, 'run')} by hand." if counts.manual else ".")
