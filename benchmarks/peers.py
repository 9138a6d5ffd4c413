"""The ring as its users would write it with `transitions` and with `python-statemachine`, on the same kind of data."""

from __future__ import annotations

from typing import Any

from statemachine import State, StateChart
from transitions import Machine
from transitions.extensions.asyncio import AsyncMachine
from transitions.extensions.nesting import HierarchicalMachine

from benchmarks.ring import FOLLOWING, STATES, RingContext

_RING: dict[str, Any] = {
    "states": [{"name": state, "on_enter": "count_arrival"} for state in STATES],
    "transitions": [
        {"trigger": "changed", "source": source, "dest": target, "conditions": "is_allowed", "before": "count_move"}
        for source, target in FOLLOWING.items()
    ],
    "initial": STATES[0],
    "auto_transitions": False,
}
_REGIONS: dict[str, Any] = {
    "states": [
        {
            "name": "BOTH",
            "parallel": [
                {"name": region, "initial": STATES[0], "children": _RING["states"]} for region in ("LEFT", "RIGHT")
            ],
        }
    ],
    "transitions": [
        {**move, "source": f"BOTH_{region}_{move['source']}", "dest": f"BOTH_{region}_{move['dest']}"}
        for region in ("LEFT", "RIGHT")
        for move in _RING["transitions"]
    ],
    "initial": "BOTH",
    "auto_transitions": False,
}


class Model:
    """What `transitions` moves: callbacks are found by name, triggers and the state are added."""

    changed: Any
    state: str

    def __init__(self) -> None:
        self.context = RingContext()

    def is_allowed(self) -> bool:
        return self.context.moves >= 0

    def count_move(self) -> None:
        self.context.moves += 1

    def count_arrival(self) -> None:
        self.context.arrivals += 1


def machine(model: Model | None = None) -> Machine:
    return Machine(model, **_RING)


def async_machine(model: Model | None = None) -> AsyncMachine:
    return AsyncMachine(model, **_RING)


def parallel_machine(model: Model) -> HierarchicalMachine:
    return HierarchicalMachine(model, **_REGIONS)


class Counting(StateChart):
    """What the charts for `python-statemachine` share: callbacks are found by name."""

    def __init__(self) -> None:
        self.context = RingContext()
        super().__init__()

    def is_allowed(self) -> bool:
        return self.context.moves >= 0

    def count_move(self) -> None:
        self.context.moves += 1

    def count_arrival(self) -> None:
        self.context.arrivals += 1


class Chart(Counting):
    """The ring on the synchronous engine."""

    red = State(initial=True, enter="count_arrival")
    green = State(enter="count_arrival")
    amber = State(enter="count_arrival")
    changed = (
        red.to(green, cond="is_allowed", on="count_move")
        | green.to(amber, cond="is_allowed", on="count_move")
        | amber.to(red, cond="is_allowed", on="count_move")
    )


class AsyncChart(Chart):
    """The ring on the asynchronous engine, which one async callback chooses."""

    async def count_arrival(self) -> None:
        self.context.arrivals += 1


class ParallelChart(Counting):
    """Two rings side by side."""

    class both(State.Parallel):  # noqa: N801  (a state)
        class left(State.Compound):  # noqa: N801
            left_red = State(initial=True, enter="count_arrival")
            left_green = State(enter="count_arrival")
            left_amber = State(enter="count_arrival")
            changed = (
                left_red.to(left_green, cond="is_allowed", on="count_move")
                | left_green.to(left_amber, cond="is_allowed", on="count_move")
                | left_amber.to(left_red, cond="is_allowed", on="count_move")
            )

        class right(State.Compound):  # noqa: N801
            right_red = State(initial=True, enter="count_arrival")
            right_green = State(enter="count_arrival")
            right_amber = State(enter="count_arrival")
            changed = (
                right_red.to(right_green, cond="is_allowed", on="count_move")
                | right_green.to(right_amber, cond="is_allowed", on="count_move")
                | right_amber.to(right_red, cond="is_allowed", on="count_move")
            )
