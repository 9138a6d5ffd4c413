"""Stored agents on their way from one version of a graph to another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from gatechart.values.handoffs import OpenHandoff
from gatechart.values.mail import ActiveInvocation, Mail
from gatechart.values.names import AgentId, EntryVersions, Memory, StateName


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


class Fate(StrEnum):
    """What becomes of a stored agent, given the graphs that are registered."""

    STAYS = "stays"  # its version is registered, and is as it was
    CHANGED = "changed"  # its version is registered, but was changed since the agent's last turn; the agent fits
    MIGRATES = "migrates"  # its version is not registered, and migrations lead to the newest
    STUCK = "stuck"  # it fits nowhere, and stays as it was


@dataclass(frozen=True, slots=True)
class Migrated:
    """What becomes of one stored agent. What it has beside its snapshot is counted: mail (timers included), invokes."""

    agent_id: AgentId
    graph: str
    fate: Fate
    before: str  # the version of the graph that it has
    after: str  # that it goes on with; as before where it is stuck
    source: tuple[StateName, ...]  # its configuration
    target: tuple[StateName, ...]  # that it goes on with
    problem: str | None = None  # why it is stuck
    mail_amended: int = 0
    mail_ended: int = 0
    timers_begun: int = 0
    invokes_kept: int = 0  # that begin again, with their steps
    invokes_ended: int = 0
    invokes_begun: int = 0


@dataclass(frozen=True, slots=True)
class KnownGraph:
    """A graph that hosted agents on a store, so that their states can be told when it is gone."""

    fingerprint: str
    name: str
    version: str
    paths: Mapping[StateName, str]  # each state with all that it lies in, outermost first, joined by dots
