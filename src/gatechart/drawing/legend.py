"""The legend of a drawing: the meaning of each sign that occurs in it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final

from gatechart.drawing.labels import Labels, doorway
from gatechart.drawing.language import bare_table, cell, font, row
from gatechart.drawing.palette import SMALL
from gatechart.drawing.shapes import Map, Outline
from gatechart.graph.compile import Kind
from gatechart.graph.definition import Recall

_COLUMNS: Final = 3


class Sign(Enum):
    """A sign of drawings, and its meaning."""

    ENTRY_POINT = "entry point: an agent may begin here"
    INITIAL = "where a state with children begins"
    END = "final state"
    REGION = "region: all regions of a state are active together"
    HISTORY = "history: back to the child that was active last"
    DEEP_HISTORY = "deep history: back to the leaves that were active last"
    ANYWHERE = "taken in any state"
    TRANSITION = "transition: event, guard, actions"
    TRANSFER = "transfer: a model chooses it"
    SIGNAL = "answer to a signal: what the agent notices about itself"
    ESCAPE = "way out of what a signal noticed"
    ACTIVE = "active state"
    TRAIL = "taken by the agent, in this order"
    ELSEWHERE = "entry point of another graph"
    HANDOFF = "work handed on to another agent"


def signs_of(drawing: Outline | Map) -> tuple[Sign, ...]:
    """Return the signs that occur in a drawing."""
    return tuple(_of_map(drawing) if isinstance(drawing, Map) else _of_outline(drawing))


def _of_map(drawing: Map) -> Iterator[Sign]:
    yield Sign.ENTRY_POINT
    if not all(card.is_known for card in drawing.cards):
        yield Sign.ELSEWHERE
    if drawing.routes:
        yield Sign.HANDOFF


def _of_outline(drawing: Outline) -> Iterator[Sign]:
    boxes = tuple(drawing.every_box())
    occurring = {
        Sign.ENTRY_POINT: bool(drawing.doors),
        Sign.INITIAL: any(box.initial for box in boxes),
        Sign.END: any(box.kind is Kind.FINAL for box in boxes),
        Sign.REGION: any(box.kind is Kind.PARALLEL for box in boxes),
        Sign.HISTORY: any(box.recall is Recall.SHALLOW for box in boxes),
        Sign.DEEP_HISTORY: any(box.recall is Recall.DEEP for box in boxes),
        Sign.ANYWHERE: bool(drawing.parts) or any(arrow.is_roaming for arrow in drawing.arrows),
        Sign.TRANSITION: bool(drawing.arrows),
        Sign.TRANSFER: any(arrow.is_transfer for arrow in drawing.arrows),
        Sign.SIGNAL: any(part.is_signal for part in drawing.every_part()),
        Sign.ESCAPE: bool(drawing.plan)
        or any(box.plan for box in boxes)
        or any(part.is_escape for part in drawing.every_part()),
        Sign.ACTIVE: any(box.is_active for box in boxes),
        Sign.TRAIL: drawing.has_trail,
        Sign.ELSEWHERE: bool(drawing.handings),
        Sign.HANDOFF: bool(drawing.handings),
    }
    yield from (sign for sign, occurs in occurring.items() if occurs)


def legend_table(drawing: Outline | Map, labels: Labels) -> str:
    """Return a table of the signs, each with its meaning beside it."""
    plain = labels.theme.plain
    entries = [f"{_sample(sign, labels)}{cell(font(sign.value, SMALL, plain.soft_ink))}" for sign in signs_of(drawing)]
    rows = (entries[start : start + _COLUMNS] for start in range(0, len(entries), _COLUMNS))
    return bare_table("".join(row("".join(cells)) for cells in rows), padding=3)


def _sample(sign: Sign, labels: Labels) -> str:
    theme = labels.theme
    ink, line = theme.plain.ink, theme.plain.line
    match sign:
        case Sign.ENTRY_POINT:
            return _framed(f'BGCOLOR="{theme.door}"', doorway(theme.door_ink))
        case Sign.ELSEWHERE:
            return _framed(f'BORDER="1" STYLE="DASHED" COLOR="{theme.door}"', doorway(theme.door))
        case Sign.TRAIL:
            return labels.badge((1, 2))
        case Sign.ACTIVE:
            return _framed(f'BORDER="2" COLOR="{theme.alive.line}" BGCOLOR="{theme.active}"', font("A", SMALL, ink))
        case Sign.REGION:
            return _framed(f'BORDER="1" STYLE="DASHED" COLOR="{line}" BGCOLOR="{theme.clusters[1]}"', "  ")
        case Sign.ANYWHERE:
            text = f"<I>{font('any', SMALL, theme.plain.soft_ink)}</I>"
            return _framed(f'BORDER="1" STYLE="ROUNDED,DASHED" COLOR="{line}"', text)
        case Sign.END:
            inner = f'<TABLE BORDER="1" COLOR="{line}" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">'
            text = font("E", SMALL, ink)
            return _framed(f'BORDER="1" COLOR="{line}" CELLPADDING="2"', f"{inner}{row(f'<TD>{text}</TD>')}</TABLE>")
        case _:
            inked = {Sign.SIGNAL: theme.signal.ink, Sign.ESCAPE: theme.escape.ink}.get(sign, ink)
            return f'<TD ALIGN="CENTER">{font(_WRITTEN[sign], SMALL, inked)}</TD>'


def _framed(frame: str, content: str) -> str:
    """Return a cell with a frame of fixed size, which would otherwise grow with its column."""
    size = 'FIXEDSIZE="TRUE" WIDTH="34" HEIGHT="27"'
    inner = f'<TABLE {size} BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="2">'
    return f'<TD ALIGN="CENTER">{inner}{row(f"<TD {frame}>{content}</TD>")}</TABLE></TD>'


_WRITTEN: Final = {
    Sign.INITIAL: "●",
    Sign.HISTORY: "H",
    Sign.DEEP_HISTORY: "H*",
    Sign.TRANSITION: "e [g] / a",
    Sign.TRANSFER: "· · ➤",
    Sign.SIGNAL: "«signal» ➤",
    Sign.ESCAPE: "«escape» ➤",
    Sign.HANDOFF: "- - ➤",
}
