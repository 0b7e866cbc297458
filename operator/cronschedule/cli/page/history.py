"""The page of a live schedule's history: its rows of `status.runHistory`."""

from collections.abc import Iterable

from cronschedule.api.shapes import format_duration
from cronschedule.api.v1alpha1 import Row
from cronschedule.cli.incidents import SUSPENDED
from cronschedule.cli.live import Live
from cronschedule.cli.page.document import Page, first_lines, render
from cronschedule.cli.page.simulation import ORDER
from cronschedule.cli.page.timeline import Band, Timeline
from cronschedule.cli.rows import first_slot, style_of, time_of, totals_of, what_of, why_of
from cronschedule.cli.story import Line
from cronschedule.cli.words import local

SUSPENSIONS = ("TenantSuspended", "ScheduleSuspended")
MARGIN = 50
"""Parts of the whole that are left free before the first row."""


def page(live: Live, rows: Iterable[Row], now: int) -> str:
    """The HTML file that shows the rows, given newest first, up to now."""
    told = list(reversed(list(rows)))
    first = min((first_slot(row) for row in told), default=now - 3600)
    start = first - max((now - first) // MARGIN, 60)
    timeline = Timeline(start=start, end=now, zone=live.zone, order=ORDER)
    timeline.bands = [
        Band(name=SUSPENDED, start=since, end=end) for since, end in _suspensions(live, told, now)
    ]
    lines, more = first_lines((_line(live, row, now) for row in told), timeline)
    return render(
        Page(
            title=f"{live.title}, {local(start, live.zone)} to {local(now, live.zone)}",
            opening=_opening(live),
            timeline=timeline,
            lines=lines,
            more=more,
            closing=[totals_of(live.status), *_standing(live)],
        )
    )


def _line(live: Live, row: Row, now: int) -> Line:
    start = row.scheduled_time if row.outcome == "Skipped" else row.start_time or row.scheduled_time
    end = row.completion_time or (now if row.outcome == "Active" else start)
    return Line(
        time=time_of(row, live.zone),
        what=what_of(row),
        why=why_of(row, live.zone),
        style=style_of(row),
        lane=row.outcome if row.outcome != "Skipped" else row.reason or row.outcome,
        start=first_slot(row) if row.outcome == "Skipped" else start,
        end=end,
        count=row.count if row.count is not None else 1,
        slot=row.scheduled_time if row.outcome != "Skipped" else None,
    )


def _suspensions(live: Live, rows: Iterable[Row], now: int) -> list[tuple[int, int]]:
    """From the skips that suspensions left, and the one that is not over."""
    found = [(first_slot(row), row.scheduled_time) for row in rows if row.reason in SUSPENSIONS]
    if live.status.suspension is not None:
        found.append((live.status.suspension.since, now))
    return [window for window in found if window[0] < window[1]]


def _opening(live: Live) -> str:
    spec = live.spec
    if spec is None:
        return f"{live.title} cannot be scheduled. {live.trouble}".strip()
    return (
        f"{live.title}: {spec.schedule!r} in {spec.time_zone}, misfirePolicy {spec.misfire_policy}, maxStaleness"
        f" {format_duration(spec.max_staleness)}, concurrencyPolicy {spec.concurrency_policy}."
    )


def _standing(live: Live) -> list[str]:
    if live.status.suspension is not None:
        since = local(live.status.suspension.since, live.zone)
        return [f"Suspended since {since} ({live.status.suspension.reason})."]
    coming = live.status.next_schedule_time
    return [f"Next slot: {local(coming, live.zone)}."] if coming is not None else []
