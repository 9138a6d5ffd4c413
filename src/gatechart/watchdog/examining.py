"""Looking for what is wrong in a home of agents: what is read, page by page, and handed to the rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from gatechart.api.home import AgentHome
from gatechart.api.watchdog import FindingsCommand, HostsCommand
from gatechart.hosting.misplaced import misplaced
from gatechart.hosting.registry import Registry
from gatechart.ports import Store
from gatechart.turn.mail import is_passed_over
from gatechart.values.agents import Snapshot, Status
from gatechart.values.findings import HealthFinding
from gatechart.values.framework import (
    ALERTS_GRAPH,
    is_framework_graph,
)
from gatechart.values.hosts import HostRecord
from gatechart.values.mail import Mail, MailStatus
from gatechart.values.names import EARLIEST, AgentId, Payload, StateName
from gatechart.values.queries import ActiveIn, MailQuery, Order, Query
from gatechart.watchdog.norms import Norm, declared_norms, learned_norms, silences
from gatechart.watchdog.rules import (
    found_breakers,
    found_hosts,
    found_mail,
    found_misplaced,
    found_refused,
    found_stuck,
    found_undelivered,
    found_undone,
    troubles_of,
)
from gatechart.watchdog.terms import WatchdogTerms

_AGENTS: Final = 200  # of a graph from whose turns it is learned how long is normal
_TURNS: Final = 50  # of each
_LEARNS_EVERY: Final = timedelta(hours=1)


class Examiner:
    """Looks at one home. A look costs a query for each kind of finding, and one for each agent that seems stuck."""

    def __init__(
        self,
        home: AgentHome,
        registry: Registry,
        store: Store | None,
        now: Callable[[], datetime],
        terms: WatchdogTerms,
        *,
        sees_mail: bool = True,
    ) -> None:
        """Keep where to look.

        store: the agents' store, or a projection of it; None if there is none.
        sees_mail: whether mail and hosts are in that store.
        """
        self._home = home
        self._registry = registry
        self._store = store
        self._now = now
        self._terms = terms
        self._sees_mail = sees_mail
        self._learned: Mapping[str, Mapping[StateName, Norm]] = {}
        self._learned_at: datetime | None = None

    async def look(self) -> Sequence[HealthFinding]:
        """Return what is wrong now: the worst first, then by key."""
        now, store = self._now(), self._store
        found = list(found_breakers(await self._home.breakers(limit=self._terms.most), self._terms, now))
        if store is not None:
            found += await self._stuck(store, now)
            found += found_undelivered(await _sinks(store))
            found += found_misplaced((await misplaced(store, self._terms.most)).agents)
            if self._sees_mail:
                hosts = await store.hosts()
                troubles = troubles_of(hosts, self._terms, now)
                found += await self._mail(store, now, troubles["refused"])
                found += found_undone(troubles["undone"], self._terms)
                found += found_hosts(hosts, self._terms, now)
        order = ["critical", "warning", "notice"]
        return sorted(found, key=lambda each: (order.index(each.severity.value), each.key))

    async def _stuck(self, store: Store, now: datetime) -> list[HealthFinding]:
        norms = await self._norms(store, now)
        wanted = tuple(
            ActiveIn(graph, (leaf,), now - timedelta(seconds=norm.seconds))
            for graph, leaves in norms.items()
            for leaf, norm in leaves.items()
        )
        if not wanted:
            return []
        page = await store.find(Query(active=wanted, status=Status.ACTIVE, limit=self._terms.most))
        found: list[HealthFinding] = []
        for snapshot in page.agents:
            pending = await self._pending(store, snapshot, now)
            found += found_stuck(snapshot, norms[snapshot.graph], pending, now)
        return found

    async def _norms(self, store: Store, now: datetime) -> Mapping[str, Mapping[StateName, Norm]]:
        """Return how long is normal, by graph and leaf. What is declared goes before what was learned."""
        if self._terms.learns and (self._learned_at is None or now - self._learned_at >= _LEARNS_EVERY):
            names = [each.graph for each in await store.counts() if not is_framework_graph(each.graph)]
            self._learned = {name: await self._learn(store, name) for name in names}
            self._learned_at = now
        declared = {graph.name: declared_norms(graph) for graph in self._registry.graphs}
        known = dict.fromkeys((*self._learned, *declared))
        return {name: {**self._learned.get(name, {}), **declared.get(name, {})} for name in known}

    async def _learn(self, store: Store, graph: str) -> Mapping[StateName, Norm]:
        page = await store.find(Query(graph=graph, limit=_AGENTS, order=Order.of("changed")))
        observed: list[tuple[StateName, float]] = []
        for snapshot in page.agents:
            after = max(snapshot.version - _TURNS, 0)
            observed += silences(await store.history(snapshot.agent_id, after=after, limit=_TURNS))
        return learned_norms(observed, self._terms)

    async def _pending(self, store: Store, snapshot: Snapshot, now: datetime) -> Sequence[str]:
        """Return what an agent waits for, in words: timers, handoffs, running invokes."""
        agent_id = snapshot.agent_id
        waits = [f"handoff {each.id}" for each in snapshot.handoffs]
        if self._sees_mail:
            mail = await store.mail(MailQuery(agent_id, MailStatus.WAITING, limit=100))
            timers = [each for each in mail if each.due is not None and each.due > now]
            waits += [f"{each.event} at {each.due}" for each in timers]
            running = await store.running(agent_id=agent_id, after=0, limit=100)
            waits += [f"invoke {each.invocation.invoke}" for _, each in running]
        return waits

    async def _mail(
        self, store: Store, now: datetime, refused_as_sent: Mapping[AgentId, Payload]
    ) -> list[HealthFinding]:
        most = self._terms.most
        waiting = [*await store.waiting(after=0, limit=most), *await store.due(after=(EARLIEST, 0), limit=most)]
        due = [each for each in waiting if each.due is None or each.due <= now]
        agents = {each.agent_id: each for each in await store.load_many(tuple({each.recipient for each in due}))}
        ready = [each for each in due if not self._is_deferred(agents, each)]
        dead = await store.mail(MailQuery(status=MailStatus.DEAD, limit=most))
        since = now - timedelta(seconds=self._terms.window_s)
        refused = await store.mail(MailQuery(status=MailStatus.REFUSED, since=since, limit=most))
        return [
            *found_mail([*ready, *dead], agents.keys(), self._terms, now),
            *found_refused(refused, self._terms, refused_as_sent),
        ]

    def _is_deferred(self, agents: Mapping[AgentId, Snapshot], mail: Mail) -> bool:
        snapshot = agents.get(mail.recipient)
        graph = None if snapshot is None else self._registry.same_version(snapshot)
        return graph is not None and snapshot is not None and is_passed_over(graph, snapshot, mail)


async def _sinks(store: Store) -> list[tuple[str, int, Sequence[str], datetime | None]]:
    """Return for each sink of alerts how many it did not take so far, why, and since when."""
    page = await store.find(Query(graph=ALERTS_GRAPH, status=Status.ACTIVE, limit=1000))
    found: list[tuple[str, int, Sequence[str], datetime | None]] = []
    for snapshot in page.agents:
        failing = [each for each in snapshot.context["pending"] if each["attempts"]]
        since = min((datetime.fromisoformat(each["since"]) for each in failing), default=None)
        found.append((snapshot.context["sink"], len(failing), [each["problem"] for each in failing], since))
    return found


def finding_page(found: Sequence[HealthFinding], command: FindingsCommand) -> Sequence[HealthFinding]:
    """Return the part of the findings that a command asks for. found: all, in the order of a look."""
    wanted = [each for each in found if command.about in (None, each.kind)]
    keys = [each.key for each in wanted]
    begin = keys.index(command.after) + 1 if command.after in keys else 0
    return wanted[begin : begin + command.limit]


def host_page(found: Sequence[HostRecord], command: HostsCommand) -> Sequence[HostRecord]:
    """Return the part of the hosts that a command asks for. found: all, in the order started."""
    ids = [each.id for each in found]
    begin = ids.index(command.after) + 1 if command.after in ids else 0
    return found[begin : begin + command.limit]
