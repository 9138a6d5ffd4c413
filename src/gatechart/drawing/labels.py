"""The texts in the boxes and on the arrows of a drawing, as Graphviz's HTML-like labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Final

from gatechart.drawing.language import Markup, bare_table, cell, font, left_lines, row, table
from gatechart.drawing.palette import LARGE, MEDIUM, SMALL, Theme, Tone
from gatechart.drawing.shapes import Box, Card, Door, HandoffLine, HandoffRoute, Outline, TransitionLabel
from gatechart.drawing.text import one_line, places_text

_LONGEST_LINE: Final = 36  # characters; a longer transition is broken before its guard or its actions
_LONGEST_PROSE: Final = 90
_MOST_WAYS: Final = 8  # handoffs on one line of a map; more are only counted
_MANY: Final = 20
"""Columns that share the spare width, so that the column beside them gets almost none of it."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of drawings in one theme."""

    theme: Theme

    def title(self, drawing: Outline, legend: Sequence[str] = ()) -> Markup:
        """Return the graph's name and version, its description and escape plan, and the cells of a legend."""
        plain = self.theme.plain
        name = f"<B>{font(drawing.name, LARGE, plain.ink)}</B>"
        lines = [f"{name}  {font(f'version {drawing.version}', SMALL, plain.soft_ink)}"]
        lines += (font(line, MEDIUM, plain.soft_ink) for line in wrap(one_line(drawing.description), _LONGEST_PROSE))
        lines += (font(f"«escape» {line}", SMALL, self.theme.escape.ink) for line in drawing.plan)
        return table([cell(left_lines(lines)), *(cell(content) for content in legend)], padding=8)

    def state(self, box: Box, tone: Tone) -> Markup:
        """Return the state's name, above its notes and its inner transitions."""
        name = font(box.title, MEDIUM, tone.ink)
        if box.boxes:
            return table([cell(f"<B>{name}</B>"), *self._inside(box, tone)], padding=2)
        head = row(f'<TD CELLPADDING="6">{f"<B>{name}</B>" if box.is_active else name}</TD>')
        inside = self._inside(box, tone)
        if not inside:
            return bare_table(head, padding=0)
        below = f'<TD CELLPADDING="5" ALIGN="LEFT">{table(inside, padding=1)}</TD>'
        return bare_table(f"{head}<HR/>{row(below)}", padding=0)

    def anywhere(self, text: str, parts: Sequence[TransitionLabel], tone: Tone) -> Markup:
        """Return a label for any state, with the transitions that are taken without leaving it."""
        heading = f'<TD ALIGN="{"LEFT" if parts else "CENTER"}"><I>{font(text, SMALL, tone.soft_ink)}</I></TD>'
        return table([heading, *(self._part(part, tone) for part in parts)], padding=3)

    def transitions(self, parts: Sequence[TransitionLabel], tone: Tone) -> Markup:
        """Return the label of an arrow."""
        return table([self._part(part, tone) for part in parts], padding=1)

    def door(self, entry: Door, ink: str) -> Markup:
        """Return a doorway beside the entry point's name, triggers, payload and guard."""
        lines = [
            *([f"<B>{font(entry.title, MEDIUM, ink)}</B>"] if entry.title else []),
            *(font(term, SMALL, ink) for term in entry.terms),
        ]
        cells = [
            *([self.badge(entry.places)] if entry.places else []),
            f'<TD VALIGN="MIDDLE">{doorway(ink)}</TD>',
            *([cell(left_lines(lines))] if lines else []),
        ]
        return bare_table(row("".join(cells)), padding=4)

    def elsewhere(self, graph: str, entry_point: str) -> Markup:
        """Return the door of another graph, with its name."""
        ink = self.theme.door
        lines = [f"<B>{font(graph, MEDIUM, ink)}</B>", font(entry_point, SMALL, ink)]
        return bare_table(row(f'<TD VALIGN="MIDDLE">{doorway(ink)}</TD>{cell(left_lines(lines))}'), padding=4)

    def handing(self, words: Sequence[str], places: Sequence[int], tone: Tone) -> Markup:
        """Return the label of a handoff."""
        cells = [cell(f"<I>{font(mode, SMALL, tone.soft_ink)}</I>") for mode in words]
        return table([*([self.badge(places)] if places else []), *cells], padding=1)

    def card(self, drawn: Card) -> Markup:
        """Return a graph on a map: its name and purpose, and its doors."""
        plain = self.theme.plain
        version = f"  {font(f'version {drawn.version}', SMALL, plain.soft_ink)}" if drawn.version else ""
        head = [f"<B>{font(drawn.name, LARGE, plain.ink)}</B>{version}"]
        head += (font(line, SMALL, plain.soft_ink) for line in wrap(one_line(drawn.description), _LONGEST_LINE))
        doors = "".join(row(self._card_door(number, door)) for number, door in enumerate(drawn.doors))
        frame = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="4" CELLPADDING="4">'
        below = row(f"<TD>{frame}{doors}</TABLE></TD>") if doors else ""
        return bare_table(row(f'<TD ALIGN="LEFT" CELLPADDING="6">{left_lines(head)}</TD>') + below, padding=0)

    def route(self, drawn: HandoffRoute) -> Markup:
        """Return the label of a line from one graph to another: when, where to, how and why work is handed on."""
        rows = [cell(left_lines(self._way_lines(way))) for way in drawn.ways[:_MOST_WAYS]]
        rest = len(drawn.ways) - _MOST_WAYS
        more = [cell(font(f"and {rest} more", SMALL, self.theme.plain.soft_ink))] if rest > 0 else []
        return table([*rows, *more], padding=2)

    def badge(self, places: Sequence[int]) -> str:
        """Return a cell with positions in the trail."""
        text = f"<B>{font(places_text(places), SMALL, self.theme.trail_ink)}</B>"
        return f'<TD BGCOLOR="{self.theme.trail}">{text}</TD>'

    def _way_lines(self, way: HandoffLine) -> Iterator[str]:
        plain = self.theme.plain
        for line in wrap(one_line(way.occasion), _LONGEST_LINE, subsequent_indent="  ", break_long_words=False):
            yield font(line, SMALL, plain.ink)
        for line in wrap(one_line(way.purpose), _LONGEST_LINE, subsequent_indent="  ", break_long_words=False):
            yield f"<I>{font(line, SMALL, plain.soft_ink)}</I>"

    def _card_door(self, number: int, entry: Door) -> str:
        """Return a doorway with its name and terms; only outlined if the graph does not declare it."""
        ink = self.theme.door_ink if entry.is_known else self.theme.door
        lines = [f"<B>{font(entry.name, MEDIUM, ink)}</B>", *(font(term, SMALL, ink) for term in entry.terms)]
        text = f'<TD ALIGN="LEFT" COLSPAN="{_MANY}">{left_lines(lines)}</TD>'
        inside = row(f'<TD VALIGN="MIDDLE">{doorway(ink)}</TD>{text}')
        door = self.theme.door
        ground = f'BGCOLOR="{door}"' if entry.is_known else f'BORDER="1" STYLE="DASHED" COLOR="{door}"'
        return f'<TD PORT="door{number}" ALIGN="LEFT" {ground}>{bare_table(inside, padding=2)}</TD>'

    def _inside(self, box: Box, tone: Tone) -> list[str]:
        actions = (cell(font(line, SMALL, tone.soft_ink)) for line in box.notes)
        return [*actions, *(self._part(part, tone) for part in box.parts)]

    def _part(self, part: TransitionLabel, tone: Tone) -> str:
        """Return a transition with its positions in the trail. Signals and escapes replace a plain tone with theirs."""
        if tone is self.theme.plain:
            tone = self.theme.kind(part) or tone
        content = cell(left_lines(_part_lines(part, tone)))
        if not part.places:
            return content
        return f'<TD ALIGN="LEFT">{bare_table(row(self.badge(part.places) + content), padding=2)}</TD>'


def _part_lines(part: TransitionLabel, tone: Tone) -> list[str]:
    """Return the transition in one line if it is short, else broken before its guard, actions or re-entry."""
    lines, length = [font(part.event, SMALL, tone.ink)], len(part.event)
    for text in part.details:
        piece, length = font(text, SMALL, tone.soft_ink), length + 1 + len(text)
        if length <= _LONGEST_LINE:
            lines[-1] += f" {piece}"
        else:
            lines.append(piece)
            length = len(text)
    return lines


def doorway(ink: str) -> str:
    """Return a door frame with a half-open door in it."""
    frame = f'BORDER="1" SIDES="LTR" COLOR="{ink}" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0"'
    leaf = f'<TD FIXEDSIZE="TRUE" WIDTH="6" HEIGHT="13" BGCOLOR="{ink}"></TD>'
    opening = '<TD FIXEDSIZE="TRUE" WIDTH="4" HEIGHT="13"></TD>'
    return f'<TABLE FIXEDSIZE="TRUE" WIDTH="12" HEIGHT="15" {frame}>{row(leaf + opening)}</TABLE>'
