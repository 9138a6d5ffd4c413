"""Draw graphs: entry points as doors, compound states as clusters, and on request an agent's state and trail.

A graph is reduced to an outline, a small frozen form. DOT and Mermaid are written from the outline, and Graphviz draws
the DOT. Each function is imported on first use: a table of agents needs only `drawing.text`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from gatechart.drawing.dot import to_dot
    from gatechart.drawing.mermaid import to_mermaid
    from gatechart.drawing.render import draw, draw_async, to_svg

__all__ = ["draw", "draw_async", "to_dot", "to_mermaid", "to_svg"]

_MODULES: Final = {"to_dot": "dot", "to_mermaid": "mermaid"}


if not TYPE_CHECKING:  # as in the package above

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"gatechart.drawing.{_MODULES.get(name, 'render')}"), name)
