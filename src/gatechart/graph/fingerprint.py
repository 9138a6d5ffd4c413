"""The fingerprint of a graph's structure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from pydantic import BaseModel

from gatechart.graph.callables import Step
from gatechart.graph.compile import Edge, Node
from gatechart.graph.definition import EntryPoint, Invoke, callable_name
from gatechart.graph.handoff import Handoff
from gatechart.values import StateName


def fingerprint(
    name: str,
    version: str,
    nodes: Mapping[StateName, Node],
    entry_points: Sequence[EntryPoint],
    context: type[BaseModel],
) -> str:
    """Return 32 hexadecimal digits that change with the graph's structure and declared names, but not with code.

    Source: BLAKE2b (RFC 7693) with 16 bytes over the structure as JSON.
    """
    structure = [
        name,
        version,
        context.__name__,
        [_node(node) for node in nodes.values()],
        [_entry(entry) for entry in entry_points],
    ]
    return blake2b(json.dumps(structure).encode(), digest_size=16).hexdigest()


def _node(node: Node) -> list[object]:
    return [
        node.name,
        node.kind,
        node.ancestors,
        [node.default.targets, _names(node.default.steps)] if node.default else None,
        node.recall.value if node.recall else None,
        node.data.name if node.data else None,
        node.timers,
        [_invoke(invoke) for invoke in node.invokes],
        _names(node.on_entry),
        _names(node.on_exit),
        [_edge(edge) for edge in node.edges],
        *(["failed"] if node.failed else []),  # only if set, so that graphs without such states keep their fingerprints
        *(["final"] if node.is_end and node.children else []),  # a leaf's kind implies it
    ]


def _invoke(invoke: Invoke) -> list[object]:
    if invoke.agent:
        packet = None if invoke.packet is None else callable_name(invoke.packet)
        return [invoke.id, invoke.agent, invoke.at, invoke.timeout_s, packet]
    return [invoke.id, callable_name(invoke.function), invoke.timeout_s]


def _edge(edge: Edge) -> list[object]:
    return [edge.event, edge.targets, edge.internal, edge.ask.name if edge.ask else None, _names(edge.steps)]


def _entry(entry: EntryPoint) -> list[object]:
    takes = entry.takes.__name__ if entry.takes else None
    return [entry.state, entry.name, entry.opens_on, takes, callable_name(entry.guard) if entry.guard else None]


def _names(steps: Sequence[Step]) -> list[object]:
    return [step.function.names if isinstance(step.function, Handoff) else step.name for step in steps]
