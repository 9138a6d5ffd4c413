"""Build a chart's actions, handoffs, invokes and transfers, with names looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pydantic import BaseModel

from gatechart.charts.bindings import Bindings
from gatechart.charts.faults import Faults, Spot
from gatechart.charts.model import (
    ActionForm,
    BestForm,
    BuiltInForm,
    ChartForm,
    FallbackForm,
    HandoffForm,
    InvokeForm,
    Reference,
    StateForm,
    ToForm,
)
from gatechart.charts.names import StateNames
from gatechart.charts.selection import made_best
from gatechart.graph.definition import Invoke
from gatechart.graph.handoff import Fallbacks, Handoff
from gatechart.graph.selection import Best
from gatechart.graph.transfers import To, Transfers


class HandingOn:
    """Builds a chart's actions, handoffs, invokes and transfers, and records their positions for the graph's faults."""

    def __init__(self, chart: ChartForm, bindings: Bindings, faults: Faults) -> None:
        self.chart = chart
        self.bindings = bindings
        self.faults = faults
        self.names = StateNames(chart, faults)
        self.places: dict[str, Spot] = {}

    def actions(self, actions: Iterable[ActionForm]) -> list[Callable[..., Any]]:
        """Return the functions, built-in actions and handoffs of some actions."""
        return [self.action(part) for part in actions]

    def action(self, form: ActionForm) -> Callable[..., Any]:
        """Return one action."""
        if isinstance(form, HandoffForm):
            return self.handoff(form)
        return self.bindings.built_in(form) if isinstance(form, BuiltInForm) else self.bindings.function(form, "action")

    def handoff(self, form: HandoffForm) -> Handoff:
        """Return the action that offers a handoff."""
        return Handoff(
            self.best(form.to) if isinstance(form.to, BestForm) else form.to or "?",
            at="" if isinstance(form.to, BestForm) else form.at or "?",
            mode=form.mode,
            reason=form.reason or None,
            deadline=form.deadline,
            fallbacks=self.fallbacks(form.fallbacks),
            packet=self.optional_function(form.packet),
            agent=self.optional_function(form.agent),
            achieved=self.optional_function(form.achieved),
            transcript=form.transcript,
        )

    def fallbacks(self, forms: tuple[FallbackForm, ...] | None) -> Fallbacks | None:
        """Return the fallbacks for a rejected offer."""
        if forms is None:
            return None
        return Fallbacks(*(self.best(part) if isinstance(part, BestForm) else part for part in forms))

    def best(self, form: BestForm) -> Best:
        """Return the selection of a target."""
        return made_best(form, self.bindings)

    def optional_function(self, reference: Reference | None) -> Callable[..., Any] | None:
        """Return the function of a reference, if there is one."""
        return None if reference is None else self.bindings.function(reference, "function")

    def invoke(self, invoke: InvokeForm, id_: str) -> Invoke:
        """Return the invoke of a function or of an agent."""
        if invoke.function is not None:
            function = self.bindings.function(invoke.function, "invoke")
            return Invoke(function, id=id_, timeout_s=invoke.timeout_s, retry=invoke.retry)
        return Invoke(
            id=id_,
            timeout_s=invoke.timeout_s,
            agent=self.best(invoke.agent) if isinstance(invoke.agent, BestForm) else invoke.agent,
            at="" if isinstance(invoke.agent, BestForm) else invoke.at or "?",
            packet=self.optional_function(invoke.packet),
            fallbacks=self.fallbacks(invoke.fallbacks),
        )

    def transfers(self, form: StateForm) -> Transfers | None:
        """Return the transfers that the state offers to its invoke."""
        given = form.transfers
        if given is None:
            return None
        place = f"state {self.names.names[form]!r}, transfers"
        self.places.setdefault(place, given.spot)
        targets = [self.to(part, form, place) for part in given.targets]
        otherwise = "" if given.otherwise is None else self.names.target(given.otherwise, form)
        self.places.setdefault(f"{place}, otherwise", given.otherwise or given.spot)
        status = None if given.status is None else self.bindings.function(given.status, "function")
        resets_on, arguments = given.resets_on, given.arguments
        return Transfers(
            targets, most=given.most, otherwise=otherwise, resets_on=resets_on, arguments=arguments, status=status
        )

    def to(self, form: ToForm, source: StateForm, place: str) -> To:
        """Return a target of transfers."""
        built = To(
            self.target(form, source),
            at=form.at,
            description=form.description,
            guard=self.bindings.guard(form.guard),
            actions=self.actions(form.actions),
            takes=None if form.takes is None else self.bindings.type(form.takes, BaseModel),
            packet=self.optional_function(form.packet),
            deadline=form.deadline,
            fallbacks=self.fallbacks(form.fallbacks),
            waits="" if form.waits is None else self.names.target(form.waits, source),
            transcript=form.transcript,
        )
        self.places.setdefault(f"{place}, {built.key}", form.spot)
        self.places.setdefault(f"{place}, {built.key}, waits", form.waits or form.spot)
        return built

    def target(self, form: ToForm, source: StateForm) -> str | Best:
        """Return the name of a state or of a graph, or a selection."""
        if isinstance(form.target, BestForm):
            return self.best(form.target)
        return form.target.node.text if form.at else self.names.target(form.target, source)
