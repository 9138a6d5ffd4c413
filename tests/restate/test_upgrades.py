"""A service that comes back at its address with another version of a graph."""

from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from pydantic import Field

from gatechart import AgentContext, Migration, State, StateTransitionGraph, Transition
from gatechart.errors import GatechartError
from gatechart.restate import RestateRuntime, Terms, register, serving
from tests.ports import free_ports
from tests.restate.engines import eventually


class Order(AgentContext):
    seen: list[int] = Field(default_factory=list)


class LaterOrder(Order):
    currency: str = ""


def see(context, event):
    context.seen.append(event.payload["n"])


def orders(version, context, waits, migrations=()):
    """Orders that wait for an hour, in a state that each version has its own name for."""
    return StateTransitionGraph(
        "orders",
        version=version,
        context=context,
        states=[State(waits, after={"1h": "LATE"}), "LATE"],
        transitions=[Transition(waits, "COUNTED", actions=see)],
        entry_points=[waits],
        migrations=migrations,
    )


def convert(stored):
    return replace(stored.renamed({"WAITING": "PATIENT"}), context=stored.context | {"currency": "EUR"})


FIRST = orders("1", Order, "WAITING")
SECOND = orders("2", LaterOrder, "PATIENT", [Migration("1", "2", convert)])


@pytest.fixture
def hosted(engine, request):
    """Hosts graphs at one address, of which the engine is told once."""
    (port,) = free_ports(1)
    known = []

    @asynccontextmanager
    async def hosted(*graphs):
        terms = Terms(look_again_s=0.2)
        async with serving(f"127.0.0.1:{port}", graphs=graphs, terms=terms, namespace=request.node.name, grace_s=0.1):
            if not known:
                known.append(await register(engine.admin, f"http://127.0.0.1:{port}"))
            yield

    return hosted


@pytest.fixture
async def runtime(engine, request):
    """Calls agents, of the first version only as yet."""
    async with RestateRuntime.open(engine.ingress, graphs=FIRST, namespace=request.node.name) as opened:
        yield opened


async def has_seen(runtime, numbers):
    return (await runtime.resume("a")).context.seen == numbers


async def test_agents_move_to_the_version_that_a_service_comes_back_with_and_keep_mail_and_timers(hosted, runtime):
    async with hosted(FIRST):
        await runtime.start(FIRST, at="WAITING", agent_id="a")
        await runtime.post("a", "COUNTED", {"n": 1})
        await eventually(lambda: has_seen(runtime, [1]))
        (timer,) = await runtime.mail("a")
    for n in (2, 3):  # nobody is there, and the engine takes them all the same
        await runtime.post("a", "COUNTED", {"n": n})
    runtime.register(SECOND)
    async with hosted(SECOND):
        await eventually(lambda: has_seen(runtime, [1, 2, 3]))
        agent = await runtime.resume("a")
        assert (agent.configuration, agent.snapshot.graph_version) == (("PATIENT",), "2")
        assert agent.context.currency == "EUR"
        assert [(each.event, each.due) for each in await runtime.mail("a")] == [("after.1h.PATIENT", timer.due)]


async def test_agents_keep_the_version_that_a_service_comes_back_with_beside_another(hosted, runtime):
    async with hosted(FIRST):
        await runtime.start(FIRST, at="WAITING", agent_id="a")
    runtime.register(SECOND)
    async with hosted(FIRST, SECOND):
        await runtime.post("a", "COUNTED", {"n": 1})
        await eventually(lambda: has_seen(runtime, [1]))
        assert (await runtime.resume("a")).snapshot.graph_version == "1"


async def test_mail_waits_in_order_while_only_a_process_of_an_older_release_answers(hosted, runtime):
    runtime.register(SECOND)
    async with hosted(FIRST, SECOND):
        await runtime.start(SECOND, at="PATIENT", agent_id="a")
    async with hosted(FIRST):
        for n in (1, 2):
            await runtime.post("a", "COUNTED", {"n": n})
        with pytest.raises(GatechartError):
            await (await runtime.resume("a")).send("COUNTED", {"n": 0})
    async with hosted(FIRST, SECOND):
        await runtime.post("a", "COUNTED", {"n": 3})
        await eventually(lambda: has_seen(runtime, [1, 2, 3]))
