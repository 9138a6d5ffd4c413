"""Replacements for keys that XState, version 5, no longer has."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

_BIND: Final = ("states", "drop it, and bind functions to the names with bind=")
_SEND: Final = ("src", "XState 5 forwards no events: send the needed ones from an action")

_REMEDIES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "cond": ("guard", "write 'guard', as in XState 5"),
        "in": ("guard", "write a 'guard' (in XState 5 stateIn('#id')), or put the transition into that state"),
        "internal": ("reenter", "drop it: XState 5 stays in the source where it can, unless it has 'reenter: true'"),
        "delay": ("guard", "write the transition under 'after'"),
        "activities": ("invoke", "write 'invoke', as in XState 5"),
        "onEntry": ("entry", "write 'entry', as in XState 5"),
        "onExit": ("exit", "write 'exit', as in XState 5"),
        "parallel": ("type", "write 'type: parallel', as in XState 5"),
        "data": ("input", "write 'input', as in XState 5"),
        "forward": _SEND,
        "autoForward": _SEND,
        "strict": ("states", "drop it: XState 5 has no strict mode, and an event without a transition is refused here"),
        "delimiter": ("states", "drop it: in XState 5, '.' separates the states of a path"),
        "preserveActionOrder": ("states", "drop it: in XState 5, actions always run in their order"),
        "schema": ("states", "drop it: XState 5 has types in setup({types: ...})"),
        "guards": _BIND,
        "services": _BIND,
        "actors": _BIND,
        "delays": _BIND,
    }
)
OUTPUT: Final = "write 'output', as in XState 5"  # for values under `data` of a final state
ALWAYS: Final = "write the transition under 'always', as in XState 5"  # for a transition under the event ''
DELAYS: Final = "write 'after: {1000: target}', as in XState 5"  # for a list of delays


def remedy(key: object, known: Collection[str]) -> str:
    """Return the replacement of a key; empty for a key that XState never had there.

    known: the keys that XState 5 has there.

    >>> remedy("cond", ["target", "guard"]), remedy("cond", ["src"])
    ("write 'guard', as in XState 5", '')
    """
    needs, text = _REMEDIES.get(str(key), ("", ""))
    return text if needs in known else ""
