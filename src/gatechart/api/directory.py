"""Commands and verbs about the directory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import AllowInfNan, Field, Strict

from gatechart.api.arguments import made, refuse
from gatechart.api.codec import CHOICE, DONE, ENTRIES, ENTRY, RECEIPT, Answer, Closed
from gatechart.api.command import Command, Executor, Limit, WritingCommand
from gatechart.api.route import Route
from gatechart.context import told_as
from gatechart.graph.graph import AnyGraph, graph_name
from gatechart.graph.selection_faults import needs_faults
from gatechart.handoff.packet import HandoffPacket
from gatechart.values.delays import Delay, delay_text
from gatechart.values.directory import DirectoryEntry, Mark
from gatechart.values.mail import Receipt
from gatechart.values.names import LONGEST_NAME, NO_NUL, AgentId, Name, name_of
from gatechart.values.profiles import HIGHEST_CAPACITY, Choice, Needs, Profile

_NOTHING: Final = Profile()

RATINGS: Final = ("needed", "in_time", "quality")
"""What can be said of a handoff, of which a rating says one thing at least."""

_NewEntryId: TypeAlias = Annotated[
    str,
    Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"),
    told_as("a text of 1 to 200 characters, without control characters and line breaks"),
]
EntryId: TypeAlias = Annotated[str, Field(min_length=1, max_length=200, pattern=NO_NUL)]
_Name: TypeAlias = Annotated[str, Field(max_length=LONGEST_NAME, pattern=NO_NUL)]
_Text: TypeAlias = Annotated[str, Field(max_length=10_000, pattern=NO_NUL)]
_Share: TypeAlias = Annotated[float, Strict(), Field(ge=0, le=1), AllowInfNan(False)]
_Places: TypeAlias = Annotated[int, Strict(), Field(ge=0, le=HIGHEST_CAPACITY)]
_YesOrNo: TypeAlias = Annotated[bool, Strict()]


class RegisterEntryCommand(WritingCommand):
    """`register_entry`. It says how an entry should be, so it can be repeated as it is."""

    answer: ClassVar[Answer[Any]] = ENTRY
    route: ClassVar[Route] = Route("POST", "/directory", "Register whom work can be handed to, or renew that")
    verb: Literal["register_entry"] = "register_entry"
    id: _NewEntryId
    graph: str
    at: str
    agent: _Name = ""
    profile: Annotated[Profile, Closed()] = Profile()
    text: _Text = ""
    capacity: _Places | None = None
    is_person: _YesOrNo = False
    lasts: Annotated[float, Strict(), AllowInfNan(False)] | str | None = None
    registrant: _Name = ""


class DeregisterEntryCommand(WritingCommand):
    """`deregister_entry`. When repeated, it finds no such entry, and says so."""

    answer: ClassVar[Answer[Any]] = DONE
    route: ClassVar[Route] = Route("DELETE", "/directory/{id}", "Deregister an entry; its work goes on", 204)
    verb: Literal["deregister_entry"] = "deregister_entry"
    id: EntryId
    registrant: _Name | None = None  # None: whoever registered it


class DirectoryCommand(Command):
    """`directory`."""

    answer: ClassVar[Answer[Any]] = ENTRIES
    route: ClassVar[Route] = Route("GET", "/directory", "List whom work can be handed to, a page at a time")
    verb: Literal["directory"] = "directory"
    id: EntryId | None = None
    after: EntryId | None = None
    limit: Limit = 100


class MarkEntryCommand(WritingCommand):
    """`mark_entry`. An entry that is marked stays so, so the command can be repeated as it is."""

    answer: ClassVar[Answer[Any]] = ENTRY
    route: ClassVar[Route] = Route("POST", "/directory/{id}/mark", "Pin, exclude or close an entry, or undo that")
    verb: Literal["mark_entry"] = "mark_entry"
    id: EntryId
    mark: Mark
    reason: _Name = ""


class ChooseCommand(Command):
    """`choose`."""

    answer: ClassVar[Answer[Any]] = CHOICE
    route: ClassVar[Route] = Route("POST", "/choices", "Tell whom work would be handed to now, and why")
    verb: Literal["choose"] = "choose"
    packet: HandoffPacket = HandoffPacket()
    needs: Annotated[Needs, Closed()] | None = None


class ForgetUserCommand(WritingCommand):
    """`forget_user`. When repeated, it finds nothing more to forget."""

    answer: ClassVar[Answer[Any]] = DONE
    route: ClassVar[Route] = Route("DELETE", "/directory/users/{user}", "Forget what is kept about a user's work", 204)
    verb: Literal["forget_user"] = "forget_user"
    user: str


class RateHandoffCommand(WritingCommand):
    """`rate_handoff`. The last rating counts, so it can be repeated as it is."""

    answer: ClassVar[Answer[Any]] = RECEIPT
    route: ClassVar[Route] = Route("POST", "/handoffs/{handoff_id}/rating", "Rate a handoff and the work after it")
    verb: Literal["rate_handoff"] = "rate_handoff"
    handoff_id: str
    needed: _YesOrNo | None = None
    in_time: _YesOrNo | None = None
    quality: _Share | None = None


class DirectoryHome(Executor):
    """The part of `AgentHome` that is about the directory: whom work can be handed to.

    It has the entry points with profiles of the home's graphs, and what is registered: people, and agents of others.
    """

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

        id: of the entry, up to 200 characters: visible ones, words of one script each, single spaces between them, and
        not to be mistaken for another entry or a graph. An id that another registrant gave up begins a new record.
        graph, at: where its work begins.
        agent: an existing agent that takes the work; by default each handoff starts a new one.
        profile: what it can do; what is left out is taken from the entry point. text: what it is for, in words.
        capacity: pieces of work that it takes at once, up to a million; a slot is reserved durably before it accepts
        one.
        lasts: how long it stays unless it is registered again, such as "5m"; by default until it is deregistered.
        registrant: who registers it. An entry of another registrant cannot be changed, and a registrant with a name has
        no more entries than `Limits(entries=)` of the home says.
        Raises PayloadError, UnknownGraphError, UnknownAgentError, EntryRefusedError, EntryTakenError, LookAlikeError
        and TooManyEntriesError.
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

        packet: what is known of the work; its texts count. needs: what it needs besides that.
        Raises PayloadError, and UnknownSelectorError for a filter or a scorer that is neither built in nor of the graph
        that asks.
        """
        if isinstance(needs, Needs):
            refuse("choose", needs_faults("needs", needs))
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
        last 200 ratings of an entry point are kept, and of what nobody was right for the last 200 of each graph.
        Raises NoHandoffError, also while the target is being chosen, NoWorkError for a quality of what nobody was right
        for, and PayloadError for a quality out of range, or if nothing is said.
        """
        rating = {"needed": needed, "in_time": in_time, "quality": quality}
        receipt: Receipt = await self.execute(made(RateHandoffCommand, handoff_id=handoff_id, **rating))
        return receipt

    async def forget_user(self, user: str) -> None:
        """Have the directory forget what it keeps about a user: for whom work was done, and what came of it.

        Numbers that it has counted stay. The history of the entries' agents goes as `prune` says.
        """
        await self.execute(made(ForgetUserCommand, user=user))
