"""What a real API server takes and refuses by the CRD alone, with no webhook and no operator running.

Requests are server-side dry runs under strict validation, as kubectl's are, unless a test needs the object to exist.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from kubernetes import config

from cronschedule.api.names import API_VERSION, GROUP, KIND, PLURAL, VERSION
from cronschedule.api.shapes import dump
from cronschedule.api.v1alpha1 import (
    Backlog,
    Condition,
    Counts,
    CronScheduleStatus,
    Row,
    ScheduleText,
    StandsFor,
    Suspension,
)
from cronschedule.core.cron import CronError, parse_cron
from cronschedule.core.zones import zone_names
from e2e.cron_texts import cron_texts
from localkube import Cluster, Kubectl

ROOT = Path(__file__).resolve().parents[2]
CASES = yaml.safe_load((ROOT / "tests" / "conformance" / "schedules.yaml").read_text())
BASE: dict[str, Any] = CASES["base"]["schedule"]
POD: dict[str, Any] = BASE["jobTemplate"]["spec"]["template"]["spec"]
OF_THE_SPEC = {"schedule", "timeZone", "spec"}


class Server:
    """The API server, asked whether it would take a CronSchedule."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def create(self, spec: dict[str, Any], *, name: str = "x", **rest: Any) -> httpx.Response:
        manifest = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": spec, **rest}
        return self._http.post(
            f"/apis/{GROUP}/{VERSION}/namespaces/default/{PLURAL}",
            params={"dryRun": "All", "fieldValidation": "Strict"},
            json=manifest,
        )

    def take(self, spec: dict[str, Any], **rest: Any) -> dict[str, Any]:
        """The object as the server would store it. AssertionError with the server's words where it refuses."""
        answer = self.create(spec, **rest)
        assert answer.status_code == 201, answer.json()["message"]
        taken: dict[str, Any] = answer.json()
        return taken

    def refusal(self, spec: dict[str, Any], **rest: Any) -> str:
        """The server's words, or nothing where it would take it."""
        answer = self.create(spec, **rest)
        assert answer.status_code in (201, 400, 422), answer.text
        return "" if answer.status_code == 201 else str(answer.json()["message"])


@pytest.fixture(scope="module")
def server(cluster: Cluster) -> Iterator[Server]:
    client = config.new_client_from_config(config_file=str(cluster.kubeconfig))
    settings = client.configuration
    tls = ssl.create_default_context(cafile=settings.ssl_ca_cert)
    if settings.cert_file:
        tls.load_cert_chain(settings.cert_file, settings.key_file)
    token = settings.get_api_key_with_prefix("authorization")
    headers = {"Authorization": token} if token else {}
    with httpx.Client(base_url=settings.host, verify=tls, headers=headers, timeout=30) as http:
        yield Server(http)


def changed(case: dict[str, Any]) -> dict[str, Any]:
    """The spec of a conformance case."""
    own = {key: case[key] for key in ("schedule", "timeZone") if key in case}
    return {**BASE, **own, **case.get("spec", {})}


def plain(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter not in " -_")


def shown(case: dict[str, Any]) -> str:
    return " ".join(str(case[key]) for key in ("schedule", "timeZone", "spec", "why") if key in case)


@pytest.mark.parametrize("case", [c for c in CASES["reject"] if OF_THE_SPEC & c.keys()], ids=shown)
def test_the_conformance_cases_that_must_be_refused_name_their_field(
    server: Server, case: dict[str, Any]
) -> None:
    field = case.get("field", "schedule")
    assert plain(field) in plain(server.refusal(changed(case)))


@pytest.mark.parametrize("case", [c for c in CASES["accept"] if OF_THE_SPEC & c.keys()], ids=shown)
def test_the_conformance_cases_that_must_be_taken_are_taken(server: Server, case: dict[str, Any]) -> None:
    server.take(changed(case))


def test_server_and_operator_agree_on_generated_cron_texts(server: Server) -> None:
    texts = cron_texts(count=800, seed=20260330)
    with ThreadPoolExecutor(8) as threads:
        refusals = threads.map(lambda text: server.refusal({**BASE, "schedule": text}), texts)
        seen = dict(zip(texts, refusals, strict=True))
    expected = {text: _cron_mistake(text) for text in seen}
    differing = {
        text: (expected[text], seen[text]) for text in seen if bool(expected[text]) != bool(seen[text])
    }
    assert differing == {}
    assert 200 < sum(not mistake for mistake in expected.values()) < 600, "the texts should be of both sorts"
    assert sum("never run" in mistake for mistake in expected.values()) > 10, (
        "some should ask for days that never come"
    )


def _cron_mistake(text: str) -> str:
    try:
        parse_cron(text)
    except CronError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        pytest.param(
            "0 */25 * * *",
            'spec.schedule: Invalid value: "0 */25 * * *": the hour field accepts * alone or a list of numbers from 0'
            " to 23, ranges of them and steps from 1 to 24, such as 9,17 or 9-17/2 or */6; the list item "
            '"*/25" is none of these',
            id="what is allowed, and which item is not",
        ),
        pytest.param(
            "0 0 * * sat-sun",
            'a range in the day-of-week field goes from a smaller to a larger value, and not so in "sat-sun"',
            id="a range that runs backwards",
        ),
        pytest.param(
            "CRON_TZ=Europe/Berlin 0 9 * * *",
            "a time zone is not allowed in the text, write it into spec.timeZone",
            id="where the zone belongs",
        ),
        pytest.param(
            "@every 5m",
            "only these are allowed: @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually",
            id="which macros there are",
        ),
        pytest.param(
            "0 0 30 2 *",
            "none of the months has a day that the day-of-month field asks for, so it would never run",
            id="a date that never comes",
        ),
        pytest.param(
            "0 9 * *",
            "five fields are needed: minute hour day-of-month month day-of-week, such as 0 9 * * mon-fri",
            id="too few fields",
        ),
        pytest.param(
            "0 9 * * *\n",
            "only letters, digits, blanks, tabs and the signs * , - / are allowed",
            id="a line end",
        ),
    ],
)
def test_what_the_server_says_of_a_schedule(server: Server, schedule: str, words: str) -> None:
    assert words in server.refusal({**BASE, "schedule": schedule})


NEVER = "would never run"


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        pytest.param(",".join(["0"] * 46) + " * * * *", "", id="a list of 46"),
        pytest.param("0 0 31 " + ",".join(["2"] * 45) + " *", NEVER, id="45 months without a 31st"),
        pytest.param("0 0 " + ",".join(["31"] * 29) + " 2 *", NEVER, id="29 days that never come"),
        pytest.param("0 0 31 2 " + ",".join(["0-6/1"] * 15), NEVER, id="15 times the whole week"),
        pytest.param("0 0 31 2 " + ",".join(["mon"] * 22), "", id="22 times Monday, which may decide alone"),
        pytest.param("," * 92 + " * * * *", "the minute field", id="92 commas"),
        pytest.param("* " * 50, "five fields", id="50 fields"),
        pytest.param("\t" * 91 + "* * * * *", "", id="91 tabs"),
    ],
)
def test_the_longest_texts_stay_within_the_servers_cost_limits(
    server: Server, schedule: str, words: str
) -> None:
    assert len(schedule) <= 100
    refusal = server.refusal({**BASE, "schedule": schedule})
    assert words in refusal if words else refusal == ""


@pytest.mark.parametrize(
    "zone",
    [
        pytest.param("+02:00", id="an offset"),
        pytest.param("02:00", id="an offset without a sign"),
        pytest.param("Factory", id="the placeholder of the database"),
        pytest.param("localtime", id="the machine's zone"),
        pytest.param("right/Europe/Berlin", id="leap seconds"),
        pytest.param("../Europe/Berlin", id="a path"),
        pytest.param("europe/berlin", id="wrong case"),
        pytest.param("Mars/Phobos", id="no zone on earth"),
        pytest.param("zone.tab", id="another file of the database"),
        pytest.param("Europe/Berlin ", id="a blank at the end"),
    ],
)
def test_what_is_no_time_zone_is_refused(server: Server, zone: str) -> None:
    assert "spec.timeZone" in server.refusal({**BASE, "timeZone": zone})


def test_every_zone_of_the_operator_is_taken_unless_the_servers_database_is_too_old(server: Server) -> None:
    zones = sorted(zone_names())
    with ThreadPoolExecutor(8) as threads:
        refusals = list(threads.map(lambda zone: server.refusal({**BASE, "timeZone": zone}), zones))
    assert "" in refusals
    refused = {zone: words for zone, words in zip(zones, refusals, strict=True) if words}
    assert {zone: words for zone, words in refused.items() if f"unknown time zone {zone}" not in words} == {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(
            {"catchUp": {"maxRuns": 5}},
            "spec.catchUp: Forbidden: catchUp is allowed only with misfirePolicy CatchUp",
            id="catchUp with the default policy",
        ),
        pytest.param(
            {"misfirePolicy": "FireOnce", "catchUp": {}},
            "spec.catchUp: Forbidden",
            id="an empty catchUp is one too",
        ),
        pytest.param(
            {"misfirePolicy": "CatchUp", "concurrencyPolicy": "Replace"},
            "spec.concurrencyPolicy: Invalid value: concurrencyPolicy Replace is not allowed with misfirePolicy",
            id="Replace with CatchUp",
        ),
        pytest.param({"maxStaleness": "59s"}, "spec.maxStaleness: Invalid value", id="too short a staleness"),
        pytest.param(
            {"maxStaleness": "99999999h"}, "1m to 24h is allowed", id="a staleness of eleven millennia"
        ),
        pytest.param({"maxStaleness": 3600}, "must be of type string", id="a number for a duration"),
        pytest.param(
            {"successfulJobsHistoryLimit": 101}, "successfulJobsHistoryLimit", id="too many Jobs kept"
        ),
        pytest.param({"failedJobsHistoryLimit": -1}, "failedJobsHistoryLimit", id="fewer than no Jobs kept"),
        pytest.param({"runHistoryLimit": 0}, "greater than or equal to 1", id="no history"),
        pytest.param({"runHistoryLimit": 201}, "less than or equal to 200", id="too long a history"),
        pytest.param({"suspend": "true"}, "must be of type boolean", id="text for a switch"),
        pytest.param({"schedule": None}, "spec.schedule: Required value", id="no schedule"),
        pytest.param({"jobTemplate": None}, "spec.jobTemplate: Required value", id="no template"),
    ],
)
def test_what_else_of_the_spec_is_refused(server: Server, change: dict[str, Any], words: str) -> None:
    assert words in server.refusal({**BASE, **change})


CONTAINER = {"name": "c", "image": "i"}


@pytest.mark.parametrize(
    ("job", "words"),
    [
        pytest.param(
            {"selector": {"matchLabels": {"a": "b"}}},
            "spec.jobTemplate.spec.selector: Forbidden",
            id="a selector",
        ),
        pytest.param(
            {"manualSelector": True}, "spec.jobTemplate.spec.manualSelector: Forbidden", id="its switch"
        ),
        pytest.param(
            {"template": {"spec": {**POD, "restartPolicy": "Always"}}}, '"Never", "OnFailure"', id="Always"
        ),
        pytest.param(
            {"template": {"spec": {"containers": [CONTAINER]}}},
            "template.spec.restartPolicy: Required value",
            id="no restart policy",
        ),
        pytest.param(
            {"template": {"spec": {**POD, "containers": []}}}, "at least 1 items", id="no container"
        ),
        pytest.param({"template": {}}, "spec.jobTemplate.spec.template.spec: Required value", id="no pod"),
        pytest.param(
            {"backofLimit": 3}, 'unknown field "spec.jobTemplate.spec.backofLimit"', id="a misspelt key"
        ),
        pytest.param(
            {"template": {"spec": {**POD, "containers": [{**CONTAINER, "imagePullPolcy": "Always"}]}}},
            'unknown field "spec.jobTemplate.spec.template.spec.containers[0].imagePullPolcy"',
            id="a misspelt key deep down",
        ),
        pytest.param(
            {
                "template": {
                    "spec": {**POD, "containers": [{**CONTAINER, "resources": {"limits": {"cpu": "1x"}}}]}
                }
            },
            "resources.limits.cpu",
            id="a quantity that is none",
        ),
        pytest.param(
            {
                "template": {
                    "spec": {**POD, "containers": [{**CONTAINER, "resources": {"limits": {"cpu": 0.5}}}]}
                }
            },
            "limits.cpu in body must be of type integer,string",
            id="a fraction without quotes",
        ),
        pytest.param(
            {"template": {"spec": {**POD, "containers": [CONTAINER, CONTAINER]}}},
            "Duplicate value",
            id="a name twice",
        ),
    ],
)
def test_what_of_the_job_template_is_refused(server: Server, job: dict[str, Any], words: str) -> None:
    template = {"spec": {**BASE["jobTemplate"]["spec"], **job}}
    assert words in server.refusal({**BASE, "jobTemplate": template})


def test_a_job_template_of_all_kinds_of_values_is_stored_as_it_was_written(server: Server) -> None:
    container = {
        **CONTAINER,
        "command": ["sh", "-c", "true"],
        "env": [
            {"name": "A", "value": "1"},
            {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ],
        "resources": {
            "requests": {"cpu": 2, "memory": "64Mi"},
            "limits": {"cpu": "2500m", "memory": "1.5Gi"},
        },
        "ports": [{"containerPort": 80}],
        "livenessProbe": {"httpGet": {"path": "/", "port": "http"}},
        "readinessProbe": {"httpGet": {"path": "/", "port": 8080}},
    }
    job = {
        "backoffLimit": 2,
        "suspend": True,
        "ttlSecondsAfterFinished": 60,
        "podFailurePolicy": {
            "rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
            ]
        },
        "template": {
            "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
            "spec": {
                "restartPolicy": "OnFailure",
                "containers": [container],
                "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
                "tolerations": [{"operator": "Exists"}],
                "topologySpreadConstraints": [
                    {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
                ],
            },
        },
    }
    template = {
        "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}, "annotations": {"e": "f"}},
        "spec": job,
    }
    assert server.take({**BASE, "jobTemplate": template})["spec"]["jobTemplate"] == template


def test_defaults_are_set_where_users_see_them(server: Server) -> None:
    assert server.take(BASE)["spec"] == {
        **BASE,
        "timeZone": "Etc/UTC",
        "misfirePolicy": "FireOnce",
        "maxStaleness": "1h",
        "concurrencyPolicy": "Forbid",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
        "runHistoryLimit": 50,
    }


def test_defaults_of_catching_up_are_set_only_where_it_was_written(server: Server) -> None:
    spec = server.take({**BASE, "misfirePolicy": "CatchUp", "catchUp": {}})["spec"]
    assert spec["catchUp"] == {"maxRuns": 100, "maxAge": "24h", "maxConcurrent": 1}
    assert "catchUp" not in server.take({**BASE, "misfirePolicy": "CatchUp"})["spec"]


@pytest.mark.parametrize("key", ["timeZone", "suspend", "catchUp", "maxStaleness"])
def test_null_means_left_out(server: Server, key: str) -> None:
    assert server.take({**BASE, key: None})["spec"] == server.take(BASE)["spec"]


def test_an_object_that_nobody_has_seen_is_of_no_generation(server: Server) -> None:
    taken = server.take(BASE, status={"observedGeneration": 1, "activeRuns": 5})
    assert taken["status"] == {"observedGeneration": -1}


def test_a_name_may_have_52_characters(server: Server) -> None:
    assert server.take(BASE, name="n" * 52)
    assert "metadata.name may have 52 characters at most" in server.refusal(BASE, name="n" * 53)


def manifest(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": {**BASE, **spec}}


def fullest_status() -> CronScheduleStatus:
    """Every field set, 200 rows, every message as long as may be."""
    row = Row(
        scheduled_time=1774746000,
        outcome="Succeeded",
        job="j" * 63,
        trigger="CatchUp",
        start_time=1774746001,
        completion_time=1774746301,
        stands_for=StandsFor(count=361, first=1774724400),
        reason="Coalesced",
        message="m" * 256,
        count=360,
        first_scheduled_time=1774724400,
    )
    ready = Condition(
        type="Ready",
        status="True",
        observed_generation=1,
        last_transition_time=1774746000,
        reason="Scheduling",
        message="m" * 1024,
    )
    return CronScheduleStatus(
        observed_generation=1,
        conditions=(ready,),
        schedule=ScheduleText(expression="0 9 * * *", time_zone="Etc/UTC"),
        last_decided_time=1774746000,
        last_schedule_time=1774746000,
        last_successful_time=1774746000,
        last_failure_time=1774746000,
        next_schedule_time=1774746060,
        active_runs=1,
        backlog=Backlog(
            waiting=2, oldest=1774746000, since=1774746000, at_first=3, done=1, through=1774746000
        ),
        suspension=Suspension(since=1774746000, reason="TenantSuspended", message="m" * 256),
        counts=Counts(runs=5, succeeded=3, failed=1, skipped={"Coalesced": 360, "Stale": 2}),
        run_history=(row,) * 200,
    )


def write_status(kubectl: Kubectl, name: str, status: CronScheduleStatus) -> None:
    document = {**kubectl.json("get", "csch", name), "status": dump(status)}
    kubectl("replace", "--subresource=status", "-f", "-", stdin=json.dumps(document))


def test_the_fullest_status_is_stored_whole_and_moves_no_generation(kubectl: Kubectl, namespace: str) -> None:
    at = kubectl.within(namespace)
    at.apply(manifest("full"))
    write_status(at, "full", fullest_status())
    stored = at.json("get", "csch", "full")
    assert stored["status"] == dump(fullest_status())
    assert stored["metadata"]["generation"] == 1


def test_get_shows_what_matters(kubectl: Kubectl, namespace: str) -> None:
    at = kubectl.within(namespace)
    at.apply(manifest("seen"), manifest("unseen", suspend=True))
    write_status(at, "seen", fullest_status())
    narrow = at("get", "cronschedules", "seen").splitlines()
    assert narrow[0].split() == [
        "NAME",
        "SCHEDULE",
        "POLICY",
        "SUSPENDED",
        "ACTIVE",
        "LAST",
        "NEXT",
        "READY",
        "AGE",
    ]
    assert "2026-03-29T01:01:00Z" in narrow[1]
    wide = at("get", "csch", "seen", "-o", "wide").splitlines()
    assert {"TIMEZONE", "REASON", "SKIPPED"} <= set(wide[0].split())
    assert '{"Coalesced":360,"Stale":2}' in wide[1]
    assert "Etc/UTC" in wide[1]
    assert (
        json.loads(at("get", "csch", "seen", "-o", "jsonpath={.status.runHistory[0]}"))["outcome"]
        == "Succeeded"
    )


@pytest.mark.parametrize("selector", ["spec.suspend=true", "spec.timeZone=Asia/Tokyo"])
def test_get_selects_by_fields(kubectl: Kubectl, namespace: str, selector: str) -> None:
    at = kubectl.within(namespace)
    at.apply(manifest("one"), manifest("two", suspend=True, timeZone="Asia/Tokyo"))
    found = at("get", "csch", "-o", "name", "--field-selector", selector)
    assert found.split() == ["cronschedule.cronschedule.dev/two"]


def test_client_side_apply_works_for_the_crd_and_for_schedules(kubectl: Kubectl, namespace: str) -> None:
    kubectl("apply", "--dry-run=server", "-f", str(ROOT / "crds"))
    at = kubectl.within(namespace)
    document = json.dumps(manifest("applied"))
    assert "created" in at("apply", "-f", "-", stdin=document)
    assert "unchanged" in at("apply", "-f", "-", stdin=document)


def test_server_side_apply_lets_two_owners_share_a_pod(kubectl: Kubectl, namespace: str) -> None:
    at = kubectl.within(namespace)
    for owner in ("one", "two"):
        pod = {"restartPolicy": "Never", "containers": [{"name": owner, "image": "i"}]}
        document = manifest("shared", jobTemplate={"spec": {"template": {"spec": pod}}})
        at("apply", "--server-side", f"--field-manager={owner}", "-f", "-", stdin=json.dumps(document))
    pod = at.json("get", "csch", "shared")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert [container["name"] for container in pod["containers"]] == ["one", "two"]


def test_kubectl_refuses_unknown_keys_by_itself(kubectl: Kubectl, namespace: str) -> None:
    refused = kubectl.within(namespace).run(
        "apply", "-f", "-", stdin=json.dumps(manifest("typo", misfirePolcy="Skip"))
    )
    assert refused.returncode == 1
    assert 'unknown field "spec.misfirePolcy"' in refused.stderr


@pytest.mark.parametrize(
    ("field", "words"),
    [
        pytest.param("", "decides and records what becomes of each run", id="the kind"),
        pytest.param(".spec.misfirePolicy", "FireOnce, the default, runs the newest one", id="the policy"),
        pytest.param(".spec.maxStaleness", "from 1m to 24h; default 1h", id="a duration"),
        pytest.param(".spec.catchUp.maxRuns", "from 1 to 100; default 100", id="a bound"),
        pytest.param(".spec.jobTemplate.spec", "must be Never or OnFailure", id="the template"),
        pytest.param(
            ".spec.jobTemplate.spec.template.spec.containers.image", "FIELD: image <string>", id="the pod"
        ),
        pytest.param(".status.runHistory.outcome", "Replaced, Deleted or Skipped", id="a row of the history"),
    ],
)
def test_explain_is_the_first_manual(kubectl: Kubectl, field: str, words: str) -> None:
    assert words in " ".join(kubectl("explain", f"cronschedule{field}").split())
