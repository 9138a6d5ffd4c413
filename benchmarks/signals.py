"""What signals cost: turns of agents with both presets and without, in one run; and a step of reasoning.

python -m benchmarks.signals tells, too, how many bytes a turn adds to the trail.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from functools import partial
from statistics import median
from time import perf_counter, thread_time
from typing import Any

from benchmarks.measure import Better, Contestant, Effort, Measure, Role
from gatechart.graph.definition import Transition
from gatechart.graph.graph import AnyGraph, StateTransitionGraph
from gatechart.signals import GoesInCircles, handing_on, looping
from gatechart.turn.turns import begin, take_turn
from gatechart.values.agents import Event, Snapshot
from gatechart.values.commits import TurnRecord
from gatechart.values.detectors import Look
from gatechart.values.trail import REASONED, Reasoned, written

NOW = datetime(2030, 1, 1, tzinfo=UTC)
STATES = 30
BATCH = 200  # turns, or steps, that are timed together
LONG = 500  # characters of a text
ROUNDS = 20
KEPT = 15  # steps of a trail, which fill it


def ring(signals: Any) -> AnyGraph:
    """A ring of states that an event leads around."""
    edges = [Transition(f"S{each}", "GO", f"S{(each + 1) % STATES}") for each in range(STATES)]
    return StateTransitionGraph("ring", transitions=edges, entry_points=["S0"], signals=signals)


PLAIN, NOTICING = ring(None), ring([*handing_on(), *looping()])


def nothing(_number: int) -> dict[str, Any]:
    """The payload of an event that has none."""
    return {}


def an_order(number: int) -> dict[str, Any]:
    """A payload that differs each time."""
    return {"order": number}


def at_once(turn: Coroutine[Any, Any, Any]) -> Any:
    """Run a turn that awaits nothing."""
    try:
        turn.send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("the turn suspended")


async def turns(graph: AnyGraph, payload: Callable[[int], Mapping[str, Any]], effort: Effort) -> float:
    """The processor's microseconds of a turn: the median over batches, once the trail is as long as it gets."""
    snapshot, _ = after(graph, payload, BATCH)
    figures, began = [], perf_counter()
    while perf_counter() - began < effort.seconds:
        snapshot, figure = after(graph, payload, BATCH, snapshot)
        figures.append(figure)
    return median(figures)


def after(
    graph: AnyGraph, payload: Callable[[int], Mapping[str, Any]], count: int, snapshot: Snapshot | None = None
) -> tuple[Snapshot, float]:
    """The agent after so many turns, with the microseconds of one."""
    if snapshot is None:
        entry = graph.entry_point("S0")
        started: TurnRecord = at_once(begin(graph, entry, None, "a", Event("agent.started.S0", {}, NOW)))
        snapshot = started.snapshot
    events = [Event("GO", payload(snapshot.version + number), NOW) for number in range(count)]
    began = thread_time()
    for event in events:
        snapshot = at_once(take_turn(graph, snapshot, event)).snapshot
    return snapshot, (thread_time() - began) / count * 1e6


async def steps(effort: Effort) -> float:
    """The processor's microseconds in which a step of reasoning is looked at, in a trail of long texts."""
    texts = [f"{number} look again on another page, more carefully " * LONG for number in range(KEPT)]
    made = [Reasoned(text[:LONG], text[7 : 7 + LONG], "browser") for text in texts]
    trail = "".join(f"{written(each)}\n" for each in made)
    event, detector, slot = Event("trail.step", {}, NOW), GoesInCircles(), ""
    look = Look(event, ("S0",), ("S0",), made[-1:], REASONED, None, trail)
    figures, began = [], perf_counter()
    while perf_counter() - began < effort.seconds:
        timed = thread_time()
        for _ in range(BATCH):
            slot = detector.after(slot, look)
        figures.append((thread_time() - timed) / BATCH * 1e6)
    return median(figures)


def _measure(name: str, what: str, payload: Callable[[int], Mapping[str, Any]]) -> Measure:
    return Measure(
        name,
        f"A turn that moves an agent, by an event {what}, in memory (processor time)",
        "µs",
        Better.LOWER,
        (
            Contestant("without signals", partial(turns, PLAIN, payload), Role.RAW),
            Contestant("with the signals of both presets", partial(turns, NOTICING, payload)),
        ),
    )


of_turn = _measure("signals", "without a payload", nothing)
of_payload = _measure("signals-payload", "with a payload that differs each time", an_order)
of_step = Measure(
    "circles",
    f"A step of reasoning, looked at by GoesInCircles: texts of {LONG} characters (processor time)",
    "µs",
    Better.LOWER,
    (Contestant("gatechart", steps, target=50),),
)


def main() -> None:
    """Print a row for events without a payload, and one for events with one."""
    for what, payload in (("no payload", nothing), ("a payload", an_order)):
        rounds = [[after(graph, payload, BATCH) for graph in (PLAIN, NOTICING)] for _ in range(ROUNDS)]
        without, noticing = (min(each[place][1] for each in rounds) for place in (0, 1))
        trail = rounds[0][1][0].trail
        per_turn = len(trail.text.encode()) / trail.text.count("\n")
        slots = len("".join(trail.slots).encode())
        print(f"{what}: {without:.1f} us without signals, {noticing:.1f} us with, {noticing - without:.1f} us more;")
        print(f"  {per_turn:.0f} bytes of trail for each turn, {slots} bytes of slots, {len(trail.text)} in all")


if __name__ == "__main__":
    main()
