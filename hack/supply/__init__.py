"""What the image has from PyPI: listed for those who install it, and looked up among known vulnerabilities."""

from supply.command import main

__all__ = ["main"]
