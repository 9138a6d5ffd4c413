"""What the tools of a runtime's services are like, for strategies that look for a way out."""

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
    """Return the tools that an agent of the graph can call where it is, by name; none without a tool box.

    deployed: policies of the deployment. breaker: returns the circuit breaker of a tool; None if it is closed.
    """
    try:
        box = tool_box(services)
    except NoToolBoxError:
        return {}
    layers = (*(layer for leaf in leaves for layer in tool_layers(graph, leaf)), deployed)
    return {tool.name: _facts(box, tool, layers, breaker(tool.name)) for tool in box}


def _facts(box: ToolBox, tool: AnyTool, layers: Iterable[PoliciesByTool], breaker: BreakerRecord | None) -> ToolFacts:
    known = ToolFacts(tool.repeat, tool.undo, _alternatives(box, tool, layers), capabilities=tool.capabilities)
    if breaker is None:
        return known
    return replaced(known, breaker=breaker.state, open_since=breaker.open_since, retry_at=breaker.retry_at)


def _alternatives(box: ToolBox, tool: AnyTool, layers: Iterable[PoliciesByTool]) -> tuple[str, ...]:
    """Return what may be called in place of a tool: what its policies name, then what shares a capability with it."""
    named = [each.name for each in box.alternatives(tool, box.policies(tool, layers))]
    able = [each.name for each in box if each is not tool and set(each.capabilities) & set(tool.capabilities)]
    return tuple(dict.fromkeys((*named, *able)))
