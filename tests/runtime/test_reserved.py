"""Nobody speaks for the framework: its events are refused from everyone else; operators stand in for it openly."""

import asyncio
from typing import Any

import pytest

from gatechart import ANY, AgentContext, Invoke, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import (
    ActionFailedError,
    EventIdReusedError,
    NoInvokeError,
    NoTimerError,
    PayloadError,
    ReservedEventError,
    UnknownAgentError,
)
from gatechart.graph.definition import Then
from gatechart.hosting.limits import Limits
from gatechart.restate import RestateRuntime
from gatechart.results import Origin
from gatechart.values.agents import Status
from gatechart.values.delays import Retry
from gatechart.values.homes import Role
from gatechart.values.mail import Mail
from tests.insides import accept_mail, core_of
from tests.runtime.reserved_names import FREE, RESERVED
from tests.runtime.support import soon

pytestmark = [pytest.mark.sample_on_restate, pytest.mark.sqlite_is_enough]


class Approval(AgentContext):
    notes: list[str] = []  # noqa: RUF012  pydantic copies it
    result: Any = None


def note(context, event):
    context.notes.append(event.name)


def keep(context, event):
    context.result = event.payload.get("result") or event.payload.get("message")


async def scan(context, work):
    await asyncio.Event().wait()


def tell(context, event, turn):
    turn.send(event.payload["to"], event.payload["event"], {"result": "forged"})


def remind(context, event, turn):
    turn.after("1s", event.payload["event"])


def raise_it(context, event, turn):
    turn.raise_event("done.invoke.scan", {"result": "its own"})


approval = StateTransitionGraph(
    "approval",
    context=Approval,
    states=[
        State("WAITING", invoke=Invoke(scan), after={"5d": Then("EXPIRED")}),
        State("PASSED"),
        State("FAILED"),
        State("EXPIRED"),
        State("LYING"),  # handles no error.execution
    ],
    transitions=[
        Transition("WAITING", "done.invoke.scan", "PASSED", actions=keep),
        Transition("WAITING", "error.invoke.scan", "FAILED", actions=keep),
        Transition("WAITING", "done.invoke.scan OVERRULED handoff.*", "PASSED"),
        Transition(ANY, "TELL", actions=tell),
        Transition(ANY, "REMIND", actions=remind),
        Transition(ANY, "RAISE", actions=raise_it),
        Transition("WAITING", "POSTED SENT TOLD", actions=note),
        Transition("PASSED", "*", actions=note),
    ],
    entry_points=["WAITING", "PASSED", "LYING"],
)


@pytest.fixture
async def office(place):
    async with Runtime.open(place, graphs=[approval]) as runtime:
        yield runtime


async def origins(runtime, agent_id, after=0):
    return [(each.event.name, each.event.origin) for each in await runtime.history(agent_id, after=after)]


def whose(runtime, agent_id):
    """What names mail together with its number: on Restate each agent has numbers of its own."""
    return {"to": agent_id} if isinstance(runtime, RestateRuntime) else {}


async def test_an_event_of_the_framework_that_is_sent_or_posted_is_refused_and_changes_nothing(office):
    agent = await office.start("approval", at="WAITING", agent_id="a")
    before = await office.mail("a")
    for name in RESERVED:
        with pytest.raises(ReservedEventError, match=f"only gatechart itself sends '{name}'"):
            await agent.send(name, {"result": "forged"})
        with pytest.raises(ReservedEventError):
            await office.post("a", name, {"result": "forged"}, event_id="forged")
    assert (await office.resume("a")).snapshot.version == 1
    assert await office.mail("a") == before


async def test_an_agent_cannot_forge_an_event_for_another_or_for_its_own_later_turns(office):
    await office.start("approval", at="WAITING", agent_id="a")
    liar = await office.start("approval", at="LYING", agent_id="liar")
    before = await office.mail("a")
    for name in RESERVED:
        for event in ("TELL", "REMIND"):
            with pytest.raises(ActionFailedError, match="only gatechart itself sends"):
                await liar.send(event, {"to": "a", "event": name})
    assert (await office.resume("a")).snapshot.version == 1
    assert (await office.mail("a"), await office.mail("liar")) == (before, [])


async def test_what_a_turn_raises_for_itself_may_have_any_name(office):
    agent = await office.start("approval", at="WAITING")
    outcome = await agent.send("RAISE")
    assert (outcome.configuration, agent.context.result) == (("PASSED",), "its own")


async def test_names_that_charts_use_are_free(office):
    agent = await office.start("approval", at="PASSED", agent_id="a")
    for name in FREE:
        assert (await agent.send(name)).applied
        await office.post("a", name)
    await agent.send("END")
    assert sorted(agent.context.notes) == sorted([*FREE, *FREE, "END"])


async def test_a_refusal_does_not_offer_what_nobody_can_send(place):
    silent = StateTransitionGraph(
        "silent",
        states=[State("WAITING", invoke=Invoke(scan), after={"5d": Then("OVER")}), "OVER"],
        transitions=[
            Transition("WAITING", "done.invoke.scan OVERRULED handoff.*", "OVER"),
            Transition("WAITING", "handoff.accepted", "OVER"),
            Transition("WAITING", "error.*", "OVER"),
        ],
        entry_points=["WAITING"],
    )
    async with Runtime.open(place, graphs=[silent]) as runtime:
        agent = await runtime.start("silent", at="WAITING")
        refused = await agent.send("UNHEARD")
        assert refused.refusal.accepts == ("OVERRULED", "error.*")


async def test_work_that_is_on_offer_cannot_be_talked_out_of_the_asker(place):
    """With a forged answer it ended, its leaving withdrew the offer, and nobody had the work."""
    asking = StateTransitionGraph(
        "asking",
        states=["WORKING", State("WAITING"), State("GONE", final=True)],
        transitions=[
            Transition("WORKING", "ASK", "WAITING", actions=lambda c, e, turn: turn.handoff("taking", at="DONE")),
            Transition("WAITING", "handoff.accepted", "GONE"),
        ],
        entry_points=["WORKING"],
    )
    async with Runtime.open(place, graphs=[asking]) as runtime:  # nobody here hosts the graph that is asked
        agent = await runtime.start("asking", at="WORKING", agent_id="asking")
        await agent.send("ASK")
        with pytest.raises(ReservedEventError):
            await runtime.post("asking", "handoff.accepted", {})
        with pytest.raises(ReservedEventError):
            await agent.send("handoff.accepted", {})
        assert (await runtime.resume("asking")).snapshot.status is Status.ACTIVE


async def test_the_history_tells_who_made_an_event_happen(office):
    teller = await office.start("approval", at="LYING", agent_id="teller")
    await office.start("approval", at="WAITING", agent_id="a")
    await office.post("a", "POSTED")
    await (await office.resume("a")).send("SENT")
    await teller.send("TELL", {"to": "a", "event": "TOLD"})
    agent = await office.resume("a")
    await soon(_until(agent, 4))
    assert await origins(office, "a") == [
        ("agent.started.WAITING", Origin.FRAMEWORK),
        ("POSTED", Origin.OUTSIDE),
        ("SENT", Origin.OUTSIDE),
        ("TOLD", Origin.AGENT),
    ]


async def test_an_operator_ends_an_invoke_with_a_result_and_the_history_says_so(office):
    agent = await office.start("approval", at="WAITING", agent_id="a")
    receipt = await office.end_invoke("a", "scan", {"clean": True}, reason="scanned by hand", idempotency_key="op-1")
    await soon(agent.until("PASSED"))
    assert not receipt.repeat
    assert agent.context.result == {"clean": True}
    *_, last = await office.history("a")
    assert (last.event.name, last.event.origin) == ("done.invoke.scan", Origin.OPERATOR)
    assert (last.event.operator_reason, last.event.payload) == ("scanned by hand", {"result": {"clean": True}})
    again = await office.end_invoke("a", "scan", {"clean": True}, reason="scanned by hand", idempotency_key="op-1")
    assert again.repeat
    with pytest.raises(EventIdReusedError):
        await office.end_invoke("a", "scan", error="no", reason="by hand", idempotency_key="op-1")
    with pytest.raises(EventIdReusedError):
        await office.end_invoke("a", "scan", {"clean": False}, reason="scanned by hand", idempotency_key="op-1")
    assert len(await office.history("a")) == 2


async def test_a_call_that_ends_an_invoke_and_is_made_twice_at_once_ends_it_once(office):
    agent = await office.start("approval", at="WAITING", agent_id="a")
    same = [office.end_invoke("a", "scan", {"clean": True}, reason="by hand", idempotency_key="op-1") for _ in range(3)]
    receipts = await asyncio.gather(*same)
    await soon(agent.until("PASSED"))
    assert sorted(receipt.repeat for receipt in receipts) == [False, True, True]


async def test_an_operator_ends_an_invoke_with_an_error(office):
    agent = await office.start("approval", at="WAITING", agent_id="a")
    await office.end_invoke("a", "scan", error="the scanner is gone", reason="decommissioned")
    await soon(agent.until("FAILED"))
    *_, last = await office.history("a")
    assert (last.event.name, last.event.payload["type"]) == ("error.invoke.scan", "OperatorError")
    assert agent.context.result == "the scanner is gone"


async def test_an_invoke_that_is_not_running_is_not_ended(office):
    agent = await office.start("approval", at="WAITING", agent_id="a")
    with pytest.raises(NoInvokeError, match=r"is not running an invoke 'scam'; it runs 'scan'"):
        await office.end_invoke("a", "scam", reason="by hand")
    with pytest.raises(UnknownAgentError):
        await office.end_invoke("b", "scan", reason="by hand")
    for wrong in ({"reason": ""}, {"reason": "both", "result": 1, "error": "no"}):
        with pytest.raises(PayloadError):
            await office.end_invoke("a", "scan", **wrong)
    assert (await office.resume("a")).snapshot.version == 1
    await agent.send("OVERRULED")
    with pytest.raises(NoInvokeError, match="it runs none"):
        await office.end_invoke("a", "scan", reason="by hand")


async def test_an_operator_lets_a_timer_fire_now_and_the_history_says_so(office):
    agent = await office.start("approval", at="WAITING", agent_id="a")
    (timer,) = await office.mail("a")
    fired = await office.fire_timer(timer.number, reason="the customer called", **whose(office, "a"))
    assert fired.due < timer.due
    await soon(agent.until("EXPIRED"))
    *_, last = await office.history("a")
    assert (last.event.name, last.event.origin) == ("after.5d.WAITING", Origin.OPERATOR)
    assert last.event.operator_reason == "the customer called"
    with pytest.raises(NoTimerError, match="is not a waiting timer"):
        await office.fire_timer(timer.number, reason="again", **whose(office, "a"))


async def test_only_what_waits_for_its_time_can_be_fired(office):
    agent = await office.start("approval", at="WAITING", agent_id="a")
    (timer,) = await office.mail("a")
    with pytest.raises(PayloadError):
        await office.fire_timer(timer.number, reason="", **whose(office, "a"))
    with pytest.raises(NoTimerError):
        await office.fire_timer(timer.number + 1000, reason="wrong", **whose(office, "a"))
    await agent.send("OVERRULED")
    with pytest.raises(NoTimerError):
        await office.fire_timer(timer.number, reason="too late", **whose(office, "a"))
    assert agent.configuration == ("PASSED",)


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_a_timer_fired_without_its_graph_waits_for_whoever_hosts_it(place):
    async with Runtime.open(place, graphs=[approval]) as runtime:
        await runtime.start("approval", at="WAITING", agent_id="a")
        (timer,) = await runtime.mail("a")
    async with Runtime.open(place, graphs=[approval], role=Role.VISITOR) as visitor:
        await visitor.fire_timer(timer.number, reason="in advance")
    async with Runtime.open(place, graphs=[approval]) as runtime:
        await soon((await runtime.resume("a")).until("EXPIRED"))
        *_, last = await runtime.history("a")
        assert last.event.origin is Origin.OPERATOR


@pytest.mark.needs("takes_a_clock")
async def test_mail_of_a_reserved_name_that_was_accepted_before_the_gate_stood_is_delivered(office):
    agent = await office.start("approval", at="WAITING", agent_id="a")
    core = core_of(office)
    old = Mail(core.store.numbers(1), "a", "done.invoke.scan", {"result": "old"}, core.clock.now())
    await accept_mail(office, old)
    await soon(agent.until("PASSED"))


@pytest.mark.needs("lists_all_mail")
async def test_dead_mail_of_the_framework_is_tried_again_and_stays_the_frameworks(place):
    broken = {"is": True}

    def fail(context, event):
        if broken["is"]:
            raise RuntimeError("not yet")

    graph = StateTransitionGraph(
        "fragile",
        states=["OPEN", State("SHUT", after={"1s": Then("OVER", actions=fail)}), "OVER"],
        transitions=[Transition("OPEN", "SHUT", "SHUT")],
        entry_points=["OPEN"],
    )
    quickly = Limits(mail_retry=Retry(attempts=2, first_s=0.01))
    async with Runtime.open(place, graphs=[graph], limits=quickly) as runtime:
        agent = await runtime.start("fragile", at="OPEN", agent_id="a")
        await agent.send("SHUT")
        (timer,) = await runtime.mail("a")
        await runtime.fire_timer(timer.number, reason="sooner")
        while not (dead := await runtime.mail("a", status="dead")):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        broken["is"] = False
        await runtime.retry(dead[0].number)
        await soon(agent.until("OVER"))
        *_, last = await runtime.history("a")
        assert (last.event.origin, last.event.operator_reason) == (Origin.OPERATOR, "sooner")


async def _until(agent, version):
    while agent.snapshot.version < version:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
