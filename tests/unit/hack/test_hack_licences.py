"""Which licences may get into the image?"""

from __future__ import annotations

from email.message import Message

import pytest

from reference import command, licences


def say(monkeypatch: pytest.MonkeyPatch, **headers: str) -> None:
    """Let every package say this of itself."""
    about = Message()
    for name, value in headers.items():
        about[name.replace("_", "-")] = value
    monkeypatch.setattr(licences, "metadata", lambda package: about)


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("Apache-2.0 AND MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT OR LGPL-3.0-only", False),
        ("MIT AND (GPL-3.0-only OR Apache-2.0)", False),
    ],
)
def test_is_each_licence_that_must_be_kept_an_allowed_one(licence: str, allowed: bool) -> None:  # noqa: FBT001
    assert licences.is_allowed(licence) is allowed


@pytest.mark.parametrize(
    ("headers", "licence"),
    [
        ({"License_Expression": "MIT"}, "MIT"),
        ({"License": "mit"}, "MIT"),
        ({"License_Expression": "BSD-3-Clause", "License": "see file"}, "BSD-3-Clause"),
    ],
    ids=["an-expression", "the-older-field", "both"],
)
def test_which_licence_does_a_package_say_it_has(
    monkeypatch: pytest.MonkeyPatch, headers: dict[str, str], licence: str
) -> None:
    say(monkeypatch, **headers)
    assert licences.licence_of("some") == licence


@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        ({"License_Expression": "AGPL-3.0-only"}, "some: AGPL-3.0-only is none of Apache-2.0, BSD-2-Clause"),
        ({"License": "Apache 2.0"}, "some: 'Apache 2.0' is no SPDX expression"),
        ({}, "some: '' is no SPDX expression"),
    ],
    ids=["not-allowed", "not-spdx", "silent"],
)
def test_is_a_licence_refused_that_is_not_allowed_or_not_readable(
    monkeypatch: pytest.MonkeyPatch, headers: dict[str, str], sentence: str
) -> None:
    say(monkeypatch, **headers)
    with pytest.raises(licences.LicenceError, match=f"^{sentence}"):
        licences.licence_of("some")


def test_does_a_refused_licence_fail_the_check_of_generated_files(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say(monkeypatch, License_Expression="AGPL-3.0-only")
    monkeypatch.setattr(command.sys, "argv", ["hack/generate-docs", "--check"])
    assert command.main() == 1
    assert "AGPL-3.0-only is none of" in capsys.readouterr().err
