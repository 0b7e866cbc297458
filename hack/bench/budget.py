"""Whether the operator keeps within its budget, and the report of a herd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.figures import MEBI, mebibytes, percentile, table
from bench.herd import Outcome
from bench.traffic import Request, count, per_run, tell_reads

OURS = ("cronschedule-operator", "kopf")
P99 = 2.0
RSS = 120 * MEBI


@dataclass(frozen=True, kw_only=True)
class Check:
    """One line of the budget: what was seen, what is allowed, whether it holds."""

    what: str
    seen: str
    allowed: str
    holds: bool


def check(outcome: Outcome) -> list[Check]:
    """The budget of the operator, line by line."""
    ours = [request for request in outcome.requests if request.client in OURS]
    runs = max(len(outcome.lags), 1)
    posts = count(ours, lambda r: (r.verb, r.resource) == ("create", "jobs")) / runs
    writes = (
        count(ours, lambda r: r.verb in ("update", "patch") and r.resource == "cronschedules/status") / runs
    )
    gets = count(ours, lambda r: r.verb == "get" and not _is_apart(r))
    late = percentile(outcome.lags, 0.99)
    peak = outcome.after.peak if outcome.after else 0
    return [
        Check(
            what="runs",
            seen=f"{len(outcome.lags)}",
            allowed=f"{outcome.expected}",
            holds=len(outcome.lags) == outcome.expected,
        ),
        Check(what="Job POSTs per run", seen=f"{posts:.2f}", allowed="1", holds=posts <= 1),
        Check(what="status writes per run", seen=f"{writes:.2f}", allowed="2", holds=writes <= 2),
        Check(what="GETs", seen=f"{gets}", allowed="0", holds=gets == 0),
        Check(what="p99 of slot to Job", seen=f"{late:.2f} s", allowed=f"{P99:.0f} s", holds=late <= P99),
        Check(what="RSS at most", seen=mebibytes(peak), allowed=mebibytes(RSS), holds=peak <= RSS),
        Check(
            what="errors in the log",
            seen=f"{len(outcome.complaints)}",
            allowed="0",
            holds=not outcome.complaints,
        ),
    ]


def report(outcomes: Sequence[Outcome]) -> str:
    """All figures, side by side, and then what was asked of the API server."""
    rows = [["", *(outcome.subject for outcome in outcomes)]]
    rows += [[name, *cells] for name, cells in _figures(outcomes)]
    parts = [table(rows)]
    for outcome in outcomes:
        parts.append(f"Requests per run, {outcome.subject} (0.005 and more):\n{_requests(outcome)}")
    for outcome in outcomes:
        if outcome.after is not None:
            ours = [request for request in outcome.requests if request.client in OURS]
            reads = tell_reads(ours) or ["none"]
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
        ("Jobs per second", [_rate(outcome) for outcome in outcomes]),
        ("CPU", [_cpu(outcome) for outcome in outcomes]),
        ("CPU per run", [_cpu_per_run(outcome) for outcome in outcomes]),
        ("RSS at the beginning", [mebibytes(o.before.rss) if o.before else "-" for o in outcomes]),
        ("RSS at the end", [mebibytes(o.after.rss) if o.after else "-" for o in outcomes]),
        ("RSS at most", [mebibytes(o.after.peak) if o.after else "-" for o in outcomes]),
    ]


def _rate(outcome: Outcome) -> str:
    """While the Jobs of one slot are being created, the median of the slots."""
    per_slot = outcome.expected / len(outcome.spans)
    return f"{per_slot / max(percentile(outcome.spans, 0.5), 0.001):.0f}"


def _cpu(outcome: Outcome) -> str:
    used = _cpu_seconds(outcome)
    return "-" if used is None else f"{used:.2f} s of {outcome.seconds:.0f} s"


def _cpu_per_run(outcome: Outcome) -> str:
    used = _cpu_seconds(outcome)
    return "-" if used is None else f"{1000 * used / max(len(outcome.lags), 1):.2f} ms"


def _cpu_seconds(outcome: Outcome) -> float | None:
    if outcome.before is None or outcome.after is None:
        return None
    return outcome.after.cpu - outcome.before.cpu


def _requests(outcome: Outcome) -> str:
    mine = [request for request in outcome.requests if _is_of(outcome.subject, request)]
    rows = [
        [f"  {verb} {resource}", client, f"{number:.2f}"]
        for (client, verb, resource), number in per_run(mine, len(outcome.lags)).items()
        if number >= 0.005
    ]
    return table(rows) if rows else "  none"


def _is_of(subject: str, request: Request) -> bool:
    return request.client in (OURS if subject == "CronSchedule" else ("cronjob-controller",))


def _is_apart(request: Request) -> bool:
    """The leader election renews its lease whether anything runs or not."""
    return request.resource == "leases"
