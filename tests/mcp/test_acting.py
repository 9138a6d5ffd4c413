"""Tools of MCP servers that act and then answer badly: the call is in doubt, and only a safe tool is called again."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp.types import Tool as McpTool

from gatechart import (
    AgentContext,
    EntryPoint,
    Event,
    Retry,
    Runtime,
    State,
    StateTransitionGraph,
    ToolBox,
    Transition,
    Work,
)
from gatechart.errors import InvalidToolError, McpServerError
from gatechart.mcp import HttpServer, McpTools, StdioServer
from gatechart.tools import FailureKind, ToolError, ToolPolicies
from tests.mcp.booking import ANY, BAD, booking
from tests.mcp.test_mcp import over_http

PROGRAM = Path(__file__).with_name("booking.py")
OVER_HTTP = [name for name in BAD if name != "crash"]


@dataclass
class Services:
    tools: ToolBox


class Booked(AgentContext):
    failure: str = ""


async def book(_context: Booked, work: Work[Services]) -> str:
    result = await work.call(work.services.tools.names[0])
    return "" if result.failure is None else result.failure.kind.value


def keep(context: Booked, event: Event) -> None:
    context.failure = event.payload["result"]


DESK = StateTransitionGraph(
    "desk",
    context=Booked,
    states=[State("BOOKING", invoke=book), State("BOOKED", final=True)],
    transitions=[Transition("BOOKING", "done.invoke.book", "BOOKED", actions=keep)],
    entry_points=[EntryPoint("BOOKING")],
)


async def failure_in_agent(found: McpTools) -> str:
    """Return how the call of an agent ends, with the usual policies of tools."""
    async with Runtime.open("memory:", graphs=[DESK], services=Services(ToolBox(found.tools))) as runtime:
        agent = await runtime.start(DESK, at="BOOKING")
        await agent.until(ended=True)
        return agent.context.failure


@asynccontextmanager
async def served(folder: Path, *more: McpTool, is_json: bool = False, **options: Any) -> AsyncIterator[HttpServer]:
    """Serve the tools over HTTP."""
    with over_http(booking(folder, *more).streamable_http_app(json_response=is_json)) as address:
        yield HttpServer("booking", f"{address}/mcp", **options)


def program(folder: Path, **options: Any) -> StdioServer:
    """Return the server as a program."""
    return StdioServer("booking", [sys.executable, str(PROGRAM), str(folder)], **options)


def calls(folder: Path) -> list[str]:
    """Return the calls that the server got."""
    return (folder / "calls").read_text().split()


@pytest.mark.parametrize("name", OVER_HTTP)
async def test_a_tool_that_acted_is_called_once_over_http(tmp_path: Path, name: str) -> None:
    """Whatever is wrong with the answer, the outcome is unknown."""
    async with (
        served(tmp_path, tools=[name], answer_s=0.5 if name == "silent" else 60) as server,
        McpTools.open(server, pins=tmp_path / "p") as found,
    ):
        assert await failure_in_agent(found) == FailureKind.OUTCOME_UNKNOWN.value
    assert calls(tmp_path) == [name]


@pytest.mark.processes
@pytest.mark.parametrize("name", BAD)
async def test_a_tool_that_acted_is_called_once_over_stdio(tmp_path: Path, name: str) -> None:
    """Whatever is wrong with the answer, the outcome is unknown."""
    server = program(tmp_path, tools=[name], answer_s=0.5 if name == "silent" else 60)
    async with McpTools.open(server, pins=tmp_path / "p") as found:
        assert await failure_in_agent(found) == FailureKind.OUTCOME_UNKNOWN.value
    assert calls(tmp_path) == [name]


async def test_a_safe_tool_is_called_again(tmp_path: Path) -> None:
    """As often as its policies say."""
    twice = ToolPolicies(retry=Retry(attempts=2, first_s=0.001))
    async with (
        served(tmp_path, tools={"misfit": {"repeat": "safe", "policies": twice}}) as server,
        McpTools.open(server, pins=tmp_path / "p") as found,
    ):
        assert await failure_in_agent(found) == FailureKind.RAISED.value
    assert calls(tmp_path) == ["misfit", "misfit"]


async def test_json_answers_are_bounded_as_streams_are(tmp_path: Path) -> None:
    """A server may answer with either."""
    async with (
        served(tmp_path, is_json=True, tools=["large", "many", "fine"]) as server,
        McpTools.open(server, pins=tmp_path / "p") as found,
    ):
        large, many, fine = found.tools
        for each, what in ((large, "bytes"), (many, "brackets")):
            with pytest.raises(ToolError, match=f"its answer has more than .* {what}") as raised:
                await each()
            assert raised.value.in_doubt
        assert await fine() == 'seat 12\n{"seat": 12}'


async def test_a_call_that_was_never_sent_may_be_tried_again(tmp_path: Path) -> None:
    """The server has gone since it was connected."""
    async with AsyncExitStack() as stack:
        running = served(tmp_path, tools=["fine"])
        found = await stack.enter_async_context(McpTools.open(await running.__aenter__(), pins=tmp_path / "p"))
        await running.__aexit__(None, None, None)
        for _ in range(2):
            with pytest.raises(ToolError) as raised:
                await found.tools[0]()
            assert raised.value.retry
            assert not raised.value.in_doubt
    assert not (tmp_path / "calls").exists()


async def test_a_broken_connection_does_not_end_the_next_one(tmp_path: Path) -> None:
    """Two calls fail at once; the one after them is answered."""
    async with (
        served(tmp_path, is_json=True, tools=["large", "fine"]) as server,
        McpTools.open(server, pins=tmp_path / "p") as found,
    ):
        large, fine = found.tools
        failed = await asyncio.gather(large(), large(), return_exceptions=True)
        assert all(isinstance(each, ToolError) for each in failed)
        assert await fine() == 'seat 12\n{"seat": 12}'


RAW = """
import json, sys
folder, answer, *more = sys.argv[1:]
more = [json.loads(each) for each in more]
for line in sys.stdin:
    asked = json.loads(line)
    print("a line that is no message", flush=True)
    if asked.get("method") == "initialize":
        told = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "raw"}}
        told["serverInfo"]["version"] = "1"
    elif asked.get("method") == "tools/list":
        told = {"tools": [{"name": "book", "inputSchema": {"type": "object"}}, *more]}
    elif asked.get("method") == "tools/call":
        open(folder + "/calls", "a").write("book\\n")
        sys.stdout.buffer.write(bytes.fromhex(answer).replace(b"ID", str(asked["id"]).encode()) + b"\\n")
        sys.stdout.flush()
        continue
    elif "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": told}), flush=True)
"""

UNREADABLE = {
    "half a character": rb'{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"\ud800"}]}}',
    "cut off": rb'{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"te',
    "no result": rb'{"jsonrpc":"2.0","id":ID}',
    "a number that JSON has not": rb'{"jsonrpc":"2.0","id":ID,"result":{"content":NaN}}',
    "an unknown kind of content": rb'{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"hologram"}]}}',
    "content of no list": rb'{"jsonrpc":"2.0","id":ID,"result":{"content":{}}}',
    "an id at the end": rb'{"jsonrpc":"2.0","result":{"content":["\ud800"]},"id":ID}',
}


@pytest.mark.processes
@pytest.mark.parametrize(("name", "what"), [("large", "bytes"), ("many", "brackets"), ("several", "parts")])
async def test_a_large_answer_over_stdio_is_cut_off(tmp_path: Path, name: str, what: str) -> None:
    """The error names the limit, and the connection goes on."""
    async with McpTools.open(program(tmp_path, tools=[name, "photo"]), pins=tmp_path / "p") as found:
        bad, photo = found.tools
        with pytest.raises(ToolError, match=f"its answer has .*{what}") as raised:
            await bad()
        assert raised.value.in_doubt
        assert len(await photo()) == 2
    assert calls(tmp_path) == [name, "photo"]


@pytest.mark.processes
@pytest.mark.parametrize("answer", UNREADABLE.values(), ids=UNREADABLE)
async def test_an_answer_that_cannot_be_read_ends_the_call(tmp_path: Path, answer: bytes) -> None:
    """It does not wait until the limit. Lines that are no messages are passed over."""
    command = [sys.executable, "-c", RAW, str(tmp_path), answer.hex()]
    async with McpTools.open(StdioServer("raw", command, tools=["book"]), pins=tmp_path / "p") as found:
        assert await failure_in_agent(found) == FailureKind.OUTCOME_UNKNOWN.value
    assert calls(tmp_path) == ["book"]


async def test_a_tool_that_a_server_lists_twice_is_withheld(tmp_path: Path) -> None:
    """So is one whose name is too long. The others are there."""
    long = "n" * 500
    more = [McpTool(name="fine", input_schema=ANY), McpTool(name=long, input_schema=ANY)]
    async with (
        served(tmp_path, *more, tools=["fine", "photo", long]) as server,
        McpTools.open(server, pins=tmp_path / "p") as found,
    ):
        assert [each.name for each in found.tools] == ["booking.photo"]
        twice, unnamed = found.withheld
        assert "'fine' of the MCP server 'booking' cannot be used: the server has 2 tools of this name" in str(twice)
        assert "cannot be used" in str(unnamed)


BADLY = {
    "no_schema": {},
    "text": {"inputSchema": {"type": "string"}},
    "empty": {"inputSchema": {}},
    "described": {"inputSchema": {"type": "object"}, "description": 5},
    "answers": {"inputSchema": {"type": "object"}, "outputSchema": "x"},
}


@pytest.mark.processes
async def test_badly_described_tools_are_withheld(tmp_path: Path) -> None:
    """A tool without a name is left out. The others can be called."""
    more = [json.dumps({"name": name, **told}) for name, told in BADLY.items()] + ['{"name": 5}', "[]"]
    command = [sys.executable, "-c", RAW, str(tmp_path), b"{}".hex(), *more]
    server = StdioServer("raw", command, tools=["book", *BADLY])
    async with McpTools.open(server, pins=tmp_path / "p") as found:
        assert [each.name for each in found.tools] == ["raw.book"]
        assert {each.tool for each in found.withheld} == set(BADLY)
        assert "the server describes it badly: inputSchema: Field required" in str(found.withheld[0])


async def test_a_page_of_too_many_tools_is_refused(tmp_path: Path) -> None:
    """Before any of them is looked at."""
    more = [McpTool(name=f"tool{number}", input_schema=ANY) for number in range(2_100)]
    with pytest.raises(McpServerError, match=r"2,112 tools, and 2,000 at most"):
        async with (
            served(tmp_path, *more, tools=["fine"]) as server,
            McpTools.open(server, pins=tmp_path / "p"),
        ):
            pass


async def test_an_option_that_no_tool_of_a_server_can_have_is_refused(tmp_path: Path) -> None:
    """MCP has no way to send an idempotency key."""
    server = HttpServer("booking", "http://127.0.0.1:9/mcp", tools={"fine": {"repeat": "keyed"}})
    with pytest.raises(InvalidToolError, match="MCP has no way to send"):
        async with McpTools.open(server, pins=tmp_path / "p"):
            pass
