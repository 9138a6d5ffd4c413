"""The statements of Graphviz's DOT language and its HTML-like labels, from names that may hold anything.

Sources: https://graphviz.org/doc/info/lang.html, https://graphviz.org/doc/info/shapes.html#html
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import TypeAlias
from urllib.parse import quote

from gatechart.drawing.palette import DOOR, DOOR_INK, LARGE, MEDIUM, PLAIN, SMALL, TRAIL, TRAIL_INK, Tone
from gatechart.drawing.shapes import Box, Card, Door, Outline, Part
from gatechart.drawing.text import one_line, places_text, visible
from gatechart.graph import ROOT
from gatechart.values import StateName


class Markup(str):
    """Text of an HTML-like label: written between angle brackets, not between quotes."""

    __slots__ = ()


Value: TypeAlias = Markup | str | float


def identity(name: str) -> str:
    """Return a name as part of an identifier: unique, and free of colons, so that parts can be joined.

    >>> identity("IDLE"), identity('say "hi": 1')
    ('IDLE', 'say%20%22hi%22%3A%201')
    """
    return quote(name, safe="", errors="surrogatepass")


def statement(subject: str, **attributes: Value) -> str:
    """Return the subject with its attributes.

    >>> statement(node("IDLE"), label="Idle", penwidth=1.5)
    '"IDLE" [label="Idle", penwidth=1.5]'
    """
    written = ", ".join(f"{name}={_written(value)}" for name, value in attributes.items())
    return f"{subject} [{written}]"


def node(identifier: str) -> str:
    """Return a node, or a graph's name, as the language has it. identifier: made of identities."""
    return f'"{identifier}"'


def edge(tail: str, head: str) -> str:
    """Return an edge from node to node."""
    return f"{node(tail)} -> {node(head)}"


def tooltip(text: str) -> str:
    r"""Text for a tooltip, in which Graphviz would replace entities, and `\N` and its like, twice.

    >>> tooltip("R&D")
    'R&amp;D'
    """
    return one_line(text).replace("&", "&amp;").replace('"', "&quot;").replace("\\", "\\" * 4)


def _written(value: Value) -> str:
    if isinstance(value, Markup):
        return f"<{value}>"
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"


_LONGEST_LINE = 36  # characters; a longer transition is broken before its guard or its actions
_LONGEST_PROSE = 90
_MANY = 20  # columns, over which Graphviz spreads what is left of a width: next to nothing to the one beside them
_ENTITIES = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "]": "&#93;",  # Graphviz 2.43 takes it for the end of the label where it follows a tag
    "\\": "<FONT>\\</FONT>",  # kept from what follows, for `\N` and its like would be replaced
}


def escape(text: str) -> str:
    r"""Return the text as it stands in a label, whatever it is.

    >>> escape("a<b&c\n")
    'a&lt;b&amp;c<FONT>\\</FONT>n'
    """
    return "".join(_ENTITIES.get(character, character) for character in visible(text))


def title(drawing: Outline) -> Markup:
    """Return the graph's name and version, and under it what it is for."""
    name = f"<B>{_font(drawing.name, LARGE, PLAIN.ink)}</B>"
    lines = [f"{name}  {_font(f'version {drawing.version}', SMALL, PLAIN.soft_ink)}"]
    lines += (_font(line, MEDIUM, PLAIN.soft_ink) for line in wrap(one_line(drawing.description), _LONGEST_PROSE))
    return _table([_cell(_lines(lines))], padding=8)


def state(box: Box, tone: Tone) -> Markup:
    """Return the state's name and, below, what happens inside it."""
    name = _font(box.name, MEDIUM, tone.ink)
    if box.boxes:
        return _table([_cell(f"<B>{name}</B>"), *_inside(box, tone)], padding=2)
    head = _row(f'<TD CELLPADDING="6">{f"<B>{name}</B>" if box.is_active else name}</TD>')
    inside = _inside(box, tone)
    if not inside:
        return _bare_table(head, padding=0)
    below = f'<TD CELLPADDING="5" ALIGN="LEFT">{_table(inside, padding=1)}</TD>'
    return _bare_table(f"{head}<HR/>{_row(below)}", padding=0)


def anywhere(text: str, parts: Sequence[Part], tone: Tone) -> Markup:
    """Wherever the agent is: words for that, and what happens without leaving it."""
    heading = f'<TD ALIGN="{"LEFT" if parts else "CENTER"}"><I>{_font(text, SMALL, tone.soft_ink)}</I></TD>'
    return _table([heading, *(_part(part, tone) for part in parts)], padding=3)


def transitions(parts: Sequence[Part], tone: Tone) -> Markup:
    """Return what is written on an arrow."""
    return _table([_part(part, tone) for part in parts], padding=1)


def door(entry: Door, ink: str) -> Markup:
    """Return a doorway, and beside it what opens it and what it takes."""
    lines = [
        *([f"<B>{_font(entry.title, MEDIUM, ink)}</B>"] if entry.title else []),
        *(_font(term, SMALL, ink) for term in entry.terms),
    ]
    cells = [
        *([_badge(entry.places)] if entry.places else []),
        f'<TD VALIGN="MIDDLE">{_doorway(ink)}</TD>',
        *([_cell(_lines(lines))] if lines else []),
    ]
    return _bare_table(_row("".join(cells)), padding=4)


def elsewhere(graph: str, entry_point: str, ink: str) -> Markup:
    """Return the door of another graph, with its name."""
    lines = [f"<B>{_font(graph, MEDIUM, ink)}</B>", _font(entry_point, SMALL, ink)]
    return _bare_table(_row(f'<TD VALIGN="MIDDLE">{_doorway(ink)}</TD>{_cell(_lines(lines))}'), padding=4)


def handing(words: Sequence[str], places: Sequence[int], tone: Tone) -> Markup:
    """Return what is written on the way of work that is handed on."""
    cells = [_cell(f"<I>{_font(each, SMALL, tone.soft_ink)}</I>") for each in words]
    return _table([*([_badge(places)] if places else []), *cells], padding=1)


def card(drawn: Card) -> Markup:
    """Return a graph on a map: name and purpose, its doors on the left, the states that hand on work on the right."""
    version = f"  {_font(f'version {drawn.version}', SMALL, PLAIN.soft_ink)}" if drawn.version else ""
    head = [f"<B>{_font(drawn.name, LARGE, PLAIN.ink)}</B>{version}"]
    head += (_font(line, SMALL, PLAIN.soft_ink) for line in wrap(one_line(drawn.description), _LONGEST_LINE))
    doors = "".join(_row(_card_door(number, door)) for number, door in enumerate(drawn.doors))
    sources = "".join(_row(_card_source(number, name)) for number, name in enumerate(drawn.sources))
    frame = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="4" CELLPADDING="4">'
    columns = "".join(f'<TD VALIGN="TOP">{frame}{rows}</TABLE></TD>' for rows in (doors, sources) if rows)
    span = f' COLSPAN="{bool(doors) + bool(sources)}"' if doors and sources else ""
    return _bare_table(_row(f'<TD ALIGN="LEFT"{span} CELLPADDING="6">{_lines(head)}</TD>') + _row(columns), padding=0)


def _card_door(number: int, entry: Door) -> str:
    """Return a doorway with its name and terms, to which lines lead; only outlined where the graph does not have it."""
    ink = DOOR_INK if entry.is_known else DOOR
    lines = [f"<B>{_font(entry.name, MEDIUM, ink)}</B>", *(_font(term, SMALL, ink) for term in entry.terms)]
    text = f'<TD ALIGN="LEFT" COLSPAN="{_MANY}">{_lines(lines)}</TD>'
    inside = _row(f'<TD VALIGN="MIDDLE">{_doorway(ink)}</TD>{text}')
    ground = f'BGCOLOR="{DOOR}"' if entry.is_known else f'BORDER="1" STYLE="DASHED" COLOR="{DOOR}"'
    return f'<TD PORT="door{number}" ALIGN="LEFT" {ground}>{_bare_table(inside, padding=2)}</TD>'


def _card_source(number: int, name: StateName) -> str:
    """Return a state from which lines lead."""
    text = f"<I>{_font('any state', SMALL, PLAIN.soft_ink)}</I>" if name == ROOT else _font(name, MEDIUM, PLAIN.ink)
    return f'<TD PORT="state{number}" BORDER="1" STYLE="ROUNDED" COLOR="{PLAIN.line}">{text}</TD>'


def _inside(box: Box, tone: Tone) -> list[str]:
    actions = (_cell(_font(line, SMALL, tone.soft_ink)) for line in box.notes)
    return [*actions, *(_part(part, tone) for part in box.parts)]


def _part(part: Part, tone: Tone) -> str:
    content = _cell(_lines(_part_lines(part, tone)))
    if not part.places:
        return content
    return f'<TD ALIGN="LEFT">{_bare_table(_row(_badge(part.places) + content), padding=2)}</TD>'


def _part_lines(part: Part, tone: Tone) -> list[str]:
    """Return the transition in one line where it is short, else broken before what follows the event."""
    lines, length = [_font(part.event, SMALL, tone.ink)], len(part.event)
    for text in part.details:
        piece, length = _font(text, SMALL, tone.soft_ink), length + 1 + len(text)
        if length <= _LONGEST_LINE:
            lines[-1] += f" {piece}"
        else:
            lines.append(piece)
            length = len(text)
    return lines


def _doorway(ink: str) -> str:
    """Return a door frame with the door in it half open."""
    frame = f'BORDER="1" SIDES="LTR" COLOR="{ink}" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0"'
    leaf = f'<TD FIXEDSIZE="TRUE" WIDTH="6" HEIGHT="13" BGCOLOR="{ink}"></TD>'
    opening = '<TD FIXEDSIZE="TRUE" WIDTH="4" HEIGHT="13"></TD>'
    return f'<TABLE FIXEDSIZE="TRUE" WIDTH="12" HEIGHT="15" {frame}>{_row(leaf + opening)}</TABLE>'


def _badge(places: Sequence[int]) -> str:
    text = f"<B>{_font(places_text(places), SMALL, TRAIL_INK)}</B>"
    return f'<TD BGCOLOR="{TRAIL}">{text}</TD>'


def _font(text: str, size: float, color: str) -> str:
    return f'<FONT POINT-SIZE="{size:g}" COLOR="{color}">{escape(text)}</FONT>'


def _lines(lines: Iterable[str]) -> str:
    return '<BR ALIGN="LEFT"/>'.join(lines) + '<BR ALIGN="LEFT"/>'


def _cell(content: str) -> str:
    return f'<TD ALIGN="LEFT">{content}</TD>'


def _row(cells: str) -> str:
    return f"<TR>{cells}</TR>"


def _table(rows: Iterable[str], *, padding: int) -> Markup:
    return _bare_table("".join(map(_row, rows)), padding=padding)


def _bare_table(rows: str, *, padding: int) -> Markup:
    head = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="{padding}">'
    return Markup(f"{head}{rows}</TABLE>")
