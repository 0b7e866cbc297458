"""Whether the operator keeps within its budget, how it compares with others, and the report of a herd."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from bench.figures import KIBI, MEBI, mebibytes, percentile, table
from bench.herd import Outcome
from bench.traffic import Request, count, per_run, tell_reads
from bench.usage import Usage

OURS = "operator"
P99 = 2.0
RSS = 100 * MEBI
RSS_OF_ONE = 15 * KIBI
"""Bytes for each schedule."""

LATER, RATE, WHOLE = 1.0, 0.8, 1.5
"""Ours as a share: of the tuned built-in controller's lags, of the raw client's Jobs a second, and of the built-in's
whole, at most or, of the rate, at least."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One line of the budget: what was seen, what is allowed, whether it holds."""

    what: str
    seen: str
    allowed: str
    holds: bool


def check(outcome: Outcome, *, compared: bool = False) -> list[Check]:
    """The budget of the operator, line by line.

    Where it is `compared` with others in the same run, their lags say what the machine allows, no number of seconds.
    """
    ours = _requests_of(outcome)
    runs = max(len(outcome.lags), 1)
    posts = count(ours, lambda r: (r.verb, r.resource) == ("create", "jobs")) / runs
    writes = (
        count(ours, lambda r: r.verb in ("update", "patch") and r.resource == "cronschedules/status") / runs
    )
    gets = count(ours, lambda r: r.verb == "get" and not _is_apart(r))
    late = percentile(outcome.lags, 0.99)
    peak = outcome.after[OURS].peak if outcome.after else 0
    checks = [
        Check(
            what="runs",
            seen=f"{len(outcome.lags)}",
            allowed=f"{outcome.expected}",
            holds=len(outcome.lags) == outcome.expected,
        ),
        Check(what="Job POSTs per run", seen=f"{posts:.2f}", allowed="1", holds=posts <= 1),
        Check(what="status writes per run", seen=f"{writes:.2f}", allowed="2", holds=writes <= 2),
        Check(what="GETs", seen=f"{gets}", allowed="0", holds=gets == 0),
        memory(peak, outcome.expected // len(outcome.spans)),
        Check(
            what="errors in the log",
            seen=f"{len(outcome.complaints)}",
            allowed="0",
            holds=not outcome.complaints,
        ),
    ]
    if not compared:
        in_time = f"{late:.2f} s"
        checks.append(
            Check(what="p99 of slot to Job", seen=in_time, allowed=f"{P99:.0f} s", holds=late <= P99)
        )
    return checks


def memory(peak: int, schedules: int) -> Check:
    """At most so many bytes, and some for each schedule: so it grows no faster than their number."""
    allowed = RSS + RSS_OF_ONE * schedules
    return Check(what="RSS at most", seen=mebibytes(peak), allowed=mebibytes(allowed), holds=peak <= allowed)


def ratios(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Ours as a share of the others' that were measured in the same run."""
    by = {outcome.subject.name: outcome for outcome in outcomes}
    ours, tuned, raw = by.get(OURS), by.get("tuned CronJob"), by.get("raw POSTs")
    found = {}
    if ours and tuned:
        for share, name in ((0.5, "p50"), (0.99, "p99")):
            found[f"{name} / tuned CronJob's"] = percentile(ours.lags, share) / percentile(tuned.lags, share)
        if len(ours.spans) == 1:
            found["Jobs and records / tuned CronJob's"] = ours.whole / tuned.whole
    if ours and raw:
        found["Jobs a second / raw POSTs"] = ours.rate / raw.rate
    return found


def compare(rounds: Sequence[Sequence[Outcome]]) -> list[Check]:
    """The median of each ratio."""
    found = [ratios(outcomes) for outcomes in rounds]
    checks = []
    for what in found[0]:
        values = [each[what] for each in found]
        seen = median(values)
        least = what.startswith("Jobs a second")
        limit = RATE if least else WHOLE if what.startswith("Jobs and") else LATER
        checks.append(
            Check(
                what=what,
                seen=f"{seen:.2f}"
                + (f" ({', '.join(f'{v:.2f}' for v in values)})" if len(values) > 1 else ""),
                allowed=f"{'at least' if least else 'at most'} {limit:g}",
                holds=seen >= limit if least else seen <= limit,
            )
        )
    return checks


def report(outcomes: Sequence[Outcome]) -> str:
    """All figures, side by side, and then what was asked of the API server."""
    rows = [["", *(outcome.subject.name for outcome in outcomes)]]
    rows += [[name, *cells] for name, cells in _figures(outcomes)]
    parts = [table(rows)]
    for outcome in outcomes:
        parts.append(f"Requests per run, {outcome.subject.name} (0.005 and more):\n{_requests(outcome)}")
        if outcome.subject.name == OURS:
            reads = tell_reads(_requests_of(outcome)) or ["none"]
            parts.append("GET, LIST and WATCH by the operator:\n" + "\n".join(f"  {line}" for line in reads))
            parts += [f"The operator's log complains: {line[:500]}" for line in outcome.complaints[:3]]
    return "\n\n".join(parts)


def tell(checks: Sequence[Check]) -> str:
    """The budget as a table, and the verdict."""
    rows = [["budget of the operator", "seen", "allowed", ""]]
    rows += [[line.what, line.seen, line.allowed, "ok" if line.holds else "BROKEN"] for line in checks]
    broken = sum(not line.holds for line in checks)
    verdict = (
        "The budget holds." if not broken else f"The budget is broken in {broken} of {len(checks)} lines."
    )
    return f"{table(rows)}\n\n{verdict}"


def _figures(outcomes: Sequence[Outcome]) -> list[tuple[str, list[str]]]:
    def seconds(share: float) -> list[str]:
        return [f"{percentile(outcome.lags, share):.2f} s" for outcome in outcomes]

    return [
        ("runs seen / expected", [f"{len(outcome.lags)} / {outcome.expected}" for outcome in outcomes]),
        ("slot to Job, p50", seconds(0.5)),
        ("slot to Job, p99", seconds(0.99)),
        ("slot to Job, max", seconds(1.0)),
        ("Jobs per second", [f"{outcome.rate:.0f}" for outcome in outcomes]),
        ("status writes", [f"{outcome.records}" for outcome in outcomes]),
        ("slot to the last Job and record", [f"{outcome.whole:.2f} s" for outcome in outcomes]),
        *((f"cores used till the last Job: {name}", _cores(outcomes, name)) for name in _processes(outcomes)),
        ("the operator's CPU", [_cpu(outcome) for outcome in outcomes]),
        ("the operator's CPU per run", [_cpu_per_run(outcome) for outcome in outcomes]),
        ("RSS at the beginning", [_memory(o.before, "rss") for o in outcomes]),
        ("RSS at the end", [_memory(o.after, "rss") for o in outcomes]),
        ("RSS at most", [_memory(o.after, "peak") for o in outcomes]),
    ]


def _processes(outcomes: Sequence[Outcome]) -> list[str]:
    return list(dict.fromkeys(name for outcome in outcomes for name in outcome.created))


def _cores(outcomes: Sequence[Outcome], name: str) -> list[str]:
    """CPU seconds a second; how many there are bounds the sum."""
    return [
        f"{(outcome.created[name].cpu - outcome.before[name].cpu) / outcome.creating:.2f}"
        if name in outcome.created
        else "-"
        for outcome in outcomes
    ]


def _memory(used: Mapping[str, Usage], which: Literal["rss", "peak"]) -> str:
    return mebibytes(getattr(used[OURS], which)) if OURS in used else "-"


def _cpu(outcome: Outcome) -> str:
    used = _cpu_seconds(outcome)
    return "-" if used is None else f"{used:.2f} s of {outcome.seconds:.0f} s"


def _cpu_per_run(outcome: Outcome) -> str:
    used = _cpu_seconds(outcome)
    return "-" if used is None else f"{1000 * used / max(len(outcome.lags), 1):.2f} ms"


def _cpu_seconds(outcome: Outcome) -> float | None:
    return outcome.after[OURS].cpu - outcome.before[OURS].cpu if OURS in outcome.after else None


def _requests(outcome: Outcome) -> str:
    rows = [
        [f"  {verb} {resource}", client, f"{number:.2f}"]
        for (client, verb, resource), number in per_run(_requests_of(outcome), len(outcome.lags)).items()
        if number >= 0.005
    ]
    return table(rows) if rows else "  none"


def _requests_of(outcome: Outcome) -> list[Request]:
    return [request for request in outcome.requests if request.client in outcome.subject.clients]


def _is_apart(request: Request) -> bool:
    """The leader election renews its lease whether anything runs or not."""
    return request.resource == "leases"
