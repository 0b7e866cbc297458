"""Tells the story: bring up a control plane, let six hours be missed, start the operator, look, resume a tenant.

Every line that is shown is read from the API server, and each schedule is held against the rules. Exit status 1
when something that was shown is not what they say.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from cronschedule.api.names import ADOPTED_AT
from cronschedule.api.shapes import format_time, parse_time
from cronschedule.core.simulation import Window
from localkube import Cluster
from localkube.errors import LocalkubeError
from localkube.kubectl import Kubectl
from showcase.expectation import judge

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = Path(__file__).with_name("manifests.yaml")
OUTAGE = 6 * 3600
PATIENCE = 60.0

BOLD, DIM, GREEN, RED, YELLOW, PLAIN = (
    ("\033[1m", "\033[2m", "\033[32m", "\033[31m", "\033[33m", "\033[0m")
    if sys.stdout.isatty() and "NO_COLOR" not in os.environ
    else ("",) * 6
)


def main() -> int:
    """The demo; see the module for its exit status."""
    parser = argparse.ArgumentParser(
        prog="hack/demo",
        description="Shows the operator at work on a real Kubernetes API server on this machine: an outage of six"
        " hours answered by three policies, a tenant suspended and resumed, a run on time.",
    )
    parser.add_argument("--once", action="store_true", help="end after the story instead of staying up")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="cronschedule-demo-") as folder:
        log = Path(folder, "operator.log")
        try:
            return _tell(log, once=options.once)
        except LocalkubeError as error:
            print(f"hack/demo: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("\nStopped; nothing is left behind.")
            return 0


def _tell(log: Path, *, once: bool) -> int:
    _say(f"{BOLD}CronSchedule: what happens to the runs that were missed{PLAIN}\n")
    began = time.monotonic()
    with Cluster.up() as cluster:
        story = _Story(cluster.kubectl)
        _say(f"  A Kubernetes control plane is up on this machine ({time.monotonic() - began:.0f} s).")
        story.prepare()
        _say(
            f"  Five schedules are there. Their records end at {_clock(story.since)}: six hours nobody was there.\n"
        )
        with _operator(cluster.kubeconfig, log):
            _wait(lambda: "operator.ready" in log.read_text(), "the operator to be ready")
            story.look_at_outage()
            story.look_at_tenant()
            story.look_at_live_run()
            if story.wrong:
                _say(f"\n{RED}Not what the rules say: {', '.join(story.wrong)}{PLAIN}")
                return 1
            _say(
                f"\n{GREEN}Everything shown is what the rules say.{PLAIN} ({time.monotonic() - began:.0f} s in all)"
            )
            if not once:
                _stay(cluster)
    return 0


class _Story:
    """The chapters, each told from what the API server says."""

    def __init__(self, kubectl: Kubectl) -> None:
        self.kubectl = kubectl
        self.wrong: list[str] = []
        self.since = 0
        self.looked = 0
        self.resumed = 0

    def prepare(self) -> None:
        """Install the CRD and the manifests, with records that are six hours old."""
        self.kubectl.install(ROOT / "crds")
        # No slot shall come due while the operator takes its first look.
        while not 2 <= time.time() % 60 <= 52:
            time.sleep(0.2)
        self.since = int(time.time()) - OUTAGE
        manifests = list(yaml.safe_load_all(MANIFESTS.read_text()))
        schedules = [manifest for manifest in manifests if manifest["kind"] == "CronSchedule"]
        for schedule in schedules:
            schedule["metadata"]["annotations"] = {ADOPTED_AT: format_time(self.since)}
        self.kubectl.apply(*manifests)
        for schedule in schedules:
            self._age(schedule)

    def _age(self, schedule: dict[str, Any]) -> None:
        """Give a schedule the record that an operator would have left behind six hours ago."""
        spec = schedule["spec"]
        text = {"expression": spec["schedule"], "timeZone": spec.get("timeZone", "Etc/UTC")}
        status = {"observedGeneration": 1, "lastDecidedTime": format_time(self.since), "schedule": text}
        where = self.kubectl.within(schedule["metadata"]["namespace"])
        patch = yaml.safe_dump({"status": status})
        name = schedule["metadata"]["name"]
        where("patch", "csch", name, "--subresource=status", "--type=merge", f"--patch={patch}")

    def look_at_outage(self) -> None:
        """The first chapter: three policies, four answers."""
        _title("1. Six hours were missed. Each schedule has its own answer")
        self.looked = int(time.time())
        for name, line in (
            ("cleanup", "FireOnce: one run now stands for all that were missed"),
            ("reminder", "Skip: too late is too late"),
            ("billing", "CatchUp: every hour is billed, oldest first, one after another"),
            ("billing-fresh", "CatchUp, but nothing that is later than two hours"),
        ):
            self._show("team-a", name, line)

    def look_at_tenant(self) -> None:
        """The second chapter: a suspension window is never made up for."""
        _title("2. A tenant was suspended, and is resumed")
        self._show(
            "team-b",
            "sync",
            "CatchUp, and yet nothing ran: its namespace is labelled suspended",
            suspended=True,
        )
        self.kubectl("label", "namespace", "team-b", "cronschedule.dev/suspended-")
        self.resumed = int(time.time())
        _say(f"\n  {DIM}$ kubectl label namespace team-b cronschedule.dev/suspended-{PLAIN}")
        _wait(lambda: "suspension" not in self._get("team-b", "sync")["status"], "the tenant to be resumed")
        sync = self._get("team-b", "sync")
        _rows(sync["status"].get("runHistory", []))
        _say(
            f"  One row for the whole window. The next run is {_clock(parse_time(sync['status']['nextScheduleTime']))}."
        )

    def look_at_live_run(self) -> None:
        """The third chapter: the next slot, on time, for both."""
        _title("3. The next minute: runs on time")
        slot = int(time.time()) // 60 * 60 + 60
        while time.time() < slot + 1:
            _progress(f"  waiting for {_clock(slot)} … {max(0, slot - time.time()):.0f} s ")
            time.sleep(0.2)
        _progress("")
        for namespace, name in (("team-a", "cleanup"), ("team-b", "sync")):
            _wait(partial(self._ran, namespace, name, slot), f"{name} to run")
            row = self._get(namespace, name)["status"]["runHistory"][0]
            job = self.kubectl.within(namespace).json("get", "job", row["job"])
            lag = parse_time(job["metadata"]["creationTimestamp"]) - slot
            _say(
                f"  {name}: slot {_clock(slot)}, Job {row['job']} created {lag} s after it, {row['outcome']}"
            )

    def _ran(self, namespace: str, name: str, slot: int) -> bool:
        rows = self._get(namespace, name)["status"].get("runHistory", [])
        return any(parse_time(row["scheduledTime"]) == slot and row["outcome"] == "Succeeded" for row in rows)

    def _show(self, namespace: str, name: str, line: str, *, suspended: bool = False) -> None:
        """Wait until the schedule has settled, show its rows, and hold them against the rules."""
        _wait(lambda: self._settled(namespace, name), f"{name} to settle")
        schedule = self._get(namespace, name)
        spec, status = schedule["spec"], schedule["status"]
        _say(f"\n  {BOLD}{name}{PLAIN}  {spec['schedule']}  {DIM}{line}{PLAIN}")
        _rows(status.get("runHistory", []))
        until = max(self.looked, parse_time(status["lastDecidedTime"]))
        windows: Sequence[Window] = [(self.since, until + 1)] if suspended else ()
        verdict = judge(schedule, since=self.since, looked=self.looked, until=until, suspended=windows)
        if not verdict.holds:
            _say(f"  {RED}expected {verdict.expected}, seen {verdict.seen}{PLAIN}")
            self.wrong.append(name)

    def _settled(self, namespace: str, name: str) -> bool:
        """Nothing is due or active any more."""
        status = self._get(namespace, name)["status"]
        rows = status.get("runHistory", [])
        return bool(rows) and "backlog" not in status and all(row["outcome"] != "Active" for row in rows)

    def _get(self, namespace: str, name: str) -> Any:
        return self.kubectl.within(namespace).json("get", "csch", name)


@contextlib.contextmanager
def _operator(kubeconfig: Path, log: Path) -> Iterator[None]:
    """The operator as a process of its own."""
    environment = os.environ | {"KUBECONFIG": str(kubeconfig)}
    with log.open("w") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "cronschedule"], env=environment, stderr=sink, start_new_session=True
        )
        try:
            yield
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()


def _stay(cluster: Cluster) -> None:
    _title("It stays up until Ctrl-C. In another terminal:")
    _say(f"""  export KUBECONFIG={cluster.kubeconfig}
  alias kubectl={ROOT / ".venv/bin/kubectl"}
  kubectl get csch -A                                                   all schedules
  kubectl describe csch -n team-a cleanup                               conditions, history, Events
  kubectl events -n team-a --for cronschedule/billing                   what happened, in order
  kubectl get csch -n team-a cleanup -o jsonpath='{{.status.runHistory}}' the record
  kubectl label namespace team-a cronschedule.dev/suspended=true        suspend a tenant
  kubectl explain cronschedule.spec.misfirePolicy                       the manual""")
    while True:
        time.sleep(3600)


def _rows(rows: list[dict[str, Any]]) -> None:
    for row in rows[:10]:
        slot = _clock(parse_time(row["scheduledTime"]))
        if row["outcome"] == "Skipped":
            count = row.get("count", 1)
            first = _clock(parse_time(row.get("firstScheduledTime", row["scheduledTime"])))
            when = slot if count == 1 else f"{first}-{slot}"
            what = f"{YELLOW}Skipped{PLAIN}    {row['reason']:<16} {count:>3} {'slot' if count == 1 else 'slots'}"
            _say(f"    {when:<12} {what}  {DIM}{row.get('message', '')}{PLAIN}")
            continue
        stands_for = row.get("standsFor")
        more = f"  stands for {stands_for['count']} slots" if stands_for else ""
        _say(f"    {slot:<12} {GREEN}{row['outcome']:<10}{PLAIN} {row['trigger']:<16} {row['job']}{more}")


def _wait(met: Callable[[], bool], what: str) -> None:
    """Until it is so. Raises SystemExit with a sentence when it takes too long."""
    deadline = time.monotonic() + PATIENCE
    while not met():
        if time.monotonic() > deadline:
            raise SystemExit(f"hack/demo: waited {PATIENCE:.0f} s in vain for {what}")
        time.sleep(0.3)


def _clock(moment: int) -> str:
    return time.strftime("%H:%M", time.gmtime(moment))


def _title(text: str) -> None:
    _say(f"\n{BOLD}{text}{PLAIN}")


def _progress(text: str) -> None:
    if sys.stdout.isatty():
        print(f"\r\033[K{text}", end="", flush=True)


def _say(text: str) -> None:
    print(text, flush=True)
