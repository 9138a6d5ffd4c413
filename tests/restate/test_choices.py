"""Choices of invokes at the agent's object: once for each id, and only while the entry of the state lasts."""

import asyncio

from gatechart import AgentContext, Refused, Runtime, State, StateTransitionGraph, To, Transfers, Transition
from gatechart.api.errors import ErrorDocument
from gatechart.errors import InvocationOverError
from gatechart.hosting.registry import Registry
from gatechart.restate import agent_object
from gatechart.restate.handlers import decide
from gatechart.restate.state import STATE
from gatechart.restate.terms import ServiceConfig
from gatechart.values.transfers import count_of


async def check(context, work): ...


def no(context, event):
    return Refused("not today")


research = StateTransitionGraph(
    "research",
    context=AgentContext,
    states=[
        State(
            "CHECKING",
            invoke=check,
            transfers=Transfers(["SEARCHING", To("WRITING", guard=no)], most=3, otherwise="DONE"),
        ),
        State("DONE", final=True),
    ],
    transitions=[Transition("SEARCHING", "FOUND", "CHECKING"), Transition("WRITING", "WRITTEN", "CHECKING")],
    entry_points=["CHECKING"],
)


async def choose(context, work):
    offer = await work.transfer_tools()
    await work.transfer(next(iter(offer.targets)), {"reason": "too little"})


offering = StateTransitionGraph(
    "offering",
    context=AgentContext,
    states=[
        State("CHECKING", invoke=choose, transfers=Transfers(["SEARCHING", "WRITING"], most=3, otherwise="WRITING")),
        State("WRITING", final=True),
    ],
    transitions=[Transition("SEARCHING", "FOUND", "CHECKING")],
    entry_points=["CHECKING"],
)
CONFIG = ServiceConfig(Registry(research), None)


async def asked(verb, kept=None, ids=None, **told):
    """The decision, and what is kept and known then."""
    decided = await decide(CONFIG, "r-1", kept, ids, verb, told)
    return decided, decided.state or kept, decided.ids or ids


async def chosen(kept, ids, target, event_id, epoch=1):
    call = {"state": "CHECKING", "epoch": epoch, "invoke": "check"}
    return await asked("choose", kept, ids, event=f"transfer.{target}", payload={}, id=event_id, **call)


def snapshot_of(kept):
    return STATE.validate_json(kept).snapshot


async def begun():
    _, kept, ids = await asked("begin", graph="research", at="CHECKING", payload={})
    return kept, ids


async def test_a_choice_that_was_refused_has_the_first_outcome_when_it_comes_again():
    first, kept, ids = await chosen(*await begun(), "WRITING", "c-1")
    again, kept, _ = await chosen(kept, ids, "WRITING", "c-1")
    assert first.answer["outcome"]["taken"] == ["CHECKING --transfer.WRITING"]
    assert again.answer["outcome"]["taken"] == first.answer["outcome"]["taken"]
    assert again.answer["outcome"]["repeat"]
    assert snapshot_of(kept).configuration == ("CHECKING",)


async def test_a_choice_that_comes_after_its_state_was_left_counts_no_more():
    _, kept, ids = await chosen(*await begun(), "SEARCHING", "c-1")
    late, _, _ = await chosen(kept, ids, "SEARCHING", "c-1")
    assert isinstance(ErrorDocument.model_validate(late.answer["error"]).value(), InvocationOverError)
    told = {"event": "FOUND", "payload": {}, "id": None, "life": STATE.validate_json(kept).life}
    _, kept, ids = await asked("send", kept, ids, **told)
    stale, _, _ = await chosen(kept, ids, "SEARCHING", "c-2", epoch=1)
    assert "error" in stale.answer
    snapshot = snapshot_of(kept)
    assert (snapshot.configuration, count_of(snapshot.transfers, "CHECKING").taken) == (("CHECKING",), 1)


async def test_a_function_that_begins_before_its_turn_is_stored_is_offered_the_transfers(place, monkeypatch):
    begun = agent_object.start_invocation

    async def begun_early(*arguments):
        engine_id = await begun(*arguments)
        await asyncio.sleep(0.5)  # in which the function asks
        return engine_id

    monkeypatch.setattr(agent_object, "start_invocation", begun_early)
    async with Runtime.open(place, graphs=[offering]) as runtime:
        agent = await runtime.start("offering", at="CHECKING", agent_id="o-1")
        await agent.until("SEARCHING", timeout=20)
