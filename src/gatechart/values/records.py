"""What is committed: turns, and what happens to mail and invocations between turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from enum import StrEnum
from typing import TypeAlias

from gatechart.values.agents import Event, GuardError, Outcome, Snapshot
from gatechart.values.effects import Effect, Send, Timer
from gatechart.values.frozen import value
from gatechart.values.mail import Invocation, Mail


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
    def mail(self) -> tuple[Mail, ...]:
        """What it sends and the timers that it sets, in order."""
        return tuple(self._mail())

    def _mail(self) -> Iterator[Mail]:
        number, agent_id, now = self.first_number, self.snapshot.agent_id, self.event.time
        for effect in self.effects:
            if isinstance(effect, Send):
                to, content = effect.recipient, effect.payload
                yield Mail(number, to, effect.event, content, now, effect.id, agent_id, effect.due)
            elif isinstance(effect, Timer):
                epoch = 0 if effect.state is None else self.snapshot.version
                name, content, due = effect.event, effect.payload, effect.due
                yield Mail(number, agent_id, name, content, now, None, agent_id, due, effect.key, effect.state, epoch)
            else:
                continue
            number += 1


@value
class Posting:
    """Mail from outside turns."""

    mail: Mail


@value
class MailChange:
    """What is to stand from now on for mail that stands already, by its number."""

    mail: Mail


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


Errand: TypeAlias = Posting | MailChange | MailEnd | StepRecord | Report
Unit: TypeAlias = TurnRecord | Errand


class Verdict(StrEnum):
    """What a store says of one unit of a commit."""

    COMMITTED = "committed"
    STALE = "stale"  # another version stands, or the invocation or mail is over; nothing of the unit was written
    REPEATED = "repeated"  # mail of this id was accepted or applied before; nothing was written
    REUSED = "reused"  # and with other content
