"""`kubectl cronschedule` against a real API server, run by the real kubectl as people run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cronschedule.api.shapes import format_time
from e2e.world import World, cron_schedule, down, minutely_until, pod, this_minute
from localkube import Cluster, Kubectl, OperatorProcess

HOUR = 3600


@dataclass(frozen=True)
class Answer:
    """What a person sees of one command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


class Plugin:
    """`plugin("history", "x")` is `kubectl cronschedule history x` in a namespace, as one user."""

    def __init__(self, kubeconfig: str | Path, namespace: str = "default") -> None:
        self.kubeconfig, self.namespace = str(kubeconfig), namespace

    def __call__(self, *words: str, stdin: str = "") -> Answer:
        tools = str(Path(sys.executable).parent)
        environment = os.environ | {
            "KUBECONFIG": self.kubeconfig,
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        }
        command = ["kubectl", "cronschedule", *words]
        if "-n" not in words and "-A" not in words and words[0] not in ("completion", "check"):
            command += ["-n", self.namespace]
        done = subprocess.run(
            command, env=environment, input=stdin, capture_output=True, text=True, timeout=60
        )
        assert "Traceback" not in done.stderr
        return Answer(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def world(kubectl: Kubectl, operator: OperatorProcess) -> Iterator[World]:
    """A namespace with a schedule of each policy that came out of an outage of six slots a moment ago."""
    with World.fresh(kubectl) as world:
        newest = this_minute()
        twice = minutely_until(newest, 6)
        with down(operator):
            world.create_with_ledger(
                cron_schedule("fire-once", twice),
                cron_schedule("skip", twice, misfirePolicy="Skip"),
                cron_schedule("catch-up", twice, misfirePolicy="CatchUp", maxStaleness="2m"),
                cron_schedule("long", "0 0 1 1 *", job=pod(duration="8s")),
                cron_schedule("hangs", "0 0 1 1 *", job=pod(outcome="hang")),
                cron_schedule("fails", "0 0 1 1 *", job=pod(outcome="fail")),
                decided_until=newest - 360,
            )
        for name in ("fire-once", "skip", "catch-up", "long", "hangs", "fails"):
            world.wait_until_seen(name)
        world.wait_for_outcomes("fire-once", "Succeeded")
        yield world


@pytest.fixture(scope="module")
def plugin(world: World, cluster: Cluster) -> Plugin:
    return Plugin(cluster.kubeconfig, world.namespace)


def test_history_tells_of_runs_and_skips(plugin: Plugin) -> None:
    rows = plugin("history", "fire-once", "-o", "json").json

    assert [(row["outcome"], row.get("reason"), row.get("count")) for row in rows] == [
        ("Succeeded", None, None),
        ("Skipped", "Coalesced", 5),
    ]
    table = plugin("history", "fire-once").out
    assert "stands for 6 slots" in table
    assert "6 slots since creation: 1 run (1 succeeded, 0 failed), 5 skipped (Coalesced 5)." in table


def test_history_across_schedules_and_by_reason(plugin: Plugin, world: World) -> None:
    rows = plugin("history", "-A", "--reason", "Stale", "--reason", "Misfire", "-o", "json").json

    assert {row["schedule"] for row in rows if row["namespace"] == world.namespace} == {"skip", "catch-up"}


def test_history_as_a_page(plugin: Plugin) -> None:
    page = plugin("history", "fire-once", "-o", "html").out

    assert page.startswith("<!doctype html>")
    assert "Skipped Coalesced (5 slots)" in page


def test_explain_says_why_and_what_to_change(plugin: Plugin, world: World) -> None:
    slot = world.rows("catch-up")[0]["firstScheduledTime"]

    explained = plugin("explain", "catch-up", "--at", slot, "-o", "json").json

    assert explained["answer"].startswith("Skipped Stale")
    assert explained["change"] == "If a run that late is still of use, raise maxStaleness (at most 24h)."


def test_next_lists_the_slots_of_the_status(plugin: Plugin, world: World) -> None:
    first = plugin("next", "fire-once", "-c", "1", "-o", "json").json["slots"][0]["slot"]

    assert first == world.status("fire-once")["nextScheduleTime"]


def test_simulate_plays_a_live_schedule(plugin: Plugin) -> None:
    start = this_minute()
    answer = plugin(
        "simulate",
        "long",
        "--from",
        format_time(start),
        "--to",
        format_time(start + 370 * 86400),
        "-o",
        "json",
    ).json

    assert answer["counts"] == {"runs": 1, "skipped": {}}


def test_trigger_runs_it_now_and_the_history_tells_of_it(plugin: Plugin, world: World) -> None:
    answer = plugin("trigger", "long", "--reason", "because of a test", "--wait")

    assert answer.code == 0, answer.err
    assert "succeeded" in answer.err
    world.wait_for_outcomes("long", "Succeeded")
    (row,) = world.rows("long")
    assert (row["trigger"], row["message"]) == ("Manual", "because of a test")
    assert "Succeeded (Manual)" in plugin("history", "long").out


def test_a_failed_run_fails_the_trigger_that_waits_for_it(plugin: Plugin) -> None:
    answer = plugin("trigger", "fails", "--wait")

    assert answer.code == 1
    assert "failed. BackoffLimitExceeded" in answer.err


def test_trigger_asks_the_overlap_guard(plugin: Plugin, world: World) -> None:
    assert plugin("trigger", "hangs").code == 0
    (first,) = world.jobs("hangs")

    refused = plugin("trigger", "hangs")
    assert (refused.code, refused.out) == (1, "")
    assert first in refused.err
    assert list(world.jobs("hangs")) == [first]

    assert plugin("trigger", "hangs", "--force").code == 0
    assert len(world.jobs("hangs")) == 2

    world.edit("hangs", concurrencyPolicy="Replace")
    assert plugin("trigger", "hangs").code == 0
    world.wait_for_status(
        "hangs", lambda status: (status["activeRuns"], status["counts"]["manual"]) == (1, 3)
    )


def test_suspend_and_resume(plugin: Plugin, world: World) -> None:
    assert plugin("suspend", "skip", "--reason", "migration").code == 0
    world.wait_for_status("skip", lambda status: status.get("suspension"))

    assert plugin("trigger", "skip").err.startswith(f"error: {world.namespace}/skip is suspended")
    assert "suspended: migration" in plugin("explain", "skip").out

    assert "its next slot is" in plugin("resume", "skip").out
    world.wait_for_status("skip", lambda status: not status.get("suspension"))


def test_tenants_tells_since_when(kubectl: Kubectl, operator: OperatorProcess, plugin: Plugin) -> None:
    with World.fresh(kubectl) as world:
        world.create(cron_schedule("a", "0 0 1 1 *"), cron_schedule("b", "0 0 1 1 *"))
        world.wait_until_seen("b")
        before = int(time.time()) - 1
        world.suspend_tenant()
        world.wait_for_status("a", lambda status: status.get("suspension"))
        world.wait_for_status("b", lambda status: status.get("suspension"))

        (tenant,) = [
            each for each in plugin("tenants", "-o", "json").json if each["namespace"] == world.namespace
        ]

        assert tenant["schedules"] == 2
        assert format_time(before) <= tenant["since"] <= format_time(int(time.time()))
        refused = Plugin(plugin.kubeconfig, world.namespace)("trigger", "a")
        assert "has the label cronschedule.dev/suspended=true" in refused.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(plugin: Plugin, shell: str) -> None:
    assert "kubectl-cronschedule" in plugin("completion", shell).out


def test_kubectl_completes_names_of_schedules(plugin: Plugin, world: World) -> None:
    tools = str(Path(sys.executable).parent)
    environment = os.environ | {
        "KUBECONFIG": plugin.kubeconfig,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
    }
    command = ["kubectl", "__complete", "cronschedule", "explain", "-n", world.namespace, "fi"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    assert done.stdout.splitlines() == ["fire-once", ":4"]


@pytest.fixture(scope="module")
def stranger(world: World, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    """Someone who may do nothing."""
    world.kubectl("create", "serviceaccount", "stranger")
    token = world.kubectl("create", "token", "stranger").strip()
    view = json.loads(Kubectl(cluster.kubeconfig)("config", "view", "--raw", "-o", "json"))
    for user in view["users"]:
        user["user"] = {"token": token}
    file = tmp_path_factory.mktemp("stranger") / "kubeconfig"
    file.write_text(json.dumps(view))
    return Plugin(file, world.namespace)


@pytest.mark.parametrize(
    "words",
    [
        ["history", "long"],
        ["history", "-A"],
        ["explain", "long"],
        ["next", "long"],
        ["simulate", "long"],
        ["trigger", "long"],
        ["suspend", "long"],
        ["resume", "long"],
        ["tenants"],
        ["convert", "--from-cluster"],
    ],
    ids=" ".join,
)
def test_who_is_not_allowed_is_told_so_in_one_line(stranger: Plugin, words: list[str]) -> None:
    answer = stranger(*words)

    assert (answer.code, answer.out) == (1, "")
    errors = [line for line in answer.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert "is forbidden" in errors[0]


def test_a_name_that_is_misspelt(plugin: Plugin, world: World) -> None:
    assert plugin("history", "fire-onc").err == (
        f"error: there is no CronSchedule 'fire-onc' in namespace '{world.namespace}': did you mean fire-once?\n"
    )


def test_a_schedule_of_another_namespace(plugin: Plugin, world: World) -> None:
    answer = plugin("explain", "catch-up", "-n", "default")

    assert answer.code == 1
    assert answer.err.startswith("error: there is no CronSchedule 'catch-up' in namespace 'default', but in ")


@pytest.mark.parametrize(
    ("kubeconfig", "line"),
    [
        pytest.param("/nowhere", "error: no cluster is configured", id="no kubeconfig"),
        pytest.param("apiVersion: v1\nkind: Config\n", "error: no cluster is configured", id="an empty one"),
        pytest.param("a: [", "error: error loading config file", id="a broken one"),
        pytest.param(
            "dead", "error: the cluster cannot be reached: The connection to the server", id="no server"
        ),
    ],
)
def test_no_cluster(cluster: Cluster, tmp_path: Path, kubeconfig: str, line: str) -> None:
    file = tmp_path / "kubeconfig"
    if kubeconfig == "dead":
        view = json.loads(Kubectl(cluster.kubeconfig)("config", "view", "--raw", "-o", "json"))
        for each in view["clusters"]:
            each["cluster"] |= {"server": "https://127.0.0.1:1"}
        file.write_text(json.dumps(view))
    elif kubeconfig != "/nowhere":
        file.write_text(kubeconfig)

    answer = Plugin(file)("history")

    assert answer.code == 1
    (said,) = answer.err.splitlines()
    assert said.startswith(line)
