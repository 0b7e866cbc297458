"""A proxy in front of the API server that makes things go wrong, by a plan that can be played again."""

from faults.plan import Plan, Rule
from faults.process import FaultProxy

__all__ = ["FaultProxy", "Plan", "Rule"]
