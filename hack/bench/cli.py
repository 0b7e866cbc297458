"""The command line of the benches: one subcommand each."""

from __future__ import annotations

import argparse
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import backlogs, budget, catchup, herd, ordeal, scale, slots, soak, storm
from bench.arguments import empty, numbers_up_to, some_of, up_to
from bench.errors import BenchError
from bench.figures import percentile
from bench.subjects import SUBJECTS, usual
from localkube import LocalkubeError

EXAMPLES = """\
examples:
  hack/bench/run herd                                200 runs due at once; others' too, and how ours compare
  hack/bench/run herd --count 5000 --rounds 3        three times, and the medians
  hack/bench/run herd --measure operator             the operator alone
  hack/bench/run herd --with-pods --minutes 5        Jobs that run and finish, five minutes of steady state
  hack/bench/run scale --count 10000                 10,000 schedules with nothing due
  hack/bench/run scale --count 10000 --outage 6      and a start after six hours
  hack/bench/run scale --count 1000,3000,10000 --plot memory.svg
  hack/bench/run slots                               against croniter, cronsim and robfig/cron; needs no cluster
  hack/bench/run catch-up --plot catch-up.svg        300 backlogs in 30 namespaces, the operator killed ten times
  hack/bench/run storm                               5,000 schedules of one tenant, edited all the time
  hack/bench/run soak --minutes 4 --schedules 20 --kills 2
  hack/bench/run ordeal                              three replicas, faults at random, the leader goes again and again

  hack/bench/run all                                 every figure of docs/performance.md but catch-up, soak and ordeal

Each bench but slots brings up a local control plane of its own (hack/cluster tells more) and takes it down again.
Exit status: 0 when all promises were kept, 1 when one was broken, 2 when the bench could not be carried out.
"""

ALL = (
    "slots",
    "herd --count 1000 --rounds 3",
    "herd --count 5000 --rounds 3",
    "herd --count 10000 --rounds 3",
    "herd --with-pods --count 1000 --minutes 10",
    "scale --count 1000,3000,10000,30000 --plot memory.svg",
    "scale --count 10000 --outage 6 --seconds 120",
)


def main(arguments: list[str] | None = None) -> int:
    """Run one bench; returns the exit status."""
    given = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = given.keep or Path(tempfile.mkdtemp(prefix="cronschedule-bench-"))
    code = 0
    try:
        code = given.run(given, folder)
    except (BenchError, LocalkubeError) as error:
        print(error, file=sys.stderr)
        code = 2
    finally:
        if not given.keep and not code:
            shutil.rmtree(folder)
    if code:
        print(f"The evidence is in {folder}.", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hack/bench/run",
        description="Measure the operator, or let it suffer, on a real control plane.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    benches = parser.add_subparsers(required=True, metavar="BENCH")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--keep", type=empty, metavar="FOLDER", help="keep the logs and the evidence here")
    _add_herd(benches.add_parser("herd", parents=[common], help="many runs due in one minute"))
    _add_scale(benches.add_parser("scale", parents=[common], help="many schedules, idle or after an outage"))
    _add_slots(benches.add_parser("slots", parents=[common], help="next slots, counting and parsing"))
    _add_catch_up(
        benches.add_parser("catch-up", parents=[common], help="many backlogs at once, the operator killed")
    )
    _add_storm(benches.add_parser("storm", parents=[common], help="one tenant's edits beside another's runs"))
    _add_soak(benches.add_parser("soak", parents=[common], help="runs every minute, the operator killed"))
    _add_ordeal(benches.add_parser("ordeal", parents=[common], help="replicas, behind a proxy that fails"))
    everything = benches.add_parser("all", parents=[common], help="one after the other: takes hours")
    everything.set_defaults(run=lambda given, folder: max(main(words.split()) for words in ALL))
    return parser


def _add_herd(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=up_to(10_000), default=200, help="schedules (default: 200)")
    parser.add_argument("--tenants", type=up_to(100), default=10, help="namespaces (default: 10)")
    parser.add_argument("--with-pods", action="store_true", help="Jobs run and finish, minute after minute")
    parser.add_argument("--minutes", type=up_to(60), default=3, help="with pods: how long (default: 3)")
    parser.add_argument(
        "--measure",
        type=some_of(SUBJECTS),
        metavar="NAME,…",
        help=f"what to measure, of {', '.join(SUBJECTS)}; cronjob is the built-in one with its default flags"
        " (default: all; above 1000 all but that; with pods operator,tuned)",
    )
    parser.add_argument("--rounds", type=up_to(9), default=1, help="how often (default: 1)")
    parser.add_argument(
        "--patience", type=up_to(600), default=180, help="seconds to wait for the last Job (default: 180)"
    )
    parser.add_argument("--profile", type=Path, metavar="FILE", help="have cProfile profile the operator")
    parser.set_defaults(run=_herd)


def _add_scale(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--count",
        type=numbers_up_to(100_000),
        default=[10_000],
        metavar="NUMBER,…",
        help="schedules; several numbers are measured one after the other (default: 10000)",
    )
    parser.add_argument("--tenants", type=up_to(100), default=100, help="namespaces (default: 100)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw memory over schedules as SVG")
    parser.add_argument("--outage", type=up_to(24), default=0, metavar="HOURS", help="start after an outage")
    parser.add_argument("--seconds", type=up_to(600), default=60, help="how long to watch (default: 60)")
    parser.set_defaults(run=_scale)


def _add_slots(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_slots)


def _add_catch_up(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tenants", type=up_to(100), default=30, help="namespaces (default: 30)")
    parser.add_argument("--schedules", type=up_to(50), default=10, help="backlogs in each (default: 10)")
    parser.add_argument(
        "--hours", type=up_to(12), default=6, help="slots of a backlog, one an hour (default: 6)"
    )
    parser.add_argument("--live", type=up_to(500), default=50, help="live schedules (default: 50)")
    parser.add_argument("--minutes", type=up_to(30), default=3, help="live schedules alone (default: 3)")
    parser.add_argument(
        "--calm", type=up_to(30), default=4, help="minutes before the first kill (default: 4)"
    )
    parser.add_argument(
        "--kills", type=int, choices=range(31), default=10, metavar="N", help="SIGKILLs (default: 10)"
    )
    parser.add_argument("--per-minute", type=up_to(6000), default=300, help="the budget (default: 300)")
    parser.add_argument("--per-namespace", type=up_to(6000), default=60, help="and of each (default: 60)")
    parser.add_argument("--seed", type=int, help="repeat the kills of a run that printed this number")
    parser.add_argument("--without-pods", action="store_true", help="the Jobs of backlogs are suspended")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw Jobs over time as SVG")
    parser.set_defaults(run=_catch_up)


def _add_storm(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--live", type=up_to(500), default=50, help="due every minute (default: 50)")
    parser.add_argument(
        "--loud", type=up_to(20_000), default=5000, help="of the other tenant (default: 5000)"
    )
    parser.add_argument("--minutes", type=up_to(30), default=3, help="alone, and in the storm (default: 3)")
    parser.add_argument("--edits", type=up_to(1000), default=50, help="edits a second (default: 50)")
    parser.set_defaults(run=_storm)


def _add_soak(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=up_to(120), default=30, help="how long (default: 30)")
    parser.add_argument("--schedules", type=up_to(500), default=50, help="how many (default: 50)")
    parser.add_argument("--kills", type=up_to(100), default=6, help="how many SIGKILLs (default: 6)")
    parser.add_argument(
        "--longest-down", type=up_to(600), default=40, help="seconds until it is started again (default: 40)"
    )
    parser.add_argument("--seed", type=int, help="repeat the kills of a soak that printed this number")
    parser.set_defaults(run=_soak)


def _add_ordeal(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=up_to(120), default=10, help="how long (default: 10)")
    parser.add_argument("--schedules", type=up_to(500), default=50, help="how many (default: 50)")
    parser.add_argument("--replicas", type=up_to(5), default=3, help="how many (default: 3)")
    parser.add_argument("--fail-overs", type=up_to(200), default=12, help="how many (default: 12)")
    parser.add_argument("--without-faults", action="store_true", help="let all requests through")
    parser.add_argument("--seed", type=int, help="repeat an ordeal that printed this number")
    parser.set_defaults(run=_ordeal)


def _herd(given: argparse.Namespace, folder: Path) -> int:
    options = herd.Options(
        count=given.count,
        tenants=given.tenants,
        minutes=given.minutes if given.with_pods else 0,
        patience=given.patience,
        profile=given.profile,
    )
    wanted = given.measure or usual(count=given.count, pods=given.with_pods)
    if given.with_pods and "raw" in wanted:
        raise BenchError("The raw client creates suspended Jobs only: leave out --with-pods, or raw.")
    rounds = []
    for number in range(given.rounds):
        place = folder / f"{number}"
        rounds.append([herd.measure(SUBJECTS[name], options, place / name) for name in wanted])
        print(f"{budget.report(rounds[-1])}\n", flush=True)
    checks = budget.compare(rounds)
    ours = [outcome for outcomes in rounds for outcome in outcomes if outcome.subject.name == budget.OURS]
    if ours:
        ours.sort(key=lambda outcome: percentile(outcome.lags, 0.99))
        checks += budget.check(ours[len(ours) // 2], compared="tuned" in wanted)
    return _judged(checks)


def _judged(checks: Sequence[budget.Check]) -> int:
    """Tell what was promised and whether it holds; the exit status."""
    if checks:
        print(budget.tell(checks))
    return 0 if all(line.holds for line in checks) else 1


def _scale(given: argparse.Namespace, folder: Path) -> int:
    outcomes = []
    for count in given.count:
        options = scale.Options(count=count, tenants=given.tenants, hours=given.outage, seconds=given.seconds)
        outcomes.append(scale.measure(options, folder / f"{count}"))
        print(f"{scale.report(outcomes[-1])}\n", flush=True)
    if given.plot:
        given.plot.write_text(scale.plot(outcomes))
    return _judged(scale.check(outcomes))


def _slots(given: argparse.Namespace, folder: Path) -> int:
    measured = slots.measure()
    print(f"{slots.report(measured)}\n")
    return _judged(slots.check(measured[0]))


def _catch_up(given: argparse.Namespace, folder: Path) -> int:
    seed = secrets.randbelow(1_000_000) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    options = backlogs.Options(
        tenants=given.tenants,
        schedules=given.schedules,
        hours=given.hours,
        live=given.live,
        minutes=given.minutes,
        calm=given.calm,
        kills=given.kills,
        per_minute=given.per_minute,
        per_namespace=given.per_namespace,
        seed=seed,
        pods=not given.without_pods,
    )
    outcome = catchup.measure(options, folder)
    checks = catchup.check(outcome)
    print(f"\n{catchup.report(outcome)}\n")
    if given.plot:
        given.plot.write_text(catchup.plot(outcome))
    return _judged(checks)


def _storm(given: argparse.Namespace, folder: Path) -> int:
    options = storm.Options(live=given.live, loud=given.loud, minutes=given.minutes, edits=given.edits)
    outcome = storm.measure(options, folder)
    checks = storm.check(outcome)
    print(f"{storm.report(outcome)}\n")
    return _judged(checks)


def _soak(given: argparse.Namespace, folder: Path) -> int:
    seed = secrets.randbelow(1_000_000) if given.seed is None else given.seed
    options = soak.Options(
        minutes=given.minutes,
        schedules=given.schedules,
        kills=given.kills,
        longest_down=given.longest_down,
        seed=seed,
    )
    return soak.run(options, folder)


def _ordeal(given: argparse.Namespace, folder: Path) -> int:
    seed = secrets.randbelow(1_000_000) if given.seed is None else given.seed
    options = ordeal.Options(
        minutes=given.minutes,
        schedules=given.schedules,
        replicas=given.replicas,
        fail_overs=given.fail_overs,
        seed=seed,
        faults=not given.without_faults,
    )
    return ordeal.run(options, folder)
