"""Read an SCXML document as a graph.

Differences from SCXML: `null` and `undefined` are one value. `<data>` is evaluated when the document is read, unless it
uses `_sessionid` or is bound late; its errors raise the event `error.execution` in agents that start at the document's
initial state. An expression outside the subset is refused when the document is read, too. When the chart ends, exit
actions of its last states do not run. See docs/reference/scxml.md.

Source: W3C SCXML, https://www.w3.org/TR/scxml/.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

from gatechart.context import AgentContext
from gatechart.contrib.errors import NotCarriedError
from gatechart.contrib.scxml.content import action_of, raise_error, raising
from gatechart.contrib.scxml.data import DataModel, data_model
from gatechart.contrib.scxml.faults import FaultCollector
from gatechart.contrib.scxml.grammar import grammar_faults
from gatechart.contrib.scxml.scope import Scope, is_true, scope_in
from gatechart.contrib.scxml.sending import done_parts
from gatechart.contrib.scxml.xml import Element, parse
from gatechart.errors.definition import Fault
from gatechart.errors.root import suggestion
from gatechart.graph.definition import (
    Action,
    Data,
    EntryPoint,
    Guard,
    Initial,
    Precedence,
    State,
    Transition,
    beginning,
)
from gatechart.graph.graph import AnyGraph, StateTransitionGraph
from gatechart.turn.turn_context import Turn
from gatechart.values.agents import Event
from gatechart.values.names import Name

_STATES: Final = ("state", "parallel", "final", "history")
_MOST_TARGETS: Final = 32  # of a transition; they are compared pairwise
_MOST_SUGGESTED: Final = 20
_MOST_NAMES: Final = 1_000  # that are searched for a similar one


def read(
    document: str | bytes | Path,
    *,
    entry_points: Sequence[EntryPoint | Name] = (),
    context: type[AgentContext] | None = None,
    name: str | None = None,
    version: str = "1",
    max_microsteps: int = 1000,
) -> AnyGraph:
    """Read a document and return its graph.

    document: its text, or the path of a file.
    entry_points: by default agents start at the document's initial state: at the entry point with its name, or at
        `initial` if there are several initial states or the data have errors.
    context: a base type; variables of the data model use its fields or are added to them.
    name: by default the document's name, else `chart`.
    max_microsteps: as for `StateTransitionGraph`, but larger: documents use eventless transitions for loops.

    Raises NotCarriedError, which lists the element and line of everything that cannot be carried over, and
    InvalidGraphError.

    >>> chart = '<scxml><state id="a"><transition event="go" target="b"/></state><state id="b"/></scxml>'
    >>> read(chart, entry_points=["a"]).states
    ('a', 'b')
    """
    with _naming(document):
        return _graph(document, entry_points, context, name, version, max_microsteps)


@contextmanager
def _naming(document: str | bytes | Path) -> Iterator[None]:
    """Add the file name of a document to its errors."""
    try:
        yield
    except NotCarriedError as error:
        if not isinstance(document, Path):
            raise
        raise NotCarriedError(f"the document {document}", error.faults) from error


def _graph(
    document: str | bytes | Path,
    entry_points: Sequence[EntryPoint | Name],
    context: type[AgentContext] | None,
    name: str | None,
    version: str,
    max_microsteps: int,
) -> AnyGraph:
    root = parse(document)
    _refuse(root, tuple(grammar_faults(root)))
    chart = name or root.attributes.get("name") or "chart"
    faults = FaultCollector(root)
    model = data_model(root, chart, context or AgentContext, faults)
    reading = _Reading(root, chart, faults, model)
    states = tuple(map(reading.state, root.named(*_STATES)))
    initial = _telling(model.failures, reading.initial(root), states)
    _refuse(root, tuple(faults.found))
    return StateTransitionGraph(
        chart,
        version=version,
        context=model.context,
        states=states,
        transitions=reading.transitions,
        entry_points=tuple(entry_points) or (beginning(initial, states),),
        initial=initial,
        max_microsteps=max_microsteps,
        precedence=Precedence.DOCUMENT,
    )


def _telling(failures: Sequence[str], initial: Initial | None, states: Sequence[State[Any]]) -> Initial | None:
    """Return the initial state, with an action for each error of the data."""
    if not failures:
        return initial
    targets = initial.targets if initial else [state.name for state in states[:1]]
    return Initial(targets, actions=[raising(message) for message in failures])


def _refuse(root: Element, faults: tuple[Fault, ...]) -> None:
    if faults:
        raise NotCarriedError(f"the document {root.attributes.get('name', '')!r}", faults)


class _Reading:
    """The reader of one document."""

    def __init__(self, root: Element, chart: str, faults: FaultCollector, model: DataModel) -> None:
        self.transitions: list[Transition[Any]] = []
        self._binders = _binders(root, model)
        self._chart = chart
        self._faults = faults
        self._names = _names(root)
        self._outer = {inner: outer for outer in root.walk() for inner in outer.children}
        self._by_name: dict[str, Element] = {}
        for element, name in self._names.items():
            if self._by_name.setdefault(name, element) is not element:
                faults.add(element, f"the id {name!r} occurs twice", "rename one")

    def state(self, element: Element) -> State[Any]:
        """Convert a state with its descendants, and collect their transitions."""
        name = self._names[element]
        if element.name == "history":
            recall = element.attributes.get("type", "shallow")
            return State(name, history=recall, initial=self._default(element))
        self.transitions += [self._transition(name, element, child) for child in element.named("transition")]
        return State(
            name,
            on_entry=[*self._binders.get(element, ()), *self._blocks(element, "onentry")],
            on_exit=self._blocks(element, "onexit"),
            states=tuple(map(self.state, element.named(*_STATES))),
            initial=self.initial(element),
            parallel=element.name == "parallel",
            final=element.name == "final",
            data=self._done_data(element),
        )

    def initial(self, element: Element) -> Initial | None:
        """Return the initial states of a state, from its attribute or element; None if it has neither."""
        if not element.named("initial"):
            targets = self._targets(element, "initial")
            return Initial(targets) if targets else None
        if "initial" in element.attributes:
            self._faults.add(element, "it has an initial attribute and an <initial>", "drop one of them")
        return self._default(element.named("initial")[0])

    def _default(self, element: Element) -> Initial:
        transition = element.named("transition")[0]
        for attribute in ("event", "cond"):
            if attribute in transition.attributes:
                self._faults.add(transition, f"it cannot have {attribute} here", "leave it out")
        if not transition.attributes.get("target", "").split():
            self._faults.add(transition, "it has no target", "name the target")
        action = action_of(transition, self._faults, self._chart)
        return Initial(self._targets(transition, "target"), actions=[action] if action else ())

    def _targets(self, element: Element, attribute: str) -> tuple[str, ...]:
        targets = tuple(element.attributes.get(attribute, "").split())
        if len(targets) > _MOST_TARGETS:
            self._faults.add(
                element, f"{attribute} names more than {_MOST_TARGETS} states", "use a state that contains them"
            )
            return targets[:1]
        for target in targets:
            if target not in self._by_name:
                self._faults.add(element, f"unknown state {target!r}", self._suggested(target))
        return targets

    def _suggested(self, target: str) -> str:
        """Suggest similar names, for the first faults only, because the search is slow."""
        names = tuple(islice(self._by_name, _MOST_NAMES))
        return suggestion(target, names) if len(self._faults.found) < _MOST_SUGGESTED else "name an existing state"

    def _transition(self, source: str, parent: Element, element: Element) -> Transition[Any]:
        targets = self._targets(element, "target")
        action = action_of(element, self._faults, self._chart)
        return Transition(
            source,
            " ".join(element.attributes["event"].split()) if "event" in element.attributes else None,
            targets or None,
            guard=self._guard(element),
            actions=[action] if action else (),
            internal=element.attributes.get("type") == "internal" and self._can_be_internal(parent, targets),
        )

    def _can_be_internal(self, parent: Element, targets: Sequence[str]) -> bool:
        """Whether a transition can be internal: a compound source, and targets inside.

        A history state around the source may restore states inside it; the kernel decides this at each transition.
        """
        may_be_inside = (
            self._is_inside(target, parent) or self._is_history_around(target, parent) for target in targets
        )
        return parent.name == "state" and bool(targets) and all(may_be_inside)

    def _is_inside(self, target: str, outer: Element) -> bool:
        return target in self._by_name and outer in self._around(self._by_name[target])

    def _is_history_around(self, target: str, inner: Element) -> bool:
        element = self._by_name.get(target)
        return element is not None and element.name == "history" and self._outer[element] in self._around(inner)

    def _around(self, element: Element) -> Iterator[Element]:
        while element in self._outer:
            element = self._outer[element]
            yield element

    def _guard(self, element: Element) -> Guard[Any] | None:
        condition, chart = self._faults.expression(element, "cond"), self._chart
        if condition is None:
            return None if _ends_without_condition(element) else _always

        def guard(context: Any, event: Event, configuration: frozenset[str]) -> bool:
            return is_true(condition(Scope(context, event, configuration, chart)))

        guard.__name__ = element.attributes["cond"]
        return guard

    def _blocks(self, element: Element, slot: str) -> list[Action[Any]]:
        actions = (action_of(block, self._faults, self._chart) for block in element.named(slot))
        return [action for action in actions if action]

    def _done_data(self, element: Element) -> Data[Any] | None:
        found = element.named("donedata")
        if not found:
            return None
        parts, chart = done_parts(found[0], self._faults), self._chart

        def donedata(context: Any, event: Event, turn: Turn) -> Any:
            with scope_in(turn, context, event, chart) as scope:
                return parts(scope, partial(raise_error, turn))

        return donedata


def _binders(root: Element, model: DataModel) -> dict[Element, list[Action[Any]]]:
    """Return the actions that bind data on entry to each state."""
    binders: dict[Element, list[Action[Any]]] = {state: [action] for state, action in model.on_entry.items()}
    if model.at_start is not None:
        for state in root.named(*_STATES):
            binders[state] = [model.at_start, *binders.get(state, ())]
    return binders


def _ends_without_condition(element: Element) -> bool:
    """Whether a transition without a condition can end other than by its content: by event, target, or no content."""
    return not element.children or bool({"event", "target"} & set(element.attributes))


def _always(_: Any, __: Event) -> bool:
    """Return true: the transition repeats its content until an earlier transition is enabled."""
    return True


_always.drawn_as = ""  # type: ignore[attr-defined]  # the document has no condition


def _names(root: Element) -> dict[Element, str]:
    """Return the id of each state; by default the name of its element with a number."""
    states = [element for element in root.walk() if element.name in _STATES]
    used = {element.attributes["id"] for element in states if "id" in element.attributes}
    free = {name: _free(name, used) for name in _STATES}
    return {element: element.attributes.get("id") or next(free[element.name]) for element in states}


def _free(stem: str, used: set[str]) -> Iterator[str]:
    return (name for name in (f"{stem}.{number}" for number in count(1)) if name not in used)
