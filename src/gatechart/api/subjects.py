"""The subject of a call: which agent the texts of a call and its answer are about, whatever else they contain."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from pydantic_core import from_json

from gatechart.values import AgentId

_ADDRESSES: Final = ("agent_id", "to", "agent", "id")  # "id": in calls that an earlier release left in the database
_UNRELATED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(  # in these verbs, the fields name something else
    {"send": ("id",), "post": ("id",), "handoff": ("to",), "cancel_handoff": ("id",)}
)


def is_about(agent_id: AgentId, call: str, answer: str) -> bool:
    """Return whether the call or its answer is about this agent. Texts that are not JSON objects are about none.

    >>> is_about("active", '{"verb": "send", "to": "b"}', '{"answer": {"agent_id": "b", "status": "active"}}')
    False
    """
    asked, told = _object(call), _object(answer)
    unrelated = _UNRELATED.get(str(asked.get("verb")), ())
    facts = _within(_within(told, "error"), "facts")
    named = (
        *(asked.get(name) for name in _ADDRESSES if name not in unrelated),
        _within(told, "answer").get("agent_id"),
        facts.get("agent_id"),
    )
    return agent_id in named


def _object(text: str) -> Mapping[str, Any]:
    try:
        value = from_json(text)
    except (ValueError, TypeError):
        return {}
    return value if isinstance(value, dict) else {}


def _within(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}
