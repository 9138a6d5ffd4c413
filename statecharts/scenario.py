"""A story told to an agent: where it begins, what happens to it, and where it must end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from gatechart import Agent, Runtime


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
    events: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    ends_in: str = ""
    expects: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.at is None) == (self.on is None):
            raise ValueError(
                f"scenario {self.name!r} begins either at an entry point or on a trigger; give one of them"
            )


async def begin(scenario: Scenario, runtime: Runtime, agent_id: str | None = None) -> Agent:
    """An agent that has just entered where the scenario begins."""
    if scenario.at is not None:
        return await runtime.start(scenario.graph, at=scenario.at, payload=scenario.payload, id=agent_id)
    return await runtime.start_on(scenario.on or "", scenario.payload, id=agent_id)


async def play(scenario: Scenario, runtime: Runtime, agent_id: str | None = None) -> Agent:
    """The agent after all events of the scenario. Refused events are left to the graph, as always."""
    agent = await begin(scenario, runtime, agent_id)
    for event, payload in scenario.events:
        await agent.send(event, payload)
    return agent
