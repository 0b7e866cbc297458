"""What can go wrong with the local control plane, as one kind of error with a sentence for a person."""


class LocalkubeError(Exception):
    """The message says what failed and, where it is known, what to do."""
