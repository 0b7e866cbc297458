"""promtool, which checks and tests alert rules: the machine's, else Debian's."""

from promtool.program import promtool

__all__ = ["promtool"]
