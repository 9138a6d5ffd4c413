"""Short names for the states, events and functions of a graph in a drawing. Pure.

Names that are unique in a graph can be longer than a drawing needs: `paying.waiting` is drawn inside the box of
`paying`, and `0.shop.paying` is XState's name for the first invoke of that state.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from gatechart.drawing.text import function_text, visible
from gatechart.graph.callables import callable_name
from gatechart.graph.compile import ROOT, Edge, Node
from gatechart.graph.definition import Invoke
from gatechart.graph.escape import EVERY_SIGNAL, EscapePlan
from gatechart.graph.events import EventType
from gatechart.graph.payload_schema import JsonSchema
from gatechart.graph.selection import Best
from gatechart.graph.transfer_edges import TransferRole
from gatechart.values.names import EventName, StateName
from gatechart.values.profiles import Needs
from gatechart.values.transfers import TransferCounts

ELSE: Final = "else"
"""The guard text of an unguarded transition that follows guarded ones on the same event."""

BEST: Final = "best of"
BEST_NAME: Final = Best().name
_MOST_NEEDS: Final = 4  # more needs are only counted
_MARKED: Final = ("signal", "escape")  # a bare prefix matches all such events; `prefix.name` matches one

_OF_INVOKE: Final = re.compile(r"(done|error|progress)\.invoke\.")


def titles_of(nodes: Mapping[StateName, Node]) -> dict[StateName, str]:
    """Return the title of each state: its name, without a leading path of ancestors.

    The path may start at any ancestor: `paying.card.open` and `card.open` are both `open` in `card` in `paying`.
    """
    titles: dict[StateName, str] = {ROOT: ROOT}
    for node in nodes.values():
        around = [titles[name] for name in reversed(node.ancestors) if name != ROOT]
        paths = (".".join(around[start:]) + "." for start in range(len(around)))
        path = next((path for path in paths if node.name.startswith(path) and node.name != path), "")
        titles[node.name] = node.name.removeprefix(path)
    return titles


def best_text(best: Best) -> tuple[str, str]:
    """Return the title of a selection, and the work's needs in words; `any` or `people` if it declares no needs."""
    title = BEST if best.name == BEST_NAME else f"{best.name}: {BEST}"
    if best.entries:
        return title, visible(" · ".join(best.entries))
    if not best.alternatives:
        return title, f"what {function_text(callable_name(best.needs))} says"
    texts = [needs.text for needs in stated_needs(best)]
    more = [f"{len(texts) - _MOST_NEEDS} more"] if len(texts) > _MOST_NEEDS else []
    needed = visible(" · ".join([*texts[:_MOST_NEEDS], *more]))
    if asks_for_people(best):
        return title, f"people: {needed}" if needed else "people"
    return title, needed or "any"


def asks_for_people(best: Best) -> bool:
    """Whether a selection finds only people, which are registered at run time."""
    return "person" in best.filter_names


def stated_needs(best: Best) -> tuple[Needs, ...]:
    """Return the needs of each rule of a selection, or its default needs if it has no rules, without empty needs."""
    return tuple(needs for needs in (best.alternatives[1:] or best.alternatives) if needs.text)


def guard_text(node: Node, edge: Edge) -> str:
    """Return the name of a transition's guard; `else` if it has none and follows guarded ones on the same event.

    A guard that only bridges a difference between dialects has a separate name for drawings, `drawn_as`.
    """
    guard = _guard_name(edge)
    if guard:
        return function_text(guard)
    earlier = node.edges[: node.edges.index(edge)]
    written = (other for other in earlier if other.role is None)
    return ELSE if any(_guard_name(other) and other.event == edge.event for other in written) else ""


def transfers_text(node: Node, counts: TransferCounts | None) -> str:
    """Return the number of transfers that a model may choose in a state, in words; empty if the state offers none.

    counts: the agent's transfers so far, to show how many are left; None if no agent is shown.
    """
    transfers = node.transfers
    if transfers is None:
        return ""
    left = "" if counts is None else f"{transfers.left(counts, node.name)} of "
    return f"transfers / {left}{transfers.most}{' left' if left else ''}"


def _guard_name(edge: Edge) -> str:
    return "" if edge.ask is None else str(getattr(edge.ask.function, "drawn_as", edge.ask.name))


def with_payload(event: EventName, types: Mapping[EventName, EventType]) -> str:
    """Return an event with its declared payload: the name of a model, or the fields of a JSON Schema."""
    declared = types.get(event)
    takes = None if declared is None else declared.takes
    if takes is None:
        return event
    return f"{event}({', '.join(takes.fields) if isinstance(takes, JsonSchema) else takes.__name__})"


def event_text(node: Node, edge: Edge, nodes: Mapping[StateName, Node], titles: Mapping[StateName, str]) -> str:
    """Return the event in words: timers as `after 30s` and `every 1d`, an eventless transition as `always`.

    Signals and escapes are marked in the text, so that they stand out without colours, too.
    """
    event = edge.event
    if event is None:
        return "always"
    marked = next((prefix for prefix in _MARKED if _has_prefix(prefix, event)), None)
    if marked is not None:
        return f"«{marked}» {event.removeprefix(marked).removeprefix('.') or 'any'}"
    if edge.role is not None and edge.to:
        return "transfer refused" if edge.role is TransferRole.REFUSED else "transfer"
    if event in dict(node.timers) or event in dict(node.recurring):
        return _timer_text(event, node)
    if event == f"done.state.{node.name}":
        return f"done.state.{titles[node.name]}"
    match = _OF_INVOKE.match(event)
    if match is None:
        return event
    return _end_text(match[0].removesuffix("."), event[match.end() :], node, nodes)


def _timer_text(event: EventName, node: Node) -> str:
    if event in dict(node.timers):
        return f"after {event.removeprefix('after.').removesuffix(f'.{node.name}')}"
    return f"every {dict(node.recurring)[event].text}"


def is_signal(event: EventName | None) -> bool:
    """Return whether a transition is taken on a signal, or on all signals."""
    return _has_prefix("signal", event)


def is_escape(event: EventName | None) -> bool:
    """Return whether a transition is taken on an escape, or on all escapes."""
    return _has_prefix("escape", event)


def _has_prefix(prefix: str, event: EventName | None) -> bool:
    return event is not None and f"{event}.".startswith(f"{prefix}.")


def plan_lines(plan: EscapePlan | None, signals: Collection[str]) -> tuple[str, ...]:
    """Return an escape plan in words: the strategies for each signal, in order; then the last resort.

    signals: the signals of the graph. The plan's entries for other signals are omitted.
    """
    if plan is None:
        return ()
    groups = (("", plan.strategies), *((f"{tool} · ", strategies) for tool, strategies in plan.tools))
    signals_by_tried: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for tool, group in groups:
        for signal, strategies in group:
            if signal in signals or signal == EVERY_SIGNAL:
                name = "any other" if signal == EVERY_SIGNAL else signal
                signals_by_tried.setdefault((tool, tuple(strategy.name for strategy in strategies)), []).append(name)
    lines = (f"{tool}{', '.join(names)}: {' → '.join(tried)}" for (tool, tried), names in signals_by_tried.items())
    return (*map(visible, lines), f"last: {visible(plan.last.name)}")


def _end_text(end: str, invoke_id: str, node: Node, nodes: Mapping[StateName, Node]) -> str:
    """Return the event of an invoke. An automatic id is replaced by the function, or omitted for a state's only one."""
    for state in (node, *nodes.values()):
        for invoke in state.invokes:
            if invoke.id == invoke_id and _has_automatic_id(invoke, state):
                return end if state is node and len(node.invokes) == 1 else f"{end}.{_function(invoke)}"
    return f"{end}.{invoke_id}"


def invoke_text(invoke: Invoke, node: Node) -> str:
    """Return the name of an invoke's function, and its id, which its events contain, if the id differs."""
    name = _function(invoke)
    return function_text(name if invoke.id == name or _has_automatic_id(invoke, node) else f"{name} as {invoke.id}")


def _function(invoke: Invoke) -> str:
    return invoke.id if invoke.function is None else callable_name(invoke.function)


def _has_automatic_id(invoke: Invoke, node: Node) -> bool:
    """Return whether the id is automatic: XState writes the number of an invoke before the path of its state."""
    number, _, path = invoke.id.partition(".")
    return invoke.function is not None and number.isdecimal() and path.endswith(node.name)
