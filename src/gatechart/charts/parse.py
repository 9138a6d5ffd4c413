"""From nodes to forms: check that every part of a chart has the right shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, cast, get_args

from gatechart.chartfiles import former_keys, xstate
from gatechart.chartfiles.faults import Faults, Fields, FileNode, Spot, kind_of, text_of
from gatechart.chartfiles.model import (
    AfterForm,
    ChartForm,
    Dialect,
    EventForm,
    EveryForm,
    InitialForm,
    StateForm,
    ThenForm,
    TransitionForm,
)
from gatechart.chartfiles.parts import without
from gatechart.charts.entry_points import EntryPointParser
from gatechart.charts.schema import KEYS
from gatechart.graph.definition import OnRefusal, Precedence
from gatechart.selection.chart import read_profile
from gatechart.tools.chart import read_policies
from gatechart.transfers.chart import transfers_form
from gatechart.values.recurrence import Every, Missed

_NUMBER: Final = re.compile(r"\d+(\.\d+)?")
_OF_HISTORY: Final = ("history", "target", "actions")
_OF_RECURRENCE: Final = ("period", "cron")
_USUAL: Final = Every()
_KINDS: Final = ("atomic", "compound", "parallel", "final", "history")


def read_chart(top: FileNode, faults: Faults, dialect: Dialect | None = None) -> ChartForm:
    """Parse a chart into its form. dialect: overrides the file's dialect, unless None."""
    spot = Spot(top)
    if not spot.is_mapping:
        raise faults.stop(top.line, top.column, f"expected a chart, found {kind_of(spot)}", "write `id: ...`")
    dialect_name = Fields(spot, faults).choice("dialect", tuple(KEYS), Dialect.SCXML.value)
    dialect = dialect or Dialect(dialect_name)
    return _Shape(faults, dialect, KEYS[dialect.value]).chart(spot)


class _Shape(EntryPointParser):
    """The parser of a whole chart, its states and transitions."""

    def chart(self, spot: Spot) -> ChartForm:
        """Return the form of the whole file."""
        if self.is_xstate and xstate.is_definition(spot):
            raise self.faults.stop(spot.node.line, spot.node.column, *xstate.TO_JSON)
        fields = Fields(spot, self.faults, self.known["chart"])
        spot = fields.spot = self.filled(spot)
        if self.is_xstate:
            spot = self.machine(spot)
        else:
            fields.needs("id", "write `id:` with the name of the graph")
        choices = tuple(choice.value for choice in OnRefusal)
        limit = fields.number("max_microsteps")
        return ChartForm(
            root=self.state(spot, fields.text("id", "(machine)"), known="chart"),
            dialect=self.dialect,
            name=fields.text("id", "(machine)"),
            version=fields.text("version", "1"),
            context=self.context(spot.get("context")),
            entry_points=tuple(self.entry_points(spot.get("entry_points"))),
            on_refusal=fields.choice("on_refusal", choices, OnRefusal.RETURN.value),
            max_microsteps=100 if limit is None else int(limit),
            allow=tuple(self.allowances(spot.get("allow"))),
            accepts=self.accepts(spot.get("accepts")),
            events=tuple(self.event_types(spot.get("events"))),
            events_closed=fields.flag("events_closed"),
            searchable=fields.texts("searchable"),
            tools=read_policies(spot.get("tools"), self.faults, self.known),
            description=fields.text("description"),
            signals=None if self.is_xstate else spot.get("signals"),
            profile=None if self.is_xstate else read_profile(spot.get("profile"), self.faults),
            precedence=self.precedence(fields),
        )

    def precedence(self, fields: Fields) -> str:
        """Return the precedence of transitions. A machine of XState always has its own."""
        if self.is_xstate:
            return Precedence.XSTATE.value
        choices = tuple(choice.value for choice in Precedence)
        return fields.choice("precedence", choices, Precedence.SPECIFIC.value)

    def machine(self, spot: Spot) -> Spot:
        """Drop the keys that would follow the end of an XState machine, with a fault for each."""
        if spot.get("onDone") is not None:
            self.faults.add(spot.key("onDone"), *xstate.NOTHING_AFTER_THE_END)
        kind = spot.get("type")
        if kind is not None and kind.value == "parallel":
            spot = self.without_output(spot)
        if kind is None or kind.value not in ("final", "history"):
            return without(spot, ["onDone"])
        self.faults.add(kind, f"a machine cannot be a {kind.value} state", "drop it")
        return without(spot, ["onDone", "type"])

    def without_output(self, spot: Spot) -> Spot:
        """Drop the output of a parallel machine, with a fault."""
        given = [key for key in ("output", "data") if spot.get(key) is not None]
        for key in given:
            self.faults.add(spot.key(key), *xstate.NO_PARALLEL_OUTPUT)
        return without(spot, given)

    def state(self, spot: Spot, key: str, known: str = "state") -> StateForm:
        """Return the form of a state, or of the chart as the outermost one."""
        if spot.value is None:  # `IDLE:` without a value
            return StateForm(spot, key)
        fields = Fields(spot, self.faults, self.known[known] if known == "state" else None)
        spot = fields.spot = self.filled(spot)
        kind = fields.choice("type", _KINDS, "history" if self.is_history(spot) else "compound")
        is_history = kind == "history"
        self.misplaced(spot, kind)
        return StateForm(
            spot=spot,
            key=key,
            id=spot.get("id"),
            parallel=kind == "parallel",
            final=kind == "final" or fields.flag("final"),
            failed=self.failed(fields),
            history=self.recall(fields) if is_history else None,
            initial=self.default_of(spot) if is_history else self.initial(spot.get("initial")),
            entry=self.actions(fields, "entry"),
            exit=self.actions(fields, "exit"),
            defer=() if self.is_xstate else fields.texts("defer"),
            tools={} if known == "chart" else read_policies(spot.get("tools"), self.faults, self.known),
            transitions=tuple(self.transitions(spot)),
            after=tuple(self.after(spot.get("after"))),
            every=() if self.is_xstate else tuple(self.recurring(spot.get("every"))),
            invoke=tuple(self.invoke(value) for value in fields.values("invoke")),
            states=tuple(self.states(spot.get("states"))),
            data=self.data(spot.get("data")) or self.output(spot.get("output")),
            description=fields.text("description"),
            transfers=None if self.is_xstate else transfers_form(self, spot.get("transfers")),
            progress=not self.is_xstate and fields.flag("progress"),
            expects=None if self.is_xstate else self.delay(spot.get("expects")),
            checkpoint=not self.is_xstate and fields.flag("checkpoint"),
            escape=None if self.is_xstate else spot.get("escape"),
        )

    def is_history(self, spot: Spot) -> bool:
        """Return whether it is a history state without a `type`: in XState, `history` alone makes it one."""
        recall = spot.get("history")
        return self.is_xstate and recall is not None and recall.value is not False and spot.get("states") is None

    def recall(self, fields: Fields) -> str:
        """Return the depth of a history state; XState also has true, for shallow."""
        recall = fields.spot.get("history")
        if self.is_xstate and recall is not None and recall.value is True:
            return "shallow"
        return fields.choice("history", ("shallow", "deep"), "shallow")

    def misplaced(self, spot: Spot, kind: str) -> None:
        """Add a fault for each key that only a state of another kind can have."""
        for key, value in spot.items():
            if key in _OF_HISTORY and kind != "history" and not (self.is_xstate and value.value is False):
                self.faults.add(
                    spot.key(key), f"{key!r} belongs to a history state", "write `type: history`, or drop it"
                )
            if key == "initial" and kind == "history":
                self.faults.add(spot.key(key), "a history state has a target", "write `target:`")
        children = spot.get("states")
        if kind == "atomic" and children is not None and children.value:
            self.faults.add(children, "an atomic state has no states", "drop `type: atomic`")

    def failed(self, fields: Fields) -> bool:
        """Return whether an agent that ends in the state has failed; in XState, `meta.gatechart` declares it."""
        if not self.is_xstate:
            return fields.flag("failed")
        meta = fields.spot.get("meta")
        own = None if meta is None else meta.get("gatechart")
        return own is not None and Fields(own, self.faults, self.known["own"]).flag("failed")

    def states(self, spot: Spot | None) -> Iterator[StateForm]:
        """Yield the states under their keys."""
        if spot is not None:
            Fields(spot, self.faults)
            for key, body in spot.items():
                yield self.state(body, key)

    def initial(self, spot: Spot | None) -> InitialForm | None:
        """Return the initial state, or a target with actions."""
        if spot is None:
            return None
        if not spot.is_mapping:
            return InitialForm(spot, self.targets(spot))
        fields = Fields(spot, self.faults, self.known["initial"])
        target = fields.needs("target", "name the state to start in")
        return InitialForm(spot, self.targets(target), self.actions(fields, "actions"))

    def default_of(self, spot: Spot) -> InitialForm | None:
        """Return the default target of a history state, used while it remembers nothing."""
        target = spot.get("target")
        actions = self.actions(Fields(spot, self.faults), "actions")
        return None if target is None else InitialForm(target, self.targets(target), actions)

    def transitions(self, spot: Spot) -> Iterator[TransitionForm]:
        """Yield all transitions of a state except delayed ones, in the order of the file."""
        for key, value in spot.items():
            if key == "on":
                yield from self.on(value)
            elif key == "always":
                yield from self.transitions_of(EventForm(value, None), value)
            elif key == "onDone":
                yield from self.transitions_of(EventForm(value, f"done.state.{spot.path[-1:]}", is_done=True), value)
            elif key == "invoke":
                for index, invoke in enumerate(value.elements()):
                    yield from self.ends(invoke, index)

    def on(self, spot: Spot) -> Iterator[TransitionForm]:
        """Yield transitions by event, or from a list whose items name their events."""
        if not spot.is_list:
            Fields(spot, self.faults)
            for event, value in spot.items():
                if event == "" and self.is_xstate:
                    self.faults.add(spot.key(event), "XState 5 has no event without a name", former_keys.ALWAYS)
                    continue
                yield from self.transitions_of(EventForm(spot.key(event), event), value)
            return
        for element in spot.elements():
            fields = Fields(element, self.faults, self.known["listed"])
            event_spot = fields.needs("event", "name the event, or write null for a transition without one")
            if event_spot is not None:
                name = None if event_spot.value is None else text_of(event_spot, self.faults)
                yield TransitionForm(EventForm(event_spot, name), self.then(element, known="listed"))

    def transitions_of(self, event: EventForm, spot: Spot) -> Iterator[TransitionForm]:
        """Yield the transitions of one event: a target, a transition, or a list of either."""
        for element in spot.elements():
            yield TransitionForm(event, self.then(element))

    def then(self, spot: Spot, known: str = "transition") -> ThenForm:
        """Return a transition, or a transition that is only a target."""
        if not spot.is_mapping and (spot.value is not None or not self.is_xstate):
            return ThenForm(spot, self.targets(spot))
        if spot.value is None:
            return ThenForm(spot)
        fields = Fields(spot, self.faults, self.known[known])
        spot = fields.spot = self.filled(spot)
        return ThenForm(
            spot=spot,
            targets=self.targets(spot.get("target")),
            guard=self.guard(spot.get("guard")),
            actions=self.actions(fields, "actions"),
            internal=fields.flag("internal"),
            reenter=fields.flag("reenter"),
            description=fields.text("description"),
        )

    def after(self, spot: Spot | None) -> Iterator[AfterForm]:
        """Yield delays with their transitions; a number without a unit is seconds, in XState milliseconds."""
        if spot is None:
            return
        if spot.is_list and self.is_xstate:
            self.faults.add(spot, "XState 5 has no list of delays", former_keys.DELAYS)
            return
        Fields(spot, self.faults)
        for delay, value in spot.items():
            unit = "ms" if self.is_xstate else "s"
            then = tuple(self.then(each, known="then") for each in value.elements())
            yield AfterForm(spot.key(delay), _with_unit(delay, unit), then)

    def recurring(self, spot: Spot | None) -> Iterator[EveryForm]:
        """Yield recurrences with their transitions: by period, or from a list whose items declare their own."""
        if spot is None:
            return
        if spot.is_list or any(spot.get(key) is not None for key in _OF_RECURRENCE):
            for each in spot.elements():
                every = self.every(each)
                yield EveryForm(each, every, (self.then(each, known="recurring"),) if each.is_mapping else ())
            return
        Fields(spot, self.faults)
        for period, value in spot.items():
            key, every = spot.key(period), Every(_with_unit(period, "s"))
            then = tuple(self.then(each, known="then") for each in value.elements())
            yield EveryForm(key, self.sound(every, key), then)

    def every(self, spot: Spot) -> Every | None:
        """Return the declared recurrence; None after a fault, which is added."""
        fields = Fields(spot, self.faults)
        given = spot.get("period")
        period, cron = self.delay(given), fields.text("cron")
        if not spot.is_mapping or (given is not None and period is None):
            return None
        if (given is None) is (not cron):
            problem = "it has both `period` and `cron`" if cron else "it has neither `period` nor `cron`"
            self.faults.add(spot, problem, "write `period: 1d`, or `cron: 0 9 * * MON-FRI`")
            return None
        missed = fields.choice("missed", get_args(Missed), _USUAL.missed)
        return self.sound(Every(period, cron, fields.text("zone", _USUAL.zone), cast("Missed", missed)), spot)

    def sound(self, every: Every, spot: Spot) -> Every | None:
        """Return a valid recurrence; None after a fault, which is added at the wrong value."""
        if every.fault is None:
            return every
        problem, remedy = every.fault
        self.faults.add(
            next((value for _, value in spot.items() if repr(value.value) in problem), spot), problem, remedy
        )
        return None

    def ends(self, spot: Spot, index: int) -> Iterator[TransitionForm]:
        """Yield the transitions taken when an invoke of the state ends."""
        spot = self.filled(spot)
        for key, event in (("onDone", "done.invoke"), ("onError", "error.invoke")):
            value = spot.get(key)
            if value is not None:
                yield from self.transitions_of(EventForm(spot.key(key), event, of_invoke=index), value)


def _with_unit(delay: str, unit: str) -> str:
    return delay + (unit if _NUMBER.fullmatch(delay) else "")
