"""A search that comes back to itself, and notices it."""

from pathlib import Path
from typing import Any, Final

from gatechart import Agent, Runtime, load

circling = load(Path(__file__).parent / "circling.yaml")

MOST: Final = 10  # searches, if the agent should never notice


async def play(runtime: Runtime) -> Agent[Any]:
    """Let an agent find nothing until it notices that it goes round in circles."""
    agent: Agent[Any] = await runtime.start(circling, at="SEARCHING")
    for event in ("NOTHING_FOUND", "REPHRASED") * MOST:
        if "ASKING_SOMEBODY" in agent.snapshot.configuration:
            break
        await agent.send(event)
    return agent
