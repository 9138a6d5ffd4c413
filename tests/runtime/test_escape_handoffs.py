"""Work that is handed on as a way out, on every home: with the reason of the signal, and its evidence in the packet."""

import pytest

from gatechart import EntryPoint, Handoff, HandoffPacket, Runtime, State, StateTransitionGraph, Transition
from gatechart.escape import Nudge, ToHuman
from gatechart.values.handoffs import Reason
from tests.runtime.test_escapes import go_round, ring

DESK = StateTransitionGraph(
    "human_desk",
    states=["LOOKING", State("SOLVED", final=True)],
    transitions=[Transition("LOOKING", "SOLVED", "SOLVED")],
    entry_points=[EntryPoint("LOOKING", takes=HandoffPacket)],
)


@pytest.mark.sample_on_restate
@pytest.mark.parametrize("last", [ToHuman(at="LOOKING"), Handoff("human_desk", at="LOOKING")])
async def test_a_person_sees_why_the_work_comes_and_what_was_tried(place, last):
    graph = ring(Nudge(), last=last)
    async with Runtime.open(place, graphs=[graph, DESK]) as runtime:
        agent = await runtime.start("ring", at="A")
        await go_round(agent)
        [handoff] = await runtime.handoffs(source=agent.id)
        packet = HandoffPacket.model_validate(handoff.packet)
        assert packet.reason is Reason.LOOP_DETECTED
        step = packet.reasoning[-1]
        assert step.action.startswith("escape.")
        assert "repeats: Repeats" in step.reasoning
        assert "nudge was passed over: it was tried for this finding" in step.details


async def test_an_answer_of_the_chart_to_a_signal_hands_on_the_same_evidence(place):
    to_desk = Transition("A", "signal.repeats", "HANDING_ON", actions=[Handoff("human_desk", at="LOOKING")])
    failed = Transition("HANDING_ON", "handoff.rejected", "A")
    from_b = Transition("B", "signal.repeats", "HANDING_ON", actions=[Handoff("human_desk", at="LOOKING")])
    graph = ring(Nudge(), transitions=[Transition("A", "GO", "B"), Transition("B", "GO", "A"), to_desk, from_b, failed])
    async with Runtime.open(place, graphs=[graph, DESK]) as runtime:
        agent = await runtime.start("ring", at="A")
        await go_round(agent, most=8)
        [handoff] = await runtime.handoffs(source=agent.id)
        packet = HandoffPacket.model_validate(handoff.packet)
        assert packet.reason is Reason.LOOP_DETECTED
        assert packet.reasoning[-1].action == "signal.repeats"
