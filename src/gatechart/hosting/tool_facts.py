"""Facts about the tools of a runtime's services, for escape strategies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gatechart.errors.tools import NoToolBoxError
from gatechart.escape.scene import ToolFacts
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.tool_policies import tool_box, tool_layers
from gatechart.values.breakers import BreakerRecord
from gatechart.values.frozen import replaced
from gatechart.values.names import StateName
from gatechart.values.tool_policies import PoliciesByTool

if TYPE_CHECKING:  # a runtime without tools does without them
    from gatechart.tools.definition import AnyTool
    from gatechart.tools.toolbox import ToolBox


def tool_facts(
    graph: AnyGraph,
    leaves: Iterable[StateName],
    services: Any,
    deployed: PoliciesByTool,
    breaker: Callable[[str], BreakerRecord | None],
) -> Mapping[str, ToolFacts]:
    """Return, by name, the tools that an agent of the graph can call in its states; none without a tool box.

    leaves: the agent's states. deployed: policies of the deployment.
    breaker: returns the circuit breaker of a tool; None if it is closed.
    """
    try:
        box = tool_box(services)
    except NoToolBoxError:
        return {}
    layers = (*(layer for leaf in leaves for layer in tool_layers(graph, leaf)), deployed)
    return {tool.name: _facts(box, tool, layers, breaker(tool.name)) for tool in box}


def _facts(box: ToolBox, tool: AnyTool, layers: Iterable[PoliciesByTool], breaker: BreakerRecord | None) -> ToolFacts:
    facts = ToolFacts(tool.repeat, tool.undo, _alternatives(box, tool, layers), capabilities=tool.capabilities)
    if breaker is None:
        return facts
    return replaced(facts, breaker=breaker.state, open_since=breaker.open_since, retry_at=breaker.retry_at)


def _alternatives(box: ToolBox, tool: AnyTool, layers: Iterable[PoliciesByTool]) -> tuple[str, ...]:
    """Return the alternatives to a tool: named by its policies first, then tools that share a capability with it."""
    named = [other.name for other in box.alternatives(tool, box.policies(tool, layers))]
    able = [other.name for other in box if other is not tool and set(other.capabilities) & set(tool.capabilities)]
    return tuple(dict.fromkeys((*named, *able)))
