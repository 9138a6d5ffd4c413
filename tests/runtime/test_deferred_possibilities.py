"""`can` and `accepts` know what an agent defers: they answer as `send` does."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatechart import AgentContext, Runtime, State, StateTransitionGraph, Transition
from gatechart.results import Agrees

pytestmark = pytest.mark.sqlite_is_enough


class Talk(AgentContext):
    is_open: bool = False


def is_open(context, event):
    return context.is_open


def reads_text(context, event):
    return event.payload["text"] == "yes"


REVIEW = StateTransitionGraph(
    "review",
    context=Talk,
    states=[
        State("WRITING", defer=["COMMENTED", "NOTE.*", "CHECKED", "ASKED"], states=["DRAFT"]),
        State("CLOSED", final=True),
    ],
    transitions=[
        Transition("WRITING", "CHECKED", "READING", guard=is_open),
        Transition("WRITING", "ASKED", "READING", guard=reads_text),
        Transition("WRITING", "WRITTEN", "READING"),
        Transition("READING", "COMMENTED", "CLOSED"),
    ],
    entry_points=["DRAFT"],
)


async def test_an_agent_says_which_events_it_defers(place):
    async with Runtime.open(place, graphs=[REVIEW]) as runtime:
        agent = await runtime.start("review", at="DRAFT")
        asked = {name: await agent.can(name) for name in ("COMMENTED", "NOTE.LONG", "CHECKED", "WRITTEN", "OTHER")}
        assert {name: each.agrees for name, each in asked.items()} == {
            "COMMENTED": Agrees.DEFERRED,
            "NOTE.LONG": Agrees.DEFERRED,
            "CHECKED": Agrees.DEFERRED,
            "WRITTEN": Agrees.YES,
            "OTHER": Agrees.NO,
        }
        assert [bool(each) for each in asked.values()] == [True, True, True, True, False]
        assert asked["COMMENTED"].why_not == ""
        assert (await agent.send("COMMENTED")).deferred


async def test_a_list_of_accepted_events_has_those_that_are_deferred(place):
    async with Runtime.open(place, graphs=[REVIEW]) as runtime:
        agent = await runtime.start("review", at="DRAFT")
        assert {each.event: each.agrees for each in await agent.accepts()} == {
            "CHECKED": Agrees.DEFERRED,
            "ASKED": Agrees.DEPENDS,
            "WRITTEN": Agrees.YES,
            "COMMENTED": Agrees.DEFERRED,
            "NOTE.*": Agrees.DEFERRED,
        }
        await agent.send("WRITTEN")
        assert {each.event: each.agrees for each in await agent.accepts()} == {"COMMENTED": Agrees.YES}


@pytest.mark.parametrize(("text", "verdict"), [("yes", Agrees.YES), ("no", Agrees.DEFERRED)])
async def test_a_payload_decides_between_now_and_later(place, text, verdict):
    async with Runtime.open(place, graphs=[REVIEW]) as runtime:
        agent = await runtime.start("review", at="DRAFT")
        assert (await agent.can("ASKED", {"text": text})).agrees is verdict


EVENTS = ("A", "B", "B.X", "C")
descriptors = st.lists(st.sampled_from(("A", "B", "B.*", "C", "*")), max_size=2, unique=True)
inner = st.fixed_dictionaries({"defer": descriptors, "takes": descriptors, "guard": st.booleans()})


@settings(deadline=None, derandomize=True, max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.tuples(inner, inner, inner), st.booleans())
async def test_can_says_no_exactly_if_send_refuses(parts, is_parallel):
    around, left, right = parts
    regions = [
        State("LEFT", states=[State("L", defer=left["defer"])]),
        State("RIGHT", states=[State("R", defer=right["defer"])]),
    ]
    states = [State("AROUND", parallel=is_parallel, defer=around["defer"], states=regions)]
    transitions = [
        Transition(source, event, guard=is_open if part["guard"] else None)
        for source, part in (("AROUND", around), ("L", left), ("R", right))
        for event in part["takes"]
    ]
    graph = StateTransitionGraph(
        "random", context=Talk, states=states, transitions=transitions, entry_points=["L"], initial="AROUND"
    )
    async with Runtime.open("memory:", graphs=[graph]) as runtime:
        for event in EVENTS:
            agent = await runtime.start("random", at="L")
            asked = (await agent.can(event)).agrees
            outcome = await agent.send(event)
            did = Agrees.DEFERRED if outcome.deferred else Agrees.NO if outcome.refusal else Agrees.YES
            assert asked is did
