"""Look up names in the objects that the caller passes. An object is found only under its exact name there."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, wraps
from types import ModuleType
from typing import Any, Final, TypeAlias, TypeVar

from pydantic import BaseModel

from gatechart.chartfiles.built_in import Assign, Log, Raise, SendEvent
from gatechart.chartfiles.cel.guard import compiled
from gatechart.chartfiles.faults import Faults, Spot
from gatechart.chartfiles.model import BuiltInForm, Except, Exceptions, Expression, Question, Reference
from gatechart.errors.definition import Fault
from gatechart.errors.root import suggestion
from gatechart.graph.callables import callable_name, is_async
from gatechart.graph.handoff import Handoff
from gatechart.values.names import is_reserved

Bind: TypeAlias = "Mapping[str, Any] | Sequence[Any] | object | None"
Unbound: TypeAlias = Callable[[str, str], Any]
ModelT = TypeVar("ModelT", bound=BaseModel)

_MISSING: Final = object()


class Bindings:
    """The bindings of a chart's names. Names with a leading underscore are never bound."""

    def __init__(self, bind: Bind, faults: Faults, unbound: Unbound | None = None) -> None:
        """See `gatechart.charts.load` for `bind` and `unbound`."""
        self.sources = tuple(bind) if isinstance(bind, list | tuple) else (bind,)
        self.faults = faults
        self.unbound = unbound
        self.renamed: dict[str, Callable[..., Any]] = {}  # one per name, so that equal names stay equal

    def function(self, reference: Reference, what: str) -> Callable[..., Any]:
        """Return the function of a reference under the reference's name; `nothing` after a fault, which is added."""
        if not reference.name:  # already recorded as a fault
            return nothing
        bound = self._look_up(reference.name, what)
        if bound is _MISSING or not callable(bound) or isinstance(bound, type):
            self._note(reference, what, bound, (name for name, each in self._all() if _is_function(each)))
            return nothing
        if isinstance(bound, Handoff):  # a handoff keeps its own name
            return self._alone(bound, reference)
        named = bound
        if callable_name(bound) != reference.name:
            named = self.renamed.setdefault(reference.name, renamed(bound, reference.name))
        return named if reference.params is None else self._with_params(named, reference)

    def guard(self, question: Question | None) -> Callable[..., Any] | None:
        """Return the guard of a form."""
        if question is None:
            return None
        if isinstance(question, Exceptions):
            return Except(question.events, self.guard(question.guard))
        if isinstance(question, Expression):
            return self.expression(question)
        return self.function(question, "guard")

    def expression(self, expression: Expression) -> Callable[..., Any]:
        """Return the guard of an expression; `nothing` after a fault, which is added."""
        guard, faults = compiled(expression.text)
        self.note(expression.spot.get("cel") or expression.spot, faults)
        return guard or nothing

    def built_in(self, form: BuiltInForm) -> Callable[..., Any]:
        """Return a built-in action; `nothing` after faults, which are added at their expressions."""
        before = len(self.faults.found)
        for spot in (form.to, form.values):
            for text in () if spot is None else spot.texts():
                self.note(text, compiled(text.value, is_guard=False)[1])
        if form.kind == "send" and is_reserved(form.text):
            self.faults.add(form.spot, f"only the framework sends {form.text!r}", "choose another name")
        if len(self.faults.found) > before or (form.kind != "assign" and not form.text):
            return nothing
        values = {} if form.values is None or not form.values.is_mapping else form.values.plain()
        if form.kind == "assign":
            return Assign(values)
        if form.kind == "raise":
            return Raise(form.text, values)
        if form.kind == "log":
            return Log(form.text, values)
        return SendEvent(form.text, to="" if form.to is None else form.to.node.text, payload=values, delay=form.delay)

    def note(self, spot: Spot, faults: Iterable[Fault]) -> None:
        """Add the faults of an expression."""
        for fault in faults:
            self.faults.add(spot, fault.problem, fault.remedy)

    def type(self, reference: Reference, base: type[ModelT]) -> type[ModelT] | None:
        """Return the type of a reference, which must have that very name; None after a fault, which is added."""
        bound = self._look_up(reference.name, base.__name__)
        if not (isinstance(bound, type) and issubclass(bound, base)):
            known = (name for name, each in self._all() if isinstance(each, type) and issubclass(each, base))
            self._note(reference, base.__name__, bound, known)
            return None
        if bound.__name__ != reference.name:
            problem = f"{reference.name!r} is bound to the type {bound.__name__!r}"
            self.faults.add(reference.spot, problem, f"name it {bound.__name__!r}, here and where it is bound")
        return bound

    def value(self, name: str) -> Any:
        """Return the value that is bound to the name; None if there is none."""
        bound = self._look_up(name)
        return None if bound is _MISSING else bound

    def _look_up(self, name: str, what: str = "") -> Any:
        for source in self.sources:
            if isinstance(source, Mapping):
                if name in source:
                    return source[name]
            elif source is not None and name in _public(source):
                return getattr(source, name)
        return self.unbound(what, name) if self.unbound is not None and what else _MISSING

    def _all(self) -> Iterator[tuple[str, Any]]:
        for source in self.sources:
            names = source if isinstance(source, Mapping) else () if source is None else _public(source)
            for name in names:
                yield name, source[name] if isinstance(source, Mapping) else getattr(source, name)

    def _note(self, reference: Reference, what: str, bound: Any, known: Iterator[str]) -> None:
        names = tuple(dict.fromkeys(known))
        if bound is _MISSING:
            remedy = suggestion(reference.name, names) if names else "pass it with bind="
            self.faults.add(reference.spot, f"no {what} is bound to {reference.name!r}", remedy)
        else:
            problem = (
                f"{reference.name!r} is bound to {type(bound).__name__} {bound!r:.60}, which cannot be used as {what}"
            )
            self.faults.add(reference.spot, problem, suggestion(reference.name, names))

    def _alone(self, handoff: Handoff, reference: Reference) -> Handoff:
        if reference.params is not None:
            self.faults.add(reference.spot, f"{reference.name} is a handoff, which takes no parameters", "drop them")
        return handoff

    def _with_params(self, function: Callable[..., Any], reference: Reference) -> Callable[..., Any]:
        params = dict(reference.params or {})
        unknown = [name for name in params if not _takes(function, name)]
        for name in unknown:
            problem = f"{reference.name} has no parameter {name!r}"
            self.faults.add(reference.spot, problem, "add a parameter of that name after context and event")
        return partial(function, **{name: value for name, value in params.items() if name not in unknown})


def renamed(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the function under another name."""

    async def wait(*args: Any, **params: Any) -> Any:
        return await function(*args, **params)

    def call(*args: Any, **params: Any) -> Any:
        return function(*args, **params)

    other = wraps(function)(wait if is_async(function) else call)
    other.__name__ = name
    return other


def nothing(*_args: Any, **_params: Any) -> Any:
    """Replace an unbound function until all faults are reported."""


def _is_function(bound: object) -> bool:
    return callable(bound) and not isinstance(bound, type)


def _public(source: object) -> tuple[str, ...]:
    """Return the names of a module or an object that a chart may use; of a module, its `__all__` if it has one."""
    offered = getattr(source, "__all__", None) if isinstance(source, ModuleType) else None
    return tuple(name for name in (dir(source) if offered is None else offered) if not name.startswith("_"))


def _takes(function: Callable[..., Any], name: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # some builtins have no signature
        return True
    kinds = {parameter.kind for parameter in parameters.values()}
    keyword = name in parameters and parameters[name].kind is not inspect.Parameter.POSITIONAL_ONLY
    return inspect.Parameter.VAR_KEYWORD in kinds or keyword
