"""What a process has used so far, from /proc (Linux)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bench.errors import BenchError
from bench.figures import KIBI

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, kw_only=True)
class Usage:
    """CPU seconds since it began; bytes of memory, now and at most."""

    cpu: float
    rss: int
    peak: int


def usage(pid: int) -> Usage:
    """What it has used so far. Raises BenchError when it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError as error:
        raise BenchError(f"Process {pid} cannot be looked at: {error}.") from None
    told = dict(line.split(":", 1) for line in status.splitlines())
    if "VmRSS" not in told:
        raise BenchError(f"Process {pid} has ended.")
    return Usage(
        cpu=(int(fields[11]) + int(fields[12])) / TICKS,
        rss=int(told["VmRSS"].split()[0]) * KIBI,
        peak=int(told["VmHWM"].split()[0]) * KIBI,
    )
