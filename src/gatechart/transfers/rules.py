"""Rules about the transfers that states offer to models."""

from __future__ import annotations

from collections.abc import Iterator

from gatechart.errors.root import listing
from gatechart.graph.packet_fields import packet_fields
from gatechart.graph.transfers import To
from gatechart.rules.analysis import Analysis, has_part_in_an_end
from gatechart.rules.finding import Hit, Severity, rule


@rule("GC601", Severity.WARNING, "a state with transfers from which no final state can be reached")
def no_end_of_transfers(analysis: Analysis) -> Iterator[Hit]:
    """Neither through a target nor through `otherwise`. A state that transfers the work elsewhere is an end, too."""
    graph = analysis.graph
    ends = {name for name in graph.nodes if has_part_in_an_end(graph, name)} | analysis.handed_over
    for name in graph.choosing:
        if analysis.reached_from(name).isdisjoint(ends):
            problem = "neither its transfers nor otherwise= lead to a final state"
            yield f"state {name!r}", problem, "let one of them, or a state after them, end the agent"


@rule("GC602", Severity.WARNING, "a target of transfers without a description")
def undescribed_target(analysis: Analysis) -> Iterator[Hit]:
    """A model chooses by descriptions. Entry points of other graphs are checked only if those graphs are known."""
    for name in analysis.graph.choosing:
        transfers = analysis.graph.nodes[name].transfers
        for to in transfers.targets if transfers else ():
            if not (to.description or _is_described(analysis, to)):
                element = "entry point" if to.is_handoff else "state"
                remedy = f"describe the {element}, or write To({to.name!r}, description=...)"
                yield f"state {name!r}", f"its transfer to {to.key!r} has no description", remedy


def _is_described(analysis: Analysis, to: To) -> bool:
    """Return whether the target itself has a description; an unknown entry point counts as described."""
    if not to.is_handoff:
        return bool(analysis.graph.nodes[to.name].description)
    graph = next((known for known in analysis.among or () if known.name == to.target), None)
    entry = None if graph is None else graph.entry_points.get(to.at)
    return entry is None or bool(entry.description)


@rule("GC603", Severity.WARNING, "an argument of a transfer that may not fill the field with its name")
def lost_arguments(analysis: Analysis) -> Iterator[Hit]:
    """Only if the graphs of the application are known, as for GC503.

    A model's arguments become entities of the packet. They fill only the fields that the entry point declares with
    `entities`. Arguments without a field of the same name are left alone.
    """
    doors = {(graph.name, entry.name): (graph, entry) for graph, entry in analysis.doors}
    for name in analysis.graph.choosing:
        transfers = analysis.graph.nodes[name].transfers
        for to in transfers.targets if transfers else ():
            graph, entry = doors.get((to.name, to.at), (None, None))
            if graph is None or entry is None or to.takes is None or to.packet is not None:
                continue
            fields = set(packet_fields(entry, graph.context)) - set(entry.entities)
            lost = tuple(field for field in to.takes.model_fields if field in fields)
            if lost:
                problem = f"its transfer to {to.key!r} asks a model for {listing(lost)}, which fills no field there"
                remedy = f"declare entities={(*entry.entities, *lost)!r} there, or do not ask for it"
                yield f"state {name!r}", problem, remedy
