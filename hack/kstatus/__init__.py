"""kstatus, by whose rules Flux, Helm and others tell whether an object is ready: the real one, as a Go program."""

from kstatus.verdict import Verdict, verdicts

__all__ = ["Verdict", "verdicts"]
