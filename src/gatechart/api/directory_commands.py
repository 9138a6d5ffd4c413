"""Commands about the directory: whom work can be handed to."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from pydantic import AllowInfNan, Field, Strict

from gatechart.api.base_command import BaseCommand, Limit, WritingCommand
from gatechart.api.codec import CHOICE, DONE, ENTRIES, ENTRY, RECEIPT, Answer, Closed
from gatechart.api.route import Route
from gatechart.handoff import HandoffPacket
from gatechart.values import LONGEST_NAME, Mark, Needs, Profile

_NO_NUL: Final = r"^[^\x00]*$"
EntryId: TypeAlias = Annotated[str, Field(min_length=1, max_length=200, pattern=_NO_NUL)]
_Name: TypeAlias = Annotated[str, Field(max_length=LONGEST_NAME, pattern=_NO_NUL)]
_Text: TypeAlias = Annotated[str, Field(max_length=10_000, pattern=_NO_NUL)]
_Share: TypeAlias = Annotated[float, Strict(), Field(ge=0, le=1), AllowInfNan(False)]
_Places: TypeAlias = Annotated[int, Strict(), Field(ge=0)]
_YesOrNo: TypeAlias = Annotated[bool, Strict()]


class RegisterEntryCommand(WritingCommand):
    """`register_entry`. It says how an entry should be, so it can be repeated as it is."""

    answer: ClassVar[Answer[Any]] = ENTRY
    route: ClassVar[Route] = Route("POST", "/directory", "Register whom work can be handed to, or renew that")
    verb: Literal["register_entry"] = "register_entry"
    id: EntryId
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


class DirectoryCommand(BaseCommand):
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


class ChooseCommand(BaseCommand):
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
