"""Rehearsals move the clock by durations, and until a state is active."""

from dataclasses import fields
from inspect import signature
from typing import Any

import pytest

from gatechart import (
    AgentContext,
    EntryPoint,
    EscapePlan,
    Invoke,
    Limits,
    Migration,
    OnRefusal,
    Retry,
    State,
    StateTransitionGraph,
    Then,
    Transition,
)
from gatechart.errors import MailFailedError, NoInvokeError, UndeclaredEventError, UnknownStateError
from gatechart.escape import GiveUp, Rollback
from gatechart.graph.definition import Allow, Precedence
from gatechart.graph.handoff import Accepts
from gatechart.graph.selection import NeedRule
from gatechart.signals import Lacks, VisitsOver
from gatechart.testing import rehearse
from gatechart.values.profiles import Needs, Profile
from gatechart.values.tool_policies import ToolPolicies
from tests.insides import host_of

LATE = StateTransitionGraph(
    "late",
    version="1",
    context=AgentContext,
    states=[State("OPEN", after={"1h30m": "DUE"}), State("DUE", after={"P2D": "EXPIRED"}), State("EXPIRED")],
    transitions=[],
    entry_points=["OPEN"],
)


@pytest.mark.parametrize("by", ["1h30m", "PT90M", 5400])
async def test_the_clock_of_a_rehearsal_moves_by_any_duration(by):
    async with rehearse(LATE, "OPEN") as rehearsal:
        await rehearsal.advance("89m")
        assert rehearsal.leaves == ("OPEN",)
    async with rehearse(LATE, "OPEN") as rehearsal:
        await rehearsal.advance(by)
        assert rehearsal.leaves == ("DUE",)


async def test_a_rehearsal_goes_on_until_one_of_several_states_is_active_and_stops_at_that_moment():
    async with rehearse(LATE, "OPEN") as rehearsal:
        begun = rehearsal.clock.at
        snapshot = await rehearsal.until("EXPIRED", "DUE")
        assert snapshot.configuration == ("DUE",)
        assert (rehearsal.clock.at - begun).total_seconds() == 5400
        assert await rehearsal.until("DUE") == snapshot
        assert (await rehearsal.until("EXPIRED", within="2d")).configuration == ("EXPIRED",)


async def test_a_rehearsal_tells_where_the_agent_is_if_a_state_is_not_reached():
    async with rehearse(LATE, "OPEN") as rehearsal:
        with pytest.raises(AssertionError, match=r"'EXPIRED' is not active within 1d: .* active in DUE"):
            await rehearsal.until("EXPIRED", within="1d")
        with pytest.raises(UnknownStateError):
            await rehearsal.until("LOST")
        with pytest.raises(ValueError, match="'soon' is not a duration"):
            await rehearsal.until("EXPIRED", within="soon")


async def test_a_rehearsal_from_the_initial_state_knows_the_declared_events():
    closed = StateTransitionGraph(
        "closed",
        transitions=[Transition("OPEN", "DECIDED", "DONE")],
        entry_points=["OPEN"],
        events=["DECIDED"],
        events_closed=True,
    )
    async with rehearse(closed) as agent:
        with pytest.raises(UndeclaredEventError):
            await agent.send("DECIDEDD")
        assert (await agent.send("DECIDED")).applied


class Order(AgentContext):
    paid: bool = False


async def never(context, work):
    raise AssertionError("it runs")


ORDER = StateTransitionGraph(
    "order",
    context=Order,
    states=[State("PRINTING", invoke=Invoke(never, id="print", retry=Retry(attempts=2))), State("SHIPPED")],
    transitions=[
        Transition("UNPAID", "PAID", "PRINTING"),
        Transition("PRINTING", "done.invoke.print", "SHIPPED", actions=lambda context, event: None),
        Transition("PRINTING", "error.invoke.print", "UNPAID"),
    ],
    entry_points=["UNPAID"],
)


async def test_a_rehearsal_begins_in_any_state_with_any_context():
    async with rehearse(ORDER, "SHIPPED", context={"paid": True}) as agent:
        assert (agent.leaves, agent.context) == (("SHIPPED",), Order(paid=True))
    with pytest.raises(UnknownStateError):
        async with rehearse(ORDER, "LOST", context={}):
            pass


async def test_an_invoke_that_is_held_ends_as_the_test_says():
    async with rehearse(ORDER, "UNPAID", holds_invokes=True) as agent:
        await agent.send("PAID")
        assert agent.invokes == ("print",)
        await agent.end_invoke("print", {"number": 7})
        assert (agent.leaves, agent.invokes) == (("SHIPPED",), ())
        with pytest.raises(NoInvokeError):
            await agent.end_invoke("print")


async def test_an_invoke_that_is_held_and_fails_is_tried_again_as_it_says():
    async with rehearse(ORDER, "UNPAID", holds_invokes=True) as agent:
        await agent.send("PAID")
        await agent.end_invoke("print", error=OSError("no paper"))
        assert (agent.leaves, agent.invokes) == (("PRINTING",), ())
        await agent.advance("1m")
        assert agent.invokes == ("print",)
        await agent.end_invoke("print", error=OSError("no paper"))
        assert agent.leaves == ("UNPAID",)


async def wait_for_somebody(context: Any, work: Any) -> None: ...


def round_trip(**given: Any) -> StateTransitionGraph[AgentContext]:
    return StateTransitionGraph(
        "round",
        states=[State("HERE", invoke=Invoke(wait_for_somebody))],
        transitions=[Transition("HERE", "GO", "THERE"), Transition("THERE", "GO", "HERE")],
        **{"entry_points": ["HERE"], "signals": VisitsOver("THERE", 1)} | given,
    )


async def went_round(graph: StateTransitionGraph[AgentContext], at: str, **how: Any) -> tuple[list[str], list[str]]:
    """What was noticed, and where the agent is at the end."""
    async with rehearse(graph, at, **how) as agent:
        for _ in range(3):
            await agent.send("GO")
        return [turn.fired.signal for turn in await agent.agent.history() if turn.fired], [*agent.leaves]


HOW = pytest.mark.parametrize("how", [{}, {"context": {}}, {"holds_invokes": True}], ids=repr)


@HOW
async def test_an_agent_notices_in_a_rehearsal_what_it_notices_elsewhere(how):
    assert await went_round(round_trip(), "HERE", **how) == (["visits_over"], ["THERE"])


@HOW
async def test_in_a_rehearsal_signals_of_an_entry_point_stand_in_place_of_those_of_its_graph(how):
    quiet = round_trip(entry_points=[EntryPoint("HERE", "QUIET", signals=())])
    assert await went_round(quiet, "QUIET", **how) == ([], ["THERE"])


@HOW
async def test_an_agent_gets_out_in_a_rehearsal_as_its_plan_says(how):
    plan = EscapePlan({"visits_over": [Rollback(), GiveUp()]})  # which adds UNDOING, too
    fired, leaves = await went_round(round_trip(escape=plan), "HERE", **how)
    assert (fired, leaves) == (["visits_over"], ["HERE"])


@HOW
async def test_what_an_agent_lacks_in_a_rehearsal_is_what_the_profile_says(how):
    rules = NeedRule(Needs(domains=("refunds",)), mentions=("refund",))
    for has, noticed in (("orders", ["lacks_domain"]), ("refunds", [])):
        profile = Profile(domains=(has,))
        for graph in (
            round_trip(signals=Lacks("domain", rules), profile=profile),
            round_trip(signals=Lacks("domain", rules), entry_points=[EntryPoint("HERE", profile=profile)]),
        ):
            async with rehearse(graph, "HERE", **how) as agent:
                await agent.send("GO", {"text": "I want a refund"})
                assert [turn.fired.signal for turn in await agent.agent.history() if turn.fired] == noticed


def same(context: dict[str, Any]) -> dict[str, Any]:
    return context


class Named(AgentContext):
    name: str = "nobody"


async def test_a_rehearsal_plays_all_that_its_graph_was_given():
    given: dict[str, Any] = {
        "version": "2",
        "context": Named,
        "states": ["HERE", State("SAFE", final=True)],
        "transitions": [Transition("HERE", "GO", "THERE"), Transition("THERE", "GO", "HERE")],
        "entry_points": ["THERE"],
        "initial": "THERE",
        "on_refusal": OnRefusal.RAISE,
        "description": "goes to and fro",
        "max_microsteps": 7,
        "migrations": Migration("1", "2", same),
        "allow": Allow("GC102", "state 'HERE'", "a test"),
        "accepts": Accepts(capacity=3),
        "events": ["GO", "STOP"],
        "events_closed": True,
        "searchable": "name",
        "tools": {"search": ToolPolicies(retry="off")},
        "signals": VisitsOver("THERE", 3),
        "escape": EscapePlan({"visits_over": [Rollback(), GiveUp()]}),
        "profile": Profile(domains=("walks",)),
        "precedence": Precedence.DOCUMENT,
    }
    assert ["name", *given] == [*signature(StateTransitionGraph).parameters], "the sample lacks a parameter"
    graph = StateTransitionGraph("full", **given)
    async with rehearse(graph) as agent:
        played = host_of(agent.agent).graph
    its_own = {"allow", "entry_points", "inferred", "fingerprint", "nodes", "memo", "contexts"}
    differing = {each.name for each in fields(graph) if getattr(graph, each.name) != getattr(played, each.name)}
    assert differing - its_own == set()


class Failing(AgentContext):
    tries: int = 0


def fail(context: Failing, event: Any) -> None:
    raise RuntimeError("no paper")


async def print_it(context: Failing, work: Any) -> None: ...


FAULTY = StateTransitionGraph(
    "faulty",
    context=Failing,
    states=[
        State("WAITING", after={"2s": "PINGING"}),
        State("PRINTING", invoke=Invoke(print_it, id="print")),
        State("PINGING"),
        State("PONGING"),
        State("DONE"),
    ],
    transitions=[
        Transition("WAITING", "CALLED", "DONE"),
        Transition("WAITING", "PRINTED", "PRINTING"),
        Transition("WAITING", "NOTED", actions=lambda context, event, turn: turn.send(turn.agent_id, "FAILED")),
        Transition("WAITING", "FAILED", "DONE", actions=fail),
        Transition("PRINTING", "done.invoke.print", "DONE", actions=fail),
        Transition("PINGING", None, "PONGING"),
        Transition("PONGING", None, "PINGING"),
    ],
    entry_points=["WAITING"],
)


async def test_a_timer_whose_turn_does_not_end_is_an_error_that_names_it_and_its_state():
    async with rehearse(FAULTY) as agent:
        began = agent.clock.at
        with pytest.raises(MailFailedError) as raised:
            await agent.advance("1h")
        error = raised.value
        assert (error.event, error.state, error.is_timer) == ("after.2s.WAITING", "WAITING", True)
        assert "timer 'after.2s.WAITING' of state 'WAITING'" in str(error)
        assert "did not settle" in str(error)
        assert (agent.clock.at - began).total_seconds() == 2
        assert agent.leaves == ("WAITING",)


async def test_an_event_behind_a_timer_that_fails_is_an_error_instead_of_a_wait_for_ever():
    async with rehearse(FAULTY) as agent:
        with pytest.raises(MailFailedError):
            await agent.until("DONE")
        for _ in range(2):
            with pytest.raises(MailFailedError, match="nothing else happens before its next attempt"):
                await agent.send("CALLED")
        assert agent.leaves == ("WAITING",)


async def test_the_end_of_an_invoke_and_mail_whose_turns_fail_are_errors():
    async with rehearse(FAULTY) as agent:
        with pytest.raises(MailFailedError, match=r"mail 'done.invoke.print' of state 'PRINTING' .* no paper"):
            await agent.send("PRINTED")
    async with rehearse(FAULTY) as agent:
        with pytest.raises(MailFailedError, match="mail 'FAILED' of agent 'faulty' failed"):
            await agent.send("NOTED")


async def test_a_timer_that_fails_once_is_tried_again_if_the_test_goes_on():
    tried = []

    def fail_at_first(context: Failing, event: Any) -> None:
        context.tries += 1
        tried.append(event.name)
        if len(tried) == 1:
            raise RuntimeError("busy")

    graph = StateTransitionGraph(
        "again",
        context=Failing,
        states=[State("WAITING", after={"5s": Then("DONE", actions=fail_at_first)}), "DONE"],
        transitions=[],
        entry_points=["WAITING"],
    )
    async with rehearse(graph) as agent:
        with pytest.raises(MailFailedError, match="busy"):
            await agent.advance("1h")
        await agent.advance("1h")
        assert (agent.leaves, agent.context.tries, len(tried)) == (("DONE",), 1, 2)


async def test_a_timer_whose_every_try_fails_is_reported_once_and_then_lets_events_through():
    async with rehearse(FAULTY, limits=Limits(mail_retry=Retry(attempts=2, first_s=1))) as agent:
        with pytest.raises(MailFailedError):
            await agent.advance("3s")
        await agent.advance("3s")
        await agent.send("CALLED")
        assert agent.leaves == ("DONE",)
