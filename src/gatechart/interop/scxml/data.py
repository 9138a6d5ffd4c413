"""The data model of a document as a context type."""

from __future__ import annotations

import keyword
from types import SimpleNamespace
from typing import Any

from pydantic import create_model

from gatechart.context import AgentContext
from gatechart.interop.scxml.faults import Faults
from gatechart.interop.scxml.payloads import json_or_text
from gatechart.interop.scxml.scope import EvaluationError, Scope
from gatechart.interop.scxml.xml import Element


def context_type(
    root: Element, name: str, base: type[AgentContext], faults: Faults
) -> tuple[type[AgentContext], tuple[str, ...]]:
    """A context with a field for each variable, its `expr` evaluated once as its default, and what failed in that.

    base: fields that it has keep their types. The variables of `<foreach>` are fields, too.
    """
    variables, failures = SimpleNamespace(), list[str]()
    for data in (element for element in root.walk() if element.name == "data"):
        value = _value(data, Scope(variables, chart=name), faults, failures)
        _define(data, data.attributes["id"], value, variables, faults)
    for loop in (element for element in root.walk() if element.name == "foreach"):
        for attribute in ("item", "index"):
            variable = loop.attributes.get(attribute)
            if variable is not None and variable.isidentifier() and variable not in vars(variables):
                _define(loop, variable, None, variables, faults)
    fields: dict[str, Any] = {variable: (_kind(variable, base), value) for variable, value in vars(variables).items()}
    created: type[AgentContext] = create_model(f"{name}Data", __base__=base, **fields)
    return created, tuple(failures)


def _define(element: Element, variable: str, value: Any, variables: SimpleNamespace, faults: Faults) -> None:
    is_own = hasattr(AgentContext, variable) or variable.startswith(("_", "model_")) or keyword.iskeyword(variable)
    if is_own or not variable.isidentifier():
        faults.add(element, f"{variable!r} cannot name a field of a context", "rename the variable")
    elif variable in vars(variables):
        faults.add(element, f"the variable {variable!r} is declared twice", "declare it once")
    else:
        setattr(variables, variable, value)


def _value(data: Element, scope: Scope, faults: Faults, failures: list[str]) -> Any:
    value = faults.expression(data, "expr")
    if value is None:
        return json_or_text(data.text) if data.text.strip() else None
    try:
        return value(scope)
    except EvaluationError as error:
        failures.append(f"{data}: {error}")
        return None


def _kind(variable: str, base: type[AgentContext]) -> Any:
    field = base.model_fields.get(variable)
    return Any if field is None else field.annotation
