"""Numbers for people: percentiles and plain tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

KIBI = 1024
MEBI = 1024 * KIBI


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share (0 to 1) of the values does not exceed. NaN where there is none."""
    if not values:
        return math.nan
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            text.ljust(width) if position == 0 else text.rjust(width)
            for position, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def mebibytes(number: float) -> str:
    return f"{number / MEBI:.1f} MiB"


def micro(seconds: float) -> str:
    """Microseconds, or whatever is nearest."""
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
