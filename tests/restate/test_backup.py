"""A copy of an engine's folder is that engine."""

from shutil import copytree, rmtree

from gatechart import ANY, Transition
from gatechart.graph.signals import Signal
from gatechart.restate import RestateRuntime, register, serving
from gatechart.signals import Repeats
from tests.noticing import go_round
from tests.ports import free_ports
from tests.restate.conftest import there_or_skipped
from tests.restate.fleet import counting

circling = go_round(Transition(ANY, "signal.circle", "REST"), signals=Signal(Repeats(), "circle"))


async def test_agents_live_on_in_a_copy_of_the_folder_of_an_engine_that_was_stopped(tmp_path):
    (port,) = free_ports(1)
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    async with serving(f"127.0.0.1:{port}", graphs=[counting, circling]):
        with there_or_skipped(before) as engine:
            await register(engine.admin, f"http://127.0.0.1:{port}")
            async with RestateRuntime.open(engine.ingress, graphs=[counting, circling]) as runtime:
                agent = await runtime.start("counting", at="COUNTING", agent_id="a")
                await agent.send("COUNTED", {"n": 1}, event_id="first")
                going = await runtime.start("round", at="HERE", agent_id="b")
                for _ in range(3):
                    await going.send("GO")
        copytree(before / "data", after / "data")
        rmtree(before)
        with there_or_skipped(after) as engine:
            async with RestateRuntime.open(engine.ingress, graphs=[counting, circling]) as runtime:
                agent = await runtime.resume("a")
                assert (await agent.send("COUNTED", {"n": 1}, event_id="first")).repeat
                await agent.send("COUNTED", {"n": 2})
                assert agent.context.seen == [1, 2]
                going = await runtime.resume("b")
                assert [(await going.send("GO")).configuration for _ in range(2)] == [("HERE",), ("REST",)]
