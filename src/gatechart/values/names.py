"""Names and other plain types that the values are made of."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from re import escape
from typing import Any, Final, TypeAlias

AgentId: TypeAlias = str
StateName: TypeAlias = str
EventName: TypeAlias = str
Name: TypeAlias = str | Enum  # as people write it: the text, or an Enum member that stands for it
Payload: TypeAlias = Mapping[str, Any]
Memory: TypeAlias = tuple[tuple[StateName, tuple[StateName, ...]], ...]  # history states with what they remember
EntryVersions: TypeAlias = tuple[tuple[StateName, int], ...]  # states with the version of the agent that entered each

STARTED: Final = "agent.started."
"""With the entry point's name behind it: the event that the first turn of an agent is about."""

OFFERED: Final = "handoff.offered."
"""With the entry point's name behind it: the event that offers a handoff, whose packet is its payload."""

WITHDRAWN: Final = "handoff.withdrawn"
"""The event that tells the target of a handoff that it is wanted no more."""

ERROR_MAIL: Final = "error.mail"
"""The event that tells an agent that mail which it may wait for is dead."""

_RESERVED: Final = (
    "done.state",
    "done.invoke",
    "error.execution",
    "error.communication",
    "error.platform",
    "error.invoke",
    "error.mail",
    "progress.invoke",
    "handoff",
    "agent.started",
    "agent.stopped",
    "agent.rolled_back",
    "agent.migrated",
)
_PREFIXES: Final = (
    *(f"{name}." for name in _RESERVED),
    "after.",
    "signal.",
    "escape.",
    "alarm.",
    "plan.",
    "workspace.",
    "message.",
    "transfer.",
)

RESERVED_PATTERN: Final = f"^({'|'.join(map(escape, _RESERVED))})$|^({'|'.join(map(escape, _PREFIXES))})"
"""A regular expression that finds the reserved names, for schemas."""


def is_reserved(event: EventName) -> bool:
    """Tell whether only the framework may send an event of this name.

    A descriptor takes all names that it is a prefix of in whole words, so `error.execution.x` is as good as
    `error.execution` to a chart. The words `done`, `error`, `after`, `plan` and so on belong to charts.

    >>> [is_reserved(name) for name in ("done.invoke.slow", "after.5d.WAITING", "handoff", "error.execution")]
    [True, True, True, True]
    >>> [is_reserved(name) for name in ("done", "error", "error.tool", "agent.hired", "after", "handoffs")]
    [False, False, False, False, False, False]
    """
    return event.startswith(_PREFIXES) or event in _RESERVED


def name_of(name: Name) -> str:
    """The text that a name stands for: an Enum member's value where that is text, else the member's name.

    >>> from enum import auto
    >>> name_of(Enum("Lamp", {"RED": "red"}).RED), name_of(Enum("Lamp", {"RED": auto()}).RED), name_of("red")
    ('red', 'RED', 'red')
    """
    if isinstance(name, Enum):
        return name.value if isinstance(name.value, str) else name.name
    return name
