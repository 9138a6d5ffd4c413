"""Handoffs and packets as tables and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from rich.text import Text

from gatechart.api import descriptions
from gatechart.api.choice_tables import choice_table
from gatechart.api.codec import HANDOFF
from gatechart.cli.output import (
    Cell,
    Document,
    in_zone,
    moment_text,
    print_facts,
    print_line,
    print_table,
    print_warning,
    zoned_text,
)
from gatechart.cli.remedies import in_commands
from gatechart.drawing.text import visible
from gatechart.errors.event import PacketError
from gatechart.handoff.media import text_of_parts
from gatechart.handoff.packet import HandoffPacket, Message
from gatechart.handoff.reading import read_packet
from gatechart.values.handoffs import HandoffRecord, HandoffStatus
from gatechart.values.profiles import Explanation
from gatechart.values.secrets import shown


def handoff_document(handoff: HandoffRecord) -> Document:
    """Describe a handoff, without its packet and the explanation of its choice."""
    return {name: value for name, value in HANDOFF.plain(handoff).items() if name not in ("packet", "choice")}


_STYLES: Final = {
    HandoffStatus.CHOOSING: "magenta",
    HandoffStatus.PENDING: "yellow",
    HandoffStatus.ACCEPTED: "green",
    HandoffStatus.COMPLETED: "cyan",
    HandoffStatus.REJECTED: "bold red",
    HandoffStatus.FAILED: "bold red",
    HandoffStatus.CANCELLED: "dim",
    HandoffStatus.EXPIRED: "dim",
    HandoffStatus.UNREADABLE: "bold red",
}


def print_handoffs(handoffs: Sequence[HandoffRecord]) -> None:
    """Print handoffs, one per row."""
    columns = ("HANDOFF", "STATUS", in_zone("OFFERED"), "FROM → TO, REASON")
    print_table(columns, map(_row, handoffs), whole=("HANDOFF", "STATUS", in_zone("OFFERED")))


def print_handoff(handoff: HandoffRecord, earlier: Iterable[HandoffRecord] = ()) -> None:
    """Print a handoff briefly: source, target and status. earlier: failed attempts."""
    tried = (f"{each.target_graph} at {each.entry_point}: {each.changes[-1].details}" for each in earlier)
    print_facts(
        [*_facts(handoff), *fact_cells([("details", handoff.changes[-1].details), ("failed before", "; ".join(tried))])]
    )


def print_whole_handoff(handoff: HandoffRecord) -> None:
    """Print a handoff with its changes, the explanation of its choice, its result and its packet."""
    handoff = shown(handoff)
    print_facts(_facts(handoff))
    print_line()
    changes = [
        (moment_text(change.time), status_cell(change.status), prose(change.details)) for change in handoff.changes
    ]
    print_table((in_zone("WHEN"), "CHANGE", ""), changes, whole=(in_zone("WHEN"),))
    if handoff.choice is not None:
        print_line()
        print_choice(descriptions.explanation_in(handoff.choice))
    if handoff.result is not None:
        _print_table("RESULT", descriptions.value_rows(handoff.result))
    try:
        packet = read_packet(handoff.packet)
    except PacketError as error:
        _print_table("PACKET", descriptions.value_rows(handoff.packet))
        print_warning(in_commands(str(error)))
        return
    print_packet(packet)


def print_choice(why: Explanation, facts: Sequence[descriptions.Fact] = ()) -> None:
    """Print the explanation of a choice: each candidate with its scores, or why it was excluded.

    facts: printed before the candidates.
    """
    table = choice_table(why)
    print_facts(fact_cells([*facts, *table.facts]))
    headings = (*map(visible, table.headings), "why excluded")
    rows: list[Sequence[Cell]] = [
        (visible(each.id), *each.scores, Text(visible(each.fell), "dim")) for each in table.rows
    ]
    _print_table("CANDIDATE", rows, [heading.upper() for heading in headings])
    if table.left_out:
        print_line(f"and {table.left_out} more")


def print_packet(packet: HandoffPacket) -> None:
    """Print a packet."""
    if problem := fact_cells(descriptions.problem_facts(packet)):
        print_line()
        print_facts(problem)
    print_conversation(packet.conversation)
    print_sections(descriptions.packet_sections(packet))


def print_conversation(messages: Iterable[Message]) -> None:
    """Print messages and tool calls, oldest first."""
    rows = [(_clock(message.time), message.role, _message_text(message)) for message in messages]
    _print_table("CONVERSATION", rows, ("", ""))


def print_sections(sections: Iterable[descriptions.Section]) -> None:
    """Print a table for each section that has rows."""
    for heading, rows in sections:
        cells = [tuple(map(prose, row)) for row in rows]
        _print_table(heading.upper(), cells, ("",) * (len(rows[0]) - 1) if rows else ())


def status_cell(status: HandoffStatus) -> Text:
    """Colour a status."""
    return Text(status.value, _STYLES[status])


def prose(text: str) -> Text:
    """Keep the lines of a text, and escape unprintable characters."""
    return Text("\n".join(map(visible, text.splitlines())))


def _row(handoff: HandoffRecord) -> Sequence[Cell]:
    text = Text(visible(descriptions.route_text(handoff)))
    details = handoff.changes[-1].details
    text.append(f"\n{handoff.reason.value}{f'; {visible(details)}' if details else ''}", "dim")
    return handoff.id, status_cell(handoff.status), moment_text(handoff.changes[0].time), text


def _facts(handoff: HandoffRecord) -> Iterator[tuple[str, Cell]]:
    for name, fact in fact_cells(descriptions.handoff_facts(handoff)):
        yield name, status_cell(handoff.status) if name == "status" else fact


def fact_cells(facts: Iterable[descriptions.Fact]) -> list[tuple[str, Cell]]:
    """Show non-empty texts with their line breaks, and moments in local time."""
    return [(name, zoned_text(fact) if isinstance(fact, datetime) else prose(fact)) for name, fact in facts if fact]


def _print_table(heading: str, rows: Sequence[Sequence[Cell]], more: Sequence[str] = ("",)) -> None:
    """Print a table after an empty line, if it has rows. more: the headings of the other columns."""
    if rows:
        print_line()
        print_table((heading, *more), rows)


def _clock(time: datetime | None) -> str:
    return "" if time is None else moment_text(time)


def _message_text(message: Message) -> Text:
    text = prose(text_of_parts(message.parts) if message.parts else message.content)
    for call in message.tool_calls:
        text.append(f"{chr(10) if text else ''}{visible(descriptions.tool_call_text(call))}", "dim")
    return text
