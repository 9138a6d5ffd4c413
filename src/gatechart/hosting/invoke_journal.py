"""What is recorded of one invocation: results of steps, and the framework's own marks, each under a name and once."""

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
"""The beginning of the names of marks, which no step of a user can have."""


def mark(kind: str, *of: object) -> str:
    """Return the name of one of the framework's marks. of: what it is about; text that may hold dots comes last.

    >>> mark("retry", 0, 2, "label")
    'gatechart.retry.0.2.label'
    """
    return RESERVED + ".".join((kind, *map(str, of)))


def checked_step(name: str, what: str = "step") -> str:
    """Return the name that a user gives a step unchanged.

    Raises PayloadError for a name that no store can keep, or that only the framework gives.
    """
    if checked_key(name, what).startswith(RESERVED):
        problem = f"{name!r}: names that begin with {RESERVED!r} are the framework's own"
        raise PayloadError(what, (problem,), "another name")
    return name


class Recorder(Protocol):
    """Where an invocation's records are written."""

    async def record(
        self, invocation: Invocation, name: str, text: str, replaces: Sequence[str] = (), tells: Mail | None = None
    ) -> str:
        """Record a text under a name and return the recorded one, which may come from an earlier attempt.

        replaces: names whose records are forgotten with the write. tells: mail to the agent that is accepted with it.
        Raises InvocationOverError if the state has been left.
        """
        ...


class InvokeJournal:
    """The records of an invocation, as JSON texts by name, as one attempt at its function reads and writes them.

    A name is recorded once and for the whole invocation. What counts for one attempt only has its number in the name.
    """

    is_of_agent: ClassVar[bool] = False  # whether later invocations find the records
    name: str = ""  # of a journal of an agent

    def __init__(
        self, recorder: Recorder, invocation: Invocation, recorded: MutableMapping[str, str], attempt: int = 0
    ) -> None:
        """Bind the journal to an attempt.

        recorded: what earlier attempts recorded; what this one records is added. attempt: how many failed before it.
        """
        self._recorder = recorder
        self._recorded = recorded
        self.invocation = invocation
        self.attempt = attempt

    def recorded(self, name: str) -> str | None:
        """Return the text recorded under this name; None if there is none."""
        return self._recorded.get(name)

    def names(self, beginning: str) -> tuple[str, ...]:
        """Return the names that begin so under which something is recorded."""
        return tuple(name for name in self._recorded if name.startswith(beginning))

    async def record(self, name: str, text: str, replaces: Sequence[str] = (), tells: Mail | None = None) -> str:
        """Record a text durably and return what is recorded: the first text that was given for the name.

        replaces: names whose records are forgotten with the write. tells: mail to the agent that is accepted with it,
        and not with a repeat. Raises InvocationOverError if the state has been left.
        """
        kept = await self._recorder.record(self.invocation, name, text, replaces, tells)
        for each in replaces:
            self._recorded.pop(each, None)
        self._recorded[name] = kept
        return kept

    def is_of_earlier_entry(self, attempt: int) -> bool:  # noqa: ARG002  for journals of agents
        """Whether an attempt belongs to an earlier entry of a state; those of an invocation never do."""
        return False

    def draw(self, name: str) -> float:
        """Return a random number from 0 to 1 that belongs to this name: a repeat draws the same one."""
        it = self.invocation
        return Random("\0".join((it.agent_id, str(it.epoch), it.invoke, name))).random()

    def key(self, name: str) -> str:
        """Return an idempotency key that belongs to this name: a repeat gets the same one.

        It stays the same if a migration renames the state. Source: version 5 of RFC 9562.
        """
        it = self.invocation
        return str(uuid5(KEYS, "\0".join((it.agent_id, str(it.epoch), it.invoke, name))))
