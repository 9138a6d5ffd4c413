"""The journal of an invocation: results of steps, and the framework's own marks. A name is recorded once."""

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
"""The prefix of the names of marks; names of users' steps cannot have it."""


def mark(kind: str, *of: object) -> str:
    """Return the name of one of the framework's marks. of: parts of the name; text with dots must come last.

    >>> mark("retry", 0, 2, "label")
    'gatechart.retry.0.2.label'
    """
    return RESERVED + ".".join((kind, *map(str, of)))


def checked_step(name: str, what: str = "step") -> str:
    """Return the user's name of a step unchanged.

    Raises PayloadError for a name that a store cannot keep, or that is reserved for the framework.
    """
    if checked_key(name, what).startswith(RESERVED):
        problem = f"{name!r}: names that begin with {RESERVED!r} are the framework's own"
        raise PayloadError(what, (problem,), "another name")
    return name


class Recorder(Protocol):
    """Writes the records of an invocation."""

    async def record(
        self, invocation: Invocation, name: str, text: str, replaces: Sequence[str] = (), tells: Mail | None = None
    ) -> str:
        """Record a text under a name, and return the recorded text, which an earlier attempt may have written.

        replaces: names whose records are deleted with the write. tells: mail to the agent, accepted with the write.
        Raises InvocationOverError if the state has been left.
        """
        ...


class InvokeJournal:
    """The records of an invocation, as JSON texts by name, as one attempt at its function reads and writes them.

    A name is recorded once for the whole invocation. Records of a single attempt have its number in their names.
    """

    is_of_agent: ClassVar[bool] = False  # whether later invocations share the records
    name: str = ""  # of a journal of an agent

    def __init__(
        self, recorder: Recorder, invocation: Invocation, recorded: MutableMapping[str, str], attempt: int = 0
    ) -> None:
        """Bind the journal to an attempt.

        recorded: records of earlier attempts, extended by this attempt. attempt: number of failed attempts before it.
        """
        self._recorder = recorder
        self._recorded = recorded
        self.invocation = invocation
        self.attempt = attempt

    def recorded(self, name: str) -> str | None:
        """Return the text recorded under a name; None if there is none."""
        return self._recorded.get(name)

    def names(self, beginning: str) -> tuple[str, ...]:
        """Return the recorded names that start with a text."""
        return tuple(name for name in self._recorded if name.startswith(beginning))

    async def record(self, name: str, text: str, replaces: Sequence[str] = (), tells: Mail | None = None) -> str:
        """Record a text durably, and return the recorded text: the first text of the name.

        replaces: names whose records are deleted with the write. tells: mail to the agent, accepted with the write but
        not with a repeat. Raises InvocationOverError if the state has been left.
        """
        kept = await self._recorder.record(self.invocation, name, text, replaces, tells)
        for replaced in replaces:
            self._recorded.pop(replaced, None)
        self._recorded[name] = kept
        return kept

    def is_of_earlier_entry(self, attempt: int) -> bool:  # noqa: ARG002  for journals of agents
        """Return whether an attempt belongs to an earlier entry of a state; False for attempts of this invocation."""
        return False

    def draw(self, name: str) -> float:
        """Return a random number from 0 to 1 for a name: a repeat draws the same number."""
        return Random(self._identity(name)).random()

    def key(self, name: str) -> str:
        """Return the idempotency key of a name: a repeat gets the same key.

        It stays the same if a migration renames the state. Source: version 5 of RFC 9562.
        """
        return str(uuid5(KEYS, self._identity(name)))

    def _identity(self, name: str) -> str:
        call = self.invocation
        return "\0".join((call.agent_id, str(call.epoch), call.invoke, name))
