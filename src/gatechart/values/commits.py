"""What is committed: turns, and what happens to mail and invocations between turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from itertools import count
from typing import Final, Never, TypeAlias, get_args

from gatechart.errors import UnknownEffectError
from gatechart.values.agents import Event, GuardError, Outcome, Snapshot
from gatechart.values.effects import (
    Cancel,
    CancelAll,
    CancelTimer,
    ChangeHandoff,
    Effect,
    Offer,
    ReplaceInvocation,
    ReplaceMail,
    Send,
    StartInvoke,
    Timer,
    refuse_unknown,
)
from gatechart.values.frozen import value
from gatechart.values.handoffs import HandoffRecord, HandoffStatus
from gatechart.values.mail import Invocation, Mail
from gatechart.values.names import OFFERED, WITHDRAWN

_MAILED: Final = (Send, Timer)  # a union would be asked several times as slowly
_NOT_MAILED: Final = (CancelTimer, StartInvoke, Cancel, CancelAll, ReplaceMail, ReplaceInvocation, ChangeHandoff)


@value
class TurnRecord:
    """One turn, ready to be committed: `previous` is what it began from, None for the turn that starts an agent."""

    previous: Snapshot | None
    snapshot: Snapshot
    event: Event
    taken: tuple[str, ...]
    took_us: int = field(compare=False)  # the turn's own time, without the commit
    guard_errors: tuple[GuardError, ...] = ()
    effects: tuple[Effect, ...] = ()  # to be carried out with the commit, in this order
    consumes: int | None = None  # the number of the mail that the turn applied
    first_number: int = 0  # of the mail that it asks for

    @property
    def outcome(self) -> Outcome:
        """What the sender of the event is told once the record is committed."""
        after = self.snapshot
        return Outcome(
            self.event.name, after.configuration, after.version, after.status, self.taken, None, self.guard_errors
        )

    @property
    def mail_count(self) -> int:
        """How many numbers it needs for `mail`."""
        needed = 0
        for each in self.effects:
            if isinstance(each, Offer):
                needed += 1 if each.handoff.deadline is None else 2
            elif isinstance(each, _MAILED):
                needed += 1
            elif not isinstance(each, _NOT_MAILED):
                refuse_unknown(each)
        return needed

    def numbered(self, first_number: int, consumes: int | None) -> TurnRecord:
        """The same turn with these numbers; `dataclasses.replace` takes three times as long."""
        return TurnRecord(
            self.previous,
            self.snapshot,
            self.event,
            self.taken,
            self.took_us,
            self.guard_errors,
            self.effects,
            consumes,
            first_number,
        )

    @property
    def mail(self) -> tuple[Mail, ...]:
        """What it sends and the timers that it sets, in order."""
        return tuple(self._mail())

    def _mail(self) -> Iterator[Mail]:
        numbers, agent_id, now = count(self.first_number), self.snapshot.agent_id, self.event.time
        for effect in self.effects:
            match effect:
                case Send(to, event, content, mail_id, due):
                    yield Mail(next(numbers), to, event, content, now, mail_id, agent_id, due)
                case Timer(event, due, content, state, key):
                    epoch = 0 if state is None else self.snapshot.version
                    yield Mail(next(numbers), agent_id, event, content, now, None, agent_id, due, key, state, epoch)
                case Offer(offered, due):
                    yield from self._offered(offered, due, numbers)
                case (
                    CancelTimer()
                    | StartInvoke()
                    | Cancel()
                    | CancelAll()
                    | ReplaceMail()
                    | ReplaceInvocation()
                    | ChangeHandoff()
                ):
                    pass
                case _:
                    refuse_unknown(effect)

    def _offered(self, offered: HandoffRecord, due: datetime | None, numbers: Iterator[int]) -> Iterator[Mail]:
        """What tells the target of an offer; nothing of one that was over when it was made."""
        if offered.status is not HandoffStatus.PENDING:
            return
        agent_id, now, to = self.snapshot.agent_id, self.event.time, offered.target
        yield Mail(next(numbers), to, f"{OFFERED}{offered.entry_point}", offered.packet, now, offered.id, agent_id, due)
        if offered.deadline is not None:
            late = {"handoff": offered.id, "expired": True}
            yield Mail(next(numbers), to, WITHDRAWN, late, now, None, agent_id, offered.deadline)


@value
class Posting:
    """Mail from outside turns."""

    mail: Mail


@value
class MailChange:
    """What is to stand from now on for mail that stands already, by its number."""

    mail: Mail
    raises: Mail | None = None  # accepted with the change; the change is then made once, of mail that waits


@value
class MailEnd:
    """Mail that is to be forgotten: it is stale, came twice, or was discarded."""

    number: int


@value
class StepRecord:
    """The result of a step, once and for all."""

    invocation: Invocation
    name: str
    result: str  # JSON text


@value
class Report:
    """What an invocation tells its agent: progress, or in the end what it came to."""

    invocation: Invocation
    mail: Mail
    ends: bool

    def numbered(self, number: int) -> Report:
        """The same under this number."""
        return replace(self, mail=replace(self.mail, number=number))


@value
class Answer:
    """The end of an offer that is not taken, told to the agent that asked."""

    settle: ChangeHandoff
    time: datetime
    consumes: int  # the number of the mail that it answers
    reply: Mail

    @property
    def mail(self) -> Mail:
        """What it sends."""
        return self.reply

    def numbered(self, number: int) -> Answer:
        """The same under this number."""
        return replace(self, reply=replace(self.reply, number=number))


@value
class ReserveSlot:
    """A place for a handoff among those that agents of a graph have at once, until the handoff is over."""

    handoff: str  # its id
    graph: str
    most: int  # places that there are


StoreTask: TypeAlias = Posting | MailChange | MailEnd | StepRecord | Report | Answer | ReserveSlot
Unit: TypeAlias = TurnRecord | StoreTask


_UNITS: Final[tuple[type, ...]] = get_args(Unit)


def refuse_unknown_unit(unit: Never) -> Never:
    """End a match over units: `typing.assert_never` for type checkers, and an error that says what is known.

    Raises UnknownEffectError.
    """
    raise UnknownEffectError(type(unit).__name__, tuple(kind.__name__ for kind in _UNITS))


class Verdict(StrEnum):
    """What a store says of one unit of a commit."""

    COMMITTED = "committed"
    STALE = "stale"  # another version stands, what it is about is over, or no place is free; nothing was written
    REPEATED = "repeated"  # mail of this id was accepted or applied before; nothing was written
    REUSED = "reused"  # and with other content
