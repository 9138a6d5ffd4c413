"""What is asked of a store, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gatechart.values.agents import Event, GuardError, Outcome, Snapshot, Status
from gatechart.values.frozen import value
from gatechart.values.mail import MailStatus
from gatechart.values.names import OFFERED, STARTED, AgentId, StateName


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One committed turn, as the store remembers it."""

    agent_id: AgentId
    version: int
    event: Event
    source: tuple[StateName, ...]  # empty for the turn that started the agent
    target: tuple[StateName, ...]
    taken: tuple[str, ...]
    changed: Mapping[str, Any]  # top-level fields of the context, with their new JSON values; not those in `appended`
    status: Status
    took_us: int
    guard_errors: tuple[GuardError, ...] = ()
    appended: Mapping[str, tuple[Any, ...]] = field(
        default_factory=dict
    )  # fields whose lists only grew, by these items

    @property
    def entry_point(self) -> str:
        """The name of the entry point through which this turn started the agent; empty for every other turn."""
        beginnings = (prefix for prefix in (STARTED, OFFERED) if self.event.name.startswith(prefix))
        return "" if self.source else self.event.name.removeprefix(next(beginnings, self.event.name))

    @property
    def outcome(self) -> Outcome:
        """The outcome that the event had."""
        return Outcome(self.event.name, self.target, self.version, self.status, self.taken, None, self.guard_errors)


@dataclass(frozen=True, slots=True)
class ActiveIn:
    """Agents of a graph, None for any, in which one of these leaves is active."""

    graph: str | None
    leaves: tuple[StateName, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """Which agents to find; None asks for all."""

    graph: str | None = None
    active: tuple[ActiveIn, ...] | None = None  # one of these
    status: Status | None = None
    after: AgentId | None = None  # the agent after which the page begins
    limit: int = 100


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the agents found, in the order they were started."""

    agents: tuple[Snapshot, ...] = field(default=())
    next: AgentId | None = None  # pass it as `after` for the next page; None on the last


@dataclass(frozen=True, slots=True)
class MailQuery:
    """Which mail to find, in the order accepted; None asks for all."""

    recipient: AgentId | None = None
    status: MailStatus | None = None
    after: int = 0  # the number after which the page begins
    limit: int = 100


@dataclass(frozen=True, slots=True)
class Pruning:
    """Which of the past may be forgotten; None forgets nothing for that reason.

    The newest turn of an agent stays, and with it every turn from the oldest that carries an event id not yet out of
    the window. An agent that has ended is erased whole, but not before its last id is out of the window and no mail
    waits for it.
    """

    ids_since: datetime  # the window: events with an id and this time or a later one are recognised when they repeat
    ended_before: datetime | None = None  # agents done, failed or stopped whose last turn is older
    turns_before: datetime | None = None  # turns that are older
    keep_turns: int | None = None  # turns of an agent beyond so many newest ones
    mail_before: datetime | None = None  # refused and dead mail accepted before
    status: Status | None = None  # of the agents that are erased: done, failed or stopped; None: any


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a pruning has forgotten in all, or would forget."""

    agents: int = 0  # that had ended
    turns: int = 0  # of agents that stay
    mail: int = 0  # not counting that of erased agents


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a part of a pruning has forgotten, or would forget."""

    erased: tuple[AgentId, ...]
    turns: int  # of agents that stay
    mail: int  # not counting that of erased agents
    next: int | None  # pass it as `after` for the next part; None on the last


@value
class Request:
    """A call that somebody asks the owner of the database to carry out."""

    id: str  # the asker's own, like no other
    asker: str  # what one asker asks is carried out in order
    call: str  # JSON text
    until: datetime  # it is not begun later
    number: int = 0  # in the order asked, in a store
