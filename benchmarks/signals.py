"""Turns with and without signals, in one run: microseconds of processor time and bytes of trail for each.

python -m benchmarks.signals
"""

from __future__ import annotations

from collections.abc import Coroutine
from datetime import UTC, datetime
from time import thread_time
from typing import Any

from gatechart.graph import AnyGraph, StateTransitionGraph, Transition
from gatechart.signals import handing_on, looping
from gatechart.turn import begin, take_turn
from gatechart.values import Event, Snapshot, TurnRecord

NOW = datetime(2030, 1, 1, tzinfo=UTC)
STATES = 30
TURNS = 2_000
ROUNDS = 15


def ring(signals: Any) -> AnyGraph:
    """A ring of states that an event leads around."""
    edges = [Transition(f"S{each}", "GO", f"S{(each + 1) % STATES}") for each in range(STATES)]
    return StateTransitionGraph("ring", transitions=edges, entry_points=["S0"], signals=signals)


def at_once(turn: Coroutine[Any, Any, Any]) -> Any:
    """Run a turn that awaits nothing."""
    try:
        turn.send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("the turn suspended")


def timed(graph: AnyGraph, payloads: list[dict[str, Any]]) -> tuple[float, Snapshot]:
    """Microseconds of a turn, and the agent after the last."""
    started: TurnRecord = at_once(begin(graph, graph.entry_point("S0"), None, "a", Event("agent.started.S0", {}, NOW)))
    snapshot = started.snapshot
    begun = thread_time()
    for payload in payloads:
        snapshot = at_once(take_turn(graph, snapshot, Event("GO", payload, NOW))).snapshot
    return (thread_time() - begun) / len(payloads) * 1e6, snapshot


def main() -> None:
    """Print a row for events without a payload, and one for events with one."""
    graphs = ring(None), ring([*handing_on(), *looping()])
    for what, payloads in (
        ("no payload", [{}] * TURNS),
        ("a payload", [{"order": each} for each in range(TURNS)]),
    ):
        rounds = [[timed(graph, payloads) for graph in graphs] for _ in range(ROUNDS)]
        without, noticing = (min(each[place][0] for each in rounds) for place in (0, 1))
        trail = rounds[0][1][1].trail
        per_turn = len(trail.text.encode()) / trail.text.count("\n")
        slots = len("".join(trail.slots).encode())
        print(f"{what}: {without:.1f} us without signals, {noticing:.1f} us with, {noticing - without:.1f} us more;")
        print(f"  {per_turn:.0f} bytes of trail for each turn, {slots} bytes of slots, {len(trail.text)} in all")


if __name__ == "__main__":
    main()
