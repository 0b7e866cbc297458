"""`hack/generate-docs`: writes the page, or says whether it is fresh."""

from __future__ import annotations

import argparse
import sys

from environment import ROOT
from reference.page import build_page

PAGE = ROOT / "docs" / "reference.md"


def main() -> int:
    """0 when the page is written or fresh, 1 when it is not fresh."""
    parser = argparse.ArgumentParser(prog="hack/generate-docs", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 when the page is not fresh"
    )
    options = parser.parse_args()
    page = build_page()
    if not options.check:
        PAGE.write_text(page)
        return 0
    if PAGE.exists() and PAGE.read_text() == page:
        return 0
    print(f"{PAGE.relative_to(ROOT)} is not fresh: run hack/generate-docs", file=sys.stderr)
    return 1
