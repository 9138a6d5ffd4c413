"""State names that look like misspellings: a name that is nowhere declared becomes a state of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from gatechart.checks.finding import MISSPELT, Finding
from gatechart.graph import Kind, Node, StateTransitionGraph
from gatechart.values import StateName

SHORTEST: Final = 5  # letters; shorter names are near each other by chance


def spelling_findings(graph: StateTransitionGraph) -> Iterator[Finding]:
    """GC304: a plain state that occurs once, a letter away from one that is used otherwise too.

    A letter is missing, added, replaced or two are swapped; capitals and underscores do not count. Names that differ in
    digits only are meant to. Cost: linear in the letters of all names, by looking names up without one letter.
    Source: W. Garbe, symmetric delete spelling correction, 2012.
    """
    uses = _uses(graph)
    suspects = {name for name, node in graph.nodes.items() if _is_plain(node) and uses[name] == 1}
    near: dict[str, list[StateName]] = {}
    for name in graph.nodes:
        for key in _keys(name) if name not in suspects else ():
            near.setdefault(key, []).append(name)
    for name in (name for name in graph.nodes if name in suspects):
        others = (other for key in sorted(_keys(name)) for other in near.get(key, ()) if _is_slip(name, other))
        meant = next(others, None)
        if meant is not None:
            problem = f"only one transition names it, and it looks like {meant!r}"
            yield MISSPELT.at(f"state {name!r}", problem, f"write {meant!r}, or rename it")


def _uses(graph: StateTransitionGraph) -> Counter[StateName]:
    """How often each state is named by transitions, initial states and entry points."""
    named = [name for node in graph.nodes.values() for edge in node.edges for name in {edge.source, *edge.targets}]
    named += [name for node in graph.nodes.values() if node.default and node.ancestors for name in node.default.targets]
    return Counter(named + [entry.state for entry in graph.entry_points.values()])


def _is_plain(node: Node) -> bool:
    """Whether nothing but a name is known of the state."""
    return node.kind is Kind.ATOMIC and not (node.on_entry or node.on_exit or node.timers or node.invokes)


def _letters(name: StateName) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _keys(name: StateName) -> set[str]:
    letters = _letters(name)
    if len(letters) < SHORTEST:
        return set()
    return {letters, *(letters[:place] + letters[place + 1 :] for place in range(len(letters)))}


def _is_slip(name: StateName, other: StateName) -> bool:
    """Whether the two, which share a key, differ in more than digits."""
    plain, others = ("".join(each for each in _letters(text) if not each.isdigit()) for text in (name, other))
    return plain != others or _letters(name) == _letters(other)
