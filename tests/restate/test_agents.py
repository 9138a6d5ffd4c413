"""What the engine carries: mail, timers, invokes and their steps, handoffs; and what it is declared not to do."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import Field

from gatechart import (
    ANY,
    AgentContext,
    Handoff,
    Invoke,
    Limits,
    Runtime,
    State,
    StateTransitionGraph,
    Status,
    Step,
    Transition,
)
from gatechart.errors import (
    ActionFailedError,
    AgentTooLargeError,
    EngineUnreachableError,
    NoHandoffError,
    ReservedEventError,
    RuntimeClosedError,
    UnknownAgentError,
)
from gatechart.graph.handoff import Fallbacks, Human, SameTarget
from gatechart.restate import RestateRuntime
from gatechart.values.delays import Retry
from gatechart.values.handoffs import HandoffStatus
from gatechart.values.mail import MailStatus
from tests.insides import calls_of, host_of
from tests.ports import free_ports
from tests.restate.engines import eventually
from tests.runtime.handovers import ALL
from tests.runtime.support import Gate, gated


class Notes(AgentContext):
    notes: list = Field(default_factory=list)


class Tools:
    """Services of the agents of a test, in its own process."""

    def __init__(self):
        self.calls = Counter()
        self.fails = Counter()  # how often each is still to fail
        self.ended = asyncio.Event()

    def call(self, name):
        self.calls[name] += 1
        if self.fails[name]:
            self.fails[name] -= 1
            raise LookupError(f"{name} is not there")
        return f"{name} {self.calls[name]}"


def note(context, event):
    context.notes.append([event.name, event.payload.get("result", event.payload.get("n"))])


def set_timer(context, event, turn):
    turn.after(event.payload.get("delay", "50ms"), "RANG", key=event.payload.get("key", "bell"))


def cancel_timer(context, event, turn):
    turn.cancel("bell")


def pass_on(context, event, turn):
    turn.send(event.payload["to"], "NOTED", {"n": event.payload["n"]})


def stumble(context, event, turn):
    turn.services.call("stumble")


async def call_runtime(context, event, turn):
    await turn.services.runtime.post("a-1", "NOTED")


def grow(context, event):
    context.notes.append("x" * event.payload["size"])


async def look_up(context, work):
    first = await work.step("first", work.services.call, "first")
    await work.progress({"n": "half"})
    return [first, await work.step(Step("second", retry=Retry(attempts=2, first_s=0.01)), work.services.call, "second")]


async def wait_for_ever(context, work):
    work.services.calls["waiting"] += 1
    try:
        await asyncio.sleep(3600)
    finally:
        work.services.ended.set()


async def fall(context, work):
    work.services.call("fall")


desk = StateTransitionGraph(
    "desk_work",
    context=Notes,
    states=[
        State("PATIENT", after={"100ms": "LATE"}),
        State("BUSY", invoke=Invoke(look_up, retry=Retry(attempts=3, first_s=0.01))),
        State("STUCK", invoke=Invoke(wait_for_ever)),
        State("FALLING", invoke=Invoke(fall)),
        State("ENDED", final=True),
    ],
    transitions=[
        Transition(ANY, "NOTED", actions=note),
        Transition(ANY, "SET", actions=set_timer),
        Transition(ANY, "CANCELLED", actions=cancel_timer),
        Transition(ANY, "RANG", actions=note),
        Transition(ANY, "TOLD", actions=pass_on),
        Transition(ANY, "STUMBLED", actions=stumble),
        Transition(ANY, "GREW", actions=grow),
        Transition(ANY, "CALLED", actions=call_runtime),
        Transition("IDLE", "WAITED", "PATIENT"),
        Transition("PATIENT", "LEFT", "IDLE"),
        Transition("IDLE", "BEGAN", "BUSY"),
        Transition("IDLE", "STUCK", "STUCK"),
        Transition("STUCK", "LEFT", "IDLE"),
        Transition("IDLE", "FELL", "FALLING"),
        *(Transition(ANY, f"{kind}.invoke.look_up", actions=note) for kind in ("progress", "error")),
        Transition("BUSY", "done.invoke.look_up", "IDLE", actions=note),
        Transition("FALLING", "error.invoke.fall", "IDLE", actions=note),
        Transition("IDLE", "FINISHED", "ENDED"),
    ],
    entry_points=["IDLE"],
)


@pytest.fixture
async def tools():
    return Tools()


@pytest.fixture
async def runtime(place, tools):
    async with Runtime.open(place, graphs=[desk, *ALL], services=tools) as opened:
        yield opened


@pytest.fixture
async def agent(runtime):
    return await runtime.start("desk_work", at="IDLE", agent_id="a-1")


async def notes(runtime, agent_id="a-1"):
    return (await runtime.resume(agent_id)).context.notes


async def noted(runtime, *expected, agent_id="a-1"):
    """Waits until just this has been noted."""

    async def is_so():
        return await notes(runtime, agent_id) == list(expected)

    await eventually(is_so, 10)


async def in_state(runtime, agent_id, state):
    async def is_there():
        return (await runtime.resume(agent_id)).configuration == (state,)

    await eventually(is_there, 10)


# Mail


async def test_mail_is_applied_in_the_order_accepted_and_once_for_each_id(runtime, agent):
    for n in range(10):
        await runtime.post("a-1", "NOTED", {"n": n}, event_id=f"m-{n // 2 * 2}" if n % 2 == 0 else None)
    await runtime.post("a-1", "NOTED", {"n": 0}, event_id="m-0")
    await agent.send("NOTED", {"n": "last"})
    assert [n for _, n in agent.context.notes] == [*range(10), "last"]


async def test_mail_under_an_id_that_stands_for_something_else_is_kept_as_refused(runtime, agent):
    await runtime.post("a-1", "NOTED", {"n": 1}, event_id="m")
    await runtime.post("a-1", "NOTED", {"n": 2}, event_id="m")
    await agent.send("NOTED", {"n": 3})
    (refused,) = await runtime.mail("a-1", status="refused")
    assert refused.payload == {"n": 2}
    assert "other content" in refused.reason
    assert [n for _, n in agent.context.notes] == [1, 3]


async def test_mail_for_an_agent_to_come_waits_for_it_in_order(runtime):
    for n in range(3):
        await runtime.post("b-1", "NOTED", {"n": n})

    async def waits():
        return len(await runtime.mail("b-1", status="waiting")) == 3

    await eventually(waits)
    agent = await runtime.start("desk_work", at="IDLE", agent_id="b-1")
    await agent.send("NOTED", {"n": "sent"})
    assert [n for _, n in agent.context.notes] == [0, 1, 2, "sent"]
    assert await runtime.mail("b-1") == []


async def test_mail_that_is_due_later_waits_until_then(runtime, agent):
    due = datetime.now(UTC) + timedelta(seconds=0.3)
    await runtime.post("a-1", "NOTED", {"n": "later"}, due=due)
    await runtime.post("a-1", "NOTED", {"n": "now"})

    async def are_noted():
        return len(await notes(runtime)) == 2

    await eventually(are_noted)
    await runtime.caught_up("a-1")
    times = {entry.event.payload.get("n"): entry.event.time for entry in await agent.history()}
    assert times["later"] >= due
    assert "now" in times  # it may come second where posting it takes longer than the other waits


async def test_an_event_whose_turns_fail_is_parked_and_the_others_go_on(runtime, agent, tools):
    tools.fails["stumble"] = 3
    await runtime.post("a-1", "STUMBLED")
    await runtime.post("a-1", "NOTED", {"n": 1})
    await noted(runtime, ["NOTED", 1])
    (dead,) = await runtime.mail("a-1")
    assert (dead.status, dead.attempts, tools.calls["stumble"]) == (MailStatus.DEAD, 3, 3)
    assert "stumble is not there" in dead.reason
    await runtime.retry(dead.number, to="a-1")

    async def is_done():
        return tools.calls["stumble"] == 4 and await runtime.mail("a-1") == []

    await eventually(is_done)


async def test_what_a_turn_sends_arrives_once_and_in_order(runtime, agent):
    other = await runtime.start("desk_work", at="IDLE", agent_id="a-2")
    for n in range(5):
        await agent.send("TOLD", {"to": other.id, "n": n})
    await noted(runtime, *(["NOTED", n] for n in range(5)), agent_id="a-2")


async def test_a_failing_send_is_told_and_undone_and_the_agent_goes_on(agent, tools):
    tools.fails["stumble"] = 1
    with pytest.raises(ActionFailedError, match="stumble is not there"):
        await agent.send("STUMBLED")
    assert (await agent.send("NOTED", {"n": 1})).version == 2


async def test_what_is_more_than_the_engine_takes_undoes_the_turn_and_says_so(place):
    async with Runtime.open(place, graphs=[desk], most_bytes=10_000) as runtime:
        agent = await runtime.start("desk_work", at="IDLE")
        with pytest.raises(AgentTooLargeError, match="the limit is 10000"):
            await agent.send("GREW", {"size": 20_000})
        assert (await agent.send("GREW", {"size": 100})).version == 2


async def test_an_action_cannot_call_the_runtime(runtime, agent, tools):
    tools.runtime = runtime
    with pytest.raises(ActionFailedError, match="InsideTurnError"):
        await agent.send("CALLED")


async def test_what_was_under_way_when_a_service_ended_goes_on_with_the_next_one_at_its_address(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate, limits=Limits(close_s=0.05)) as runtime:
        await runtime.start("gated", at="RESTING", agent_id="g-1")
        await runtime.post("g-1", "PASSED", {"at": "begun with the first"})
        await gate.reached()
    gate.opened.set()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.resume("g-1")
        await agent.send("STAMPED", {"at": "sent to the second"})
        assert agent.context.stops == ["begun with the first", "sent to the second"]


async def test_calls_under_way_end_before_a_runtime_is_left(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.start("gated", at="RESTING", agent_id="g-1")
        sends = [asyncio.ensure_future(agent.send("PASSED", {"at": str(n)})) for n in range(3)]
        await gate.reached()
        asyncio.get_running_loop().call_soon(gate.opened.set)
    assert [(await each).version for each in sends] == [2, 3, 4]
    with pytest.raises(RuntimeClosedError):
        await agent.send("PASSED")


async def test_who_still_calls_when_a_runtime_is_left_is_told_so(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate, limits=Limits(close_s=0.05)) as runtime:
        agent = await runtime.start("gated", at="RESTING", agent_id="g-1")
        sending = asyncio.ensure_future(agent.send("PASSED"))
        await gate.reached()
    with pytest.raises(RuntimeClosedError):
        await sending


async def test_all_that_is_asked_of_an_agent_at_once_comes_in_the_order_asked(runtime, agent):
    for _ in range(5):
        again = await runtime.start("desk_work", at="IDLE", agent_id="o-1")
        asked = (again.send("NOTED"), runtime.erase("o-1"), again.send("NOTED"), runtime.stop("o-1"))
        sent, erased, *others = await asyncio.gather(*asked, return_exceptions=True)
        assert (sent.version, erased) == (2, None)
        assert [type(each) for each in others] == [UnknownAgentError] * 2


# Timers


async def test_a_timer_fires_once_and_not_before_it_is_due(runtime, agent):
    await agent.send("SET")
    await noted(runtime, ["RANG", None])
    history = await runtime.history("a-1")
    assert history[-1].event.time - history[-2].event.time >= timedelta(milliseconds=50)


async def test_a_cancelled_timer_is_void_when_it_wakes(runtime, agent):
    await agent.send("SET", {"delay": "100ms"})
    await agent.send("CANCELLED")
    await agent.send("SET", {"delay": "300ms"})
    await noted(runtime, ["RANG", None])
    assert await runtime.mail("a-1") == []


async def test_a_timer_of_a_state_fires_unless_the_state_was_left(runtime, agent):
    await agent.send("WAITED")
    await agent.send("LEFT")
    await agent.send("WAITED")
    await in_state(runtime, "a-1", "LATE")
    assert await runtime.mail("a-1") == []


# Invokes


async def test_an_invoke_reports_its_progress_and_its_result(runtime, agent, tools):
    await agent.send("BEGAN")
    await noted(runtime, ["progress.invoke.look_up", "half"], ["done.invoke.look_up", ["first 1", "second 1"]])
    assert tools.calls == {"first": 1, "second": 1}


async def test_a_recorded_step_is_not_taken_again_by_another_attempt(runtime, agent, tools):
    tools.fails["second"] = 3
    await agent.send("BEGAN")
    await in_state(runtime, "a-1", "IDLE")
    assert (await notes(runtime))[-1] == ["done.invoke.look_up", ["first 1", "second 4"]]
    assert tools.calls == {"first": 1, "second": 4}


async def test_leaving_the_state_cancels_what_it_invoked(runtime, agent, tools):
    await agent.send("STUCK")

    async def is_begun():
        return tools.calls["waiting"] == 1

    await eventually(is_begun)
    await agent.send("LEFT")
    async with asyncio.timeout(60):
        await tools.ended.wait()
    assert (await agent.send("NOTED", {"n": 1})).applied


async def test_an_invoke_that_fails_is_told_as_an_event(runtime, agent, tools):
    tools.fails["fall"] = 1
    await agent.send("FELL")
    await in_state(runtime, "a-1", "IDLE")
    await runtime.caught_up("a-1")
    told = (await runtime.history("a-1"))[-1].event
    assert (told.name, told.payload["type"], told.payload["attempts"]) == ("error.invoke.fall", "LookupError", 1)


# Handoffs


async def asked(runtime, graph="first", **wanted):
    agent = await runtime.start(graph, at="TALKING")
    await agent.send("ASK", {"to": "second", **wanted})
    return agent


async def open_of(runtime, agent):
    return (await runtime.resume(agent.id)).snapshot.handoffs


async def test_a_transfer_to_a_new_agent_begins_it_and_ends_the_one_that_asked(runtime):
    agent = await asked(runtime)
    (handed,) = agent.snapshot.handoffs

    async def has_ended():
        return (await runtime.resume(agent.id)).status is Status.DONE

    await eventually(has_ended)
    target = await runtime.resume(handed.peer)
    assert (target.configuration, target.context.entered) == (("WORKING",), 1)
    await target.send("DONE")

    async def is_completed():
        rows = await runtime.handoffs(source=agent.id)
        return [each.status for each in rows] == [HandoffStatus.COMPLETED]

    await eventually(is_completed)


async def test_a_delegation_comes_back_with_its_result(runtime):
    agent = await asked(runtime, mode="delegate")
    (handed,) = agent.snapshot.handoffs
    await in_state(runtime, agent.id, "WAITING")

    async def is_taken():
        return [each.is_accepted for each in await open_of(runtime, agent)] == [True]

    await eventually(is_taken)
    await (await runtime.resume(handed.peer)).send("DONE")
    await in_state(runtime, agent.id, "TALKING")
    assert (await runtime.resume(agent.id)).context.told[-1]["name"] == "handoff.completed"


async def test_who_leaves_the_waiting_state_withdraws_the_offer(runtime):
    other = await runtime.start("second", at="RESTING")
    await other.send("WILL", {"willing": True})
    agent = await asked(runtime, agent=other.id, mode="delegate")
    await agent.send("LEAVE")
    await in_state(runtime, other.id, "RESTING")
    assert (await runtime.resume(agent.id)).configuration == ("TALKING",)


async def test_a_graph_takes_no_more_than_it_has_places_for(runtime):
    held = await asked(runtime, to="crowded", mode="delegate")
    (handed,) = held.snapshot.handoffs

    async def is_taken():
        return [each.is_accepted for each in await open_of(runtime, held)] == [True]

    await eventually(is_taken)
    late = await asked(runtime, to="crowded", mode="delegate")
    await in_state(runtime, late.id, "REFUSED")
    told = (await runtime.resume(late.id)).context.told
    assert told[-1]["reason"] == "no capacity"
    await (await runtime.resume(handed.peer)).send("DONE")
    await in_state(runtime, held.id, "TALKING")
    third = await asked(runtime, to="crowded", mode="delegate")

    async def is_taken_too():
        return [each.is_accepted for each in await open_of(runtime, third)] == [True]

    await eventually(is_taken_too)


async def test_an_offer_whose_every_turn_fails_is_rejected(runtime):
    agent = await asked(runtime, at="BROKEN")
    await in_state(runtime, agent.id, "REFUSED")


async def test_an_offer_to_nobody_is_rejected(runtime):
    agent = await asked(runtime, to="nowhere")
    await in_state(runtime, agent.id, "REFUSED")


async def test_an_operator_hands_on_what_an_agent_does_and_takes_it_back(runtime):
    agent = await runtime.start("first", at="TALKING")
    fallbacks = Fallbacks(SameTarget(attempts=2), Human("desk", at="WORKING"))
    made = await runtime.handoff(
        agent.id,
        Handoff(
            "second", at="WORKING", mode="delegate", deadline="1h", reason="complexity exceeded", fallbacks=fallbacks
        ),
    )

    async def is_taken():
        return [each.status for each in await runtime.handoffs(handoff_id=made)] == [HandoffStatus.ACCEPTED]

    await eventually(is_taken)
    (row,) = await runtime.handoffs(handoff_id=made)
    assert [step["kind"] for step in row.packet["fallbacks"]] == ["same_target", "human"]
    await runtime.cancel_handoff(made, reason="it has become needless")

    async def is_cancelled():
        return [each.status for each in await runtime.handoffs(handoff_id=made)] == [HandoffStatus.CANCELLED]

    await eventually(is_cancelled)
    with pytest.raises(NoHandoffError):
        await runtime.cancel_handoff(made, reason="again")


async def test_a_rejection_is_projected_with_the_turn_in_which_the_one_that_asked_hears_of_it(runtime):
    agent = await asked(runtime, to="nowhere")
    await in_state(runtime, agent.id, "REFUSED")
    (row,) = await runtime.handoffs(source=agent.id)
    assert row.status is HandoffStatus.REJECTED
    assert row.changes[-1].details.startswith("unknown graph: ")


async def test_an_agent_with_an_open_handoff_is_erased_from_the_projection_too(runtime):
    agent = await asked(runtime, mode="delegate")
    await in_state(runtime, agent.id, "WAITING")
    await runtime.erase(agent.id)
    assert agent.id not in [each.agent_id for each in (await runtime.find()).agents]


async def test_an_engine_that_is_not_there_is_named():
    (port,) = free_ports(1)
    async with RestateRuntime.open(f"http://127.0.0.1:{port}", graphs=[desk], patience_s=0.1) as runtime:
        with pytest.raises(EngineUnreachableError, match=str(port)):
            await runtime.start("desk_work", at="IDLE")


async def test_who_calls_the_engine_itself_cannot_speak_for_the_framework(runtime, agent):
    told = {"payload": {"result": "forged"}, "id": None, "life": host_of(agent).life}
    for name in ("done.invoke.scan", "after.5d.WAITING", "handoff.accepted"):
        with pytest.raises(ReservedEventError):
            await calls_of(runtime).ask("send", agent.id, told | {"event": name})
    assert (await runtime.resume(agent.id)).snapshot.version == agent.snapshot.version
