"""How far through the code events, posted mail, handoffs, tool calls, model loops and escapes travel.

Counts gatechart's own functions while an agent is on its way a second time, in every thread: the calls, the files they
lie in, how often one call lies in another file than the call before it (within a thread), and how often a context is
read from JSON. A coroutine counts once, however often it is resumed; lambdas and comprehensions do not count, nor do
the tasks that a runtime has when it is idle. `--paths` prints the way of each journey as well, a line for each file
on it, thread by thread. `--checkout FOLDER` traces the gatechart of another checkout.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import groupby, pairwise
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any, TypeAlias

import gatechart
from benchmarks.checkout import command, environment
from gatechart import (
    AgentContext,
    ConversationContext,
    EntryPoint,
    EscapePlan,
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
from gatechart.escape import GiveUp, Reroute
from gatechart.graph.definition import Invoke
from gatechart.handoff import Message, ToolCall
from gatechart.models.model import Finish, ModelReply, ModelRequest
from gatechart.signals import looping

SOURCE = str(Path(gatechart.__file__).parent)
QUIET_S = 0.25  # without a call: then a journey is over
TIMES = 5  # a journey is traced, after the first time, unless asked otherwise; the figure is the least

Drive: TypeAlias = Callable[[Runtime, int], Coroutine[Any, Any, Callable[[], Awaitable[object]]]]
"""Prepares agents of a runtime for so many times, and returns what is to be traced."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What one journey takes."""

    calls: int
    files: int
    moves: int  # from one file to another
    parses: int  # of contexts


@dataclass(frozen=True, slots=True)
class Journey:
    """What a journey takes, and the way that it went the last time."""

    figures: Figures
    path: Sequence[str]


class Counted(AgentContext):
    """The context of the agents that get events."""

    moves: int = 0


def count(context: Counted, event: object) -> None:
    context.moves += 1


single = StateTransitionGraph(
    "single",
    context=Counted,
    states=["WAITING"],
    transitions=[Transition("WAITING", "CHANGED", "WAITING", actions=count)],
    entry_points=["WAITING"],
)
orders = StateTransitionGraph(
    "orders",
    context=ConversationContext,
    states=["TALKING", "WAITING", "HANDED_OVER"],
    transitions=[
        Transition("TALKING", "REFUND_ASKED", "WAITING", actions=Handoff("refunds", at="REVIEWING")),
        Transition("WAITING", "handoff.accepted", "HANDED_OVER"),
    ],
    entry_points=["TALKING"],
)
refunds = StateTransitionGraph(
    "refunds",
    context=ConversationContext,
    states=["REVIEWING"],
    transitions=[Transition("REVIEWING", "PAID", "REVIEWING")],
    entry_points=[EntryPoint("REVIEWING", takes=HandoffPacket)],
)


@tool(repeat="safe")
async def look_up(topic: str) -> str:
    """Look a topic up."""
    return f"about {topic}"


class OneCall:
    """A model that makes one call for each message of a user, and then answers."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        last = request.messages[-1]
        if last.role == "user":
            call = ToolCall(id=f"call_{len(request.messages)}", name="look_up", arguments={"topic": last.content})
            return ModelReply(message=Message(role="agent", tool_calls=(call,)), finish=Finish.CALLS)
        return ModelReply(message=Message(role="agent", content="Done."), finish=Finish.ANSWERED)


class Services:
    """Services of the agents that work."""

    def __init__(self) -> None:
        self.model = OneCall()
        self.tools = ToolBox([look_up])


async def look(_context: Counted, work: Any) -> str:
    result = await work.call("look_up", topic="the weather")
    return str(result.value)


def hear(context: ConversationContext, event: Any) -> None:
    context.say("user", "What is the weather?", time=event.time)


looker = StateTransitionGraph(
    "looker",
    context=Counted,
    states=[State("WORKING", invoke=Invoke(look, id="look"))],
    transitions=[Transition("WAITING", "ASKED", "WORKING"), Transition("WORKING", "done.invoke.look", "WAITING")],
    entry_points=["WAITING"],
)
talker = StateTransitionGraph(
    "talker",
    context=ConversationContext,
    states=[State("THINKING", invoke=Invoke(ModelLoop(tools=[look_up]), id="think"))],
    transitions=[
        Transition("LISTENING", "ASKED", "THINKING", actions=hear),
        Transition("THINKING", "done.invoke.think", "LISTENING"),
    ],
    entry_points=["LISTENING"],
)
searcher = StateTransitionGraph(
    "searcher",
    context=Counted,
    states=[State("FOUND", final=True)],
    transitions=[
        Transition("SEARCHING", "MISSED", "REPHRASING"),
        Transition("REPHRASING", "REPHRASED", "SEARCHING"),
        Transition("SEARCHING", "SEEN", "FOUND"),
        Transition("ASKING", "ANSWERED", "FOUND"),
    ],
    entry_points=["SEARCHING", "ASKING"],
    signals=looping(),
    escape=EscapePlan({"repeats": Reroute()}, last=GiveUp()),
)
GRAPHS = [single, orders, refunds, looker, talker, searcher]
CIRCLE = ("MISSED", "REPHRASED")


async def event(runtime: Runtime, _times: int) -> Callable[[], Awaitable[object]]:
    agent = await runtime.start("single", at="WAITING")
    return lambda: agent.send("CHANGED")


async def post(runtime: Runtime, _times: int) -> Callable[[], Awaitable[object]]:
    agent = await runtime.start("single", at="WAITING")
    return lambda: runtime.post(agent.id, "CHANGED")


async def handoff(runtime: Runtime, times: int) -> Callable[[], Awaitable[object]]:
    agents = iter([await runtime.start("orders", at="TALKING") for _ in range(times)])
    return lambda: next(agents).send("REFUND_ASKED")


async def tool_call(runtime: Runtime, _times: int) -> Callable[[], Awaitable[object]]:
    agent = await runtime.start("looker", at="WAITING")
    return lambda: agent.send("ASKED")


async def model_loop(runtime: Runtime, _times: int) -> Callable[[], Awaitable[object]]:
    agent = await runtime.start("talker", at="LISTENING")

    async def drive() -> None:
        await agent.send("ASKED")
        await agent.until("LISTENING")

    return drive


async def escape(runtime: Runtime, times: int) -> Callable[[], Awaitable[object]]:
    """Bring agents to the event after which a circle is noticed, which a first agent finds."""
    first = await runtime.start("searcher", at="SEARCHING")
    events = 0
    while first.configuration != ("ASKING",):
        await first.send(CIRCLE[events % len(CIRCLE)])
        events += 1
        await asyncio.sleep(QUIET_S)
    agents = [await runtime.start("searcher", at="SEARCHING") for _ in range(times)]
    for agent in agents:
        for number in range(events - 1):
            await agent.send(CIRCLE[number % len(CIRCLE)])
    waiting = iter(agents)

    async def drive() -> None:
        agent = next(waiting)
        await agent.send(CIRCLE[(events - 1) % len(CIRCLE)])
        await agent.until("ASKING")

    return drive


JOURNEYS: Mapping[str, Drive] = {
    "an event": event,
    "posted mail until applied": post,
    "a handoff until its answer": handoff,
    "a tool call until its state is left": tool_call,
    "a model loop with one call": model_loop,
    "a signal until its escape": escape,
}


@dataclass(slots=True)
class Trace:
    """What was called since it was cleared, by thread."""

    calls: dict[int, list[CodeType]] = field(default_factory=dict)
    parses: int = 0
    idle: frozenset[asyncio.Task[Any]] = frozenset()  # those of the runtime itself, which take no part
    _alive: list[FrameType] = field(default_factory=list)  # so that no other frame is taken for one of these
    _seen: set[int] = field(default_factory=set)

    def clear(self) -> None:
        self.calls.clear()
        self.parses = 0
        self._alive.clear()
        self._seen.clear()

    def note(self, frame: FrameType, kind: str, _argument: object) -> None:
        """Note the call of a function; `sys.setprofile` takes this."""
        code = frame.f_code
        if kind != "call" or not code.co_filename.startswith(SOURCE) or code.co_name.startswith("<"):
            return
        if threading.current_thread() is threading.main_thread() and asyncio.current_task() in self.idle:
            return
        if id(frame) not in self._seen:  # a coroutine that is resumed is called again, with the same frame
            self._seen.add(id(frame))
            self._alive.append(frame)
            self.calls.setdefault(threading.get_ident(), []).append(code)

    def by_thread(self) -> Sequence[Sequence[CodeType]]:
        return list(self.calls.values())

    def paths(self) -> Iterator[str]:
        """The files in the order in which they were called, each with its functions; a line for each."""
        for number, calls in enumerate(self.by_thread(), 1):
            yield f"  thread {number}"
            for name, inside in groupby(calls, attrgetter("co_filename")):
                yield f"    {Path(name).relative_to(SOURCE)}: {', '.join(code.co_qualname for code in inside)}"

    def figures(self) -> Figures:
        threads = [[code.co_filename for code in calls] for calls in self.by_thread()]
        return Figures(
            sum(map(len, threads)),
            len({name for names in threads for name in names}),
            sum(before != after for names in threads for before, after in pairwise(names)),
            self.parses,
        )


@contextmanager
def traced_threads(trace: Trace) -> Iterator[None]:
    """Trace the threads that begin inside as well, such as the one that writes."""
    threading.setprofile(trace.note)
    try:
        yield
    finally:
        threading.setprofile(None)


@asynccontextmanager
async def traced(trace: Trace) -> AsyncIterator[None]:
    """Trace what happens inside, and what follows from it."""
    trace.clear()
    sys.setprofile(trace.note)
    try:
        yield
        await quiet(trace)
    finally:
        sys.setprofile(None)


async def quiet(trace: Trace) -> None:
    """Wait until nothing is called any more."""
    before = -1
    while (now := sum(map(len, trace.by_thread()))) != before:
        before = now
        await asyncio.sleep(QUIET_S)


def count_parses(kind: type[AgentContext], trace: Trace) -> None:
    """Count how often a context of the kind, or one made from it, is read from JSON."""
    validator: Any = kind.__pydantic_validator__

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return getattr(validator, name)

        def validate_json(self, *arguments: Any, **options: Any) -> Any:
            trace.parses += 1
            return validator.validate_json(*arguments, **options)

    kind.__pydantic_validator__ = Counting()  # type: ignore[assignment]
    kind.__pydantic_init_subclass__ = classmethod(  # type: ignore[assignment,method-assign]
        lambda frozen, **_: count_parses(frozen, trace)
    )


async def journeys(url: str, trace: Trace, times: int) -> dict[str, Journey]:
    """Every journey, on a store."""
    async with Runtime.open(url, graphs=GRAPHS, services=Services()) as runtime:
        await asyncio.sleep(QUIET_S)  # it may still look for what waited for it
        trace.idle = frozenset(asyncio.all_tasks()) - {asyncio.current_task()}
        return {name: await journey(await drive(runtime, 1 + times), trace, times) for name, drive in JOURNEYS.items()}


async def journey(drive: Callable[[], Awaitable[object]], trace: Trace, times: int) -> Journey:
    async with traced(trace):  # the first time finds the plans
        await drive()
    found = []
    for _ in range(times):
        async with traced(trace):
            await drive()
        found.append(trace.figures())
    # On a busy machine tasks run in another order, and moves between two of them are on the way of neither.
    least = (min(figures) for figures in zip(*(asdict(each).values() for each in found), strict=True))
    return Journey(Figures(*least), tuple(trace.paths()))


def measured(times: int) -> dict[str, dict[str, Journey]]:
    """The journeys, by store and name."""
    trace = Trace()
    for kind in (Counted, ConversationContext):
        count_parses(kind, trace)
    with TemporaryDirectory(prefix="gatechart-bench-") as folder, traced_threads(trace):
        stores = {"in memory": "memory:", "SQLite": f"sqlite+aiosqlite:///{folder}/agents.db"}
        return {name: asyncio.run(journeys(url, trace, times)) for name, url in stores.items()}


def table(found: Mapping[str, Mapping[str, Journey]]) -> str:
    lines = [f"{'':46} {'calls':>6} {'files':>6} {'moves':>6} {'parses':>7}"]
    for store, journeys in found.items():
        for name, journey in journeys.items():
            each = journey.figures
            lines.append(f"{f'{name}, {store}':46} {each.calls:6} {each.files:6} {each.moves:6} {each.parses:7}")
    return "\n".join(lines)


def paths(found: Mapping[str, Mapping[str, Journey]]) -> str:
    return "\n".join(
        line
        for store, journeys in found.items()
        for name, journey in journeys.items()
        for line in ("", f"{name}, {store}", *journey.path)
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.journeys", description=__doc__)
    parser.add_argument("--checkout", type=Path, help="trace the gatechart of this checkout")
    parser.add_argument("--times", type=int, default=TIMES, help="how often each journey is traced")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--paths", action="store_true", help="print the way of each journey, file by file")
    asked = parser.parse_args()
    if asked.checkout is not None:
        options = [option for option, is_asked in (("--json", asked.json), ("--paths", asked.paths)) if is_asked]
        options.append(f"--times={asked.times}")
        with environment(asked.checkout) as variables:
            return subprocess.run(command("benchmarks.journeys", *options), env=variables, check=False).returncode
    found = measured(asked.times)
    figures = {store: {name: asdict(each.figures) for name, each in some.items()} for store, some in found.items()}
    print(json.dumps(figures, indent=2) if asked.json else table(found))
    if asked.paths:
        print(paths(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
