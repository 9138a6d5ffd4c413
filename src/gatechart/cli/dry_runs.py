"""Dry runs of the handoffs that a graph declares: whom each would go to, one selection after another."""

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
    from gatechart.graph.compile import Asking
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
    """What would come of a handoff now."""

    places: tuple[str, ...]  # where the graph declares it
    choices: tuple[tuple[str, Choice], ...]  # by the names of the selections, which are made until somebody matches
    then: str = ""  # who is named for what nobody matched; empty if nobody is
    reason: str = ""  # for which the work would be handed on; empty if nothing says one

    @property
    def document(self) -> dict[str, object]:
        """As JSON values."""
        made = [{"best": name, **codec.CHOICE.plain(choice)} for name, choice in self.choices]
        return {"from": list(self.places), "reason": self.reason or None, "choices": made, "then": self.then or None}


def show(runs: Iterable[DryRun]) -> None:
    """Print dry runs."""
    for place, run in enumerate(runs):
        for number, (name, choice) in enumerate(run.choices):
            if place or number:
                print_line()
            chosen = "nobody" if choice.candidate is None else choice.candidate.id
            facts = {"from": ", ".join(run.places), "reason": run.reason, "selection": name, "chosen": chosen}
            handoff_views.print_choice(choice.explanation, [(key, fact) for key, fact in facts.items() if fact])
        if run.then:
            then: list[tuple[str, Cell]] = [("then", run.then)]
            print_line()
            print_facts(then)


async def dry_runs(home: AgentHome, graph: AnyGraph, packet: HandoffPacket, needs: Needs | None) -> tuple[DryRun, ...]:
    """Return what would come of each handoff of a graph whose target is chosen. needs: besides what it declares.

    Raises UsageError if there is none, and what `AgentHome.choose` raises.
    """
    own = packets.PathStep(agent="", graph=graph.name)  # so that its own entry points are left out
    asked = packet.model_copy(update={"source_graph": graph.name, "path": (own,)})
    found: dict[tuple[object, ...], DryRun] = {}
    for each in compiling.askings(graph.nodes):
        if each.handoff.best is None:
            continue
        rungs = tuple(_rungs(each))
        key = (rungs, each.handoff.reason)
        if key in found:
            found[key] = replaced(found[key], places=(*found[key].places, _place(each)))
            continue
        given = asked.model_copy(update={"reason": each.handoff.reason or packet.reason})
        run = await _run(home, rungs, given, needs, _place(each))
        found[key] = replaced(run, reason="" if given.reason is Reason.OTHER else given.reason.value)
    if not found:
        raise UsageError(f"no handoff of {graph.name!r} has its target chosen; leave out --of, or name another graph")
    return tuple(found.values())


async def _run(
    home: AgentHome, rungs: Iterable[_Rung], packet: HandoffPacket, needs: Needs | None, place: str
) -> DryRun:
    made: list[tuple[str, Choice]] = []
    for rung in rungs:
        if isinstance(rung, selections.Best):
            choice = await home.choose(packet.model_copy(update={"selection": _terms(rung, packet)}), needs=needs)
            made.append((rung.name, choice))
            if choice.candidate is not None:
                break
        elif isinstance(rung, fallbacks.OtherGraph | fallbacks.Human):
            return DryRun((place,), tuple(made), f"{rung.graph} at {rung.at}")
    return DryRun((place,), tuple(made))


def _terms(best: Best, packet: HandoffPacket) -> SelectionTerms:
    """Return the terms of a selection. Raises SelectionFunctionError, and SelectionAnswerError."""
    try:
        return selection.terms_of(best, packet)
    except GatechartError:
        raise
    except Exception:
        with asking(f"needs= of {best.name!r}"):
            raise


def _rungs(asking: Asking) -> Iterator[_Rung]:
    if asking.handoff.best is not None:
        yield asking.handoff.best
    if asking.handoff.fallbacks is not None:
        yield from asking.handoff.fallbacks.steps


def _place(asking: Asking) -> str:
    event = None if asking.edge is None else asking.edge.event
    return f"{asking.state} on {event}" if event else asking.state
