"""The pages and their contents, by path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from gatechart.api import descriptions
from gatechart.api.choice_tables import choice_table
from gatechart.api.home import AgentHome
from gatechart.errors.event import NoHandoffError, PacketError, UnknownEntryError
from gatechart.handoff.reading import read_packet
from gatechart.values.frozen import value
from gatechart.values.handoffs import HandoffRecord, HandoffStatus

_LENGTH: Final = 50  # rows of a list


@value
class ConsolePage:
    """The content of a page: the name of its template, and the values for it."""

    template: str
    values: Mapping[str, Any]


Fields: TypeAlias = Mapping[str, str]
"""The fields of a path and of a query, by name."""

Maker: TypeAlias = Callable[[AgentHome, Fields], Awaitable[ConsolePage]]


async def handoffs_page(home: AgentHome, fields: Fields) -> ConsolePage:
    """List handoffs, the newest first, optionally of one source, target, request or status.

    Raises PayloadError.
    """
    wanted = {name: fields.get(name, "") for name in ("status", "source", "target", "request")}
    after: Any = fields.get("after") or 0  # a number if it is valid, which the home checks
    given = {name: text for name, text in wanted.items() if text}
    handoffs = await home.handoffs(**given, newest_first=True, after=after, limit=_LENGTH + 1)
    rows = handoffs[:_LENGTH]
    older = rows[-1].number if len(handoffs) > _LENGTH else None
    return ConsolePage(
        "handoffs.html", {"handoffs": rows, "wanted": wanted, "statuses": list(HandoffStatus), "older": older}
    )


async def handoff_page(home: AgentHome, fields: Fields) -> ConsolePage:
    """Show a handoff: its changes, the choice of its target, its result, and its packet.

    Raises NoHandoffError.
    """
    matches = await home.handoffs(handoff_id=fields["handoff_id"])
    if not matches:
        raise NoHandoffError(fields["handoff_id"], None)
    (handoff,) = matches
    attempts = await home.handoffs(request=handoff.request, limit=_LENGTH + 2)  # itself, and one beyond the list
    others = [attempt for attempt in attempts if attempt.id != handoff.id]
    values = {
        "handoff": handoff,
        "facts": list(descriptions.handoff_facts(handoff)),
        "choice": None if handoff.choice is None else choice_table(descriptions.explanation_in(handoff.choice)),
        "result": descriptions.value_rows(handoff.result or {}),
        "others": others[:_LENGTH],
        "has_more": len(others) > _LENGTH,
    }
    return ConsolePage("handoff.html", values | _packet_values(handoff))


async def directory_page(home: AgentHome, fields: Fields) -> ConsolePage:
    """List the entries of the directory, by id, with their current work. Raises PayloadError."""
    entries = await home.directory(after=fields.get("after") or None, limit=_LENGTH + 1)
    rows = entries[:_LENGTH]
    return ConsolePage(
        "directory.html", {"entries": rows, "following": rows[-1].id if len(entries) > _LENGTH else None}
    )


async def entry_page(home: AgentHome, fields: Fields) -> ConsolePage:
    """Show an entry of the directory, and the outcomes of its latest work. Raises UnknownEntryError."""
    matches = await home.directory(fields["entry"])
    if not matches:
        raise UnknownEntryError(fields["entry"])
    (entry,) = matches
    facts = list(descriptions.entry_facts(entry))
    return ConsolePage("entry.html", {"entry": entry, "facts": facts, "outcomes": entry.outcomes[::-1]})


def error_page(status: str, message: str) -> ConsolePage:
    """Show an error. status: such as "404 Not Found"."""
    return ConsolePage("error.html", {"status": status, "message": message})


HOME: Final = "/console"
PAGES: Final[Mapping[str, Maker]] = {
    f"{HOME}/handoffs": handoffs_page,
    f"{HOME}/handoffs/{{handoff_id}}": handoff_page,
    f"{HOME}/directory": directory_page,
    f"{HOME}/directory/{{entry}}": entry_page,
}
"""The function that makes a page, by path with `{field}` for variable parts."""


def _packet_values(handoff: HandoffRecord) -> dict[str, Any]:
    """Return the values for the packet; in its stored form if this release cannot read it."""
    try:
        packet = read_packet(handoff.packet)
    except PacketError as error:
        stored = ("Packet", descriptions.value_rows(handoff.packet))
        return {"problem": [("packet", str(error))], "conversation": (), "sections": [stored]}
    problem, sections = descriptions.problem_facts(packet), descriptions.packet_sections(packet)
    return {"problem": list(problem), "conversation": packet.conversation, "sections": list(sections)}
