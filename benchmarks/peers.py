"""The ring as its users would write it with `transitions` and with `python-statemachine`, on the same kind of data."""

from __future__ import annotations

from typing import Any

from statemachine import State, StateChart
from transitions import Machine
from transitions.extensions.asyncio import AsyncMachine

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


class Chart(StateChart):
    """The ring on the synchronous engine."""

    red = State(initial=True, enter="count_arrival")
    green = State(enter="count_arrival")
    amber = State(enter="count_arrival")
    changed = (
        red.to(green, cond="is_allowed", on="count_move")
        | green.to(amber, cond="is_allowed", on="count_move")
        | amber.to(red, cond="is_allowed", on="count_move")
    )

    def __init__(self) -> None:
        self.context = RingContext()
        super().__init__()

    def is_allowed(self) -> bool:
        return self.context.moves >= 0

    def count_move(self) -> None:
        self.context.moves += 1

    def count_arrival(self) -> None:
        self.context.arrivals += 1


class AsyncChart(Chart):
    """The ring on the asynchronous engine, which one async callback chooses."""

    async def count_arrival(self) -> None:
        self.context.arrivals += 1
