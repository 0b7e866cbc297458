"""A range of slots that shall be run after all: what would become of each, told by the operator's own planner."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cronschedule.api.backfill import FATES, Fate
from cronschedule.api.names import API_VERSION, BACKFILL_KIND, BACKFILL_PLURAL, GROUP
from cronschedule.api.shapes import format_time
from cronschedule.api.v1alpha1 import Segment
from cronschedule.cli.errors import CommandError
from cronschedule.cli.live import Live
from cronschedule.cli.words import count
from cronschedule.core.backfill import Known, Order, failed_slots, next_step
from cronschedule.core.facts import Facts
from cronschedule.core.jobs import read_job
from cronschedule.core.slots import slots_of
from cronschedule.core.status import read_ledger

BACKFILLS = f"{BACKFILL_PLURAL}.{GROUP}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outlook:
    """What would become of the slots; `undecided` are those that the schedule itself has yet to decide."""

    segments: tuple[Segment, ...]
    undecided: int

    @property
    def nothing_runs(self) -> bool:
        return not self.undecided and not self._slots(Fate.WOULD_RUN)

    @property
    def summary(self) -> str:
        """`63 of 70 slots are to be run; 7 are not (AlreadyRan 7).`"""
        runs, total = self._slots(Fate.WOULD_RUN), sum(segment.count for segment in self.segments)
        by_fate = {fate: number for fate in Fate if fate != Fate.WOULD_RUN and (number := self._slots(fate))}
        why = ", ".join(f"{fate.value} {number:,}" for fate, number in by_fate.items())
        text = f"{runs:,} of {count(total + self.undecided, 'slot')} are to be run"
        text += f"; {total - runs:,} are not ({why})" if why else ""
        return text + (f"; {self.undecided:,} are yet to be decided." if self.undecided else ".")

    def _slots(self, fate: Fate) -> int:
        return sum(segment.count for segment in self.segments if segment.fate == fate.value)


def read_order(
    live: Live, first: int, last: int, *, max_concurrent: int, rerun_failed: bool, include_suspended: bool
) -> Order:
    """Raises `CommandError` where nothing can be run at all."""
    if live.spec is None or live.trouble:
        raise CommandError(f"{live.title} cannot run. {live.trouble or 'Its spec is invalid.'}")
    return Order(
        uid="none yet",
        first=first,
        last=last,
        max_concurrent=max_concurrent,
        rerun_failed=rerun_failed,
        include_suspended=include_suspended,
        dry_run=True,
    )


def look_ahead(live: Live, order: Order, jobs: Iterable[Mapping[str, Any]]) -> Outlook:
    """What would become of the slots now."""
    assert live.spec is not None
    slots = slots_of(live.spec.schedule, live.spec.time_zone)
    ledger = read_ledger(live.status)
    facts = Facts(
        spec=live.spec,
        slots=slots,
        created=live.created,
        adopted=True,
        ledger=ledger,
        tenant_suspended=None,
        jobs=tuple(read_job(job).fact for job in jobs),
    )
    known = Known(
        facts=facts,
        decided=live.status.decided_slots,
        failed=failed_slots(live.status.run_history),
        busy=False,
    )
    step = next_step(order, known, settled_until=order.first - 1)
    decided = max(ledger.last_decided if ledger is not None else live.created, order.first - 1)
    return Outlook(segments=step.settled, undecided=slots.count(decided, order.last))


def backfill_manifest(live: Live, order: Order) -> dict[str, Any]:
    """The Backfill to create; the API server completes its name."""
    spec: dict[str, Any] = {
        "schedule": live.name,
        "from": format_time(order.first),
        "to": format_time(order.last),
        "maxConcurrent": order.max_concurrent,
        "onExisting": "RerunFailed" if order.rerun_failed else "Skip",
    }
    if order.include_suspended:
        spec["includeSuspended"] = True
    return {
        "apiVersion": API_VERSION,
        "kind": BACKFILL_KIND,
        "metadata": {"namespace": live.namespace, "generateName": f"{live.name}-"},
        "spec": spec,
    }


def told_by_fate(fate: str) -> str:
    """What a fate means, in a sentence; one of a newer operator has none here."""
    known = next((each for each in Fate if each.value == fate), None)
    return FATES[known] if known is not None else ""
