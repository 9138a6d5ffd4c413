"""The move of all agents of a database to an engine.

While this process owns the database and nothing runs, all agents are stored on the engine asleep, and compared. Then
one transaction seals the database: before it the agents live there, after it on the engine. Only then are they
awakened. So a move that was interrupted anywhere can be restarted or resumed, and no agent ever lives in both.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from gatechart.errors.outside import MoveError, StoreMovedError
from gatechart.restate.migration.arrival import HERE, NOWHERE, ArrivalResult
from gatechart.restate.migration.departure import PAGE_BYTES, Luggage, as_turns, handoffs_of, packed, past_of
from gatechart.restate.migration.engine import ArrivalTerms, Engine
from gatechart.restate.migration.report import Digest, MoveReport, Tell
from gatechart.restate.state import TURN, CommittedTurn
from gatechart.stores.opening import open_departing, open_store
from gatechart.stores.sql.export import (
    agents_of,
    asked_now,
    counts,
    departing_agents,
    departing_strangers,
    graphs_of,
    oldest_version,
    turns_of,
)
from gatechart.stores.sql.opening import located
from gatechart.stores.sql.ownership import moved_to, seal
from gatechart.stores.sql.store import SqlStore
from gatechart.values.agents import Status
from gatechart.values.homes import Role
from gatechart.values.names import AgentId

AT_ONCE: Final = 50  # agents that travel together
PAGE: Final = 200  # turns read together


async def move_to_engine(
    source: str, to: str, *, tell: Tell, namespace: str = "", turns: int | None = None, dry_run: bool = False
) -> MoveReport:
    """Move the agents and report the counts. Safe to repeat after any interruption.

    source: the database's URL.
    to: the engine's ingress.
    namespace: the namespace of the service, which must be running.
    turns: how many of each agent's newest turns to move; all if None.
    dry_run: only check, which also works beside an owner.
    Raises MoveError if something cannot be moved or arrived differently; StoreOwnedError, StoreMovedError,
    EngineUnreachableError, EngineRefusedError.
    """
    there = f"{to.rstrip('/')} ({namespace})" if namespace else to.rstrip("/")
    async with AsyncExitStack() as stack:
        opening = open_store(source, role=Role.READER) if dry_run else open_departing(source, there)
        store = await stack.enter_async_context(opening)
        before = await store.read(moved_to)
        engine = await stack.enter_async_context(Engine.open(to, namespace))
        move = _Move(store, engine, await engine.terms(await store.read(graphs_of)), source, there, tell)
        if dry_run:
            moved = await move.check() if before is None else _before(source, there, before)
            return replace(moved, is_dry=True)
        if before is not None:
            return replace(await move.awaken(), before=before[1])
        return await move.carry_out(await move.check(), turns)


def _before(source: str, to: str, before: tuple[str, datetime]) -> MoveReport:
    """Report an earlier move. Raises StoreMovedError if it had another target."""
    if before[0] != to:
        raise StoreMovedError(source, *before)
    return MoveReport(source=source, to=to, before=before[1])


class _Move:
    """One attempt at a move. Each pass rereads the database."""

    def __init__(self, store: SqlStore, engine: Engine, terms: ArrivalTerms, source: str, to: str, tell: Tell) -> None:
        self._store = store
        self._engine = engine
        self._terms = terms
        self._source = source
        self._to = to
        self._tell = tell
        self._origin = located(source).name
        self._was_there: set[AgentId] = set()

    async def check(self) -> MoveReport:
        """Count the data to move. Raises MoveError if any of it cannot be moved."""
        await check_terms(self._store, self._terms, self._fail)
        breakers = len(await self._store.breakers())
        moved, digest = MoveReport(source=self._source, to=self._to, breakers=breakers), Digest()
        large: list[AgentId] = []
        living: list[AgentId] = []
        async for page in self._pages("checked"):
            for each in page:
                moved = _with(moved, each)
                digest.add(each.agent_id, each.digest)
                if too_large(each, self._terms):
                    large.append(each.agent_id)
            living += await self._living(page)
        if large:
            remedy = "shorten their contexts, or raise Terms(most_bytes=...) of the service"
            raise self._fail("they are larger than the service accepts", remedy, large)
        if living:
            raise self._fail(*_LIVING, living)
        return replace(moved, digest=str(digest), were_there=len(self._was_there))

    async def _living(self, page: Sequence[Luggage]) -> list[AgentId]:
        """Return agents that live on the engine and differ from the copies here. Records the equal ones."""
        standing = await asyncio.gather(*(self._engine.standing(each.agent_id) for each in page))
        there = [(each.agent_id, each.digest, known) for each, known in zip(page, standing, strict=True) if known]
        self._was_there |= {agent_id for agent_id, digest, known in there if known["digest"] == digest}
        living = [agent_id for agent_id, _, known in there if known["is_there"] and known["origin"] != self._origin]
        return [agent_id for agent_id in living if agent_id not in self._was_there]

    async def carry_out(self, moved: MoveReport, turns: int | None) -> MoveReport:
        """Bring all agents, compare, seal, awaken."""
        await self._adopt()
        pasts = await self._bring(turns)
        await self._compare(moved, pasts)
        # The point of no return: until here the agents live in the database, afterwards on the engine.
        await self._store.write(partial(seal, to=self._to))
        after = await self.awaken()
        went = sum(past.turns for past in pasts.values())
        left = sum(past.left for past in pasts.values())
        return replace(moved, turns=went, turns_left=left, awakened=after.awakened)

    async def _adopt(self) -> None:
        async for page in self._pages("taken there"):
            new = [each for each in page if each.agent_id not in self._was_there]
            results = await asyncio.gather(*(self._engine.adopt(each, self._origin) for each in new))
            living = [each.agent_id for each, how in zip(new, results, strict=True) if how is ArrivalResult.LIVES]
            if living:
                raise self._fail(*_LIVING, living)

    async def _bring(self, turns: int | None) -> dict[AgentId, Past]:
        """Bring the history of each agent, and return the range brought."""
        pasts: dict[AgentId, Past] = {}
        doing = "history taken there" if self._terms.projects else "history counted"
        async for page in self._pages(doing):
            born = [each for each in page if each.state.snapshot is not None]
            pasts_of_page = await asyncio.gather(
                *(bring_past(self._store, self._engine, each, turns, self._terms) for each in born)
            )
            pasts |= {each.agent_id: past for each, past in zip(born, pasts_of_page, strict=True)}
        return pasts

    async def _compare(self, moved: MoveReport, pasts: dict[AgentId, Past]) -> None:
        """Raise MoveError if the engine's copy differs from the database, both read again."""
        seen, digest = MoveReport(source=self._source, to=self._to), Digest()
        differing: list[AgentId] = []
        async for page in self._pages("compared"):
            standing = await asyncio.gather(*(self._engine.standing(each.agent_id) for each in page))
            for each, known in zip(page, standing, strict=True):
                seen = _with(seen, each)
                digest.add(each.agent_id, known["digest"] if known else "")
                if known is None or known["digest"] != each.digest:
                    differing.append(each.agent_id)
            if self._terms.projects:
                same = await asyncio.gather(*(self._is_past_there(each, pasts) for each in page))
                differing += [each.agent_id for each, is_same in zip(page, same, strict=True) if not is_same]
        rows = await self._store.read(counts)
        if differing:
            remedy = "run it again; if the error repeats, give the service an empty projection, and report it"
            raise self._fail(
                "the copies on the engine differ from the agents sent", remedy, list(dict.fromkeys(differing))
            )
        is_all = (seen.agents, seen.mail, seen.invokes, seen.steps, seen.entries) == tuple(rows.values())
        if not is_all or str(digest) != moved.digest:
            raise self._fail(f"{seen} was compared, and the database has {dict(rows)}", "run it again, and report it")

    async def _is_past_there(self, each: Luggage, pasts: dict[AgentId, Past]) -> bool:
        if each.state.snapshot is None:
            return True
        after = pasts[each.agent_id].after
        here = await past_of(self._store, each.agent_id, after)
        return dict(await self._engine.brought(each.agent_id, after)) == here

    async def awaken(self) -> MoveReport:
        """Awaken all agents that are asleep there.

        Their slots are reserved, and circuit breakers have the state that they had here, before any agent runs.
        """
        await asyncio.gather(*map(self._engine.adopt_breaker, await self._store.breakers()))
        async for page in self._pages("places taken"):
            reserved = [(handoff, graph) for each in page for handoff, graph in each.state.places.items()]
            await asyncio.gather(*(self._engine.hold(handoff, graph) for handoff, graph in reserved))
        awakened = 0
        async for page in self._pages("awakened"):
            awakened += sum(await asyncio.gather(*(self._engine.awaken(each.agent_id) for each in page)))
        return MoveReport(source=self._source, to=self._to, awakened=awakened)

    async def _pages(self, doing: str) -> AsyncIterator[list[Luggage]]:
        """Yield all agents to move, in pages."""
        total, done = (await self._store.read(counts))["agents"], 0
        async for page in self._departing():
            yield page
            done += sum(each.state.snapshot is not None for each in page)
            self._tell(doing, done, total)

    async def _departing(self) -> AsyncIterator[list[Luggage]]:
        keep, after = self._terms.keep_ids, 0
        while True:
            page, after = await self._store.read(partial(departing_agents, after=after, limit=AT_ONCE, ids=keep))
            if not page:
                break
            yield [packed(departing, keep) for departing in page]
        last = ""
        while strangers := await self._store.read(partial(departing_strangers, after=last, limit=AT_ONCE)):
            last = strangers[-1].agent_id
            yield [packed(each, keep) for each in strangers]

    def _fail(self, problem: str, remedy: str, agents: Sequence[AgentId] = ()) -> MoveError:
        return MoveError(self._source, self._to, problem, remedy, tuple(agents))


_LIVING: Final = (
    "agents with these ids live there already, and differ from the ones here",
    "erase them there or here, or give the service another --namespace",
)


def _with(moved: MoveReport, each: Luggage) -> MoveReport:
    """Add an agent to the counts."""
    state, snapshot = each.state, each.state.snapshot
    return replace(
        moved,
        agents=moved.agents + (snapshot is not None),
        ended=moved.ended + (snapshot is not None and snapshot.status is not Status.ACTIVE),
        unborn=moved.unborn + (snapshot is None),
        mail=moved.mail + len(state.mail),
        invokes=moved.invokes + len(state.calls),
        steps=moved.steps + sum(len(call.steps) for call in state.calls),
        entries=moved.entries + len(state.journals),
        places=moved.places + len(state.places),
    )


MOST_BYTES: Final = 8_000_000  # size of an agent with its mail and ids: a quarter of the engine's largest message

Fail = Callable[[str, str, Sequence[AgentId]], MoveError]


async def check_terms(store: SqlStore, terms: ArrivalTerms, fail: Fail) -> None:
    """Raise MoveError if the service does not know the graphs, or another process waits for an owner's answer."""
    requests = await store.read(partial(asked_now, now=datetime.now(UTC)))
    if requests:
        raise fail(
            f"{requests} requests of other processes wait for its host", "let `gatechart run --once` do them", ()
        )
    lost = await _agents(store, terms, NOWHERE, with_steps=False)
    if lost:
        raise fail("the service knows no version of their graphs that they fit", "serve it there, or migrate", lost)
    moving_on = tuple(home for home in set(terms.graphs.values()) if home not in (HERE, NOWHERE))
    for home in moving_on:
        losing = await _agents(store, terms, home, with_steps=True)
        if losing:
            problem = "the service has only a newer version of their graphs, and steps of theirs would run again"
            raise fail(
                problem, "migrate them first with `gatechart migrate`, or serve the version that they have", losing
            )


async def _agents(store: SqlStore, terms: ArrivalTerms, home: str, *, with_steps: bool) -> list[AgentId]:
    agents: list[AgentId] = []
    for graph in (graph for graph, becomes in terms.graphs.items() if becomes == home):
        agents += await store.read(partial(agents_of, graph=graph, with_steps=with_steps))
    return agents


def too_large(luggage: Luggage, terms: ArrivalTerms) -> bool:
    """Return whether the agent is too large to take turns there."""
    return luggage.snapshot_size() > terms.most_bytes or luggage.size() > MOST_BYTES


@dataclass(frozen=True, slots=True)
class Past:
    """The range of an agent's turns that travel."""

    after: int  # only versions above this one
    turns: int
    left: int  # turns left behind


async def bring_past(store: SqlStore, engine: Engine, each: Luggage, most: int | None, terms: ArrivalTerms) -> Past:
    """Send the agent's newest turns, at most `most`, and all handoffs that it offered."""
    assert each.state.snapshot is not None
    newest = each.state.snapshot.version
    first = (await store.history(each.agent_id, limit=1))[0].version
    if not terms.projects:
        return Past(newest, 0, newest - first + 1)
    after = await store.read(partial(oldest_version, agent_id=each.agent_id)) - 1
    if most is not None:
        after = max(after, newest - most)
    handoffs = {newest: tuple(await handoffs_of(store, each.agent_id))}
    last = after
    while page := await store.read(partial(turns_of, agent_id=each.agent_id, after=last, limit=PAGE)):
        for part in _parts(as_turns(page, handoffs)):
            await engine.bring(each.agent_id, part)
        last = page[-1][0].version
    return Past(after, newest - after, after - first + 1)


def _parts(turns: Sequence[CommittedTurn]) -> list[list[CommittedTurn]]:
    """Split turns into parts of a size suited to messages."""
    parts: list[list[CommittedTurn]] = [[]]
    size = 0
    for turn in turns:
        size += len(TURN.dump_json(turn))
        if size > PAGE_BYTES and parts[-1]:
            parts.append([])
            size = 0
        parts[-1].append(turn)
    return parts
