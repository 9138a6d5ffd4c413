"""What leaves a trace, and what leaves none: refusals, failures of tasks, agents that were erased."""

import asyncio
import logging
from datetime import timedelta

import pytest

import gatechart
from gatechart import Invoke, Limits, Runtime, State, StateTransitionGraph
from gatechart.errors import ReadOnlyError
from gatechart.graph.definition import Then
from gatechart.stores import MemoryStore, open_store
from gatechart.testing import VirtualClock
from gatechart.values.homes import Role
from gatechart.values.mail import ActiveInvocation, Invocation
from tests.insides import core_of, effects_of
from tests.runtime.ledgers import Faults, ledger
from tests.runtime.support import WrappedStore, at_rest, parcel, soon

pytestmark = pytest.mark.sqlite_is_enough

HOUR = timedelta(hours=1)


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture
async def runtime(place, clock):
    async with Runtime.open(
        place, graphs=[ledger], clock=clock, services=Faults("it"), limits=Limits(inbox=1)
    ) as runtime:
        yield runtime


@pytest.fixture
async def untold():
    """What the event loop is told of that nobody else was."""
    told = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    return told


# Refusals


async def succeed(context, work):
    return "gold"


async def fail(context, work):
    raise ValueError("no gold")


def never(context, event):
    return False


deaf = StateTransitionGraph(
    "deaf",
    states=[
        State("WORKING", invoke=[Invoke(succeed, id="one"), Invoke(fail, id="other")]),
        State("WAITING", after={"5s": Then("LATE", guard=never)}),
    ],
    entry_points=["WORKING", "WAITING"],
)


@pytest.mark.needs("takes_a_clock")
async def test_what_a_state_gets_and_does_not_handle_is_told_to_who_looks_closely(place, clock, caplog):
    with caplog.at_level(logging.DEBUG, "gatechart"):
        async with Runtime.open(place, graphs=[deaf], clock=clock) as runtime:
            await runtime.start("deaf", at="WORKING", agent_id="a")
            await runtime.start("deaf", at="WAITING", agent_id="b")
            await at_rest(runtime, clock)
            clock.advance(5)
            await at_rest(runtime, clock)
            assert await runtime.mail() == []
    told = [each for each in caplog.records if each.getMessage().startswith("mail of a state was refused")]
    assert {each.levelno for each in told} == {logging.DEBUG}
    assert sorted((each.agent_id, each.event, each.reason.partition(";")[0]) for each in told) == [
        ("a", "done.invoke.one", "no transition in WORKING"),
        ("a", "error.invoke.other", "no transition in WORKING"),
        ("b", "after.5s.WAITING", "guards said no (never) in WAITING"),
    ]
    assert all(f"{each.event} of agent {each.agent_id}, graph deaf: {each.reason}" in each.message for each in told)


@pytest.mark.needs("takes_a_clock")
async def test_what_a_turn_sends_under_the_id_of_something_else_is_listed_as_refused(runtime, clock):
    one, other = [await runtime.start("ledger", at="OPEN", agent_id=each) for each in "ab"]
    for name in ("NOTED", "NOTED", "COUNTED"):
        await one.send("PASSED_ON", {"to": [["b", name]], "id": "1"})
        await at_rest(runtime, clock)
    assert other.context.notes == ["NOTED of a"]
    [refused] = await runtime.mail(status="refused")
    assert (refused.recipient, refused.sender, refused.event, refused.id) == ("b", "a", "COUNTED", "1")
    assert "knows the id '1' from 'NOTED' with other content" in refused.reason


@pytest.mark.needs("takes_a_clock")
async def test_what_a_turn_sends_under_the_id_of_what_is_due_later_is_refused_and_holds_nothing_up(runtime, clock):
    one, other = [await runtime.start("ledger", at="OPEN", agent_id=each) for each in "ab"]
    await runtime.post("b", "NOTED", {"n": "later"}, event_id="1", due=clock.at + HOUR)
    await one.send("PASSED_ON", {"to": [["b", "TRIED"]], "id": "1"})
    await soon(other.send("NOTED", {"n": "behind"}))
    [refused] = await runtime.mail(status="refused")
    assert (refused.event, refused.attempts) == ("TRIED", 0)
    clock.advance(3600)
    await at_rest(runtime, clock)
    assert other.context.notes == ["behind", "later"]


# Failures of tasks


async def burst():
    raise RuntimeError("the string broke \ud800")


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_what_a_task_raises_for_which_nobody_waits_is_logged_once(runtime, untold, caplog):
    core_of(runtime).spawn(burst(), "pull a string")
    for _ in range(3):
        await asyncio.sleep(0)
    [record] = caplog.records
    assert (record.levelno, record.purpose) == (logging.ERROR, "pull a string")
    assert "RuntimeError: the string broke ?" in record.getMessage()
    assert record.getMessage().encode()
    assert untold == []


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_what_a_task_raises_for_which_somebody_waits_is_left_to_them(runtime, untold, caplog):
    with pytest.raises(RuntimeError, match="the string broke"):
        await core_of(runtime).spawn(burst())
    assert (caplog.records, untold) == ([], [])


async def test_graphs_that_cannot_be_remembered_leave_a_trace(clock, untold, caplog):
    class Slipping(WrappedStore):
        async def remember(self, graphs):
            if "parcel" in {graph.name for graph in graphs}:
                raise TypeError("a slip")

    async with Runtime.open(Slipping(MemoryStore()), graphs=[ledger], clock=clock) as runtime:
        runtime.register(parcel)
        await at_rest(runtime, clock)
    [record] = caplog.records
    assert (record.levelno, record.purpose) == (logging.ERROR, "remember the graphs")
    assert untold == []


# Agents that were erased


@pytest.mark.needs("takes_a_clock")
async def test_of_an_erased_agent_no_mail_stays_in_memory_that_is_due_later(runtime, clock):
    agent = await runtime.start("ledger", at="OPEN", agent_id="a")
    await runtime.post("a", "NOTED", due=clock.at + HOUR)
    await agent.send("SET", {"timers": [[60, "soon", "k"]]})
    await at_rest(runtime, clock)
    assert clock.sleeping == 1
    await runtime.erase("a")
    await at_rest(runtime, clock)
    assert clock.sleeping == 0
    agent = await runtime.start("ledger", at="OPEN", agent_id="a")
    clock.advance(3600)
    await at_rest(runtime, clock)
    assert agent.snapshot.version == 1


@pytest.mark.needs("takes_a_clock")
async def test_an_erased_agent_that_could_not_be_hosted_leaves_no_mail_behind(place, clock):
    async with Runtime.open(place, graphs=[ledger], clock=clock) as runtime:
        await runtime.start("ledger", at="OPEN", agent_id="a")
    async with Runtime.open(place, graphs=[parcel], clock=clock, limits=Limits(inbox=1)) as runtime:
        await runtime.post("a", "NOTED", {"n": "lost"})
        await at_rest(runtime, clock)
        await runtime.erase("a")
        await at_rest(runtime, clock)
        assert not effects_of(runtime).inboxes._slots.unhosted()
        await runtime.post("a", "STAMPED", {"at": "kept"})
        agent = await runtime.start("parcel", at="PACKING", agent_id="a")
        await at_rest(runtime, clock)
        assert agent.context.stops == ["entered", "kept"]


@pytest.mark.needs("takes_a_clock")
async def test_mail_that_is_collected_while_its_recipient_is_erased_is_not_delivered(place, clock):
    async with Runtime.open(place, graphs=[ledger], clock=clock) as runtime:
        await runtime.start("ledger", at="OPEN", agent_id="a")
        await runtime.post("a", "NOTED", due=clock.at + HOUR)
    reached, going_on = asyncio.Event(), asyncio.Event()

    class Slow(WrappedStore):
        async def mail(self, query):
            found = await self.store.mail(query)
            if not reached.is_set():
                reached.set()
                await going_on.wait()
            return found

    async with (
        open_store(place) as store,
        Runtime.open(Slow(store), graphs=[ledger], clock=clock, role=Role.VISITOR) as runtime,
    ):
        collecting = asyncio.create_task(runtime.resume("a"))
        await soon(reached.wait())
        await soon(runtime.erase("a"))
        going_on.set()
        await soon(collecting)
        assert clock.sleeping == 0


class Watched(str):
    """An id that counts how often any is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other):
        Watched.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


async def test_what_one_agent_invokes_is_ended_without_looking_at_that_of_the_others(clock):
    async with Runtime.open(MemoryStore(), graphs=[ledger], clock=clock) as runtime:
        calls = effects_of(runtime).invokes
        ids = [Watched(f"a-{n}") for n in range(1000)]
        for each in ids:
            calls.begin(ActiveInvocation(Invocation(each, "DIGGING", 1, "it"), "digging", "1", "{}"))
        Watched.compared = 0
        calls.end(ids[500])
        assert Watched.compared < 20
        assert set(calls.unhosted) == {*ids[:500], *ids[501:]}


# Runtimes that only read


@pytest.mark.parametrize(
    ("name", "instead"), [("changes", "read the history of its agents"), ("stream", "watch where the owner runs")]
)
async def test_who_would_wait_for_ever_beside_the_owner_is_told_what_to_do_instead(sqlite_url, name, instead):
    async with Runtime.open(sqlite_url, graphs=[ledger]) as runtime:
        await runtime.start("ledger", at="OPEN", agent_id="a")
    async with Runtime.open(sqlite_url, graphs=[ledger], role=Role.READER) as runtime:
        with pytest.raises(ReadOnlyError, match=f"open it for writing, or {instead}"):
            async with runtime.changes() if name == "changes" else runtime.stream("a", "it"):
                pass


@pytest.mark.needs("watches_changes")
async def test_the_type_of_what_is_watched_can_be_named(runtime):
    async with runtime.changes() as changes, runtime.stream("unborn", "it") as stream:
        assert isinstance(changes, gatechart.runtime.Subscription)
        assert isinstance(stream, gatechart.runtime.Subscription)


# An invoke that goes on


async def test_an_invoke_that_is_under_way_is_not_begun_once_more(clock):
    begun = []

    async def dig(context, work):
        begun.append(work.agent_id)
        await asyncio.Event().wait()

    graph = StateTransitionGraph(
        "digging", states=[State("DIGGING", invoke=Invoke(dig, id="it"))], entry_points=["DIGGING"]
    )
    async with open_store("memory:") as store, Runtime.open(store, graphs=[graph], clock=clock) as runtime:
        await runtime.start("digging", at="DIGGING", agent_id="a")
        [(_, running)] = await store.running(after=0, limit=9)
        effects_of(runtime).invokes.begin(running)
        for _ in range(5):
            await asyncio.sleep(0)
        assert begun == ["a"]
