"""The CRDs are deleted, and all schedules with them, and applied again: does the operator go on, without help?

In a cluster of its own. Rules: semantics.md §1, §6.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from e2e.world import World, cron_schedule, eventually, minutely_until, pod, this_minute
from localkube import Cluster, OperatorProcess

CRDS = Path(__file__).resolve().parents[2] / "crds"


@pytest.fixture(scope="module")
def own_operator(own_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    operator = OperatorProcess(own_cluster.kubeconfig, tmp_path_factory.mktemp("operator") / "operator.log")
    with operator.started(CRONSCHEDULE_LEADER_ELECTION="on"):
        yield operator


@pytest.fixture
def world(own_cluster: Cluster) -> Iterator[World]:
    with World.fresh(own_cluster.kubectl) as world:
        yield world


def test_does_the_operator_go_on_once_the_crds_are_back(
    world: World, own_cluster: Cluster, own_operator: OperatorProcess
) -> None:
    """kopf ends for a kind that is not served any more, and the process with it: a new one waits until it is.

    What cannot heal gives the lease back before it ends.
    """
    _one_run_is_made_up_for(world, "before")
    own_cluster.kubectl("delete", "--filename", str(CRDS), "--timeout=60s", timeout=70)
    assert own_operator.wait() == 1
    assert "lease.released" in [line["event"] for line in own_operator.lines()]
    with ThreadPoolExecutor(1) as aside:
        starting = aside.submit(own_operator.start)
        eventually(own_operator.lines, lambda lines: lines[-1]["event"] == "audit.failed")
        own_cluster.kubectl.install(CRDS)
        starting.result()
    _one_run_is_made_up_for(world, "after")
    world.edit("after", suspend=True)
    eventually(lambda: world.status("after"), lambda status: "suspension" in status)
    assert own_operator.running()


def _one_run_is_made_up_for(world: World, name: str) -> None:
    newest = this_minute() - 120
    schedule = cron_schedule(name, minutely_until(newest, 2), job=pod())
    world.create_with_ledger(schedule, decided_until=newest - 61)
    eventually(
        lambda: world.counts(name),
        lambda counts: counts == {"runs": 1, "succeeded": 1, "skipped": {"Coalesced": 1}},
    )
