"""The data model of a document as a context type, and the actions that bind data while an agent runs.

Source: W3C SCXML, https://www.w3.org/TR/scxml/, section 5.3.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import takewhile
from types import SimpleNamespace
from typing import Any, TypeAlias

from pydantic import create_model

from gatechart.context import AgentContext
from gatechart.contrib.scxml.content import raise_error
from gatechart.contrib.scxml.expressions import Value
from gatechart.contrib.scxml.faults import FaultCollector
from gatechart.contrib.scxml.scope import (
    BOUND,
    SESSION,
    EvaluationError,
    LimitError,
    Scope,
    StepBudget,
    asks_for_session,
    scope_in,
)
from gatechart.contrib.scxml.sending import json_or_text
from gatechart.contrib.scxml.xml import Element
from gatechart.graph.definition import Action
from gatechart.turn.turn_context import Turn
from gatechart.values.agents import Event

Bound: TypeAlias = tuple[tuple[str, Value], ...]  # variables with their values, in document order


def bind_when_begun(data: Bound, chart: str) -> Action[Any]:
    """Return an action that sets `_sessionid`, then the data without a value from the payload. It acts only once."""

    def begin(context: Any, event: Event, turn: Turn) -> None:
        if getattr(context, SESSION):
            return
        setattr(context, SESSION, turn.agent_id)
        missing = tuple(item for item in data if getattr(context, item[0]) is None)
        with scope_in(turn, context, event, chart) as scope:
            _bind(missing, scope, turn)

    return begin


def bind_when_entered(state: str, data: Bound, chart: str) -> Action[Any]:
    """Return an action that binds the data of a state. It acts only once."""

    def bind(context: Any, event: Event, turn: Turn) -> None:
        bound = getattr(context, BOUND)
        if state not in bound:
            setattr(context, BOUND, [*bound, state])
            with scope_in(turn, context, event, chart) as scope:
                _bind(data, scope, turn)

    return bind


def _bind(data: Bound, scope: Scope, turn: Turn) -> None:
    """Bind the data. A variable whose value fails stays undefined, and raises an error event."""
    for variable, value in data:
        try:
            setattr(scope.context, variable, value(scope))
        except EvaluationError as error:
            raise_error(turn, error)


@dataclass(frozen=True, slots=True)
class DataModel:
    """The context type of a document, and the actions that bind its remaining data."""

    context: type[AgentContext]
    failures: tuple[str, ...]  # errors of the data that were evaluated
    at_start: Action[Any] | None  # the first action of the outermost state that is entered
    on_entry: dict[Element, Action[Any]]  # the first actions of these states


def data_model(root: Element, name: str, base: type[AgentContext], faults: FaultCollector) -> DataModel:
    """Return a context with a field for each variable. Its default is its `expr`, if that can be evaluated now.

    Data from the first use of `_sessionid` or `_ioprocessors` on are bound when the agent starts. With
    `binding="late"`, the data of a state are bound when the state is first entered.

    base: its fields keep their types. The variables of `<foreach>` become fields, too.
    """
    variables = _Variables(name, faults)
    late = _late(root)
    deferred = [data for declared in late.values() for data in declared]
    early = [data for data in root.walk() if data.name == "data" and data not in deferred]
    now = list(takewhile(lambda data: not asks_for_session(data), early))
    for data in now:
        variables.define(data, data.attributes["id"], variables.evaluated(data))
    at_start = variables.bound(early[len(now) :])
    on_entry = {
        state: bind_when_entered(state.attributes.get("id", f"{state.name}.{number}"), variables.bound(data), name)
        for number, (state, data) in enumerate(late.items())
    }
    variables.define_items(root)
    has_session = asks_for_session(root)
    own: dict[str, Any] = ({SESSION: (str, "")} if has_session else {}) | ({BOUND: (list[str], [])} if late else {})
    fields: dict[str, Any] = {
        variable: (_kind(variable, base), value) for variable, value in vars(variables.values).items()
    }
    created: type[AgentContext] = create_model(f"{name}Data", __base__=base, **fields, **own)
    begun = bind_when_begun(at_start, name) if has_session else None
    return DataModel(created, tuple(variables.failures), begun, on_entry)


def _late(root: Element) -> dict[Element, list[Element]]:
    """Return the data of each state, if the document binds them late."""
    if root.attributes.get("binding") != "late":
        return {}
    declared = {
        state: [data for model in state.named("datamodel") for data in model.named("data")]
        for state in root.walk()
        if state is not root
    }
    return {state: data for state, data in declared.items() if data}


@dataclass(slots=True)
class _Variables:
    """The variables of a document, while they are collected."""

    chart: str
    faults: FaultCollector
    values: SimpleNamespace = field(default_factory=SimpleNamespace)
    failures: list[str] = field(default_factory=list)
    budget: StepBudget = field(default_factory=StepBudget)  # of all data together

    def define(self, element: Element, variable: str, value: Any) -> None:
        """Add a variable, or a fault if its name is not possible."""
        is_own = hasattr(AgentContext, variable) or variable.startswith(("_", "model_")) or variable in (SESSION, BOUND)
        if is_own or keyword.iskeyword(variable) or not variable.isidentifier():
            self.faults.add(element, f"{variable!r} cannot name a field of a context", "rename the variable")
        elif variable in vars(self.values):
            self.faults.add(element, f"the variable {variable!r} is declared twice", "declare it once")
        else:
            setattr(self.values, variable, value)

    def define_items(self, root: Element) -> None:
        """Add the variables that `<foreach>` declares."""
        for loop in (element for element in root.walk() if element.name == "foreach"):
            for attribute in ("item", "index"):
                variable = loop.attributes.get(attribute)
                if variable is not None and variable.isidentifier() and variable not in vars(self.values):
                    self.define(loop, variable, None)

    def evaluated(self, data: Element) -> Any:
        """Evaluate data now; None if that fails."""
        value = self.faults.expression(data, "expr")
        try:
            if value is None:
                return self.budget.checked(_inline(data))
            result = value(Scope(self.values, chart=self.chart, budget=self.budget))
            return deepcopy(self.budget.checked(result))  # otherwise data would share objects with other data
        except LimitError as error:
            self.faults.add(data, str(error), "divide the work, or do it outside the document")
            return None
        except EvaluationError as error:
            self.failures.append(f"{data}: {error}")
            return None

    def bound(self, declared: Sequence[Element]) -> Bound:
        """Add variables that get their values later."""
        for data in declared:
            self.define(data, data.attributes["id"], None)
        return tuple(
            (data.attributes["id"], self.faults.expression(data, "expr") or (lambda _, data=data: _inline(data)))
            for data in declared
        )


def _inline(data: Element) -> Any:
    return json_or_text(data.text) if data.text.strip() else None


def _kind(variable: str, base: type[AgentContext]) -> Any:
    found = base.model_fields.get(variable)
    return Any if found is None else found.annotation
