"""The control plane fails while slots come due: each of them is decided once, when it is back.

In a cluster of its own, whose parts are stopped and hung. Slots come due by the operator's clock, which is set ahead by
three hours. The API server's audit log is the outside judge of what was created. Rules: semantics.md §1, §3.6, §4.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cronschedule.api.names import job_name
from cronschedule.api.shapes import format_time
from e2e.world import World, cron_schedule, jobs_created, minutely_until, pod, this_minute
from localkube import Cluster, OperatorProcess

HOUR = 3600
FAULT = 3.0
"""Seconds that a fault lasts at least."""


@pytest.fixture
def own_operator(own_cluster: Cluster, tmp_path: Path) -> Iterator[OperatorProcess]:
    with OperatorProcess(own_cluster.kubeconfig, tmp_path / "operator.log").started(clock="+0s") as operator:
        yield operator


def _stop_api_server(cluster: Cluster) -> None:
    cluster.stop("kube-apiserver")


def _start_again(cluster: Cluster) -> None:
    cluster.start()


def _hang(component: str) -> Callable[[Cluster], None]:
    return lambda cluster: cluster.pause(component)


def _go_on(component: str) -> Callable[[Cluster], None]:
    return lambda cluster: cluster.resume(component)


@pytest.mark.parametrize(
    ("break_it", "mend_it"),
    [
        pytest.param(_stop_api_server, _start_again, id="api-server-gone"),
        pytest.param(_hang("kube-apiserver"), _go_on("kube-apiserver"), id="api-server-hangs"),
        pytest.param(_hang("etcd"), _go_on("etcd"), id="etcd-hangs"),
    ],
)
def test_slots_that_come_due_meanwhile_are_decided_once(
    own_cluster: Cluster,
    own_operator: OperatorProcess,
    break_it: Callable[[Cluster], None],
    mend_it: Callable[[Cluster], None],
) -> None:
    newest = this_minute() - 120
    process = own_operator.pid
    with World.fresh(own_cluster.kubectl) as world:
        world.create(cron_schedule("x", minutely_until(newest, 1), job=pod(outcome="hang")))
        world.wait_until_seen("x")
        break_it(own_cluster)
        try:
            own_operator.set_clock("+3h")
            time.sleep(FAULT)
        finally:
            mend_it(own_cluster)
        coalesced, run = world.wait_for_outcomes("x", "Active")
        name = job_name("x", newest + 3 * HOUR)
        assert (coalesced["reason"], coalesced["count"]) == ("Coalesced", 2)
        assert (run["job"], run["scheduledTime"]) == (name, format_time(newest + 3 * HOUR))
        assert world.counts("x") == {"runs": 1, "skipped": {"Coalesced": 2}}
        world.suspend_tenant()  # every watch is alive again
        world.wait_for_status("x", lambda status: "suspension" in status)
        world.kubectl("delete", "job", name)
        world.wait_for_outcomes("x", "Deleted")
        assert own_operator.pid == process
        assert jobs_created(own_cluster, world.namespace) == [name]
