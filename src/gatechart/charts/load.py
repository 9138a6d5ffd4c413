"""Load a chart: look up its names, and give the faults of the graph their positions in the file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, overload

from pydantic import BaseModel

from gatechart.chartfiles import xstate
from gatechart.chartfiles.bindings import Bind, Bindings, Unbound
from gatechart.chartfiles.contexts import context_type
from gatechart.chartfiles.faults import Faults, Spot
from gatechart.chartfiles.handing_on import HandingOn
from gatechart.chartfiles.model import (
    AfterForm,
    ChartForm,
    Dialect,
    EntryForm,
    EventTypeForm,
    Except,
    Fixed,
    Reference,
    StateForm,
    ThenForm,
    Values,
)
from gatechart.chartfiles.names import ChartEvents
from gatechart.chartfiles.parts import HandoffParser
from gatechart.chartfiles.source import Source, read
from gatechart.chartfiles.words import in_keys
from gatechart.charts.parse import read_chart
from gatechart.charts.schema import KEYS
from gatechart.checks.checking import RULES
from gatechart.context import AgentContext, ContextT
from gatechart.errors.definition import Fault, InvalidGraphError
from gatechart.errors.root import suggestion
from gatechart.escape.chart import EscapeReader
from gatechart.graph.definition import (
    ANY,
    Allow,
    EntryPoint,
    Initial,
    OnRefusal,
    Precedence,
    State,
    Then,
    Transition,
    after_event,
    beginning,
    recurring_event,
)
from gatechart.graph.escape import EscapePlan
from gatechart.graph.events import EventType
from gatechart.graph.graph import AnyGraph, StateTransitionGraph
from gatechart.graph.handoff import Accepts
from gatechart.graph.migration import Migration
from gatechart.graph.signals import Signals
from gatechart.signals.chart import Named, SignalReader
from gatechart.tools.chart import read_policies
from gatechart.transfers.chart import TransfersBuilder
from gatechart.values.delays import DELAY_FORMS, DELAY_TEXTS, Delay, delay_text, seconds_of
from gatechart.values.names import Name, name_of
from gatechart.values.recurrence import Every
from gatechart.values.tool_policies import ToolPolicies


@overload
def load(
    source: Source,
    *,
    context: type[ContextT],
    bind: Bind = None,
    dialect: str | None = None,
    entry_points: Sequence[EntryPoint | Name] | None = None,
    migrations: Iterable[Migration] | Migration = (),
    unbound: Unbound | None = None,
) -> StateTransitionGraph[ContextT]: ...


@overload
def load(
    source: Source,
    *,
    bind: Bind = None,
    dialect: str | None = None,
    entry_points: Sequence[EntryPoint | Name] | None = None,
    migrations: Iterable[Migration] | Migration = (),
    unbound: Unbound | None = None,
) -> AnyGraph: ...


def load(
    source: Source,
    *,
    context: type[AgentContext] | None = None,
    bind: Bind = None,
    dialect: str | None = None,
    entry_points: Sequence[EntryPoint | Name] | None = None,
    migrations: Iterable[Migration] | Migration = (),
    unbound: Unbound | None = None,
) -> AnyGraph:
    r"""Return the graph of a chart in YAML or JSON.

    source: a path; or the chart itself, as bytes, or as a text with a line break or a brace at its beginning.
    context: the type of the context, which type checkers then know: `load(path, context=Order)` is a
    `StateTransitionGraph[Order]`. If the chart names a type, it must be this one; if it has initial values, they must
    equal the type's.
    bind: the objects for the chart's names: a mapping, a module, an object with functions, or a list of these, where
    the first that has a name is used. The chart itself can neither import nor run code.
    dialect: "xstate" or "scxml", in place of the file's. entry_points: in place of the file's.
    migrations: migrations of agents from earlier versions to this one.
    unbound: called with a kind and an unbound name, and returns a stand-in for it. The kinds are
    "guard", "action", "invoke", "data" and "function", and "AgentContext" and "BaseModel" for subclasses.

    Raises InvalidChartError with every fault, each with line, column and path of keys, and ValueError for an unknown
    dialect.

    >>> lamp = load("id: lamp\nentry_points: [OFF]\nstates:\n  OFF: {on: {PRESSED: ON}}\n  ON:\n")
    >>> lamp.transitions[0].label
    'OFF --PRESSED--> ON'
    """
    if dialect not in (None, *Dialect):
        raise ValueError(f"dialect={dialect!r:.100}; write {' or '.join(repr(each.value) for each in Dialect)}")
    top, faults = read(source)
    chart = read_chart(top, faults, None if dialect is None else Dialect(dialect))
    if chart.dialect is Dialect.XSTATE:
        chart = xstate.wrapped(chart)
    return _Building(chart, Bindings(bind, faults, unbound), faults, context).graph(entry_points, migrations)


def load_tool_policies(source: Source) -> dict[str, ToolPolicies]:
    r"""Return policies of tool calls from YAML or JSON, in the shape of `tools:` in a chart.

    source: as in `load`. Raises InvalidChartError with every fault, each with line, column and path of keys.

    >>> load_tool_policies("lookup:\n  timeout_s: 5\n")
    {'lookup': ToolPolicies(timeout_s=5.0)}
    """
    top, faults = read(source)
    policies = read_policies(Spot(top), faults, KEYS[Dialect.SCXML.value])
    faults.check()
    return policies


class _Building(HandingOn):
    """The builder of a chart's graph."""

    def __init__(
        self, chart: ChartForm, bindings: Bindings, faults: Faults, context: type[AgentContext] | None
    ) -> None:
        super().__init__(chart, bindings, faults)
        self.given = context
        self.parts = HandoffParser(faults, chart.dialect, KEYS[chart.dialect.value])
        self.is_xstate = chart.dialect is Dialect.XSTATE
        self.places["entry_points"] = _entry_points(chart.root.spot)
        if chart.searchable:
            where = chart.root.spot.get("searchable")
            self.places |= {f"searchable {each!r}": where for each in chart.searchable if where is not None}
        self.events = ChartEvents(chart, self.names, faults)

    def graph(
        self, entry_points: Sequence[EntryPoint | Name] | None, migrations: Iterable[Migration] | Migration
    ) -> AnyGraph:
        """Return the graph. Raises InvalidChartError if anything is wrong with the chart."""
        root = self.chart.root
        doors = [self.entry_point(entry) for entry in self.chart.entry_points]
        states = [self.state(each) for each in root.states]
        given = [*doors, *self.beginning(states)] if entry_points is None else entry_points
        parts: dict[str, Any] = {
            "version": self.chart.version,
            "context": self.context(),
            "states": states,
            "transitions": [transition for state in (root, *root.walk()) for transition in self.transitions(state)],
            "entry_points": given,
            "initial": self.initial(root, root),
            "on_refusal": OnRefusal(self.chart.on_refusal),
            "description": self.chart.description,
            "max_microsteps": self.chart.max_microsteps,
            "migrations": migrations,
            "accepts": self.accepts(),
            "events": [self.event_type(event) for event in self.chart.events],
            "events_closed": self.chart.events_closed,
            "searchable": self.chart.searchable,
            "tools": self.chart.tools,
            "signals": self.signals(self.chart.signals, "signals"),
            "escape": self.escape(root, "escape"),
            "profile": self.chart.profile,
            "precedence": Precedence(self.chart.precedence),
            "allow": list(self.allowances(gone={*map(_place, doors)} - {*map(_place, given)})),
        }
        try:
            graph = StateTransitionGraph(self.chart.name, **parts)
        except InvalidGraphError as error:
            self.note(error)
            raise self.faults.error() from error
        self.faults.check()
        return graph

    def beginning(self, states: Sequence[State[Any]]) -> Iterator[EntryPoint]:
        """Yield the entry point of an XState machine that lists none."""
        root = self.chart.root
        if not self.is_xstate or root.spot.get("entry_points") is not None:
            return
        machine = root if root.key else root.states[0]  # as `xstate.wrapped` returns it
        if machine.initial is not None or machine.parallel or not machine.states:
            yield beginning(self.initial(machine, machine), states)
            return
        problem = "no entry point is listed and the machine has no `initial`, so no agent could start"
        self.faults.add(self.places["entry_points"], problem, "write one of the two, or pass load(entry_points=[...])")

    def note(self, error: InvalidGraphError) -> None:
        """Add the graph's faults at their positions, unless a fault is already known there."""
        known = Faults(self.faults.file)
        known.found = list(self.faults.found)
        for fault in error.faults:
            fitting = (place for place in self.places if fault.place == place or fault.place.startswith(f"{place},"))
            place = max(fitting, key=len, default="")
            spot = self.places.get(place, self.chart.root.spot)
            if not place or not _is_consequence(fault, spot, known):
                problem = fault.problem if place == fault.place else f"{fault.place}: {fault.problem}"
                self.faults.add(spot, in_keys(problem), in_keys(fault.remedy))

    def context(self) -> type[AgentContext]:
        """Return the type of the context."""
        if self.chart.context is not None:
            self.places["context"] = self.chart.context.spot
        return context_type(self.chart.context, self.given, self.bindings, self.faults)

    def allowances(self, gone: Collection[str]) -> Iterator[Allow]:
        """Yield the allowances. gone: places of the file that the graph lacks."""
        codes = tuple(rule.code for rule in RULES)
        for index, each in enumerate(allowance for allowance in self.chart.allow if allowance.place not in gone):
            self.places[f"allow[{index}]"] = each.spot
            for key in ("code", "place", "reason"):
                self.places[f"allow[{index}], {key}"] = each.spot.get(key) or each.spot
            code = each.spot.get("code")
            if code is not None and each.code not in codes and not self.faults.touches(code):
                self.faults.add(code, f"unknown code {each.code!r}", suggestion(each.code, codes))
            yield Allow(each.code, each.place, each.reason)

    def state(self, form: StateForm) -> State[Any]:
        """Return a state with everything inside it."""
        name = self.names.names[form]
        self.places.setdefault(f"state {name!r}", form.spot)
        return State(
            name,
            on_entry=self.actions(form.entry),
            on_exit=self.actions(form.exit),
            after=dict(self.after(each, form) for each in form.after),
            every=self.every(form),
            invoke=[self.invoke(each, id_) for each, id_ in zip(form.invoke, self.events.ids[form], strict=True)],
            states=[self.state(state) for state in form.states],
            initial=self.history_default(form) if form.history else self.initial(form, form),
            parallel=form.parallel,
            final=form.final,
            failed=form.failed,
            data=self.data(form),
            history=form.history,
            defer=form.defer,
            transfers=TransfersBuilder(self).transfers(form),
            tools=form.tools,
            progress=form.progress,
            expects=form.expects,
            checkpoint=form.checkpoint,
            escape=self.escape(form, f"state {name!r}, escape"),
            description=form.description,
        )

    def initial(self, form: StateForm, inside: StateForm) -> Initial | None:
        """Return the initial state of a state. inside: the state whose children its targets name."""
        if form.initial is None:
            return None
        targets = [self.names.inside(target, inside) for target in form.initial.targets]
        return Initial(targets, actions=self.actions(form.initial.actions))

    def history_default(self, form: StateForm) -> Initial | None:
        """Return the default of a history state that remembers nothing; in XState, the initial state of its parent."""
        parent = self.names.parents[form]
        if form.initial is not None or not self.is_xstate:
            return self.initial(form, parent)
        children = [child for child in parent.states if child.history is None]
        regions = children if parent.parallel else children[:1]
        own = Initial([self.names.names[child] for child in regions]) if regions else None
        return self.initial(parent, parent) or own

    def data(self, form: StateForm) -> Callable[..., Any] | None:
        """Return the data of a final state."""
        if form.data is None:
            return None
        return Fixed(form.data.values) if isinstance(form.data, Values) else self.bindings.function(form.data, "data")

    def after(self, after: AfterForm, form: StateForm) -> tuple[Delay, list[Then]]:
        """Return a delay with its transitions; in XState, it may be a name that is bound to milliseconds."""
        delay: Delay = after.delay
        bound = self.bindings.value(after.delay) if self.is_xstate else None
        if isinstance(bound, timedelta | str):
            delay = bound
        elif isinstance(bound, int | float):
            delay = f"{bound:g}ms"
        if seconds_of(delay) is None:
            forms = f"{DELAY_TEXTS}, or bind it to a number of milliseconds" if self.is_xstate else DELAY_FORMS
            self.faults.add(after.spot, f"{delay!r} is not a duration", f"write {forms}")
            delay = "0s"
        event = after_event(self.names.names[form], delay_text(delay))
        return delay, [self.then(each, form, event) for each in after.then]

    def every(self, form: StateForm) -> dict[Delay | Every, list[Then]]:
        """Return recurrences with their transitions; transitions of a faulty recurrence are only checked for faults."""
        recurrences: dict[Delay | Every, list[Then]] = {}
        for each in form.every:
            event = recurring_event(self.names.names[form], each.every or Every("1d"))
            then = [self.then(each, form, event) for each in each.then]
            if each.every is not None:
                recurrences.setdefault(each.every, []).extend(then)
        return recurrences

    def then(self, then: ThenForm, form: StateForm, event: str) -> Then:
        """Return a delayed or recurring transition. event: its name, for the label."""
        targets, internal = self.aim(then, form)
        label = Transition(self.names.names[form], event, targets).label
        self.places.setdefault(f"transition {label!r}", then.spot)
        guard = self.bindings.guard(then.guard)
        return Then(targets, guard=guard, actions=self.actions(then.actions), internal=internal)

    def aim(self, then: ThenForm, form: StateForm) -> tuple[list[str] | None, bool]:
        """Return the targets, and whether the source stays: if `internal`; in XState, if it can, unless `reenter`."""
        targets = [self.names.target(each, form) for each in then.targets]
        if not self.is_xstate or not targets or form is self.chart.root:
            return targets or None, then.internal
        stays = not then.reenter and all(self.names.is_inside(target, form) for target in targets)
        if not stays:
            self.note_also_left(then, form, targets)
        return targets, not then.reenter and all(self.names.may_be_inside(target, form) for target in targets)

    def note_also_left(self, then: ThenForm, form: StateForm, targets: Sequence[str]) -> None:
        """Add a fault for a transition between regions that XState would take differently."""
        states = [form, *(self.names.named[target] for target in targets if target in self.names.named)]
        if len(states) <= len(targets):  # one is missing, which is already recorded
            return
        left = xstate.also_left([self.names.outside(state) for state in states])
        if left:
            self.faults.add(then.spot, *xstate.stays_there(left, self.names.names[left[0]]))

    def signals(self, spot: Spot | None, place: str) -> Signals | None:
        """Return the signals of the chart or of an entry point; None if none are declared."""
        if spot is None:
            return None
        self.places[place] = spot
        names = Named(lambda each: self.names.target(each, self.chart.root), self.optional_function, self.handoff)
        return SignalReader(self.parts, names).signals(spot)

    def escape(self, form: StateForm, place: str) -> EscapePlan | None:
        """Return the escape plan of the chart or of a state; None if it has none."""
        if form.escape is None:
            return None
        return EscapeReader(self.parts, self).plan(form.escape, place)

    def accepts(self) -> Accepts:
        """Return the handoffs that agents of the graph accept."""
        form = self.chart.accepts
        if form is None:
            return Accepts()
        self.places["accepts"] = form.spot
        return Accepts(form.capacity, self.optional_function(form.policy))

    def transitions(self, form: StateForm) -> Iterator[Transition[Any]]:
        """Yield the transitions of a state, in the order of evaluation."""
        source = self.names.names[form]
        for each, event in self.events.of(form):
            targets, internal = self.aim(each.then, form)
            guard = self.bindings.guard(each.then.guard)
            exceptions = self.events.not_taken(event)
            transition = Transition(
                source,
                event,
                targets,
                guard=Except(exceptions, guard) if exceptions else guard,
                actions=self.actions(each.then.actions),
                internal=internal,
                description=each.then.description,
            )
            self.places.setdefault(f"transition {transition.label!r}", each.then.spot)
            yield transition

    def maps(self, entry: EntryForm) -> Mapping[str, str] | Callable[..., Any] | None:
        """Return the payload's mapping to fields of the context."""
        if isinstance(entry.maps, Reference):
            return self.bindings.function(entry.maps, "function")
        return None if entry.maps is None else dict(entry.maps.values)

    def event_type(self, form: EventTypeForm) -> EventType:
        """Return a declared event."""
        self.places.setdefault(f"event {form.name!r}", form.spot)
        takes: Any = form.takes
        if isinstance(takes, Values):
            takes = takes.values
        elif takes is not None:
            takes = self.bindings.type(takes, BaseModel)
        return EventType(form.name, takes=takes, description=form.description)

    def entry_point(self, entry: EntryForm) -> EntryPoint:
        """Return an entry point of the graph."""
        is_root = entry.state.node.text == ANY
        state = ANY if is_root else self.names.inside(entry.state, self.names.machine)
        takes = None if entry.takes is None else self.bindings.type(entry.takes, BaseModel)
        built = EntryPoint(
            state,
            entry.name,
            opens_on=entry.opens_on,
            takes=takes,
            maps=self.maps(entry),
            entities=entry.entities,
            guard=self.bindings.guard(entry.guard),
            description=entry.description,
            signals=self.signals(entry.signals, f"entry point {entry.name or state!r}, signals"),
            profile=entry.profile,
        )
        self.places.setdefault(f"entry point {built.name!r}", entry.spot)
        for trigger in entry.opens_on:
            self.places[f"trigger {trigger!r}"] = entry.spot
        return built


def _place(door: EntryPoint | Name) -> str:
    return f"entry point {door.name if isinstance(door, EntryPoint) else name_of(door)!r}"


def _is_consequence(fault: Fault, spot: Spot, known: Faults) -> bool:
    """Return whether a fault of the graph only follows from a known fault at the position."""
    if fault.place.startswith("state") and "initial" not in fault.problem:
        return any(each.path == spot.path for each in known.found)
    return known.touches(spot)


def _entry_points(chart: Spot) -> Spot:
    """Return the position of a chart's entry points, or where they would be."""
    return chart.get("entry_points") or chart.key("entry_points")
