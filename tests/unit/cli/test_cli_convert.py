"""`convert`: what becomes of CronJobs, and that every difference is said."""

import json
from pathlib import Path

import pytest
import yaml

CRON_JOBS = sorted((Path(__file__).parent / "cron_jobs").glob("*.yaml"))
CRON_JOB = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "backup", "namespace": "default"},
    "spec": {
        "schedule": "0 * * * *",
        "timeZone": "Etc/UTC",
        "jobTemplate": {
            "spec": {
                "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}}
            }
        },
    },
}


def cron_job(metadata=None, template=None, status=None, **spec):
    made = json.loads(json.dumps(CRON_JOB))
    made["metadata"].update(metadata or {})
    made["spec"].update(spec)
    made["spec"]["jobTemplate"].update(template or {})
    return json.dumps(made | ({"status": status} if status else {}))


def converted(cli, text):
    answer = cli("convert", "-f", "-", stdin=text)
    assert answer.code == 0, answer.err
    return yaml.safe_load(answer.out), answer.err.splitlines()


@pytest.mark.parametrize("file", CRON_JOBS, ids=lambda file: file.stem)
def test_a_real_life_cron_job_becomes_a_schedule_without_mistakes(cli, file):
    answer = cli("convert", "-f", file)

    assert answer.code == 0, answer.err
    checked = cli("check", "-", "--ignore", "clock-change", stdin=answer.out)
    assert (checked.code, checked.out) == (0, "")


@pytest.mark.parametrize("file", CRON_JOBS, ids=lambda file: file.stem)
def test_nothing_of_a_real_life_cron_job_is_lost_in_silence(cli, file):
    """Each value is in the schedule at the same path, or a difference names the path or one above it."""
    before = yaml.load(file.read_text(), yaml.BaseLoader)
    after, said = converted(cli, file.read_text())
    after = yaml.load(yaml.safe_dump(after), yaml.BaseLoader)
    told = {line.split(": ")[1] for line in said}

    def differing(value, other, path=""):
        if isinstance(value, dict):
            for key, part in value.items():
                inner = f"{path}.{key}" if path else key
                yield from differing(part, other.get(key) if isinstance(other, dict) else None, inner)
        elif value != other and value not in ("null", ""):
            yield path

    silent = [
        path
        for path in differing(before, after)
        if path not in ("apiVersion", "kind") and not any(path == each for each in told)
    ]
    defaults = {
        "spec.successfulJobsHistoryLimit": "3",
        "spec.failedJobsHistoryLimit": "1",
        "spec.suspend": "false",
    }
    assert [path for path in silent if path not in defaults and path != "status"] == []


@pytest.mark.parametrize(
    ("given", "made"),
    [
        pytest.param("*/2 * * * *", "*/2 * * * *", id="the same"),
        pytest.param("0 0 ? * ?", "0 0 * * *", id="question marks"),
        pytest.param("0 0 */2 * 1", "0 0 1-31/2 * 1", id="a stepped day that CronJob takes for either"),
        pytest.param("0 0 */2 * */3", "0 0 1-31/2 * 0-6/3", id="both stepped"),
        pytest.param("0 0 */2 * *", "0 0 */2 * *", id="a stepped day alone"),
        pytest.param("0 0 1-31 * 1", "0 0 * * *", id="every day or Mondays is every day"),
        pytest.param("0 0 13 * 0-6", "0 0 * * *", id="the 13th or any weekday is every day"),
        pytest.param("0 0 13 * FRI", "0 0 13 * FRI", id="either of two"),
        pytest.param("0 0 */1 * 1", "0 0 */1 * 1", id="a step of one is a star"),
        pytest.param("5-5 0 * * *", "5 0 * * *", id="a range of one"),
        pytest.param("0 0 * * mon-mon", "0 0 * * mon", id="a range of one name"),
        pytest.param("1,,2 +3 * * *", "1,2 3 * * *", id="an empty item and a sign"),
        pytest.param("*/100 */99 * * *", "0 0 * * *", id="steps beyond the field"),
        pytest.param("5/100 * * * *", "5 * * * *", id="a step beyond the field from a value"),
        pytest.param("*,5 * * * *", "* * * * *", id="a star beside others"),
        pytest.param("@weekly", "@weekly", id="a macro"),
    ],
)
def test_cron_text_keeps_its_meaning(cli, given, made):
    manifest, said = converted(cli, cron_job(schedule=given))

    assert manifest["spec"]["schedule"] == made
    assert (given == made) is not any(": spec.schedule: " in line for line in said)


def test_a_zone_in_the_text_becomes_the_time_zone(cli):
    manifest, said = converted(cli, cron_job(schedule="CRON_TZ=Asia/Tokyo 0 9 * * *", timeZone=None))

    assert (manifest["spec"]["schedule"], manifest["spec"]["timeZone"]) == ("0 9 * * *", "Asia/Tokyo")
    assert "backup: spec.schedule: the zone Asia/Tokyo moves from the text into timeZone" in said


@pytest.mark.parametrize(
    ("change", "path", "value", "sentence"),
    [
        pytest.param(
            {"timeZone": None}, "timeZone", "Etc/UTC", "the zone of kube-controller-manager", id="no zone"
        ),
        pytest.param({}, "maxStaleness", "24h", "runs its newest missed time however late", id="no deadline"),
        pytest.param(
            {"startingDeadlineSeconds": 5400},
            "maxStaleness",
            "1h30m",
            "recorded as Coalesced",
            id="a deadline",
        ),
        pytest.param(
            {"startingDeadlineSeconds": 10},
            "maxStaleness",
            "1m",
            "10 seconds become maxStaleness 1m",
            id="a short one",
        ),
        pytest.param(
            {"startingDeadlineSeconds": 10**6},
            "maxStaleness",
            "24h",
            "1000000 seconds become",
            id="a long one",
        ),
        pytest.param({}, "concurrencyPolicy", "Allow", "", id="no policy"),
        pytest.param(
            {"concurrencyPolicy": "Forbid"}, "concurrencyPolicy", "Forbid", "skipped for good", id="Forbid"
        ),
        pytest.param(
            {"concurrencyPolicy": "Replace"}, "concurrencyPolicy", "Replace", "by hand", id="Replace"
        ),
        pytest.param(
            {"suspend": True}, "suspend", True, "nothing that passed while suspended", id="suspended"
        ),
        pytest.param(
            {"suspend": False}, "suspend", None, "nothing that passed while suspended", id="not suspended"
        ),
        pytest.param(
            {"failedJobsHistoryLimit": 0}, "failedJobsHistoryLimit", 0, "", id="no failed Jobs kept"
        ),
        pytest.param(
            {"successfulJobsHistoryLimit": 500},
            "successfulJobsHistoryLimit",
            100,
            "500 becomes 100",
            id="many kept",
        ),
        pytest.param(
            {"successfulJobsHistoryLimit": 3}, "successfulJobsHistoryLimit", None, "", id="the default kept"
        ),
        pytest.param(
            {"futureField": 1}, "futureField", None, "has no such field", id="a field of the future"
        ),
    ],
)
def test_a_field_becomes_what_comes_closest(cli, change, path, value, sentence):
    manifest, said = converted(cli, cron_job(**change))

    assert manifest["spec"].get(path) == value
    assert sentence in "\n".join(said)


def test_a_quantity_that_is_a_fraction_becomes_text(cli):
    container = {"name": "a", "image": "b", "resources": {"limits": {"cpu": 0.5, "memory": 1073741824}}}
    pod = {"restartPolicy": "Never", "containers": [container]}
    manifest, _ = converted(cli, cron_job(template={"spec": {"template": {"spec": pod}}}))

    (made,) = manifest["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert made["resources"]["limits"] == {"cpu": "0.5", "memory": 1073741824}


def test_metadata_keeps_what_its_author_wrote(cli):
    metadata = {
        "labels": {"app": "x"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "team": "a"},
        "uid": "1",
        "resourceVersion": "2",
        "ownerReferences": [{"kind": "App", "name": "x"}],
    }
    manifest, said = converted(cli, cron_job(metadata, status={"lastScheduleTime": "2025-11-30T11:00:00Z"}))

    assert manifest["metadata"] == {
        "name": "backup",
        "namespace": "default",
        "labels": {"app": "x"},
        "annotations": {"team": "a"},
    }
    text = "\n".join(said)
    assert "metadata.ownerReferences: left out" in text
    assert "2025-11-30T11:00:00Z is not carried over" in text
    assert "metadata.uid" not in text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(
            cron_job(schedule="@every 10m"),
            "backup: spec.schedule: @every 10m counts from the last run, and a cron schedule has fixed times: write "
            "those, such as '*/10 * * * *'",
            id="@every",
        ),
        pytest.param(
            cron_job(schedule="0 0 30 2 *"),
            "backup: spec.schedule: day-of-month: none of the months given has a day 30, so this "
            "schedule would never run",
            id="a date that never comes",
        ),
        pytest.param(cron_job(schedule=None), "backup: spec.schedule: is required", id="no schedule"),
        pytest.param(
            cron_job(template={"spec": None}), "backup: spec.jobTemplate.spec: is required", id="no template"
        ),
        pytest.param(json.dumps({"kind": "CronJob"}), "CronJob: spec: is required", id="next to nothing"),
        pytest.param(json.dumps({"kind": "Pod"}), "standard input: holds no CronJob", id="no CronJob"),
        pytest.param(
            cron_job(startingDeadlineSeconds="soon"),
            "backup: spec.startingDeadlineSeconds: 'soon' is not a whole number of seconds",
            id="a deadline in words",
        ),
    ],
)
def test_what_cannot_be_converted_is_a_mistake(cli, text, line):
    answer = cli("convert", "-f", "-", stdin=text)

    assert answer.code == 2
    assert line in answer.err.splitlines()
    assert "CronSchedule" not in answer.out


def test_the_others_of_a_file_are_converted_all_the_same(cli):
    text = "\n---\n".join(
        [cron_job(), json.dumps({"kind": "Service"}), cron_job(schedule="@every 1h"), cron_job()]
    )

    answer = cli("convert", "-f", "-", "-q", stdin=text)

    assert answer.code == 2
    assert [each["kind"] for each in yaml.safe_load_all(answer.out)] == ["CronSchedule", "CronSchedule"]
    assert len(answer.err.splitlines()) == 1


def test_cron_jobs_of_the_cluster(cli, cluster):
    cluster.add(CRON_JOB, {**CRON_JOB, "metadata": {"name": "other", "namespace": "team-a"}})

    assert [
        each["metadata"]["name"]
        for each in cli("convert", "--from-cluster", "-A", "-q", "-o", "json").json["items"]
    ] == [
        "backup",
        "other",
    ]
    assert cli("convert", "--from-cluster", "backup", "-q", "-o", "json").json["metadata"]["name"] == "backup"
    assert cli("convert", "--from-cluster", "-n", "empty").err == "error: there are no CronJobs here\n"
    assert cli("convert", "--from-cluster", "nope").err == 'error: cronjobs.batch "nope" not found\n'
