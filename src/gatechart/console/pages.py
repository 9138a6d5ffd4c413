"""The pages: what each shows, by its path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from gatechart.api import AgentHome, descriptions
from gatechart.api.choice_tables import choice_table
from gatechart.errors import NoHandoffError, PacketError, UnknownEntryError
from gatechart.handoff import read_packet
from gatechart.values import HandoffRecord, HandoffStatus
from gatechart.values.frozen import value

_LENGTH: Final = 50  # rows of a list


@value
class Page:
    """What a page shows: the name of its template, and the values that it is filled with."""

    template: str
    values: Mapping[str, Any]


Asked: TypeAlias = Mapping[str, str]
"""The fields of a path and of a query, by name."""

Maker: TypeAlias = Callable[[AgentHome, Asked], Awaitable[Page]]


async def handoffs_page(home: AgentHome, asked: Asked) -> Page:
    """List handoffs, the newest first: all, or those of an agent, of a request, or with a status.

    Raises PayloadError.
    """
    wanted = {name: asked.get(name, "") for name in ("status", "source", "target", "request")}
    after: Any = asked.get("after") or 0  # a number if it is valid, which the home checks
    given = {name: text for name, text in wanted.items() if text}
    found = await home.handoffs(**given, newest_first=True, after=after, limit=_LENGTH + 1)
    rows = found[:_LENGTH]
    older = rows[-1].number if len(found) > _LENGTH else None
    return Page("handoffs.html", {"handoffs": rows, "wanted": wanted, "statuses": list(HandoffStatus), "older": older})


async def handoff_page(home: AgentHome, asked: Asked) -> Page:
    """Show a handoff: its changes, why its target was chosen, its result, and what was handed over.

    Raises NoHandoffError.
    """
    found = await home.handoffs(handoff_id=asked["handoff_id"])
    if not found:
        raise NoHandoffError(asked["handoff_id"], None)
    (handoff,) = found
    attempts = await home.handoffs(request=handoff.request, limit=_LENGTH + 2)  # itself, and one beyond the list
    others = [each for each in attempts if each.id != handoff.id]
    values = {
        "handoff": handoff,
        "facts": list(descriptions.handoff_facts(handoff)),
        "choice": None if handoff.choice is None else choice_table(descriptions.explanation_in(handoff.choice)),
        "result": descriptions.value_rows(handoff.result or {}),
        "others": others[:_LENGTH],
        "has_more": len(others) > _LENGTH,
    }
    return Page("handoff.html", values | _packet_values(handoff))


async def directory_page(home: AgentHome, asked: Asked) -> Page:
    """List whom work can be handed to, by id, with the work that each has. Raises PayloadError."""
    found = await home.directory(after=asked.get("after") or None, limit=_LENGTH + 1)
    rows = found[:_LENGTH]
    return Page("directory.html", {"entries": rows, "following": rows[-1].id if len(found) > _LENGTH else None})


async def entry_page(home: AgentHome, asked: Asked) -> Page:
    """Show an entry of the directory, and what came of its latest work. Raises UnknownEntryError."""
    found = await home.directory(asked["entry"])
    if not found:
        raise UnknownEntryError(asked["entry"])
    (entry,) = found
    facts = list(descriptions.entry_facts(entry))
    return Page("entry.html", {"entry": entry, "facts": facts, "outcomes": entry.outcomes[::-1]})


def error_page(status: str, message: str) -> Page:
    """Show why there is no page. status: such as "404 Not Found"."""
    return Page("error.html", {"status": status, "message": message})


HOME: Final = "/console"
PAGES: Final[Mapping[str, Maker]] = {
    f"{HOME}/handoffs": handoffs_page,
    f"{HOME}/handoffs/{{handoff_id}}": handoff_page,
    f"{HOME}/directory": directory_page,
    f"{HOME}/directory/{{entry}}": entry_page,
}
"""What makes a page, by its path with `{field}` for variable parts."""


def _packet_values(handoff: HandoffRecord) -> dict[str, Any]:
    """Return what was handed over; as it is stored if this release cannot read it."""
    try:
        packet = read_packet(handoff.packet)
    except PacketError as error:
        stored = ("Packet", descriptions.value_rows(handoff.packet))
        return {"problem": [("packet", str(error))], "conversation": (), "sections": [stored]}
    problem, sections = descriptions.problem_facts(packet), descriptions.packet_sections(packet)
    return {"problem": list(problem), "conversation": packet.conversation, "sections": list(sections)}
