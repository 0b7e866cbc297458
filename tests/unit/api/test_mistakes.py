"""What a user reads who made a mistake in the spec."""

from pathlib import Path

import pytest
import yaml

from cronschedule.api.mistakes import Mistake, read_spec
from cronschedule.api.v1alpha1 import CronScheduleSpec

CONFORMANCE = yaml.safe_load((Path(__file__).parents[2] / "conformance" / "schedules.yaml").read_text())
BASE = CONFORMANCE["base"]["schedule"]
POD = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}

ORDER = "write whole hours, minutes and seconds in this order, such as 90s, 30m or 1h30m"


def job(**spec):
    return {"spec": {"template": {"spec": POD}, **spec}}


def refused(raw, **options):
    found = read_spec(raw, **{"unknown": "refuse", **options})
    assert isinstance(found, list), f"accepted: {found}"
    return [str(mistake) for mistake in found]


@pytest.mark.parametrize(
    ("change", "sentences"),
    [
        pytest.param({"schedule": None}, ["spec.schedule: is required"], id="no schedule"),
        pytest.param({"jobTemplate": None}, ["spec.jobTemplate: is required"], id="no template"),
        pytest.param({"schedule": 5}, ["spec.schedule: 5 is not text"], id="a number for text"),
        pytest.param(
            {"schedule": "*" * 101},
            ["spec.schedule: is 101 characters long: at most 100 are allowed"],
            id="too long a schedule",
        ),
        pytest.param(
            {"misfirePolicy": "Latest"},
            ["spec.misfirePolicy: 'Latest' is not one of FireOnce, Skip or CatchUp"],
            id="an unknown policy",
        ),
        pytest.param(
            {"misfirePolcy": "Skip"},
            ["spec.misfirePolcy: is not a known key: did you mean misfirePolicy?"],
            id="a typing mistake in a key",
        ),
        pytest.param(
            {"max_staleness": "1h"},
            ["spec.max_staleness: is not a known key: did you mean maxStaleness?"],
            id="the name that only Python knows",
        ),
        pytest.param(
            {"maxStaleness": "1d"}, [f"spec.maxStaleness: '1d' is not a duration: {ORDER}"], id="days"
        ),
        pytest.param(
            {"maxStaleness": 3600}, [f"spec.maxStaleness: 3600 is not a duration: {ORDER}"], id="a number"
        ),
        pytest.param(
            {"maxStaleness": "59s"},
            ["spec.maxStaleness: '59s' is out of range: 1m to 24h is allowed"],
            id="too short",
        ),
        pytest.param(
            {"maxStaleness": "24h1s"},
            ["spec.maxStaleness: '24h1s' is out of range: 1m to 24h is allowed"],
            id="too long",
        ),
        pytest.param(
            {"misfirePolicy": "CatchUp", "catchUp": {"maxRuns": 101, "maxConcurrent": 0, "maxAge": "25h"}},
            [
                "spec.catchUp.maxRuns: 101 is above the maximum, 100",
                "spec.catchUp.maxAge: '25h' is out of range: 1m to 24h is allowed",
                "spec.catchUp.maxConcurrent: 0 is below the minimum, 1",
            ],
            id="several at once are all told",
        ),
        pytest.param(
            {"misfirePolicy": "CatchUp", "catchUp": {"maxRuns": True}},
            ["spec.catchUp.maxRuns: True is not a whole number"],
            id="true for a number",
        ),
        pytest.param(
            {"misfirePolicy": "CatchUp", "catchUp": {"maxRun": 5}},
            ["spec.catchUp.maxRun: is not a known key: did you mean maxRuns?"],
            id="a typing mistake one level down",
        ),
        pytest.param(
            {"misfirePolicy": "CatchUp", "catchUp": []},
            ["spec.catchUp: [] is not a mapping of keys to values"],
            id="a list for a mapping",
        ),
        pytest.param(
            {"catchUp": {"maxRuns": 5}},
            ["spec.catchUp: is allowed only with misfirePolicy CatchUp, and misfirePolicy is FireOnce"],
            id="catchUp with the default policy",
        ),
        pytest.param(
            {"misfirePolicy": "CatchUp", "concurrencyPolicy": "Replace"},
            [
                "spec.concurrencyPolicy: Replace is not allowed with misfirePolicy CatchUp: use Forbid or Allow"
            ],
            id="Replace with CatchUp",
        ),
        pytest.param(
            {"suspend": "true"}, ["spec.suspend: 'true' is not true or false"], id="text for a switch"
        ),
        pytest.param(
            {"runHistoryLimit": 1.0},
            ["spec.runHistoryLimit: 1.0 is not a whole number"],
            id="a decimal number",
        ),
        pytest.param(
            {"runHistoryLimit": 0},
            ["spec.runHistoryLimit: 0 is below the minimum, 1"],
            id="a limit below its bound",
        ),
        pytest.param(
            {"jobTemplate": job(selector={"matchLabels": {"a": "b"}})},
            ["spec.jobTemplate.spec: selector is not allowed: every Job gets a selector of its own"],
            id="a selector",
        ),
        pytest.param(
            {"jobTemplate": job(template={"spec": {**POD, "restartPolicy": "Always"}})},
            [
                "spec.jobTemplate.spec: template.spec.restartPolicy is 'Always': Never and OnFailure are allowed"
            ],
            id="a restart policy that no Job may have",
        ),
        pytest.param(
            {"jobTemplate": job(template={"spec": {"containers": POD["containers"]}})},
            [
                "spec.jobTemplate.spec: template.spec.restartPolicy is missing: Never and OnFailure are allowed"
            ],
            id="no restart policy, which would be Always",
        ),
        pytest.param(
            {"jobTemplate": job(manualSelector=False)},
            ["spec.jobTemplate.spec: manualSelector is not allowed: every Job gets a selector of its own"],
            id="a selector in all but name",
        ),
        pytest.param(
            {"jobTemplate": {**job(), "metadata": {"name": "x"}}},
            ["spec.jobTemplate.metadata.name: is not a known key: allowed are labels, annotations"],
            id="a name in the template",
        ),
        pytest.param(
            {"jobTemplate": {**job(), "metadata": {"labels": {"a": 1}}}},
            ["spec.jobTemplate.metadata.labels.a: 1 is not text"],
            id="a label that is a number",
        ),
    ],
)
def test_which_sentences_does_a_mistake_get(change, sentences):
    assert refused({**BASE, **change}) == sentences


def test_the_operator_passes_over_keys_that_a_newer_crd_may_have():
    found = read_spec({**BASE, "brandNew": 1}, unknown="ignore")
    assert isinstance(found, CronScheduleSpec)


def test_a_template_may_be_left_out_where_nothing_is_run():
    spec = read_spec({"schedule": "0 9 * * *"}, unknown="refuse", template="optional")
    assert isinstance(spec, CronScheduleSpec)
    assert spec.job_template.spec == {}


def test_what_is_no_mapping_at_all_is_said_so():
    assert refused("0 9 * * *") == ["spec: '0 9 * * *' is not a mapping of keys to values"]


def test_the_path_says_where_the_spec_was_found():
    found = read_spec({**BASE, "suspend": 1}, unknown="refuse", path="edits[0].spec")
    assert found == [Mistake(path="edits[0].spec.suspend", message="1 is not true or false")]


def test_reading_leaves_the_users_object_as_it_was():
    raw = {"schedule": "0 9 * * *"}
    read_spec(raw, unknown="refuse", template="optional")
    assert raw == {"schedule": "0 9 * * *"}


@pytest.mark.parametrize(
    "entry", [e for e in CONFORMANCE["reject"] if "spec" in e], ids=lambda e: f"{e['spec']}: {e.get('why')}"
)
def test_the_conformance_cases_that_must_be_refused_name_their_field(entry):
    (sentence,) = refused({**BASE, **entry["spec"]}, template="optional")
    assert entry["field"] in sentence


@pytest.mark.parametrize(
    "entry", [e for e in CONFORMANCE["accept"] if "spec" in e], ids=lambda e: str(e["spec"])
)
def test_the_conformance_cases_that_must_be_taken_are_taken(entry):
    assert isinstance(read_spec({**BASE, **entry["spec"]}, unknown="refuse"), CronScheduleSpec)
