"""Names and other plain types that the values are made of."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, TypeAlias

AgentId: TypeAlias = str
StateName: TypeAlias = str
EventName: TypeAlias = str
Name: TypeAlias = str | Enum  # as people write it: the text, or an Enum member that stands for it
Payload: TypeAlias = Mapping[str, Any]
Memory: TypeAlias = tuple[tuple[StateName, tuple[StateName, ...]], ...]  # history states with what they remember
Epochs: TypeAlias = tuple[tuple[StateName, int], ...]  # states with the version of the agent that entered each

STARTED: Final = "agent.started."
"""With the entry point's name behind it: the event that the first turn of an agent is about."""

OFFERED: Final = "handoff.offered."
"""With the entry point's name behind it: the event that offers a handoff, whose packet is its payload."""

WITHDRAWN: Final = "handoff.withdrawn"
"""The event that tells the target of a handoff that it is wanted no more."""


def name_of(name: Name) -> str:
    """The text that a name stands for: an Enum member's value where that is text, else the member's name.

    >>> from enum import auto
    >>> name_of(Enum("Lamp", {"RED": "red"}).RED), name_of(Enum("Lamp", {"RED": auto()}).RED), name_of("red")
    ('red', 'RED', 'red')
    """
    if isinstance(name, Enum):
        return name.value if isinstance(name.value, str) else name.name
    return name
