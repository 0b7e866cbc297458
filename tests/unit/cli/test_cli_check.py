"""`check`: what it finds in manifests, and where."""

import json
from pathlib import Path

import job_spec
import pytest
import yaml

GOOD = """\
apiVersion: cronschedule.dev/v1alpha1
kind: CronSchedule
metadata:
  name: billing
spec:
  schedule: "0 * * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: main
            image: busybox
"""
OTHER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {schedule: '61 * * * *'}\n"
POD = "spec.jobTemplate.spec.template.spec"


def changed(**lines):
    """The good manifest with the text of some keys replaced."""
    text = GOOD
    for key, value in lines.items():
        (old,) = [line for line in text.splitlines() if line.strip().startswith(f"{key}:")]
        text = text.replace(old, f"{old.partition(key)[0]}{key}: {value}")
    return text


def with_spec(*lines):
    return GOOD.replace("spec:\n", "spec:\n" + "".join(f"  {line}\n" for line in lines), 1)


def test_a_good_manifest_is_silent(cli):
    answer = cli("check", "-", stdin=GOOD)

    assert (answer.code, answer.out) == (0, "")
    assert answer.err == "1 CronSchedule: 0 mistakes, 0 warnings\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            changed(schedule='"0 24 * * *"'),
            "6: spec.schedule: hour: '24' is not allowed; values are 0-23, lists, ranges, steps, *",
            id="cron text",
        ),
        pytest.param(
            with_spec("timeZone: Europe/Berln"),
            "6: spec.timeZone: 'Europe/Berln' is not a time zone; use a name of the IANA database such as Etc/UTC or "
            "Europe/Berlin (letter case matters)",
            id="a zone",
        ),
        pytest.param(
            with_spec("misfirePolcy: Skip"),
            "6: spec.misfirePolcy: is not a known key: did you mean misfirePolicy?",
            id="a key that is misspelt",
        ),
        pytest.param(
            GOOD.replace("name: billing", "name: Billing_1"),
            "4: metadata.name: 'Billing_1' is no name of an object: lower-case letters, digits, - and . are allowed",
            id="a name",
        ),
        pytest.param(
            GOOD.replace("name: billing", f"name: {'x' * 53}"),
            "4: metadata.name: has 53 characters; at most 52 are allowed, as the names of the Jobs add 11",
            id="a long name",
        ),
        pytest.param(
            changed(apiVersion="cronschedule.dev/v1"),
            "1: apiVersion: 'cronschedule.dev/v1' is not cronschedule.dev/v1alpha1, the only one allowed here",
            id="a version that is not there",
        ),
        pytest.param(
            changed(kind="Cronschedule"),
            "2: kind: 'Cronschedule' is not CronSchedule, the only one allowed here",
            id="a kind that is misspelt",
        ),
        pytest.param(
            GOOD.replace("apiVersion: cronschedule.dev/v1alpha1\n", ""),
            "1: apiVersion: is missing: cronschedule.dev/v1alpha1, the only one allowed here",
            id="no version",
        ),
        pytest.param(
            GOOD + "metadat: {}\n",
            "15: metadat: is not a known key: allowed are apiVersion, kind, metadata, spec, status",
            id="a key beside the spec",
        ),
        pytest.param(
            GOOD.replace("  name: billing", "  name: billing\n  labels: {version: 1.2}"),
            "5: metadata.labels.version: 1.2 is not text: put it into quotes",
            id="a label that is a number",
        ),
        pytest.param(
            changed(restartPolicy="Always"),
            f"11: {POD}.restartPolicy: 'Always' is not one of Never, OnFailure",
            id="a restart policy that Jobs do not have",
        ),
        pytest.param(
            GOOD.replace("            image: busybox\n", "            imagePullPolcy: Always\n"),
            f"14: {POD}.containers[0].imagePullPolcy: is not a known key: did you mean imagePullPolicy?",
            id="a misspelt key in the template",
        ),
        pytest.param(
            GOOD + "            resources: {limits: {memory: 1Gb}}\n",
            f"15: {POD}.containers[0].resources.limits.memory: '1Gb' is not a quantity such as 500m, 2 or 1Gi",
            id="a quantity",
        ),
        pytest.param(
            GOOD + "            resources: {limits: {cpu: 0.5}}\n",
            f"15: {POD}.containers[0].resources.limits.cpu: 0.5 is not a whole number or text: put it into quotes",
            id="a quantity that is a fraction, which the API server refuses",
        ),
        pytest.param(
            GOOD + "          - name: main\n",
            f"15: {POD}.containers[1]: has the same name as an item before it",
            id="two containers of one name",
        ),
        pytest.param(
            GOOD + "            env: [{name: PORT, value: 80}]\n",
            f"15: {POD}.containers[0].env[0].value: 80 is not text: put it into quotes",
            id="a number for text",
        ),
        pytest.param(
            GOOD.replace(
                "    spec:\n      template", "    spec:\n      backoffLimit: 4000000000\n      template"
            ),
            "9: spec.jobTemplate.spec.backoffLimit: 4000000000 is too large a number",
            id="a number that is too large",
        ),
        pytest.param(
            GOOD.replace("    spec:\n      template", "    spec:\n      suspend: maybe\n      template"),
            "9: spec.jobTemplate.spec.suspend: 'maybe' is not true or false",
            id="neither true nor false",
        ),
        pytest.param(
            GOOD.partition("          containers")[0] + "          containers: []\n",
            f"12: {POD}.containers: has 0 items: at least 1 is needed",
            id="no container",
        ),
        pytest.param(
            GOOD.partition("          restartPolicy")[0] + "          containers: [{name: main}]\n",
            f"10: {POD}.restartPolicy: is required",
            id="no restart policy",
        ),
        pytest.param(
            GOOD.replace(
                "    spec:\n      template",
                "    spec:\n      selector: {matchLabels: {a: b}}\n      template",
            ),
            "8: spec.jobTemplate.spec: selector is not allowed: every Job gets a selector of its own",
            id="a selector",
        ),
        pytest.param(
            GOOD.partition("  jobTemplate")[0], "5: spec.jobTemplate: is required", id="no template"
        ),
        pytest.param("kind: CronSchedule\nspec: 5\n", "2: spec: is not a mapping", id="a spec that is none"),
        pytest.param(
            with_spec("misfirePolicy: CatchUp"),
            "5: spec.maxStaleness: warning: catchUp.maxAge is 24h, but nothing later than maxStaleness, 1h, is run: "
            "raise maxStaleness to 24h, or lower catchUp.maxAge to 1h [staleness]",
            id="an age that staleness cuts",
        ),
        pytest.param(
            with_spec("misfirePolicy: CatchUp", "maxStaleness: 24h", "catchUp: {maxConcurrent: 3}"),
            "8: spec.catchUp.maxConcurrent: warning: 3 has no effect with concurrencyPolicy Forbid, which lets one run "
            "at a time: use Allow [concurrency]",
            id="concurrent runs that overlap forbids",
        ),
        pytest.param(
            changed(schedule='"0 0 */2 * 1"'),
            "6: spec.schedule: warning: a day matches when both day fields do; the built-in CronJob would ask for "
            "either [day-fields]",
            id="day fields that CronJob reads otherwise",
        ),
        pytest.param(
            changed(schedule='"30 2 29 3 *"').replace("spec:\n", "spec:\n  timeZone: Europe/Berlin\n", 1),
            "7: spec.schedule: warning: on 2026-03-29 in Europe/Berlin: 03:00 stands for 02:30, which does not exist "
            "on this day [clock-change]",
            id="a time that does not exist",
        ),
        pytest.param(
            changed(schedule='"30 2 * 10 *"').replace("spec:\n", "spec:\n  timeZone: Europe/Berlin\n", 1),
            "7: spec.schedule: warning: on 2026-10-25 in Europe/Berlin: 02:30 comes twice on this day; runs at the "
            "first only [clock-change]",
            id="a time that comes twice",
        ),
        pytest.param(
            GOOD.replace("    spec:\n      template", "    spec:\n      suspend: true\n      template"),
            "9: spec.jobTemplate.spec.suspend: warning: every Job is created suspended and stays so until something "
            "else (a queue) lets it run; to suspend the schedule, set spec.suspend [suspended-job]",
            id="Jobs that never start",
        ),
        pytest.param(
            GOOD.replace(
                "  jobTemplate:\n", "  jobTemplate:\n    metadata: {labels: {cronschedule.dev/schedule: x}}\n"
            ),
            "8: spec.jobTemplate.metadata.labels.cronschedule.dev/schedule: warning: is the operator's and may be "
            "overwritten [own-names]",
            id="a label of the operator's",
        ),
        pytest.param(
            GOOD + "            env: [{name: CRONSCHEDULE_TRIGGER, value: x}]\n",
            f"15: {POD}.containers[0].env[0]: warning: variables CRONSCHEDULE_… are the operator's and may be "
            "overwritten [own-names]",
            id="a variable of the operator's",
        ),
        pytest.param(
            GOOD.replace("            image: busybox\n", ""),
            f"13: {POD}.containers[0].image: warning: is required; the API server will refuse the Jobs [template]",
            id="no image",
        ),
        pytest.param(
            GOOD.replace("name: main", "name: Main"),
            f"13: {POD}.containers[0].name: warning: 'Main' is no name of a container: lower-case letters, digits and "
            "-; the API server will refuse the Jobs [template]",
            id="the name of a container",
        ),
        pytest.param(
            GOOD + "            volumeMounts: [{name: data, mountPath: /data}]\n",
            f"15: {POD}.containers[0].volumeMounts[0].name: warning: there is no volume 'data'; the API server will "
            "refuse the Jobs [template]",
            id="a mount without a volume",
        ),
        pytest.param(
            GOOD.replace("  jobTemplate:\n", "  jobTemplate:\n    metadata: {labels: {team: a b}}\n"),
            "8: spec.jobTemplate.metadata.labels.team: warning: 'a b' is no value of a label: at most 63 letters, "
            "digits, - _ and .; the API server will refuse the Jobs [template]",
            id="a label that is none",
        ),
        pytest.param(
            GOOD.replace(
                "    spec:\n      template", "    spec:\n      completionMode: Indexed\n      template"
            ),
            "8: spec.jobTemplate.spec.completions: warning: is required with completionMode Indexed; the API server "
            "will refuse the Jobs [template]",
            id="an index without an end",
        ),
        pytest.param(
            GOOD.replace("  name: billing", "  name: billing\n  label: {a: b}"),
            "5: metadata.label: is not a known key: did you mean labels?",
            id="a key of the metadata that is misspelt",
        ),
    ],
)
def test_a_finding_has_its_line_and_path(cli, tmp_path, monkeypatch, text, found):
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text(text)

    answer = cli("check", "x.yaml")

    assert answer.code == 1
    assert f"x.yaml:{found}" in answer.out.splitlines()


def test_mistakes_come_in_the_order_of_their_lines(cli):
    text = with_spec("timeZone: Nowhere", "maxStaleness: 1d").replace(
        "restartPolicy: Never", "restartPolicy: Always"
    )

    assert [line.split(":")[1] for line in cli("check", "-", stdin=text).out.splitlines()] == ["6", "7", "13"]


@pytest.mark.parametrize("form", ["documents", "a List", "JSON"])
def test_each_object_of_a_file_is_checked(cli, form):
    bad = changed(schedule='"61 * * * *"')
    if form == "documents":
        text, line = f"{OTHER}---\n{GOOD}---\n{bad}", 26
    elif form == "a List":
        items = "".join("- " + each.replace("\n", "\n  ").rstrip(" ") for each in (OTHER, GOOD, bad))
        text, line = f"apiVersion: v1\nkind: List\nitems:\n{items}", 27
    else:
        text, line = json.dumps(yaml.safe_load(bad), indent=1), 8

    answer = cli("check", "-", stdin=text)

    assert answer.out.splitlines() == [
        f"standard input:{line}: spec.schedule: minute: '61' is not allowed; values are 0-59, lists, ranges, steps, *"
    ]


def test_a_folder_is_searched(cli, tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "a.yaml").write_text(changed(schedule="x"))
    (tmp_path / "deep" / "er" / "b.yml").write_text(changed(schedule="x"))
    (tmp_path / "deep" / "c.json").write_text(json.dumps(yaml.safe_load(GOOD)))
    (tmp_path / "deep" / "d.txt").write_text(changed(schedule="x"))
    (tmp_path / "template.yaml").write_text("kind: {{ .Values.kind }}\n")
    (tmp_path / "ours.yaml").write_text("apiVersion: cronschedule.dev/v1alpha1\n  kind: CronSchedule\n")

    answer = cli("check", tmp_path)

    assert [line.split(":")[0] for line in answer.out.splitlines()] == [
        str(tmp_path / "ours.yaml"),
        str(tmp_path / "deep" / "er" / "b.yml"),
    ]
    assert answer.err.startswith("2 CronSchedules: 2 mistakes")


def test_a_warning_can_be_left_out(cli):
    text = with_spec("misfirePolicy: CatchUp")

    assert cli("check", "-", "--ignore", "staleness", stdin=text).code == 0


def test_advice_is_given_to_who_asks(cli):
    answer = cli("check", "-", "--advice", stdin=GOOD)

    assert answer.code == 1
    assert "has no activeDeadlineSeconds" in answer.out


def test_findings_as_data(cli):
    answer = cli("check", "-", "-o", "json", stdin=with_spec("misfirePolicy: CatchUp"))

    assert answer.code == 1
    (found,) = json.loads(answer.out)
    assert (found["file"], found["line"], found["path"], found["severity"], found["rule"]) == (
        "standard input",
        5,
        "spec.maxStaleness",
        "warning",
        "staleness",
    )


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        pytest.param(b"", "is empty", id="empty"),
        pytest.param(b"\x00\x01\xff", "is not text", id="binary"),
        pytest.param(b"#" * 5_000_000, "is larger than 2 MiB", id="5 MB"),
        pytest.param(b"a: ]", "is no YAML", id="no YAML"),
    ],
)
def test_a_file_that_is_named_must_be_readable(cli, tmp_path, content, sentence):
    file = tmp_path / "x.yaml"
    file.write_bytes(content)

    answer = cli("check", file)

    assert answer.code == 1
    (line,) = answer.out.splitlines()
    assert line.startswith(f"{file}:1: ")
    assert sentence in line


def test_the_schema_of_the_template_is_fresh():
    assert job_spec.TARGET.read_text() == job_spec.text(), "write it anew: python tests/unit/cli/job_spec.py"
