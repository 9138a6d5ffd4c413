"""Invokes: what states have under way outside turns; begun after the commit, ended by the exit, recovered."""

import asyncio
import logging
import math
import threading
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TypedDict

import pytest
from pydantic import BaseModel, model_validator

from gatechart import ANY, AgentContext, Runtime, State, StateTransitionGraph, Step, Transition
from gatechart.errors import (
    FeedLaggedError,
    InsideTurnError,
    InvocationOverError,
    ReadOnlyContextError,
    RuntimeClosedError,
    UndeclaredInvokeError,
)
from gatechart.graph.definition import Invoke
from gatechart.hosting.limits import Limits
from gatechart.stores.memory import MemoryStore
from gatechart.testing import VirtualClock
from gatechart.values.delays import Retry
from tests.insides import effects_of
from tests.runtime.busy_agents import Services, Task, busy, note, noted, opened
from tests.runtime.support import Parcel, UntoldError, at_rest, eventually, soon
from tests.runtime.support import note as note_stop


def running_invokes(runtime):
    """The tasks of the invokes that a runtime runs, by agent."""
    return effects_of(runtime).invokes._tasks


pytestmark = pytest.mark.sqlite_is_enough

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock():
    return VirtualClock(NOON)


@pytest.fixture
def services():
    return Services()


async def search(context, work):
    return {"found": context.query, "call": work.services.call("search")}


async def wait(context, work):
    work.services.call("wait")
    await work.services.open.wait()
    return "waited"


async def stubborn(context, work):
    """Ignores that it is cancelled, until a test lets it end."""
    work.services.call("stubborn")
    while not work.services.open.is_set():
        try:
            await work.services.open.wait()
        except asyncio.CancelledError:
            work.services.calls["ignored"] += 1
    return "ended after all"


# Begun, and what comes of it


@pytest.mark.needs("takes_a_clock")
async def test_an_invoke_runs_and_its_result_comes_back_as_an_event(place, clock, services):
    async with opened(place, busy(Invoke(search)), services, clock) as runtime:
        agent = await runtime.start("busy", at="IDLE")
        await agent.send("BEGAN", {"query": "blue shoes"})
        result = {"found": "blue shoes", "call": "search 1"}
        assert await noted(agent, 1) == [["done.invoke.search", {"result": result}]]
        [entry] = await agent.history(after=2)
        assert (entry.event.name, entry.event.time, entry.event.sender) == ("done.invoke.search", NOON, None)
        assert await runtime.mail() == []


async def test_an_invoke_begins_after_the_commit_that_entered_its_state(place, clock, services):
    async def look(context, work):
        stored = await work.services.runtime.history(work.agent_id)
        work.services.seen.append([entry.version for entry in stored])

    async with opened(place, busy(Invoke(look)), services, clock) as runtime:
        services.runtime = runtime
        await runtime.start("busy", at="BUSY")
        await eventually(lambda: services.seen)
        assert services.seen == [[1]]


async def test_other_events_go_on_while_an_invoke_runs(place, clock, services):
    async with opened(place, busy(Invoke(wait)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        for version in range(2, 6):
            assert (await soon(agent.send("CHANGED"))).version == version
        services.open.set()
        assert await noted(agent, 1) == [["done.invoke.wait", {"result": "waited"}]]
        assert services.calls["wait"] == 1


@pytest.mark.needs("takes_a_clock")
async def test_a_turn_that_is_undone_begins_no_invoke(place, clock, services):
    def fail(context, event):
        raise RuntimeError("no")

    graph = StateTransitionGraph(
        "failing",
        states=["IDLE", State("BUSY", on_entry=fail, invoke=search)],
        transitions=[Transition("IDLE", "BEGAN", "BUSY")],
        entry_points=["IDLE"],
    )
    async with opened(place, graph, services, clock) as runtime:
        agent = await runtime.start("failing", at="IDLE")
        await asyncio.gather(agent.send("BEGAN"), return_exceptions=True)
        await at_rest(runtime, clock)
        assert services.calls.total() == 0


async def test_an_exception_comes_back_as_an_event_with_what_is_known_of_it(place, clock, services):
    services.fails["search"] = 1
    async with opened(place, busy(Invoke(search)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [[name, payload]] = await noted(agent, 1)
        assert name == "error.invoke.search"
        assert (payload["type"], payload["message"]) == ("LookupError", "search is not there")
        assert payload["attempts"] == 1
        assert "in search\n" in payload["traceback"]
        assert payload["traceback"].endswith("LookupError: search is not there\n")


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize(
    "raised", [KeyError("x\0y"), ValueError("\udcff"), RuntimeError(), asyncio.CancelledError(), TimeoutError("late")]
)
async def test_whatever_an_invoke_raises_is_told(place, clock, services, raised):
    async def fail(context, work):
        raise raised

    for timeout_s in (None, 5):
        services = Services()
        graph = busy(Invoke(fail, timeout_s=timeout_s), version=str(timeout_s))
        async with opened(place, graph, services, clock) as runtime:
            agent = await runtime.start("busy", at="BUSY")
            [[name, payload]] = await noted(agent, 1)
            assert name == "error.invoke.fail"
            assert payload["attempts"] == 1
            assert type(raised).__name__ in payload["traceback"]


@pytest.mark.parametrize("result", [object(), {1: object()}, b"\xff" * 3 and {"x": {1, object()}}])
async def test_a_result_that_is_no_json_is_an_error(place, clock, services, result):
    async def give(context, work):
        return result

    async with opened(place, busy(Invoke(give)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [[name, payload]] = await noted(agent, 1)
        assert (name, payload["type"]) == ("error.invoke.give", "PayloadError")


async def test_progress_comes_back_as_events_before_the_end(place, clock, services):
    async def advance(context, work):
        await work.progress({"percent": 50})
        await work.progress()
        return 7

    async with opened(place, busy(Invoke(advance)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        assert await noted(agent, 3) == [
            ["progress.invoke.advance", {"percent": 50}],
            ["progress.invoke.advance", {}],
            ["done.invoke.advance", {"result": 7}],
        ]


@pytest.mark.needs("takes_a_clock")
async def test_reports_that_a_state_does_not_take_are_forgotten(place, clock, services):
    async def advance(context, work):
        await work.progress({"percent": 50})

    graph = StateTransitionGraph("deaf", states=[State("BUSY", invoke=advance)], entry_points=["BUSY"])
    async with opened(place, graph, services, clock) as runtime:
        agent = await runtime.start("deaf", at="BUSY")
        await at_rest(runtime, clock)
        await at_rest(runtime, clock)
        assert (await runtime.mail(), agent.snapshot.version) == ([], 1)


async def test_a_plain_function_may_be_invoked(place, clock, services):
    def plain(context, work):
        return context.query

    async with opened(place, busy(Invoke(plain)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        assert await noted(agent, 1) == [["done.invoke.plain", {"result": "red shoes"}]]


async def test_a_state_may_have_several_invokes_under_way(place, clock, services):
    invokes = [Invoke(search), Invoke(wait), Invoke(search, id="second")]
    async with opened(place, busy(*invokes), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        assert sorted(name for name, _ in await noted(agent, 2)) == ["done.invoke.search", "done.invoke.second"]
        services.open.set()
        assert (await noted(agent, 3))[-1][0] == "done.invoke.wait"


async def test_the_context_is_that_of_the_commit_that_entered_the_state_and_cannot_be_changed(place, clock, services):
    async def look(context, work):
        work.services.call("look")
        await work.services.open.wait()
        for change in (lambda: setattr(context, "query", "x"), lambda: context.notes.append("x")):
            try:
                change()
            except Exception as error:
                work.services.seen.append(type(error).__name__)
        return context.query

    async with opened(place, busy(Invoke(look)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY", agent_id="b-1")
        await eventually(lambda: services.calls["look"] == 1)
        await agent.send("CHANGED")
    async with opened(place, busy(Invoke(look)), services, clock) as runtime:
        agent = await runtime.resume("b-1")
        services.open.set()
        assert await noted(agent, 1) == [["done.invoke.look", {"result": "red shoes"}]]
        assert agent.context.query == "changed"
        assert services.seen


async def test_an_invoke_may_call_its_runtime(place, clock, services):
    async def call(context, work):
        await work.services.runtime.post("somebody", "TOLD")
        return (await (await work.services.runtime.resume(work.agent_id)).send("CHANGED")).version

    async with opened(place, busy(Invoke(call)), services, clock) as runtime:
        services.runtime = runtime
        agent = await runtime.start("busy", at="BUSY")
        assert await noted(agent, 1) == [["done.invoke.call", {"result": 2}]]


# Leaving


@pytest.mark.needs("takes_a_clock")
async def test_leaving_the_state_cancels_its_invoke(place, clock, services):
    async def told(context, work):
        try:
            await wait(context, work)
        except asyncio.CancelledError:
            work.services.seen.append("cancelled")
            raise

    async with opened(place, busy(Invoke(told)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await eventually(lambda: services.calls["wait"] == 1)
        await agent.send("LEFT")
        await eventually(lambda: services.seen == ["cancelled"])
        await at_rest(runtime, clock)
        assert (agent.context.notes, runtime.pending_work, running_invokes(runtime)) == ([], 0, {})


@pytest.mark.needs("takes_a_clock")
async def test_an_invoke_whose_state_is_left_before_it_began_leaves_nothing_behind(place, clock, services):
    async with opened(place, busy(Invoke(wait)), services, clock) as runtime:
        agent = await runtime.start("busy", at="IDLE")
        for _ in range(5):
            await asyncio.gather(agent.send("BEGAN"), agent.send("LEFT"))
        await at_rest(runtime, clock)
        assert (runtime.pending_work, running_invokes(runtime), agent.context.notes) == (0, {}, [])


@pytest.mark.needs("takes_a_clock")
async def test_a_result_that_comes_after_the_state_was_left_is_discarded(place, clock, services):
    async with opened(place, busy(Invoke(stubborn)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await eventually(lambda: services.calls["stubborn"] == 1)
        assert (await soon(agent.send("LEFT"))).applied
        await eventually(lambda: services.calls["ignored"] == 1)
        services.open.set()
        await at_rest(runtime, clock)
        await agent.send("BEGAN")
        assert await noted(agent, 1) == [["done.invoke.stubborn", {"result": "ended after all"}]]
        await at_rest(runtime, clock)
        assert len(agent.context.notes) == 1
        assert await runtime.mail() == []


@pytest.mark.needs("takes_a_clock")
async def test_a_result_that_waits_behind_the_event_that_leaves_the_state_is_discarded(place, clock, services):
    gate = asyncio.Event()

    async def hold(context, event):
        await gate.wait()

    graph = StateTransitionGraph(
        "racing",
        context=Task,
        states=["IDLE", State("BUSY", invoke=wait)],
        transitions=[
            Transition("BUSY", "HELD", actions=hold),
            Transition("BUSY", "LEFT", "IDLE"),
            Transition("BUSY", "AGAIN", "BUSY"),
            Transition(ANY, "done.invoke.wait", actions=note),
        ],
        entry_points=["BUSY"],
    )
    async with opened(place, graph, services, clock) as runtime:
        for event, notes in [("LEFT", 0), ("AGAIN", 1)]:
            gate.clear()
            services.open.clear()
            agent = await runtime.start("racing", at="BUSY", agent_id=event)
            await eventually(lambda: services.calls["wait"])
            services.calls.clear()
            held = asyncio.ensure_future(agent.send("HELD"))
            leaving = asyncio.ensure_future(agent.send(event))
            await asyncio.sleep(0)
            services.open.set()
            await eventually(lambda: not running_invokes(runtime))
            gate.set()
            await soon(asyncio.gather(held, leaving))
            await at_rest(runtime, clock)
            await at_rest(runtime, clock)
            assert len(agent.context.notes) == notes
            assert await runtime.mail() == []


async def test_entering_a_state_again_is_another_invocation(place, clock, services):
    async def keyed(context, work):
        work.services.seen.append(work.idempotency_key("charge"))
        await work.step("charge", work.services.call, "charge")
        await work.services.open.wait()
        return "done"

    async with opened(place, busy(Invoke(keyed)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await eventually(lambda: services.calls["charge"] == 1)
        await agent.send("AGAIN")
        await eventually(lambda: services.calls["charge"] == 2)
        services.open.set()
        assert await noted(agent, 1) == [["done.invoke.keyed", {"result": "done"}]]
        assert len(set(services.seen)) == 2


@pytest.mark.needs("takes_a_clock")
async def test_what_an_invoke_does_after_its_state_was_left_is_refused(place, clock, services):
    async def go_on(context, work):
        await stubborn(context, work)
        for call in (lambda: work.step("late", work.services.call, "late"), work.progress):
            try:
                await call()
            except InvocationOverError as error:
                work.services.seen.append(str(error))

    async with opened(place, busy(Invoke(go_on)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await eventually(lambda: services.calls["stubborn"] == 1)
        await agent.send("LEFT")
        await eventually(lambda: services.calls["ignored"] == 1)
        services.open.set()
        await eventually(lambda: len(services.seen) == 2)
        assert all("has left 'BUSY', which invoked 'go_on'" in text for text in services.seen)
        await at_rest(runtime, clock)
        assert (await runtime.mail(), agent.context.notes) == ([], [])


@pytest.mark.needs("takes_a_clock")
async def test_an_invoke_that_makes_an_error_of_its_cancellation_is_not_tried_again(place, clock, services):
    async def convert(context, work):
        work.services.call("convert")
        try:
            await work.services.open.wait()
        except asyncio.CancelledError:
            raise LookupError("cancelled") from None

    graph = busy(Invoke(convert, retry=Retry(attempts=5, first_s=1)))
    async with opened(place, graph, services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await eventually(lambda: services.calls["convert"] == 1)
        await agent.send("LEFT")
        for _ in range(3):
            await at_rest(runtime, clock)
            clock.advance(100)
        assert (services.calls["convert"], runtime.pending_work) == (1, 0)


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("end", ["stop", "erase"])
async def test_invokes_end_with_their_agent(place, clock, services, end):
    async with opened(place, busy(Invoke(wait)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await eventually(lambda: services.calls["wait"] == 1)
        await getattr(runtime, end)(agent.id)
        await at_rest(runtime, clock)
        assert runtime.pending_work == 0
    async with opened(place, busy(Invoke(wait)), services, clock) as runtime:
        await at_rest(runtime, clock)
        assert (services.calls["wait"], runtime.pending_work) == (1, 0)


async def test_an_invoke_that_ignores_its_cancellation_does_not_hold_up_the_close(place, clock, services):
    async with opened(place, busy(Invoke(stubborn)), services, clock, limits=Limits(close_s=0.01)) as runtime:
        await runtime.start("busy", at="BUSY", agent_id="b-1")
        await eventually(lambda: services.calls["stubborn"] == 1)
    services.open.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    async with opened(place, busy(Invoke(search, id="stubborn")), services, clock) as runtime:
        agent = await runtime.resume("b-1")
        [[name, _]] = await noted(agent, 1)
        assert name == "done.invoke.stubborn"


@pytest.mark.parametrize("timeout_s", [None, 60])
async def test_what_an_invoke_makes_of_the_close_of_its_runtime_is_not_its_result(place, clock, services, timeout_s):
    async def give_in(context, work):
        work.services.call("give_in")
        try:
            await work.services.open.wait()
        except asyncio.CancelledError:
            return "gave in"
        return "done"

    graph = busy(Invoke(give_in, timeout_s=timeout_s))
    async with opened(place, graph, services, clock) as runtime:
        await runtime.start("busy", at="BUSY", agent_id="b-1")
        await eventually(lambda: services.calls["give_in"] == 1)
    services.open.set()
    async with opened(place, graph, services, clock) as runtime:
        agent = await runtime.resume("b-1")
        assert await noted(agent, 1) == [["done.invoke.give_in", {"result": "done"}]]
        assert services.calls["give_in"] == 2


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_a_state_entered_while_the_runtime_closes_has_its_invoke_begun_by_the_next(place, clock, services):
    gate, held = asyncio.Event(), asyncio.Event()

    async def hold(context, event):
        held.set()
        await gate.wait()

    graph = StateTransitionGraph(
        "closing",
        context=Task,
        states=["IDLE", State("BUSY", invoke=wait)],
        transitions=[
            Transition("IDLE", "BEGAN", "BUSY", actions=hold),
            Transition("BUSY", "done.invoke.wait", actions=note),
        ],
        entry_points=["IDLE"],
    )
    async with opened(place, graph, services, clock, limits=Limits(close_s=3)) as runtime:
        agent = await runtime.start("closing", at="IDLE", agent_id="c-1")
        sending = asyncio.ensure_future(agent.send("BEGAN"))
        await held.wait()
        closing = asyncio.get_running_loop().time()
        asyncio.get_running_loop().call_soon(gate.set)
    assert asyncio.get_running_loop().time() - closing < 2.5
    assert (await soon(sending)).applied
    assert services.calls["wait"] == 0
    services.open.set()
    async with opened(place, graph, services, clock) as runtime:
        assert len(await noted(await runtime.resume("c-1"), 1)) == 1


# Recovery and steps


class NotesReads(MemoryStore):
    """Notes whose recorded steps are read."""

    def __init__(self):
        super().__init__()
        self.read = []

    async def steps(self, invocation):
        self.read.append(invocation)
        return await super().steps(invocation)


async def test_steps_are_read_only_for_an_invocation_that_may_have_some(clock, services):
    services.fails["two"] = 1

    async def steps(context, work):
        one = await work.step("one", work.services.call, "one")
        return [one, work.services.call("two")]

    store, again = NotesReads(), Retry(attempts=2, first_s=0.0)
    async with Runtime.open(store, graphs=busy(Invoke(steps, retry=again)), services=services, clock=clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        assert await noted(agent, 1) == [["done.invoke.steps", {"result": ["one 1", "two 2"]}]]
    assert (store.read, services.calls) == ([], {"one": 1, "two": 2})
    async with Runtime.open(store, graphs=busy(Invoke(wait)), services=services, clock=clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await eventually(lambda: services.calls["wait"] == 1)
    async with Runtime.open(store, graphs=busy(Invoke(wait)), services=services, clock=clock):
        await eventually(lambda: services.calls["wait"] == 2)
        assert [each.agent_id for each in store.read] == [agent.id]  # which an earlier runtime began


class Found(BaseModel):
    price: float
    day: date


@dataclass
class Place:
    shelf: int
    name: str = "A"


@pytest.mark.needs("takes_a_clock")
async def test_recovery_begins_an_invoke_again_and_recorded_steps_are_not_done_again(place, clock, services):
    async def steps(context, work):
        work.services.call("steps")
        one = await work.step("one", work.services.call, "one")
        two = await work.step("two", work.services.call, "two")
        work.services.seen.append((one, two, work.idempotency_key("one"), work.idempotency_key("two")))
        await work.services.open.wait()
        return [one, two, await work.step("three", work.services.call, "three")]

    for opening in range(1, 4):
        async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
            if opening == 1:
                await runtime.start("busy", at="BUSY", agent_id="b-1")
            await eventually(lambda count=opening: len(services.seen) == count)
    services.open.set()
    async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
        agent = await runtime.resume("b-1")
        result = ["one 1", "two 1", "three 1"]
        assert await noted(agent, 1) == [["done.invoke.steps", {"result": result}]]
    assert dict(services.calls) == {"steps": 4, "one": 1, "two": 1, "three": 1}
    assert len(set(services.seen)) == 1
    assert services.seen[0][2] != services.seen[0][3]
    async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
        await at_rest(runtime, clock)
        assert services.calls["steps"] == 4


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_a_result_that_was_committed_and_not_applied_is_applied_by_the_next_runtime(place, clock, services):
    gate, held = asyncio.Event(), asyncio.Event()

    async def hold(context, event):
        held.set()
        await gate.wait()

    graph = StateTransitionGraph(
        "holding",
        context=Task,
        states=[State("BUSY", invoke=wait)],
        transitions=[
            Transition("BUSY", "HELD", actions=hold),
            Transition("BUSY", "done.invoke.wait", actions=note),
        ],
        entry_points=["BUSY"],
    )
    async with opened(place, graph, services, clock) as runtime:
        agent = await runtime.start("holding", at="BUSY", agent_id="h-1")
        held_send = asyncio.ensure_future(agent.send("HELD"))
        await held.wait()
        services.open.set()
        await eventually(lambda: not running_invokes(runtime))
        asyncio.get_running_loop().call_soon(gate.set)
    await soon(held_send)
    async with opened(place, graph, services, clock) as runtime:
        agent = await runtime.resume("h-1")
        assert await noted(agent, 1) == [["done.invoke.wait", {"result": "waited"}]]
    assert services.calls["wait"] == 1


STEPS = {
    "model": (lambda: Found(price=1.5, day=date(2030, 1, 2)), Found),
    "models": (lambda: [Found(price=2, day=date(2030, 1, 2))], list[Found]),
    "dataclass": (lambda: Place(3, "B"), Place),
    "json": (lambda: {"a": [1, 2.5, None, True, "ü\0"], "b": {"c": {}}}, None),
    "none": (lambda: None, None),
    "text": (lambda: "x" * 100_000, str),
    "moment": (lambda: NOON, datetime),
    "tuple": (lambda: (1, "a"), tuple[int, str]),
    "typed dict of the standard library": (lambda: {"n": 1}, TypedDict("Counted", {"n": int})),
}


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("annotated", [True, False])
async def test_the_result_of_a_step_comes_back_as_what_it_was(place, clock, services, kind, annotated):
    make, returns = STEPS[kind]

    async def produce():
        services.call("produce")
        return make()

    if annotated and returns is not None:
        produce.__annotations__["return"] = returns

    async def steps(context, work):
        more = {} if annotated or returns is None else {"returns": returns}
        work.services.seen.append(await work.step(Step("produce", **more), produce))
        await work.services.open.wait()

    for times in (1, 2):
        async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
            if not services.seen:
                await runtime.start("busy", at="BUSY")
            await eventually(lambda count=times: len(services.seen) == count)
    assert services.seen == [make(), make()]
    assert services.calls["produce"] == 1


async def test_a_plain_function_is_a_step_too_in_a_thread_of_its_own(place, clock, services):
    import threading

    def thread() -> int:
        return threading.get_ident()

    async def steps(context, work):
        return await work.step("thread", thread) != threading.get_ident()

    async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        assert await noted(agent, 1) == [["done.invoke.steps", {"result": True}]]


async def test_all_keywords_of_a_step_are_those_of_its_function(place, clock, services):
    async def tool(*names: str, **options: int) -> dict[str, int]:
        return dict.fromkeys(names, 0) | options

    async def steps(context, work):
        return await work.step("tool", tool, "here", retry=1, returns=2, name=3, step=4, function=5, self=6)

    async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        result = {"here": 0, "retry": 1, "returns": 2, "name": 3, "step": 4, "function": 5, "self": 6}
        assert await noted(agent, 1) == [["done.invoke.steps", {"result": result}]]


async def test_a_step_name_that_is_used_twice_is_an_error(place, clock, services):
    async def steps(context, work):
        for _ in range(2):
            await work.step("same", work.services.call, "same")

    async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [[name, payload]] = await noted(agent, 1)
        assert (name, payload["type"]) == ("error.invoke.steps", "StepRepeatedError")
        assert services.calls["same"] == 1


@pytest.mark.parametrize(("result", "returns"), [(object(), None), ("x", int), ({1, object()}, None)])
async def test_a_step_result_that_cannot_be_kept_is_an_error(place, clock, services, result, returns):
    async def produce():
        return result

    async def steps(context, work):
        await work.step(Step("produce", returns=returns), produce)

    async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [[name, payload]] = await noted(agent, 1)
        assert (name, payload["type"]) == ("error.invoke.steps", "StepResultError")
        assert "'produce'" in payload["message"]


class Reading(BaseModel):
    value: float | None = None


@dataclass
class Pair:
    left: float | None


@pytest.mark.parametrize(
    ("result", "returns", "odd"),
    [
        (math.nan, None, "it"),
        (math.inf, float, "it"),
        ([1.0, {"a": (math.nan, None)}], None, "1.a.0"),
        (Reading(value=math.nan), None, "value"),
        (Reading(value=-math.inf), Reading, "value"),
        ([Pair(math.nan)], list[Pair], "0.left"),
    ],
)
async def test_a_step_result_that_would_come_back_as_something_else_is_an_error(
    place, clock, services, result, returns, odd
):
    async def produce():
        return result

    async def steps(context, work):
        await work.step(Step("produce", returns=returns), produce)

    async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [[name, payload]] = await noted(agent, 1)
        assert (name, payload["type"]) == ("error.invoke.steps", "StepResultError")
        assert f"{odd} is " in payload["message"]


async def test_what_an_invoke_returns_is_told_as_it_is_or_is_an_error(place, clock, services):
    async def measure(context, work):
        return {"readings": [1.5, math.nan]}

    async with opened(place, busy(Invoke(measure)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [[name, payload]] = await noted(agent, 1)
        assert (name, payload["type"]) == ("error.invoke.measure", "PayloadError")
        assert "result.readings.1 is nan, and JSON has no such number" in payload["message"]


@pytest.mark.needs("takes_a_clock")
async def test_a_step_that_fails_is_tried_again_and_recorded_once_it_succeeds(place, clock, services):
    services.fails["flaky"] = 2

    async def steps(context, work):
        result = await work.step(
            Step("flaky", retry=Retry(attempts=3, first_s=10, factor=2)), work.services.call, "flaky"
        )
        work.services.seen.append(work.now)
        return result

    async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        for wait_s in (10, 20):
            await eventually(lambda wait_s=wait_s: clock.next_due == clock.now() + timedelta(seconds=wait_s))
            clock.advance(wait_s)
        assert await noted(agent, 1) == [["done.invoke.steps", {"result": "flaky 3"}]]
        assert services.seen == [NOON + timedelta(seconds=30)]


async def test_a_step_that_fails_to_the_last_passes_on_what_it_raised(place, clock, services):
    services.fails["flaky"] = 9

    async def steps(context, work):
        await work.step(Step("flaky", retry=Retry(attempts=2, first_s=0)), work.services.call, "flaky")

    async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [[name, payload]] = await noted(agent, 1)
        assert (name, payload["type"], services.calls["flaky"]) == ("error.invoke.steps", "LookupError", 2)


# Retry and timeout


@pytest.mark.needs("takes_a_clock")
async def test_an_invoke_that_fails_is_tried_again_with_its_steps_kept(place, clock, services):
    services.fails["flaky"] = 2

    async def steps(context, work):
        await work.step("once", work.services.call, "once")
        return work.services.call("flaky")

    graph = busy(Invoke(steps, retry=Retry(attempts=3, first_s=10, factor=3)))
    async with opened(place, graph, services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        for wait_s in (10, 30):
            await eventually(lambda wait_s=wait_s: clock.next_due == clock.now() + timedelta(seconds=wait_s))
            clock.advance(wait_s)
        assert await noted(agent, 1) == [["done.invoke.steps", {"result": "flaky 3"}]]
        assert services.calls["once"] == 1


async def test_an_invoke_that_fails_to_the_last_tells_how_often_it_was_tried(place, clock, services):
    services.fails["search"] = 9
    graph = busy(Invoke(search, retry=Retry(attempts=3, first_s=0)))
    async with opened(place, graph, services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [[name, payload]] = await noted(agent, 1)
        assert (name, payload["attempts"]) == ("error.invoke.search", 3)


@pytest.mark.needs("takes_a_clock")
async def test_leaving_the_state_ends_the_wait_for_another_attempt(place, clock, services):
    services.fails["search"] = 1
    graph = busy(Invoke(search, retry=Retry(attempts=3, first_s=10)))
    async with opened(place, graph, services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await eventually(lambda: clock.next_due is not None)
        await agent.send("LEFT")
        clock.advance(100)
        await at_rest(runtime, clock)
        assert (services.calls["search"], clock.sleeping) == (1, 0)


@pytest.mark.needs("takes_a_clock")
async def test_an_invoke_that_takes_too_long_by_the_clock_fails(place, clock, services):
    async with opened(place, busy(Invoke(wait, timeout_s=30)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await eventually(lambda: clock.next_due == NOON + timedelta(seconds=30))
        clock.advance(29.9)
        await agent.send("CHANGED")
        assert agent.context.notes == []
        clock.advance(0.1)
        [[name, payload]] = await noted(agent, 1)
        assert (name, payload["type"], payload["attempts"]) == ("error.invoke.wait", "TimeoutError", 1)
        await at_rest(runtime, clock)
        assert clock.sleeping == 0


@pytest.mark.needs("takes_a_clock")
async def test_an_invoke_that_ends_in_time_leaves_no_timeout_behind(place, clock, services):
    async with opened(place, busy(Invoke(search, timeout_s=30)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [[name, _]] = await noted(agent, 1)
        assert name == "done.invoke.search"
        await eventually(lambda: clock.sleeping == 0)


@pytest.mark.needs("takes_a_clock")
async def test_each_attempt_has_the_whole_timeout(place, clock, services):
    graph = busy(Invoke(wait, timeout_s=30, retry=Retry(attempts=2, first_s=5)))
    async with opened(place, graph, services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        for due in (30, 35, 65):
            await eventually(lambda due=due: clock.next_due == NOON + timedelta(seconds=due))
            clock.at = NOON + timedelta(seconds=due)
        [[name, payload]] = await noted(agent, 1)
        assert (name, payload["attempts"], services.calls["wait"]) == ("error.invoke.wait", 2, 2)


@pytest.mark.needs("takes_a_clock")
async def test_an_invoke_that_ignores_its_timeout_has_failed_all_the_same(place, clock, services):
    async with opened(place, busy(Invoke(stubborn, timeout_s=30)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await eventually(lambda: clock.next_due is not None)
        clock.advance(30)
        [[name, _]] = await noted(agent, 1)
        assert name == "error.invoke.stubborn"
        services.open.set()
        await at_rest(runtime, clock)
        assert len(agent.context.notes) == 1


# Bounds, keys, services


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_no_more_invokes_run_at_once_than_the_limits_allow(place, clock, services):
    together = Counter()

    async def count(context, work):
        together["now"] += 1
        together["most"] = max(together["most"], together["now"])
        await work.services.open.wait()
        work.services.call("count")
        together["now"] -= 1

    async with opened(place, busy(Invoke(count)), services, clock, limits=Limits(invokes=2)) as runtime:
        agents = [await runtime.start("busy", at="BUSY") for _ in range(9)]
        await eventually(lambda: together["now"] == 2)
        services.open.set()
        for agent in agents:
            await noted(agent, 1)
    assert (together["most"], services.calls["count"]) == (2, 9)


@pytest.mark.needs("takes_a_clock")
async def test_an_invoke_that_waits_for_its_turn_can_be_left(place, clock, services):
    async with opened(place, busy(Invoke(wait)), services, clock, limits=Limits(invokes=1)) as runtime:
        first, second = [await runtime.start("busy", at="BUSY") for _ in range(2)]
        await eventually(lambda: services.calls["wait"] == 1)
        await second.send("LEFT")
        services.open.set()
        await noted(first, 1)
        await at_rest(runtime, clock)
        assert (services.calls["wait"], second.context.notes) == (1, [])


@pytest.mark.needs("takes_a_clock")
async def test_an_invoke_that_waits_for_another_attempt_lets_others_run(place, clock, services):
    services.fails["search"] = 1
    graph = busy(Invoke(search, retry=Retry(attempts=2, first_s=10)))
    async with opened(place, graph, services, clock, limits=Limits(invokes=1)) as runtime:
        first, second = [await runtime.start("busy", at="BUSY") for _ in range(2)]
        await noted(second, 1)
        assert first.context.notes == []
        clock.advance(10)
        await noted(first, 1)


async def test_idempotency_keys_differ_by_agent_entry_invoke_and_name(place, clock, services):
    async def keys(context, work):
        for name in ("a", "b"):
            work.services.seen.append(work.idempotency_key(name))
            assert work.idempotency_key(name) == work.services.seen[-1]

    async with opened(place, busy(Invoke(keys), Invoke(keys, id="other")), services, clock) as runtime:
        agents = [await runtime.start("busy", at="BUSY") for _ in range(2)]
        for agent in agents:
            await noted(agent, 2)
        await agents[0].send("AGAIN")
        await noted(agents[0], 4)
    assert len(services.seen) == len(set(services.seen)) == 12
    assert all(len(key) == 36 for key in services.seen)


async def test_actions_and_invokes_find_the_services_of_the_runtime(place, clock):
    @dataclass(frozen=True)
    class Shop:
        name: str

    async def look(context, work):
        return work.services.name

    def greet(context, event, turn):
        context.notes.append(["greeted", turn.services.name])

    graph = StateTransitionGraph(
        "shop",
        context=Task,
        states=[State("BUSY", on_entry=greet, invoke=look)],
        transitions=[Transition("BUSY", "done.invoke.look", actions=note)],
        entry_points=["BUSY"],
    )
    async with Runtime.open(place, graphs=graph, services=Shop("corner"), clock=clock) as runtime:
        agent = await runtime.start("shop", at="BUSY")
        assert await noted(agent, 2) == [["greeted", "corner"], ["done.invoke.look", {"result": "corner"}]]


@pytest.mark.needs("takes_a_clock")
async def test_an_invoke_of_a_graph_that_is_not_registered_waits_for_it(place, clock, services):
    graph = busy(Invoke(wait))
    async with opened(place, graph, services, clock) as runtime:
        for agent_id in ("b-1", "b-2"):
            await runtime.start("busy", at="BUSY", agent_id=agent_id)
        await eventually(lambda: services.calls["wait"] == 2)
    services.open.set()
    other = StateTransitionGraph("other", states=["A"], entry_points=["A"])
    async with opened(place, other, services, clock) as runtime:
        await at_rest(runtime, clock)
        assert services.calls["wait"] == 2
        await runtime.erase("b-2")
        runtime.register(graph)
        assert len(await noted(await runtime.resume("b-1"), 1)) == 1
        assert services.calls["wait"] == 3


async def test_an_invoke_that_its_graph_no_longer_declares_ends_in_an_error(place, clock, services, caplog):
    async with opened(place, busy(Invoke(wait)), services, clock) as runtime:
        await runtime.start("busy", at="BUSY", agent_id="b-1")
        await eventually(lambda: services.calls["wait"] == 1)
    changed = StateTransitionGraph(
        "busy",
        context=Task,
        states=["BUSY"],
        transitions=[Transition("BUSY", "error.invoke.wait", actions=note)],
        entry_points=["BUSY"],
    )
    with caplog.at_level(logging.WARNING):
        async with opened(place, changed, services, clock) as runtime:
            agent = await runtime.resume("b-1")
            [[_, payload]] = await noted(agent, 1)
            assert payload["type"] == "UnknownInvokeError"


# Streams


async def speak(context, work):
    await work.services.open.wait()
    for word in ("once", "upon", "a", "time"):
        work.publish(word)
        await asyncio.sleep(0)
    return "told"


@pytest.mark.needs("watches_changes")
async def test_what_an_invoke_publishes_is_seen_by_those_who_watch_and_not_kept(place, clock, services):
    async with opened(place, busy(Invoke(speak)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        async with runtime.stream(agent.id, "speak") as one, runtime.stream(agent.id, "speak") as two:
            services.open.set()
            for stream in (one, two):
                assert [word async for word in stream] == ["once", "upon", "a", "time"]
        assert await noted(agent, 1) == [["done.invoke.speak", {"result": "told"}]]
        assert len(await agent.history()) == 2


@pytest.mark.needs("watches_changes")
async def test_a_stream_ends_when_the_state_is_left(place, clock, services):
    async with opened(place, busy(Invoke(speak)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        async with runtime.stream(agent.id, "speak") as stream:
            await agent.send("LEFT")
            assert [word async for word in stream] == []


@pytest.mark.needs("watches_changes")
async def test_a_stream_goes_on_with_the_next_attempt(place, clock, services):
    async def stammer(context, work):
        await work.services.open.wait()
        work.publish("so")
        return work.services.call("stammer")

    services.fails["stammer"] = 2
    graph = busy(Invoke(stammer, retry=Retry(attempts=3, first_s=0)))
    async with opened(place, graph, services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        async with runtime.stream(agent.id, "stammer") as stream:
            services.open.set()
            assert [word async for word in stream] == ["so", "so", "so"]


@pytest.mark.needs("watches_changes")
async def test_who_watches_a_stream_too_slowly_is_told_what_was_lost(place, clock, services):
    async with opened(place, busy(Invoke(speak)), services, clock, limits=Limits(feed=2)) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        async with runtime.stream(agent.id, "speak") as stream:
            services.open.set()
            await noted(agent, 1)
            with pytest.raises(FeedLaggedError, match="2 items were lost"):
                await anext(stream)
            assert [word async for word in stream] == ["a", "time"]


@pytest.mark.needs("watches_changes")
async def test_a_stream_may_be_watched_before_its_agent_exists(place, clock, services):
    services.open.set()
    async with (
        opened(place, busy(Invoke(speak)), services, clock) as runtime,
        runtime.stream("b-1", "speak") as stream,
    ):
        await runtime.start("busy", at="BUSY", agent_id="b-1")
        assert [word async for word in stream] == ["once", "upon", "a", "time"]


@pytest.mark.needs("watches_changes")
async def test_a_stream_of_an_invoke_that_the_graph_has_not_is_refused(place, clock, services):
    async with opened(place, busy(Invoke(speak)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        with pytest.raises(UndeclaredInvokeError, match=r"'busy' has no invoke 'speek'.*did you mean 'speak'"):
            async with runtime.stream(agent.id, "speek"):
                pass
        assert not effects_of(runtime).invokes.streams.watched


@pytest.mark.needs("watches_changes")
async def test_the_plain_function_of_a_step_publishes_from_its_thread(place, clock, services):
    async def read_aloud(context, work):
        await work.services.open.wait()

        def read():
            for word in ("once", "upon"):
                work.publish(word)
            return threading.get_ident()

        assert await work.step("read", read) != threading.get_ident()
        work.publish("a time")

    async with opened(place, busy(Invoke(read_aloud)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        async with runtime.stream(agent.id, "read_aloud") as stream:
            services.open.set()
            assert [await soon(anext(stream)) for _ in range(3)] == ["once", "upon", "a time"]


@pytest.mark.needs("watches_changes")
@pytest.mark.parametrize("watched", ["b-1", "nobody"])
async def test_who_watches_a_stream_is_told_that_the_runtime_closes(place, clock, services, watched):
    async def watch():
        async with runtime.stream(watched, "speak") as stream:
            return [word async for word in stream]

    async with opened(place, busy(Invoke(speak)), services, clock) as runtime:
        await runtime.start("busy", at="BUSY", agent_id="b-1")
        watching = asyncio.ensure_future(watch())
        await eventually(lambda: effects_of(runtime).invokes.streams.watched)
    with pytest.raises(RuntimeClosedError, match="stream"):
        await soon(watching)


@pytest.mark.needs("watches_changes")
async def test_a_stream_cannot_be_watched_inside_a_turn(place, clock, services):
    async def watch(context, event, turn):
        async with turn.services.runtime.stream(turn.agent_id, "speak"):
            pass

    graph = StateTransitionGraph(
        "watching", states=["A"], transitions=[Transition("A", "WATCHED", actions=watch)], entry_points=["A"]
    )
    async with opened(place, graph, services, clock) as runtime:
        services.runtime = runtime
        agent = await runtime.start("watching", at="A")
        [error] = await asyncio.gather(agent.send("WATCHED"), return_exceptions=True)
        assert isinstance(error.__cause__, InsideTurnError)


async def fail(context, work):
    raise ValueError("the string broke")


async def fail_untold(context, work):
    raise UntoldError


def working(invoke):
    """Agents that note how their invoke ended."""
    return StateTransitionGraph(
        "working",
        context=Parcel,
        states=[State("WORKING", invoke=Invoke(invoke, id="it"))],
        transitions=[
            Transition("WORKING", "done.invoke.it", "DONE", actions=note_stop),
            Transition("WORKING", "error.invoke.it", "FAILED", actions=note_stop),
        ],
        entry_points=["WORKING"],
    )


class Doubled(AgentContext):
    number: int = 1
    double: int = 0
    noted: str = ""

    @model_validator(mode="after")
    def _double(self):
        self.double = 2 * self.number
        return self


async def test_an_invoke_reads_a_context_whose_validator_sets_a_field_and_cannot_set_one(place, clock):
    async def read(context, work):
        with pytest.raises(ReadOnlyContextError):
            context.number = 5
        return f"{context.number} {context.double}"

    def take(context, event):
        context.noted = event.payload["result"]

    graph = StateTransitionGraph(
        "doubling",
        context=Doubled,
        states=[State("READING", invoke=Invoke(read))],
        transitions=[Transition("READING", "done.invoke.read", "READ", actions=take)],
        entry_points=["READING"],
    )
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        agent = await runtime.start("doubling", at="READING")
        await soon(agent.until("READ"))
        assert agent.context.noted == "1 2"


async def test_an_invoke_that_fails_is_logged_with_its_agent(place, clock, caplog):
    with caplog.at_level(logging.WARNING):
        async with Runtime.open(place, graphs=[working(fail)], clock=clock) as runtime:
            agent = await runtime.start("working", at="WORKING", agent_id="a")
            await soon(agent.until("FAILED"))
    (record,) = caplog.records
    assert (record.agent_id, record.invoke, record.attempts) == ("a", "it", 1)
    assert record.message.startswith("an invoke failed: it in WORKING of agent a, graph working, attempt 1: Traceback")
    assert "ValueError: the string broke" in record.message


@pytest.mark.needs("takes_a_clock")
async def test_an_invoke_that_fails_again_is_logged_in_a_line_with_the_count(place, clock, services, caplog):
    services.fails["search"] = 3

    async def search(context, work):
        return work.services.call("search")

    graph = busy(Invoke(search, retry=Retry(attempts=3, first_s=10, factor=1)))
    async with opened(place, graph, services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY", agent_id="a")
        for _ in range(2):
            await eventually(lambda: clock.next_due == clock.now() + timedelta(seconds=10))
            clock.advance(10)
        await noted(agent, 1)
    first, *repeated = [each.getMessage() for each in caplog.records if each.name.endswith("invoke_attempts")]
    assert "Traceback" in first
    known = "an invoke failed: search in BUSY of agent a, graph busy, attempt"
    assert [each.startswith(f"{known} {n}: LookupError: ") for n, each in enumerate(repeated, 2)] == [True, True]
    assert not any("\n" in each for each in repeated)


async def test_an_invoke_fails_by_an_exception_that_cannot_say_what_it_is_about(place, clock):
    async with Runtime.open(place, graphs=[working(fail_untold)], clock=clock) as runtime:
        agent = await runtime.start("working", at="WORKING")
        await soon(agent.until("FAILED"))
        payload = (await agent.history())[-1].event.payload
        assert (payload["type"], payload["message"]) == ("UntoldError", "")
