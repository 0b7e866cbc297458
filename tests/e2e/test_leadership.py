"""Three replicas and one lease: whichever way the leader goes, another one takes over and each slot is run once.

In a cluster of its own, with no operator but these. They work off backlogs at a pace that is still going on when the
leader goes. Jobs are deleted as soon as they are recorded, so that no name keeps a slot from being run twice. The API
server's audit log is the outside judge of what was created. Rules: semantics.md §1, §4.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cronschedule.api.names import job_name
from e2e.world import World, cron_schedule, eventually, jobs_created, minutely_until, pod, this_minute
from localkube import Cluster, OperatorProcess
from seeded import chance

SCHEDULES, SLOTS = 6, 10
SETTINGS = {
    "CRONSCHEDULE_LEADER_ELECTION": "on",
    "CRONSCHEDULE_CATCH_UP_PER_MINUTE": "240",
    "CRONSCHEDULE_CATCH_UP_PER_MINUTE_AND_NAMESPACE": "240",
}


class Replica:
    """One of the operators, and where it tells of its health."""

    def __init__(self, cluster: Cluster, log: Path) -> None:
        self.process = OperatorProcess(cluster.kubeconfig, log)
        self.port = _free_port()

    def start(self) -> None:
        self.process.start(**SETTINGS, CRONSCHEDULE_HEALTH_PORT=str(self.port))

    def has_led(self) -> bool:
        return self.has_logged("operator.leading")

    def has_logged(self, event: str) -> bool:
        return any(line["event"] == event for line in self.process.lines())

    def page(self, name: str) -> tuple[int, str] | None:
        return _page(self.port, name)


class Replicas:
    """Three of them in one cluster."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.all = [Replica(cluster, folder / f"{number}.log") for number in range(3)]

    def leader(self) -> Replica:
        """The one that leads; waits for it."""
        return eventually(lambda: [each for each in self._running() if each.has_led()], lambda found: found)[
            0
        ]

    def next_leader(self, gone: Replica) -> Replica:
        """The first to lead of the others; waits for it."""
        others = [each for each in self.all if each is not gone]
        return eventually(lambda: [each for each in others if each.has_led()], lambda found: found)[0]

    def lease(self) -> dict[str, object]:
        spec: dict[str, object] = json.loads(
            self.cluster.kubectl("get", "lease", "cronschedule-operator", "-n", "default", "-o", "json")
        )["spec"]
        return spec

    def _running(self) -> list[Replica]:
        return [each for each in self.all if each.process.running()]


@pytest.fixture
def replicas(own_cluster: Cluster, tmp_path: Path) -> Iterator[Replicas]:
    replicas = Replicas(own_cluster, tmp_path)
    with contextlib.ExitStack() as ends:
        for each in replicas.all:
            ends.callback(each.process.end)
            each.start()
        yield replicas
    kubectl = own_cluster.kubectl
    kubectl("delete", "lease", "cronschedule-operator", "-n", "default", "--ignore-not-found")


def _terminate(replica: Replica) -> None:
    assert replica.process.stop(within=10) == 0
    assert replica.has_logged("lease.released")


def _kill(replica: Replica) -> None:
    replica.process.kill()


def _pause(replica: Replica) -> None:
    replica.process.pause()


@pytest.mark.parametrize("end", [_terminate, _kill, _pause])
def test_another_replica_goes_on_where_the_leader_went(
    replicas: Replicas, own_cluster: Cluster, end: Callable[[Replica], None]
) -> None:
    gone = replicas.leader()
    holder = replicas.lease()["holderIdentity"]
    newest = this_minute() - 120
    slots = [newest - 60 * ago for ago in reversed(range(SLOTS))]
    names = [f"x{number}" for number in range(SCHEDULES)]
    with World.fresh(own_cluster.kubectl) as world:
        world.create_with_ledger(
            *(
                cron_schedule(
                    name,
                    minutely_until(newest, SLOTS),
                    job=pod(),
                    misfirePolicy="CatchUp",
                    concurrencyPolicy="Allow",
                    successfulJobsHistoryLimit=0,
                    catchUp={"maxConcurrent": 10},
                )
                for name in names
            ),
            decided_until=slots[0] - 1,
        )
        enough = chance("leader goes").randint(1, SCHEDULES * SLOTS // 3)
        eventually(lambda: len(jobs_created(own_cluster, world.namespace)), lambda number: number >= enough)
        end(gone)
        replicas.next_leader(gone)
        assert len(jobs_created(own_cluster, world.namespace)) < SCHEDULES * SLOTS, "nothing was left to do"
        lease = replicas.lease()
        assert lease["holderIdentity"] != holder
        assert lease["leaseTransitions"] == 1
        for name in names:
            world.wait_for_outcomes(name, *["Succeeded"] * SLOTS)
        if gone.process.running():
            gone.process.resume()
            assert gone.process.wait() == 1
            assert gone.has_logged("lease.lost")
            for name in names:
                world.see_again(name)
        for name in names:
            assert world.counts(name) == {"runs": SLOTS, "succeeded": SLOTS}
        wanted = {job_name(name, slot): 1 for name in names for slot in slots}
        assert Counter(jobs_created(own_cluster, world.namespace)) == wanted


def test_each_replica_is_healthy_and_ready_and_one_of_them_leads(replicas: Replicas) -> None:
    replicas.leader()
    assert sum(each.has_led() for each in replicas.all) == 1
    for each in replicas.all:
        assert each.page("healthz") == (200, "ok")
        assert each.page("readyz") == (200, "ok")
    assert replicas.lease()["leaseTransitions"] == 0


def test_an_operator_that_knows_nothing_yet_is_healthy_and_not_ready(own_cluster: Cluster) -> None:
    """The API server hangs, so its lists do not come."""
    port = _free_port()
    environment = {
        **os.environ,
        "KUBECONFIG": str(own_cluster.kubeconfig),
        "CRONSCHEDULE_HEALTH_PORT": str(port),
    }
    own_cluster.pause("kube-apiserver")
    try:
        with subprocess.Popen(
            [sys.executable, "-m", "cronschedule"], env=environment, stderr=subprocess.DEVNULL
        ) as operator:
            assert eventually(lambda: _page(port, "readyz"), bool) == (
                503,
                "the first lists have not come yet",
            )
            assert _page(port, "healthz") == (200, "ok")
            operator.terminate()
            assert operator.wait(timeout=10) == 0
    finally:
        own_cluster.resume("kube-apiserver")


def test_a_port_that_is_taken_ends_it_with_one_line(own_cluster: Cluster) -> None:
    with socket.create_server(("", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = subprocess.run(
            [sys.executable, "-m", "cronschedule"],
            env={**os.environ, "KUBECONFIG": str(own_cluster.kubeconfig), "CRONSCHEDULE_HEALTH_PORT": port},
            capture_output=True,
            text=True,
            timeout=30,
        )
    assert ended.returncode == 2
    assert f"CRONSCHEDULE_HEALTH_PORT: {port} cannot be used" in ended.stderr


def _free_port() -> int:
    with socket.create_server(("", 0)) as listening:
        return int(listening.getsockname()[1])


def _page(port: int, name: str) -> tuple[int, str] | None:
    """The status and text of a page; None while nobody listens there."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except urllib.error.URLError:
        return None
