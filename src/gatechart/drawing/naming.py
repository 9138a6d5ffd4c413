"""What the states, events and functions of a graph are called in a drawing. Pure.

Names that are unique in a graph may say more than a drawing needs: `paying.waiting` stands inside the box of `paying`,
and `0.shop.paying` is XState's name for the first invoke of that state.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from gatechart.drawing.text import function_text, visible
from gatechart.graph import (
    EVERY_SIGNAL,
    ROOT,
    Best,
    Edge,
    EscapePlan,
    EventType,
    Invoke,
    JsonSchema,
    Node,
    TransferRole,
    callable_name,
)
from gatechart.values import EventName, Needs, StateName, TransferCounts

ELSE: Final = "else"
"""The guard of a transition that has none, but is asked after guarded ones on the same event."""

BEST: Final = "best of"
BEST_NAME: Final = Best().name
_MOST_NEEDS: Final = 4  # that are written out
_MARKED: Final = ("signal", "escape")  # take all events of their kind; those of one name have it after a point

_OF_INVOKE: Final = re.compile(r"(done|error|progress)\.invoke\.")


def titles_of(nodes: Mapping[StateName, Node]) -> dict[StateName, str]:
    """Return each state's name without the path of the states around it, where it begins with that.

    The path may begin at any state around it: `paying.card.open` and `card.open` are both `open` in `card` in `paying`.
    """
    titles: dict[StateName, str] = {ROOT: ROOT}
    for node in nodes.values():
        around = [titles[name] for name in reversed(node.ancestors) if name != ROOT]
        paths = (".".join(around[start:]) + "." for start in range(len(around)))
        path = next((path for path in paths if node.name.startswith(path) and node.name != path), "")
        titles[node.name] = node.name.removeprefix(path)
    return titles


def best_text(best: Best) -> tuple[str, str]:
    """Return a selection in words: what it is, and what work needs by it; `any`, or `people`, if nothing is said."""
    title = BEST if best.name == BEST_NAME else f"{best.name}: {BEST}"
    if best.entries:
        return title, visible(" · ".join(best.entries))
    if not best.alternatives:
        return title, f"what {function_text(callable_name(best.needs))} says"
    told = [each.text for each in stated_needs(best)]
    more = [f"{len(told) - _MOST_NEEDS} more"] if len(told) > _MOST_NEEDS else []
    needed = visible(" · ".join([*told[:_MOST_NEEDS], *more]))
    if asks_for_people(best):
        return title, f"people: {needed}" if needed else "people"
    return title, needed or "any"


def asks_for_people(best: Best) -> bool:
    """Whether a selection finds people only, who are registered at run time."""
    return "person" in best.filter_names


def stated_needs(best: Best) -> tuple[Needs, ...]:
    """Return what work needs by each rule of a selection; where it has none, what it needs anyway."""
    return tuple(each for each in (best.alternatives[1:] or best.alternatives) if each.text)


def guard_text(node: Node, edge: Edge) -> str:
    """Return how a transition's guard is called: `else` where it has none and guarded ones are asked before it.

    A guard that only makes up for a difference between dialects has another name for drawings, `drawn_as`.
    """
    asked = _asked(edge)
    if asked:
        return function_text(asked)
    earlier = node.edges[: node.edges.index(edge)]
    written = (other for other in earlier if other.role is None)
    return ELSE if any(_asked(other) and other.event == edge.event for other in written) else ""


def transfers_text(node: Node, counts: TransferCounts | None) -> str:
    """Return how many choices a model has in a state, in words; empty if the state offers none.

    counts: those of an agent, whose choices left are told; None if no agent is shown.
    """
    transfers = node.transfers
    if transfers is None:
        return ""
    left = "" if counts is None else f"{transfers.left(counts, node.name)} of "
    return f"transfers / {left}{transfers.most}{' left' if left else ''}"


def _asked(edge: Edge) -> str:
    return "" if edge.ask is None else str(getattr(edge.ask.function, "drawn_as", edge.ask.name))


def with_payload(event: EventName, types: Mapping[EventName, EventType]) -> str:
    """Return an event with the payload that its type takes: the name of a model, or the fields of a JSON Schema."""
    declared = types.get(event)
    takes = None if declared is None else declared.takes
    if takes is None:
        return event
    return f"{event}({', '.join(takes.fields) if isinstance(takes, JsonSchema) else takes.__name__})"


def event_text(node: Node, edge: Edge, nodes: Mapping[StateName, Node], titles: Mapping[StateName, str]) -> str:
    """Return the event in words: timers as `after 30s` and `every 1d`, the lack of an event as `always`.

    A signal and an escape are marked as such, so that they stand out without colours, too.
    """
    event = edge.event
    if event is None:
        return "always"
    marked = next((kind for kind in _MARKED if _is_of(kind, event)), None)
    if marked is not None:
        return f"«{marked}» {event.removeprefix(marked).removeprefix('.') or 'any'}"
    if edge.role is not None and edge.to:
        return "transfer refused" if edge.role is TransferRole.REFUSED else "transfer"
    if event in dict(node.timers) or event in dict(node.recurring):
        return _timer_text(event, node)
    if event == f"done.state.{node.name}":
        return f"done.state.{titles[node.name]}"
    found = _OF_INVOKE.match(event)
    if found is None:
        return event
    return _end_text(found[0].removesuffix("."), event[found.end() :], node, nodes)


def _timer_text(event: EventName, node: Node) -> str:
    if event in dict(node.timers):
        return f"after {event.removeprefix('after.').removesuffix(f'.{node.name}')}"
    return f"every {dict(node.recurring)[event].text}"


def is_signal(event: EventName | None) -> bool:
    """Return whether the event of a transition is that of a signal, or of all signals."""
    return _is_of("signal", event)


def is_escape(event: EventName | None) -> bool:
    """Return whether the event of a transition is that of a way out, or of all ways out."""
    return _is_of("escape", event)


def _is_of(kind: str, event: EventName | None) -> bool:
    return event is not None and f"{event}.".startswith(f"{kind}.")


def plan_lines(plan: EscapePlan | None, signals: Collection[str]) -> tuple[str, ...]:
    """Return an escape plan in words: what is tried, in order, for which signals; then the last resort.

    signals: those of the graph; a plan may name others as well.
    """
    if plan is None:
        return ()
    groups = (("", plan.strategies), *((f"{tool} · ", some) for tool, some in plan.tools))
    told: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for tool, group in groups:
        for signal, strategies in group:
            if signal in signals or signal == EVERY_SIGNAL:
                name = "any other" if signal == EVERY_SIGNAL else signal
                told.setdefault((tool, tuple(each.name for each in strategies)), []).append(name)
    lines = (f"{tool}{', '.join(names)}: {' → '.join(tried)}" for (tool, tried), names in told.items())
    return (*map(visible, lines), f"last: {visible(plan.last.name)}")


def _end_text(end: str, invoke_id: str, node: Node, nodes: Mapping[StateName, Node]) -> str:
    """Return the event of an invoke; one whose id nobody chose is known by its function, or is the state's only one."""
    for state in (node, *nodes.values()):
        for invoke in state.invokes:
            if invoke.id == invoke_id and _is_made_up(invoke, state):
                return end if state is node and len(node.invokes) == 1 else f"{end}.{_function(invoke)}"
    return f"{end}.{invoke_id}"


def invoke_text(invoke: Invoke, node: Node) -> str:
    """Return what a state does, by the function's name; with the id, which events bear, where it is another."""
    name = _function(invoke)
    return function_text(name if invoke.id == name or _is_made_up(invoke, node) else f"{name} as {invoke.id}")


def _function(invoke: Invoke) -> str:
    return invoke.id if invoke.function is None else callable_name(invoke.function)


def _is_made_up(invoke: Invoke, node: Node) -> bool:
    """Tell whether nobody chose the id: XState numbers the invokes of a state before its path."""
    number, _, path = invoke.id.partition(".")
    return invoke.function is not None and number.isdecimal() and path.endswith(node.name)
