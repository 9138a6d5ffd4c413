from __future__ import annotations

from typing import Any

from gatechart.checks import Finding, check
from gatechart.graph.graph import StateTransitionGraph


def graph_of(transitions=(), *, entry_points=("A",), **rest: Any) -> StateTransitionGraph:
    return StateTransitionGraph("desk", transitions=transitions, entry_points=entry_points, **rest)


def found(graph: StateTransitionGraph, code: str) -> tuple[Finding, ...]:
    return tuple(finding for finding in check(graph) if finding.code == code)


def places(graph: StateTransitionGraph, code: str) -> list[str]:
    return [finding.place for finding in found(graph, code)]


def yes(context, event):
    return True


class Expression:
    """As a chart's expressions do, it tells which fields of the context it uses."""

    def __init__(self, *names: str) -> None:
        self.context_fields = names

    def __call__(self, context, event):
        return True


class Raising:
    """As a chart's actions do, it tells which events it raises."""

    def __init__(self, *raises: str) -> None:
        self.raises = raises

    def __call__(self, context, event):
        return None
