"""What an invoke calls, and the policies of a call."""

from gatechart.tools.breaker import Breaker
from gatechart.tools.breaker_chart import BreakerContext, breaker_graph

__all__ = ["Breaker", "BreakerContext", "breaker_graph"]
