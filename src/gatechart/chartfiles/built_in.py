"""Actions of a chart that need no function: `assign`, `raise`, `send` and `log`.

Their values are templates: a text is an expression in CEL; numbers, true, false and null are literals; lists and
mappings hold templates. As with guards, the cost of an action's expressions is bounded before they are evaluated.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from gatechart.chartfiles.cel.guard import MAX_STEPS, Cel, seen
from gatechart.context import AgentContext, canonical_json
from gatechart.errors.operation import GuardBudgetError
from gatechart.values.agents import Event
from gatechart.values.delays import Delay, delay_text, seconds_of

logger = logging.getLogger(__name__)

BUILT_IN: Final = ("assign", "raise", "send", "log")


class Template:
    """JSON values with expressions in place of texts."""

    def __init__(self, source: Any) -> None:
        """Compile the expressions. Raises ValueError if one is not CEL."""
        self._parts = _compiled(source)
        self.formulas = tuple(_formulas(self._parts))

    def filled(self, context: AgentContext, event: Event) -> Any:
        """Evaluate all expressions. Raises GuardBudgetError if they could take too long, and their own errors."""
        if not self.formulas:
            return _filled(self._parts, {})
        data = seen(context, event)
        steps = sum(formula.steps(data) for formula in self.formulas)
        if steps > MAX_STEPS:
            raise GuardBudgetError(" and ".join(formula.expression for formula in self.formulas), steps, MAX_STEPS)
        return _filled(self._parts, data)


def _compiled(source: Any) -> Any:
    if isinstance(source, str):
        return Cel(source)
    if isinstance(source, Mapping):
        return {name: _compiled(each) for name, each in source.items()}
    return [_compiled(part) for part in source] if isinstance(source, list) else source


def _formulas(parts: Any) -> Iterator[Cel]:
    if isinstance(parts, Cel):
        yield parts
    elif isinstance(parts, dict | list):
        for value in parts.values() if isinstance(parts, dict) else parts:
            yield from _formulas(value)


def _filled(parts: Any, data: Mapping[str, Any]) -> Any:
    if isinstance(parts, Cel):
        return parts.value(data)
    if isinstance(parts, dict):
        return {name: _filled(part, data) for name, part in parts.items()}
    return [_filled(each, data) for each in parts] if isinstance(parts, list) else parts


class BuiltIn:
    """An action that is defined in the chart. Its name describes everything that it does.

    source: its form in a chart, such as `{"raise": {"event": "NEXT"}}`.
    context_fields: fields of the context that it sets and that its expressions use.
    raises: events that it raises within the turn.
    """

    raises: tuple[str, ...] = ()

    def __init__(self, kind: str, content: Mapping[str, Any], name: str, template: Any) -> None:
        self.source = {kind: dict(content)}
        self.__name__ = name
        self.template = Template(template)
        used = (field for formula in self.template.formulas for field in formula.context_fields)
        self.context_fields = tuple(dict.fromkeys(used))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BuiltIn) and other.source == self.source

    def __hash__(self) -> int:
        return hash(self.__name__)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.source!r})"


class Assign(BuiltIn):
    """Sets fields of the context. All expressions are evaluated before the first field is set."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        name = ", ".join(f"{field} = {_written(value)}" for field, value in fields.items())
        super().__init__("assign", fields, name, dict(fields))
        self.context_fields = tuple(dict.fromkeys((*fields, *self.context_fields)))

    def __call__(self, context: AgentContext, event: Event) -> None:
        """Set the fields."""
        for name, value in self.template.filled(context, event).items():
            setattr(context, name, value)


class Raise(BuiltIn):
    """Raises an event within the turn."""

    def __init__(self, event: str, payload: Mapping[str, Any] | None = None) -> None:
        content = {"event": event, **({"payload": dict(payload)} if payload else {})}
        super().__init__("raise", content, " ".join(["raise", event, *_shown(payload)]), dict(payload or {}))
        self.event = event
        self.raises = (event,)

    def __call__(self, context: AgentContext, event: Event, turn: Any) -> None:
        """Raise the event."""
        turn.raise_event(self.event, self.template.filled(context, event))


class SendEvent(BuiltIn):
    """Sends an event to an agent, for a later turn; to this agent by default."""

    def __init__(
        self, event: str, *, to: str = "", payload: Mapping[str, Any] | None = None, delay: Delay | None = None
    ) -> None:
        given = {"to": to, "payload": dict(payload or {}), "delay": delay}
        content = {"event": event, **{key: value for key, value in given.items() if value or value == 0}}
        delayed = () if delay is None else ("after", delay_text(delay))
        name = " ".join(["send", event, *(("to", to) if to else ()), *delayed, *_shown(payload)])
        super().__init__("send", content, name, {"payload": dict(payload or {}), **({"to": to} if to else {})})
        self.event = event
        self.delay_s = None if delay is None else seconds_of(delay)

    def __call__(self, context: AgentContext, event: Event, turn: Any) -> None:
        """Send the event. Raises PayloadError if `to` is not a valid agent id."""
        filled = self.template.filled(context, event)
        due: datetime | None = None if self.delay_s is None else turn.now + timedelta(seconds=self.delay_s)
        turn.send(filled.get("to", turn.agent_id), self.event, filled["payload"], due=due)


class Log(BuiltIn):
    """Logs a message, with the agent, its graph and some facts as fields of the record."""

    def __init__(self, message: str, facts: Mapping[str, Any] | None = None) -> None:
        content = {"message": message, **({"facts": dict(facts)} if facts else {})}
        super().__init__("log", content, " ".join(["log", message, *_shown(facts)]), dict(facts or {}))
        self.message = message

    def __call__(self, context: AgentContext, event: Event, turn: Any) -> None:
        """Log the message."""
        facts = self.template.filled(context, event)
        logger.info(self.message, extra={"agent_id": turn.agent_id, "graph": turn.graph, "facts": facts})


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _shown(values: Mapping[str, Any] | None) -> tuple[str, ...]:
    return (canonical_json(dict(values)),) if values else ()
