"""Graphs drawn: entry points as doors, compound states as clusters, and, where asked for, where an agent is and was.

A graph becomes an outline, a small frozen form of what is to be drawn. DOT and Mermaid are written from it, and
Graphviz draws the DOT.
"""

from gatechart.drawing.dot import to_dot
from gatechart.drawing.mermaid import to_mermaid
from gatechart.drawing.render import draw, draw_async, to_svg

__all__ = ["draw", "draw_async", "to_dot", "to_mermaid", "to_svg"]
