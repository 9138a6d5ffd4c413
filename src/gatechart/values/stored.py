"""A stored agent as a migration sees it: what it was, what waits for it, what it has under way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gatechart.values.handoffs import OpenHandoff
from gatechart.values.mail import ActiveInvocation, Mail
from gatechart.values.names import EntryVersions, Memory, StateName


@dataclass(frozen=True, slots=True)
class Stored:
    """What a migration gets and gives back, changed with `dataclasses.replace`."""

    configuration: tuple[StateName, ...]  # the active leaves
    context: Mapping[str, Any]  # JSON values
    memory: Memory  # of the history states
    entered: EntryVersions  # of the active states with timers or invokes; what belongs to others ends
    mail: tuple[Mail, ...]  # that waits, timers included; what is left out is forgotten
    running: tuple[ActiveInvocation, ...]  # invocations; what is left out ends, the others begin again with their steps
    handoffs: tuple[OpenHandoff, ...] = ()  # in which it has a part; their states are where it waits for them

    def renamed(self, names: Mapping[StateName, StateName]) -> Stored:
        """The same with states renamed everywhere, in the events of their timers, too.

        >>> from datetime import UTC, datetime
        >>> timer = Mail(1, "a", "after.1h.NEW", {}, datetime(2030, 1, 1, tzinfo=UTC), state="NEW", epoch=3)
        >>> stored = Stored(("NEW",), {}, (), (("NEW", 3),), (timer,), ()).renamed({"NEW": "OPEN"})
        >>> stored.configuration, stored.entered, stored.mail[0].state, stored.mail[0].event
        (('OPEN',), (('OPEN', 3),), 'OPEN', 'after.1h.OPEN')
        """

        def name(state: StateName) -> StateName:
            return names.get(state, state)

        return replace(
            self,
            configuration=tuple(map(name, self.configuration)),
            memory=tuple((name(history), tuple(map(name, states))) for history, states in self.memory),
            entered=tuple((name(state), epoch) for state, epoch in self.entered),
            mail=tuple(_renamed(mail, name) for mail in self.mail),
            running=tuple(
                replace(each, invocation=replace(each.invocation, state=name(each.invocation.state)))
                for each in self.running
            ),
            handoffs=tuple(replace(each, states=tuple(map(name, each.states))) for each in self.handoffs),
        )


def _renamed(mail: Mail, name: Callable[[StateName], StateName]) -> Mail:
    if mail.state is None:
        return mail
    event, end = mail.event, f".{mail.state}"
    if event.startswith("after.") and event.endswith(end):
        event = f"{event.removesuffix(end)}.{name(mail.state)}"
    return replace(mail, state=name(mail.state), event=event)
