"""The names of states and events in a chart, and the lookup of targets and descriptors.

A target is looked up as in XState: `#id` anywhere, `.child` inside the state itself, `sibling` or `sibling.child`
beside it. Otherwise, as in code, it may be the name of any state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from gatechart.chartfiles import xstate
from gatechart.chartfiles.faults import Faults, Spot
from gatechart.chartfiles.model import ChartForm, Dialect, EventForm, StateForm, TransitionForm
from gatechart.errors.root import suggestion
from gatechart.graph.definition import ANY


class StateNames:
    """The states of a chart by all their names."""

    def __init__(self, chart: ChartForm, faults: Faults) -> None:
        self.faults = faults
        self.is_xstate = chart.dialect is Dialect.XSTATE
        self.root = chart.root
        self.chart = chart.name
        self.machine = chart.root if chart.root.key else chart.root.states[0]  # see `xstate.wrapped`
        self.parents: dict[StateForm, StateForm] = {}
        for parent in (chart.root, *chart.root.walk()):
            self.parents.update(dict.fromkeys(parent.states, parent))
        self.names = self._names()
        self.named: dict[str, StateForm] = {}
        for state in chart.root.walk():
            self.named.setdefault(self.names[state], state)
        self.ids = self._ids(chart.name)

    def _names(self) -> Mapping[StateForm, str]:
        """Return the name of each state: its key; in XState its dotted path if the key occurs twice."""
        states = tuple(self.root.walk())
        counts = Counter(state.key for state in states)
        return {
            state: self.path(state) if self.is_xstate and counts[state.key] > 1 else state.key for state in states
        } | {self.root: ANY}

    def path(self, state: StateForm) -> str:
        """Return the keys from the top to the state, joined by dots."""
        outside = (each for each in reversed(self.outside(state)[:-1]) if each is not self.machine)
        return ".".join(each.key for each in (*outside, state))

    def outside(self, state: StateForm) -> tuple[StateForm, ...]:
        """Return the states around a state, innermost first, the chart as a whole last."""
        states: list[StateForm] = []
        while state in self.parents:
            state = self.parents[state]
            states.append(state)
        return tuple(states)

    def id_of(self, state: StateForm) -> str:
        """Return the id of a state; without one, XState uses its path after the chart's id."""
        if state.id is not None:
            return state.id.node.text
        return self.chart if state in (self.root, self.machine) else f"{self.chart}.{self.path(state)}"

    def _ids(self, chart: str) -> Mapping[str, StateForm]:
        """Return all texts that may follow a `#`: given ids precede names, names precede paths."""
        states = tuple(self.root.walk())
        given: dict[str, StateForm] = {}
        for state in states:
            if state.id is not None:
                text = state.id.node.text
                if text in given:
                    self.faults.add(state.id, f"the id {text!r} occurs twice", "give each state a unique id")
                given.setdefault(text, state)
        paths = {f"{chart}.{self.path(state)}": state for state in states}
        return {chart: self.machine, **paths, **self.named, **given}

    def target(self, spot: Spot, source: StateForm) -> str:
        """Return the name of the target state; the text of the target after a fault, which is added."""
        return self._checked(spot, self._find(spot.node.text, source))

    def inside(self, spot: Spot, state: StateForm) -> str:
        """Return the name of an initial state, which is first looked up among the state's children."""
        text = spot.node.text
        child = None if text.startswith("#") else _descend(state, text.removeprefix("."))
        return self._checked(spot, child or self._find(text, state))

    def is_inside(self, name: str, outer: StateForm) -> bool:
        """Return whether the named state is the outer one or inside it."""
        state = self.named.get(name)
        return state is not None and outer in (state, *self.outside(state))

    def may_be_inside(self, name: str, outer: StateForm) -> bool:
        """Return the same, or true for a history state around the outer one, which may restore states inside it."""
        state = self.named.get(name)
        is_around = state is not None and state.history is not None and self.parents[state] in self.outside(outer)
        return is_around or self.is_inside(name, outer)

    def _find(self, text: str, source: StateForm) -> StateForm | None:
        if self.is_xstate and "\\" in text:
            return self._along(xstate.segments(text), source)
        if text.startswith("#"):
            return self._by_id(text[1:])
        if text.startswith("."):
            return _descend(source, text[1:])
        return _descend(self.parents.get(source, source), text) or self.named.get(text)

    def _along(self, segments: list[str], source: StateForm) -> StateForm | None:
        """Return the state at the end of a path of keys, which starts at an id, in the source, or beside it."""
        first, *keys = segments
        state = self.ids.get(first[1:]) if first.startswith("#") else source
        if first and not first.startswith("#"):
            state, keys = self.parents.get(source, source), segments
        for key in keys:
            state = next((child for child in state.states if child.key == key), None) if state else None
        return state

    def _by_id(self, text: str) -> StateForm | None:
        """Return the state with an id, or a state below it: `id.child.grandchild`."""
        if text in self.ids:
            return self.ids[text]
        id_, dot, _ = text.rpartition(".")
        while dot:
            if id_ in self.ids:
                return _descend(self.ids[id_], text[len(id_) + 1 :])
            id_, dot, _ = id_.rpartition(".")
        return None

    def _checked(self, spot: Spot, state: StateForm | None) -> str:
        if state is None:
            text = spot.node.text
            self.faults.add(spot, f"unknown state {text!r}", suggestion(text, tuple(self.named)))
            return text
        return self.names[state]


def _descend(state: StateForm, path: str) -> StateForm | None:
    """Return the state at the end of a path of keys; a key may contain dots itself."""
    for child in state.states:
        if path == child.key:
            return child
    for child in state.states:
        if path.startswith(f"{child.key}."):
            state_below = _descend(child, path[len(child.key) + 1 :])
            if state_below is not None:
                return state_below
    return None


class ChartEvents:
    """The events of a chart by state, with the event of each transition."""

    def __init__(self, chart: ChartForm, names: StateNames, faults: Faults) -> None:
        self.names = names
        self.faults = faults
        self.is_xstate = chart.dialect is Dialect.XSTATE
        self.states = (chart.root, *chart.root.walk())
        self.ids = self._invoke_ids()
        self.actors = {
            f"{index}.{names.id_of(state)}": id_
            for state, ids in self.ids.items()
            for index, (id_, invoke) in enumerate(zip(ids, state.invoke, strict=True))
            if not invoke.id
        }
        self.by_state = {
            state: tuple((each, self._name(each.event, state)) for each in self._by_precedence(state))
            for state in self.states
        }
        known = frozenset(self._known()) if self.is_xstate else frozenset[str]()
        self.known = known
        self.longer = xstate.by_beginning(known)
        events = {event for state in self.states for _, event in self.by_state[state] if event is not None}
        self.beginnings = sorted(event.removesuffix(".*") for event in events if event.endswith(".*"))

    def of(self, state: StateForm) -> tuple[tuple[TransitionForm, str | None], ...]:
        """Return the transitions of a state with their events, in the order of evaluation."""
        return self.by_state[state]

    def not_taken(self, event: str | None) -> tuple[str, ...]:
        """Return the events that match the descriptor of a transition, but that XState does not give it."""
        if not self.is_xstate or event is None:
            return ()
        return xstate.not_taken(event, self.known, self.longer, self.beginnings)

    def _by_precedence(self, state: StateForm) -> list[TransitionForm]:
        return xstate.by_precedence(state.transitions) if self.is_xstate else list(state.transitions)

    def _known(self) -> Iterator[str]:
        """Yield all events that the chart waits for or raises itself."""
        yield "error.execution"
        for state in self.states:
            yield from (event for _, event in self.by_state[state] if event is not None and not event.endswith("*"))
            yield f"done.state.{self.names.names[state]}"
            for id_ in self.ids[state]:
                yield from (f"done.invoke.{id_}", f"error.invoke.{id_}")

    def _invoke_ids(self) -> Mapping[StateForm, tuple[str, ...]]:
        """Return the id of each invoke: its own, or the function's name; in XState only if it is unique."""
        counts = Counter(invoke.own_id for state in self.states for invoke in state.invoke)
        return {
            state: tuple(
                f"{index}.{self.names.id_of(state)}"
                if self.is_xstate and not invoke.id and counts[invoke.own_id] > 1
                else invoke.own_id
                for index, invoke in enumerate(state.invoke)
            )
            for state in self.states
        }

    def _name(self, event: EventForm, state: StateForm) -> str | None:
        """Return the name of a transition's event; XState events without a counterpart are faults."""
        if event.is_done:
            return f"done.state.{self.names.names[state]}"
        if event.of_invoke is not None:
            return f"{event.name}.{self.ids[state][event.of_invoke]}"
        return self._of_xstate(event, event.name) if self.is_xstate and event.name is not None else event.name

    def _of_xstate(self, event: EventForm, theirs: str) -> str:
        """Translate the name of an XState event."""
        if xstate.is_wild(theirs) and " " in theirs:
            problem = f"{theirs!r} would match several events, because it contains spaces"
            self.faults.add(event.spot, problem, "write a name without spaces before `.*`")
        name = xstate.event_of(theirs)
        if name.startswith(xstate.STATE_DONE):
            return self._state_done(event, name.removeprefix(xstate.STATE_DONE))
        if name.startswith(xstate.INTERNAL):
            remedy = "wait for an event of the chart; onDone, onError and after report ends and delays"
            self.faults.add(event.spot, f"XState's event {name!r} has no counterpart here", remedy)
        for kind in xstate.INVOKE_ENDS:
            if name.startswith(kind):
                return kind + self.actors.get(name.removeprefix(kind), name.removeprefix(kind))
        return name

    def _state_done(self, event: EventForm, id_: str) -> str:
        """Return the event of the end of the state with this XState id."""
        state = self.names.ids.get(id_)
        if state is None:
            self.faults.add(event.spot, f"no state has the id {id_!r}", suggestion(id_, tuple(self.names.ids)))
        elif state is self.states[0]:
            self.faults.add(event.spot, *xstate.NOTHING_AFTER_THE_END)
        return f"done.state.{id_ if state is None else self.names.names[state]}"
