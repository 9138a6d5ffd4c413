"""An agent that goes back over calls, some of which are taken back before, in a process that kills itself at a point.

`main(url, file, point, count)` has it live to its end, and dies at the COUNT-th time that it comes to POINT (see
fault_points). With "nowhere" it lives, and leaves in FILE how often it came where. What the tools do is in a file
beside that, and so is what a bank paid, which is asked over HTTP and pays once for each key.
"""

import asyncio
import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.request import Request, urlopen

from gatechart import EscapePlan, Runtime, State, StateTransitionGraph, ToolBox, Transition, tool
from gatechart.escape import Restart
from gatechart.graph.definition import Invoke
from gatechart.graph.signals import Signal
from gatechart.signals import ToolFailures
from gatechart.tools import ToolContext
from gatechart.values.tool_policies import ToolPolicies
from tests.crash.fault_points import FaultPoints

ONCE = ToolPolicies(retry="off", breaker="off")


@contextmanager
def bank(folder):
    """A server that pays once for each idempotency key, and yields its address."""

    class Bank(BaseHTTPRequestHandler):
        def do_POST(self):
            key = self.headers["Idempotency-Key"]
            if key not in lines(folder / "paid"):
                add(folder / "paid", key)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Bank)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def lines(file):
    return file.read_text().split("\n")[:-1] if file.exists() else []


def add(file, line):
    with file.open("a") as opened:
        opened.write(f"{line}\n")


class Desk:
    def __init__(self, folder, url):
        self.url = url
        self.deeds = folder / "deeds"
        self.tools = ToolBox([book, cancel, pay, check])


@tool(policies=ONCE)
async def cancel(context: ToolContext, seat: str) -> None:
    add(context.services.deeds, f"cancel {seat}")


@tool(policies=ONCE, undo=cancel)
async def book(context: ToolContext, seat: str) -> str:
    add(context.services.deeds, f"book {seat}")
    return seat


@tool(policies=ONCE, repeat="keyed")
def pay(context: ToolContext, amount: int) -> str:
    asked = Request(context.services.url, b"", {"Idempotency-Key": context.idempotency_key})
    with urlopen(asked, timeout=10):
        return f"paid {amount}"


@tool(policies=ONCE, repeat="safe")
async def check(context: ToolContext) -> str:
    if "cancel 1A" not in lines(context.services.deeds):
        raise LookupError("nothing there")
    return "fine"


async def buy(context, work):
    for seat in ("1A", "1B"):
        await work.call("book", seat=seat)
    await work.call("pay", amount=5)


async def look(context, work):
    return [(await work.call("check")).ok for _ in range(3)]


undoing = StateTransitionGraph(
    "undoing",
    states=[
        State("BUYING", invoke=Invoke(buy)),
        State("LOOKING", invoke=Invoke(look)),
        State("DONE", final=True),
    ],
    transitions=[
        Transition("BUYING", "done.invoke.buy", "LOOKING"),
        Transition("LOOKING", "done.invoke.look", "DONE"),
    ],
    entry_points=["BUYING"],
    signals=Signal(ToolFailures(3), "failing"),
    escape=EscapePlan({"failing": Restart()}),
)


async def live(url, folder):
    """Has the agent come to its end."""
    with bank(folder) as bank_url:
        async with Runtime.open(url, graphs=[undoing], services=Desk(folder, bank_url)) as runtime:
            agent = await runtime.start_or_resume("undoing", at="BUYING", agent_id="u-1")
            await agent.until("DONE", "GAVE_UP", timeout=20)


def main(url, file, point, count):
    points = FaultPoints(point, int(count))
    points.install()
    asyncio.run(live(url, Path(file).parent))
    Path(file).write_text(json.dumps(points.passed))
