"""The page of a simulation."""

from cronschedule.api.reasons import SkipReason
from cronschedule.cli.incidents import DOWN, EVENTS, SUSPENDED, within
from cronschedule.cli.page.document import Page, first_lines, render
from cronschedule.cli.page.timeline import LATE, Band, Timeline
from cronschedule.cli.story import closing, opening, tell
from cronschedule.cli.words import local
from cronschedule.core.simulation import Outcome, Scenario, Window, merge_windows

ORDER = (
    *("Succeeded", "Active", "Replaced", "Failed", "Deleted", LATE),
    *(reason.value for reason in SkipReason),
    *(DOWN, SUSPENDED, EVENTS),
)
"""Lanes from top to bottom."""


def page(scenario: Scenario, outcome: Outcome) -> str:
    """The HTML file that shows what `simulate` answers."""
    zone = scenario.specs[0][1].time_zone
    timeline = Timeline(start=scenario.start, end=scenario.end, zone=zone, order=ORDER)
    suspended = merge_windows([*scenario.tenant_suspended, *_own_suspensions(scenario)])
    for name, windows in ((DOWN, scenario.operator_down), (SUSPENDED, suspended)):
        timeline.bands += [Band(name=name, start=start, end=end) for start, end in within(scenario, windows)]
    lines, more = first_lines(tell(scenario, outcome), timeline)
    return render(
        Page(
            title=f"{scenario.name}, {local(scenario.start, zone)} to {local(scenario.end, zone)}",
            opening=opening(scenario),
            timeline=timeline,
            lines=lines,
            more=more,
            closing=list(closing(scenario, outcome)),
        )
    )


def _own_suspensions(scenario: Scenario) -> list[Window]:
    """When spec.suspend was true."""
    ends = [*(at for at, _ in scenario.specs[1:]), scenario.end]
    return [(at, end) for (at, spec), end in zip(scenario.specs, ends, strict=True) if spec.suspend]
