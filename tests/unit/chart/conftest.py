"""The scripts' modules are importable here. Helm and promtool come from this machine's cache, or into it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "hack"))


@pytest.fixture(scope="session")
def helm_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for Helm's own files."""
    return tmp_path_factory.mktemp("helm")
