"""What may be said on the command line of the benches: types of arguments, which say what is allowed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from pathlib import Path


def empty(text: str) -> Path:
    """A folder with nothing in it: what another bench left there would be taken for this one's evidence."""
    folder = Path(text)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise argparse.ArgumentTypeError(f"{folder} is not empty")
    return folder


def up_to(most: int) -> Callable[[str], int]:
    """A whole number from 1 on."""

    def parse(text: str) -> int:
        number = int(text)
        if not 1 <= number <= most:
            raise argparse.ArgumentTypeError(f"1 to {most} are allowed")
        return number

    return parse


def some_of(allowed: Collection[str]) -> Callable[[str], list[str]]:
    """Names, joined by commas."""

    def parse(text: str) -> list[str]:
        wanted = text.split(",")
        if not set(wanted) <= set(allowed):
            raise argparse.ArgumentTypeError(f"some of {', '.join(allowed)} are allowed, joined by commas")
        return wanted

    return parse


def numbers_up_to(most: int) -> Callable[[str], list[int]]:
    return lambda text: [up_to(most)(part) for part in text.split(",")]
