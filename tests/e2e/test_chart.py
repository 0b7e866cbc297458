"""The chart, installed by real Helm: the operator runs with its service account's rights, no more, and no fewer.

Nothing pulls images here, so the operator is a local process with the command, the environment and a token of the
service account that the Deployment names. The pods that kwok plays show that Pod Security "restricted" lets them in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cronschedule.api.names import API_VERSION, BACKFILL_KIND, SUSPENDED_LABEL, job_name
from cronschedule.api.reasons import SkipReason
from cronschedule.api.shapes import format_time
from e2e.installed import HOME, Site, as_user, counts, grant
from e2e.world import cron_schedule, eventually, pod, this_minute
from helm import render
from helm.program import CHART
from localkube import Cluster, Kubectl, LocalkubeError

ONLY_WHEN_A_WATCH_MISSED_SOMETHING = {("", "namespaces", "get"), ("cronschedule.dev", "cronschedules", "get")}


def backfilled(site: Site, tenant: str, schedule: str) -> None:
    """Ask, as a tenant, for what was skipped, and wait until the operator has taken that up."""
    now = this_minute()
    spec = {"schedule": schedule, "from": format_time(now - 600), "to": format_time(now)}
    told = {"apiVersion": API_VERSION, "kind": BACKFILL_KIND, "metadata": {"name": "again"}, "spec": spec}
    within = site.kubectl.within(tenant)
    as_user(within, "dev", "create", told=told)
    eventually(
        lambda: within.json("get", "backfill", "again"), lambda told: told.get("status", {}).get("conditions")
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A cluster of its own: what the chart installs is there for the whole cluster."""
    folder = tmp_path_factory.mktemp("site")
    with Cluster.up(audit_log=folder / "audit.jsonl") as cluster:
        site = Site(cluster, folder)
        site.kubectl("create", "namespace", HOME)
        site.kubectl("label", "namespace", HOME, "pod-security.kubernetes.io/enforce=restricted")
        site.helm(
            "install", "cronschedule", str(CHART),
            "--set", "policies.serviceAccounts.enabled=true",
            "--set", "policies.serviceAccounts.allowed={default,batch}",
        )  # fmt: skip
        with site.ending():
            yield site


def test_does_an_installed_release_live_its_whole_life(site: Site) -> None:
    kubectl, tenant = site.kubectl, "team-a"
    kubectl("create", "namespace", tenant)
    within = kubectl.within(tenant)
    grant(kubectl, tenant, "dev", "edit")

    # Two replicas pass Pod Security "restricted".
    pods = ["get", "pods", "-l", "app.kubernetes.io/name=cronschedule"]
    eventually(lambda: kubectl.within(HOME).json(*pods)["items"], lambda found: len(found) == 2)

    # A tenant's schedule runs, and its finished Jobs go.
    operator = site.start()
    for minute in range(4):  # whatever holds the name of a slot's Job is left alone, and the slot is skipped
        name = job_name("taken", this_minute() + 60 * minute)
        within.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": pod()})
    as_user(within, "dev", "create", told=cron_schedule("x", successfulJobsHistoryLimit=0))
    as_user(within, "dev", "create", told=cron_schedule("taken"))
    eventually(
        lambda: site.schedule(tenant, "taken"),
        lambda told: counts(told).get("skipped", {}).get(SkipReason.NAME_CONFLICT, 0) >= 2,
        within=150,
    )
    ran = eventually(
        lambda: site.schedule(tenant, "x"), lambda told: counts(told).get("succeeded", 0) >= 1, within=90
    )
    backfilled(site, tenant, "taken")
    told = site.metrics()
    assert 'cronschedule_decisions_total{decision="Run",reason="Schedule"}' in told
    assert "cronschedule_leader 1.0" in told

    # Suspended by label, resumed.
    label = ("label", "namespace", tenant)
    kubectl(*label, f"{SUSPENDED_LABEL}=true")
    eventually(lambda: site.schedule(tenant, "x"), lambda told: "suspension" in told["status"])
    kubectl(*label, f"{SUSPENDED_LABEL}-")
    eventually(lambda: site.schedule(tenant, "x"), lambda told: "suspension" not in told["status"])

    # Upgraded, rolled back; schedules go on.
    site.helm(
        "upgrade", "cronschedule", str(CHART), "--reset-then-reuse-values", "--set", "settings.logLevel=debug"
    )
    assert site.settings()["CRONSCHEDULE_LOG_LEVEL"] == "debug"
    operator.stop()
    operator = site.start()
    assert site.schedule(tenant, "x")["metadata"]["uid"] == ran["metadata"]["uid"]
    runs = counts(site.schedule(tenant, "x"))["runs"]
    eventually(lambda: site.schedule(tenant, "x"), lambda told: counts(told)["runs"] > runs, within=90)
    site.helm("rollback", "cronschedule", "1")
    assert "CRONSCHEDULE_LOG_LEVEL" not in site.settings()
    operator.stop()

    # Everything it asked for it may do, and everything that it may do it has used.
    requests = site.requests()
    assert not site.denied()
    used = {
        (
            event["objectRef"].get("apiGroup", ""),
            "/".join(filter(None, (event["objectRef"]["resource"], event["objectRef"].get("subresource")))),
            event["verb"],
        )
        for event in requests
        if "objectRef" in event
    }
    assert allowed(site) - used == ONLY_WHEN_A_WATCH_MISSED_SOMETHING - used
    assert used <= allowed(site)


def test_may_only_those_write_schedules_who_may_create_jobs(site: Site) -> None:
    tenant = site.kubectl.within("team-b")
    site.kubectl("create", "namespace", "team-b")
    site.kubectl("create", "clusterrole", "scheduler", "--verb=create,get,update,patch,delete",
                 "--resource=cronschedules.cronschedule.dev")  # fmt: skip
    grant(site.kubectl, "team-b", "mallory", "scheduler")
    grant(site.kubectl, "team-b", "alice", "edit")
    refused = refusal(tenant, "mallory", "create", told=cron_schedule("x"))
    assert "mallory may not create jobs.batch in namespace team-b" in refused
    as_user(tenant, "alice", "create", told=cron_schedule("x"))
    changed = cron_schedule("x", schedule="5 * * * *")
    assert "may not create jobs.batch" in refusal(tenant, "mallory", "replace", told=changed)
    as_user(tenant, "mallory", "annotate", "cronschedule", "x", "note=mine")  # no other Job comes of that
    as_user(tenant, "alice", "replace", told=changed)


def test_may_only_those_suspend_a_tenant_who_have_the_right(site: Site) -> None:
    kubectl = site.kubectl
    kubectl("create", "namespace", "team-c")
    grant(kubectl, "team-c", "bob", "admin")
    grant(kubectl, "team-c", "eve", "admin")
    kubectl("create", "clusterrole", "namespaces", "--verb=get,create,update,patch", "--resource=namespaces")
    for name in ("bob", "eve"):
        kubectl(
            "create", "clusterrolebinding", f"{name}-namespaces", "--clusterrole=namespaces", f"--user={name}"
        )
    grant(kubectl, "team-c", "bob", f"{HOME}-cronschedule-suspend-tenants")
    label = ("label", "namespace", "team-c")
    assert "eve may not update tenantsuspensions" in refusal(
        kubectl, "eve", *label, f"{SUSPENDED_LABEL}=true"
    )
    as_user(kubectl, "eve", *label, "team=c")
    as_user(kubectl, "bob", *label, f"{SUSPENDED_LABEL}=true")
    assert "eve may not update tenantsuspensions" in refusal(kubectl, "eve", *label, f"{SUSPENDED_LABEL}-")
    as_user(kubectl, "bob", *label, f"{SUSPENDED_LABEL}-")
    born = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "d", "labels": {SUSPENDED_LABEL: "true"}},
    }
    assert "eve may not update tenantsuspensions" in refusal(kubectl, "eve", "create", told=born)


def test_do_jobs_run_only_as_service_accounts_that_are_allowed(site: Site) -> None:
    site.kubectl("create", "namespace", "team-e")
    tenant = site.kubectl.within("team-e")

    def run_as(**names: str) -> dict[str, Any]:
        told = pod()
        told["template"]["spec"] |= names
        return cron_schedule("x", job=told)

    refused = refusal(
        tenant, "admin", "create", "--as-group=system:masters", told=run_as(serviceAccountName="root")
    )
    assert "root is not allowed; allowed are default, batch" in refused
    refused = refusal(
        tenant, "admin", "create", "--as-group=system:masters", told=run_as(serviceAccount="root")
    )
    assert "root is not allowed" in refused
    for allowed_names in ({"serviceAccountName": "batch"}, {}):
        tenant("create", "-f", "-", "--dry-run=server", stdin=json.dumps(run_as(**allowed_names)))


def test_are_schedules_refused_that_run_too_often(site: Site) -> None:
    values = (
        "--set",
        "policies.smallestInterval.enabled=true",
        "--set",
        "policies.smallestInterval.minutes=10",
    )
    site.helm("upgrade", "cronschedule", str(CHART), "--reset-then-reuse-values", *values)
    site.kubectl("create", "namespace", "team-f")
    tenant = site.kubectl.within("team-f")

    def answer(schedule: str) -> str:
        told = json.dumps(cron_schedule("x", schedule=schedule))
        return tenant.run("create", "-f", "-", "--dry-run=server", stdin=told).stderr

    eventually(lambda: answer("* * * * *"), lambda said: "may be less than 10 minutes apart" in said)
    for schedule in ("*/5 * * * *", "*/7 * * * *", "0,5 * * * *", "0,55 * * * *", "0-30 * * * *"):
        assert "may be less than 10 minutes apart" in answer(schedule), schedule
    for schedule in ("*/10 * * * *", "*/25 * * * *", "5 * * * *", "0,30 3 * * *", "50,5,20 * * * *"):
        assert answer(schedule) == "", schedule
    site.helm("rollback", "cronschedule")
    eventually(lambda: answer("* * * * *"), lambda said: said == "")


def refusal(kubectl: Kubectl, name: str, *words: str, told: dict[str, Any] | None = None) -> str:
    """What somebody is told who may not."""
    with pytest.raises(LocalkubeError) as refused:
        as_user(kubectl, name, *words, told=told)
    return str(refused.value)


def test_are_schedules_kept_when_the_release_is_uninstalled(site: Site) -> None:
    kubectl = site.kubectl
    if site.operator is not None:
        site.operator.end()
    kubectl("create", "namespace", "team-kept")
    kubectl.within("team-kept").apply(cron_schedule("x"))
    site.helm("uninstall", "cronschedule")
    assert kubectl.within("team-kept").json("get", "cronschedule", "x")
    assert not kubectl.json("get", "clusterroles", "-l", "app.kubernetes.io/name=cronschedule")["items"]
    policies = ("get", "validatingadmissionpolicies", "-l", "app.kubernetes.io/name=cronschedule")
    assert not kubectl.json(*policies)["items"]


def allowed(site: Site) -> set[tuple[str, str, str]]:
    """What the roles of the operator let it do."""
    roles = [
        role
        for role in render(home=site.folder / "helm", namespace=HOME)
        if (role["kind"], role["metadata"]["name"])
        in {("ClusterRole", f"{HOME}-cronschedule"), ("Role", "cronschedule")}
    ]
    assert len(roles) == 2
    return {
        (group, resource, verb)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
