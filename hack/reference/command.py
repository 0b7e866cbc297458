"""`hack/generate-docs`: writes the pages, or says whether they are fresh."""

from __future__ import annotations

import argparse
import sys

from environment import ROOT
from reference.licences import LicenceError, build_licences_page
from reference.metrics import build_metrics_page
from reference.mutations import build_mutations_page
from reference.page import build_page

PAGES = {
    "reference.md": build_page,
    "metrics.md": build_metrics_page,
    "licences.md": build_licences_page,
    "mutations.md": build_mutations_page,
}


def main() -> int:
    """0 when the pages are written or fresh; 1 when one is not fresh, or a licence is not allowed."""
    parser = argparse.ArgumentParser(prog="hack/generate-docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is not fresh")
    options = parser.parse_args()
    stale = False
    for name, build in PAGES.items():
        path = ROOT / "docs" / name
        try:
            page = build()
        except LicenceError as error:
            print(error, file=sys.stderr)
            return 1
        if not options.check:
            path.write_text(page)
        elif not path.exists() or path.read_text() != page:
            print(f"{path.relative_to(ROOT)} is not fresh: run hack/generate-docs", file=sys.stderr)
            stale = True
    return 1 if stale else 0
