"""Dry runs of the handoffs that a graph declares: the target of each, one selection after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from gatechart.cli.errors import UsageError
from gatechart.cli.late_imports import late
from gatechart.cli.output import Cell, print_facts, print_line
from gatechart.errors.failures import asking
from gatechart.errors.root import GatechartError
from gatechart.values.frozen import replaced, value
from gatechart.values.handoffs import Reason
from gatechart.values.profiles import Choice, Needs

if TYPE_CHECKING:
    from gatechart import handoff as packets
    from gatechart import selection
    from gatechart.api import codec
    from gatechart.api.home import AgentHome
    from gatechart.cli import handoff_views
    from gatechart.graph import compile as compiling
    from gatechart.graph import handoff as fallbacks
    from gatechart.graph import selection as selections
    from gatechart.graph.compile import DeclaredHandoff
    from gatechart.graph.graph import AnyGraph
    from gatechart.graph.handoff import Fallback
    from gatechart.graph.selection import Best
    from gatechart.handoff.packet import HandoffPacket, SelectionTerms
else:
    compiling, fallbacks, selections, packets, selection, codec, handoff_views = late(
        "gatechart.graph.compile",
        "gatechart.graph.handoff",
        "gatechart.graph.selection",
        "gatechart.handoff",
        "gatechart.selection",
        "gatechart.api.codec",
        "gatechart.cli.handoff_views",
    )

_Rung: TypeAlias = "Best | Fallback"


@value
class DryRun:
    """The target that a handoff would get now."""

    places: tuple[str, ...]  # states and events of the graph that declare it
    choices: tuple[tuple[str, Choice], ...]  # selection names and choices, up to the first match
    then: str = ""  # the fallback if no selection has a match; empty if there is none
    reason: str = ""  # the reason for the handoff; empty if none is declared

    @property
    def document(self) -> dict[str, object]:
        """Describe the dry run as JSON values."""
        choices = [{"best": name, **codec.CHOICE.plain(choice)} for name, choice in self.choices]
        return {"from": list(self.places), "reason": self.reason or None, "choices": choices, "then": self.then or None}


def show(runs: Iterable[DryRun]) -> None:
    """Print dry runs."""
    for position, run in enumerate(runs):
        for number, (name, choice) in enumerate(run.choices):
            if position or number:
                print_line()
            chosen = "nobody" if choice.candidate is None else choice.candidate.id
            facts = {"from": ", ".join(run.places), "reason": run.reason, "selection": name, "chosen": chosen}
            handoff_views.print_choice(choice.explanation, [(key, fact) for key, fact in facts.items() if fact])
        if run.then:
            then: list[tuple[str, Cell]] = [("then", run.then)]
            print_line()
            print_facts(then)


async def dry_runs(home: AgentHome, graph: AnyGraph, packet: HandoffPacket, needs: Needs | None) -> tuple[DryRun, ...]:
    """Dry-run every handoff of a graph whose target is chosen. needs: additional needs.

    Raises UsageError if there is none, and the errors of `AgentHome.choose`.
    """
    own = packets.PathStep(agent="", graph=graph.name)  # excludes the graph's own entry points
    source_packet = packet.model_copy(update={"source_graph": graph.name, "path": (own,)})
    runs: dict[tuple[object, ...], DryRun] = {}
    for declared in compiling.askings(graph.nodes):
        if declared.handoff.best is None:
            continue
        rungs = tuple(_rungs(declared))
        key = (rungs, declared.handoff.reason)
        if key in runs:
            runs[key] = replaced(runs[key], places=(*runs[key].places, _location(declared)))
            continue
        packet_with_reason = source_packet.model_copy(update={"reason": declared.handoff.reason or packet.reason})
        run = await _run(home, rungs, packet_with_reason, needs, _location(declared))
        runs[key] = replaced(
            run, reason="" if packet_with_reason.reason is Reason.OTHER else packet_with_reason.reason.value
        )
    if not runs:
        raise UsageError(
            f"{graph.name!r} declares no handoff with a chosen target; leave out --of, or name another graph"
        )
    return tuple(runs.values())


async def _run(
    home: AgentHome, rungs: Iterable[_Rung], packet: HandoffPacket, needs: Needs | None, place: str
) -> DryRun:
    choices: list[tuple[str, Choice]] = []
    for rung in rungs:
        if isinstance(rung, selections.Best):
            choice = await home.choose(packet.model_copy(update={"selection": _terms(rung, packet)}), needs=needs)
            choices.append((rung.name, choice))
            if choice.candidate is not None:
                break
        elif isinstance(rung, fallbacks.OtherGraph | fallbacks.Human):
            return DryRun((place,), tuple(choices), f"{rung.graph} at {rung.at}")
    return DryRun((place,), tuple(choices))


def _terms(best: Best, packet: HandoffPacket) -> SelectionTerms:
    """Return the terms of a selection. Raises SelectionFunctionError, SelectionAnswerError."""
    try:
        return selection.terms_of(best, packet)
    except GatechartError:
        raise
    except Exception:
        with asking(f"needs= of {best.name!r}"):
            raise


def _rungs(asking: DeclaredHandoff) -> Iterator[_Rung]:
    if asking.handoff.best is not None:
        yield asking.handoff.best
    if asking.handoff.fallbacks is not None:
        yield from asking.handoff.fallbacks.steps


def _location(asking: DeclaredHandoff) -> str:
    event = None if asking.edge is None else asking.edge.event
    return f"{asking.state} on {event}" if event else asking.state
