"""`check`: what admission would say of manifests, and what it can't, with file and line."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cronschedule.cli import words
from cronschedule.cli.output import one_line, painter, say, say_json, warn

if TYPE_CHECKING:
    from cronschedule.cli.documents import Document
    from cronschedule.cli.lint import Finding
    from cronschedule.cli.yaml_reader import Unreadable

SUFFIXES = (".yaml", ".yml", ".json")
RULE_NAMES = (
    *("staleness", "concurrency", "day-fields", "clock-change", "suspended-job", "own-names", "template"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Located:
    """A finding with its place."""

    file: str
    line: int
    path: str
    message: str
    severity: str
    rule: str

    def __str__(self) -> str:
        kind, rule = ("warning: ", f" [{self.rule}]") if self.rule else ("", "")
        path = f"{self.path}: " if self.path else ""
        return one_line(f"{self.file}:{self.line}: {path}{kind}{self.message}{rule}")


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path(allow_dash=True))
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="As an argument.",
)
@click.option(
    "--ignore", multiple=True, type=click.Choice(RULE_NAMES), help="Leave a warning out. Repeatable."
)
@click.option("--advice", is_flag=True, help="Say also what is no trap, but would be better.")
@click.option(
    "-o", "--output", type=click.Choice(("table", "json")), default="table", help="Form of the answer."
)
def command(
    *, paths: Sequence[str], files: Sequence[str], ignore: Sequence[str], advice: bool, output: str
) -> int:
    """Mistakes and traps in CronSchedule manifests: PATHS are files, folders, or - for standard input.

    Tells what admission would refuse, and what it can't see. Whatever else the files hold is left alone. The exit
    code is 1 if anything is found, each as `file:line: path: message`. Needs no cluster.

    \b
    Examples:
      kubectl cronschedule check deploy/ && kubectl apply -f deploy/
      helm template . | kubectl cronschedule check -f - --ignore clock-change
    """
    from cronschedule.cli.lint import ADVICE, RULES

    sources = [*paths, *files]
    if not sources:
        raise click.UsageError("nothing to check: name files or folders, or - for standard input")
    rules = {name: rule for name, rule in RULES.items() if name not in ignore} | (ADVICE if advice else {})
    checked, found = 0, []
    for source in sources:
        for one, located in _check(source, rules, words.now()):
            checked += one
            found += located
    if output == "json":
        say_json([{key: getattr(each, key) for key in Located.__slots__} for each in found])
    else:
        paint = painter()
        for each in found:
            say(paint(str(each), "note" if each.rule else "bad"))
    mistakes = sum(not each.rule for each in found)
    warn(
        f"{words.count(checked, 'CronSchedule')}: {words.count(mistakes, 'mistake')}, {len(found) - mistakes} warnings"
    )
    return 1 if found else 0


def _check(source: str, rules: Mapping[str, Any], now: int) -> Iterator[tuple[int, list[Located]]]:
    """Per document: how many CronSchedules it is (1 or 0), and what was found."""
    from cronschedule.cli.documents import objects_of, read_documents
    from cronschedule.cli.lint import findings, is_ours
    from cronschedule.cli.yaml_reader import Unreadable

    for file in _files(source):
        try:
            documents = read_documents(file)
        except Unreadable as error:
            if file == source or _names_us(file):
                message = error.message
                yield (
                    0,
                    [
                        Located(
                            file=error.source,
                            line=error.line or 1,
                            path="",
                            message=message,
                            severity="mistake",
                            rule="",
                        )
                    ],
                )
            continue
        for document in documents:
            for manifest, prefix in objects_of(document):
                if is_ours(manifest):
                    found = [_located(document, prefix, each) for each in findings(manifest, rules, now)]
                    yield 1, sorted(found, key=lambda located: located.line)


def _located(document: "Document", prefix: str, finding: "Finding") -> Located:
    return Located(
        file=document.source,
        line=document.line_of(prefix + finding.path),
        path=finding.path,
        message=finding.message,
        severity=finding.severity,
        rule=finding.rule,
    )


def _unreadable(error: "Unreadable") -> Located:
    line = error.line or 1
    return Located(file=error.source, line=line, path="", message=error.message, severity="mistake", rule="")


def _files(source: str) -> Iterator[str]:
    """The file, or the manifests in and below the folder, in order of their names."""
    if not os.path.isdir(source):
        yield source
        return
    for folder, folders, names in os.walk(source):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(SUFFIXES):
                yield os.path.join(folder, name)


def _names_us(file: str) -> bool:
    """Whether a file that cannot be read is of concern: a folder may hold templates and binaries."""
    try:
        return b"cronschedule.dev/" in Path(file).read_bytes()
    except OSError:
        return True
