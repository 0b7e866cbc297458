"""Why did, or didn't, a slot run? An answer from a schedule and its status.

a row tells it            → its outcome or reason, the rule behind it, what to change
no row, and not decided   → what it waits for: suspension, backlog, retry, the operator
no row, and decided       → the row has fallen off; the totals remain
no slot                   → the slots around
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cronschedule.api.conditions import find
from cronschedule.api.reasons import SkipReason
from cronschedule.api.v1alpha1 import Row
from cronschedule.cli.advice import ADVICE
from cronschedule.cli.clock_changes import note
from cronschedule.cli.live import Live
from cronschedule.cli.rows import first_slot, meaning_of, time_of, totals_of, what_of, why_of
from cronschedule.cli.words import count, local, span

MINUTE = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """`answer` says what became of it; the facts are pairs of a word and a sentence. `rows` are what it rests on."""

    slot: int | None
    answer: str
    facts: Sequence[tuple[str, str]]
    rows: Sequence[Row] = ()


def explain(live: Live, at: int | None, now: int) -> Explanation:
    """The slot at a moment (UTC seconds), or the newest that was decided."""
    if at is None:
        if not live.status.run_history:
            return Explanation(slot=None, answer="Nothing has been decided yet.", facts=_standing(live, now))
        row = live.status.run_history[0]
        return _of_row(live, row.scheduled_time, row, now)
    at -= at % MINUTE
    if (told := _row_at(live, at)) is not None:
        return _of_row(live, at, told, now)
    slots = live.slots
    if slots is None or slots.newest(at - 1, at) is None:
        return _no_slot(live, at, now)
    if at <= live.created:
        answer = f"No decision: the schedule was created later, at {local(live.created, live.zone)}."
        return Explanation(slot=at, answer=answer, facts=_standing(live, now))
    decided = live.status.last_decided_time
    if at > now:
        return _to_come(live, at, now)
    if decided is None or at > decided:
        return Explanation(slot=at, answer="Due, and not decided yet.", facts=_waiting(live, at, now))
    return _fallen_off(live, at, now)


def _row_at(live: Live, at: int) -> Row | None:
    """The row about a slot: the run of it, else the skips it is among. A manual run has no slot but a minute."""
    rows = live.status.run_history
    runs = [row for row in rows if row.outcome != "Skipped" and row.scheduled_time // MINUTE * MINUTE == at]
    skips = [row for row in rows if row.outcome == "Skipped" and first_slot(row) <= at <= row.scheduled_time]
    slots = live.slots
    if (
        skips
        and not runs
        and slots is not None
        and slots.newest(at - 1, at) is None
        and not _is_edge(skips[0], at)
    ):
        return None  # within the range of a row, but between two of its slots
    return next(iter([*runs, *skips]), None)


def _is_edge(row: Row, at: int) -> bool:
    return at in (first_slot(row), row.scheduled_time)


def _of_row(live: Live, at: int, row: Row, now: int) -> Explanation:
    facts = [("row", f"{time_of(row, live.zone)}  {what_of(row)}: {why_of(row, live.zone)}")]
    if row.outcome != "Skipped":
        facts += _of_run(live, row, now)
    else:
        facts.append(("why", meaning_of(row.reason) or row.message or "no reason is given"))
        reason = next((each for each in SkipReason if each.value == row.reason), None)
        if reason is not None:
            facts += [("rule", ADVICE[reason].rule), ("change", ADVICE[reason].change)]
    moved = note(live.status.schedule.expression, live.zone, at) if live.status.schedule is not None else ""
    if moved:
        facts.append(("clock", f"{moved}."))
    covering = [each for each in live.status.run_history if _stands_for(each, at) and each is not row]
    for run in covering if row.outcome == "Skipped" else ():
        facts.append(
            ("instead", f"{local(run.scheduled_time, live.zone)}  {what_of(run)}: {why_of(run, live.zone)}")
        )
    answer = f"{what_of(row)}."
    return Explanation(slot=at, answer=answer, facts=[*facts, *_standing(live, now)], rows=(row, *covering))


def _stands_for(row: Row, at: int) -> bool:
    return row.stands_for is not None and row.stands_for.first <= at < row.scheduled_time


def _of_run(live: Live, row: Row, now: int) -> list[tuple[str, str]]:
    trigger = {
        "Schedule": "It came due, and no rule held it back.",
        "CatchUp": "It was missed, and misfirePolicy CatchUp made up for it.",
        "Manual": "A person started it, for no slot.",
        "Backfill": "A person asked for slots of the past to be run again.",
    }.get(row.trigger or "", "")
    facts = [("why", trigger)] if trigger else []
    if row.outcome == "Active" and row.start_time is not None:
        facts.append(("since", f"{local(row.start_time, live.zone)}, {span(now - row.start_time)} ago"))
    if row.outcome == "Failed":
        facts.append(("change", f"Look at its pods: kubectl logs -n {live.namespace} job/{row.job}"))
    if row.outcome == "Replaced":
        facts.append(("rule", "Under concurrencyPolicy Replace a newer run ends the ones that are active."))
    if row.outcome == "Deleted":
        facts.append(
            ("rule", "Its Job was deleted before it ended, by someone or something other than the operator.")
        )
    return facts


def _no_slot(live: Live, at: int, now: int) -> Explanation:
    slots = live.slots
    if slots is None:
        return Explanation(slot=None, answer=f"No slots. {live.trouble}".strip(), facts=_standing(live, now))
    before, after = slots.newest(max(at - 400 * 86400, 0), at), slots.after(at)
    around = [("before", local(before, live.zone))] if before is not None else []
    around += [("after", local(after, live.zone))] if after is not None else []
    text = live.status.schedule or live.spec
    said = (
        f"{text.expression if hasattr(text, 'expression') else text.schedule!r}" if text is not None else ""
    )
    answer = f"No slot at {local(at, live.zone)}: the schedule is {said} in {slots.zone}."
    return Explanation(slot=None, answer=answer, facts=[*around, *_standing(live, now)])


def _to_come(live: Live, at: int, now: int) -> Explanation:
    facts = _standing(live, now)
    if live.status.suspension is not None or (live.spec is not None and live.spec.suspend):
        answer = f"It comes in {span(at - now)}, and will be skipped unless the suspension is over by then."
    else:
        answer = f"It comes in {span(at - now)}."
    return Explanation(slot=at, answer=answer, facts=facts)


def _waiting(live: Live, at: int, now: int) -> list[tuple[str, str]]:
    status = live.status
    facts = []
    if live.trouble:
        facts.append(("why", f"Nothing can run. {live.trouble}"))
    elif status.suspension is not None:
        facts.append(("why", f"Suspended. {status.suspension.message}"))
        facts.append(("rule", "What passes during a suspension is recorded as one row when it is over."))
    elif (ready := find(status.conditions, "Ready")) is not None and ready.reason == "Retrying":
        facts.append(("why", ready.message))
    elif status.backlog is not None:
        oldest = f", the oldest {local(status.backlog.oldest, live.zone)}" if status.backlog.oldest else ""
        facts.append(("why", f"It waits its turn: {count(status.backlog.waiting, 'slot')} wait{oldest}."))
        if (catching_up := find(status.conditions, "CatchingUp")) is not None:
            facts.append(("backlog", catching_up.message))
        active = [
            f"{row.job}, since {local(row.start_time or row.scheduled_time, live.zone)}"
            for row in status.run_history
            if row.outcome == "Active"
        ]
        facts += [("active", "; ".join(active[:3]))] if active else []
    elif now - at <= MINUTE:
        facts.append(("why", "It has just come due."))
    else:
        facts.append(("why", f"The operator has not decided it for {span(now - at)}: is it running?"))
        facts.append(("rule", "Once it is, the misfire policy says what becomes of it."))
    return [*facts, *_standing(live, now)]


def _fallen_off(live: Live, at: int, now: int) -> Explanation:
    rows = live.status.run_history
    limit = live.spec.run_history_limit if live.spec is not None else len(rows)
    oldest = f"; the oldest that is kept is about {local(first_slot(rows[-1]), live.zone)}" if rows else ""
    facts = [
        (
            "why",
            f"The last {limit} rows are kept (runHistoryLimit){oldest}. Or the schedule was another at that time.",
        ),
        ("totals", totals_of(live.status)),
        (
            "change",
            "To remember more, raise runHistoryLimit (at most 200); Events and metrics tell the same.",
        ),
    ]
    return Explanation(slot=at, answer="Decided, but its row is gone.", facts=[*facts, *_standing(live, now)])


def _standing(live: Live, now: int) -> list[tuple[str, str]]:
    """How things stand now."""
    status = live.status
    if status.observed_generation < 0:
        return [("now", "No operator has seen this schedule yet: is one running?")]
    if live.trouble:
        return [("now", f"Nothing can run. {live.trouble}")]
    if status.suspension is not None:
        since = local(status.suspension.since, live.zone)
        sentence = f"Suspended since {since} ({status.suspension.reason}). {status.suspension.message}"
        cause = live.change_cause if status.suspension.reason == SkipReason.SCHEDULE_SUSPENDED.value else ""
        return [("now", f"{sentence} {cause}".strip())]
    if status.next_schedule_time is not None:
        coming = status.next_schedule_time
        away = f"in {span(coming - now)}" if coming > now else f"due for {span(now - coming)}"
        return [("now", f"Next slot {local(coming, live.zone)}, {away}.")]
    return []
