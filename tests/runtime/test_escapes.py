"""Ways out on every home: from cheap to drastic, each once for a finding, kept in the record and the history."""

import asyncio
from dataclasses import dataclass

import pytest
from pydantic import Field

from gatechart import AgentContext, EscapePlan, Runtime, State, Transition
from gatechart.alerts import Alerts
from gatechart.escape import Alert, CutOut, GiveUp, Nudge, Reroute, Restart, Rollback, ToHuman, getting_out
from gatechart.graph.definition import EntryPoint, Invoke
from gatechart.graph.escape import Strategy
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.signals import Signal
from gatechart.signals import NoProgress, Repeats
from gatechart.testing import VirtualClock
from gatechart.values.agents import Status
from gatechart.values.escapes import CameTo, EnterAt, NoWay
from gatechart.values.fired_signals import Reaction
from tests.runtime.rings import CIRCLE, NOON, WAY_OUT, Sink, attempts, go_round, ring, tried
from tests.runtime.support import at_rest, eventually


async def test_a_loop_leads_into_the_entry_point_that_leads_away(place):
    graph = ring(Reroute(), transitions=[*CIRCLE, *WAY_OUT], doors=("A", "E"))
    async with Runtime.open(place, graphs=[graph]) as runtime:
        agent = await runtime.start("ring", at="A")
        await go_round(agent)
        assert agent.snapshot.status is Status.DONE
        history = await agent.history()
        assert [turn.fired.reaction for turn in history if turn.fired] == [Reaction.ESCAPING]
        (attempt,) = await attempts(agent)
        assert (attempt.event.name, attempt.target) == ("escape.reroute", ("E",))
        assert attempt.event.payload["signal"] == "repeats"
        assert tried(agent) == [("reroute", CameTo.PROGRESS)]


async def test_strategies_are_tried_once_from_cheap_to_drastic_and_the_last_resort_ends_it(place):
    graph = ring(Nudge(), Reroute(), Rollback(), Restart(), last=GiveUp(), cooldown="1h")
    async with Runtime.open(place, graphs=[graph]) as runtime:
        agent = await runtime.start("ring", at="A")
        await go_round(agent)
        assert (agent.snapshot.status, agent.snapshot.configuration) == (Status.FAILED, ("GAVE_UP",))
        assert [turn.event.name for turn in await attempts(agent)] == [
            "escape.nudge",
            "escape.rollback",
            "escape.restart",
            "escape.give_up",
        ]
        assert tried(agent) == [
            ("nudge", CameTo.NOTHING),
            ("rollback", CameTo.NOTHING),
            ("restart", CameTo.NOTHING),
            ("give_up", CameTo.NOTHING),
        ]
        last = (await attempts(agent))[1]
        assert {"strategy": "reroute", "why": "no transition and no entry point leads away from what failed"} in (
            last.event.payload["passed"]
        )


async def test_an_alert_goes_to_its_sink_with_the_attempt_that_follows(place):
    sink, graph = Sink(), ring(Alert("ops", "it goes round"), GiveUp())
    async with Runtime.open(place, graphs=[graph], alerts=Alerts({"ops": sink})) as runtime:
        agent = await runtime.start("ring", at="A")
        await go_round(agent)
        async with asyncio.timeout(30):
            alert = await sink.got.get()
    assert sink.got.empty()
    assert (alert.kind, alert.title, alert.agent_id) == ("escape", "it goes round", agent.id)
    assert alert.details["signal"] == "repeats"
    assert tried(agent) == [("give_up", CameTo.NOTHING)]


async def test_an_alert_without_a_text_tells_people_of_the_agent_and_says_nothing_to_a_model(place):
    sink, graph = Sink(), ring(Alert("ops"), GiveUp())
    async with Runtime.open(place, graphs=[graph], alerts=Alerts({"ops": sink})) as runtime:
        agent = await runtime.start("ring", at="A", agent_id="r-1")
        await go_round(agent)
        async with asyncio.timeout(30):
            alert = await sink.got.get()
    assert alert.title.startswith("r-1 goes round in circles (repeats): [{")
    assert "You" not in alert.title


async def test_a_nudge_tells_the_model_or_takes_a_transition_and_says_one_of_it(place):
    for transitions, how in (
        (CIRCLE, "the model is told"),
        ([*CIRCLE, Transition("A", "escape.nudge"), Transition("B", "escape.nudge")], "by a transition"),
    ):
        async with Runtime.open(place, graphs=[ring(Nudge(), GiveUp(), transitions=transitions)]) as runtime:
            agent = await runtime.start("ring", at="A")
            await go_round(agent)
            nudge = (await attempts(agent))[0].event
            assert nudge.name == "escape.nudge"
            assert nudge.payload["way"].startswith(how)
            assert nudge.payload["passed"] == []


async def test_two_strategies_of_a_kind_that_name_different_things_are_tried_one_after_the_other(place):
    doors = ("A", "B")
    async with Runtime.open(place, graphs=[ring(Restart("A"), Restart("B"), doors=doors)]) as runtime:
        agent = await runtime.start("ring", at="A")
        await go_round(agent)
        assert [(turn.event.name, turn.target) for turn in await attempts(agent)] == [
            ("escape.restart_at_A", ("A",)),
            ("escape.restart_at_B", ("B",)),
            ("escape.give_up", ("GAVE_UP",)),
        ]


async def test_an_agent_whom_nobody_took_over_says_from_what_it_found_no_way_out(place):
    desk = StateTransitionGraph(
        "desk", states=["IN"], entry_points=[EntryPoint("IN", guard=lambda context, event: False)]
    )
    graph = ring(ToHuman("desk", at="IN"))
    async with Runtime.open(place, graphs=[graph, desk]) as runtime:
        agent = await runtime.start("ring", at="A")
        await go_round(agent, 7)
        await agent.until("GAVE_UP", timeout=30)
        failure = await runtime.failure(agent.id)
        assert (failure.event, failure.reason) == ("handoff.rejected", "loop detected")


def burst(_context, _event):
    raise RuntimeError("the door is stuck")


async def test_an_agent_that_found_no_way_out_looks_again_when_its_signal_fires_again(place):
    stuck = [Transition(state, "escape.give_up", "A", actions=burst) for state in ("A", "B")]
    async with Runtime.open(place, graphs=[ring(Reroute(), transitions=[*CIRCLE, *stuck])]) as runtime:
        agent = await runtime.start("ring", at="A")
        await go_round(agent, 20)
        told = await attempts(agent)
        assert len(told) > 1
        assert {turn.event.name for turn in told} == {"escape.none"}
        assert "the door is stuck" in told[0].event.payload["passed"][-1]["why"]
        assert (agent.snapshot.trail.escapes.count, agent.snapshot.trail.escapes.findings) == (0, 1)


@dataclass(frozen=True, slots=True)
class AskAround(Strategy):
    """A strategy of a program: by itself it has the chart take `escape.ask_around`."""


async def test_a_strategy_of_ones_own_has_the_chart_take_its_event(place):
    ways = [Transition(state, "escape.ask_around", "E") for state in ("A", "B")]
    graph = ring(AskAround(), transitions=[*CIRCLE, *WAY_OUT, *ways])
    async with Runtime.open(place, graphs=[graph]) as runtime:
        agent = await runtime.start("ring", at="A")
        await go_round(agent)
        (attempt,) = await attempts(agent)
        assert (attempt.event.name, attempt.target, tried(agent)) == (
            "escape.ask_around",
            ("E",),
            [("ask_around", CameTo.PROGRESS)],
        )


@dataclass(frozen=True, slots=True)
class ByDoor(Strategy):
    """A strategy of a program, with ways of its own: the first that is open is taken."""

    def ways(self, scene):
        yield NoWay(f"nobody answers in {scene.leaves[0]}")
        yield EnterAt("nowhere")
        yield EnterAt("E")


async def test_the_first_open_way_of_a_strategy_of_ones_own_is_taken(place):
    async with Runtime.open(
        place, graphs=[ring(ByDoor(), transitions=[*CIRCLE, *WAY_OUT], doors=("A", "E"))]
    ) as runtime:
        agent = await runtime.start("ring", at="A")
        await go_round(agent)
        (attempt,) = await attempts(agent)
        assert (attempt.event.name, attempt.target) == ("escape.by_door", ("E",))
        nobody, nowhere = attempt.event.payload["passed"]
        assert nobody["why"].startswith("nobody answers in ")
        assert "nowhere" in nowhere["why"]


@pytest.mark.parametrize("human", ["", "desk"])
async def test_the_plan_that_is_made_for_nothing_gets_agents_out(place, human):
    desk = StateTransitionGraph("desk", states=[State("IN")], entry_points=["IN"])
    circle = StateTransitionGraph(
        "ring",
        states=[State("DONE", final=True)],
        transitions=CIRCLE,
        entry_points=["A"],
        signals=Signal(Repeats()),
        escape=getting_out(human=human, at="IN") if human else getting_out(),
    )
    async with Runtime.open(place, graphs=[circle, desk]) as runtime:
        agent = await runtime.start("ring", at="A")
        await go_round(agent, 200)
        assert agent.snapshot.status is not Status.ACTIVE or agent.snapshot.handoffs
        assert (await attempts(agent))[-1].event.name == ("escape.to_human" if human else "escape.give_up")


@dataclass(frozen=True, slots=True)
class Broken(Strategy):
    """A strategy of a program that raises before it yields anything."""

    def ways(self, scene):
        raise LookupError("no such scene")


async def test_a_strategy_of_ones_own_that_raises_is_passed_over(place):
    async with Runtime.open(place, graphs=[ring(Broken(), last=GiveUp())]) as runtime:
        agent = await runtime.start("ring", at="A")
        await go_round(agent)
        (attempt,) = await attempts(agent)
        assert attempt.event.name == "escape.give_up"
        assert {"strategy": "broken", "why": "LookupError: no such scene"} in attempt.event.payload["passed"]


@pytest.mark.needs("takes_a_clock")
async def test_an_agent_that_hangs_is_asked_again_after_a_way_out_that_left_it_where_it_was(place):
    async def hang(context, work):
        await work.sleep("1d")

    graph = StateTransitionGraph(
        "hanging",
        states=[State("WORKING", invoke=Invoke(hang))],
        transitions=[],
        entry_points=["WORKING"],
        signals=NoProgress(seconds=10),
        escape=EscapePlan({"no_progress": [Nudge()]}, last=GiveUp(), cooldown="0s"),
    )
    clock = VirtualClock(NOON)
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        agent = await runtime.start("hanging", at="WORKING")
        for _ in range(2):
            assert agent.configuration == ("WORKING",)
            clock.advance(11)
            await at_rest(runtime, clock)
        assert agent.configuration == ("GAVE_UP",)
        [nudge, give_up] = await attempts(agent)
        assert 10 <= (give_up.event.time - nudge.event.time).total_seconds() < 12


@pytest.mark.parametrize("strategy", [Rollback(), CutOut("notes")])
async def test_a_block_that_began_where_the_agent_did_is_gone_back_over_to_before_its_first_move(place, strategy):
    def note(context, event):
        context.notes.append(event.name)

    class Notes(AgentContext):
        notes: list = Field(default_factory=list)

    stays = Transition("A", "SAID", "A", actions=note)
    circle = [Transition("A", "GO", "B", actions=note), Transition("B", "GO", "A", actions=note)]
    async with Runtime.open(place, graphs=[ring(strategy, transitions=[stays, *circle], context=Notes)]) as runtime:
        agent = await runtime.start("ring", at="A")
        await agent.send("SAID")
        while not agent.snapshot.trail.escapes.count:
            await agent.send("GO")
            await eventually(lambda: not agent.snapshot.trail.escapes.is_due)
        assert [turn.event.name for turn in await attempts(agent)] == [strategy.event]
        assert agent.context.notes == ["SAID"]


async def test_what_a_strategy_yields_that_is_no_way_is_passed_over_with_the_reason(place):
    @dataclass(frozen=True)
    class Guess(Strategy):
        def ways(self, scene):
            yield "E"
            yield EnterAt("E")

    async with Runtime.open(
        place, graphs=[ring(Guess(), transitions=[*CIRCLE, *WAY_OUT], doors=("A", "E"))]
    ) as runtime:
        agent = await runtime.start("ring", at="A")
        await go_round(agent)
        [attempt] = await attempts(agent)
        why = "'E' is not an escape route; yield one from gatechart.values, such as EnterAt(...)"
        assert attempt.event.payload["passed"] == [{"strategy": "guess", "why": why}]
        assert attempt.target == ("E",)
