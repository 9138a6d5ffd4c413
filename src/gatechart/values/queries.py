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
    fired: FiredSignal | None = None  # the signals that fired in the turn

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
    """A condition: agents of a graph (any if None) with one of these leaves active."""

    graph: str | None
    leaves: tuple[StateName, ...]
    quiet_since: datetime | None = None  # only agents whose newest turn happened at or before this moment


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
        """The field to order agents by; agents without a value are left out. None for the order by start or change."""
        return None if self.by in (BY_START, BY_CHANGE) else self.by

    @classmethod
    def of(cls, text: str) -> Order:
        """Read an order: by start with the oldest first, by last change with the newest first, or by a field.

        A minus sign reverses the order.
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
        None  # the page starts after it: an agent id in the order by start, else a place of an earlier page
    )
    limit: int = 100
    order: Order = Order()
    where: tuple[Condition, ...] = ()  # all of these
    framework: bool = True  # False leaves out the agents of the framework's graphs
    misplaced: bool = False  # True: only agents with an id or a graph that belongs to the framework, see `is_misplaced`


@value
class Page:
    """A page of the agents found."""

    agents: tuple[Snapshot, ...] = field(default=())
    next: str | None = None  # pass it as `after` for the next page; None on the last page
    places: tuple[str, ...] = field(
        default=(), compare=False
    )  # for each agent, the `after` of a page that starts behind it
    incomplete: tuple[str, ...] = ()  # fields of the query without an index for some old agents, which may be missing

    @classmethod
    def of(cls, found: Sequence[tuple[Snapshot, str]], limit: int, incomplete: tuple[str, ...] = ()) -> Page:
        """Build a page of the agents found, each with its place. found: one more than fits if there is another page."""
        agents, places = tuple(agent for agent, _ in found[:limit]), tuple(place for _, place in found[:limit])
        return cls(agents, places[-1] if len(found) > limit else None, places, incomplete)


@value
class GraphCount:
    """The numbers of agents of a graph, in all versions."""

    graph: str
    agents: int
    statuses: Mapping[Status, int]
    states: Mapping[StateName, int]  # by leaf: agents active there or ended there, without stopped agents

    @classmethod
    def of(cls, found: Iterable[tuple[str, Sequence[StateName], Status, int]]) -> tuple[GraphCount, ...]:
        """Add up numbers of agents by graph, configuration and status. The counts are sorted by the graph's name."""
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
    """A rule for deleting old data; a field that is None deletes nothing.

    An agent's newest turn stays, and so does every turn since the oldest one whose event id is still in the window. An
    ended agent is erased whole, but only after its last id has left the window, and if no mail waits for it.
    """

    ids_since: datetime  # the window: repeats of event ids are recognised if they happened at or after this time
    ended_before: datetime | None = None  # done, failed or stopped agents whose last turn is older
    turns_before: datetime | None = None  # older turns
    keep_turns: int | None = None  # turns of an agent beyond this many newest ones
    mail_before: datetime | None = None  # refused and dead mail accepted before this time
    status: Status | None = None  # erase only agents with this status: done, failed or stopped; None: any of them


@value
class Forgotten:
    """Totals that a pruning has deleted, or would delete."""

    agents: int = 0  # ended agents
    turns: int = 0  # of remaining agents
    mail: int = 0  # without the mail of erased agents


@value
class Pruned:
    """The part of a pruning that one call has deleted, or would delete."""

    erased: tuple[AgentId, ...]
    turns: int  # of remaining agents
    mail: int  # without the mail of erased agents
    next: int | None  # pass it as `after` for the next part; None on the last part


@value
class Request:
    """A call that another process sends to the owner of the database."""

    id: str  # unique, chosen by the asking process
    asker: str  # the asking process; its requests are executed in order
    call: str  # JSON text
    until: datetime  # the owner does not start it after this time
    number: int = 0  # in the order received, in a store
