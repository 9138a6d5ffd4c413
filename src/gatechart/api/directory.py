"""Commands and verbs for the directory."""

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
"""The fields of a rating; at least one must be set."""

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
    """`register_entry`. It declares the wanted state of an entry, so it is safe to repeat."""

    answer: ClassVar[Answer[Any]] = ENTRY
    route: ClassVar[Route] = Route("POST", "/directory", "Register a recipient of work, or renew its registration")
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
    """`deregister_entry`. A repeat raises UnknownEntryError."""

    answer: ClassVar[Answer[Any]] = DONE
    route: ClassVar[Route] = Route("DELETE", "/directory/{id}", "Deregister an entry; its work continues", 204)
    verb: Literal["deregister_entry"] = "deregister_entry"
    id: EntryId
    registrant: _Name | None = None  # None: any registrant


class DirectoryCommand(Command):
    """`directory`."""

    answer: ClassVar[Answer[Any]] = ENTRIES
    route: ClassVar[Route] = Route("GET", "/directory", "List the directory of recipients of work, a page at a time")
    verb: Literal["directory"] = "directory"
    id: EntryId | None = None
    after: EntryId | None = None
    limit: Limit = 100


class MarkEntryCommand(WritingCommand):
    """`mark_entry`. A repeat sets the same mark, so it is safe."""

    answer: ClassVar[Answer[Any]] = ENTRY
    route: ClassVar[Route] = Route("POST", "/directory/{id}/mark", "Pin, exclude or close an entry, or undo that")
    verb: Literal["mark_entry"] = "mark_entry"
    id: EntryId
    mark: Mark
    reason: _Name = ""


class ChooseCommand(Command):
    """`choose`."""

    answer: ClassVar[Answer[Any]] = CHOICE
    route: ClassVar[Route] = Route("POST", "/choices", "Show which recipient would get the work now, and why")
    verb: Literal["choose"] = "choose"
    packet: HandoffPacket = HandoffPacket()
    needs: Annotated[Needs, Closed()] | None = None


class ForgetUserCommand(WritingCommand):
    """`forget_user`. A repeat has no effect."""

    answer: ClassVar[Answer[Any]] = DONE
    route: ClassVar[Route] = Route("DELETE", "/directory/users/{user}", "Delete the records of a user's work", 204)
    verb: Literal["forget_user"] = "forget_user"
    user: str


class RateHandoffCommand(WritingCommand):
    """`rate_handoff`. The last rating counts, so it is safe to repeat."""

    answer: ClassVar[Answer[Any]] = RECEIPT
    route: ClassVar[Route] = Route("POST", "/handoffs/{handoff_id}/rating", "Rate a handoff and the work after it")
    verb: Literal["rate_handoff"] = "rate_handoff"
    handoff_id: str
    needed: _YesOrNo | None = None
    in_time: _YesOrNo | None = None
    quality: _Share | None = None


class DirectoryHome(Executor):
    """The part of `AgentHome` for the directory of recipients of work.

    The directory has the entry points with profiles of the home's graphs, and registered people and foreign agents.
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
        """Register a recipient of work: a person, or an agent, behind an entry point of a graph.

        Calling it again renews the registration: an existing entry is changed to these values.

        id: the entry's id, up to 200 visible characters: words of one script each, separated by single spaces, that
        cannot be mistaken for another entry or a graph. An id that another registrant gave up starts a new record.
        graph, at: where its work starts.
        agent: an existing agent that takes the work; by default each handoff starts a new one.
        profile: its abilities; omitted fields come from the entry point. text: its purpose, in words.
        capacity: the most pieces of work at a time, up to a million; a slot is reserved durably before it accepts one.
        lasts: the time until the registration expires unless it is renewed, such as "5m"; by default it does not.
        registrant: the owner of the entry. An entry of another registrant cannot be changed, and a named registrant
        has at most `Limits(entries=)` entries.
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
        """Remove a registered entry from the directory. Its work continues.

        registrant: remove it only if this one registered it; by default, any registrant's.
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
        """List the directory by id, a page at a time: pass the last id as `after`. id: only this entry.

        Raises PayloadError.
        """
        command = made(DirectoryCommand, id=id, after=after, limit=limit)
        entries: Sequence[DirectoryEntry] = await self.execute(command)
        return entries

    async def mark_entry(self, id: str, mark: Mark | str, *, reason: str = "") -> DirectoryEntry:  # noqa: A002
        """Pin, exclude or close an entry; `Mark.NONE` removes the mark. Its current work continues.

        mark: a `pinned` entry is preferred to all other suitable ones; an `excluded` entry is never chosen, but takes
        work that names it; a `closed` entry takes no work. reason: shown in the directory, and in explanations.
        Raises UnknownEntryError and PayloadError.
        """
        entry: DirectoryEntry = await self.execute(made(MarkEntryCommand, id=id, mark=mark, reason=reason))
        return entry

    async def choose(self, packet: HandoffPacket | None = None, *, needs: Needs | None = None) -> Choice:
        """Return the recipient that work would be handed to now, and why. Nothing is offered or stored.

        packet: the facts of the work, whose texts count, too. needs: further requirements.
        Raises PayloadError, and UnknownSelectorError for a filter or a scorer that is neither built in nor declared by
        the requesting graph.
        """
        if isinstance(needs, Needs):
            refuse("choose", needs_faults("needs", needs))
        arguments = {} if packet is None else {"packet": packet}
        choice: Choice = await self.execute(made(ChooseCommand, **arguments, needs=needs))
        return choice

    async def rate_handoff(
        self,
        handoff_id: str,
        *,
        needed: bool | None = None,
        in_time: bool | None = None,
        quality: float | None = None,
    ) -> Receipt:
        """Rate a handoff and the work after it. Omitted fields keep their earlier ratings.

        needed, in_time: whether the handoff was needed and in time; they rate the agent that handed the work over.
        quality: of the work, from 0 to 1; it rates the recipient.
        Any stored handoff can be rated, also if it names its target, and before its work has ended. The directory keeps
        the last 200 ratings of an entry point, and for each graph the last 200 ratings of work without a recipient.
        Raises NoHandoffError, also while the target is being chosen, NoWorkError for a quality of work without a
        recipient, and PayloadError for a quality out of range, or if no field is set.
        """
        rating = {"needed": needed, "in_time": in_time, "quality": quality}
        receipt: Receipt = await self.execute(made(RateHandoffCommand, handoff_id=handoff_id, **rating))
        return receipt

    async def forget_user(self, user: str) -> None:
        """Delete the directory's records about a user: which entries worked for them, and with what result.

        Counters keep their values. `prune` deletes the history of the entries' agents.
        """
        await self.execute(made(ForgetUserCommand, user=user))
