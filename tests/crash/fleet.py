"""A fleet of agents on tour, in a process that may be killed: `main(url, point, count)` (see forks).

Each event that was acknowledged is a line on standard output: agent, event id, version, and whether it was a repeat.
POINT says where the process kills itself, at the COUNT-th time it comes there. With "elsewhere" another kills it,
for whom it waits at its end; with "nowhere" it lives.
"""

import asyncio
import os
import signal

from pydantic import Field

from gatechart import AgentContext, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import UnknownAgentError
from gatechart.stores import open_store
from gatechart.stores.sql import opening
from gatechart.testing import VirtualClock

AGENTS = tuple(f"agent-{n}" for n in range(8))
EVENTS = tuple(range(1, 21))


class Tour(AgentContext):
    seen: list[int] = Field(default_factory=list)
    drawn: list[str] = Field(default_factory=list)
    laps: int = 0


def see(context, event, turn):
    context.seen.append(event.payload["n"])
    context.drawn.append(turn.new_id()[:8])
    turn.services.pass_by("action")


def count_lap(context, event):
    context.laps += 1


def is_third(context, event):
    return event.payload["n"] % 3 == 0


tour = StateTransitionGraph(
    "tour",
    context=Tour,
    states=[State("PORTO", on_entry=count_lap), State("HOME", final=True)],
    transitions=[
        Transition("PORTO", "MOVED", "LISBON", actions=see),
        Transition("LISBON", "MOVED", "PORTO", guard=is_third, actions=see),
        Transition("LISBON", "MOVED", "FARO", actions=see),
        Transition("FARO", "MOVED", "PORTO", actions=see),
        *(Transition(city, "ENDED", "HOME", actions=see) for city in ("PORTO", "LISBON", "FARO")),
    ],
    entry_points=["PORTO"],
)


class Killer:
    """Kills the process at the count-th time it passes by a point."""

    def __init__(self, point, count):
        self.point, self.left = point, count

    def pass_by(self, point):
        if point == self.point:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class Watched:
    """A real store whose commits pass by the killer."""

    def __init__(self, store, killer):
        self._store, self._killer = store, killer

    async def commit(self, turns):
        self._killer.pass_by("before a commit")
        verdicts = await self._store.commit(turns)
        self._killer.pass_by("after a commit")
        return verdicts

    def __getattr__(self, name):
        return getattr(self._store, name)


async def travel(store, killer, acknowledge):
    """Starts or resumes every agent and sends it all its events, from the first."""
    async with Runtime.open(store, graphs=[tour], services=killer, clock=VirtualClock()) as runtime:
        await asyncio.gather(*(travel_alone(runtime, agent_id, acknowledge) for agent_id in AGENTS))


async def travel_alone(runtime, agent_id, acknowledge):
    try:
        agent = await runtime.resume(agent_id)
    except UnknownAgentError:
        agent = await runtime.start("tour", at="PORTO", agent_id=agent_id)
    for n in EVENTS:
        name = "ENDED" if n == EVENTS[-1] else "MOVED"
        outcome = await agent.send(name, {"n": n}, event_id=f"{agent_id}/{n}")
        assert outcome.applied
        acknowledge(agent_id, f"{agent_id}/{n}", outcome)


def tell(agent_id, event_id, outcome):
    os.write(1, f"{agent_id} {event_id} {outcome.version} {outcome.repeat}\n".encode())


def main(url, point, count):
    asyncio.run(_main(url, Killer(point, int(count))))


async def _main(url, killer):
    raise_epoch = opening.raise_epoch

    def watched_epoch(connection):
        killer.pass_by("opening")
        return raise_epoch(connection)

    opening.raise_epoch = watched_epoch
    async with open_store(url) as store:
        await travel(Watched(store, killer), killer, tell)
        if killer.point == "elsewhere":
            await asyncio.Event().wait()
