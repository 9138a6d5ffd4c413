"""Mail whose every attempt failed, of agents that wait for it and of such that do not: who is told, and how often."""

import logging

import pytest
from pydantic import Field

from gatechart import ANY, AgentContext, HandoffPacket, Runtime, State, StateTransitionGraph, Status, Transition
from gatechart.errors import StoreFailedError
from gatechart.graph.definition import Invoke, Then
from gatechart.graph.handoff import Handoff
from gatechart.hosting.limits import Limits
from gatechart.stores import open_store
from gatechart.testing import VirtualClock
from gatechart.values.commits import MailChange, TurnRecord
from gatechart.values.delays import Retry
from gatechart.values.handoffs import Mode
from gatechart.values.mail import MailStatus
from tests.runtime.handovers import COMPLETED, house, only, rest, target_of
from tests.runtime.support import Gate, WrappedStore, at_rest

pytestmark = pytest.mark.sqlite_is_enough

ONCE = Limits(mail_retry=Retry(attempts=1))
DELEGATE = Handoff("helper", at="WORKING", mode=Mode.DELEGATE)


class Case(AgentContext):
    told: list = Field(default_factory=list)
    stumbles: bool = True  # at what it waits for


def need(context, event):
    """What fails on a key that is missing, in the midst of a turn."""
    if context.stumbles:
        context.told.append(event.payload["a key that is missing"])


def keep(context, event):
    context.told.append([event.name, dict(event.payload)])


def mend(context, event):
    context.stumbles = False


def write_to_itself(context, event, turn):
    turn.send(turn.agent_id, "OWN", {"noted": True})


def ring_itself(context, event, turn):
    turn.after("10ms", "OWN", key="bell")


def write(context, event, turn):
    turn.send(event.payload["to"], "WRITTEN", {"noted": True, "handoff": "1"})


async def hold(context, event, turn):
    await turn.services.wait(turn.agent_id, None)
    need(context, event)


async def succeed(context, work):
    return "fine"


async def go_on(context, work):
    await work.progress({"half": True})
    return "fine"


async def fail(context, work):
    raise LookupError("nothing there")


WAITING = {
    "timer": State("TIMED", after={"10ms": Then("GLAD", actions=need)}),
    "result": State("CALLING", invoke=Invoke(succeed, id="look")),
    "progress": State("DOING", invoke=Invoke(go_on, id="do")),
    "error": State("TRYING", invoke=Invoke(fail, id="try")),
}
asker = StateTransitionGraph(
    "asker",
    context=Case,
    states=[
        "TALKING",
        *WAITING.values(),
        State("ASKING", invoke=Invoke(agent="helper", at="WORKING", id="ask")),
    ],
    transitions=[
        *(Transition("TALKING", name, state.name) for name, state in WAITING.items()),
        Transition("TALKING", "own", "WAITING", actions=write_to_itself),
        Transition("TALKING", "bell", "WAITING", actions=ring_itself),
        Transition("TALKING", "delegate", "WAITING", actions=DELEGATE),
        Transition("TALKING", "invoke", "ASKING"),
        Transition("TALKING", "write", actions=write),
        Transition("CALLING", "done.invoke.look", "GLAD", actions=need),
        Transition("DOING", "progress.invoke.do", actions=need),
        Transition("DOING", "done.invoke.do", "GLAD"),
        Transition("DOING", "error.mail", "SAVED"),
        Transition("TRYING", "error.invoke.try", "GLAD", actions=need),
        Transition("ASKING", "done.invoke.ask", "GLAD", actions=need),
        Transition("WAITING", "handoff.completed", "GLAD", actions=need),
        Transition("WAITING", "OWN", "GLAD", actions=need),
        Transition(ANY, "WRITTEN", "GLAD", actions=need),
        Transition(ANY, "MENDED", actions=mend),
    ],
    entry_points=["TALKING"],
)
SAVES = [
    Transition(state, "error.mail", "SAVED", actions=keep)
    for state in ("TIMED", "CALLING", "TRYING", "ASKING", "WAITING", "TALKING")
]
STUMBLES = [Transition("WAITING", "error.mail", "SAVED", actions=need)]
careful, careless = (
    StateTransitionGraph(
        name,
        context=Case,
        states=asker.tree,
        transitions=[*asker.transitions, *more],
        entry_points=["TALKING"],
    )
    for name, more in (("careful", SAVES), ("careless", STUMBLES))
)
helper = StateTransitionGraph(
    "helper",
    context=Case,
    states=["WORKING", State("DONE", final=True)],
    transitions=[Transition("WORKING", "DONE", "DONE")],
    entry_points=["WORKING"],
)
GRAPHS = (asker, careful, careless, helper)
EVENTS = {
    "timer": "after.10ms.TIMED",
    "result": "done.invoke.look",
    "error": "error.invoke.try",
    "own": "OWN",
    "bell": "OWN",
    "delegate": "handoff.completed",
    "invoke": "done.invoke.ask",
}


async def waiting(runtime, graph, kind):
    """An agent that waits for what it will fail at, and for which all is done that others have to do."""
    agent = await runtime.start(graph, at="TALKING")
    await agent.send(kind)
    if kind in ("delegate", "invoke"):
        await rest(runtime)
        await (await target_of(runtime, agent)).send("DONE")
    return agent


async def dead(runtime, agent):
    return await runtime.mail(agent.id, status=MailStatus.DEAD)


@pytest.mark.parametrize("kind", ["timer", "result", "error", "bell"])
async def test_an_agent_whose_mail_is_dead_is_told_so_once(place, kind):
    async with Runtime.open(place, graphs=GRAPHS, limits=ONCE) as runtime:
        agent = await waiting(runtime, "careful", kind)
        await agent.until("SAVED")
        await _saved(runtime, agent, kind)


async def test_an_agent_goes_on_without_the_progress_of_what_it_waits_for(place):
    async with Runtime.open(place, graphs=GRAPHS, limits=ONCE) as runtime:
        agent = await waiting(runtime, "asker", "progress")
        await agent.until("GLAD")
        assert [each.event for each in await dead(runtime, agent)] == ["progress.invoke.do"]
        assert "error.mail" not in [each.event.name for each in await runtime.history(agent.id)]


@pytest.mark.parametrize("kind", ["own", "delegate", "invoke"])
async def test_an_agent_whose_answer_is_dead_is_told_so_once(place, kind):
    async with house(place, *GRAPHS, limits=ONCE) as runtime:
        agent = await waiting(runtime, "careful", kind)
        await rest(runtime)
        await _saved(runtime, agent, kind)
        if kind != "own":
            assert (await only(runtime)).status is COMPLETED
            assert agent.snapshot.handoffs == ()


async def _saved(runtime, agent, kind):
    assert agent.configuration == ("SAVED",)
    [letter] = await dead(runtime, agent)
    [[name, told]] = agent.context.told
    assert (name, told["event"]) == ("error.mail", EVENTS[kind])
    assert (told["number"], told["attempts"]) == (letter.number, 1)
    assert "a key that is missing" in told["reason"]
    assert "a key that is missing" in letter.reason
    assert ("handoff" in told) == (kind in ("delegate", "invoke"))
    assert [each.event.name for each in await runtime.history(agent.id)].count("error.mail") == 1
    assert await runtime.mail(agent.id, status=MailStatus.WAITING) == []
    assert await runtime.mail(agent.id, status=MailStatus.REFUSED) == []


@pytest.mark.parametrize("kind", ["own", "delegate", "invoke"])
async def test_what_the_chart_does_not_handle_is_noted(place, kind):
    async with house(place, *GRAPHS, limits=ONCE) as runtime:
        agent = await waiting(runtime, "asker", kind)
        await rest(runtime)
        state = ("ASKING",) if kind == "invoke" else ("WAITING",)
        assert (agent.configuration, agent.status, agent.context.told) == (state, Status.ACTIVE, [])
        noted = (await runtime.history(agent.id))[-1]
        assert (noted.event.name, noted.event.sender, noted.taken) == ("error.mail", agent.id, ())
        assert noted.event.payload["event"] == EVENTS[kind]
        assert [each.status for each in await runtime.mail(agent.id)] == [MailStatus.DEAD]


async def test_a_dead_letter_that_tells_of_another_raises_none(place):
    async with house(place, *GRAPHS, limits=ONCE) as runtime:
        agent = await waiting(runtime, "careless", "own")
        await rest(runtime)
        assert agent.configuration == ("WAITING",)
        letters = await dead(runtime, agent)
        assert [each.event for each in letters] == ["OWN", "error.mail"]
        assert letters[1].payload["number"] == letters[0].number
        assert [each.event.name for each in await runtime.history(agent.id)] == ["agent.started.TALKING", "own"]


async def test_what_people_and_other_agents_send_raises_none(place):
    """An agent does not wait for it, and nobody is to move one by mail that it fails at."""
    async with house(place, *GRAPHS, limits=ONCE) as runtime:
        agent, other = [await runtime.start("careful", at="TALKING") for _ in range(2)]
        await runtime.post(agent.id, "WRITTEN", {"noted": True, "handoff": "1"})
        await other.send("write", {"to": agent.id})
        await rest(runtime)
        assert (agent.configuration, agent.snapshot.version) == (("TALKING",), 1)
        letters = await dead(runtime, agent)
        assert sorted((each.event, each.sender or "") for each in letters) == [("WRITTEN", ""), ("WRITTEN", other.id)]


async def test_the_operator_is_told_with_the_facts(place, caplog):
    async with house(place, *GRAPHS, limits=ONCE) as runtime:
        with caplog.at_level(logging.ERROR):
            agent = await waiting(runtime, "careful", "delegate")
            await rest(runtime)
        [letter] = await dead(runtime, agent)
        [record] = [each for each in caplog.records if each.message.startswith("mail is dead")]
        assert (record.agent_id, record.event, record.number) == (agent.id, "handoff.completed", letter.number)
        assert record.levelno == logging.ERROR
        assert record.reason == letter.reason
        facts = (
            f"handoff.completed (mail {letter.number}) of agent {agent.id}, graph careful, attempt 1: {letter.reason}"
        )
        assert record.message == f"mail is dead: every attempt failed: {facts}"


@pytest.mark.needs("lists_all_mail")
async def test_mail_that_is_tried_again_and_fails_again_tells_again(place):
    async with house(place, *GRAPHS, limits=ONCE) as runtime:
        agent = await waiting(runtime, "asker", "own")
        await rest(runtime)
        [letter] = await dead(runtime, agent)
        await runtime.retry(letter.number)
        await rest(runtime)
        assert [each.event.name for each in await runtime.history(agent.id)].count("error.mail") == 2
        await agent.send("MENDED")
        await runtime.retry(letter.number)
        await rest(runtime)
        assert (agent.configuration, await runtime.mail()) == (("GLAD",), [])


@pytest.mark.needs("lists_all_mail")
@pytest.mark.parametrize("kind", ["delegate", "invoke"])
async def test_an_answer_that_is_dead_can_be_delivered_once_more(place, kind):
    async with house(place, *GRAPHS, limits=ONCE) as runtime:
        agent = await waiting(runtime, "asker", kind)
        await rest(runtime)
        [letter] = await dead(runtime, agent)
        assert letter.event == EVENTS[kind]
        await runtime.retry(letter.number)
        await rest(runtime)
        [letter] = await dead(runtime, agent)
        assert [each.event.name for each in await runtime.history(agent.id)].count("error.mail") == 2
        await agent.send("MENDED")
        await runtime.retry(letter.number)
        await rest(runtime)
        assert (agent.configuration, await runtime.mail()) == (("GLAD",), [])


async def test_an_offer_may_hold_a_word_of_ours(place):
    """What a packet holds beside its fields is kept as it is, whatever it is called."""
    async with house(place, *GRAPHS, limits=ONCE) as runtime:
        agent = await runtime.start("asker", at="TALKING")
        packet = HandoffPacket.model_validate({"noted": True})
        await runtime.handoff(agent.id, Handoff("helper", at="WORKING", packet=packet, mode=Mode.DELEGATE))
        await rest(runtime)
        assert (await only(runtime)).packet["noted"] is True
        assert (await target_of(runtime, agent)).configuration == ("WORKING",)


@pytest.mark.not_on_restate("what a turn leaves for its own agent is taken before what others posted while it ran")
async def test_an_agent_that_has_left_the_state_is_not_told(place):
    """What belongs to a state is over with it, and so is the word of it."""
    gated = StateTransitionGraph(
        "gated",
        context=Case,
        states=[State("WAITING", invoke=Invoke(succeed, id="look"))],
        transitions=[
            Transition("WAITING", "done.invoke.look", "GLAD", actions=hold),
            Transition("WAITING", "LEFT", "ELSEWHERE"),
            Transition(ANY, "error.mail", "SAVED"),
        ],
        entry_points=["WAITING"],
    )
    gate = Gate()
    async with house(place, gated, limits=ONCE, services=gate) as runtime:
        agent = await runtime.start("gated", at="WAITING")
        await gate.reached()
        await runtime.post(agent.id, "LEFT")
        gate.opened.set()
        await rest(runtime)
        assert agent.configuration == ("ELSEWHERE",)
        assert [each.status for each in await runtime.mail(agent.id)] == [MailStatus.DEAD]


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("kind", ["own", "delegate"])
async def test_a_commit_whose_answer_is_lost_tells_once(place, kind):
    """The commit that makes mail dead is in doubt; what it has raised is told, and not twice."""
    async with open_store(place) as store:
        watched = WrappedStore(store)

        async def lose(units):
            if not lost and any(map(_buries, units)):
                lost.append(units)
                raise StoreFailedError("store", "the answer is lost")

        lost, clock = [], VirtualClock()
        watched.after = lose
        async with Runtime.open(watched, graphs=GRAPHS, clock=clock, limits=ONCE) as runtime:
            agent = await runtime.start("careful", at="TALKING")
            await agent.send(kind)
            await at_rest(runtime, clock)
            if kind == "delegate":
                await (await target_of(runtime, agent)).send("DONE")
            for _ in range(3):
                await at_rest(runtime, clock)
                clock.advance(2)
            await at_rest(runtime, clock)
            assert len(lost) == 1
            await _saved(runtime, agent, kind)


def _buries(unit):
    if isinstance(unit, TurnRecord):
        return any(getattr(getattr(each, "mail", None), "status", None) is MailStatus.DEAD for each in unit.effects)
    return isinstance(unit, MailChange) and unit.mail.status is MailStatus.DEAD


@pytest.mark.needs("takes_a_clock")
async def test_an_agent_is_told_by_the_next_runtime_where_this_one_closes_before(place):
    async with open_store(place) as store:
        watched, clock = WrappedStore(store), VirtualClock()

        async def lose(units):
            if any(map(_buries, units)):
                watched.before = refuse
                raise StoreFailedError("store", "the answer is lost")

        async def refuse(units):
            raise StoreFailedError("store", "nobody answers")

        watched.after = lose
        async with Runtime.open(watched, graphs=GRAPHS, clock=clock, limits=ONCE) as runtime:
            agent = await runtime.start("careful", at="TALKING")
            await agent.send("own")
            await at_rest(runtime, clock)
        async with Runtime.open(store, graphs=GRAPHS, clock=clock, limits=ONCE) as runtime:
            await at_rest(runtime, clock)
            await _saved(runtime, await runtime.resume(agent.id), "own")
