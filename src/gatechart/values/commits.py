"""Units of a commit: turns, and changes to mail and invocations between turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Never, TypeAlias, get_args

from gatechart.errors.definition import UnknownEffectError
from gatechart.values.agents import Event, GuardError, Outcome, Snapshot
from gatechart.values.breakers import BreakerRecord
from gatechart.values.effects import ChangeHandoff, Effect, mail_sent
from gatechart.values.fired_signals import FiredSignal
from gatechart.values.frozen import replaced, value
from gatechart.values.mail import Invocation, Mail
from gatechart.values.names import AgentId


@value
class TurnRecord:
    """One turn, ready to be committed. `previous` is the snapshot before it; None for a starting turn."""

    previous: Snapshot | None
    snapshot: Snapshot
    event: Event
    taken: tuple[str, ...]
    took_us: int = field(compare=False)  # duration of the turn, without the commit
    guard_errors: tuple[GuardError, ...] = ()
    effects: tuple[Effect, ...] = ()  # carried out with the commit, in this order
    consumes: int | None = None  # number of the mail that the turn applies
    mail: tuple[Mail, ...] = ()  # sent by the turn, timers included, in order; see `numbered`
    fired: FiredSignal | None = None  # the signals that fired in the turn

    @property
    def outcome(self) -> Outcome:
        """Outcome that the sender of the event gets once the record is committed."""
        after = self.snapshot
        return Outcome(
            self.event.name, after.configuration, after.version, after.status, self.taken, None, self.guard_errors
        )

    def numbered(self, number: Callable[[], int], consumes: int | None = None) -> TurnRecord:
        """Return the turn with the mail that its effects send, and the number of the mail that it applies.

        number: returns the next number for mail.
        """
        if not self.effects and consumes is None:
            return self
        return replaced(
            self, consumes=consumes, mail=tuple(mail_sent(self.effects, self.snapshot, self.event.time, number))
        )


@value
class Posting:
    """Mail from outside turns."""

    mail: Mail


@value
class MailChange:
    """The new form of stored mail, identified by its number."""

    mail: Mail
    raises: Mail | None = None  # accepted with the change, which then applies only once, and only to waiting mail


@value
class MailEnd:
    """Mail to delete: it is stale, a duplicate, or discarded."""

    number: int


@value
class StepRecord:
    """The final result of a step."""

    invocation: Invocation
    name: str
    result: str  # JSON text
    replaces: tuple[str, ...] = ()  # names of steps deleted by the same write
    tells: Mail | None = None  # mail to the agent that is accepted with the write

    def numbered(self, number: int) -> StepRecord:
        """Return the same record with this number for its mail, if it has any."""
        return self if self.tells is None else replaced(self, tells=replaced(self.tells, number=number))


@value
class JournalRecord:
    """An entry of one of an agent's journals, written by an invocation or an operator. It outlives the invocation."""

    invocation: Invocation  # its state is empty if an operator writes the entry
    journal: str  # its name; an agent may have several
    name: str  # unique in the journal
    entry: str  # JSON text
    replaces: tuple[str, ...] = ()  # names of entries deleted by the same write; its own: written in the same position
    tells: Mail | None = None  # mail to the agent that is accepted with the write

    @classmethod
    def by_operator(cls, agent_id: AgentId, journal: str, name: str, entry: str) -> JournalRecord:
        """Return an entry that an operator writes, independent of any invocation."""
        return cls(Invocation(agent_id, "", 0, ""), journal, name, entry)

    @property
    def is_by_operator(self) -> bool:
        """Whether an operator writes it, so that it depends on no invocation."""
        return not self.invocation.state

    def numbered(self, number: int) -> JournalRecord:
        """Return the same record with this number for its mail, if it has any."""
        return self if self.tells is None else replaced(self, tells=replaced(self.tells, number=number))


@value
class JournalEntry:
    """An entry of one of an agent's journals, for readers."""

    name: str  # unique in the journal
    content: Any  # JSON value


@value
class TranscriptCut:
    """The part of a transcript that an operator cut out."""

    left_out: tuple[str, ...]  # names of the entries, in the order written; empty if there was nothing to cut


CONVERSATION: Final = "conversation"
"""The journal in which model loops keep the transcript, unless they name another."""


@value
class InvokeReport:
    """A report of an invocation to its agent: progress, or its final result."""

    invocation: Invocation
    mail: Mail
    ends: bool

    @property
    def tells(self) -> Mail:
        """Mail that it sends."""
        return self.mail

    def numbered(self, number: int) -> InvokeReport:
        """Return the same report with this number."""
        return InvokeReport(self.invocation, replaced(self.mail, number=number), self.ends)


@value
class RejectionReport:
    """The rejection of an offer, reported to the agent that made it."""

    settle: ChangeHandoff
    time: datetime
    consumes: int  # number of the mail that it answers
    reply: Mail

    @property
    def tells(self) -> Mail:
        """Mail that it sends."""
        return self.reply

    def numbered(self, number: int) -> RejectionReport:
        """Return the same answer with this number."""
        return replaced(self, reply=replaced(self.reply, number=number))


@value
class ReserveSlot:
    """A slot among a graph's limited concurrent handoffs, held until the handoff is over."""

    handoff: str  # handoff id
    graph: str
    most: int  # number of slots


@value
class BreakerChange:
    """The new state of a circuit breaker. The record of a closed one is deleted: it equals a breaker never used."""

    breaker: BreakerRecord


InvocationTask: TypeAlias = StepRecord | JournalRecord | InvokeReport
Telling: TypeAlias = InvocationTask | RejectionReport
"""Units that can carry mail, under `tells`."""
StoreTask: TypeAlias = Posting | MailChange | MailEnd | InvocationTask | RejectionReport | ReserveSlot
Unit: TypeAlias = TurnRecord | StoreTask | BreakerChange


_UNITS: Final[tuple[type, ...]] = get_args(Unit)


def refuse_unknown_unit(unit: Never) -> Never:
    """End a match over units. Type checkers treat it as `typing.assert_never`.

    Raises UnknownEffectError, which lists the known units.
    """
    raise UnknownEffectError(type(unit).__name__, tuple(unit_type.__name__ for unit_type in _UNITS))


class Verdict(StrEnum):
    """The store's verdict on one unit of a commit."""

    COMMITTED = "committed"
    STALE = "stale"  # the stored version differs, its subject is over, or no slot is free; nothing was written
    REPEATED = "repeated"  # mail with this id was accepted or applied before; nothing was written
    REUSED = "reused"  # as REPEATED, but with other content
