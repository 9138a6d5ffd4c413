"""Timers: kept with their deadlines, dropped with their state or by their key, fired in the order due."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from gatechart import ANY, Migration, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import ActionFailedError, StoreBusyError
from gatechart.graph.definition import Then
from gatechart.hosting.limits import Limits
from gatechart.stores import open_store
from gatechart.testing import VirtualClock
from gatechart.values.homes import Role
from tests.insides import effects_of
from tests.runtime.ledgers import Faults, Ledger, ledger, note
from tests.runtime.support import WrappedStore, at_rest, eventually, parcel, soon, waiting

pytestmark = pytest.mark.sqlite_is_enough

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)

kettle = StateTransitionGraph(
    "kettle",
    context=Ledger,
    states=[
        "COLD",
        State("HEATING", after={"60s": "HOT", "10s": Then(actions=note), "30s": Then(actions=note)}),
        State("HOT", after={"30s": "COLD"}),
        State("BOILED", final=True),
    ],
    transitions=[
        Transition("COLD", "SWITCHED", "HEATING"),
        Transition("HEATING", "SWITCHED", "COLD"),
        Transition("HEATING", "AGAIN", "HEATING"),
        Transition("HEATING", "WHISTLED", "BOILED"),
        Transition(ANY, "NOTED", actions=note),
    ],
    entry_points=["COLD", "HEATING"],
)


@pytest.fixture
def clock():
    return VirtualClock(NOON)


@pytest.fixture
def faults():
    return Faults()


@pytest.fixture
async def kitchen(place, clock, faults):
    async with Runtime.open(place, graphs=[kettle, ledger], clock=clock, services=faults) as runtime:
        yield runtime


async def seconds(agent, after=0):
    """When the turns of an agent were, in seconds after noon."""
    return [(entry.event.time - NOON).total_seconds() for entry in await agent.history(after=after)]


async def pending(runtime, agent):
    return [mail.event for mail in await runtime.mail(agent.id)]


async def until_noted(agent, notes):
    await eventually(lambda: agent.context.notes == notes)


# Of states


@pytest.mark.needs("takes_a_clock")
async def test_the_timers_of_a_state_fire_when_they_are_due(kitchen, clock):
    agent = await kitchen.start("kettle", at="HEATING")
    for due, leaf in [(10, "HEATING"), (30, "HEATING"), (60, "HOT"), (90, "COLD")]:
        clock.at = NOON + timedelta(seconds=due)
        await at_rest(kitchen, clock)
        assert agent.configuration == (leaf,)
    assert agent.context.notes == ["after.10s.HEATING", "after.30s.HEATING"]
    assert await seconds(agent) == [0, 10, 30, 60, 90]
    assert await pending(kitchen, agent) == []
    assert clock.sleeping == 0


@pytest.mark.needs("takes_a_clock")
async def test_a_timer_fires_once(kitchen, clock):
    agent = await kitchen.start("kettle", at="HEATING")
    clock.advance(10)
    for _ in range(5):
        await at_rest(kitchen, clock)
        clock.advance(0)
    await agent.send("NOTED", {"n": "end"})
    assert agent.context.notes == ["after.10s.HEATING", "end"]


@pytest.mark.needs("takes_a_clock")
async def test_leaving_a_state_drops_its_timers(kitchen, clock):
    agent = await kitchen.start("kettle", at="HEATING")
    assert len(await pending(kitchen, agent)) == 3
    await agent.send("SWITCHED")
    assert await pending(kitchen, agent) == []
    clock.advance(3600)
    await at_rest(kitchen, clock)
    assert (agent.configuration, agent.snapshot.version, clock.sleeping) == (("COLD",), 2, 0)


@pytest.mark.needs("takes_a_clock")
async def test_entering_a_state_again_begins_its_timers_anew(kitchen, clock):
    agent = await kitchen.start("kettle", at="HEATING")
    clock.advance(9)
    await agent.send("AGAIN")
    assert dict(agent.snapshot.entered) == {"HEATING": 2}
    clock.advance(9)
    await at_rest(kitchen, clock)
    assert agent.context.notes == []
    clock.advance(1)
    await until_noted(agent, ["after.10s.HEATING"])
    assert {mail.epoch for mail in await kitchen.mail(agent.id)} == {2}
    clock.advance(50)
    await soon(agent.until("HOT"))
    assert await seconds(agent) == [0, 9, 19, 69, 69]


@pytest.mark.needs("takes_a_clock")
async def test_a_timer_due_at_the_instant_at_which_its_state_is_left_before_it_is_dropped(kitchen, clock):
    agent = await kitchen.start("kettle", at="HEATING")
    await asyncio.sleep(0)
    sending = asyncio.ensure_future(agent.send("SWITCHED"))
    await asyncio.sleep(0)
    clock.advance(10)
    await soon(sending)
    await at_rest(kitchen, clock)
    await agent.send("NOTED", {"n": "end"})
    assert agent.context.notes in (["end"], ["after.10s.HEATING", "end"])
    assert agent.configuration == ("COLD",)
    assert await kitchen.mail() == []


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("first", ["leave", "timer"])
async def test_of_a_timer_and_an_event_that_leaves_its_state_the_first_in_the_queue_decides(place, clock, first):
    gate = asyncio.Event()

    async def wait(context, event):
        await gate.wait()

    graph = StateTransitionGraph(
        "racing",
        context=Ledger,
        states=[State("RACING", after={"10s": Then(actions=note)})],
        transitions=[
            Transition("RACING", "HELD", actions=wait),
            Transition("RACING", "LEFT", "ELSEWHERE"),
            Transition("RACING", "AGAIN", "RACING"),
            Transition(ANY, "NOTED", actions=note),
        ],
        entry_points=["RACING"],
    )
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        for n, event in enumerate(["LEFT", "AGAIN"]):
            gate.clear()
            agent = await runtime.start("racing", at="RACING", agent_id=f"r-{n}")
            await eventually(lambda: clock.next_due is not None)
            held = asyncio.ensure_future(agent.send("HELD"))
            await asyncio.sleep(0)
            clock.advance(1)
            if first == "leave":
                leaving = asyncio.ensure_future(agent.send(event))
                await asyncio.sleep(0)
            clock.advance(9)
            for _ in range(5):
                await asyncio.sleep(0)
            if first == "timer":
                leaving = asyncio.ensure_future(agent.send(event))
                await asyncio.sleep(0)
            gate.set()
            await soon(asyncio.gather(held, leaving))
            await agent.send("NOTED", {"n": "end"})
            assert agent.context.notes == (["end"] if first == "leave" else ["after.10s.RACING", "end"])
            left = [(mail.event, mail.epoch) for mail in await runtime.mail(agent.id)]
            assert left == ([] if event == "LEFT" else [("after.10s.RACING", agent.snapshot.version - 1)])
            await runtime.erase(agent.id)


@pytest.mark.needs("takes_a_clock")
async def test_a_timer_that_fails_is_tried_again_as_all_mail(place, clock):
    def fail_at_first(context, event, turn):
        turn.services.check("timer")
        note(context, event)

    graph = StateTransitionGraph(
        "failing",
        context=Ledger,
        states=[State("WAITING", after={"10s": Then(actions=fail_at_first)})],
        entry_points=["WAITING"],
    )
    faults = Faults("timer")
    async with Runtime.open(place, graphs=[graph], clock=clock, services=faults) as runtime:
        agent = await runtime.start("failing", at="WAITING")
        clock.advance(10)
        await eventually(lambda: faults.tried["timer"] == 1)
        await at_rest(runtime, clock)
        [mail] = await runtime.mail(agent.id)
        assert (mail.attempts, mail.state) == (1, "WAITING")
        faults.broken.clear()
        clock.advance(1)
        await until_noted(agent, ["after.10s.WAITING"])


@pytest.mark.needs("takes_a_clock")
async def test_a_timer_that_its_state_refuses_is_forgotten(place, clock):
    graph = StateTransitionGraph(
        "refusing",
        context=Ledger,
        states=[State("WAITING", after={"10s": Then("ELSEWHERE", guard=lambda context, event: False)})],
        transitions=[Transition(ANY, "NOTED", actions=note)],
        entry_points=["WAITING"],
    )
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        agent = await runtime.start("refusing", at="WAITING")
        clock.advance(10)
        await at_rest(runtime, clock)
        await agent.send("NOTED")
        await at_rest(runtime, clock)
        assert (await runtime.mail(), agent.snapshot.version) == ([], 2)


# Across runtimes


@pytest.mark.needs("takes_a_clock")
async def test_deadlines_are_kept_not_durations(place, clock):
    async with Runtime.open(place, graphs=[kettle], clock=clock) as runtime:
        await runtime.start("kettle", at="HEATING", agent_id="k-1")
        clock.advance(4)
    clock.advance(5)
    async with Runtime.open(place, graphs=[kettle], clock=clock) as runtime:
        agent = await runtime.resume("k-1")
        await eventually(lambda: clock.next_due == NOON + timedelta(seconds=10))
        clock.advance(1)
        await until_noted(agent, ["after.10s.HEATING"])
        assert await seconds(agent) == [0, 10]


@pytest.mark.needs("takes_a_clock")
async def test_overdue_timers_fire_at_once_in_due_order_when_a_runtime_opens(place, clock):
    random = Random(4)
    delays = random.sample(range(1, 1000), 40)
    async with Runtime.open(place, graphs=[kettle, ledger], clock=clock) as runtime:
        await runtime.start("kettle", at="HEATING", agent_id="k-1")
        one = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        await one.send("SET", {"timers": [[delay, str(delay), None] for delay in delays]})
    clock.advance(500)
    async with Runtime.open(place, graphs=[kettle, ledger], clock=clock) as runtime:
        kept, one = await runtime.resume("k-1"), await runtime.resume("l-1")
        await soon(kept.until("HOT"))
        assert kept.context.notes == ["after.10s.HEATING", "after.30s.HEATING"]
        overdue = sorted(delay for delay in delays if delay <= 500)
        await until_noted(one, [*map(str, overdue)])
        assert await seconds(kept) == [0, 500, 500, 500]
        clock.advance(500)
        await until_noted(one, [*map(str, sorted(delays))])
        assert await runtime.mail() == []


@pytest.mark.needs("takes_a_clock")
async def test_a_timer_that_was_dropped_is_not_there_after_a_restart(place, clock):
    async with Runtime.open(place, graphs=[kettle], clock=clock) as runtime:
        agent = await runtime.start("kettle", at="HEATING", agent_id="k-1")
        await agent.send("SWITCHED")
    clock.advance(3600)
    async with Runtime.open(place, graphs=[kettle], clock=clock) as runtime:
        await at_rest(runtime, clock)
        assert (await runtime.resume("k-1")).snapshot.version == 2


# Of keys


@pytest.mark.needs("takes_a_clock")
async def test_a_timer_with_a_key_outlives_states(kitchen, clock):
    agent = await kitchen.start("ledger", at="OPEN")
    await agent.send("SET", {"timers": [[10, "rang", "k"]]})
    await agent.send("MOVED")
    clock.advance(10)
    await until_noted(agent, ["rang"])
    assert agent.configuration == ("ELSEWHERE",)


@pytest.mark.needs("takes_a_clock")
async def test_a_timer_that_is_cancelled_does_not_fire(kitchen, clock):
    agent = await kitchen.start("ledger", at="OPEN")
    await agent.send("SET", {"timers": [[10, "a", "a"], [10, "b", "b"], [10, "c", None]]})
    await agent.send("CANCELLED", {"key": "a"})
    await agent.send("CANCELLED", {"key": "unknown"})
    clock.advance(10)
    await at_rest(kitchen, clock)
    await agent.send("NOTED", {"n": "end"})
    assert agent.context.notes == ["CANCELLED", "CANCELLED", "b", "c", "end"]
    assert await kitchen.mail() == []


@pytest.mark.needs("takes_a_clock")
async def test_a_timer_gives_way_to_another_of_its_key(kitchen, clock):
    agent = await kitchen.start("ledger", at="OPEN")
    await agent.send("SET", {"timers": [[10, "first", "k"], [5, "other", "x"]]})
    await agent.send("SET", {"timers": [[20, "second", "k"]]})
    assert len(await kitchen.mail(agent.id)) == 2
    for _ in range(4):
        clock.advance(5)
        await at_rest(kitchen, clock)
    await agent.send("NOTED", {"n": "end"})
    assert agent.context.notes == ["other", "second", "end"]


@pytest.mark.needs("takes_a_clock")
async def test_of_two_timers_of_one_key_in_one_turn_the_last_stands(kitchen, clock):
    agent = await kitchen.start("ledger", at="OPEN")
    await agent.send("SET", {"timers": [[10, "first", "k"], [20, "second", "k"]]})
    clock.advance(20)
    await at_rest(kitchen, clock)
    await agent.send("NOTED", {"n": "end"})
    assert agent.context.notes == ["second", "end"]


@pytest.mark.needs("takes_a_clock")
async def test_a_timer_set_and_cancelled_in_one_turn_never_was(place, clock):
    def set_and_cancel(context, event, turn):
        turn.after(10, "RANG", key="k")
        turn.cancel("k")
        made_up = turn.after(10, "RANG")
        turn.cancel(made_up)
        turn.after("5s", "RANG", {"n": "kept"})

    graph = StateTransitionGraph(
        "setting",
        context=Ledger,
        states=["SETTING"],
        transitions=[Transition("SETTING", "SET", actions=set_and_cancel), Transition(ANY, "RANG", actions=note)],
        entry_points=["SETTING"],
    )
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        agent = await runtime.start("setting", at="SETTING")
        await agent.send("SET")
        assert len(await runtime.mail(agent.id)) == 1
        clock.advance(10)
        await until_noted(agent, ["kept"])


@pytest.mark.needs("takes_a_clock")
async def test_a_timer_that_is_cancelled_while_it_waits_behind_other_mail_does_not_fire(kitchen, clock, faults):
    agent = await kitchen.start("ledger", at="OPEN", agent_id="l-1")
    faults.broken.add("a")
    await agent.send("SET", {"timers": [[10, "rang", "k"]]})
    await kitchen.post("l-1", "TRIED", {"n": "a"})
    await kitchen.post("l-1", "CANCELLED", {"key": "k"})
    await at_rest(kitchen, clock)
    faults.broken.clear()
    clock.advance(10)  # the timer is due, the mail before it is tried again
    await agent.send("NOTED", {"n": "end"})
    assert agent.context.notes == ["a", "CANCELLED", "end"]
    assert await kitchen.mail() == []


@pytest.mark.needs("takes_a_clock")
async def test_a_timer_may_set_itself_anew(place, clock):
    def tick(context, event, turn):
        note(context, event)
        turn.after(10, "TICKED", key="tick")

    graph = StateTransitionGraph(
        "ticking",
        context=Ledger,
        states=["TICKING"],
        transitions=[Transition("TICKING", "TICKED", actions=tick)],
        entry_points=["TICKING"],
    )
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        agent = await runtime.start("ticking", at="TICKING")
        await agent.send("TICKED")
        for ticks in range(2, 6):
            clock.advance(10)
            await until_noted(agent, ["TICKED"] * ticks)
            assert len(await runtime.mail()) == 1
        assert await seconds(agent, after=1) == [0, 10, 20, 30, 40]


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("end", ["ENDED", "stop", "erase"])
async def test_timers_end_with_their_agent(kitchen, clock, end):
    agent = await kitchen.start("ledger", at="OPEN", agent_id="l-1")
    heating = await kitchen.start("kettle", at="HEATING", agent_id="k-1")
    await agent.send("SET", {"timers": [[10, "rang", "k"], [20, "rang", None]]})
    if end == "ENDED":
        await agent.send("ENDED")
        await heating.send("WHISTLED")
    else:
        for each in (agent, heating):
            await getattr(kitchen, end)(each.id)
    assert await kitchen.mail() == []
    clock.advance(3600)
    await at_rest(kitchen, clock)
    assert (clock.sleeping, await kitchen.mail()) == (0, [])


@pytest.mark.needs("takes_a_clock")
async def test_a_timer_that_no_state_takes_is_refused_mail(kitchen, clock):
    agent = await kitchen.start("ledger", at="OPEN")
    await agent.send("SET", {"timers": [[10, "rang", "k"]]})
    await agent.send("ENDED")
    again = await kitchen.start("kettle", at="COLD", agent_id="k-1")
    await kitchen.post("k-1", "RANG", due=NOON + timedelta(seconds=10))
    clock.advance(10)
    await at_rest(kitchen, clock)
    await again.send("NOTED")
    assert [(mail.event, mail.status.value) for mail in await kitchen.mail()] == [("RANG", "refused")]


# Delays and what cannot be


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize(
    "wrong",
    [
        lambda turn: turn.after("soon", "RANG"),
        lambda turn: turn.after(-1, "RANG"),
        lambda turn: turn.after(1, ""),
        lambda turn: turn.after(1, "RANG", key="a\0b"),
        lambda turn: turn.after(1, "RANG", {"n": object()}),
        lambda turn: turn.send("", "RANG"),
        lambda turn: turn.send("a\0b", "RANG"),
        lambda turn: turn.send("x", ""),
        lambda turn: turn.send("x", "RANG", event_id=""),
        lambda turn: turn.send("x", "RANG", due=datetime(2030, 1, 1)),  # noqa: DTZ001
        lambda turn: turn.raise_event(""),
    ],
)
async def test_what_cannot_be_asked_of_a_turn_undoes_it(place, clock, wrong):
    graph = StateTransitionGraph(
        "asking",
        states=["ASKING"],
        transitions=[Transition("ASKING", "ASKED", actions=lambda context, event, turn: wrong(turn))],
        entry_points=["ASKING"],
    )
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        agent = await runtime.start("asking", at="ASKING")
        with pytest.raises(ActionFailedError):
            await agent.send("ASKED")
        assert (agent.snapshot.version, await runtime.mail()) == (1, [])


async def test_a_timer_of_no_delay_fires_at_once_in_a_turn_of_its_own(kitchen, clock):
    agent = await kitchen.start("ledger", at="OPEN")
    await agent.send("SET", {"timers": [[0, "a", None], [0, "b", None]]})
    await agent.send("NOTED", {"n": "end"})
    assert agent.context.notes == ["a", "b", "end"]
    assert agent.snapshot.version == 5


# Many


def timers_in_memory(runtime):
    """The timers that a runtime has read from its store, by their numbers."""
    return effects_of(runtime).timers._mail


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
@pytest.mark.parametrize("reopened", [False, True])
async def test_of_many_timers_only_those_due_first_are_in_memory_and_all_fire_in_order(place, clock, reopened):
    random, limits = Random(7), Limits(timers=10)
    due = [random.randrange(1, 2000) for _ in range(200)]
    async with Runtime.open(place, graphs=[ledger], clock=clock, limits=limits) as runtime:
        agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
        for part in range(0, 200, 50):
            await agent.send("SET", {"timers": [[each, str(each), None] for each in due[part : part + 50]]})
            assert len(timers_in_memory(runtime)) <= 20
        if not reopened:
            await fire_all(runtime, clock, agent, due)
    if reopened:
        async with Runtime.open(place, graphs=[ledger], clock=clock, limits=limits) as runtime:
            await fire_all(runtime, clock, await runtime.resume("l-1"), due)


async def fire_all(runtime, clock, agent, due):
    random = Random(8)
    while clock.now() < NOON + timedelta(seconds=2000):
        clock.advance(random.choice([1, 10, 200]))
        await at_rest(runtime, clock)
        assert len(timers_in_memory(runtime)) <= 20
        shown = (clock.now() - NOON).total_seconds()
        await until_noted(agent, [str(each) for each in sorted(due) if each <= shown])
    assert (await runtime.mail(), effects_of(runtime).timers._keys) == ([], [])


@pytest.mark.needs("takes_a_clock")
async def test_timers_set_and_cancelled_while_others_fire_are_neither_lost_nor_doubled(place, clock):
    random, limits = Random(11), Limits(timers=5)
    async with Runtime.open(place, graphs=[ledger], clock=clock, limits=limits) as runtime:
        agents = [await runtime.start("ledger", at="OPEN", agent_id=f"l-{n}") for n in range(5)]
        due = {agent.id: {} for agent in agents}
        fired = {agent.id: [] for agent in agents}
        for turn in range(120):
            agent = random.choice(agents)
            shown = (clock.now() - NOON).total_seconds()
            if random.random() < 0.8:
                made = [(random.randrange(1, 100), f"{turn}-{n}") for n in range(random.randrange(1, 5))]
                await agent.send("SET", {"timers": [[delay, name, name] for delay, name in made]})
                due[agent.id] |= {name: shown + delay for delay, name in made}
            elif due[agent.id]:
                name = random.choice(list(due[agent.id]))
                del due[agent.id][name]
                await agent.send("CANCELLED", {"key": name, "n": f"cancelled {name}"})
            clock.advance(random.randrange(4))
            await at_rest(runtime, clock)
            shown = (clock.now() - NOON).total_seconds()
            for each in agents:
                over = sorted((at, name) for name, at in due[each.id].items() if at <= shown)
                fired[each.id] += [name for _, name in over]
                for _, name in over:
                    del due[each.id][name]
        clock.advance(1000)
        await at_rest(runtime, clock)
        for agent in agents:
            fired[agent.id] += [name for _, name in sorted((at, name) for name, at in due[agent.id].items())]
            await agent.send("NOTED", {"n": "end"})
            notes = [each for each in agent.context.notes if not each.startswith("cancelled")]
            assert sorted(notes) == sorted([*fired[agent.id], "end"])
        assert await runtime.mail() == []


# Clocks that jump, stores that fail


@pytest.mark.needs("takes_a_clock")
async def test_a_clock_that_jumps_ahead_fires_all_that_it_passed(kitchen, clock):
    agent = await kitchen.start("kettle", at="HEATING")
    await eventually(lambda: clock.next_due is not None)
    clock.advance(3600)
    await soon(agent.until("HOT"))
    assert await seconds(agent) == [0, 3600, 3600, 3600]
    clock.advance(30)
    await soon(agent.until("COLD"))


@pytest.mark.needs("takes_a_clock")
async def test_a_clock_that_jumps_back_fires_nothing_twice_and_nothing_early(kitchen, clock):
    agent = await kitchen.start("kettle", at="HEATING")
    clock.advance(10)
    await until_noted(agent, ["after.10s.HEATING"])
    clock.advance(-3600)
    await at_rest(kitchen, clock)
    assert agent.context.notes == ["after.10s.HEATING"]
    clock.advance(3600 + 19)
    await at_rest(kitchen, clock)
    assert agent.context.notes == ["after.10s.HEATING"]
    clock.advance(1)
    await until_noted(agent, ["after.10s.HEATING", "after.30s.HEATING"])


@pytest.mark.needs("takes_a_clock")
async def test_timers_beyond_a_store_that_cannot_be_read_for_a_while_fire_all_the_same(place, clock):
    async with open_store(place) as opened:
        store = BlindStore(opened)
        async with Runtime.open(store, graphs=[ledger], clock=clock, limits=Limits(timers=2)) as runtime:
            agent = await runtime.start("ledger", at="OPEN", agent_id="l-1")
            await agent.send("SET", {"timers": [[n, str(n), None] for n in range(1, 9)]})
            store.is_blind = True
            for _ in range(4):
                clock.advance(1)
                await at_rest(runtime, clock)
            store.is_blind = False
            for _ in range(8):
                clock.advance(5)
                await at_rest(runtime, clock)
            await until_noted(agent, [str(n) for n in range(1, 9)])


class BlindStore(WrappedStore):
    """A store that cannot say what is due, while a test says so."""

    is_blind = False

    async def due(self, *, after, limit):
        if self.is_blind:
            raise StoreBusyError("agents.db", "by a test")
        return await self.store.due(after=after, limit=limit)


HOUR = timedelta(hours=1)


@pytest.mark.needs("takes_a_clock")
async def test_timers_that_only_the_store_has_fire_when_all_that_are_in_memory_were_cancelled(place, clock):
    graph = waiting(after={"5s": "LATE"})
    async with Runtime.open(place, graphs=[graph], clock=clock, limits=Limits(timers=2)) as runtime:
        agents = [await runtime.start("waiting", at="WAITING") for _ in range(8)]
        for agent in agents[:6]:
            await agent.send("MOVED")
        await at_rest(runtime, clock)
        clock.advance(5)
        for agent in agents[6:]:
            await soon(agent.until("LATE"))
        assert {agent.configuration for agent in agents[:6]} == {("MOVED",)}


@pytest.mark.needs("takes_a_clock")
async def test_a_timer_that_a_migration_puts_off_fires_at_the_new_time_and_not_before(place, clock):
    def put_off(stored):
        return replace(stored, mail=tuple(replace(mail, due=mail.due + HOUR) for mail in stored.mail))

    after = {"5s": "LATE"}
    async with Runtime.open(place, graphs=[waiting(after=after), parcel], clock=clock) as runtime:
        await runtime.start("waiting", at="WAITING", agent_id="a")
        await runtime.start("parcel", at="PACKING", agent_id="first")
        await runtime.post("first", "SENT", due=clock.at + timedelta(seconds=1))
    graph = waiting("2", Migration("1", "2", put_off), after=after)
    async with Runtime.open(place, graphs=[graph, parcel], clock=clock) as runtime:
        agent = await runtime.resume("a")
        clock.advance(1)
        await soon((await runtime.resume("first")).until("TRANSIT"))
        clock.advance(4)
        await at_rest(runtime, clock)
        assert agent.configuration == ("WAITING",)
        assert [mail.due for mail in await runtime.mail("a")] == [clock.at + HOUR]
        clock.advance(3600)
        await soon(agent.until("LATE"))


@pytest.mark.needs("takes_a_clock")
async def test_overdue_timers_of_an_agent_that_is_collected_come_in_the_order_in_which_they_were_due(place, clock):
    async with Runtime.open(place, graphs=[parcel], clock=clock, role=Role.VISITOR) as runtime:
        await runtime.start("parcel", at="PACKING", agent_id="a")
        for seconds in (3, 1, 2):
            due = clock.at + timedelta(seconds=seconds)
            await runtime.post("a", "STAMPED", {"at": str(seconds)}, due=due)
    clock.advance(5)
    async with Runtime.open(place, graphs=[parcel], clock=clock, role=Role.VISITOR) as runtime:
        agent = await runtime.resume("a")
        await agent.send("STAMPED", {"at": "sent"})
        assert agent.context.stops == ["entered", "1", "2", "3", "sent"]
