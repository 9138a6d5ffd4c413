"""Data that get their values while an agent runs, as actions of states."""

from __future__ import annotations

from typing import Any, TypeAlias

from gatechart.contrib.scxml.content import raise_error
from gatechart.contrib.scxml.expressions import Value
from gatechart.contrib.scxml.scope import EvaluationError, Scope, scope_in
from gatechart.contrib.scxml.system import BOUND, SESSION
from gatechart.graph import Action
from gatechart.turn import Turn
from gatechart.values import Event

Bound: TypeAlias = tuple[tuple[str, Value], ...]  # variables with their values, in document order


def bind_when_begun(data: Bound, chart: str) -> Action:
    """Sets `_sessionid`, then the data that nobody brought a value for. Does nothing a second time."""

    def begin(context: Any, event: Event, turn: Turn) -> None:
        if getattr(context, SESSION):
            return
        setattr(context, SESSION, turn.agent_id)
        missing = tuple(each for each in data if getattr(context, each[0]) is None)
        with scope_in(turn, context, event, chart) as scope:
            _bind(missing, scope, turn)

    return begin


def bind_when_entered(state: str, data: Bound, chart: str) -> Action:
    """Sets the data. Does nothing a second time."""

    def bind(context: Any, event: Event, turn: Turn) -> None:
        bound = getattr(context, BOUND)
        if state not in bound:
            setattr(context, BOUND, [*bound, state])
            with scope_in(turn, context, event, chart) as scope:
                _bind(data, scope, turn)

    return bind


def _bind(data: Bound, scope: Scope, turn: Turn) -> None:
    """What has no value stays undefined, and is told of."""
    for variable, value in data:
        try:
            setattr(scope.context, variable, value(scope))
        except EvaluationError as error:
            raise_error(turn, error)
