"""Stored agents that migrate from one version of a graph to another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any

from gatechart.values.frozen import value
from gatechart.values.handoffs import OpenHandoff
from gatechart.values.mail import ActiveInvocation, Mail
from gatechart.values.names import RECURRING, AgentId, EntryVersions, Memory, StateName
from gatechart.values.transfers import TransferCount, TransferCounts


@value
class Stored:
    """The stored state that a migration receives and returns, changed with `dataclasses.replace`."""

    configuration: tuple[StateName, ...]  # the active leaves
    context: Mapping[str, Any]  # JSON values
    memory: Memory  # of history states
    entered: EntryVersions  # for active states with timers or invokes; timers and invokes of other states end
    mail: tuple[Mail, ...]  # waiting mail, timers included; mail left out is deleted
    running: tuple[ActiveInvocation, ...]  # invocations; those left out end, the others restart with their steps
    handoffs: tuple[OpenHandoff, ...] = ()  # open handoffs; `states` is where the agent waits for each
    transfers: TransferCounts = ()  # of states with transfers

    def renamed(self, names: Mapping[StateName, StateName]) -> Stored:
        """Rename states everywhere, including the events of their timers.

        >>> from datetime import UTC, datetime
        >>> timer = Mail(1, "a", "after.1h.NEW", {}, datetime(2030, 1, 1, tzinfo=UTC), state="NEW", epoch=3)
        >>> again = replace(timer, event="every.1d.NEW")
        >>> stored = Stored(("NEW",), {}, (), (("NEW", 3),), (timer, again), ()).renamed({"NEW": "OPEN"})
        >>> stored.configuration, stored.entered, stored.mail[0].state, [mail.event for mail in stored.mail]
        (('OPEN',), (('OPEN', 3),), 'OPEN', ['after.1h.OPEN', 'every.1d.OPEN'])
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
                replace(item, invocation=replace(item.invocation, state=name(item.invocation.state)))
                for item in self.running
            ),
            handoffs=tuple(replace(item, states=tuple(map(name, item.states))) for item in self.handoffs),
            transfers=tuple(_renamed_count(item, name) for item in self.transfers),
        )


def _renamed_count(count: TransferCount, name: Callable[[StateName], StateName]) -> TransferCount:
    visits = tuple(replace(visit, target=name(visit.target)) for visit in count.visits)
    return replace(count, state=name(count.state), refused=name(count.refused), visits=visits)


def _renamed(mail: Mail, name: Callable[[StateName], StateName]) -> Mail:
    if mail.state is None:
        return mail
    event, end = mail.event, f".{mail.state}"
    if event.startswith(("after.", RECURRING)) and event.endswith(end):
        event = f"{event.removesuffix(end)}.{name(mail.state)}"
    return replace(mail, state=name(mail.state), event=event)


class Fate(StrEnum):
    """The effect of a migration on a stored agent, given the registered graphs."""

    STAYS = "stays"  # its version is registered and unchanged
    CHANGED = "changed"  # its version is registered but changed since the agent's last turn; the agent still fits
    MIGRATES = "migrates"  # its version is not registered; migrations lead to the newest
    STUCK = "stuck"  # no registered version fits; the agent is unchanged


@value
class Migrated:
    """The migration result for one stored agent, with counts of its mail (timers included) and invokes."""

    agent_id: AgentId
    graph: str
    fate: Fate
    before: str  # graph version before
    after: str  # graph version after; unchanged if stuck
    source: tuple[StateName, ...]  # configuration before
    target: tuple[StateName, ...]  # configuration after
    problem: str | None = None  # why it is stuck
    mail_amended: int = 0
    mail_ended: int = 0
    timers_begun: int = 0
    invokes_kept: int = 0  # restarted with their steps
    invokes_ended: int = 0
    invokes_begun: int = 0


@value
class KnownGraph:
    """A graph that once hosted agents on a store; describes their states when the graph is gone."""

    fingerprint: str
    name: str
    version: str
    paths: Mapping[StateName, str]  # each state with its ancestors, outermost first, joined by dots
