"""Code that raises what is not an Exception: a failure as any other, which ends neither the host nor the queue."""

import asyncio
import sys

import pytest
from pydantic import BaseModel, Field, field_validator

from gatechart import (
    ANY,
    AgentContext,
    EntryPoint,
    Invoke,
    Migration,
    Runtime,
    State,
    StateTransitionGraph,
    Step,
    Transition,
)
from gatechart.errors import ActionFailedError, EntryGuardError, ExitRaisedError, IncompatibleGraphError, PayloadError
from gatechart.hosting.limits import Limits
from gatechart.values.delays import Retry
from gatechart.values.mail import MailStatus
from tests.runtime.support import soon

pytestmark = [pytest.mark.sample_on_restate, pytest.mark.sqlite_is_enough]

QUICK = Limits(mail_retry=Retry(attempts=2, first_s=0.01))


class TornError(BaseException):
    """What no `except Exception` catches."""


RAISED = {
    "exits": SystemExit(3),
    "torn": TornError("the string tore"),
    "cancelled": asyncio.CancelledError(),
    "group": BaseExceptionGroup("both", [TornError(), SystemExit()]),
}


class Case(AgentContext):
    how: str = "exits"
    notes: list[str] = Field(default_factory=list)

    @field_validator("notes")
    @classmethod
    def _intact(cls, notes):
        if "spoilt" in notes:
            raise SystemExit(4)
        return notes


class Opening(BaseModel):
    how: str

    @field_validator("how")
    @classmethod
    def _known(cls, how):
        if how == "invalid":
            raise SystemExit(5)
        return how


def leave(context, event):
    context.notes.append("left")
    raise RAISED[event.payload.get("how", context.how)]


async def leave_later(context, event):
    await asyncio.sleep(0)
    leave(context, event)


def spoil(context, event):
    context.notes.append("spoilt")


def note(context, event):
    context.notes.append(event.payload.get("at", event.name))


def note_error(context, event):
    context.notes.append(f"{event.name}: {event.payload['type']}")


def asks(context, event):
    raise RAISED[event.payload.get("how", context.how)]


def asks_at_entry(context, event):
    if context.how in RAISED:
        raise RAISED[context.how]
    return True


def result(context, event):
    sys.exit("no result")


case = StateTransitionGraph(
    "case",
    context=Case,
    states=[State("OVER", final=True), State("ENTERED", on_entry=leave)],
    transitions=[
        Transition("OPEN", "LEFT", actions=leave),
        Transition("OPEN", "LEFT_LATER", actions=leave_later),
        Transition("OPEN", "SPOILT", actions=spoil),
        Transition("OPEN", "ASKED", "OVER", guard=asks),
        Transition("OPEN", "ASKED", actions=note),
        Transition("CAREFUL", "LEFT", actions=leave),
        Transition("CAREFUL", "error.execution", actions=note_error),
        Transition(ANY, "NOTED", actions=note),
    ],
    entry_points=[
        "OPEN",
        "CAREFUL",
        "ENTERED",
        EntryPoint("OPEN", name="guarded", takes=Opening, guard=asks_at_entry),
        EntryPoint("OPEN", name="mapped", takes=Opening, maps=lambda payload: sys.exit(payload.how)),
    ],
)


async def settled(runtime, agent, status=MailStatus.DEAD):
    """The agent's mail of this status, once there is some."""
    async with asyncio.timeout(60):
        while not (found := await runtime.mail(agent.id, status=status)):  # noqa: ASYNC110  mail tells nobody
            await asyncio.sleep(0.01)
    return found


def opened(place, graph=case, **more):
    return Runtime.open(place, graphs=[graph], limits=QUICK, **more)


@pytest.mark.parametrize("how", RAISED)
async def test_an_action_that_raises_no_exception_undoes_its_turn(place, how):
    async with opened(place) as runtime:
        agent = await runtime.start("case", at="OPEN")
        for event in ("LEFT", "LEFT_LATER"):
            with pytest.raises(ActionFailedError, match=f"raised {type(RAISED[how]).__name__}"):
                await soon(agent.send(event, {"how": how}))
        assert (await soon(agent.send("NOTED"))).version == 2
        assert agent.context.notes == ["NOTED"]


async def test_mail_whose_action_exits_is_counted_and_what_comes_behind_it_is_not_held_nor_before(place):
    async with opened(place) as runtime:
        agent = await runtime.start("case", at="OPEN")
        for how in RAISED:
            await runtime.post(agent.id, "LEFT", {"how": how})
            await runtime.post(agent.id, "NOTED", {"at": how})
        async with asyncio.timeout(60):
            while (await runtime.resume(agent.id)).context.notes != list(RAISED):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        dead = await runtime.mail(agent.id, status=MailStatus.DEAD)
        assert [(each.payload["how"], each.attempts) for each in dead] == [(how, 2) for how in RAISED]
        assert "SystemExit: 3" in dead[0].reason


async def test_a_chart_handles_an_action_that_exits_as_any_that_fails(place):
    async with opened(place) as runtime:
        agent = await runtime.start("case", at="CAREFUL")
        assert (await soon(agent.send("LEFT"))).applied
        assert agent.context.notes == ["left", "error.execution: SystemExit"]


@pytest.mark.parametrize("how", RAISED)
async def test_a_guard_that_raises_no_exception_says_no(place, how):
    async with opened(place) as runtime:
        agent = await runtime.start("case", at="OPEN")
        outcome = await soon(agent.send("ASKED", {"how": how}))
        assert outcome.taken == ("OPEN --ASKED--> OPEN",) or outcome.applied
        assert [each.guard for each in outcome.guard_errors] == ["asks"]
        assert agent.context.notes == ["ASKED"]


async def test_what_an_entry_runs_may_exit_and_nothing_is_started(place):
    async with opened(place) as runtime:
        with pytest.raises(EntryGuardError, match="SystemExit: 3"):
            await soon(runtime.start("case", at="guarded", payload={"how": "exits"}))
        with pytest.raises(ActionFailedError, match="SystemExit: 3"):
            await soon(runtime.start("case", at="ENTERED"))
        with pytest.raises(PayloadError, match="SystemExit: torn"):
            await soon(runtime.start("case", at="mapped", payload={"how": "torn"}))
        with pytest.raises(ExitRaisedError, match="SystemExit: 5"):
            await soon(runtime.start("case", at="guarded", payload={"how": "invalid"}))
        assert (await runtime.find()).agents == ()
        assert await soon(runtime.start("case", at="OPEN"))


async def test_a_validator_of_a_context_that_exits_undoes_the_turn(place):
    async with opened(place) as runtime:
        agent = await runtime.start("case", at="OPEN")
        with pytest.raises(ExitRaisedError, match="SystemExit: 4"):
            await soon(agent.send("SPOILT"))
        await runtime.post(agent.id, "SPOILT")
        [dead] = await settled(runtime, agent)
        assert (dead.attempts, "SystemExit: 4" in dead.reason) == (2, True)
        assert (await soon(agent.send("NOTED"))).version == 2


def working(invoke, **more):
    return StateTransitionGraph(
        "working",
        context=Case,
        states=[State("WORKING", invoke=invoke)],
        transitions=[
            Transition("WORKING", "done.invoke.it", "DONE", actions=note),
            Transition("WORKING", "error.invoke.it", "FAILED", actions=note_error),
        ],
        entry_points=["WORKING"],
        **more,
    )


def exits(context, work):
    work.services.append("called")
    raise RAISED[context.how]


async def exits_later(context, work):
    await asyncio.sleep(0)
    exits(context, work)


async def exits_in_a_step(context, work):
    await work.step(Step("plain", retry=Retry(attempts=2, first_s=0.01)), exits_plainly, work.services)


async def exits_in_an_awaited_step(context, work):
    await work.step(Step("awaited", retry=Retry(attempts=2, first_s=0.01)), exits_awaited, work.services)


def exits_plainly(calls):
    calls.append("called")
    sys.exit(3)


async def exits_awaited(calls):
    exits_plainly(calls)


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize("timeout_s", [None, 30])
@pytest.mark.parametrize("function", [exits, exits_later, exits_in_a_step, exits_in_an_awaited_step])
async def test_an_invoke_that_exits_is_tried_again_and_told(place, function, timeout_s):
    calls = []
    invoke = Invoke(function, id="it", timeout_s=timeout_s, retry=Retry(attempts=2, first_s=0.01))
    async with opened(place, working(invoke), services=calls) as runtime:
        agent = await runtime.start("working", at="WORKING")
        async with asyncio.timeout(60):
            await agent.until("FAILED")
        assert (await runtime.resume(agent.id)).context.notes == ["error.invoke.it: SystemExit"]
        assert calls == ["called"] * (4 if "step" in function.__name__ else 2)


@pytest.mark.parametrize("how", ["torn", "group"])
@pytest.mark.parametrize("timeout_s", [None, 30])
async def test_an_invoke_that_raises_no_exception_does_not_wait_in_silence(place, how, timeout_s):
    async def raises(context, work):
        raise RAISED[how]

    async with opened(place, working(Invoke(raises, id="it", timeout_s=timeout_s))) as runtime:
        agent = await runtime.start("working", at="WORKING")
        async with asyncio.timeout(60):
            await agent.until("FAILED")
        kind = type(RAISED[how]).__name__
        assert (await runtime.resume(agent.id)).context.notes == [f"error.invoke.it: {kind}"]


asking = StateTransitionGraph(
    "asking",
    context=Case,
    states=[State("ASKING", invoke=Invoke(agent="case", at="OPEN", id="it", packet=lambda *_: sys.exit(6)))],
    transitions=[Transition("IDLE", "BEGAN", "ASKING"), Transition(ANY, "NOTED", actions=note)],
    entry_points=["IDLE", "ASKING"],
)


async def test_a_packet_that_cannot_be_made_for_an_exit_undoes_the_turn(place):
    async with Runtime.open(place, graphs=[case, asking], limits=QUICK) as runtime:
        agent = await runtime.start("asking", at="IDLE")
        with pytest.raises(ExitRaisedError, match="SystemExit: 6"):
            await soon(agent.send("BEGAN"))
        with pytest.raises(ExitRaisedError, match="SystemExit: 6"):
            await soon(runtime.start("asking", at="ASKING"))
        assert (await soon(agent.send("NOTED"))).version == 2


def unmigrated(stored):
    sys.exit(7)


async def test_a_migration_that_exits_leaves_the_agent_as_it_is(place):
    noted = Transition("OPEN", "NOTED", actions=note)
    before = StateTransitionGraph("case", version="0", context=Case, transitions=[noted], entry_points=["OPEN"])
    after = StateTransitionGraph(
        "case",
        version="1",
        context=Case,
        transitions=[noted],
        entry_points=["OPEN"],
        migrations=Migration("0", "1", unmigrated),
    )
    async with opened(place, before) as runtime:
        await runtime.start("case", at="OPEN", agent_id="c-1")
    async with opened(place, after) as runtime:
        with pytest.raises(IncompatibleGraphError, match="SystemExit: 7"):
            await (await runtime.resume("c-1")).send("NOTED")
    async with opened(place, before) as runtime:
        assert (await runtime.resume("c-1")).snapshot.version == 1
