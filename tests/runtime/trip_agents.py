"""Agents that book a trip, and undo the bookings."""

import asyncio

from pydantic import Field, SecretStr

from gatechart import AgentContext, EscapePlan, State, StateTransitionGraph, ToolBox, Transition
from gatechart import tool as made
from gatechart.graph.definition import Invoke
from gatechart.graph.signals import Signal
from gatechart.signals import ToolFailures
from gatechart.tools import ToolContext, ToolPolicies

NO_RETRY = ToolPolicies(retry="off", breaker="off")


class Trip(AgentContext):
    seats: list = Field(default_factory=list)


class Desk:
    """Services: a flight is booked and cancelled, money is paid by key, and a check fails as often as told."""

    def __init__(self, *more, fails=3, undo="cancel", breaks=False, opened=None, shut_after=0, cancels="never"):
        """opened: what `cancel` waits for once it did so much (shut_after). cancels: whether it may be repeated."""
        self.deeds = []
        self.keys = []
        self.fails = fails
        self.breaks = breaks
        self.waits = asyncio.Event()  # set once one waits

        @made(policies=NO_RETRY, repeat=cancels)
        async def cancel(booking: str, pin: SecretStr) -> None:
            if opened is not None and sum(each.startswith("cancel") for each in self.deeds) >= shut_after:
                self.waits.set()
                await opened.wait()
            if self.breaks:
                raise ConnectionError("no answer")
            self.deeds.append(f"cancel {booking} {pin.get_secret_value()}")

        @made(policies=NO_RETRY, undo=undo)
        async def book(seat: str, pin: SecretStr) -> dict:
            self.deeds.append(f"book {seat}")
            return {"booking": f"B-{seat}"}

        @made(policies=NO_RETRY, repeat="keyed")
        async def pay(context: ToolContext, amount: int) -> str:
            self.keys.append(context.idempotency_key)
            return "paid"

        @made(policies=NO_RETRY, repeat="safe")
        async def check() -> str:
            if self.fails:
                self.fails -= 1
                raise LookupError("nothing there")
            return "fine"

        self.tools = ToolBox([cancel, book, pay, check, *more])


async def book_two(context, work):
    return [(await work.call("book", seat=seat, pin="pin-0815")).unwrap()["booking"] for seat in ("1A", "1B")]


async def check(context, work):
    for _ in range(3):
        if (result := await work.call("check")).ok:
            return result.value
    return await work.sleep("for long", "1d")


def trip(function, *strategies, answers=(), if_undo_fails=(), paid=(), **plan):
    return StateTransitionGraph(
        "trip",
        context=Trip,
        states=[
            State("BUYING", invoke=Invoke(function, id="buy")),
            State("CHECKING", invoke=Invoke(check, id="check")),
            State("DONE", final=True),
        ],
        transitions=[
            Transition("READY", "GO", "BUYING"),
            Transition("BUYING", "done.invoke.buy", "CHECKING", actions=paid),
            Transition("CHECKING", "done.invoke.check", "DONE"),
            *answers,
        ],
        entry_points=["READY", "BUYING"],
        signals=Signal(ToolFailures(3), "failing"),
        escape=EscapePlan({"failing": strategies, "undo_failed": if_undo_fails}, **plan),
    )


async def attempts(agent):
    return [turn for turn in await agent.history() if turn.event.name.startswith("escape.")]


PIN = "pin-0815"


async def taking_back(runtime):
    """An agent that is taking calls back, of which the arguments are secret."""
    agent = await runtime.start("trip", at="BUYING", agent_id="a")
    await agent.until("UNDOING", timeout=30)
    return agent


BOOKED = ["book 1A", "book 1B"]


SECOND_BACK, FIRST_BACK = f"cancel B-1B {PIN}", f"cancel B-1A {PIN}"


HALF_WAY = {
    "safe": ([SECOND_BACK], [FIRST_BACK, *BOOKED], "DONE"),
    "never": ([SECOND_BACK], [], "GAVE_UP"),  # nobody knows whether the first was taken back
}
"""What was taken back as the agent left its home, and what is done where it goes on, by whether to repeat `cancel`."""


async def half_way(runtime, desk):
    """An agent that has taken back one of two calls, and is in the midst of taking back the other."""
    agent = await taking_back(runtime)
    async with asyncio.timeout(30):
        await desk.waits.wait()
    return agent


async def check_half_way(agent, old, new, cancels):
    """Check what is done where the agent goes on, and that nothing was done twice."""
    done, left, end = HALF_WAY[cancels]
    await agent.until(end, ended=True, timeout=30)
    assert agent.snapshot.configuration == (end,)
    assert (old.deeds, new.deeds) == ([*BOOKED, *done], left)
    assert [each.strategy for each in agent.snapshot.trail.escapes.tried] == (
        ["restart"] if end == "DONE" else ["give_up"]
    )
