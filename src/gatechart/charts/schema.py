"""The JSON Schema of charts, for editors: what a key may hold, for completion and early words about mistakes."""

from __future__ import annotations

from typing import Any, Final

from gatechart.charts.keys import KEYS, MEANINGS
from gatechart.checks import RULES
from gatechart.graph import OnRefusal
from gatechart.graph.delays import LONGEST_S, PATTERN
from gatechart.values import Mode, Reason

_KINDS: Final = ("other_graph", "human")
_ID: Final = "urn:gatechart:chart:1"
_NULLABLE: Final = ("chart", "state", "transition", "listed", "then", "invoke")  # parts of an exported machine


def schema() -> dict[str, Any]:
    """The schema, JSON Schema draft 2020-12, for both dialects: a file's `dialect` chooses.

    It knows shapes only; whether targets and bound names exist is told by `load`.
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
    """The parts of a chart in a dialect, each under the dialect's name and its own."""
    nullable = _NULLABLE if dialect == "xstate" else ()
    parts = {part: _object(dialect, keys, is_nullable=part in nullable) for part, keys in KEYS[dialect].items()}
    parts["chart"]["required"] = ["states"] if dialect == "xstate" else ["id", "entry_points", "states"]
    for part, needed in (("listed", "event"), ("initial", "target"), ("reference", "type")):
        parts[part]["required"] = [needed]
    if dialect == "xstate":
        parts["invoke"]["required"] = ["src"]
    else:
        _require_in_handoffs(parts)
    parts["cel"]["required"], parts["except"]["required"] = ["cel"], ["except"]
    parts["allowance"]["required"] = ["code", "place", "reason"]
    parts["listed_entry_point"] = parts["entry_point"] | {"required": ["state"]}
    parts |= _kinds(dialect)
    return {f"{dialect}.{part}": each for part, each in parts.items()}


def _require_in_handoffs(parts: dict[str, Any]) -> None:
    """A function or an agent is invoked, and a fallback is of one kind."""
    function = {"required": ["src"], **_without("agent", "at", "packet", "fallbacks")}
    agent = {"required": ["agent", "at"], **_without("src", "params", "retry")}
    parts["invoke"]["oneOf"] = [function, agent]
    parts["handoff"]["required"] = ["to", "at"]
    parts["handing_on"]["required"] = ["handoff"]
    same = {"required": ["same_target"], **_without("other_graph", "human", "at", "agent")}
    other, human = ({"required": [one, "at"], **_without("same_target", two)} for one, two in (_KINDS, _KINDS[::-1]))
    parts["fallback"]["oneOf"] = [same, other, human]


def _without(*keys: str) -> dict[str, Any]:
    return {"not": {"anyOf": [{"required": [key]} for key in keys]}}


def _object(dialect: str, keys: dict[str, str], *, is_nullable: bool) -> dict[str, Any]:
    """A mapping with these keys and no others. is_nullable: whether null may stand for a key that is left out."""
    kinds: dict[str, dict[str, Any]] = {key: {"$ref": f"#/$defs/{dialect}.kind.{kind}"} for key, kind in keys.items()}
    if is_nullable:
        kinds = {key: {"anyOf": [kind, {"type": "null"}]} for key, kind in kinds.items()}
    properties = {key: _described(key, kind) for key, kind in kinds.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _described(key: str, kind: dict[str, Any]) -> dict[str, Any]:
    return {"description": MEANINGS[key], **kind} if key in MEANINGS else kind


def _kinds(dialect: str) -> dict[str, Any]:
    """The kinds of values that `keys` speaks of."""
    xstate = dialect == "xstate"
    text: dict[str, Any] = {"type": ["string", "number"]}
    values = {"type": "object"}
    reference = {"anyOf": [text, _part(dialect, "reference")]}
    action = reference if xstate else {"anyOf": [*reference["anyOf"], _part(dialect, "handing_on")]}
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
        "allowances": {"type": "array", "items": _part(dialect, "allowance")},
        "retry": {"anyOf": [_part(dialect, "retry"), {"type": "null"}]},
        "targets": _one_or_many(text),
        "function": reference,
        "actions": _one_or_many(action),
        "accepts": _part(dialect, "accepts"),
        "guard": guard,
        "data": {"anyOf": [text, _part(dialect, "reference"), _fixed(values)]},
        "output": {"anyOf": [text, values]},
        "context": {"anyOf": [text, values]},
        "maps": {"anyOf": [text, _part(dialect, "reference"), {"type": "object", "additionalProperties": text}]},
        "initial": {"anyOf": [_one_or_many(text), _part(dialect, "initial")]},
        "transitions": _one_or_many(transition),
        "on": {"anyOf": [{"type": "object", "additionalProperties": _one_or_many(transition)}, listed]},
        "after": {"type": "object", "additionalProperties": _one_or_many(then)},
        "invokes": _one_or_many(invoke),
        "states": {"type": "object", "additionalProperties": state},
        "entry_points": _entry_points(dialect, text),
    }
    kinds |= {"meta": {"properties": {"gatechart": _part(dialect, "own")}}} if xstate else _handoff_kinds(dialect)
    return {f"kind.{kind}": each for kind, each in kinds.items()}


def _handoff_kinds(dialect: str) -> dict[str, Any]:
    """What XState has nothing like."""
    return {
        "handoff": _part(dialect, "handoff"),
        "mode": {"enum": [mode.value for mode in Mode]},
        "handoff_reason": {"enum": [reason.value for reason in Reason]},
        "delay": {"type": ["string", "number"], "minimum": 0, "maximum": LONGEST_S, "pattern": rf"^\s*{PATTERN}\s*$"},
        "name": {"type": ["string", "number"], "minLength": 1},
        "fallbacks": _one_or_many(_part(dialect, "fallback")),
    }


def _plain_kinds(*, xstate: bool) -> dict[str, Any]:
    """Those that have no parts."""
    return {
        "anything": {},
        "flag": {"type": "boolean"},
        "number": {"type": "number", "minimum": 0},
        "count": {"type": "integer", "minimum": 1},
        "factor": {"type": "number", "minimum": 1},
        "whole": {"type": "integer", "minimum": 0},
        "dialect": {"enum": list(KEYS)},
        "code": {"enum": [rule.code for rule in RULES]},
        "type": {"enum": ["atomic", "compound", "parallel", "final", "history"]},
        "history": {"enum": ["shallow", "deep", *([False, True] if xstate else [])]},
        "on_refusal": {"enum": [choice.value for choice in OnRefusal]},
        "event": {"type": ["string", "number", "null"]},
    }


def _entry_points(dialect: str, text: dict[str, Any]) -> dict[str, Any]:
    """A list of states, or a mapping of names to what makes an entry point."""
    listed = {"anyOf": [text, _part(dialect, "listed_entry_point")]}
    named = {"anyOf": [{"type": "null"}, _part(dialect, "entry_point")]}
    return {
        "anyOf": [
            {"type": "array", "items": listed, "minItems": 1},
            {"type": "object", "additionalProperties": named, "minProperties": 1},
            text,
        ]
    }


def _part(dialect: str, part: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{dialect}.{part}"}


def _one_or_many(kind: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [kind, {"type": "array", "items": kind}]}


def _fixed(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"value": values}, "required": ["value"], "additionalProperties": False}
