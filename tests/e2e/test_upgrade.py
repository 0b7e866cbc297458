"""From the first version to this one: what it left on a cluster stays readable, is written, and runs nothing twice.

fixtures/first-version has its CRD, and schedules in all their states as its operator left them. They are put into a
cluster of their own, moved in time so that their newest slots were two minutes ago; then this version's CRDs are
installed and its operator is started.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cronschedule.api.names import API_VERSION, PLURAL
from cronschedule.api.shapes import format_time, parse_time
from e2e.world import JsonObject, World, condition, minutely_until, this_minute
from localkube import Cluster, Kubectl, OperatorProcess

FIRST = Path(__file__).resolve().parent / "fixtures" / "first-version"
CRDS = Path(__file__).resolve().parents[2] / "crds"
NAMES = ["active", "catching-up", "failed", "new", "ran", "skip", "suspended"]
REFUSED_NOW = "manual-selector"
"""It says `manualSelector: false`, which the first version took."""


def moved(text: str, seconds: int) -> str:
    """The same some time later: moments, the slots in names of Jobs, and the schedules, whose slots are at `newest`."""
    newest = json.loads(text)["newest"]
    for count in 1, 5:
        before, after = minutely_until(newest, count), minutely_until(newest + seconds, count)
        text = text.replace(f'"{before}"', f'"{after}"')
    text = re.sub(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d",
        lambda moment: format_time(parse_time(f"{moment[0]}Z") + seconds)[:-1],
        text,
    )
    return re.sub(r"(?<=[a-z]-)\d{8}\b", lambda minutes: str(int(minutes[0]) + seconds // 60), text)


class Left:
    """What the first version left: `schedules` and `jobs`, as manifests."""

    def __init__(self) -> None:
        text = (FIRST / "objects.json").read_text()
        self.newest = this_minute() - 120
        found = json.loads(moved(text, self.newest - json.loads(text)["newest"]))
        self.schedules: dict[str, JsonObject] = {
            each["metadata"]["name"]: each for each in found["schedules"]
        }
        self.jobs: list[JsonObject] = found["jobs"]
        ran, due = self.schedules["ran"], {"lastDecidedTime": format_time(self.newest - 241)}
        kept = {key: ran["status"][key] for key in ("conditions", "observedGeneration", "schedule")}
        self.schedules["due"] = {**ran, "metadata": {"name": "due"}, "status": kept | due}

    def put_into(self, world: World) -> None:
        for name, schedule in self.schedules.items():
            path = f"/apis/{API_VERSION}/namespaces/{world.namespace}/{PLURAL}"
            world.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(schedule))
            world.write_status(name, **schedule["status"])
        for job in self.jobs:
            (owner,) = job["metadata"]["ownerReferences"]
            owner["uid"] = world.schedule(owner["name"])["metadata"]["uid"]
            world.create(job)


@pytest.fixture(scope="module")
def left() -> Left:
    return Left()


@pytest.fixture(scope="module")
def cluster_with_it(left: Left) -> Iterator[Cluster]:
    with Cluster.up() as cluster:
        cluster.kubectl.install(FIRST / "crd.yaml")
        cluster.kubectl("create", "namespace", "old")
        left.put_into(World(cluster.kubectl, "old"))
        cluster.kubectl.install(CRDS)
        yield cluster


@pytest.fixture(scope="module")
def before(cluster_with_it: Cluster) -> dict[str, JsonObject]:
    """The schedules as kubectl shows them by the new CRD, before the new operator is there."""
    return _listed(cluster_with_it.kubectl, PLURAL)


@pytest.fixture(scope="module")
def world(
    cluster_with_it: Cluster, before: dict[str, JsonObject], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """The new operator has seen every schedule."""
    log = tmp_path_factory.mktemp("upgrade") / "operator.log"
    with OperatorProcess(cluster_with_it.kubeconfig, log).started():
        world = World(cluster_with_it.kubectl, "old")
        world.wait_for_outcomes("due", "Succeeded")
        for name in NAMES:
            world.see_again(name)
        yield world


def _listed(kubectl: Kubectl, kind: str) -> dict[str, Any]:
    items = kubectl.within("old").json("get", kind)["items"]
    return {each["metadata"]["name"]: each for each in items}


def test_what_was_stored_is_shown_as_it_was(left: Left, before: dict[str, JsonObject]) -> None:
    for name, schedule in left.schedules.items():
        assert before[name]["spec"] == schedule["spec"]
        assert before[name]["status"] == schedule["status"]


@pytest.mark.parametrize("name", NAMES)
def test_the_record_goes_on_and_nothing_is_run_twice(left: Left, world: World, name: str) -> None:
    old, new = left.schedules[name]["status"], world.status(name)
    assert condition(new, "Ready")["status"] == "True"
    assert new.get("runHistory", []) == old["runHistory"]
    assert {key: new["counts"][key] for key in ("runs", "succeeded", "failed")} == {
        key: old["counts"][key] for key in ("runs", "succeeded", "failed")
    }
    assert new["counts"].get("skipped", {}) == old["counts"]["skipped"]
    assert new["lastDecidedTime"] == old["lastDecidedTime"]
    assert new["activeRuns"] == old["activeRuns"]
    assert new.get("suspension") == old.get("suspension")
    assert new.get("backlog", {}).get("waiting") == old.get("backlog", {}).get("waiting")
    jobs = [job["metadata"]["name"] for job in left.jobs if job["metadata"]["name"].startswith(f"{name}-")]
    assert list(world.jobs(name)) == jobs


def test_what_was_due_is_run_once(left: Left, world: World) -> None:
    coalesced, run = world.rows("due")
    assert (coalesced["reason"], coalesced["count"]) == ("Coalesced", 4)
    assert (run["scheduledTime"], run["standsFor"]["count"]) == (format_time(left.newest), 5)


def test_a_backlog_goes_on_where_it_was(left: Left, world: World) -> None:
    """At last, since it changes what the other tests look at."""
    (job,) = world.jobs("catching-up")
    world.kubectl("delete", "job", job)
    _, deleted, active = world.wait_for_outcomes("catching-up", "Deleted", "Active")
    assert [deleted["scheduledTime"], active["scheduledTime"]] == [
        format_time(left.newest - ago) for ago in (180, 120)
    ]


def test_what_the_rules_refuse_by_now_is_told_and_healed_by_an_edit(world: World) -> None:
    status = world.wait_until_seen(REFUSED_NOW)
    stalled = condition(status, "Stalled")
    assert stalled["reason"] == "InvalidSchedule"
    assert "manualSelector is not allowed" in stalled["message"]
    world.kubectl("label", "csch", REFUSED_NOW, "team=billing")
    remove = '[{"op": "remove", "path": "/spec/jobTemplate/spec/manualSelector"}]'
    world.kubectl("patch", "csch", REFUSED_NOW, "--type=json", "-p", remove)
    assert condition(world.wait_until_seen(REFUSED_NOW), "Ready")["status"] == "True"
    assert world.status(REFUSED_NOW)["counts"]["runs"] == 1
