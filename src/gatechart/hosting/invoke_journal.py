"""The journal of one invocation: results of steps and marks of the framework, recorded once under their names."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from random import Random
from typing import ClassVar, Final, Protocol
from uuid import UUID, uuid5

from gatechart.errors.event import PayloadError
from gatechart.turn.arguments import checked_key
from gatechart.values.mail import Invocation, Mail

KEYS: Final = UUID("8d5a5f0c-6c0b-5c58-9a5b-6b1d2f3a4c5e")
"""The namespace of idempotency keys."""

RESERVED: Final = "gatechart."
"""The prefix of the names of marks. A step of a user cannot have it."""


def mark(kind: str, *of: object) -> str:
    """Return the name of one of the framework's marks. of: its subject; text that may contain dots comes last.

    >>> mark("retry", 0, 2, "label")
    'gatechart.retry.0.2.label'
    """
    return RESERVED + ".".join((kind, *map(str, of)))


def checked_step(name: str, what: str = "step") -> str:
    """Return a user's name of a step unchanged.

    Raises PayloadError for a name that a store cannot keep, or that is reserved for the framework.
    """
    if checked_key(name, what).startswith(RESERVED):
        problem = f"{name!r}: names that begin with {RESERVED!r} are reserved for the framework"
        raise PayloadError(what, (problem,), "another name")
    return name


class Recorder(Protocol):
    """Writes an invocation's records."""

    async def record(
        self, invocation: Invocation, name: str, text: str, replaces: Sequence[str] = (), tells: Mail | None = None
    ) -> str:
        """Record a text under a name and return the recorded one, which may come from an earlier attempt.

        replaces: names of records that the write deletes. tells: mail to the agent that is accepted with the write.
        Raises InvocationOverError if the state has been left.
        """
        ...


class InvokeJournal:
    """The records of an invocation, JSON texts by name, as one attempt at its function reads and writes them.

    A name is recorded once for the whole invocation. A record of one attempt has the attempt's number in its name.
    """

    is_of_agent: ClassVar[bool] = False  # whether later invocations find the records
    name: str = ""  # of a journal of an agent

    def __init__(
        self, recorder: Recorder, invocation: Invocation, recorded: MutableMapping[str, str], attempt: int = 0
    ) -> None:
        """Bind the journal to an attempt.

        recorded: the records of earlier attempts; this attempt adds its own. attempt: number of failed attempts before.
        """
        self._recorder = recorder
        self._recorded = recorded
        self.invocation = invocation
        self.attempt = attempt

    def recorded(self, name: str) -> str | None:
        """Return the text recorded under this name; None without one."""
        return self._recorded.get(name)

    def names(self, beginning: str) -> tuple[str, ...]:
        """Return the names of the records that start with this prefix."""
        return tuple(name for name in self._recorded if name.startswith(beginning))

    async def record(self, name: str, text: str, replaces: Sequence[str] = (), tells: Mail | None = None) -> str:
        """Record a text durably and return the recorded one: the first text for the name.

        replaces: names of records that the write deletes. tells: mail to the agent that is accepted with the write,
        and not with a repeat. Raises InvocationOverError if the state has been left.
        """
        kept = await self._recorder.record(self.invocation, name, text, replaces, tells)
        for replaced_name in replaces:
            self._recorded.pop(replaced_name, None)
        self._recorded[name] = kept
        return kept

    def is_of_earlier_entry(self, attempt: int) -> bool:  # noqa: ARG002  for journals of agents
        """Return whether an attempt belongs to an earlier entry of a state. An invocation's attempts never do."""
        return False

    def draw(self, name: str) -> float:
        """Return a random number in [0, 1) for this name. A repeat draws the same number."""
        return Random(self._identity(name)).random()

    def key(self, name: str) -> str:
        """Return an idempotency key for this name. A repeat gets the same key.

        It stays the same if a migration renames the state. Source: version 5 of RFC 9562.
        """
        return str(uuid5(KEYS, self._identity(name)))

    def _identity(self, name: str) -> str:
        call = self.invocation
        return "\0".join((call.agent_id, str(call.epoch), call.invoke, name))
