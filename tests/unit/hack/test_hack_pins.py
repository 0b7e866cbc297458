"""When pins are fresh, told offline."""

from __future__ import annotations

import pytest

import pins

HASH = "    --hash=sha256:0123\n"


def problems(text: str, *, roots: list[str]) -> list[str]:
    return list(pins._problems("dev.txt", pins.read(text), roots))


def test_this_projects_pins_are_fresh() -> None:
    assert pins.check() == []


@pytest.mark.parametrize(
    ("text", "roots", "expected"),
    [
        (f"iniconfig==2.3.1 \\\n{HASH}", ["iniconfig>=2,<3"], []),
        (f"iniconfig==2.3.1 \\\n{HASH}", ["iniconfig>=3"], ["iniconfig 2.3.1 is outside >=3"]),
        (
            f"iniconfig==2.3.1 \\\n{HASH}",
            ["iniconfig", "pluggy"],
            ["pluggy is missing, needed by pyproject.toml"],
        ),
        (f"iniconfig==2.3.1 \\\n{HASH}", [], ["iniconfig is pinned but nothing needs it"]),
        ("iniconfig==2.3.1\n", ["iniconfig"], ["iniconfig has no hash"]),
        (f"uvloop==1 ; sys_platform == 'other' \\\n{HASH}", [], []),
        ("", ["uvloop ; sys_platform == 'other'"], []),
    ],
    ids=[
        "in-range",
        "out-of-range",
        "missing",
        "left-over",
        "without-hash",
        "pinned-for-another-system",
        "needed-on-another-system",
    ],
)
def test_a_requirement_needs_a_pin_in_its_range(text: str, roots: list[str], expected: list[str]) -> None:
    found = problems(text, roots=roots)
    assert len(found) == len(expected)
    assert all(sentence in problem for sentence, problem in zip(expected, found, strict=True))


def test_what_an_installed_package_needs_must_be_pinned_too() -> None:
    found = problems(f"pytest==9.2.0 \\\n{HASH}", roots=["pytest"])
    assert "dev.txt: pluggy is missing, needed by pytest" in found


def test_an_extra_brings_what_it_needs() -> None:
    text = f"httpx==0.28.1 \\\n{HASH}"
    plain = problems(text, roots=["httpx"])
    extra = problems(text, roots=["httpx[socks]"])
    assert "dev.txt: socksio is missing, needed by httpx" in set(extra) - set(plain)
