"""What the chart makes of its values: is it valid, closed, restricted, and all that the operator needs?"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from chart.readme import documented
from cronschedule.runtime import settings
from helm import helm, render
from helm.program import CHART, HelmError

EVERYTHING = """
replicas: 3
image: {digest: "sha256:%s"}
imagePullSecrets: [{name: registry}]
settings:
  {misfireThreshold: 30s, catchUpPerMinute: 100000, suspensionSelector: "paid!=true,!trial", namespaceSelector: shard=a}
alertWebhook: {secretName: webhook, urlKey: url, tokenKey: token, caKey: ca.crt}
networkPolicy: {from: [{namespaceSelector: {}}], extraEgress: [{ports: [{port: 9443}]}]}
priorityClassName: system-cluster-critical
nodeSelector: {a: b}
tolerations: [{key: a, operator: Exists}]
podLabels: {team: platform}
podAnnotations: {a: b}
metrics:
  perSchedule: true
  monitor: {enabled: true, labels: {release: prometheus}}
  rules: {enabled: true}
  dashboard: {enabled: true}
policies:
  smallestInterval: {enabled: true, minutes: 10}
  serviceAccounts: {enabled: true, allowed: [default, batch]}
""" % ("0" * 64)
NOTHING = """
replicas: 1
rbac: {aggregate: false}
crds: {enabled: false}
networkPolicy: {enabled: false}
policies: {jobCreators: {enabled: false}, catchUpWarning: {enabled: false}, suspensionLabel: {enabled: false}}
"""
SOME = "watchNamespaces: [team-a, team-b]"
COMBINATIONS = {"defaults": "{}", "everything": EVERYTHING, "nothing": NOTHING, "some-namespaces": SOME}
VERSIONS = ("1.35", "1.36", "1.37")
SET_BY_THE_CHART = {
    "HEALTH_PORT",
    "LEASE_NAME",
    "LEASE_NAMESPACE",
    "LEADER_ELECTION",
    "WATCH_NAMESPACES",
    "METRICS_PER_SCHEDULE",
    "ALERT_WEBHOOK_URL",
    "ALERT_WEBHOOK_TOKEN_FILE",
    "ALERT_WEBHOOK_CA_FILE",
}


class Chart:
    """The chart, rendered. `told` is what was rendered last, of which some may have the same name."""

    told: list[dict[str, Any]]

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self.folder = home, folder

    def __call__(self, values: str = "{}") -> dict[tuple[str, str], dict[str, Any]]:
        file = self.folder / "values.yaml"
        file.write_text(values)
        self.told = render("--values", str(file), home=self.home)
        return {(told["kind"], told["metadata"]["name"]): told for told in self.told}


@pytest.fixture
def chart(helm_home: Path, tmp_path: Path) -> Chart:
    return Chart(helm_home, tmp_path)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("values", COMBINATIONS.values(), ids=COMBINATIONS)
def test_is_every_object_valid(chart: Chart, values: str, version: str) -> None:
    for told in chart(values).values():
        if told["apiVersion"] == "monitoring.coreos.com/v1":
            continue  # Kubernetes has no schema of these
        kubernetes_validate.validate(told, version, strict=True)


def test_does_helm_lint_find_nothing(helm_home: Path) -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART), home=helm_home)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ("replica: 2", "replica"),
        ("replicas: 0", "replicas"),
        ("settings: {writer: 1}", "writer"),
        ("settings: {misfireThreshold: soon}", "misfireThreshold"),
        ("alertWebhook: {tokenKey: token}", "secretName"),
        ("image: {digest: latest}", "digest"),
        ("metrics: {monitor: {kind: Probe}}", "kind"),
        ("policies: {smallestInterval: {minutes: 0}}", "minutes"),
        ("watchNamespaces: [Team]", "watchNamespaces"),
        ("watchNamespaces: [team-a, team-a]", "watchNamespaces"),
    ],
)
def test_are_wrong_values_refused_by_name(chart: Chart, values: str, named: str) -> None:
    with pytest.raises(HelmError, match=named):
        chart(values)


def test_does_the_schema_know_every_value_and_no_other() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    text = (CHART / "values.yaml").read_text()
    for path, _ in documented(text):
        part: Mapping[str, Any] = schema
        for key in path.split("."):
            assert part.get("additionalProperties") is False, path
            part = part["properties"][key]
    values = yaml.safe_load(text)
    assert set(values) == set(schema["properties"]) - {"global"}


def test_can_every_setting_be_set() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    camel = schema["properties"]["settings"]["properties"]
    names = {re.sub("([A-Z])", r"_\1", name).upper() for name in camel}
    read = set(re.findall(r'read\("([A-Z_]+)"', Path(settings.__file__).read_text()))
    assert names == read - SET_BY_THE_CHART


def test_does_a_deployment_of_all_values_give_settings_that_the_operator_takes(chart: Chart) -> None:
    (container,) = chart(EVERYTHING)["Deployment", "cronschedule"]["spec"]["template"]["spec"]["containers"]
    environment = {one["name"]: one["value"] for one in container["env"] if "value" in one}
    files = {name for name in environment if name.endswith("_FILE")}
    read = settings.read_settings({name: value for name, value in environment.items() if name not in files})
    assert read.misfire_threshold == 30
    assert read.catch_up.per_minute == 100_000
    assert read.metrics_per_schedule
    assert read.election is not None
    assert read.election.namespace == "cronschedule"


@pytest.mark.parametrize("values", COMBINATIONS.values(), ids=COMBINATIONS)
def test_are_all_pods_restricted(chart: Chart, values: str) -> None:
    rendered = chart(values)
    pods = [
        rendered["Deployment", "cronschedule"]["spec"]["template"]["spec"],
        rendered["Pod", "cronschedule-test"]["spec"],
    ]
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["limits"]["memory"]


def test_do_two_replicas_survive_a_drain_and_one_does_not_block_it(chart: Chart) -> None:
    assert chart()["PodDisruptionBudget", "cronschedule"]["spec"]["maxUnavailable"] == 1
    assert ("PodDisruptionBudget", "cronschedule") not in chart("replicas: 1")


def test_are_crds_kept_unless_asked_otherwise(chart: Chart) -> None:
    name = ("CustomResourceDefinition", "cronschedules.cronschedule.dev")
    assert chart()[name]["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    assert "helm.sh/resource-policy" not in chart("crds: {keep: false}")[name]["metadata"]["annotations"]
    assert name not in chart("crds: {enabled: false}")


def test_may_the_operator_change_no_spec_no_namespace_and_no_secret(chart: Chart) -> None:
    rules = chart()["ClusterRole", "cronschedule-cronschedule"]["rules"]
    writes = {
        (resource, verb)
        for rule in rules
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if verb not in ("get", "list", "watch")
    }
    assert writes == {
        ("cronschedules", "patch"),
        ("cronschedules/status", "update"),
        ("backfills/status", "update"),
        ("jobs", "create"),
        ("jobs", "delete"),
        ("events", "create"),
        ("events", "patch"),
    }
    assert "*" not in json.dumps(rules)


def test_has_an_operator_of_some_namespaces_roles_in_these_and_no_right_elsewhere(chart: Chart) -> None:
    everywhere, rendered = chart(), chart(SOME)
    (container,) = rendered["Deployment", "cronschedule"]["spec"]["template"]["spec"]["containers"]
    environment = {one["name"]: one["value"] for one in container["env"]}
    assert settings.read_settings(environment).namespaces == ("team-a", "team-b")
    account = {"kind": "ServiceAccount", "name": "cronschedule", "namespace": "cronschedule"}
    bound = {
        (
            told["kind"],
            told["metadata"].get("namespace", ""),
            told["roleRef"]["kind"],
            told["roleRef"]["name"],
        )
        for told in chart.told
        if account in told.get("subjects", ())
    }
    name = "cronschedule-cronschedule"
    assert bound == {
        ("RoleBinding", "team-a", "Role", name),
        ("RoleBinding", "team-b", "Role", name),
        ("RoleBinding", "cronschedule", "Role", "cronschedule"),
    }
    roles = [
        told["rules"] for told in chart.told if (told["kind"], told["metadata"]["name"]) == ("Role", name)
    ]
    usual = everywhere["ClusterRole", name]["rules"]
    fewer = [rule | {"verbs": ["get"]} if rule["resources"] == ["namespaces"] else rule for rule in usual]
    assert roles == [fewer, fewer]


def test_do_two_releases_for_some_namespaces_each_share_no_object(chart: Chart) -> None:
    """They have the same name, in namespaces of their own."""
    shared = ["--set", "crds.enabled=false", "--set", "policies.catchUpWarning.enabled=false"]
    first, second = (
        {
            (told["kind"], told["metadata"].get("namespace", ""), told["metadata"]["name"])
            for told in render(
                "--set", f"watchNamespaces={{{tenant}}}", *more, home=chart.home, namespace=home
            )
        }
        for tenant, home, more in (("team-a", "one", []), ("team-b", "two", shared))
    )
    assert not first & second


def test_does_the_suspension_policy_guard_every_label_of_the_selector(chart: Chart) -> None:
    policy = chart(EVERYTHING)["ValidatingAdmissionPolicy", "cronschedule-cronschedule-suspension-label"]
    assert "['paid', 'trial']" in policy["spec"]["validations"][0]["expression"]


def test_do_monitors_ask_for_the_port_that_pods_have(chart: Chart) -> None:
    rendered = chart(EVERYTHING)
    (endpoint,) = rendered["PodMonitor", "cronschedule"]["spec"]["podMetricsEndpoints"]
    (container,) = rendered["Deployment", "cronschedule"]["spec"]["template"]["spec"]["containers"]
    assert endpoint["port"] in {port["name"] for port in container["ports"]}
    assert endpoint["honorLabels"] is True
    rules = rendered["PrometheusRule", "cronschedule"]["spec"]
    assert rules == yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())
    board = rendered["ConfigMap", "cronschedule-dashboard"]["data"]["cronschedule.json"]
    assert board == (CHART / "files" / "dashboard.json").read_text()
