"""Build a chart's actions, handoffs and invokes, with names looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gatechart.chartfiles.bindings import Bindings
from gatechart.chartfiles.faults import Faults, Spot
from gatechart.chartfiles.model import (
    ActionForm,
    BestForm,
    BuiltInForm,
    ChartForm,
    FallbackForm,
    HandoffForm,
    InvokeForm,
    Reference,
)
from gatechart.chartfiles.names import StateNames
from gatechart.chartfiles.selections import made_best
from gatechart.graph.definition import Invoke
from gatechart.graph.handoff import Fallbacks, Handoff
from gatechart.graph.selection import Best


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
