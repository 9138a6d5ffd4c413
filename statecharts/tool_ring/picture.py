"""What became of the agents, as a picture: a bar for each situation, divided by how its agents ended."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final, TypeAlias

import graphviz

from statecharts.tool_ring.play import ENDS, WITH_A_PERSON, Played, Situation

Ended: TypeAlias = Iterable[tuple[Situation, Played]]
"""Situations, with what became of their agents."""

_BAR: Final = 400  # points in all
_COLOURS: Final = {"FINISHED": "#15803D", WITH_A_PERSON: "#1D4ED8", "EXHAUSTED": "#B4123C"}
_PLAIN: Final = "#64748B"
_LOOK: Final = 'graph [bgcolor=white]; node [shape=plain fontname="Helvetica" fontsize=12]'


def to_dot(ended: Ended) -> str:
    """Return the picture in DOT."""
    rows = "".join(_row(situation, played) for situation, played in ended)
    table = f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="6">{_legend()}{rows}</TABLE>>'
    return f"digraph {{\n  {_LOOK}\n  ended [label={table}]\n}}\n"


def to_svg(ended: Ended) -> str:
    """Return the picture as SVG, drawn by Graphviz."""
    drawn: str = graphviz.Source(to_dot(ended)).pipe("svg", encoding="utf-8")
    return drawn


def _row(situation: Situation, played: Played) -> str:
    agents = sum(count for _, count in played.ends)
    bar = "".join(_part(name, count, agents) for name, count in played.ends if count)
    steps = f"{played.usual_steps:g} steps, at most {played.steps[-1]}"
    return (
        f'<TR><TD ALIGN="RIGHT">{escape(situation.name)}</TD>'
        f'<TD><TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="3"><TR>{bar}</TR></TABLE></TD>'
        f'<TD ALIGN="LEFT"><FONT COLOR="{_PLAIN}">{steps}</FONT></TD></TR>'
    )


def _part(name: str, count: int, agents: int) -> str:
    width = round(_BAR * count / agents)
    return f'<TD BGCOLOR="{_colour(name)}" WIDTH="{width}"><FONT COLOR="white">{count}</FONT></TD>'


def _legend() -> str:
    names = "&#160;&#160;".join(f'<FONT COLOR="{_colour(each)}">&#9632; {each.lower()}</FONT>' for each in ENDS)
    return f'<TR><TD></TD><TD ALIGN="LEFT">{names}</TD><TD></TD></TR>'


def _colour(name: str) -> str:
    return _COLOURS.get(name, _PLAIN)
