"""The context type of a chart: a given or bound type, or a type built from initial values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import create_model
from pydantic_core import to_jsonable_python

from gatechart.chartfiles.bindings import Bindings
from gatechart.chartfiles.faults import Faults, Spot
from gatechart.chartfiles.model import Reference, Values
from gatechart.context import AgentContext
from gatechart.errors.root import suggestion


class InitialContext(AgentContext):
    """The base of context types that are built from a chart's initial values; their fields take any JSON value."""


def context_of(values: Mapping[str, Any]) -> type[InitialContext]:
    """Build a context type whose contexts start with these JSON values."""
    fields: dict[str, Any] = {name: (Any, value) for name, value in values.items()}
    return create_model("Context", __base__=InitialContext, __module__=__name__, **fields)


def initial_values(context: type[InitialContext]) -> dict[str, Any]:
    """Return the initial values of a type."""
    return {name: info.default for name, info in context.model_fields.items()}


def cannot_be_field(name: str) -> bool:
    """Return whether pydantic refuses a field of this name."""
    return name.startswith("_") or hasattr(InitialContext, name)


def context_type(
    written: Reference | Values | None, given: type[AgentContext] | None, bindings: Bindings, faults: Faults
) -> type[AgentContext]:
    """Return the type of a chart's context; faults are added.

    written: the declaration in the chart. given: the type passed to `load`, which must agree with the chart.
    """
    if isinstance(written, Values):
        for name in filter(cannot_be_field, written.values):
            faults.add(written.spot.key(name), f"{name!r} cannot name a field", "rename it")
    if given is not None:
        if isinstance(given, type) and issubclass(given, AgentContext):  # otherwise the graph reports it
            _check_given(written, given, faults)
        return given
    if isinstance(written, Reference):
        return bindings.type(written, AgentContext) or AgentContext
    values = {} if written is None else written.values
    values = {name: value for name, value in values.items() if not cannot_be_field(name)}
    return context_of(values) if values else AgentContext


def _check_given(written: Reference | Values | None, given: type[AgentContext], faults: Faults) -> None:
    """Add a fault for each difference between the chart's declaration and the given type."""
    name = given.__name__
    if isinstance(written, Reference) and written.name not in {"", name}:
        problem = f"the context is {written.name!r} here, and load was given {name!r}"
        faults.add(written.spot, problem, f"write {name!r}, or pass the other type as load(context=...)")
    if isinstance(written, Values):
        for field, value in written.values.items():
            if not cannot_be_field(field):
                _check_start(written.spot.key(field), field, value, given, faults)


def _check_start(spot: Spot, field: str, value: Any, given: type[AgentContext], faults: Faults) -> None:
    """Add a fault unless the type has the field with this default."""
    name, info = given.__name__, given.model_fields.get(field)
    if info is None:
        faults.add(spot, f"{name} has no field {field!r}", suggestion(field, tuple(given.model_fields)))
    elif info.is_required():
        faults.add(spot, f"{field!r} starts with {value!r} here, and {name} has no default for it", "write one there")
    elif not info.default_factory_takes_validated_data:
        start = info.get_default(call_default_factory=True)
        if to_jsonable_python(start, fallback=lambda _: None) != value:
            problem = f"{field!r} starts with {value!r} here, and with {start!r} in {name}"
            faults.add(spot, problem, "write the same value, or drop it here")
