"""The chart, installed for some namespaces: Roles in these are all that the operator needs, and others are left alone.

A Role can let its own Namespace be read, by which tenants are suspended, though it can let nobody watch it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cronschedule.api.names import SUSPENDED_LABEL
from e2e.installed import HOME, USER, Site, counts
from e2e.world import cron_schedule, eventually
from helm.program import CHART
from localkube import Cluster

TENANTS = ("team-a", "team-b")
ELSEWHERE = "team-c"


@pytest.fixture
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    with Cluster.up(audit_log=folder / "audit.jsonl") as cluster:
        site = Site(cluster, folder)
        for name in (HOME, *TENANTS, ELSEWHERE):
            site.kubectl("create", "namespace", name)
        site.helm("install", "cronschedule", str(CHART), "--set", f"watchNamespaces={{{','.join(TENANTS)}}}")
        with site.ending():
            yield site


def ran(site: Site, tenant: str, *, more_than: int = 0) -> dict[str, Any]:
    """The schedule, once it has run so often."""
    return eventually(
        lambda: site.schedule(tenant, "x"),
        lambda told: counts(told).get("succeeded", 0) > more_than,
        within=120,
    )


def may(site: Site, *words: str) -> bool:
    """Does the API server let the operator do that?"""
    return site.kubectl.run("auth", "can-i", f"--as={USER}", *words).stdout.strip() == "yes"


def test_does_a_release_for_some_namespaces_live_on_roles_alone(site: Site) -> None:
    kubectl = site.kubectl
    assert may(site, "create", "jobs", "--namespace=team-a")
    assert may(site, "get", "namespaces/team-a", "--namespace=team-a")
    assert not may(site, "create", "jobs", f"--namespace={ELSEWHERE}")
    assert not may(site, "list", "cronschedules", "--all-namespaces")
    assert not may(site, "list", "namespaces")

    # Tenants' schedules run; one elsewhere is left alone, though it was there first.
    for tenant in (ELSEWHERE, *TENANTS):
        kubectl.within(tenant).apply(cron_schedule("x"))
    operator = site.start()
    for tenant in TENANTS:
        ran(site, tenant)

    # Suspended by label, resumed.
    label = ("label", "namespace", "team-a")
    kubectl(*label, f"{SUSPENDED_LABEL}=true")
    eventually(lambda: site.schedule("team-a", "x"), lambda told: "suspension" in told["status"])
    kubectl(*label, f"{SUSPENDED_LABEL}-")
    eventually(lambda: site.schedule("team-a", "x"), lambda told: "suspension" not in told["status"])
    assert site.schedule(ELSEWHERE, "x")["status"] == {"observedGeneration": -1}
    assert not site.denied()

    # A namespace goes, and our Role with it: the other does not notice. It comes back, and is looked after again.
    kubectl("delete", "namespace", "team-b")
    operator.wait_for(
        lambda line: line.get("event") == "namespace.unreadable" and line["namespace"] == "team-b"
    )
    before = counts(site.schedule("team-a", "x"))["succeeded"]
    kubectl("create", "namespace", "team-b")
    site.helm("upgrade", "cronschedule", str(CHART), "--reuse-values")
    kubectl.within("team-b").apply(cron_schedule("x"))
    ran(site, "team-a", more_than=before)
    ran(site, "team-b")
    assert {event["objectRef"].get("namespace") for event in site.denied()} <= {"team-b"}
    assert operator.stop() == 0
