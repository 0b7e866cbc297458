"""`hack/generate-chart`: writes the files, or says whether they are fresh."""

from __future__ import annotations

import argparse
import sys

from chart.dashboard import build_dashboard
from chart.readme import CHART, build_readme
from chart.templates import crd_templates, policy_templates


def texts() -> dict[str, str]:
    """What the files should hold, by their path in the chart."""
    templates = {f"templates/{name}": text for name, text in (crd_templates() | policy_templates()).items()}
    return {**templates, "files/dashboard.json": build_dashboard(), "README.md": build_readme()}


def main() -> int:
    """0 when the files are written or fresh, 1 when one is not fresh."""
    parser = argparse.ArgumentParser(prog="hack/generate-chart", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is not fresh")
    check = parser.parse_args().check
    stale = False
    for name, text in texts().items():
        path = CHART / name
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"charts/cronschedule/{name} is not fresh: run hack/generate-chart", file=sys.stderr)
            stale = True
    return 1 if stale else 0
