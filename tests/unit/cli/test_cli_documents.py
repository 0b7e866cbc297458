"""What becomes of files: values as Kubernetes reads them, lines, and one sentence about whatever is no document."""

import json

import pytest

from cronschedule.cli.documents import LARGEST, parse_documents, read_documents
from cronschedule.cli.yaml_reader import Unreadable


def one(text):
    (document,) = parse_documents(text, "f.yaml")
    return document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z", id="a time stays text"),
        pytest.param("2026-03-29", "2026-03-29", id="a day stays text"),
        pytest.param("1:30", "1:30", id="no numbers to the base of 60"),
        pytest.param("12", 12, id="a number"),
        pytest.param("-0", 0, id="minus nothing"),
        pytest.param("010", 8, id="an octal number"),
        pytest.param("09", 9, id="no octal number"),
        pytest.param("0x1F", 31, id="a hexadecimal number"),
        pytest.param("1e3", 1000.0, id="a number with an exponent"),
        pytest.param("1.5", 1.5, id="a fraction"),
        pytest.param("yes", True, id="yes is true"),
        pytest.param("Off", False, id="Off is false"),
        pytest.param("'yes'", "yes", id="quoted text"),
        pytest.param("~", None, id="a tilde is null"),
        pytest.param("!!str 5", "5", id="text by its tag"),
        pytest.param("!!int '5'", 5, id="a number by its tag"),
        pytest.param("* * * * *x".replace("*x", "*").replace("* ", "0 "), "0 0 0 0 *", id="cron text"),
        pytest.param('"\\u00fc"', "ü", id="an escape"),
        pytest.param("\n    {a: [1, b]}", {"a": [1, "b"]}, id="the short form"),
    ],
)
def test_values_are_read_as_kubernetes_reads_them(text, value):
    found = one(f"a: {text}").value["a"]

    assert found == value
    assert type(found) is type(value)


def test_keys_are_text():
    assert one("{1: a, true: b, null: c, d: e}").value == {"1": "a", "true": "b", "null": "c", "d": "e"}


def test_merged_keys_give_way_to_own_ones():
    text = "base: &b {a: 1, b: 2}\nown: {<<: *b, b: 3}\nmany: {<<: [{c: 1}, {c: 2, d: 2}]}"

    assert one(text).value == {"base": {"a": 1, "b": 2}, "own": {"a": 1, "b": 3}, "many": {"c": 1, "d": 2}}


@pytest.mark.parametrize(
    ("path", "line"),
    [
        pytest.param("spec", 2, id="a mapping"),
        pytest.param("spec.catchUp.maxRuns", 5, id="a number in it"),
        pytest.param("spec.catchUp.maxAge", 4, id="a key that is not there: what would hold it"),
        pytest.param("spec.labels.app.kubernetes.io/name", 7, id="a key with dots"),
        pytest.param("spec.list[1].b", 10, id="an item of a list"),
        pytest.param("spec.list[7].b", 8, id="an item that is not there"),
        pytest.param("nothing", 1, id="nothing of the path"),
    ],
)
def test_a_path_leads_to_a_line(path, line):
    text = """\
kind: X
spec:
  schedule: "0 9 * * *"
  catchUp:
    maxRuns: 101
  labels:
    app.kubernetes.io/name: x
  list:
  - a: 1
  - b: 2
"""
    assert one(text).line_of(path) == line


def test_json_has_lines_too():
    assert one('{\n "spec": {\n  "schedule": 5\n }\n}').line_of("spec.schedule") == 3


def test_json_that_is_no_yaml_is_read_all_the_same():
    assert one('{\n\t"a":\t"\\ud83d\\ude00"\n}').value == {"a": "😀"}


def test_documents_that_hold_nothing_are_left_out():
    assert [each.value for each in parse_documents("---\n# nothing\n---\na: 1\n---\n---\nb: 2\n", "f")] == [
        {"a": 1},
        {"b": 2},
    ]


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(12)
)
MERGE_BOMB = "a: &a {" + ",".join(f"k{n}: v" for n in range(9)) + "}\n"
MERGE_BOMB += "".join(
    f"m{n}: &m{n} {{<<: [{','.join(['*' + ('a' if n == 0 else f'm{n - 1}')] * 9)}]}}\n" for n in range(12)
)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        pytest.param(b"", "is empty", id="empty"),
        pytest.param(b"\n# only a comment\n---\n", "is empty", id="a comment"),
        pytest.param(b"\x7fELF\x00\x01\xff\xfe", "is not text", id="binary"),
        pytest.param(b"a: 1\x00", "holds zero bytes", id="zero bytes"),
        pytest.param("a: 1".encode("utf-16"), "is not text", id="another encoding"),
        pytest.param(b"a: [1", "f.yaml:2: is no YAML", id="a list that does not end"),
        pytest.param(b"a: 1\nb: 2\n  c: 3\n", "f.yaml:3: is no YAML", id="a wrong indent"),
        pytest.param(b"a: 1\nb: 2\na: 3\n", "f.yaml:3: the key 'a' appears twice", id="a key twice"),
        pytest.param(b'{"a": 1, "a": 2}', "f.yaml:1: the key 'a' appears twice", id="a key twice in JSON"),
        pytest.param(
            b"a: !!python/object:os.system {}\nb: !!python/name:os x", "cannot be read as", id="a foreign tag"
        ),
        pytest.param(b"a: !!timestamp 2026-03-29", "cannot be read as", id="a time by its tag"),
        pytest.param(b"a: *b", "the alias *b leads nowhere", id="an alias that leads nowhere"),
        pytest.param(b"a: &a [*a]", "the alias *a leads nowhere", id="an alias within itself"),
        pytest.param(b"? [a]\n: 1", "a key that is not a single word", id="a list for a key"),
        pytest.param(b"<<: 5", "<< takes a mapping", id="a merge of no mapping"),
        pytest.param(BOMB.encode(), "is too large once its aliases are written out", id="a bomb of aliases"),
        pytest.param(
            MERGE_BOMB.encode(), "is too large once its aliases are written out", id="a bomb of merges"
        ),
        pytest.param(b"[" * 100_000, "nest", id="a hundred thousand brackets"),
        pytest.param(b"- " * 100_000 + b"x", "nest", id="a hundred thousand dashes"),
        pytest.param(b'{"a":' * 500 + b"1" + b"}" * 500, "nest", id="deep JSON"),
        pytest.param(b"a: " + b"x" * 5_000_000, "is larger than 2 MiB", id="5 MB"),
    ],
)
def test_what_is_no_document_is_told_in_one_sentence(tmp_path, monkeypatch, content, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yaml").write_bytes(content)

    with pytest.raises(Unreadable) as refused:
        read_documents("f.yaml")

    (line,) = refused.value.lines
    assert sentence in line
    assert line.startswith("f.yaml")


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        pytest.param("nowhere.yaml", "nowhere.yaml: no such file or directory", id="no file"),
        pytest.param(".", ".: is a directory", id="a folder"),
        pytest.param("a\0b", "is not a file name", id="not a name"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_in_one_sentence(tmp_path, monkeypatch, source, sentence):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(Unreadable) as refused:
        read_documents(source)

    assert sentence in refused.value.lines[0]


def test_the_largest_file_is_read(tmp_path):
    file = tmp_path / "f.json"
    file.write_text(json.dumps({"a": "x" * (LARGEST - 20)}))

    assert len(read_documents(str(file))[0].value["a"]) == LARGEST - 20
