"""The verbs about the directory, which every home of agents has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from gatechart.api.arguments import made
from gatechart.api.commands import Command
from gatechart.api.directory_commands import (
    ChooseCommand,
    DeregisterEntryCommand,
    DirectoryCommand,
    ForgetUserCommand,
    MarkEntryCommand,
    RateHandoffCommand,
    RegisterEntryCommand,
)
from gatechart.graph import AnyGraph, graph_name
from gatechart.handoff import HandoffPacket
from gatechart.values import (
    AgentId,
    Choice,
    Delay,
    DirectoryEntry,
    Mark,
    Name,
    Needs,
    Profile,
    Receipt,
    delay_text,
    name_of,
)

_NOTHING = Profile()


class DirectoryHome(ABC):
    """The part of `AgentHome` that is about the directory: whom work can be handed to.

    It has the entry points with profiles of the home's graphs, and what is registered: people, and agents of others.
    """

    @abstractmethod
    async def execute(self, command: Command) -> Any:
        """See AgentHome."""
        ...

    async def register_entry(
        self,
        id: str,  # noqa: A002
        graph: Name | AnyGraph,
        *,
        at: Name,
        agent: AgentId = "",
        profile: Profile = _NOTHING,
        text: str = "",
        capacity: int | None = None,
        is_person: bool = False,
        lasts: Delay | None = None,
        registrant: str = "",
    ) -> DirectoryEntry:
        """Register whom work can be handed to: a person, or an agent, behind an entry point of a graph.

        It can be repeated as often as one likes, which renews it: an entry that is there already is changed to this.

        id: of the entry, up to 200 characters. graph, at: where its work begins.
        agent: an existing agent that takes the work; by default each handoff starts a new one.
        profile: what it can do; what is left out is taken from the entry point. text: what it is for, in words.
        capacity: pieces of work that it takes at once; a place is taken durably before it accepts one.
        lasts: how long it stays unless it is registered again, such as "5m"; by default until it is deregistered.
        registrant: who registers it. An entry of another registrant cannot be changed.
        Raises PayloadError, UnknownGraphError, UnknownAgentError, EntryRefusedError and EntryTakenError.
        """
        command = made(
            RegisterEntryCommand,
            id=id,
            graph=graph_name(graph),
            at=name_of(at),
            agent=agent,
            profile=profile,
            text=text,
            capacity=capacity,
            is_person=is_person,
            lasts=delay_text(lasts) if isinstance(lasts, timedelta) else lasts,
            registrant=registrant,
        )
        entry: DirectoryEntry = await self.execute(command)
        return entry

    async def deregister_entry(self, id: str, *, registrant: str | None = None) -> None:  # noqa: A002
        """Take a registered entry out of the directory. Work that it has goes on.

        registrant: only if this one registered it; by default, whoever did.
        Raises UnknownEntryError, EntryTakenError, and PayloadError for an entry point of a graph.
        """
        await self.execute(made(DeregisterEntryCommand, id=id, registrant=registrant))

    async def directory(
        self,
        id: str | None = None,  # noqa: A002
        *,
        after: str | None = None,
        limit: int = 100,
    ) -> Sequence[DirectoryEntry]:
        """List the directory by id, a page at a time: pass the id of the last as `after`. id: only this entry.

        Raises PayloadError.
        """
        command = made(DirectoryCommand, id=id, after=after, limit=limit)
        found: Sequence[DirectoryEntry] = await self.execute(command)
        return found

    async def mark_entry(self, id: str, mark: Mark | str, *, reason: str = "") -> DirectoryEntry:  # noqa: A002
        """Pin, exclude or close an entry; `Mark.NONE` undoes that. What it has of work goes on.

        mark: `pinned` goes before all others that fit; `excluded` is not chosen, and what names it still reaches it;
        `closed` takes no work. reason: for whoever reads the directory, and an explanation of a choice.
        Raises UnknownEntryError and PayloadError.
        """
        entry: DirectoryEntry = await self.execute(made(MarkEntryCommand, id=id, mark=mark, reason=reason))
        return entry

    async def choose(self, packet: HandoffPacket | None = None, *, needs: Needs | None = None) -> Choice:
        """Tell whom a piece of work would be handed to now, and why; nothing is offered, and nothing is stored.

        packet: what is known of the work; its texts count. needs: what it needs besides that. Raises PayloadError.
        """
        given = {} if packet is None else {"packet": packet}
        choice: Choice = await self.execute(made(ChooseCommand, **given, needs=needs))
        return choice

    async def rate_handoff(
        self,
        handoff_id: str,
        *,
        needed: bool | None = None,
        in_time: bool | None = None,
        quality: float | None = None,
    ) -> Receipt:
        """Say how good a handoff was, and the work after it. What is left out stays as it was said before.

        needed, in_time: whether handing on was needed, and not too late: of the agent that handed on.
        quality: of the work, from 0 to 1: of whoever did it.
        Any handoff that is stored can be rated, also one that names its target, and before its work has ended; the
        last 200 ratings of an entry point are kept.
        Raises NoHandoffError, and PayloadError for a quality out of range, or if nothing is said.
        """
        rating = {"needed": needed, "in_time": in_time, "quality": quality}
        receipt: Receipt = await self.execute(made(RateHandoffCommand, handoff_id=handoff_id, **rating))
        return receipt

    async def forget_user(self, user: str) -> None:
        """Have the directory forget what it keeps about a user: for whom work was done, and what came of it.

        Numbers that it has counted stay. The history of the entries' agents goes as `prune` says.
        """
        await self.execute(made(ForgetUserCommand, user=user))
