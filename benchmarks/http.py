"""How many events a second `gatechart serve` takes over HTTP, and how long each answer takes at half of the target."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from math import ceil
from time import perf_counter
from urllib.parse import urlsplit

from benchmarks.databases import new_file, url
from benchmarks.measure import Better, Contestant, Effort, Measure, Role, Round, per_second
from benchmarks.ring import EVENT, STATES, ring

TARGET = 1500  # answers per second
CONNECTIONS = 256
AGENTS = 1000
EVENTS = 3000  # of a round, at the least

SEND = json.dumps({"event": EVENT}).encode()


class Connection(asyncio.Protocol):
    """A connection that is kept, and does one request after the other, as cheaply as Python can."""

    def __init__(self) -> None:
        self._got = b""
        self._waiting: asyncio.Future[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, found, body = self._got.partition(b"\r\n\r\n")
        if found and self._waiting is not None:
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            if len(body) >= length:
                if b" 20" not in head[8:12]:
                    self._waiting.set_exception(RuntimeError(self._got[:300].decode()))
                else:
                    self._waiting.set_result(body)
                self._got = b""

    def connection_lost(self, error: Exception | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionError("the server closed the connection"))

    async def post(self, path: str, body: bytes) -> bytes:
        self._waiting = asyncio.get_running_loop().create_future()
        head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        return await self._waiting


@contextmanager
def process(*arguments: str) -> Iterator[str]:
    """A server in a process of its own; its URL."""
    server = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["url"]
    finally:
        server.terminate()
        server.communicate(timeout=30)


@asynccontextmanager
async def connected(server: str, most: int) -> AsyncIterator[list[Connection]]:
    address = urlsplit(server)
    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(Connection, address.hostname, address.port) for _ in range(most)]
    try:
        yield [protocol for _, protocol in made]
    finally:
        for transport, _ in made:
            transport.close()


@asynccontextmanager
async def ours() -> AsyncIterator[str]:
    """`gatechart serve` with its agents."""
    with new_file() as path:
        serve = ["-m", "gatechart", "serve", "--json", "--port", "0"]
        with process(*serve, "--app", "benchmarks.ring:ring", "--store", url(path)) as server:
            async with connected(server, CONNECTIONS) as connections:
                await _start(connections)
            yield server


@asynccontextmanager
async def bare() -> AsyncIterator[str]:
    """The same server program, with an application that reads the request and answers with bytes of the same size."""
    with process("-m", "benchmarks.http_bare") as server:
        yield server


def speed(serve: Callable[[], AbstractAsyncContextManager[str]]) -> Round:
    async def repeat(count: int) -> float:
        async with serve() as server, connected(server, CONNECTIONS) as connections:
            return await _at_once(connections, count)

    return per_second(repeat, EVENTS)


def slowness(serve: Callable[[], AbstractAsyncContextManager[str]], part: float) -> Round:
    """Rounds that give the milliseconds within which so large a part of the answers came, at half of the target."""

    async def one_round(effort: Effort) -> float:
        count = effort.part_of(TARGET * 4, TARGET)
        async with serve() as server, connected(server, CONNECTIONS) as connections:
            await _at_once(connections, EVENTS)
            taken = sorted(await _at_rate(connections, count, TARGET / 2))
            return 1000 * taken[ceil(part * len(taken)) - 1]

    return one_round


async def _start(connections: list[Connection]) -> None:
    numbers = iter(range(AGENTS))

    async def work(connection: Connection) -> None:
        for number in numbers:
            start = {"graph": ring.name, "at": STATES[0], "agent_id": f"a{number}"}
            await connection.post("/agents", json.dumps(start).encode())

    await asyncio.gather(*map(work, connections))


async def _at_once(connections: list[Connection], count: int) -> float:
    """The seconds for so many requests, each connection doing one after the other."""
    numbers = iter(range(count))

    async def work(connection: Connection) -> None:
        for number in numbers:
            await connection.post(f"/agents/a{number % AGENTS}/events", SEND)

    began = perf_counter()
    await asyncio.gather(*map(work, connections))
    return perf_counter() - began


async def _at_rate(connections: list[Connection], count: int, rate: float) -> list[float]:
    """The seconds that each answer took, from the moment on at which its request was due."""
    numbers, taken, began = iter(range(count)), list[float](), perf_counter()

    async def work(connection: Connection) -> None:
        for number in numbers:
            due = began + number / rate
            await asyncio.sleep(max(0.0, due - perf_counter()))
            await connection.post(f"/agents/a{number % AGENTS}/events", SEND)
            taken.append(perf_counter() - due)

    await asyncio.gather(*map(work, connections))
    return taken


sends = Measure(
    "http",
    f"Events sent through `gatechart serve`, {CONNECTIONS} connections, {AGENTS:,} agents in SQLite",
    "events/s",
    Better.HIGHER,
    (
        Contestant("uvicorn alone, an answer of the same size", speed(bare), Role.RAW),
        Contestant("gatechart serve", speed(ours), target=TARGET),
    ),
)

answers = Measure(
    "http-p99",
    f"99 of 100 answers at {TARGET // 2} events/s came within",
    "ms",
    Better.LOWER,
    (
        Contestant("uvicorn alone, an answer of the same size", slowness(bare, 0.99), Role.RAW),
        Contestant("gatechart serve, half of the answers", slowness(ours, 0.5)),
        Contestant("gatechart serve", slowness(ours, 0.99), target=50),
    ),
)
