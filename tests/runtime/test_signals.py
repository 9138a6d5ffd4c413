"""Signals on every home: they fire in the same turn, are kept through restarts, and are told in the history."""

import pytest

from gatechart import Runtime, Transition
from gatechart.errors import ReservedEventError
from gatechart.graph.definition import ANY
from gatechart.graph.signals import Signal
from gatechart.hosting.replay import Replay
from gatechart.stores.memory import MemoryStore
from gatechart.values.fired_signals import Reaction
from gatechart.values.handoffs import Reason
from gatechart.values.replays import Fidelity
from tests.noticing import Moves, go_round, see

pytestmark = [pytest.mark.sample_on_restate, pytest.mark.sqlite_is_enough]

ANSWERED = [Transition(ANY, "signal.moves", "REST", actions=see)]


def noticing(*answers, most=3, **more):
    return go_round(*answers, signals=Signal(Moves(most), "moves"), **more)


async def fired_in(agent):
    return [(turn.version, turn.fired.signal, turn.fired.reaction) for turn in await agent.history() if turn.fired]


async def test_a_signal_fires_in_the_turn_and_the_chart_answers_it_there(place):
    async with Runtime.open(place, graphs=[noticing(*ANSWERED)]) as runtime:
        agent = await runtime.start("round", at="HERE")
        await agent.send("GO")
        outcome = await agent.send("GO")
        assert outcome.configuration == ("REST",)
        assert outcome.taken == ("THERE --GO--> HERE", "* --signal.moves--> REST")
        assert await fired_in(agent) == [(3, "moves", Reaction.TAKEN)]
        last = (await agent.history())[-1].fired
        assert (last.reason, last.evidence) == (Reason.LOOP_DETECTED, ({"detector": "Moves", "moves": 3, "trail": 3},))
        assert agent.context.seen == [last.payload]


async def test_one_that_nothing_takes_and_an_answer_that_raises_are_noted(place):
    def break_down(context, event):
        context.done = 99
        raise LookupError("no luck")

    graphs = noticing(), noticing(Transition(ANY, "signal.moves", "REST", actions=break_down))
    for graph, reaction in zip(graphs, (Reaction.UNTAKEN, Reaction.UNDONE), strict=True):
        async with Runtime.open(place, graphs=[graph]) as runtime:
            agent = await runtime.start("round", at="HERE", agent_id=reaction.value)
            await agent.send("GO")
            outcome = await agent.send("GO")
            assert (outcome.configuration, agent.context.done) == (("HERE",), 0)
            assert await fired_in(agent) == [(3, "moves", reaction)]
            problem = (await agent.history())[-1].fired.problem
            assert ("LookupError: no luck" in problem) is (reaction is Reaction.UNDONE)


async def test_an_agent_that_was_restored_notices_as_one_that_never_stopped(place):
    graph = noticing(*ANSWERED, most=5)
    async with Runtime.open(place, graphs=[graph]) as runtime:
        agent_id = (await runtime.start("round", at="HERE")).id
        await (await runtime.resume(agent_id)).send("GO")
    for _ in range(3):
        async with Runtime.open(place, graphs=[graph]) as runtime:
            agent = await runtime.resume(agent_id)
            outcome = await agent.send("GO")
    assert outcome.configuration == ("REST",)


async def test_agents_without_signals_have_no_trail(place):
    async with Runtime.open(place, graphs=[go_round()]) as runtime:
        agent = await runtime.start("round", at="HERE")
        await agent.send("GO")
        assert agent.snapshot.trail.text == ""
        assert agent.snapshot.trail.entry_point == ""


async def test_a_rollback_and_a_fork_begin_the_trail_anew(place):
    async with Runtime.open(place, graphs=[noticing(most=3)]) as runtime:
        agent = await runtime.start("round", at="HERE")
        await agent.send("GO")
        await agent.rollback(1, reason="again")
        assert agent.snapshot.trail.text == ""
        assert agent.snapshot.trail.entry_point == "HERE"
        for _ in range(2):
            await agent.send("GO")
        assert await fired_in(agent) == []
        other = await runtime.fork(agent.id, version=2)
        assert other.snapshot.trail.text == ""
        await agent.send("GO")
        assert [name for _, name, _ in await fired_in(agent)] == ["moves"]


async def test_nobody_but_the_framework_tells_a_trail(place):
    async with Runtime.open(place, graphs=[noticing()]) as runtime:
        agent = await runtime.start("round", at="HERE")
        for event in ("trail.call", "trail.due", "signal.moves"):
            with pytest.raises(ReservedEventError):
                await agent.send(event)


async def test_a_replay_notices_what_the_turns_noticed():
    graph, store = noticing(*ANSWERED), MemoryStore()
    async with Runtime.open(store, graphs=[graph]) as runtime:
        agent = await runtime.start("round", at="HERE", agent_id="r-1")
        for _ in range(5):
            await agent.send("GO")
        await agent.rollback(2, reason="again")
        for _ in range(3):
            await agent.send("GO")
        assert len(await fired_in(agent)) == 2
        turns = [turn async for turn in Replay(store, graph).turns(agent.snapshot)]
        assert [turn.fidelity for turn in turns if turn.fidelity is not Fidelity.SAME] == [Fidelity.SKIPPED]
        other = noticing(*ANSWERED, most=4)
        turns = [turn async for turn in Replay(store, other).turns(agent.snapshot)]
        assert Fidelity.DIFFERS in [turn.fidelity for turn in turns]
