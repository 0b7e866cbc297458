"""A real API server behind a proxy that fails: whatever becomes of requests, each slot is run once and recorded.

In a cluster of its own, whose audit log is the outside judge of what was created. Jobs are deleted as soon as they are
recorded, so that no name keeps a slot from being run twice. Rules: semantics.md §1, §3 rule 6, §4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from cronschedule.api.names import job_name
from e2e.world import World, cron_schedule, eventually, jobs_created, minutely_until, pod, this_minute
from faults import FaultProxy, Plan, Rule
from localkube import Cluster, OperatorProcess
from seeded import SEED

SCHEDULES, SLOTS = 3, 4
SETTINGS = {
    "CRONSCHEDULE_CATCH_UP_PER_MINUTE": "600",
    "CRONSCHEDULE_CATCH_UP_PER_MINUTE_AND_NAMESPACE": "600",
}
WRITES = "create,update,patch,delete"


@pytest.fixture(scope="module")
def proxy(own_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultProxy]:
    with FaultProxy(own_cluster.kubeconfig, tmp_path_factory.mktemp("proxy")).started() as proxy:
        yield proxy


@pytest.fixture(scope="module")
def own_operator(proxy: FaultProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OperatorProcess]:
    operator = OperatorProcess(proxy.kubeconfig, tmp_path_factory.mktemp("operator") / "operator.log")
    with operator.started(**SETTINGS):
        yield operator


@pytest.fixture
def world(own_cluster: Cluster, proxy: FaultProxy) -> Iterator[World]:
    with World.fresh(own_cluster.kubectl) as world:
        yield world
    proxy.carry_out(Plan())


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(Rule(action="answer", code=409, verbs=WRITES, share=0.4, times=12), id="409"),
        pytest.param(
            Rule(action="answer", code=429, retry_after=1, verbs=WRITES, share=0.4, times=12), id="429"
        ),
        pytest.param(Rule(action="answer", code=500, verbs=WRITES, share=0.4, times=12), id="500-before"),
        pytest.param(
            Rule(action="answer", code=500, verbs=WRITES, phase="after", share=0.4, times=12), id="500-after"
        ),
        pytest.param(Rule(action="answer", code=503, verbs=WRITES, share=0.4, times=12), id="503"),
        pytest.param(Rule(action="reset", verbs=WRITES, share=0.4, times=12), id="reset-before"),
        pytest.param(
            Rule(action="reset", verbs=WRITES, phase="after", share=0.4, times=12), id="reset-after"
        ),
        pytest.param(Rule(action="twice", verbs=WRITES, share=0.5), id="twice"),
        pytest.param(Rule(action="delay", seconds=1, verbs=WRITES, share=0.5), id="delay"),
        pytest.param(Rule(action="drip", seconds=1, verbs=WRITES, share=0.5), id="drip"),
        pytest.param(Rule(action="token", seconds=2, times=1), id="token"),
        pytest.param(Rule(action="tls", seconds=5, times=1), id="tls"),
    ],
)
def test_is_each_slot_run_once_while_requests_fail(
    world: World, own_cluster: Cluster, proxy: FaultProxy, own_operator: OperatorProcess, rule: Rule
) -> None:
    known = len(proxy.faults())
    proxy.carry_out(Plan(seed=SEED, rules=(rule,)))
    _all_is_made_good(world, own_cluster)
    assert len(proxy.faults()) > known, "no fault was met"


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(Rule(action="cut", events=3, times=6), id="cut"),
        pytest.param(Rule(action="end", events=3, times=6), id="end"),
        pytest.param(Rule(action="gone", events=3, times=6), id="410"),
        pytest.param(Rule(action="repeat"), id="twice"),
        pytest.param(Rule(action="swap", times=6), id="wrong-order"),
        pytest.param(Rule(action="silence", events=2, resource="cronschedules"), id="silent-schedules"),
        pytest.param(Rule(action="silence", events=2, resource="namespaces"), id="silent-namespaces"),
    ],
)
def test_is_each_slot_run_once_while_watches_fail(
    world: World, own_cluster: Cluster, proxy: FaultProxy, own_operator: OperatorProcess, rule: Rule
) -> None:
    known = len(proxy.faults())
    proxy.carry_out(Plan(seed=SEED, rules=(rule,)))
    own_operator.restart(**SETTINGS)
    _all_is_made_good(world, own_cluster, within=150)
    assert len(proxy.faults()) > known, "no fault was met"


def _all_is_made_good(world: World, cluster: Cluster, *, within: float = 90) -> None:
    """Backlogs of some slots: each is run, recorded, and was created once."""
    newest = this_minute() - 120
    slots = [newest - 60 * ago for ago in reversed(range(SLOTS))]
    names = [f"x{number}" for number in range(SCHEDULES)]
    for name in names:
        schedule = cron_schedule(
            name,
            minutely_until(newest, SLOTS),
            job=pod(),
            misfirePolicy="CatchUp",
            concurrencyPolicy="Allow",
            successfulJobsHistoryLimit=0,
            catchUp={"maxConcurrent": 10},
        )
        world.create_with_ledger(schedule, decided_until=slots[0] - 1)
    for name in names:
        counts = eventually(
            lambda name=name: world.status(name).get("counts", {}),  # type: ignore[misc]
            lambda counts: counts.get("succeeded") == SLOTS,
            within=within,
        )
        assert {key: total for key, total in counts.items() if total} == {"runs": SLOTS, "succeeded": SLOTS}
    wanted = {job_name(name, slot): 1 for name in names for slot in slots}
    assert Counter(jobs_created(cluster, world.namespace)) == wanted
