"""Services that are away for long, and nodes that are not there."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gatechart.errors import EngineUnreachableError
from gatechart.restate import RestateRuntime, auxiliary_objects, register, serving
from tests.ports import free_ports
from tests.restate.engines import eventually
from tests.restate.fleet import counting

ENGINES_OWN = 70  # attempts, after which an engine that is told nothing pauses an invocation


async def test_what_was_accepted_is_tried_however_often_the_service_was_not_there(engine, monkeypatch):
    soon = timedelta(milliseconds=10)
    hasty = replace(auxiliary_objects.FOREVER, initial_interval=soon, max_interval=soon, exponentiation_factor=1.0)
    monkeypatch.setattr(auxiliary_objects, "FOREVER", hasty)
    (port,) = free_ports(1)
    service = {"graphs": [counting], "namespace": "away"}

    async def is_tried_often():
        rows = await engine.ask("SELECT retry_count FROM sys_invocation WHERE target_service_name = 'away.Agent'")
        return any((row.get("retry_count") or 0) > ENGINES_OWN + 5 for row in rows)

    async with RestateRuntime.open(engine.ingress, **service) as runtime:
        async with serving(f"127.0.0.1:{port}", **service):
            await register(engine.admin, f"http://127.0.0.1:{port}")
            await runtime.start("counting", at="COUNTING", agent_id="a")
        await runtime.post("a", "COUNTED", {"n": 1})
        await eventually(is_tried_often, 15)
        async with serving(f"127.0.0.1:{port}", **service):
            await (await runtime.resume("a")).send("COUNTED", {"n": 2})
            assert (await runtime.resume("a")).context.seen == [1, 2]


async def test_the_next_node_is_called_where_one_does_not_answer(engine):
    (nobody, port) = free_ports(2)
    service = {"graphs": [counting], "namespace": "nodes"}
    nodes = [f"http://127.0.0.1:{nobody}", f"{engine.ingress}/"]
    async with RestateRuntime.open(nodes, **service) as runtime, serving(f"127.0.0.1:{port}", **service):
        await register(engine.admin, f"http://127.0.0.1:{port}")
        agent = await runtime.start("counting", at="COUNTING", agent_id="a")
        await agent.send("COUNTED", {"n": 1})
        assert agent.context.seen == [1]


async def test_nodes_none_of_which_answers_are_told(engine):
    one, other = (f"http://127.0.0.1:{port}" for port in free_ports(2))
    async with RestateRuntime.open([one, other], graphs=[counting], patience_s=0.3) as runtime:
        with pytest.raises(EngineUnreachableError, match=f"{one}|{other}"):
            await runtime.resume("a")


async def test_an_engine_without_an_address_is_refused():
    with pytest.raises(ValueError, match="no address of the engine was given"):
        async with RestateRuntime.open([], graphs=[counting]):
            pytest.fail("it was opened")


async def test_a_service_that_only_projects_needs_to_know_where_to():
    with pytest.raises(ValueError, match="without a projection"):
        async with serving("127.0.0.1:0", graphs=[counting], only_projects=True):
            pytest.fail("it was opened")
