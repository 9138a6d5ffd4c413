"""The keys of charts, and the JSON Schema built from them, which lets editors complete and check chart files."""

from __future__ import annotations

from typing import Any, Final, get_args

from gatechart.chartfiles.handoff_keys import (
    HANDOFF_KEYS,
    HANDOFF_MEANINGS,
    OF_AN_AGENT,
    handoff_kinds,
    require_in_handoffs,
    without,
)
from gatechart.chartfiles.selection_keys import (
    SELECTION_KEYS,
    SELECTION_MEANINGS,
    require_in_selections,
    selection_kinds,
)
from gatechart.checks.checking import RULES
from gatechart.escape.chart_keys import ESCAPE_KEYS, ESCAPE_MEANINGS, escape_kinds, require_in_escapes
from gatechart.graph.definition import OnRefusal, Precedence
from gatechart.selection.chart_keys import PROFILE_KEYS, PROFILE_MEANINGS, profile_kinds
from gatechart.signals.chart_keys import SIGNAL_KEYS, SIGNAL_MEANINGS, signal_kinds
from gatechart.tools.chart import TOOL_KEYS, TOOL_MEANINGS, tool_kinds
from gatechart.transfers.chart_keys import TRANSFER_KEYS, TRANSFER_MEANINGS, require_in_transfers, transfer_kinds
from gatechart.values.delays import LONGEST_S, PATTERN
from gatechart.values.profiles import HIGHEST_CAPACITY
from gatechart.values.recurrence import Missed

_WAITING: Final = {
    "on": "on",
    "always": "transitions",
    "after": "after",
    "every": "every",
    "invoke": "invokes",
    "onDone": "transitions",
}
_STATE: Final = {
    "id": "text",
    "type": "type",
    "description": "text",
    "initial": "initial",
    "states": "states",
    "entry": "actions",
    "exit": "actions",
    **_WAITING,
    "history": "history",
    "target": "targets",
    "actions": "actions",
    "data": "data",
    "failed": "flag",
    "defer": "texts",
    "tools": "tools",
}
_CHART: Final = {
    "$schema": "text",
    "id": "text",
    "dialect": "dialect",
    "version": "label",
    "description": "text",
    "context": "context",
    "entry_points": "entry_points",
    "on_refusal": "on_refusal",
    "max_microsteps": "count",
    "allow": "allowances",
    "accepts": "accepts",
    "events": "event_types",
    "events_closed": "flag",
    "searchable": "texts",
    "tools": "tools",
    "initial": "initial",
    "states": "states",
    "on": "on",
    "always": "transitions",
}
_TRANSITION: Final = {
    "target": "targets",
    "guard": "guard",
    "actions": "actions",
    "internal": "flag",
    "description": "text",
}
_THEN: Final = {key: kind for key, kind in _TRANSITION.items() if key != "description"}
_INVOKE: Final = {
    "src": "function",
    "id": "text",
    "params": "values",
    "timeout_s": "number",
    "retry": "retry",
    "onDone": "transitions",
    "onError": "transitions",
}
_SHARED: Final = {
    "assigning": {"assign": "values"},
    "raising": {"raise": "raised"},
    "sending": {"send": "sent"},
    "logging": {"log": "logged"},
    "raise": {"event": "text", "payload": "values"},
    "send": {"event": "text", "to": "text", "payload": "values", "delay": "delay"},
    "log": {"message": "text", "facts": "values"},
    "accepts": {"capacity": "capacity", "policy": "function"},
    "initial": {"target": "targets", "actions": "actions"},
    "reference": {"type": "text", "params": "values"},
    "retry": {"attempts": "count", "first_s": "number", "factor": "factor", "most_s": "number", "jitter": "share"},
    **TOOL_KEYS,
    "cel": {"cel": "text"},
    "except": {"except": "texts", "guard": "guard"},
    "allowance": {"code": "code", "place": "text", "reason": "text"},
    "event_type": {"takes": "payload", "description": "text"},
    "entry_point": {
        "state": "text",
        "name": "text",
        "opens_on": "texts",
        "takes": "text",
        "maps": "maps",
        "entities": "texts",
        "guard": "guard",
        "description": "text",
    },
}
_IGNORED: Final = {"meta": "anything", "tags": "anything"}  # XState's, without a meaning here
_XSTATE_TRANSITION: Final = {
    "target": "targets",
    "guard": "guard",
    "actions": "actions",
    "reenter": "flag",
    "description": "text",
    **_IGNORED,
}
_XSTATE_STATE: Final = {
    key: kind for key, kind in _STATE.items() if key not in ("failed", "defer", "every", "tools")
} | {
    "output": "output",
    "meta": "meta",
    "tags": "anything",
}

KEYS: Final = {
    "scxml": {
        "chart": {
            **_CHART,
            "signals": "signals",
            "escape": "escape",
            "profile": "profile",
            "precedence": "precedence",
        },
        "state": {
            **_STATE,
            "final": "flag",
            "transfers": "transfers",
            "progress": "flag",
            "expects": "delay",
            "checkpoint": "flag",
            "escape": "escape",
        },
        "transition": _TRANSITION,
        "listed": {"event": "event", **_TRANSITION},
        "then": _THEN,
        "recurring": {"period": "delay", "cron": "text", "zone": "text", "missed": "missed", **_THEN},
        "invoke": {**_INVOKE, **OF_AN_AGENT},
        **_SHARED,
        "entry_point": {**_SHARED["entry_point"], "signals": "signals", "profile": "profile"},
        **HANDOFF_KEYS,
        **TRANSFER_KEYS,
        **SIGNAL_KEYS,
        **ESCAPE_KEYS,
        **PROFILE_KEYS,
        **SELECTION_KEYS,
    },
    "xstate": {
        "chart": {
            **_CHART,
            **_XSTATE_STATE,
            **dict.fromkeys(("types", "schemas", "tsTypes", "predictableActionArguments"), "anything"),
        },
        "state": _XSTATE_STATE,
        "transition": _XSTATE_TRANSITION,
        "listed": {"event": "event", **_XSTATE_TRANSITION},
        "then": _XSTATE_TRANSITION,
        "invoke": {**_INVOKE, "input": "values", "systemId": "anything"},
        "own": {"failed": "flag"},  # under `meta.gatechart` of a state
        **_SHARED,
    },
}

MEANINGS: Final = {
    "id": "The graph's name; of a state, the name in #id targets.",
    "dialect": "The semantics: SCXML's, as in code, or XState's, version 5.",
    "version": "The graph's version; a number is used as written.",
    "context": "The name of a bound type, or initial values.",
    "entry_points": "The states in which an agent may start.",
    "on_refusal": "Whether a refused event returns an outcome, raises an error, or becomes `error.refused`.",
    "precedence": "Which transition is evaluated first: of a state, the most specific, or the first in the document.",
    "max_microsteps": "How many transitions one turn may take.",
    "allow": "Intended findings of `gatechart check`.",
    "accepts": "Which handoffs agents of the graph take: how many at once, and by what policy.",
    "events": "Declared events by name, with their payloads.",
    "events_closed": "Whether undeclared events are refused.",
    "searchable": "Fields of the context by which agents are found, such as order.total.",
    "capacity": "How many handoffs its agents have at once.",
    "policy": "The name of a bound function of the packet: true, false, or a text with the reason for a refusal.",
    "to": "Of a handoff, the graph that takes it; of an event, an expression for an agent's id; this agent by default.",
    "at": "The entry point of the graph.",
    "agent": "In an invoke, a graph whose new agent does the work; elsewhere, a living agent's id or its function.",
    "retry": "How often a failure is tried again; once in total by default.",
    "attempts": "The number of attempts, including the first.",
    "first_s": "Seconds to wait after the first failure.",
    "factor": "The factor by which each wait is longer than the one before.",
    "most_s": "The longest wait in seconds.",
    "jitter": "The random spread of each wait, as a share of it: 0.1 for 10 % more or less.",
    "code": "The code of the finding, GC102.",
    "place": "The place of the finding, as `gatechart check` prints it: state 'WAITING'.",
    "reason": "Why the finding is intended; of a handoff, why the work is handed on.",
    "initial": "The state entered first; the first one by default.",
    "states": "The states inside, by name.",
    "type": "The kind of the state.",
    "final": "Whether the state ends the agent, once the states inside it have ended.",
    "entry": "Actions run when the state is entered.",
    "exit": "Actions run when the state is left.",
    "on": "Transitions by event, or a list of transitions with their events.",
    "always": "Transitions without an event.",
    "after": "Transitions by delay: 500ms, 30s, 1h30m, 2d, PT1H30M; a bare number is seconds, in XState milliseconds.",
    "every": "Transitions by period, taken repeatedly; or a list of transitions with a `period` or `cron`.",
    "period": "Elapsed time from one moment to the next: 30s, 1h30m, 1d; a number is seconds.",
    "cron": "Minute, hour, day of the month, month and day of the week: 0 9 * * MON-FRI.",
    "zone": "The time zone of `cron`, such as Europe/Berlin; UTC by default.",
    "missed": "Which moments to make up for after a time without a process: one, each, or none.",
    "invoke": "Functions that run while the state is active.",
    "onDone": "Transitions taken at the end of the state, or of its invoke.",
    "onError": "Transitions taken when the invoke fails.",
    "history": "How deep a history state remembers.",
    "target": "A state: #id, .child, a sibling, sibling.child, or any state's name.",
    "guard": "The name of a bound function, or {cel: an expression over context and event}.",
    "actions": "Names of bound functions, or built-in actions: `assign`, `raise`, `send` and `log`.",
    "assign": "Fields of the context, each with an expression in CEL, or a value other than a text.",
    "raise": "An event that is raised within the turn.",
    "send": "An event that is sent, for a later turn.",
    "log": "A message for the log.",
    "payload": "Values by name: each text is an expression in CEL.",
    "facts": "Values by name that are logged with the message: each text is an expression in CEL.",
    "delay": "How long the event waits before it is delivered: 500ms, 30s, 2m, 1h, 7d.",
    "message": "The constant text of the message.",
    "internal": "Whether the source stays active if the target is inside it.",
    "reenter": "Whether the source is left and entered again.",
    "failed": "Whether an agent that ends in this final state, at the top level, has failed.",
    "defer": "Events that are kept as mail for a later state.",
    "expects": "How long an agent is normally in the state without a turn; the watchdog finds agents that stay longer.",
    "data": "The output of a final state: the name of a bound function, or {value: ...}.",
    "src": "The name of a bound function of context and work.",
    "timeout_s": "Seconds after which the invoke, or an attempt of a tool call, has failed.",
    "params": "Arguments of the function, by name.",
    "opens_on": "Business triggers.",
    "takes": "The payload's schema: the name of a bound type; of an event also a JSON Schema.",
    "entities": "Fields of the payload or the context that a packet's entities may fill.",
    "maps": "Fields of the payload with the context's fields that they fill, or the name of a bound function.",
    "cel": "An expression of the Common Expression Language.",
    "except": "Events that the guard denies.",
    **HANDOFF_MEANINGS,
    **TRANSFER_MEANINGS,
    **TOOL_MEANINGS,
    **SIGNAL_MEANINGS,
    **ESCAPE_MEANINGS,
    **PROFILE_MEANINGS,
    **SELECTION_MEANINGS,
}


_BRIEF: Final = {"raise": "raised", "send": "sent", "log": "logged"}  # a text is enough for these
_REQUIRED: Final = {
    "listed": "event",
    "initial": "target",
    "reference": "type",
    "assigning": "assign",
    "raising": "raise",
    "sending": "send",
    "logging": "log",
    "raise": "event",
    "send": "event",
    "log": "message",
}
_RECURS: Final = ("period", "cron")  # a recurrence has one of them
_ID: Final = "urn:gatechart:chart:1"
_NULLABLE: Final = ("chart", "state", "transition", "listed", "then", "invoke")  # parts of an exported machine


def schema() -> dict[str, Any]:
    """Return the JSON Schema, draft 2020-12, for both dialects: a file's `dialect` selects one.

    It knows shapes only; `load` checks whether targets and bound names exist.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": _ID,
        "title": "gatechart chart",
        "type": "object",
        "properties": {"dialect": {"enum": list(KEYS)}},
        "if": {"properties": {"dialect": {"const": "xstate"}}, "required": ["dialect"]},
        "then": {"$ref": "#/$defs/xstate.chart"},
        "else": {"$ref": "#/$defs/scxml.chart"},
        "$defs": {name: each for dialect in KEYS for name, each in _definitions(dialect).items()},
    }


def _definitions(dialect: str) -> dict[str, Any]:
    """Return the parts of a chart in a dialect, named after the dialect and the part."""
    nullable = _NULLABLE if dialect == "xstate" else ()
    parts = {part: _object(dialect, part, keys, is_nullable=part in nullable) for part, keys in KEYS[dialect].items()}
    parts["chart"]["required"] = [] if dialect == "xstate" else ["id", "entry_points", "states"]
    for part, needed in _REQUIRED.items():
        parts[part]["required"] = [needed]
    if dialect == "xstate":
        parts["invoke"]["required"] = ["src"]
    else:
        require_in_handoffs(parts)
        require_in_transfers(parts)
        require_in_selections(parts)
        require_in_escapes(parts)
        parts["recurring"]["oneOf"] = [{"required": [key]} for key in _RECURS]
    parts["cel"]["required"], parts["except"]["required"] = ["cel"], ["except"]
    parts["allowance"]["required"] = ["code", "place", "reason"]
    parts["listed_entry_point"] = parts["entry_point"] | {"required": ["state"]}
    parts |= _kinds(dialect) | {f"kind.{kind}": each for kind, each in tool_kinds(dialect).items()}
    return {f"{dialect}.{part}": each for part, each in parts.items()}


def _object(dialect: str, part: str, keys: dict[str, str], *, is_nullable: bool) -> dict[str, Any]:
    """Return a part with these keys and no others. is_nullable: whether null equals a missing key."""
    kinds: dict[str, dict[str, Any]] = {key: {"$ref": f"#/$defs/{dialect}.kind.{kind}"} for key, kind in keys.items()}
    if is_nullable:
        kinds = {key: {"anyOf": [kind, {"type": "null"}]} for key, kind in kinds.items()}
    properties = {key: _described(part, key, kind) for key, kind in kinds.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _described(part: str, key: str, kind: dict[str, Any]) -> dict[str, Any]:
    meaning = MEANINGS.get(f"{part}.{key}", MEANINGS.get(key))
    return kind if meaning is None else {"description": meaning, **kind}


def _kinds(dialect: str) -> dict[str, Any]:
    """Return the kinds of values that `KEYS` names."""
    xstate = dialect == "xstate"
    text: dict[str, Any] = {"type": ["string", "number"]}
    values = {"type": "object"}
    reference = {"anyOf": [text, _part(dialect, "reference")]}
    guard = {"anyOf": [text, _part(dialect, "cel"), _part(dialect, "except"), _part(dialect, "reference")]}
    transition = {"anyOf": [text, _part(dialect, "transition"), *([{"type": "null"}] if xstate else [])]}
    listed = {"type": "array", "items": _part(dialect, "listed")}
    state = {"anyOf": [{"type": "null"}, _part(dialect, "state")]}
    then = {"anyOf": [text, _part(dialect, "then"), *([{"type": "null"}] if xstate else [])]}
    invoke = {"anyOf": [text, _part(dialect, "invoke")]}
    kinds = {
        **_plain_kinds(xstate=xstate),
        "text": text,
        "label": text,
        "texts": _one_or_many(text),
        "values": values,
        **{kind: {"anyOf": [text, _part(dialect, part)]} for part, kind in _BRIEF.items()},
        "allowances": {"type": "array", "items": _part(dialect, "allowance")},
        "retry": {"anyOf": [_part(dialect, "retry"), {"type": "null"}]},
        "targets": _one_or_many(text),
        "function": reference,
        "actions": _one_or_many(_action(dialect, text)),
        "accepts": _part(dialect, "accepts"),
        "guard": guard,
        "data": {"anyOf": [text, _part(dialect, "reference"), _fixed(values)]},
        "output": {"anyOf": [text, values]},
        "context": {"anyOf": [text, values]},
        "payload": {"anyOf": [text, values]},
        "event_types": _event_types(dialect, text),
        "maps": {"anyOf": [text, _part(dialect, "reference"), {"type": "object", "additionalProperties": text}]},
        "initial": {"anyOf": [_one_or_many(text), _part(dialect, "initial")]},
        "transitions": _one_or_many(transition),
        "on": {"anyOf": [{"type": "object", "additionalProperties": _one_or_many(transition)}, listed]},
        "after": {"type": "object", "additionalProperties": _one_or_many(then)},
        "invokes": _one_or_many(invoke),
        "states": {"type": "object", "additionalProperties": state},
        "entry_points": _entry_points(dialect, text),
    }
    kinds |= {"meta": {"properties": {"gatechart": _part(dialect, "own")}}} if xstate else _own_kinds(dialect, then)
    return {f"kind.{kind}": each for kind, each in kinds.items()}


def _every(dialect: str, then: dict[str, Any]) -> dict[str, Any]:
    """Return transitions by period, or recurrences with a transition each."""
    by_period = {"type": "object", "additionalProperties": _one_or_many(then), **without(*_RECURS)}
    return {"anyOf": [by_period, _one_or_many(_part(dialect, "recurring"))]}


def _action(dialect: str, text: dict[str, Any]) -> dict[str, Any]:
    """Return the kinds of actions: the name of a function, a built-in action, or a handoff, which XState lacks."""
    parts = (
        "reference",
        "assigning",
        "raising",
        "sending",
        "logging",
        *(() if dialect == "xstate" else ("handing_on",)),
    )
    return {"anyOf": [text, *(_part(dialect, part) for part in parts)]}


def _own_kinds(dialect: str, then: dict[str, Any]) -> dict[str, Any]:
    """Return the kinds that XState lacks."""
    return {
        "every": _every(dialect, then),
        "missed": {"enum": list(get_args(Missed))},
        **handoff_kinds(dialect),
        **transfer_kinds(dialect),
        **signal_kinds(dialect),
        **escape_kinds(dialect),
        **profile_kinds(dialect),
        **selection_kinds(dialect),
    }


def _plain_kinds(*, xstate: bool) -> dict[str, Any]:
    """Return the kinds that have no parts."""
    return {
        "anything": {},
        "delay": {"type": ["string", "number"], "minimum": 0, "maximum": LONGEST_S, "pattern": rf"^\s*{PATTERN}\s*$"},
        "flag": {"type": "boolean"},
        "number": {"type": "number", "minimum": 0},
        "count": {"type": "integer", "minimum": 1},
        "factor": {"type": "number", "minimum": 1},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "whole": {"type": "integer", "minimum": 0},
        "capacity": {"type": "integer", "minimum": 0, "maximum": HIGHEST_CAPACITY},
        "dialect": {"enum": list(KEYS)},
        "code": {"enum": [rule.code for rule in RULES]},
        "type": {"enum": ["atomic", "compound", "parallel", "final", "history"]},
        "history": {"enum": ["shallow", "deep", *([False, True] if xstate else [])]},
        "on_refusal": {"enum": [choice.value for choice in OnRefusal]},
        "precedence": {"enum": [choice.value for choice in Precedence]},
        "event": {"type": ["string", "number", "null"]},
    }


def _entry_points(dialect: str, text: dict[str, Any]) -> dict[str, Any]:
    """Return a list of states, or a mapping of names to entry points."""
    listed = {"anyOf": [text, _part(dialect, "listed_entry_point")]}
    named = {"anyOf": [{"type": "null"}, _part(dialect, "entry_point")]}
    return {
        "anyOf": [
            {"type": "array", "items": listed, "minItems": 1},
            {"type": "object", "additionalProperties": named, "minProperties": 1},
            text,
        ]
    }


def _event_types(dialect: str, text: dict[str, Any]) -> dict[str, Any]:
    """Return a list of names, or a mapping of names to declared events."""
    named = {"anyOf": [{"type": "null"}, _part(dialect, "event_type")]}
    return {"anyOf": [_one_or_many(text), {"type": "object", "additionalProperties": named}]}


def _part(dialect: str, part: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{dialect}.{part}"}


def _one_or_many(kind: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [kind, {"type": "array", "items": kind}]}


def _fixed(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"value": values}, "required": ["value"], "additionalProperties": False}
