"""Mail and invocations in memory: what the agents of a MemoryStore have before them and under way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from gatechart.values import (
    ActiveInvocation,
    AgentId,
    Cancel,
    CancelAll,
    CancelTimer,
    ChangeHandoff,
    Effect,
    Invocation,
    Mail,
    MailStatus,
    Offer,
    ReplaceInvocation,
    ReplaceMail,
    Report,
    Send,
    StartInvoke,
    StateName,
    StepRecord,
    Timer,
    TurnRecord,
    Verdict,
    refuse_unknown,
)


@dataclass(slots=True)
class _Desk:
    """What one agent has pending."""

    mail: dict[int, Mail] = field(default_factory=dict)  # by number
    calls: dict[Invocation, ActiveInvocation] = field(default_factory=dict)
    steps: dict[Invocation, dict[str, str]] = field(default_factory=dict)

    def drop_timers(self, *, state: StateName | None = None, key: str | None = None) -> None:
        """Forgets those that wait: of a state, or of a key, or all."""
        everything = state is None and key is None
        self.mail = {
            number: mail
            for number, mail in self.mail.items()
            if mail.status is not MailStatus.WAITING
            or not (
                (state is not None and mail.state == state)
                or (key is not None and mail.key == key)
                or (everything and (mail.state is not None or mail.key is not None))
            )
        }

    def end_calls(self, state: StateName | None = None) -> None:
        """Forgets the invocations of a state, or all."""
        for call in [call for call in self.calls if state in (None, call.state)]:
            self.end_call(call)

    def end_call(self, call: Invocation) -> None:
        """Forgets an invocation and its steps."""
        self.calls.pop(call, None)
        self.steps.pop(call, None)

    def adopt(self, call: Invocation, running: ActiveInvocation | None) -> None:
        """Puts an invocation, with the steps of another, in its place; or just ends that."""
        steps = self.steps.get(call)
        self.end_call(call)
        if running is not None:
            self.calls[running.invocation] = running
            if steps is not None:
                self.steps[running.invocation] = steps


class Pending:
    """The mail and the invocations of all agents. Numbers and verdicts as in the Store port."""

    def __init__(self) -> None:
        self._desks: defaultdict[AgentId, _Desk] = defaultdict(_Desk)
        self._recipients: dict[int, AgentId] = {}  # by number; some of mail that is gone

    def mail(self) -> Iterator[Mail]:
        """All mail, in the order accepted."""
        for number, recipient in sorted(self._recipients.items()):
            mail = self._desks[recipient].mail.get(number)
            if mail is None:
                del self._recipients[number]
            else:
                yield mail

    def calls(self) -> Iterator[ActiveInvocation]:
        """All invocations, agent by agent."""
        for desk in self._desks.values():
            yield from desk.calls.values()

    def steps(self, invocation: Invocation) -> dict[str, str]:
        """The results recorded for an invocation."""
        return dict(self._desks[invocation.agent_id].steps.get(invocation, {}))

    def with_id(self, recipient: AgentId, mail_id: str) -> Mail | None:
        """The waiting mail of this id."""
        waiting = (mail for mail in self._desks[recipient].mail.values() if mail.status is MailStatus.WAITING)
        return next((mail for mail in waiting if mail.id == mail_id), None)

    def put(self, mail: Mail) -> None:
        """Accepts mail, or replaces what stands under its number."""
        self._desks[mail.recipient].mail[mail.number] = mail
        self._recipients[mail.number] = mail.recipient

    def take(self, number: int) -> Mail | None:
        """Forgets the mail of this number; None where there is none."""
        recipient = self._recipients.pop(number, None)
        return None if recipient is None else self._desks[recipient].mail.pop(number, None)

    def numbered(self, number: int) -> Mail | None:
        """The mail of this number."""
        recipient = self._recipients.get(number)
        return None if recipient is None else self._desks[recipient].mail.get(number)

    def carry_out(self, turn: TurnRecord) -> None:
        """Ends and then begins what a committed turn asks for, but for its mail."""
        after = turn.snapshot
        desk = self._desks[after.agent_id]
        begun = []
        for effect in turn.effects:
            if isinstance(effect, StartInvoke):
                call = Invocation(after.agent_id, effect.state, after.version, effect.invoke)
                begun.append(ActiveInvocation(call, after.graph, after.graph_version, after.context))
            else:
                self._end_or_change(desk, effect)
        desk.calls |= {each.invocation: each for each in begun}

    def _end_or_change(self, desk: _Desk, effect: Effect) -> None:
        match effect:
            case Cancel(state):
                desk.drop_timers(state=state)
                desk.end_calls(state)
            case CancelTimer(key):
                desk.drop_timers(key=key)
            case CancelAll():
                desk.drop_timers()
                desk.end_calls()
            case ReplaceMail(number, mail):
                self._amend(number, mail)
            case ReplaceInvocation(invocation, running):
                desk.adopt(invocation, running)
            # begun behind these, sent, or kept as handoffs
            case StartInvoke() | Send() | Timer() | Offer() | ChangeHandoff():
                pass
            case _:
                refuse_unknown(effect)

    def _amend(self, number: int, mail: Mail | None) -> None:
        if mail is None:
            self.take(number)
        else:
            self.put(mail)

    def record(self, step: StepRecord) -> Verdict:
        """Keeps the result of a step."""
        desk = self._desks[step.invocation.agent_id]
        if step.invocation not in desk.calls:
            return Verdict.STALE
        results = desk.steps.setdefault(step.invocation, {})
        if step.name in results:
            return Verdict.REPEATED
        results[step.name] = step.result
        return Verdict.COMMITTED

    def report(self, report: Report) -> Verdict:
        """Accepts the mail of an invocation that has not ended."""
        desk = self._desks[report.invocation.agent_id]
        if report.invocation not in desk.calls:
            return Verdict.STALE
        if report.ends:
            del desk.calls[report.invocation]
            desk.steps.pop(report.invocation, None)
        self.put(report.mail)
        return Verdict.COMMITTED

    def forget(self, agent_id: AgentId) -> None:
        """Forgets all that an agent has pending."""
        self._desks.pop(agent_id, None)
