"""hack/mutate: are its bugs still bugs, and does it tell a bug that is noticed from one that is not?"""

from __future__ import annotations

import pytest

from mutations.catalogue import MUTATIONS
from mutations.tree import judge, strange


def test_does_each_bug_still_change_something_and_have_its_test() -> None:
    """Whoever changes a text that a bug of hack/mutations/catalogue.py changes, changes it there too."""
    assert strange(MUTATIONS) == []


@pytest.mark.parametrize(
    ("code", "output", "noticed"),
    [
        pytest.param(
            1, "FAILED tests/a.py::test_b[c] - AssertionError", "tests/a.py::test_b[c]", id="failed"
        ),
        pytest.param(0, "1 passed", "", id="passed"),
        pytest.param(2, "ERROR tests/a.py - SyntaxError", "", id="not-collected"),
        pytest.param(5, "no tests ran", "", id="no-tests"),
        pytest.param(1, "ERROR tests/a.py::test_b - no fixture", "", id="not-set-up"),
    ],
)
def test_is_only_a_test_that_failed_a_bug_noticed(code: int, output: str, noticed: str) -> None:
    assert judge(code, output).by == noticed
    assert bool(judge(code, output).problem) is not bool(noticed)
