"""Maintenance of all stored agents: migrating them to new graph versions, and deleting old data."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from gatechart.errors import IncompatibleGraphError, PayloadError, UnknownAgentError, UnknownGraphError
from gatechart.graph import AnyGraph
from gatechart.hosting.registry import Registry
from gatechart.runtime.core import Core
from gatechart.runtime.effects import Effects
from gatechart.values import (
    AgentId,
    Fate,
    Forgotten,
    Migrated,
    Page,
    Pruned,
    Pruning,
    Query,
    ReplaceInvocation,
    ReplaceMail,
    Snapshot,
    StartInvoke,
    Status,
    Timer,
    TurnRecord,
)

PAGE: Final = 1000
ENDED: Final = (Status.DONE, Status.FAILED, Status.STOPPED)
TOGETHER: Final = 100  # agents migrated concurrently, and so mostly in one commit

Age = datetime | timedelta


class Maintenance:
    """Maintenance that goes through the whole store in parts, yielding to other work in between."""

    def __init__(self, core: Core, registry: Registry, outside: Effects) -> None:
        self._core = core
        self._registry = registry
        self._effects = outside

    async def migrate(self, *, dry_run: bool) -> AsyncIterator[Migrated]:
        """Migrate every agent, in the order started, and yield its result. dry_run: only report."""
        page = await self._core.store.find(Query(limit=PAGE))
        while True:
            for start in range(0, len(page.agents), TOGETHER):
                some = page.agents[start : start + TOGETHER]
                for each in await asyncio.gather(*(self._fate(snapshot, dry_run=dry_run) for snapshot in some)):
                    if each is not None:
                        yield each
            if page.next is None:
                return
            page = await self._behind([snapshot.agent_id for snapshot in page.agents])

    async def _behind(self, seen: Sequence[AgentId]) -> Page:
        """Return the page after the last of these agents that still exists; the first page if none does."""
        for agent_id in reversed(seen):
            with suppress(UnknownAgentError):
                return await self._core.store.find(Query(after=agent_id, limit=PAGE))
        return await self._core.store.find(Query(limit=PAGE))

    async def _fate(self, snapshot: Snapshot, *, dry_run: bool) -> Migrated | None:
        """Migrate the agent and return the result; None if it has been erased meanwhile."""
        if snapshot.status is Status.UNREADABLE:
            return _told(snapshot, Fate.STUCK, snapshot.graph_version, problem="its row in the database cannot be read")
        try:
            graph, turn = await self._effects.directory.home_of(snapshot)
            if turn is None:
                return _staying(snapshot, graph)
            if not dry_run:
                _, turn = await self._effects.directory.host(snapshot)
            return _moving(snapshot, graph, turn)
        except (IncompatibleGraphError, UnknownGraphError) as error:
            return _told(snapshot, Fate.STUCK, snapshot.graph_version, problem=_problem(error))
        except UnknownAgentError:
            return None

    async def prune(
        self, pruning: Pruning, on_progress: Callable[[Forgotten], None] | None, *, dry_run: bool
    ) -> Forgotten:
        """Delete part by part. Completed parts stay deleted if the caller stops. dry_run: only count."""
        total, after = Forgotten(), 0
        while True:
            part = await self._part(pruning, after, dry_run=dry_run)
            total = replace(
                total,
                agents=total.agents + len(part.erased),
                turns=total.turns + part.turns,
                mail=total.mail + part.mail,
            )
            if on_progress is not None:
                on_progress(total)
            if part.next is None:
                return total
            after = part.next
            await asyncio.sleep(0)
            self._core.admit("prune", writes=not dry_run)

    async def _part(self, pruning: Pruning, after: int, *, dry_run: bool) -> Pruned:
        if dry_run:
            return await self._core.store.prune(pruning, after=after, dry_run=True)
        return await asyncio.shield(self._core.spawn(self._prune(pruning, after)))

    async def _prune(self, pruning: Pruning, after: int) -> Pruned:
        part = await self._core.store.prune(pruning, after=after)
        for agent_id in part.erased:
            self._core.erasures += 1
            self._effects.forget(agent_id)
            agent = self._effects.directory.known(agent_id)
            if agent is not None:
                agent.forget()
        return part


def pruning_of(
    now: datetime,
    *,
    ended_before: Age | None,
    status: Status | str | None,
    turns_before: Age | None,
    keep_turns: int | None,
    mail_before: Age | None,
    ids_for: timedelta,
) -> Pruning:
    """Return what the store is to delete. Raises PayloadError."""
    if status is not None and ended_before is None:
        raise PayloadError("prune", (f"status is {status!r}",), "ended_before beside it: it says which of them go")
    if keep_turns is not None and (not isinstance(keep_turns, int) or keep_turns < 1):
        raise PayloadError("prune", (f"keep_turns is {keep_turns!r}",), "a whole number of 1 or more")
    if not isinstance(ids_for, timedelta) or ids_for < timedelta(0):
        raise PayloadError("prune", (f"ids_for is {ids_for!r}",), "a timedelta that is not negative")
    return Pruning(
        ids_since=_moment("ids_for", ids_for, now),
        ended_before=None if ended_before is None else _moment("ended_before", ended_before, now),
        turns_before=None if turns_before is None else _moment("turns_before", turns_before, now),
        keep_turns=keep_turns,
        mail_before=None if mail_before is None else _moment("mail_before", mail_before, now),
        status=None if status is None else _ended(status),
    )


def _ended(status: Status | str) -> Status:
    if status not in ENDED:
        raise PayloadError("prune", (f"status is {status!r}",), " or ".join(repr(each.value) for each in ENDED))
    return Status(status)


def _moment(name: str, given: Age, now: datetime) -> datetime:
    """Return the moment: the one given, or this long before now."""
    with suppress(OverflowError):
        if isinstance(given, timedelta) and given >= timedelta(0):
            return now - given
        if isinstance(given, datetime) and given.tzinfo is not None:
            return given
    raise PayloadError("prune", (f"{name} is {given!r}",), "an aware datetime, or the age as a timedelta")


def _staying(snapshot: Snapshot, graph: AnyGraph) -> Migrated:
    is_same = graph.fingerprint == snapshot.fingerprint
    return _told(snapshot, Fate.STAYS if is_same else Fate.CHANGED, graph.version)


def _moving(snapshot: Snapshot, graph: AnyGraph, turn: TurnRecord | None) -> Migrated:
    """Return the result of a migration. turn: None if another call migrated the agent at the same moment."""
    if turn is None:
        return _told(snapshot, Fate.MIGRATES, graph.version)
    effects = turn.effects
    amended = [effect.mail is not None for effect in effects if isinstance(effect, ReplaceMail)]
    adopted = [effect.running is not None for effect in effects if isinstance(effect, ReplaceInvocation)]
    return replace(
        _told(snapshot, Fate.MIGRATES, graph.version),
        target=turn.snapshot.configuration,
        mail_amended=amended.count(True),
        mail_ended=amended.count(False),
        timers_begun=sum(isinstance(effect, Timer) for effect in effects),
        invokes_kept=adopted.count(True),
        invokes_ended=adopted.count(False),
        invokes_begun=sum(isinstance(effect, StartInvoke) for effect in effects),
    )


def _told(snapshot: Snapshot, fate: Fate, after: str, problem: str | None = None) -> Migrated:
    here = snapshot.configuration
    return Migrated(snapshot.agent_id, snapshot.graph, fate, snapshot.graph_version, after, here, here, problem)


def _problem(error: IncompatibleGraphError | UnknownGraphError) -> str:
    return error.problem if isinstance(error, IncompatibleGraphError) else str(error)
