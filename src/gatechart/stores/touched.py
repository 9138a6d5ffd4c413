"""What a batch of units touches, for stores that load it before they judge the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import assert_never

from gatechart.stores.operations import MailId
from gatechart.values import (
    AgentId,
    Answer,
    BreakerChange,
    Cancel,
    CancelAll,
    CancelTimer,
    ChangeHandoff,
    Effect,
    Invocation,
    InvocationTask,
    JournalRecord,
    MailChange,
    MailEnd,
    Offer,
    Posting,
    ReplaceInvocation,
    ReplaceMail,
    Report,
    ReserveSlot,
    Send,
    StartInvoke,
    StepRecord,
    StoreTask,
    Timer,
    TurnRecord,
    Unit,
    refuse_unknown,
    refuse_unknown_unit,
)


@dataclass(slots=True)
class Touched:
    """What a batch of units touches, for a store that has to load it."""

    agent_ids: list[AgentId] = field(default_factory=list)  # of the turns, in order
    consumed: list[int] = field(default_factory=list)  # numbers of mail that turns consume
    numbers: list[int] = field(default_factory=list)  # of mail that is changed or ended
    names: list[MailId] = field(default_factory=list)  # of mail that is sent, or waits again
    steps: list[tuple[Invocation, str]] = field(default_factory=list)  # the step is "" for anything else
    entries: list[tuple[AgentId, str, str]] = field(default_factory=list)  # of journals: agent, journal and name
    handoffs: set[str] = field(default_factory=set)  # changed, or about to get a slot
    graphs: set[str] = field(default_factory=set)  # of requested slots

    def add_effect(self, effect: Effect) -> None:
        """Note what an effect touches."""
        match effect:
            case Send(recipient, id=mail_id):
                self._add_name(recipient, mail_id)
            case Offer(handoff):
                self.names.append((handoff.target, handoff.id))
            case ChangeHandoff(handoff_id):
                self.handoffs.add(handoff_id)
            case ReplaceMail(number):
                self.numbers.append(number)
            case ReplaceInvocation(invocation):
                self.steps.append((invocation, ""))
            case Timer() | CancelTimer() | Cancel() | CancelAll() | StartInvoke():
                pass
            case _:
                refuse_unknown(effect)

    def add_task(self, task: StoreTask) -> None:
        """Note what a task touches."""
        match task:
            case Posting(mail):
                self._add_name(mail.recipient, mail.id)
            case MailChange(mail):
                self.numbers.append(mail.number)
                self._add_name(mail.recipient, mail.id)
            case MailEnd(number):
                self.numbers.append(number)
            case StepRecord() | JournalRecord() | Report():
                self._add_invocation_task(task)
            case Answer(change, consumes=number):
                self.numbers.append(number)
                self.handoffs.add(change.handoff)
            case ReserveSlot(handoff_id, graph):
                self.handoffs.add(handoff_id)
                self.graphs.add(graph)
            case _:
                refuse_unknown_unit(task)

    def _add_invocation_task(self, task: InvocationTask) -> None:
        match task:
            case StepRecord(invocation, name):
                self.steps.append((invocation, name))
            case JournalRecord(invocation, journal, name):
                self.steps.append((invocation, ""))
                self.entries.append((invocation.agent_id, journal, name))
            case Report(invocation):
                self.steps.append((invocation, ""))
            case _:
                assert_never(task)

    def _add_name(self, recipient: AgentId, mail_id: str | None) -> None:
        if mail_id is not None:
            self.names.append((recipient, mail_id))


def touched(units: Sequence[Unit]) -> Touched:
    """Return what the units touch. Raises UnknownEffectError for a unit or an effect of an unknown class."""
    noted = Touched()
    for unit in units:
        if isinstance(unit, TurnRecord):
            noted.agent_ids.append(unit.snapshot.agent_id)
            if unit.consumes is not None:
                noted.consumed.append(unit.consumes)
            for effect in unit.effects:
                noted.add_effect(effect)
        elif not isinstance(unit, BreakerChange):
            noted.add_task(unit)
    return noted
