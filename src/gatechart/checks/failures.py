"""Final states that are called like failures: who waits for an agent that ends there is told that all went well."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gatechart.checks.finding import UNMARKED_FAILURE, Finding
from gatechart.graph import Kind, StateTransitionGraph

FAILURES: Final = frozenset(
    {"abort", "aborted", "crash", "crashed", "error", "errored", "fail", "failed", "failure", "unsuccessful"}
)
"""Words that say so. Not those of an outcome that may be right, such as rejected, denied, cancelled or expired."""

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def failure_findings(graph: StateTransitionGraph) -> Iterator[Finding]:
    """GC104: a final state in which the agent ends with one of `FAILURES` in its name that lacks failed=True."""
    for name, node in graph.nodes.items():
        outer = graph.nodes[node.parent] if node.ancestors else node
        ends = node.kind is Kind.FINAL and (node.is_end or (outer.is_end and outer.kind is Kind.COMPOUND))
        if ends and not node.failed and not FAILURES.isdisjoint(_words(name)):
            problem = "it is called like a failure, but an agent that ends there counts as done"
            remedy = "add failed=True, in a chart file `failed: true`; or allow it where it is none"
            yield UNMARKED_FAILURE.at(f"state {name!r}", problem, remedy)


def _words(name: str) -> set[str]:
    return {word.casefold() for word in _WORDS.findall(name)}
