"""Would older API servers take our CRDs? Each says so by its own validation, without being built as a whole."""

from servers.command import main

__all__ = ["main"]
