"""A ring of states whose tools fail: agents that go round in it, and get out by their escape plan."""

from statecharts.tool_ring.ring import CLOSED_WAYS, RingContext, ring
from statecharts.tool_ring.tools import Chances, RingServices

__all__ = ["CLOSED_WAYS", "Chances", "RingContext", "RingServices", "ring"]
