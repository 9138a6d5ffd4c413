"""A story told to an agent: where it begins, what happens to it, and where it must end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias

from pydantic import BaseModel

from gatechart import Agent, Outcome, Runtime
from gatechart.testing import VirtualClock


@dataclass(frozen=True, slots=True)
class Awaited:
    """Nothing is sent: the agent gets into the state by itself, in one turn, when an invoke ends or a timer fires."""

    state: str
    after: timedelta = timedelta()  # how much time goes by first


Step: TypeAlias = tuple[str, Mapping[str, Any]] | Awaited  # an event and its payload, or what comes by itself


@dataclass(frozen=True, slots=True)
class Scenario:
    """One life of an agent, from its entry point to its last event.

    `at` names an entry point of `graph`; where it is None, the business trigger `on` finds graph and entry point.
    `expects` holds those fields of the context that matter in the end.
    """

    name: str
    story: str  # one line, for people
    graph: str
    at: str | None = None
    on: str | None = None
    payload: BaseModel | None = None
    events: tuple[Step, ...] = ()  # each is one turn, and none is refused
    ends_in: str = ""
    expects: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.at is None) == (self.on is None):
            raise ValueError(
                f"scenario {self.name!r} begins either at an entry point or on a trigger; give one of them"
            )

    @property
    def sent(self) -> int:
        """How many events the agent is sent; it comes to the others by itself."""
        return sum(not isinstance(step, Awaited) for step in self.events)

    @property
    def takes_time(self) -> bool:
        """Whether some time must go by, which a clock that is set by hand makes short."""
        return any(isinstance(step, Awaited) and bool(step.after) for step in self.events)


async def begin(scenario: Scenario, runtime: Runtime, agent_id: str | None = None) -> Agent[Any]:
    """Start an agent at the scenario's entry point."""
    if scenario.at is not None:
        return await runtime.start(scenario.graph, at=scenario.at, payload=scenario.payload, agent_id=agent_id)
    return await runtime.start_on(scenario.on or "", scenario.payload, agent_id=agent_id)


async def tell(
    agent: Agent[Any], scenario: Scenario, position: int, clock: VirtualClock | None = None
) -> Outcome | None:
    """Has the event at this position happen to the agent, unless it has; None where nothing is sent.

    Its id is made of the agent's and the position, so telling it again is a repeat.
    """
    step = scenario.events[position]
    if not isinstance(step, Awaited):
        event, payload = step
        return await agent.send(event, payload, event_id=f"{agent.id}/{position}")
    if agent.snapshot.version > position + 1:  # the start is version 1, and each event one more
        return None
    if step.after:
        if clock is None:
            raise ValueError(f"scenario {scenario.name!r} takes time; give it the runtime's VirtualClock")
        clock.advance(step.after.total_seconds())
    await agent.until(step.state)
    return None


async def play(
    scenario: Scenario, runtime: Runtime, agent_id: str | None = None, clock: VirtualClock | None = None
) -> Agent[Any]:
    """Play all events of the scenario and return the agent. clock: the runtime's, for scenarios that take time."""
    agent = await begin(scenario, runtime, agent_id)
    for position in range(len(scenario.events)):
        await tell(agent, scenario, position, clock)
    return agent
