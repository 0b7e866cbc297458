"""One deliberate bug for each scenario of docs/reliability.md: which test notices it?"""

from mutations.command import main

__all__ = ["main"]
