"""Where a foreign chart begins, as an entry point."""

from __future__ import annotations

from collections.abc import Sequence

from gatechart.graph.definition import ANY, EntryPoint, Initial, State


def beginning(initial: Initial | None, states: Sequence[State]) -> EntryPoint:
    """The initial state by its name, or the first; `initial` where there are several, or something is done on the way.

    >>> beginning(Initial("a"), ()).name, beginning(None, [State("b")]).name, beginning(Initial(["a", "b"]), ()).name
    ('a', 'b', 'initial')
    """
    targets = initial.targets if initial else tuple(state.name for state in states[:1])
    is_one = len(targets) == 1 and not (initial and initial.actions)
    return EntryPoint(*targets) if is_one else EntryPoint(ANY, "initial")
