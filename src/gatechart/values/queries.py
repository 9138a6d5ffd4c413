"""Queries to a store, and their answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeVar

from gatechart.values.agents import Event, GuardError, Origin, Outcome, Snapshot, Status
from gatechart.values.fired_signals import FiredSignal
from gatechart.values.frozen import value
from gatechart.values.mail import MailStatus
from gatechart.values.names import OFFERED, STARTED, AgentId, StateName
from gatechart.values.search import Condition
from gatechart.values.secrets import shown_repr


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One committed turn, as the store keeps it."""

    agent_id: AgentId
    version: int
    event: Event
    source: tuple[StateName, ...]  # empty for the turn that started the agent
    target: tuple[StateName, ...]
    taken: tuple[str, ...]
    changed: Mapping[str, Any]  # top-level context fields with their new JSON values, except those in `appended`
    status: Status
    took_us: int
    guard_errors: tuple[GuardError, ...] = ()
    appended: Mapping[str, tuple[Any, ...]] = field(
        default_factory=dict
    )  # list fields that only grew, with the new items
    fired: FiredSignal | None = None  # what the turn noticed about the agent

    @property
    def origin(self) -> Origin:
        """Kind of sender behind the event."""
        return self.event.origin

    @property
    def entry_point(self) -> str:
        """Name of the entry point through which this turn started the agent; empty for every other turn."""
        beginnings = (prefix for prefix in (STARTED, OFFERED) if self.event.name.startswith(prefix))
        return "" if self.source else self.event.name.removeprefix(next(beginnings, self.event.name))

    __repr__ = shown_repr

    @property
    def outcome(self) -> Outcome:
        """Outcome of the event."""
        return Outcome(self.event.name, self.target, self.version, self.status, self.taken, None, self.guard_errors)


@value
class ActiveIn:
    """Agents of a graph (any if None) in which one of these leaves is active."""

    graph: str | None
    leaves: tuple[StateName, ...]
    quiet_since: datetime | None = None  # only those whose newest turn happened at this moment or before


N = TypeVar("N", bound=str)

BY_START: Final = "started"
BY_CHANGE: Final = "changed"


@value
class Order:
    """The order of the agents found."""

    by: str = BY_START  # or BY_CHANGE, by the commit of the newest turn, or a searchable field
    is_descending: bool = False  # the newest or greatest first

    @property
    def field(self) -> str | None:
        """The field by whose values agents are ordered; those without one are left out. None by start or change."""
        return None if self.by in (BY_START, BY_CHANGE) else self.by

    @classmethod
    def of(cls, text: str) -> Order:
        """Read an order: by start with the oldest first, by last change with the newest first, or by a field.

        A minus sign turns it round.
        >>> Order.of("-started"), Order.of("changed")
        (Order(by='started', is_descending=True), Order(by='changed', is_descending=True))
        """
        by = text.removeprefix("-")
        return cls(by, (by == BY_CHANGE) is (by == text))


@value
class Query:
    """A query for agents; a field that is None matches all."""

    graph: str | None = None
    active: tuple[ActiveIn, ...] | None = None  # any of these
    status: Status | None = None
    after: str | None = (
        None  # the page begins after this place: an agent in the order started, else as of an earlier page
    )
    limit: int = 100
    order: Order = Order()
    where: tuple[Condition, ...] = ()  # all of these
    framework: bool = True  # False: without the agents of the framework's graphs
    misplaced: bool = False  # True: only agents with an id or a graph that belongs to the framework, see `is_misplaced`


@value
class Page:
    """A page of the agents found."""

    agents: tuple[Snapshot, ...] = field(default=())
    next: str | None = None  # pass it as `after` for the next page; None on the last page
    places: tuple[str, ...] = field(default=(), compare=False)  # for each agent, the `after` of what follows it
    incomplete: tuple[str, ...] = ()  # fields of the query that old agents may still lack, and so not be found by

    @classmethod
    def of(cls, found: Sequence[tuple[Snapshot, str]], limit: int, incomplete: tuple[str, ...] = ()) -> Page:
        """Make a page of the agents found, each with its place. found: one more than fits if there is another page."""
        agents, places = tuple(each for each, _ in found[:limit]), tuple(place for _, place in found[:limit])
        return cls(agents, places[-1] if len(found) > limit else None, places, incomplete)


@value
class GraphCount:
    """How many agents a graph has, in any version."""

    graph: str
    agents: int
    statuses: Mapping[Status, int]
    states: Mapping[StateName, int]  # by leaf: agents that are active there or ended there; not those that were stopped

    @classmethod
    def of(cls, found: Iterable[tuple[str, Sequence[StateName], Status, int]]) -> tuple[GraphCount, ...]:
        """Add up the numbers of agents by graph, configuration and status. The counts come by the graph's name."""
        statuses: defaultdict[str, Counter[Status]] = defaultdict(Counter)
        states: defaultdict[str, Counter[StateName]] = defaultdict(Counter)
        for graph, configuration, status, number in found:
            statuses[graph][status] += number
            for state in configuration if status is not Status.STOPPED else ():
                states[graph][state] += number
        return tuple(
            cls(graph, statuses[graph].total(), _in_order(statuses[graph]), _in_order(states[graph]))
            for graph in sorted(statuses)
        )


def _in_order(counted: Counter[N]) -> dict[N, int]:
    return dict(sorted(counted.items()))


@value
class MailQuery:
    """A query for mail, answered in the order accepted; a field that is None matches all."""

    recipient: AgentId | None = None
    status: MailStatus | None = None
    after: int = 0  # the page begins after this number
    limit: int = 100
    since: datetime | None = None  # accepted at this moment or later
    framework: bool = True  # False: without mail to agents with ids of the framework


@value
class Pruning:
    """A rule for what may be forgotten; a field that is None forgets nothing.

    An agent's newest turn stays, and so does every turn since the oldest one whose event id is still in the window. An
    agent that has ended is erased whole, but only once its last id is out of the window and no mail waits for it.
    """

    ids_since: datetime  # the window: a repeated event with an id is recognised if it happened at or after this time
    ended_before: datetime | None = None  # done, failed or stopped agents whose last turn is older
    turns_before: datetime | None = None  # older turns
    keep_turns: int | None = None  # turns of an agent beyond this many newest ones
    mail_before: datetime | None = None  # refused and dead mail accepted before this time
    status: Status | None = None  # erase only agents with this status: done, failed or stopped; None: any of them


@value
class Forgotten:
    """Totals that a pruning has forgotten, or would forget."""

    agents: int = 0  # ended agents
    turns: int = 0  # of remaining agents
    mail: int = 0  # without that of erased agents


@value
class Pruned:
    """The part of a pruning that one call has forgotten, or would forget."""

    erased: tuple[AgentId, ...]
    turns: int  # of remaining agents
    mail: int  # without that of erased agents
    next: int | None  # pass it as `after` for the next part; None on the last part


@value
class Request:
    """A call that another process asks the owner of the database to carry out."""

    id: str  # unique, chosen by the asker
    asker: str  # requests of one asker are carried out in order
    call: str  # JSON text
    until: datetime  # not begun after this time
    number: int = 0  # in the order asked, in a store
