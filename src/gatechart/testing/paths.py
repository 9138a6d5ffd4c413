"""Paths through a graph as cases for pytest.

```python
@pytest.mark.parametrize("path", path_cases(support))
async def test_support_takes(path: Path) -> None:
    async with rehearse(support, path.entry_point, as_framework=True) as rehearsal:  # for timers and invokes, too
        await walk_path(path, rehearsal, payloads={"ASKED": {"query": "refund"}})
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import pytest

from gatechart.graph.graph import AnyGraph
from gatechart.rules.paths import Microstep, Path, paths
from gatechart.values.agents import Outcome, Snapshot
from gatechart.values.names import Name, name_of


class Walker(Protocol):
    """Anything that can walk a path: a rehearsal, or an agent of a runtime."""

    @property
    def snapshot(self) -> Snapshot:
        """The newest committed snapshot."""
        ...

    async def send(self, event: Name, payload: Any = None, /) -> Outcome:
        """Send an event and return its outcome."""
        ...


def path_cases(graph: AnyGraph, *, from_: Name | None = None, most: int = 100_000) -> list[Any]:
    """Return a `pytest.param` for each path needed to take every transition. Its id lists the events.

    from_: an entry point's name; all entry points by default. Raises the exceptions of `paths`.
    """
    doors = tuple(graph.entry_points) if from_ is None else (name_of(from_),)
    return [pytest.param(path, id=str(path)) for door in doors for path in paths(graph, from_=door, most=most)]


async def walk_path(path: Path, agent: Walker, payloads: Mapping[Any, Any] | None = None) -> None:
    """Send the events of the path, and fail the test if the agent takes another path.

    agent: just started at the path's entry point.
    payloads: by event, as needed for the guards to pass.
    """
    by_name = {name_of(event): payload for event, payload in (payloads or {}).items()}
    first, *turns = _turns(path)
    expected = first[-1].configuration if first else path.begins_in
    here = agent.snapshot.configuration
    if here != expected:
        problem = f"{path}: started in {', '.join(here)}, not in {', '.join(expected)}"
        pytest.fail(f"{problem}; start with a payload for which the eventless guards pass", pytrace=False)
    for turn in turns:
        event = turn[0].event or ""
        outcome = await agent.send(event, by_name.get(event))
        _compare(path, turn, outcome, by_name)


def _turns(path: Path) -> Iterator[tuple[Microstep, ...]]:
    """Yield the steps of each turn. The steps of the start come first, and may be empty."""
    turn: list[Microstep] = []
    for step in path.steps:
        if step.is_sent:
            yield tuple(turn)
            turn = []
        turn.append(step)
    yield tuple(turn)


def _compare(path: Path, turn: tuple[Microstep, ...], outcome: Outcome, payloads: Mapping[str, Any]) -> None:
    """Fail the test unless the turn starts with these steps. Eventless transitions may follow the last one."""
    wanted = tuple(label for step in turn for label in step.transitions)
    if outcome.taken[: len(wanted)] == wanted:
        return
    result = f"{outcome.refusal}" if outcome.refusal else f"took {', '.join(outcome.taken)}"
    payload_text = (
        f"payloads has {payloads[outcome.event]!r} for it" if outcome.event in payloads else "payloads has none for it"
    )
    pytest.fail(
        f"{path}: {outcome.event!r} should take {', '.join(wanted)}, but {result}. "
        f"{payload_text}; pass payloads={{{outcome.event!r}: ...}} for the guards, or prepare the context",
        pytrace=False,
    )
