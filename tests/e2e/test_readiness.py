"""What Flux, Helm and Argo CD make of a schedule in each of its states, told by the real kstatus and by Argo CD's Lua.

The states are made on the control plane; each test looks at one of them. docs/gitops.md tells users of these verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.world import (
    JsonObject,
    World,
    condition,
    cron_schedule,
    down,
    eventually,
    minutely_until,
    pod,
    this_minute,
)
from fakes import argocd
from kstatus import verdicts
from localkube import Kubectl, OperatorProcess

YEARLY = "0 0 1 1 *"


class States:
    """Schedules by the state they are in. The operator is down at the end, for those that it must not see."""

    def __init__(self, world: World, tenant: World, newest: int) -> None:
        self.world, self.tenant, self._newest = world, tenant, newest
        self.objects: dict[str, JsonObject] = {}

    def make(self, operator: OperatorProcess) -> None:
        self._create()
        self._settle()
        for name in ("accepted", "suspended", "resumed", "failed", "catching-up", "truncated", "rejected"):
            self.objects[name] = self._read(self.world, name)
        self.objects["tenant-suspended"] = self._read(self.tenant, "tenant-suspended")
        with down(operator):
            self.world.create(cron_schedule("unseen", YEARLY))
            self.world.edit("accepted", runHistoryLimit=10)
            self.world.edit("corrected", jobTemplate={"spec": pod()})
            self.world.wipe_status("suspended")
            self.objects["unseen"] = self._read(self.world, "unseen")
            self.objects["edited"] = self._read(self.world, "accepted")
            self.objects["corrected"] = self._read(self.world, "corrected")
            self.objects["wiped"] = self._read(self.world, "suspended")

    def _create(self) -> None:
        once, five_times = minutely_until(self._newest, 1), minutely_until(self._newest, 5)
        catch_up = {"misfirePolicy": "CatchUp", "maxStaleness": "24h", "job": pod(outcome="hang")}
        no_such_volume = pod()
        container = no_such_volume["template"]["spec"]["containers"][0]
        container["volumeMounts"] = [{"name": "nowhere", "mountPath": "/data"}]
        self.tenant.suspend_tenant()
        self.tenant.create(cron_schedule("tenant-suspended", YEARLY))
        self.world.create(cron_schedule("accepted", YEARLY))
        for name in "suspended", "resumed":
            self.world.create(cron_schedule(name, YEARLY, suspend=True))
        self.world.create_with_ledger(
            cron_schedule("failed", once, job=pod(outcome="fail")),
            cron_schedule("rejected", once, job=no_such_volume),
            cron_schedule("corrected", once, job=no_such_volume),
            cron_schedule("catching-up", five_times, **catch_up),
            cron_schedule("truncated", five_times, catchUp={"maxRuns": 1}, **catch_up),
            decided_until=self._newest - 241,
        )

    def _settle(self) -> None:
        world = self.world
        for name in "accepted", "suspended", "resumed":
            world.wait_until_seen(name)
        world.edit("resumed", suspend=False)
        world.wait_for_status("resumed", lambda status: condition(status, "Suspended")["status"] == "False")
        self.tenant.wait_for_status("tenant-suspended", lambda status: "suspension" in status)
        world.wait_for_outcomes("failed", "Failed")
        for name in "rejected", "corrected":
            world.wait_for_status(name, lambda status: condition(status, "Stalled"))
        world.wait_for_status("catching-up", lambda status: status.get("backlog", {}).get("waiting") == 4)
        world.wait_for_status("truncated", lambda status: condition(status, "BacklogTruncated"))

    @staticmethod
    def _read(world: World, name: str) -> JsonObject:
        found: JsonObject = world.kubectl.json("get", "csch", name)
        return found


@pytest.fixture(scope="module")
def states(kubectl: Kubectl, operator: OperatorProcess) -> Iterator[States]:
    with World.fresh(kubectl) as world, World.fresh(kubectl) as tenant:
        states = States(world, tenant, this_minute() - 120)
        states.make(operator)
        yield states


@pytest.mark.parametrize(
    ("state", "kstatus", "health", "words"),
    [
        pytest.param("unseen", "InProgress", "Progressing", "Waiting for the operator", id="never seen"),
        pytest.param("accepted", "Current", "Healthy", "Next run at 20", id="accepted"),
        pytest.param("suspended", "Current", "Healthy", "Suspended: spec.suspend is true", id="suspended"),
        pytest.param(
            "tenant-suspended", "Current", "Healthy", "Suspended: Namespace ", id="suspended with its tenant"
        ),
        pytest.param("resumed", "Current", "Healthy", "Next run at 20", id="resumed"),
        pytest.param("failed", "Current", "Healthy", " failed: ", id="its last run failed"),
        pytest.param("catching-up", "Current", "Healthy", "Next run at 20", id="working off a backlog"),
        pytest.param(
            "truncated", "Current", "Healthy", "Next run at 20", id="slots were dropped by the caps"
        ),
        pytest.param("rejected", "Failed", "Degraded", "volumeMounts[0].name", id="its template is refused"),
        pytest.param("edited", "InProgress", "Progressing", "Waiting", id="an edit that is not seen yet"),
        pytest.param(
            "corrected", "InProgress", "Progressing", "Waiting", id="a correction that is not seen yet"
        ),
        pytest.param("wiped", "InProgress", "Progressing", "Waiting", id="a status that was wiped"),
    ],
)
def test_what_tools_make_of_it(states: States, state: str, kstatus: str, health: str, words: str) -> None:
    (verdict,) = verdicts([states.objects[state]])
    assert verdict.status == kstatus, verdict.message
    told = argocd.run("health.lua", states.objects[state])
    assert told["status"] == health
    assert words in told["message"]


def test_kubectl_waits_until_it_is_ready(states: States) -> None:
    at = states.world.kubectl
    assert at("wait", "--for=condition=Ready", "csch/failed", "--timeout=30s").endswith("condition met\n")
    at("wait", "--for=condition=Stalled", "csch/rejected", "--timeout=30s")
    at("wait", "--for=condition=Ready=False", "csch/rejected", "--timeout=30s")
    late = at.run("wait", "--for=condition=Ready", "csch/rejected", "--timeout=1s")
    assert late.returncode == 1
    assert "timed out" in late.stderr


def test_kubectl_waits_for_a_schedule_that_is_not_seen_yet(states: States, operator: OperatorProcess) -> None:
    at = states.world.kubectl
    with down(operator):
        states.world.create(cron_schedule("late", YEARLY))
        assert at.run("wait", "--for=condition=Ready", "csch/late", "--timeout=1s").returncode == 1
    at("wait", "--for=condition=Ready", "csch/late", "--timeout=30s")


@pytest.mark.parametrize("word", ["csch", "cronschedule", "cronschedules", "cronschedules.cronschedule.dev"])
def test_kubectl_knows_it_by_its_names(states: States, word: str) -> None:
    listed = states.world.kubectl("get", word, "-o", "name").split()
    assert "cronschedule.cronschedule.dev/accepted" in listed


def test_it_is_in_a_category_of_its_own_and_not_in_all(states: States, kubectl: Kubectl) -> None:
    alone = ["cronschedules.cronschedule.dev"]
    assert kubectl("api-resources", "--categories=cronschedules", "-o", "name").split() == alone
    assert "cronschedule" not in kubectl("api-resources", "--categories=all", "-o", "name")


def test_kubectl_selects_the_suspended_ones(states: States) -> None:
    eventually(
        lambda: states.world.kubectl("get", "csch", "-o", "name", "--field-selector", "spec.suspend=true"),
        lambda listed: listed.split() == ["cronschedule.cronschedule.dev/suspended"],
    )
