"""Two operators share a cluster by a label of Namespaces, each with a Lease of its own: no slot is decided by both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from e2e.world import World, cron_schedule, eventually, jobs_created, minutely_until, pod, this_minute
from localkube import Cluster, OperatorProcess

SLOTS = 20
SETTINGS = {
    "CRONSCHEDULE_LEADER_ELECTION": "on",
    "CRONSCHEDULE_CATCH_UP_PER_MINUTE": "240",
    "CRONSCHEDULE_CATCH_UP_PER_MINUTE_AND_NAMESPACE": "240",
}


@pytest.fixture
def shards(own_cluster: Cluster, tmp_path: Path) -> Iterator[dict[str, OperatorProcess]]:
    with ExitStack() as ends:
        found = {}
        for name, selector in {"north": "shard=north", "rest": "shard!=north"}.items():
            operator = OperatorProcess(own_cluster.kubeconfig, tmp_path / f"{name}.log")
            more = {"CRONSCHEDULE_LEASE_NAME": name, "CRONSCHEDULE_NAMESPACE_SELECTOR": selector}
            found[name] = ends.enter_context(operator.started(**SETTINGS, **more))
        yield found


def ran(operator: OperatorProcess, world: World) -> int:
    """How many runs of this namespace the operator says that it has created."""
    return sum(
        line["event"] == "run.created" and line["namespace"] == world.namespace for line in operator.lines()
    )


def test_two_shards_decide_each_slot_once_also_when_a_namespace_changes_hands(
    own_cluster: Cluster, shards: dict[str, OperatorProcess]
) -> None:
    """Backlogs in two namespaces; one is moved while its backlog is being worked off."""
    newest = this_minute() - 120
    with World.fresh(own_cluster.kubectl) as moved, World.fresh(own_cluster.kubectl) as other:
        own_cluster.kubectl("label", "namespace", moved.namespace, "shard=north")
        for world in moved, other:
            schedule = cron_schedule(
                "x",
                minutely_until(newest, SLOTS),
                job=pod(),
                misfirePolicy="CatchUp",
                successfulJobsHistoryLimit=0,
            )
            world.create_with_ledger(schedule, decided_until=newest - 60 * SLOTS)
        eventually(lambda: len(jobs_created(own_cluster, moved.namespace)), lambda number: number >= 3)
        own_cluster.kubectl("label", "namespace", moved.namespace, "shard-")
        for world in moved, other:
            counts = eventually(
                lambda world=world: world.counts("x"),
                lambda counts: counts.get("succeeded") == SLOTS,
                within=150,
            )
            assert counts == {"runs": SLOTS, "succeeded": SLOTS}
            made = jobs_created(own_cluster, world.namespace)
            assert len(made) == len(set(made)) == SLOTS
        assert ran(shards["north"], moved) + ran(shards["rest"], moved) == SLOTS
        assert min(ran(shards["north"], moved), ran(shards["rest"], moved)) > 0, "it has not changed hands"
        assert (ran(shards["north"], other), ran(shards["rest"], other)) == (0, SLOTS)
