"""The tool box of a runtime's services, and the policies of graphs and the deployment that override its tools'."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from gatechart.errors.definition import Fault
from gatechart.errors.tools import InvalidToolError, NoToolBoxError
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.tool_gates import ToolGates
from gatechart.turn.escape_requests import box_in
from gatechart.values.names import StateName
from gatechart.values.tool_policies import PoliciesByTool

if TYPE_CHECKING:  # a runtime without tools does without them
    from gatechart.tools.toolbox import ToolBox

logger = logging.getLogger(__name__)


def tool_box(services: Any) -> ToolBox:
    """Return the tool box of a runtime's services. Raises NoToolBoxError."""
    box = box_in(services)
    if box is None:
        raise NoToolBoxError(type(services).__name__)
    return box


def gates_of(services: Any, policies: PoliciesByTool | None, graphs: Iterable[AnyGraph] = ()) -> ToolGates:
    """Return the gates that the calls of a process share. policies: of the deployment.

    graphs: a policy for a tool that the services lack is logged. Raises InvalidToolError if the deployment has such a
    policy, and NoToolBoxError if it has policies without a tool box.
    """
    if policies:
        faults = tuple(tool_box(services).policy_faults("tool_policies", policies))
        if faults:
            raise InvalidToolError(faults)
    box = box_in(services)
    if box is not None:
        _log_faults(box, graphs)
    return ToolGates(policies)


def _log_faults(box: ToolBox, graphs: Iterable[AnyGraph]) -> None:
    for graph in graphs:
        for fault in _graph_faults(box, graph):
            logger.warning("policies for tools: %s", fault, extra={"graph": graph.name})


def _graph_faults(box: ToolBox, graph: AnyGraph) -> Iterator[Fault]:
    yield from box.policy_faults(f"graph {graph.name!r}", graph.tools)
    for node in graph.nodes.values():
        yield from box.policy_faults(f"graph {graph.name!r}, state {node.name!r}", node.tools)


def tool_layers(graph: AnyGraph, state: StateName) -> tuple[PoliciesByTool, ...]:
    """Return the policies of a graph for tool calls in a state: of the graph, then of states from outer to inner."""
    node = graph.nodes.get(state)
    states = () if node is None else (*reversed(node.ancestors[:-1]), state)
    return (graph.tools, *(graph.nodes[name].tools for name in states))
