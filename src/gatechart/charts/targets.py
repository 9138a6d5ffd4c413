"""What the states of a chart are called, and which of them a target means.

A target is looked for as XState does: `#id` anywhere, `.child` inside the state itself, `sibling` or `sibling.child`
beside it. Beyond that, and as in code, the name of any state will do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gatechart.charts.forms import ChartForm, Dialect, StateForm
from gatechart.charts.places import Faults, Spot
from gatechart.errors import suggestion
from gatechart.graph import ANY


class Names:
    """The states of a chart by all that they can be called by."""

    def __init__(self, chart: ChartForm, faults: Faults) -> None:
        self.faults = faults
        self.root = chart.root
        self.chart = chart.name
        self.machine = chart.root if chart.root.key else chart.root.states[0]  # see `xstate.wrapped`
        self.parents: dict[StateForm, StateForm] = {}
        for parent in (chart.root, *chart.root.walk()):
            self.parents.update(dict.fromkeys(parent.states, parent))
        self.names = self._names(chart.dialect)
        self.named: dict[str, StateForm] = {}
        for state in chart.root.walk():
            self.named.setdefault(self.names[state], state)
        self.ids = self._ids(chart.name)

    def _names(self, dialect: Dialect) -> Mapping[StateForm, str]:
        """A state's key; in XState its dotted path where the key occurs twice."""
        states = tuple(self.root.walk())
        often = Counter(state.key for state in states)
        is_path = dialect is Dialect.XSTATE
        return {state: self.path(state) if is_path and often[state.key] > 1 else state.key for state in states} | {
            self.root: ANY
        }

    def path(self, state: StateForm) -> str:
        """The keys from the top to the state, with dots between them."""
        outside = (each for each in reversed(self.outside(state)[:-1]) if each is not self.machine)
        return ".".join(each.key for each in (*outside, state))

    def outside(self, state: StateForm) -> tuple[StateForm, ...]:
        """The states around a state, innermost first, the chart as a whole last."""
        found: list[StateForm] = []
        while state in self.parents:
            state = self.parents[state]
            found.append(state)
        return tuple(found)

    def id_of(self, state: StateForm) -> str:
        """What XState takes for the id of a state that is given none: its path behind the chart's id."""
        if state.id is not None:
            return state.id.node.text
        return self.chart if state in (self.root, self.machine) else f"{self.chart}.{self.path(state)}"

    def _ids(self, chart: str) -> Mapping[str, StateForm]:
        """All that may follow a `#`: ids that are given before names, names before paths."""
        states = tuple(self.root.walk())
        given: dict[str, StateForm] = {}
        for state in states:
            if state.id is not None:
                text = state.id.node.text
                if text in given:
                    self.faults.add(state.id, f"the id {text!r} occurs twice", "give each state an id of its own")
                given.setdefault(text, state)
        paths = {f"{chart}.{self.path(state)}": state for state in states}
        return {chart: self.machine, **paths, **self.named, **given}

    def target(self, spot: Spot, source: StateForm) -> str:
        """The name of the state that a target of the source means; its own text where there is none, noted."""
        return self._checked(spot, self._find(spot.node.text, source))

    def inside(self, spot: Spot, state: StateForm) -> str:
        """The same for where a state begins: a target is looked for among its children."""
        text = spot.node.text
        found = None if text.startswith("#") else _descend(state, text.removeprefix("."))
        return self._checked(spot, found or self._find(text, state))

    def is_inside(self, name: str, outer: StateForm) -> bool:
        """Whether the state of this name is the outer one or lies in it."""
        state = self.named.get(name)
        return state is not None and outer in (state, *self.outside(state))

    def may_be_inside(self, name: str, outer: StateForm) -> bool:
        """The same, or whether it is a history state around the outer one, which may stand for states inside it."""
        state = self.named.get(name)
        is_around = state is not None and state.history is not None and self.parents[state] in self.outside(outer)
        return is_around or self.is_inside(name, outer)

    def _find(self, text: str, source: StateForm) -> StateForm | None:
        if text.startswith("#"):
            return self._by_id(text[1:])
        if text.startswith("."):
            return _descend(source, text[1:])
        return _descend(self.parents.get(source, source), text) or self.named.get(text)

    def _by_id(self, text: str) -> StateForm | None:
        """The state of an id, or one below it: `id.child.grandchild`."""
        if text in self.ids:
            return self.ids[text]
        id_, dot, _ = text.rpartition(".")
        while dot:
            if id_ in self.ids:
                return _descend(self.ids[id_], text[len(id_) + 1 :])
            id_, dot, _ = id_.rpartition(".")
        return None

    def _checked(self, spot: Spot, found: StateForm | None) -> str:
        if found is None:
            text = spot.node.text
            self.faults.add(spot, f"there is no state {text!r}", suggestion(text, tuple(self.named)))
            return text
        return self.names[found]


def _descend(state: StateForm, path: str) -> StateForm | None:
    """The state at the end of a path of keys; a key may have dots itself."""
    for child in state.states:
        if path == child.key:
            return child
    for child in state.states:
        if path.startswith(f"{child.key}."):
            found = _descend(child, path[len(child.key) + 1 :])
            if found is not None:
                return found
    return None
