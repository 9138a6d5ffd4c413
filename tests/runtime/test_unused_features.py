"""Agents that use no models, tools and transfers do not pay for them: their modules are not even imported."""

import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, sys
from gatechart import Runtime, State, StateTransitionGraph, Transition

async def fetch(context, work):
    return await work.step("fetch", lambda: 1)

graph = StateTransitionGraph(
    "errand",
    states=[State("BUSY", invoke=fetch), State("DONE", final=True)],
    transitions=[Transition("BUSY", "done.invoke.fetch", "DONE")],
    entry_points=["BUSY"],
)

async def main():
    async with Runtime.open("memory:", graphs=[graph]) as runtime:
        await (await runtime.start("errand", at="BUSY")).until(ended=True)

asyncio.run(main())
unused = ("gatechart.tools", "gatechart.models", "gatechart.hosting.tool_call", "gatechart.hosting.transfers")
print([name for name in sys.modules if name.startswith(unused)])
"""


@pytest.mark.processes
def test_an_invoke_with_a_step_imports_nothing_of_tools_models_and_transfers():
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout == "[]\n"
