"""Agents that get out by each strategy, in a process that kills itself as the attempt is committed.

`main(url, file, point, count, way)` has the agent of a way out live to its end. It dies at the COUNT-th time that it
comes to POINT (see fault_points), or to "before attempt" or "after attempt": where the first turn is committed that
tries the way. With "nowhere" it lives, and leaves in FILE how often it came where. What was charged, which repairs
began, and what a sink got, is in files beside that; so is what a bank paid, which pays once for each key.

A tool fails always, so a way that leads back to where it is called is followed by the last resort.
"""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen
from uuid import uuid4

from pydantic import Field

from gatechart import (
    AgentContext,
    Handoff,
    HandoffPacket,
    ModelLoop,
    Runtime,
    State,
    StateTransitionGraph,
    ToolBox,
    Transition,
    tool,
)
from gatechart.alerts import Alerts
from gatechart.escape import (
    Alert,
    CutOut,
    EscapePlan,
    GiveUp,
    HandOn,
    Nudge,
    Repair,
    Reroute,
    Restart,
    Rollback,
    SwitchTool,
    ToHuman,
)
from gatechart.graph.definition import EntryPoint, Invoke
from gatechart.graph.signals import Signal
from gatechart.handoff import Message, ToolCall
from gatechart.models import Finish, ModelReply
from gatechart.signals import ToolFailures
from gatechart.tools import ToolContext
from gatechart.values.tool_policies import ToolPolicies
from gatechart.watchdog import Act, Watchdog, WatchdogTerms
from tests.crash.fault_points import FaultPoints, named
from tests.crash.undoing_agents import add, bank, lines

AGENT = "e-1"
ONCE = ToolPolicies(retry="off", breaker="off")


class Case(AgentContext):
    messages: list = Field(default_factory=list)


class Repeating:
    """A model that calls the same tool again and again. How many calls it was told of is in a file."""

    def __init__(self, folder):
        self.folder = folder

    async def reply(self, request):
        calls = sum(len(each.tool_calls) for each in request.messages)
        add(self.folder / "told", str(calls))
        call = ToolCall(id=uuid4().hex, name="check", arguments={})
        return ModelReply(message=Message(role="assistant", tool_calls=(call,)), finish=Finish.CALLS)


class Shop:
    """Services: what is done through them is in files."""

    def __init__(self, folder, url):
        self.folder, self.url = folder, url
        self.model = Repeating(folder)
        self.tools = ToolBox([pay, charge, check, check_elsewhere])


@tool(policies=ONCE, repeat="keyed")
def pay(context: ToolContext, amount: int) -> None:
    asked = Request(context.services.url, b"", {"Idempotency-Key": context.idempotency_key})
    with urlopen(asked, timeout=10):
        add(context.services.folder / "asked to pay", context.idempotency_key)


@tool(policies=ONCE)
def charge(context: ToolContext, amount: int) -> None:
    add(context.services.folder / "charged", str(amount))


@tool(policies=ONCE, repeat="safe")
def check() -> None:
    raise LookupError("nothing there")


@tool(policies=ONCE, repeat="safe")
def check_elsewhere() -> None:
    raise LookupError("nothing there either")


async def pay_and_charge(context, work):
    await work.call("pay", amount=5)
    await work.call("charge", amount=5)


async def only_pay(context, work):
    await work.call("pay", amount=5)


async def look(context, work):
    for count in range(100):
        await work.call("check")
        await work.sleep(f"a moment, {count}", "10ms")


async def stand_still(context, work):
    if not (await work.escapes()).count:
        await work.sleep("for long", "1d")


async def mend(context, work):
    add(work.services.folder / "repairs", work.idempotency_key("mended"))


def note(context, event):
    context.messages.append("looks")


@dataclass(frozen=True)
class WayOut:
    """A strategy, in the circumstances in which it is open, and what is true once the agent has come to rest."""

    strategies: tuple
    ends_in: str = "GAVE_UP"
    pays: object = pay_and_charge  # once; that may be done again if only that is paid
    looks: object = look  # what it does then, until it gets out
    more: tuple = ()  # transitions
    watchdog: Watchdog | None = None  # what asks for it; None if the agent does so itself
    doors: tuple = ()

    @property
    def name(self):
        """That of the strategy which leads on."""
        return self.strategies[-1].name

    @property
    def charges(self):
        """How often it charges."""
        return int(self.pays is pay_and_charge)

    @property
    def told(self):
        """Of how many calls its model, if it has one, is told at one time or another: never of those left out."""
        return {"0", "1", "2"} if isinstance(self.looks, ModelLoop) else set()

    @property
    def alerts(self):
        """How many alerts go with it."""
        return sum(isinstance(each, Alert) for each in self.strategies)

    @property
    def tried(self):
        """What is tried in the end."""
        return [self.name, "give_up"] if self.ends_in == "GAVE_UP" and self.name != "give_up" else [self.name]


TO_DESK = Handoff("desk", at="LOOKING_AT_IT")
WAYS_OUT = {
    "nudge": WayOut((Nudge(),)),
    "switch_tool": WayOut((SwitchTool("check_elsewhere"),)),
    "reroute by transition": WayOut((Reroute(),), "ASKING", more=(Transition("LOOKING", "escape.reroute", "ASKING"),)),
    "reroute by entry point": WayOut((Reroute(),), "ASKING", doors=("ASKING",)),
    "cut_out": WayOut((CutOut(),)),
    "cut_out of a transcript": WayOut((CutOut(),), looks=ModelLoop(tools=[check], prompt=lambda _: "Look")),
    "rollback": WayOut((Rollback(),)),
    "rollback over a payment": WayOut((Rollback("checkpoint"),), pays=only_pay),
    "restart": WayOut((Restart(),), pays=only_pay),
    "repair": WayOut((Repair(Invoke(mend), then="ASKING"),), "ASKING"),
    "alert": WayOut((Alert("ops", "it fails"), Nudge())),
    "handoff": WayOut((HandOn(TO_DESK),), "HANDING_ON_TO_desk"),
    "to_human": WayOut((ToHuman("desk", at="LOOKING_AT_IT"),), "WAITING_FOR_HUMAN"),
    "give_up": WayOut((GiveUp(),)),
    "restart by the watchdog": WayOut(
        (Restart(),),
        "DONE",
        pays=only_pay,
        looks=stand_still,
        more=(Transition("LOOKING", "done.invoke.look", "DONE"),),
        watchdog=Watchdog("50ms", acts={"stuck": Act.RESTART}, terms=WatchdogTerms(learns=False)),
    ),
}

desk = StateTransitionGraph(
    "desk", states=["LOOKING_AT_IT"], entry_points=[EntryPoint("LOOKING_AT_IT", takes=HandoffPacket)]
)


def graph_of(way, name="escaping"):
    """The graph whose agents take a way out."""
    return StateTransitionGraph(
        name,
        context=Case,
        states=[
            State("PAYING", invoke=Invoke(way.pays, id="buy"), checkpoint=True),
            State("LOOKING", invoke=Invoke(way.looks, id="look"), expects="100ms" if way.watchdog else None),
            State("DONE", final=True),
        ],
        transitions=[
            Transition("PAYING", "done.invoke.buy", "PAID"),
            Transition("PAID", "GO", "LOOKING", actions=note),
            Transition("ASKING", "ANSWERED", "DONE"),
            *way.more,
        ],
        entry_points=["PAYING", *way.doors],
        signals=Signal(ToolFailures(3), "failing"),
        escape=EscapePlan({"failing": way.strategies}),
    )


class Sink:
    """Writes down what it gets."""

    def __init__(self, folder):
        self.folder = folder

    async def deliver(self, alert):
        add(self.folder / "alerts", alert.id)


class AttemptPoints(FaultPoints):
    """Counts as points of their own where the first turn is committed that tries a way out."""

    def __init__(self, point, count, way):
        super().__init__(point, count)
        self.event = f"escape.{way.name}"
        self.is_tried = False  # by what the transaction that is open has written

    def pass_around(self, statement, execute, *values):
        self.is_tried |= named(statement) == "INSERT history" and self.event in repr(values)
        return super().pass_around(statement, execute, *values)

    def pass_by(self, point):
        super().pass_by(point)
        if self.is_tried and point in ("before COMMIT", "after COMMIT"):
            super().pass_by(point.replace("COMMIT", "attempt"))
            self.is_tried = point == "before COMMIT"


async def live(url, folder, way):
    """Has the agent come to where its way out and what follows that lead."""
    with bank(folder) as bank_url:
        alerts = Alerts({"ops": Sink(folder)})
        more = {"services": Shop(folder, bank_url), "alerts": alerts, "watchdog": way.watchdog}
        home = Runtime.open(url, graphs=[graph_of(way), desk], **more)
        async with home as runtime, asyncio.timeout(60):
            agent = await runtime.start_or_resume("escaping", at="PAYING", agent_id=AGENT)
            while "PAID" in (await agent.until("PAID", way.ends_in, ended=True)).configuration:
                await agent.send("GO")
            if way.ends_in in ("HANDING_ON_TO_desk", "WAITING_FOR_HUMAN"):
                await agent.until(ended=True)
            while len(lines(folder / "alerts")) < way.alerts:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


def main(url, file, point, count, way):
    points = AttemptPoints(point, int(count), WAYS_OUT[way])
    points.install()
    asyncio.run(live(url, Path(file).parent, WAYS_OUT[way]))
    Path(file).write_text(json.dumps(points.passed))
