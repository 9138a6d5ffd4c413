"""What invokes tell the trail of their agent, and how they wait for its answer once a signal fires, on every home."""

import asyncio
from datetime import UTC, datetime
from itertools import count

import pytest

from gatechart import EntryPoint, Retry, State, StateTransitionGraph, ToolBox, Transition, tool
from gatechart.errors import PayloadError
from gatechart.graph.definition import ANY, Invoke
from gatechart.graph.signals import Signal, Signals
from gatechart.hosting.limits import Limits
from gatechart.signals import Confidence, RetriesOver, SameCall, ToolFailures, handing_on
from gatechart.testing import VirtualClock
from gatechart.tools import ToolPolicies
from gatechart.values.trail import Called, Noted, Reasoned, digest_of, entries_in
from tests.runtime.busy_agents import Services, Task, note, noted, opened
from tests.runtime.support import eventually

pytestmark = [pytest.mark.sqlite_is_enough, pytest.mark.one_variant_is_enough]

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
FAILING = Signal(ToolFailures(3), "failing")


@pytest.fixture
def clock(place):
    return VirtualClock(NOON)


class Shop(Services):
    """Services with a tool that fails for orders whose number is odd, and what was called and answered, in order."""

    def __init__(self):
        super().__init__()
        self.happened = []

        @tool(policies=ToolPolicies(retry="off", breaker="off"))
        async def lookup(order: int, at: str = "") -> str:
            self.happened.append(order)
            if order % 2:
                raise LookupError(f"no order {order}")
            return f"order {order}"

        self.tools = ToolBox([lookup])


def watched(function, *transitions, signals=FAILING, **more):
    """A graph whose state BUSY invokes the function, and which notes how it ended."""
    ends = [f"{kind}.invoke.f" for kind in ("done", "error")]
    return StateTransitionGraph(
        "busy",
        context=Task,
        states=[State("BUSY", invoke=Invoke(function, id="f", **more)), "HELPED", State("OVER", final=True)],
        transitions=[*transitions, *(Transition(ANY, each, actions=note) for each in ends)],
        entry_points=["BUSY", EntryPoint("HELPED", signals=())],
        signals=signals,
    )


def told(agent, kind=Called):
    """The entries of a kind on the agent's trail."""
    return [each for each in entries_in(agent.snapshot.trail.text) if isinstance(each, kind)]


async def insist(context, work):
    """Calls the tool again and again, with orders that it does not find."""
    for order in count(1, 2):
        await work.call("lookup", order=order)


async def test_a_signal_that_fires_at_a_call_ends_the_function_before_its_next_call(place, clock):
    shop, graph = Shop(), watched(insist, Transition(ANY, "signal.failing", "HELPED", actions=note))
    async with opened(place, graph, shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await agent.until("HELPED")
        [[event, payload]] = await noted(agent, 1)
        assert event == "signal.failing"
        assert [each["detector"] for each in payload["evidence"]] == ["ToolFailures"]
        assert shop.happened == [1, 3, 5]
        assert [each.arguments for each in told(agent)] == [digest_of({"order": each}) for each in (1, 3, 5)]


async def test_a_function_that_does_not_let_itself_be_cancelled_calls_nothing_more_either(place, clock):
    shop, ended = Shop(), asyncio.Event()

    async def insist_on(context, work):
        try:
            for order in (1, 3, 5, 7):
                try:
                    await work.call("lookup", order=order)
                except BaseException:
                    continue
        finally:
            ended.set()

    graph = watched(insist_on, Transition(ANY, "signal.failing", "HELPED", actions=note))
    async with opened(place, graph, shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await agent.until("HELPED")
        await ended.wait()
        assert shop.happened == [1, 3, 5]


async def test_a_function_that_gives_up_a_call_waits_for_the_answer_before_its_next_one(place, clock):
    shop, answering, go_on = Shop(), asyncio.Event(), asyncio.Event()

    async def give_up(context, work):
        for order in (1, 3):
            await work.call("lookup", order=order)
        third = asyncio.create_task(work.call("lookup", order=5))
        await answering.wait()
        third.cancel()
        await asyncio.wait([third])
        after = asyncio.create_task(work.call("lookup", order=2))
        for _ in range(50):
            await asyncio.sleep(0)
        go_on.set()
        await after

    async def answer(context, event):
        answering.set()
        await go_on.wait()
        shop.happened.append("answered")

    graph = watched(give_up, Transition("BUSY", "signal.failing", actions=answer))
    async with opened(place, graph, shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await noted(agent, 1)
        assert shop.happened[:5] == [1, 3, 5, "answered", 2]


async def test_the_function_goes_on_once_a_signal_is_answered_in_its_state(place, clock):
    shop = Shop()

    async def call(context, work):
        for order in (1, 3, 5, 2):
            await work.call("lookup", order=order)
        return "went on"

    def answer(context, event):
        shop.happened.append("answered")

    graph = watched(call, Transition("BUSY", "signal.failing", actions=answer))
    async with opened(place, graph, shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        assert await noted(agent, 1) == [["done.invoke.f", {"result": "went on"}]]
        assert shop.happened[:5] == [1, 3, 5, "answered", 2]


async def test_a_signal_that_nothing_takes_holds_up_no_function(place, clock):
    async def call(context, work):
        return [(await work.call("lookup", order=order)).ok for order in (1, 3, 5, 7, 2)]

    async with opened(place, watched(call), Shop(), clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        assert await noted(agent, 1) == [["done.invoke.f", {"result": [False] * 4 + [True]}]]
        assert [each.fired.signal for each in await agent.history() if each.fired is not None] == ["failing"]


async def test_each_call_is_on_the_trail_once_whatever_is_repeated(place, clock):
    async def call(context, work):
        talk = await work.for_agent("talk")
        await work.call("lookup", order=2, at="1 o'clock")
        await talk.call("lookup", order=4, call_id="c1")
        await work.note("confidence", 0.9)
        await work.reasoned("look", "found", "me")
        await work.reasoned("look", "found", "me")
        if work.services.call("run") == "run 1":
            raise OSError
        await work.call("lookup", order=6)

    graph = watched(call, retry=Retry(attempts=2, first_s=0))
    async with opened(place, graph, Shop(), clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await noted(agent, 1)
        assert [(each.tool, each.ok) for each in told(agent)] == [("lookup", True)] * 3
        assert told(agent, Noted) == [Noted("confidence", 0.9)]
        assert told(agent, Reasoned) == [Reasoned("look", "found", "me")] * 2


async def test_an_entry_says_what_came_of_a_call_without_the_fields_that_make_no_difference(place, clock):
    async def call(context, work):
        for at in "ab":
            await work.call("lookup", order=2, at=at)
        await work.call("lookup", order=1)

    graph = watched(call, signals=Signals(FAILING, ignore=["at"], task="query"))
    async with opened(place, graph, Shop(), clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await noted(agent, 1)
        first, again, failed = told(agent)
        assert (first.arguments, first.outcome) == (digest_of({"order": 2}), digest_of("order 2"))
        assert (again.arguments, first.task) == (first.arguments, "red shoes")
        assert (failed.ok, failed.error, failed.attempts) == (False, "LookupError", 1)
        assert failed.outcome == digest_of({"type": "LookupError", "message": "no order 1"})


async def test_calls_at_the_same_time_are_all_told_and_no_other_begins_before_the_answer(place, clock):
    shop = Shop()

    async def call(context, work):
        await asyncio.gather(*(work.call("lookup", order=order) for order in (1, 3, 5, 7)))
        return (await work.call("lookup", order=2)).ok

    def answer(context, event):
        shop.happened.append("answered")

    graph = watched(call, Transition("BUSY", "signal.failing", actions=answer))
    async with opened(place, graph, shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        assert await noted(agent, 1) == [["done.invoke.f", {"result": True}]]
        assert len(told(agent)) == 5
        assert shop.happened.index("answered") < shop.happened.index(2)


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("where", ["one state", "two regions", "a state inside another"])
async def test_no_function_beside_calls_anything_before_a_signal_of_them_all_is_answered(place, clock, where):
    shop, second, third, answering = Shop(), asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def left(context, work):
        await work.call("lookup", order=1)
        second.set()
        await third.wait()
        await work.call("lookup", order=5)

    async def right(context, work):
        await second.wait()
        await work.call("lookup", order=3)
        third.set()
        await answering.wait()
        await work.call("lookup", order=2)

    async def answer(context, event, turn):
        answering.set()
        for _ in range(100):
            await asyncio.sleep(0)
        shop.happened.append("answered")

    one, other = Invoke(left), Invoke(right)
    states = {
        "one state": State("BUSY", invoke=[one, other]),
        "two regions": State("BUSY", parallel=True, states=[State("A", invoke=one), State("B", invoke=other)]),
        "a state inside another": State("BUSY", invoke=one, states=[State("A", invoke=other)]),
    }
    graph = StateTransitionGraph(
        "busy",
        context=Task,
        states=[states[where]],
        transitions=[
            Transition("BUSY", "signal.failing", actions=answer),
            Transition("BUSY", "done.invoke.right", actions=note),
            Transition("BUSY", "done.invoke.left"),
        ],
        entry_points=["BUSY"],
        signals=FAILING,
    )
    async with opened(place, graph, shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        assert await noted(agent, 1) == [["done.invoke.right", {"result": None}]]
        assert shop.happened == [1, 3, 5, "answered", 2]


@pytest.mark.needs("takes_a_clock")
async def test_a_function_that_waits_for_the_answer_holds_no_place(place, clock):
    shop = Shop()

    async def call(context, work):
        orders = (1, 3, 5, 2) if work.agent_id == "a" else (2, 4)
        return [(await work.call("lookup", order=order)).ok for order in orders]

    async def answer(context, event, turn):
        shop.call("answering")
        await shop.open.wait()

    graph = watched(call, Transition("BUSY", "signal.failing", actions=answer))
    async with opened(place, graph, shop, clock, limits=Limits(invokes=1)) as runtime:
        first = await runtime.start("busy", at="BUSY", agent_id="a")
        await eventually(lambda: shop.calls["answering"] == 1)
        assert await noted(await runtime.start("busy", at="BUSY", agent_id="b"), 1)
        shop.open.set()
        assert await noted(first, 1) == [["done.invoke.f", {"result": [False] * 3 + [True]}]]


async def test_a_measure_that_an_invoke_hands_in_is_noticed_at_once(place, clock):
    async def doubt(context, work):
        await work.note("confidence", 0.2)
        work.services.call("goes on")

    graph = watched(doubt, Transition("BUSY", "signal.confidence", "HELPED", actions=note), signals=Confidence(0.5))
    services = Services()
    async with opened(place, graph, services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await agent.until("HELPED")
        assert [name for name, _ in agent.context.notes] == ["signal.confidence"]
    assert not services.calls["goes on"]


async def test_the_signals_of_an_entry_point_count_in_invokes_too(place, clock):
    async def call(context, work):
        return [(await work.call("lookup", order=order)).ok for order in (1, 3, 5)]

    graph = watched(call, Transition("HELPED", "BEGAN", "BUSY"), Transition("BUSY", "signal.failing", "HELPED"))
    async with opened(place, graph, Shop(), clock) as runtime:
        agent = await runtime.start("busy", at="HELPED")
        await agent.send("BEGAN")
        assert await noted(agent, 1) == [["done.invoke.f", {"result": [False] * 3}]]
        assert not agent.snapshot.trail.text


async def test_a_graph_without_signals_is_told_nothing(place, clock):
    async def call(context, work):
        await work.note("confidence", 0.1)
        await work.reasoned("look", "found")
        return (await work.call("lookup", order=2)).ok

    async with opened(place, watched(call, signals=()), Shop(), clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        assert await noted(agent, 1) == [["done.invoke.f", {"result": True}]]
        assert [each.event.name for each in await agent.history()] == ["agent.started.BUSY", "done.invoke.f"]


async def test_what_an_agent_is_told_after_the_state_was_left_is_on_its_trail(place, clock):
    async def call(context, work):
        await work.call("lookup", order=2)
        await work.services.open.wait()

    graph = watched(call, Transition("BUSY", "LEFT", "HELPED"))
    async with opened(place, graph, Shop(), clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await eventually(lambda: len(told(agent)) == 1)
        await agent.send("LEFT")
        assert [each.ok for each in told(agent)] == [True]


async def test_what_was_told_while_the_state_was_being_left_fires_nothing(place, clock):
    """Three calls that two functions have begun fail meanwhile."""

    async def leave(context, event, turn):
        shop.call("leaving")
        await shop.open.wait()

    @tool(policies=ToolPolicies(retry="off", breaker="off"))
    async def search(order: int) -> str:
        shop.happened.append(order)
        await asked.wait()
        raise LookupError(f"no order {order}")

    def calling(*orders):
        async def call(context, work):
            await asyncio.gather(*(work.call("search", order=order) for order in orders))
            shop.call("called")

        return call

    shop, answer, asked = Shop(), Transition("BUSY", "signal.failing", "OVER"), asyncio.Event()
    shop.tools = ToolBox([search])
    invokes = [Invoke(calling(1, 3), id="f"), Invoke(calling(5), id="g")]
    graph = StateTransitionGraph(
        "busy",
        context=Task,
        states=[State("BUSY", invoke=invokes), State("OVER", final=True)],
        transitions=[Transition("BUSY", "LEFT", "HELPED", actions=leave), answer],
        entry_points=["BUSY"],
        signals=FAILING,
    )
    async with opened(place, graph, shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await eventually(lambda: {*shop.happened} == {1, 3, 5})
        leaving = asyncio.ensure_future(agent.send("LEFT"))
        await eventually(lambda: shop.calls["leaving"] == 1)
        asked.set()
        await eventually(lambda: shop.calls["called"] == 2)
        shop.open.set()
        await leaving
        await eventually(lambda: [each.ok for each in told(agent)].count(False) == 3)
        assert agent.configuration == ("HELPED",)
        assert not [each.fired for each in await agent.history() if each.fired]


async def test_what_is_told_to_an_agent_that_has_ended_is_dropped_quietly(place, clock, caplog):
    async def call(context, work):
        await asyncio.gather(*(work.call("lookup", order=order) for order in range(1, 19, 2)))

    graph = watched(call, Transition("BUSY", "signal.failing", "OVER"))
    async with opened(place, graph, Shop(), clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await agent.until("OVER")
        for _ in range(3):  # what is still on its way is taken before these
            assert (await agent.send("MORE")).refusal is not None
        assert not await runtime.mail(agent.id)
    assert "mail was refused" not in caplog.text


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 10**400, "0.5", True, None])
async def test_what_is_no_finite_number_is_refused(place, clock, number):
    async def call(context, work):
        with pytest.raises(PayloadError, match="a finite number"):
            await work.note("confidence", number)
        with pytest.raises(PayloadError):
            await work.note("a\0", 0.5)
        with pytest.raises(PayloadError):
            await work.reasoned("a\0", "")
        return "refused"

    async with opened(place, watched(call), Shop(), clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        assert await noted(agent, 1) == [["done.invoke.f", {"result": "refused"}]]
        assert not told(agent, Noted)


async def test_the_same_call_again_and_again_is_noticed_in_the_midst_of_it(place, clock):
    async def call(context, work):
        for second in count():
            await work.call("lookup", order=2, at=str(second))

    shop, signals = Shop(), Signals(SameCall(3), ignore=["at"])
    graph = watched(call, Transition(ANY, "signal.same_call", "HELPED"), signals=signals)
    async with opened(place, graph, shop, clock) as runtime:
        await (await runtime.start("busy", at="BUSY")).until("HELPED")
    assert shop.happened == [2, 2, 2]


async def test_a_call_that_failed_after_all_its_attempts_is_one_failure(place, clock):
    async def call(context, work):
        for order in (1, 3):
            await work.call("lookup", order=order, call_id=f"c{order}")
        work.services.call("goes on")

    shop = Shop()
    tries = ToolPolicies(retry=Retry(attempts=3, first_s=0), breaker="off")

    @tool(policies=tries, repeat="safe")
    async def lookup(order: int) -> str:
        shop.happened.append(order)
        raise ConnectionError

    shop.tools = ToolBox([lookup])
    signals = [Signal(ToolFailures(2), "failing"), Signal(RetriesOver(3), "retries")]
    graph = watched(call, Transition(ANY, "signal.failing", "HELPED", actions=note), signals=signals)
    async with opened(place, graph, shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await agent.until("HELPED")
        [[event, payload]] = await noted(agent, 1)
        assert (event, payload["evidence"][0]["failures"]) == ("signal.failing", 2)
        assert [each["signal"] for each in payload["others"]] == ["retries"]
        assert [(each.ok, each.attempts) for each in told(agent)] == [(False, 3)] * 2
    assert shop.happened == [1, 1, 1, 3, 3, 3]
    assert not shop.calls["goes on"]


async def test_a_person_who_goes_on_talking_while_an_invoke_is_under_way_is_no_lack_of_progress(place, clock):
    async def think(context, work):
        await work.services.open.wait()

    services = Shop()
    graph = watched(think, Transition("BUSY", "TALKED", actions=note), signals=handing_on(turns=1, seconds=15))
    async with opened(place, graph, services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        for text in ("Are you there?", "Well?", "Hello?", "Please hurry"):
            await agent.send("TALKED", {"text": text})
        services.open.set()
        await noted(agent, 5)
        fired = [each.fired for each in await agent.history() if each.fired is not None]
        assert [(each.signal, each.evidence[0]["turns"]) for each in fired] == [("no_progress", 1)]
