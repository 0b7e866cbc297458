"""Helm, the real one, built from the module that go.mod pins and kept in this machine's cache."""

from helm.program import helm, render

__all__ = ["helm", "render"]
