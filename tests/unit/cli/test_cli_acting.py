"""`trigger`, `suspend`, `resume`: what they do to the cluster, and when they refuse. `tenants`: who is suspended."""

import pytest
from objects import condition, job, namespace, schedule, suspension


def made(cluster):
    return [each for each in cluster.objects("Job") if "-manual-" in each["metadata"]["name"]]


def test_trigger_makes_a_job_of_the_schedule(cli, cluster):
    template = {
        "metadata": {"labels": {"queue": "q"}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}]}}},
    }
    cluster.add(schedule(jobTemplate=template), namespace())

    answer = cli("trigger", "billing", "--reason", "invoice 4711")

    assert (answer.code, answer.out) == (0, "default/billing: created Job billing-manual-00002.\n")
    (found,) = made(cluster)
    metadata = found["metadata"]
    assert metadata["labels"] == {
        "queue": "q",
        "app.kubernetes.io/managed-by": "cronschedule",
        "cronschedule.dev/schedule": "billing",
        "cronschedule.dev/trigger": "Manual",
    }
    assert metadata["annotations"]["cronschedule.dev/trigger-reason"] == "invoice 4711"
    assert metadata["annotations"]["cronjob.kubernetes.io/instantiate"] == "manual"
    assert metadata["ownerReferences"][0]["uid"] == "uid-billing"
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert {"name": "CRONSCHEDULE_TRIGGER", "value": "Manual"} in container["env"]
    assert {"name": "CRONSCHEDULE_SCHEDULED_FOR", "value": "2025-11-30T12:00:00Z"} in container["env"]


def test_two_in_one_second_are_two_jobs(cli, cluster):
    cluster.add(schedule(concurrencyPolicy="Allow"), namespace())

    assert cli("trigger", "billing").code == 0
    assert cli("trigger", "billing").code == 0
    assert [each["metadata"]["name"] for each in made(cluster)] == [
        "billing-manual-00002",
        "billing-manual-00003",
    ]


def test_a_long_name_is_cut(cli, cluster):
    name = "x" * 44 + "-" + "y" * 7
    cluster.add(schedule(name), namespace())

    cli("trigger", name)

    (found,) = made(cluster)
    assert found["metadata"]["name"] == "x" * 44 + "-yyyyy-manual-00002"
    assert found["metadata"]["labels"]["cronschedule.dev/schedule"] == name


@pytest.mark.parametrize(
    ("given", "labels", "line"),
    [
        pytest.param(
            schedule(suspend=True),
            {},
            "error: default/billing is suspended (spec.suspend): resume it first",
            id="by its spec",
        ),
        pytest.param(
            schedule(status=suspension(message="Namespace default has the label team=off.")),
            {},
            "error: default/billing is suspended. Namespace default has the label team=off.",
            id="by what the operator says",
        ),
        pytest.param(
            schedule(),
            {"cronschedule.dev/suspended": "true"},
            "error: default/billing is suspended: namespace default has the label cronschedule.dev/suspended=true",
            id="by a label that the operator has not seen yet",
        ),
        pytest.param(
            schedule(
                status={"conditions": [condition("Ready", "False", "TemplateRejected", "no such field")]}
            ),
            {},
            "error: default/billing cannot run. TemplateRejected: no such field",
            id="not suspended, but refused",
        ),
        pytest.param(
            schedule(schedule="0 24 * * *"),
            {},
            "error: default/billing cannot run. Its spec is invalid.",
            id="invalid",
        ),
    ],
)
@pytest.mark.parametrize("force", [[], ["--force"]], ids=["asked", "forced"])
def test_trigger_is_refused(cli, cluster, given, labels, line, force):
    cluster.add(given, namespace(**labels))

    answer = cli("trigger", "billing", *force)

    assert (answer.code, answer.err.splitlines(), answer.out) == (1, [line], "")
    assert made(cluster) == []


def test_who_may_not_read_the_namespace_relies_on_the_status(cli, cluster):
    cluster.add(schedule())
    cluster.deny("Namespace", 'Error from server (Forbidden): namespaces "default" is forbidden')

    assert cli("trigger", "billing").code == 0


@pytest.mark.parametrize(
    ("policy", "others", "force", "code", "left"),
    [
        pytest.param("Forbid", [job("a")], [], 1, ["a"], id="Forbid refuses"),
        pytest.param("Forbid", [job("a")], ["--force"], 0, ["a", "new"], id="unless forced"),
        pytest.param(
            "Forbid", [job("a", finished="Complete")], [], 0, ["a", "new"], id="a finished run does not count"
        ),
        pytest.param(
            "Forbid", [job("a", owner="other")], [], 0, ["a", "new"], id="nor that of another schedule"
        ),
        pytest.param("Allow", [job("a")], [], 0, ["a", "new"], id="Allow goes on"),
        pytest.param("Replace", [job("a"), job("b")], [], 0, ["new"], id="Replace ends them"),
        pytest.param("Replace", [job("a")], ["--force"], 0, ["a", "new"], id="but not when forced"),
    ],
)
def test_the_overlap_guard_is_asked(cli, cluster, policy, others, force, code, left):
    cluster.add(schedule(concurrencyPolicy=policy), namespace(), *others)

    answer = cli("trigger", "billing", *force)

    assert answer.code == code
    names = [each["metadata"]["name"] for each in cluster.objects("Job")]
    assert ["new" if "-manual-" in name else name for name in names] == left


def test_the_run_that_blocks_is_named(cli, cluster):
    cluster.add(schedule(), namespace(), job("billing-29408820"))

    assert cli("trigger", "billing").err == (
        "error: billing-29408820 (for 1h) is still active, and concurrencyPolicy is Forbid: wait for the end, or use "
        "--force\n"
    )


def test_a_job_that_the_server_refuses_is_told(cli, cluster):
    cluster.add(schedule(), namespace())
    said = 'Error from server (Forbidden): jobs.batch "x" is forbidden: exceeded quota: jobs'
    cluster.deny("Job", said)

    assert (
        cli("trigger", "billing", "--force").err
        == 'error: jobs.batch "x" is forbidden: exceeded quota: jobs\n'
    )


def test_suspend_and_resume_write_the_spec_and_why(cli, cluster):
    cluster.add(schedule(status={"activeRuns": 1}))

    answer = cli("suspend", "billing", "--reason", "migration")

    assert answer.out == (
        "default/billing suspended: its slots are skipped until it is resumed. 1 run still active.\n"
    )
    (found,) = cluster.objects("CronSchedule")
    assert found["spec"]["suspend"] is True
    assert found["metadata"]["annotations"] == {"kubernetes.io/change-cause": "suspended: migration"}
    assert cli("suspend", "billing").out == "default/billing is suspended already.\n"

    assert cli("resume", "billing").out == (
        "default/billing resumed: its next slot is Sun 2025-11-30 14:00 +01:00.\n"
    )
    (found,) = cluster.objects("CronSchedule")
    assert found["spec"]["suspend"] is False
    assert found["metadata"]["annotations"] == {}
    assert cli("resume", "billing").out == "default/billing is not suspended by itself.\n"


def test_several_are_suspended_at_once(cli, cluster):
    cluster.add(schedule("a"), schedule("b"), schedule("c"))

    assert cli("suspend", "a", "c").code == 0
    assert [each["spec"].get("suspend", False) for each in cluster.objects("CronSchedule")] == [
        True,
        False,
        True,
    ]


def test_a_word_of_others_is_left_alone(cli, cluster):
    cluster.add(
        schedule(suspend=True, metadata={"annotations": {"kubernetes.io/change-cause": "helm upgrade"}})
    )

    cli("resume", "billing")

    (found,) = cluster.objects("CronSchedule")
    assert found["metadata"]["annotations"] == {"kubernetes.io/change-cause": "helm upgrade"}


@pytest.mark.parametrize(
    ("marks", "tool"),
    [
        pytest.param({"annotations": {"argocd.argoproj.io/tracking-id": "x"}}, "Argo CD", id="Argo CD"),
        pytest.param({"labels": {"kustomize.toolkit.fluxcd.io/name": "x"}}, "Flux", id="Flux"),
        pytest.param({"annotations": {"meta.helm.sh/release-name": "x"}}, "Helm", id="Helm"),
    ],
)
def test_a_tool_that_may_undo_it_is_named(cli, cluster, marks, tool):
    cluster.add(schedule(metadata=marks))

    assert cli("suspend", "billing").err == f"note: {tool} manages billing and may set spec.suspend back\n"


def test_resuming_does_not_resume_the_tenant(cli, cluster):
    cluster.add(schedule(suspend=True, status=suspension(message="Namespace default has the label x=y.")))

    assert cli("resume", "billing").err == (
        "note: its namespace is suspended all the same. Namespace default has the label x=y.\n"
    )


def tenant(name, since=None, **labels):
    made = namespace(name, **labels)
    if since is not None:
        fields = {"f:metadata": {"f:labels": {f"f:{label}": {} for label in labels}}}
        made["metadata"]["managedFields"] = [{"time": since, "fieldsV1": fields}]
    return made


SUSPENDED = {"cronschedule.dev/suspended": "true"}


def test_tenants_lists_suspended_namespaces(cli, cluster):
    cluster.add(
        tenant("free"),
        tenant("empty", since="2025-11-29T12:00:00Z", **SUSPENDED),
        tenant("team-a", **SUSPENDED),
        schedule("a", "team-a", status=suspension() | {"lastDecidedTime": "2025-11-30T09:00:00Z"}),
        schedule("b", "team-a", status=suspension(since="2025-11-30T10:30:00Z")),
        schedule("late", "team-b", status=suspension()),
        schedule("free", "free"),
    )

    assert cli("tenants").out.splitlines() == [
        "NAMESPACE  SUSPENDED SINCE    FOR     SCHEDULES  SLOTS SKIPPED",
        "empty      2025-11-29 12:00Z  1d      0          0",
        "team-a     2025-11-30 09:30Z  2h 30m  2          3",
        "team-b     2025-11-30 09:30Z  2h 30m  1          0",
    ]
    assert cli("tenants", "-o", "json").json[1] == {
        "namespace": "team-a",
        "since": "2025-11-30T09:30:00Z",
        "schedules": 2,
        "slotsSkipped": 3,
    }


def test_a_suspension_that_no_operator_has_seen_is_marked(cli, cluster):
    cluster.add(tenant("team-a", **SUSPENDED), schedule("a", "team-a"))

    assert cli("tenants").out.splitlines()[1] == (
        "team-a     unknown               1          0  (not all seen by the operator)"
    )


def test_another_selector_finds_other_tenants(cli, cluster):
    cluster.add(tenant("team-a", tier="off"), tenant("team-b", **SUSPENDED))

    assert [each["namespace"] for each in cli("tenants", "--selector", "tier=off", "-o", "json").json] == [
        "team-a"
    ]


def test_who_may_not_list_namespaces_sees_what_schedules_say(cli, cluster):
    cluster.add(schedule("a", "team-a", status=suspension()))
    cluster.deny("Namespace", "Error from server (Forbidden): namespaces is forbidden")

    answer = cli("tenants", "-o", "json")

    assert [each["namespace"] for each in answer.json] == ["team-a"]
    assert "told from the schedules alone" in answer.err


def test_no_tenant_is_suspended(cli, cluster):
    assert cli("tenants").out == "No namespace is suspended.\n"
