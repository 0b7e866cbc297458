"""What ends a bench without a result."""


class BenchError(Exception):
    """The bench could not be carried out; the message says why."""
