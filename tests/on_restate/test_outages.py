"""Services that are away for long."""

from dataclasses import replace
from datetime import timedelta

from gatechart.restate import RestateRuntime, objects, register, serving
from tests.on_restate.engines import eventually, free_ports
from tests.on_restate.fleet import counting

ENGINES_OWN = 70  # attempts, after which an engine that is told nothing pauses an invocation


async def test_what_was_accepted_is_tried_however_often_the_service_was_not_there(engine, monkeypatch):
    soon = timedelta(milliseconds=10)
    hasty = replace(objects.FOREVER, initial_interval=soon, max_interval=soon, exponentiation_factor=1.0)
    monkeypatch.setattr(objects, "FOREVER", hasty)
    (port,) = free_ports(1)
    service = {"graphs": [counting], "namespace": "away"}

    async def is_tried_often():
        rows = await engine.ask("SELECT retry_count FROM sys_invocation WHERE target_service_name = 'away.Agent'")
        return any((row.get("retry_count") or 0) > ENGINES_OWN + 5 for row in rows)

    async with RestateRuntime.open(engine.ingress, **service) as runtime:
        async with serving(f"127.0.0.1:{port}", **service):
            await register(engine.admin, f"http://127.0.0.1:{port}")
            await runtime.start("counting", at="COUNTING", id="a")
        await runtime.post("a", "COUNTED", {"n": 1})
        await eventually(is_tried_often, 15)
        async with serving(f"127.0.0.1:{port}", **service):
            await (await runtime.resume("a")).send("COUNTED", {"n": 2})
            assert (await runtime.resume("a")).context.seen == [1, 2]
