"""What the events of a chart are called in the graph, and in XState's dialect which of them a descriptor takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from gatechart.charts import xstate
from gatechart.charts.forms import ChartForm, Dialect, EventForm, StateForm, TransitionForm
from gatechart.charts.places import Faults
from gatechart.charts.targets import Names
from gatechart.errors import suggestion


class Events:
    """The events of a chart by state, each transition with its own."""

    def __init__(self, chart: ChartForm, names: Names, faults: Faults) -> None:
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
            state: tuple((each, self._name(each.event, state)) for each in self._asked(state)) for state in self.states
        }
        known = frozenset(self._known()) if self.is_xstate else frozenset[str]()
        self.known = known
        self.longer = xstate.by_beginning(known)

    def of(self, state: StateForm) -> tuple[tuple[TransitionForm, str | None], ...]:
        """The transitions of a state with their events, in the order in which they are asked."""
        return self.by_state[state]

    def not_taken(self, event: str | None, state: StateForm) -> tuple[str, ...]:
        """The events that a transition of the state would be given, but XState does not give it."""
        if not self.is_xstate or event is None:
            return ()
        return xstate.not_taken(event, self._beside(state).items(), self.known, self.longer)

    def _asked(self, state: StateForm) -> list[TransitionForm]:
        return xstate.by_precedence(state.transitions) if self.is_xstate else list(state.transitions)

    def _beside(self, state: StateForm) -> Mapping[str, bool]:
        """The descriptors of a state, each with whether all its transitions have guards."""
        found: dict[str, bool] = {}
        for each, event in self.by_state[state]:
            if event is not None:
                found[event] = found.get(event, True) and each.then.guard is not None
        return found

    def _known(self) -> Iterator[str]:
        """All events that the chart waits for or makes of itself."""
        yield "error.execution"
        for state in self.states:
            yield from (event for _, event in self.by_state[state] if event is not None and not event.endswith("*"))
            yield f"done.state.{self.names.names[state]}"
            for id_ in self.ids[state]:
                yield from (f"done.invoke.{id_}", f"error.invoke.{id_}")

    def _invoke_ids(self) -> Mapping[StateForm, tuple[str, ...]]:
        """What each invoke goes by: its id, or the function's name; in XState not by a name that others go by, too."""
        often = Counter(invoke.own_id for state in self.states for invoke in state.invoke)
        return {
            state: tuple(
                f"{index}.{self.names.id_of(state)}"
                if self.is_xstate and not invoke.id and often[invoke.own_id] > 1
                else invoke.own_id
                for index, invoke in enumerate(state.invoke)
            )
            for state in self.states
        }

    def _name(self, event: EventForm, state: StateForm) -> str | None:
        """The event of a transition by its name here; what XState has and there is not is noted."""
        if event.is_done:
            return f"done.state.{self.names.names[state]}"
        if event.of_invoke is not None:
            return f"{event.name}.{self.ids[state][event.of_invoke]}"
        return self._of_xstate(event, event.name) if self.is_xstate and event.name is not None else event.name

    def _of_xstate(self, event: EventForm, theirs: str) -> str:
        """The event that XState calls so."""
        if xstate.is_wild(theirs) and " " in theirs:
            problem = f"{theirs!r} would be taken for several events, by the spaces in it"
            self.faults.add(event.spot, problem, "write a name without spaces before `.*`")
        name = xstate.event_of(theirs)
        if name.startswith(xstate.STATE_DONE):
            return self._state_done(event, name.removeprefix(xstate.STATE_DONE))
        if name.startswith(xstate.INTERNAL):
            remedy = "wait for an event of your own; onDone, onError and after tell of ends and delays"
            self.faults.add(event.spot, f"nothing here is like XState's event {name!r}", remedy)
        for kind in xstate.INVOKE_ENDS:
            if name.startswith(kind):
                return kind + self.actors.get(name.removeprefix(kind), name.removeprefix(kind))
        return name

    def _state_done(self, event: EventForm, id_: str) -> str:
        """The event of the end of the state with this id of XState's."""
        state = self.names.ids.get(id_)
        if state is None:
            self.faults.add(event.spot, f"there is no state of the id {id_!r}", suggestion(id_, tuple(self.names.ids)))
        elif state is self.states[0]:
            self.faults.add(event.spot, *xstate.NOTHING_AFTER_THE_END)
        return f"done.state.{id_ if state is None else self.names.names[state]}"
