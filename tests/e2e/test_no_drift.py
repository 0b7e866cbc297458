"""People, GitOps tools and the operator write the same schedules: nobody is in another's way, and nothing drifts.

The operator writes the status, and one annotation once. Rules: semantics.md §4 and §6; docs/gitops.md tells users.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest

from cronschedule.api.names import ADOPTED_AT, API_VERSION, OPERATOR, PLURAL
from cronschedule.api.shapes import format_time, parse_time
from e2e.world import JsonObject, World, cron_schedule, down, eventually, minutely_until, pod, this_minute
from localkube import Kubectl, OperatorProcess

HOUR = 3600
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
Way = Literal["client", "server"]
WAYS: dict[Way, tuple[str, ...]] = {"client": (), "server": ("--server-side", "--field-manager=gitops")}

DEFAULTS: JsonObject = {
    "timeZone": "Etc/UTC",
    "misfirePolicy": "FireOnce",
    "maxStaleness": "1h",
    "concurrencyPolicy": "Forbid",
    "suspend": False,
    "successfulJobsHistoryLimit": 3,
    "failedJobsHistoryLimit": 1,
    "runHistoryLimit": 50,
}


def detailed_pod() -> JsonObject:
    """A Job's spec with values that API servers like to write in another way."""
    job = copy.deepcopy(pod())
    job["template"]["spec"]["containers"][0] |= {
        "env": [{"name": "EMPTY", "value": ""}, {"name": "NUMBER", "value": "010"}],
        "ports": [{"containerPort": 80}],
        "resources": {
            "requests": {"cpu": "0.5", "memory": "1024Mi"},
            "limits": {"cpu": "1000m", "memory": "1.5Gi"},
        },
    }
    return job


def manifests(text: str) -> dict[str, JsonObject]:
    """What people keep in Git: bare, with every default written out, and with as much as they like."""
    labels = {"team": "billing", "app.kubernetes.io/instance": "nightly"}
    made = {
        "bare": cron_schedule("bare", text),
        "defaults": cron_schedule("defaults", text, **DEFAULTS),
        "catches-up": cron_schedule(
            "catches-up",
            text,
            misfirePolicy="CatchUp",
            maxStaleness="24h",
            catchUp={"maxConcurrent": 10},
            concurrencyPolicy="Allow",
        ),
        "detailed": cron_schedule(
            "detailed", text, job=detailed_pod(), maxStaleness="90m", timeZone="Asia/Tokyo"
        ),
    }
    made["detailed"]["metadata"] |= {"labels": labels, "annotations": {"example.com/owner": "billing"}}
    return made


@pytest.fixture
def world(kubectl: Kubectl, operator: OperatorProcess, namespace: str) -> Iterator[World]:
    """The operator runs, by the true clock at the end whatever a test does with it."""
    yield World(kubectl, namespace)
    operator.end()
    operator.start()


def apply(world: World, way: Way, *schedules: JsonObject) -> None:
    items = {"apiVersion": "v1", "kind": "List", "items": list(schedules)}
    world.kubectl("apply", *WAYS[way], "-f", "-", stdin=json.dumps(items))


def diff(world: World, way: Way, *schedules: JsonObject) -> str:
    """What `kubectl diff` prints; nothing where there is nothing to do."""
    items = {"apiVersion": "v1", "kind": "List", "items": list(schedules)}
    answer = world.kubectl.run("diff", *WAYS[way], "-f", "-", stdin=json.dumps(items))
    assert answer.returncode in (0, 1), answer.stderr
    return answer.stdout


def owned(schedule: JsonObject, manager: str) -> dict[str, list[JsonObject]]:
    """The fields that a manager has written, by subresource ('' is the object itself)."""
    found: dict[str, list[JsonObject]] = {}
    for entry in schedule["metadata"].get("managedFields", ()):
        if entry["manager"] == manager:
            found.setdefault(entry.get("subresource", ""), []).append(entry["fieldsV1"])
    return found


def with_managers(world: World, name: str) -> JsonObject:
    found: JsonObject = world.kubectl.json("get", "csch", name, "--show-managed-fields")
    return found


def is_finished(status: JsonObject) -> bool:
    """Everything that was due has run."""
    counts = status.get("counts", {})
    return counts.get("runs", 0) > 0 and counts["runs"] == counts["succeeded"] and "backlog" not in status


def version(world: World, name: str) -> str:
    found: str = world.schedule(name)["metadata"]["resourceVersion"]
    return found


def look_again(world: World, operator: OperatorProcess) -> None:
    """Until a restarted operator, which looks at every schedule, has seen one that is newer than all others."""
    operator.end()
    operator.start()
    probe = f"probe-{operator.pid}"
    world.create(cron_schedule(probe, "0 0 1 1 *"))
    world.wait_until_seen(probe)


def test_two_owners_and_the_operator_write_one_schedule_without_a_conflict(
    world: World, operator: OperatorProcess
) -> None:
    """One owns the spec, one labels and annotations; the operator works off a backlog of twelve slots."""
    operator.end()
    spec = cron_schedule("shared", misfirePolicy="CatchUp", maxStaleness="24h", job=pod(duration="500ms"))
    apply(world, "server", spec)
    operator.start(clock="+12m")
    seen, rounds = set(), 0
    while not is_finished(world.status("shared")):
        rounds += 1
        marks = {"labels": {"round": f"r{rounds}"}, "annotations": {"example.com/round": f"{rounds}"}}
        labels = {**spec, "metadata": {"name": "shared", **marks}}
        del labels["spec"]
        for manager, document in ("gitops", spec), ("labeller", labels):
            applied = world.kubectl.run(
                "apply",
                "--server-side",
                f"--field-manager={manager}",
                "-f",
                "-",
                stdin=json.dumps(document),
            )
            assert applied.returncode == 0, applied.stderr
        seen.add(world.status("shared").get("lastDecidedTime"))
    assert len(seen) > 3, "the operator wrote while the others did"
    schedule = with_managers(world, "shared")
    assert schedule["metadata"]["generation"] == 1
    assert schedule["metadata"]["labels"] == {"round": f"r{rounds}"}
    assert set(schedule["metadata"]["annotations"]) == {"example.com/round", ADOPTED_AT}
    ours = owned(schedule, OPERATOR)
    assert set(ours) == {"", "status"}
    marks = {f"f:{ADOPTED_AT}": {}}
    for fields in ours[""]:
        marked = fields["f:metadata"]["f:annotations"]
        assert {key: part for key, part in marked.items() if key != "."} == marks
        assert (set(fields), set(fields["f:metadata"])) == ({"f:metadata"}, {"f:annotations"})
    assert [set(fields) for fields in ours["status"]] == [{"f:status"}]
    assert set(owned(schedule, "gitops")) == {""}
    assert diff(world, "server", spec) == ""


def test_what_others_write_and_a_restart_make_the_operator_write_nothing(
    world: World, operator: OperatorProcess
) -> None:
    """Every slot of this year is far away, so only an endless loop would go on writing."""
    made = cron_schedule("idle", "0 0 1 1 *")
    apply(world, "server", made)
    eventually(lambda: world.schedule("idle")["metadata"].get("annotations", {}), lambda a: ADOPTED_AT in a)
    settled = version(world, "idle")
    for _ in range(5):
        apply(world, "server", made)
    look_again(world, operator)
    assert version(world, "idle") == settled
    world.kubectl("label", "csch", "idle", "team=billing")
    world.kubectl("annotate", "csch", "idle", "example.com/owner=billing")
    labelled = version(world, "idle")
    look_again(world, operator)
    assert version(world, "idle") == labelled
    assert world.schedule("idle")["metadata"]["generation"] == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_day_of_runs_leaves_no_difference(world: World, operator: OperatorProcess, way: Way) -> None:
    made = manifests(minutely_until(this_minute() - 120, 1))
    operator.end()
    apply(world, way, *made.values())
    for hours in 1, 2, 24:
        operator.start(clock=f"+{hours}h") if hours == 1 else operator.set_clock(f"+{hours}h")
        for name in made:
            due = parse_time(world.schedule(name)["metadata"]["creationTimestamp"]) + (hours - 1) * HOUR
            world.wait_for_status(
                name,
                lambda status, due=due: is_finished(status) and parse_time(status["lastDecidedTime"]) > due,
            )
    assert world.counts("catches-up")["runs"] >= 24
    for name, manifest in made.items():
        assert diff(world, way, manifest) == ""
        assert world.schedule(name)["metadata"]["generation"] == 1
        assert world.status(name)["counts"]["runs"] >= 3


@pytest.mark.parametrize("name", manifests(""))
def test_defaults_of_the_schema_are_no_drift_for_a_gitops_tool(world: World, name: str) -> None:
    """By Argo CD's three-way comparison, and by a dry run of server-side apply as Flux and Argo CD make it."""
    manifest = manifests("0 0 1 1 *")[name]
    apply(world, "client", manifest)
    world.wait_until_seen(name)
    live = eventually(
        lambda: world.schedule(name), lambda found: ADOPTED_AT in found["metadata"]["annotations"]
    )
    last_applied = json.loads(live["metadata"]["annotations"][APPLIED])
    place = {"namespace": world.namespace, "annotations": {}}
    wanted = {**manifest, "metadata": {**place, **manifest["metadata"]}}
    assert merged_three_ways(last_applied, wanted, live) == live
    tool = ("--server-side", "--field-manager=kustomize-controller", "--force-conflicts", "--dry-run=server")
    dry = json.loads(world.kubectl("apply", *tool, "-o", "json", "-f", "-", stdin=json.dumps(manifest)))
    assert dry["spec"] == live["spec"]
    assert dry["status"] == live["status"]
    for key in "labels", "annotations", "generation":
        assert dry["metadata"].get(key) == live["metadata"].get(key)


def merged_three_ways(before: Any, wanted: Any, live: Any) -> Any:
    """`live` after what was taken out of `before` goes and what is `wanted` is set: JSON merge, lists are whole."""
    if not isinstance(wanted, dict) or not isinstance(live, dict):
        return wanted
    before = before if isinstance(before, dict) else {}
    gone = before.keys() - wanted.keys()
    result = {key: part for key, part in live.items() if key not in gone}
    for key, part in wanted.items():
        result[key] = merged_three_ways(before.get(key), part, live.get(key))
    return result


def replace(world: World, operator: OperatorProcess, manifest: JsonObject, backup: JsonObject) -> None:
    """The annotation goes with it; the status is not touched by it."""
    world.kubectl("replace", "-f", "-", stdin=json.dumps(manifest))


def make_anew(world: World, operator: OperatorProcess, manifest: JsonObject, backup: JsonObject) -> None:
    world.kubectl("delete", "csch", "x")
    apply(world, "client", manifest)


def wipe(world: World, operator: OperatorProcess, manifest: JsonObject, backup: JsonObject) -> None:
    world.wipe_status("x")


def restore(world: World, operator: OperatorProcess, manifest: JsonObject, backup: JsonObject) -> None:
    """As a backup tool does it, which writes the status after the object."""
    with down(operator):
        world.kubectl("delete", "csch", "x")
        kept = {key: backup["metadata"][key] for key in ("name", "namespace", "annotations")}
        path = f"/apis/{API_VERSION}/namespaces/{world.namespace}/{PLURAL}"
        document = json.dumps({**backup, "metadata": kept})
        world.kubectl("create", "--raw", path, "-f", "-", stdin=document)
        world.write_status("x", **backup["status"])


HAPPENINGS: dict[str, Callable[..., None]] = {
    "kubectl replace": replace,
    "deleted and created anew": make_anew,
    "the status is wiped": wipe,
    "restored with an old status": restore,
}


@pytest.mark.parametrize("happening", HAPPENINGS)
@pytest.mark.parametrize("way", WAYS)
def test_what_happens_to_a_schedule_leaves_no_difference_and_runs_nothing_twice(
    world: World, operator: OperatorProcess, happening: str, way: Way
) -> None:
    """Its only slot was two minutes ago and has run; the next is an hour away."""
    newest = this_minute() - 120
    manifest = cron_schedule("x", minutely_until(newest, 1), successfulJobsHistoryLimit=10)
    apply(world, way, manifest)
    world.wait_until_seen("x")
    world.restore_ledger("x", decided_until=newest - 1)
    (row,) = world.wait_for_outcomes("x", "Succeeded")
    backup = eventually(
        lambda: world.schedule("x"), lambda found: ADOPTED_AT in found["metadata"]["annotations"]
    )
    HAPPENINGS[happening](world, operator, manifest, backup)
    world.wait_until_seen("x")
    eventually(lambda: world.schedule("x")["metadata"].get("annotations", {}), lambda a: ADOPTED_AT in a)
    look_again(world, operator)
    live = world.schedule("x")
    assert diff(world, way, manifest) == ""
    assert live["spec"] == {**DEFAULTS, **manifest["spec"]}
    runs = [each for each in world.rows("x") if each["outcome"] != "Skipped"]
    gone = happening == "deleted and created anew"
    assert [(each["job"], each["scheduledTime"]) for each in runs] == (
        [] if gone else [(row["job"], format_time(newest))]
    )
    assert parse_time(live["status"]["nextScheduleTime"]) == newest + HOUR
