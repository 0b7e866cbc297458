"""What commands print: aligned columns, colour where a person looks, JSON and YAML.

Nothing here knows what a schedule is.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from typing import IO, Any

LONGEST_LINE = 500
"""Longest text of others (a server's error, a value someone wrote) that is shown in one line, in characters."""

FITTED_ROWS = 1000
"""Rows that a table's columns are made wide enough for."""

STYLES = {"good": "32", "note": "33", "bad": "31", "quiet": "2", "strong": "1"}
"""Terminal codes by what a text means."""


def one_line(text: str) -> str:
    """The text in one line, without control characters that would move a terminal's cursor."""
    flat = " ".join("".join(c if c.isprintable() or c.isspace() else "?" for c in text).split())
    return flat if len(flat) <= LONGEST_LINE else flat[: LONGEST_LINE - 1] + "…"


def wants_colour(stream: IO[str]) -> bool:
    """Only on a terminal, and not where NO_COLOR is set to anything."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def painter(stream: IO[str] | None = None) -> Callable[[str, str], str]:
    """A function that gives a text for the stream (standard output) one of `STYLES`, where colour is wanted."""
    if not wants_colour(stream or sys.stdout):
        return lambda text, style: text
    return lambda text, style: f"\x1b[{STYLES[style]}m{text}\x1b[0m" if style and text else text


def say(line: str = "") -> None:
    sys.stdout.write(line + "\n")


def warn(line: str) -> None:
    """Something beside the answer: it goes to standard error."""
    sys.stdout.flush()
    sys.stderr.write(line + "\n")


def say_table(header: Sequence[str], rows: Iterable[tuple[Sequence[str], str]]) -> None:
    """Aligned columns, the last one as long as it is. Each row comes with one of `STYLES`, or "".

    The widths are those of the first rows, so that a table of any length is told as it comes.
    """
    paint, coming = painter(), iter(rows)
    first = list(islice(coming, FITTED_ROWS))
    widths = [
        max(len(row[column]) for row in (header, *(row for row, _ in first))) for column in range(len(header))
    ]
    for row, style in chain([(header, "strong")], first, coming):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        say(paint("  ".join(cells).rstrip(), style))


def say_json(data: Any) -> None:
    json.dump(data, sys.stdout, indent=2, ensure_ascii=False)
    say()


def say_yaml(data: Any) -> None:
    sys.stdout.write(to_yaml(data))


def to_yaml(data: Any) -> str:
    """YAML text in the order of the data, without anchors."""
    import yaml

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    return str(yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120))
