"""Write a graph as a chart. `load` builds the same graph from it, given its functions and types by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import groupby
from typing import Any, Literal

from gatechart.chartfiles.built_in import BuiltIn
from gatechart.chartfiles.cel.guard import Cel
from gatechart.chartfiles.contexts import InitialContext, initial_values
from gatechart.chartfiles.model import Except, Fixed
from gatechart.chartfiles.selections import written_best
from gatechart.chartfiles.writing import delay_data, one_or_many, state_reference, without_blanks
from gatechart.chartfiles.yaml_text import write_yaml
from gatechart.context import AgentContext
from gatechart.errors.definition import FileFault, InvalidChartError
from gatechart.escape.chart import written_escape
from gatechart.graph.callables import callable_name
from gatechart.graph.compile import ROOT
from gatechart.graph.definition import ANY, EntryPoint, Initial, Invoke, OnRefusal, Precedence, State, Then, Transition
from gatechart.graph.escape import EscapePlan
from gatechart.graph.events import EventType
from gatechart.graph.graph import AnyGraph
from gatechart.graph.handoff import Accepts, Fallback, Fallbacks, Handoff, Human, OtherGraph, SameTarget
from gatechart.graph.payload_schema import JsonSchema
from gatechart.graph.selection import Best
from gatechart.graph.signals import Signals
from gatechart.selection.chart import written_profile
from gatechart.signals.chart import written_signals
from gatechart.tools.chart import written_policies
from gatechart.transfers.chart import written_transfers
from gatechart.values.delays import Retry, delay_text
from gatechart.values.handoffs import Mode
from gatechart.values.profiles import Profile
from gatechart.values.recurrence import Every


def dump(graph: AnyGraph, *, format: Literal["yaml", "json"] = "yaml") -> str:  # noqa: A002
    """Write a graph as a chart, in YAML or JSON, with a line break at its end.

    Raises InvalidChartError if a chart cannot hold the graph: two functions have one name, or parameters are not JSON.
    """
    dumping = _Dumping(graph)
    chart = dumping.chart()
    if dumping.faults:
        raise InvalidChartError(f"of {graph.name!r}", tuple(dumping.faults))
    return f"{json.dumps(chart, indent=2, ensure_ascii=False)}\n" if format == "json" else write_yaml(chart)


def bindings_of(graph: AnyGraph) -> Mapping[str, Any]:
    """Return the functions and types of a graph by their names in its dump: the `bind` argument of `load`."""
    dumping = _Dumping(graph)
    dumping.chart()
    return dumping.bound


class _Dumping:
    """The writer of one graph. It collects all functions and types."""

    def __init__(self, graph: AnyGraph) -> None:
        self.graph = graph
        self.bound: dict[str, Any] = {}
        self.faults: list[FileFault] = []

    def chart(self) -> dict[str, Any]:
        """Return the whole chart."""
        graph = self.graph
        return (
            {"id": graph.name, "version": graph.version}
            | _profile(graph.profile)
            | without_blanks(
                description=graph.description,
                context=self.context(graph.context),
                on_refusal="" if graph.on_refusal is OnRefusal.RETURN else graph.on_refusal.value,
                precedence="" if graph.precedence is Precedence.SPECIFIC else graph.precedence.value,
                max_microsteps=None if graph.max_microsteps == 100 else graph.max_microsteps,
                accepts=self.accepts(graph.accepts),
                events={event_type.name: self.event_type(event_type) for event_type in graph.event_types.values()},
                events_closed=graph.events_closed,
                searchable=list(graph.searchable),
                tools=written_policies(graph.tools),
                signals=self.signals(graph.signals),
                escape=self.escape(graph.escape),
                allow=[{"code": each.code, "place": each.place, "reason": each.reason} for each in graph.allow],
                entry_points=[self.entry_point(entry) for entry in graph.entry_points.values()],
                initial=self.root_initial(),
                **self.transitions(ANY),
                states={state.name: self.state(state) for state in graph.tree if state.name not in graph.escape_states},
            )
        )

    def root_initial(self) -> Any:
        """Return the initial state of the graph, unless it is the first state."""
        default = self.graph.nodes[ROOT].default
        first = next((state.name for state in self.graph.tree if state.history is None), None)
        if default is None or (default.targets == (first,) and not default.steps):
            return None
        return self.initial(Initial(default.targets, actions=[step.function for step in default.steps]))

    def context(self, context: type[AgentContext]) -> Any:
        """Return the name of a type, or its initial values; nothing for the type without fields."""
        if issubclass(context, InitialContext):
            return self.json(initial_values(context), "context") or None
        return "" if context is AgentContext else self.name(context.__name__, context)

    def state(self, state: State[Any]) -> dict[str, Any]:
        """Return a state with everything inside it."""
        is_history = state.history is not None
        is_leaf = state.final and not state.states
        kind = "history" if is_history else "final" if is_leaf else "parallel" if state.parallel else ""
        default = state.initial if is_history else None
        return without_blanks(
            type=kind,
            failed=state.failed,
            final=state.final and not is_leaf,
            history=state.history.value if state.history else "",
            description=state.description,
            target=one_or_many(map(state_reference, default.targets)) if default else None,
            actions=self.functions(default.actions) if default else None,
            initial=None if is_history or state.initial is None else self.initial(state.initial),
            entry=self.functions(state.on_entry),
            exit=self.functions(state.on_exit),
            defer=one_or_many(state.defer),
            tools=written_policies(dict(state.tools)),
            invoke=[self.invoke(invoke) for invoke in state.invoke],
            data=self.data(state),
            progress=state.progress,
            expects=delay_data(state.expects),
            checkpoint=state.checkpoint,
            escape=self.escape(state.escape),
            transfers=None if state.transfers is None else written_transfers(state.transfers, self),
            **self.transitions(state.name),
            after=self.after(state),
            every=self.every(state),
            states={child.name: self.state(child) for child in state.states},
        )

    def initial(self, initial: Initial) -> Any:
        """Return the initial state of a compound state."""
        targets = one_or_many(map(state_reference, initial.targets))
        return {"target": targets, "actions": self.functions(initial.actions)} if initial.actions else targets

    def transitions(self, source: str) -> dict[str, Any]:
        """Return transitions under `on` and `always`, or as a list if that would change their order."""
        own = [transition for transition in self.graph.transitions if transition.source == source]
        grouped = [(event, list(some)) for event, some in groupby(own, key=lambda each: each.event)]
        events = [event for event, _ in grouped]
        if len(set(events)) < len(events) or None in events[1:-1]:
            return {"on": [{"event": each.event, **self.transition(each)} for each in own]}
        keys: dict[str, Any] = {}
        for event, some in grouped:
            transitions = _alone([self.transition(each) for each in some])
            if event is None:
                keys["always"] = transitions
            else:
                keys.setdefault("on", {})[event] = transitions
        return keys

    def transition(self, each: Transition[Any] | Then) -> dict[str, Any]:
        """Return a transition without its event."""
        return without_blanks(
            target=one_or_many(map(state_reference, each.targets)),
            guard=None if each.guard is None else self.guard(each.guard),
            actions=self.functions(each.actions),
            internal=each.internal,
            description=getattr(each, "description", ""),
        )

    def after(self, state: State[Any]) -> dict[str, Any]:
        """Return the delays with their transitions."""
        delays: dict[str, Any] = {}
        for after in state.after:
            if after.delay in delays:
                self.fault(f"state {state.name!r} waits twice for {after.delay!r}", "put both into one delay")
            delays[after.delay] = [self.transition(each) for each in after.then]
        return delays

    def every(self, state: State[Any]) -> Any:
        """Return transitions by period, or recurrences with one transition each if one has more than a period."""
        each = [(recurring.every, [self.transition(then) for then in recurring.then]) for recurring in state.every]
        if all(every == Every(every.period) for every, _ in each):
            return {delay_text(every.period or 0): then for every, then in each}
        return [{**_recurrence(every), **then} for every, several in each for then in several]

    def invoke(self, invoke: Invoke) -> Any:
        """Return the invoke of a function or of an agent."""
        if invoke.function is None:
            return self.agent(invoke)
        function = self.function(invoke.function)
        name, params = (function["type"], function["params"]) if isinstance(function, dict) else (function, None)
        own_id = "" if invoke.id == name else invoke.id
        retry = {} if invoke.retry is None else {"retry": _non_defaults(invoke.retry, Retry())}
        return {"src": name, **without_blanks(id=own_id, params=params, timeout_s=invoke.timeout_s), **retry}

    def agent(self, invoke: Invoke) -> dict[str, Any]:
        """Return the invoke of an agent."""
        best = invoke.agent if isinstance(invoke.agent, Best) else None
        usual_id = invoke.agent if best is None else best.name
        return {
            **({"agent": invoke.agent, "at": invoke.at} if best is None else self.best(best)),
            **without_blanks(
                id="" if invoke.id == usual_id else invoke.id,
                timeout_s=invoke.timeout_s,
                packet=self.optional_function(invoke.packet),
            ),
            **self.fallbacks(invoke.fallbacks),
        }

    def handoff(self, handoff: Handoff) -> dict[str, Any]:
        """Return the action that offers a handoff."""
        packet, agent, achieved = handoff.functions
        target = {"to": handoff.to, "at": handoff.at} if handoff.best is None else self.best(handoff.best)
        return {
            **target,
            **without_blanks(
                mode="" if handoff.mode is Mode.TRANSFER else handoff.mode.value,
                reason="" if handoff.reason is None else handoff.reason.value,
                deadline=delay_data(handoff.deadline),
                packet=self.optional_function(packet),
                agent=self.optional_function(agent),
                achieved=self.optional_function(achieved),
            ),
            **self.fallbacks(handoff.fallbacks),
            **({} if handoff.transcript else {"transcript": False}),
        }

    def best(self, best: Best) -> dict[str, Any]:
        """Return the selection of a target."""
        try:
            return {"best": written_best(best, self.function)}
        except ValueError as error:
            self.fault(str(error), "give it a unique name")
            return {}

    def fallbacks(self, fallbacks: Fallbacks | None) -> dict[str, Any]:
        """Return the fallbacks for a rejected offer."""
        return {} if fallbacks is None else {"fallbacks": [self.fallback(step) for step in fallbacks.steps]}

    def fallback(self, step: Fallback) -> dict[str, Any]:
        """Return a fallback without defaults."""
        match step:
            case Best():
                return self.best(step)
            case SameTarget():
                return {"same_target": _non_defaults(step, SameTarget())}
            case Human(graph, at, agent):
                return {"human": graph, "at": at, **without_blanks(agent=agent)}
            case OtherGraph(graph, at, agent):
                return {"other_graph": graph, "at": at, **without_blanks(agent=agent)}

    def optional_function(self, function: Callable[..., Any] | None) -> Any:
        """Return the name of a function, if there is one."""
        return None if function is None else self.function(function)

    def accepts(self, accepts: Accepts) -> dict[str, Any]:
        """Return the limits for accepted handoffs; nothing if all are accepted."""
        return without_blanks(capacity=accepts.capacity, policy=self.optional_function(accepts.policy))

    def data(self, state: State[Any]) -> Any:
        """Return the data of a final state."""
        if isinstance(state.data, Fixed):
            return {"value": self.json(state.data.values, f"state {state.name!r}")}
        return None if state.data is None else self.function(state.data)

    def entry_point(self, entry: EntryPoint) -> Any:
        """Return an entry point; only its state's name if that is enough."""
        maps: Any = self.function(entry.maps) if callable(entry.maps) else entry.maps and dict(entry.maps)
        more = without_blanks(
            name="" if entry.name == entry.state else entry.name,
            opens_on=list(entry.opens_on),
            takes=self.name(entry.takes.__name__, entry.takes) if entry.takes else "",
            entities=list(entry.entities),
            guard=None if entry.guard is None else self.guard(entry.guard),
            description=entry.description,
            signals=self.signals(entry.signals),
        )
        if maps is not None:
            more["maps"] = maps
        more |= _profile(entry.profile)
        state = ANY if entry.state == ANY else state_reference(entry.state)
        return {"state": state, **more} if more else state

    def signals(self, signals: Signals | None) -> Any:
        """Return the signals of the graph or of an entry point; None if none are declared."""
        if signals is None:
            return None
        try:
            return written_signals(signals, self.handoff, self.function)
        except ValueError as error:
            self.fault(str(error), "declare it in code")
            return None

    def escape(self, plan: EscapePlan | None) -> Any:
        """Return an escape plan, if there is one."""
        if plan is None:
            return None
        try:
            return written_escape(plan, self)
        except ValueError as error:
            self.fault(str(error), "give it a unique name")
            return None

    def event_type(self, declared: EventType) -> dict[str, Any] | None:
        """Return a declared event without its name; None if it has no other fields."""
        takes: Any = declared.takes
        if isinstance(takes, JsonSchema):
            takes = takes.plain
        elif takes is not None:
            takes = self.name(takes.__name__, takes)
        return without_blanks(takes=takes, description=declared.description) or None

    def guard(self, guard: Callable[..., Any]) -> Any:
        """Return a guard: a name, an expression, or another guard with exceptions."""
        if isinstance(guard, Cel):
            return {"cel": guard.expression}
        if isinstance(guard, Except):
            inner = {} if guard.guard is None else {"guard": self.guard(guard.guard)}
            return {"except": list(guard.events), **inner}
        return self.function(guard)

    def functions(self, functions: Iterable[Callable[..., Any]]) -> list[Any]:
        """Return the names of several functions, built-in actions and handoffs."""
        return [self.action(function) for function in functions]

    def action(self, function: Callable[..., Any]) -> Any:
        """Return one action."""
        if isinstance(function, BuiltIn):
            return function.source
        return {"handoff": self.handoff(function)} if isinstance(function, Handoff) else self.function(function)

    def function(self, function: Callable[..., Any]) -> Any:
        """Return the name of a function, with the parameters that are already bound to it."""
        params: dict[str, Any] = {}
        while isinstance(function, partial):
            if function.args:
                self.fault(f"{callable_name(function)} has bound positional arguments", "bind them by keyword")
            params = {**function.keywords, **params}
            function = function.func
        name = self.name(callable_name(function), function)
        return {"type": name, "params": self.json(params, name)} if params else name

    def name(self, name: str, meaning: object) -> str:
        """Return the name. A name with two meanings is a fault."""
        if self.bound.setdefault(name, meaning) != meaning:
            self.fault(f"{name!r} is the name of more than one function or type", "give each a unique name")
        return name

    def json(self, values: Mapping[str, Any], place: str) -> dict[str, Any]:
        """Return the values; add a fault if JSON cannot hold them as they are."""
        try:
            plain = json.loads(json.dumps(values, allow_nan=False))
        except (TypeError, ValueError):
            plain = None
        if plain != values:
            self.fault(f"{place} has values that JSON cannot hold", "use texts, numbers, lists and mappings")
        return dict(values)

    def fault(self, problem: str, remedy: str) -> None:
        """Add a fault about a part that cannot be written. It has no position in a file."""
        self.faults.append(FileFault(1, 1, (), problem, remedy))


def _profile(profile: Profile | None) -> dict[str, Any]:
    return {} if profile is None else {"profile": written_profile(profile)}


def _recurrence(every: Every) -> dict[str, Any]:
    return _non_defaults(replace(every, period=delay_data(every.period)), Every())


def _non_defaults(value: Retry | Every, usual: Retry | Every) -> dict[str, Any]:
    """Return the fields of a retry or a recurrence that differ from the defaults."""
    field_values = {field_.name: getattr(value, field_.name) for field_ in fields(value)}
    return {name: value for name, value in field_values.items() if value != getattr(usual, name)}


def _alone(transitions: Sequence[dict[str, Any]]) -> Any:
    """Return a single transition without its list, and a single target without its mapping."""
    if len(transitions) > 1:
        return list(transitions)
    only = transitions[0]
    return only["target"] if only.keys() == {"target"} and isinstance(only["target"], str) else only
