"""A scripted HTTP server that sends any bytes, in any pieces, and keeps what it was sent."""

import asyncio
import json
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Raw:
    """An answer. Its pieces are sent as HTTP chunks, whose boundaries the client keeps."""

    pieces: tuple[bytes, ...]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    is_cut_off: bool = False  # whether the connection ends before the answer does


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    content: bytes

    @property
    def body(self):
        return json.loads(self.content)


@dataclass
class RawServer:
    url: str
    answers: list[Raw]
    asked: list[Asked] = field(default_factory=list)


def answer(value, **more):
    """An answer with a JSON body; bytes are sent as they are."""
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Raw((content,), headers={"content-type": "application/json"} | more.pop("headers", {}), **more)


def events(data, *, size=0, **more):
    """A stream of server-sent events as bytes, in pieces of so many bytes; in one piece if 0."""
    content = data if isinstance(data, bytes) else data.encode()
    pieces = [content[at : at + size] for at in range(0, len(content), size)] if size else [content]
    return Raw(tuple(pieces), headers={"content-type": "text/event-stream"} | more.pop("headers", {}), **more)


def unescaped(text):
    """JSON text with the characters themselves in place of escapes, so that pieces can end within them."""
    return re.sub(r"(?:\\u[0-9a-f]{4})+", lambda escapes: json.loads(f'"{escapes[0]}"'), text)


@asynccontextmanager
async def raw_server(*answers):
    """Open a server that gives the answers in turn, and the last one for ever."""
    server = RawServer("", list(answers))

    async def handle(reader, writer):
        try:
            while await _answered(server, reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(handle, "127.0.0.1", 0, limit=2**26)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        listening.close()


async def _answered(server, reader, writer):
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    content = await reader.readexactly(int(headers.get("content-length", 0)))
    method, path, _ = first.split(" ", 2)
    server.asked.append(Asked(method, path, headers, content))
    given = server.answers[min(len(server.asked), len(server.answers)) - 1]
    told = {"transfer-encoding": "chunked", "connection": "close"} | given.headers
    writer.write(f"HTTP/1.1 {given.status} Scripted\r\n".encode())
    writer.write("".join(f"{name}: {value}\r\n" for name, value in told.items()).encode() + b"\r\n")
    for piece in given.pieces:
        writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        await writer.drain()
    if not given.is_cut_off:
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    return False
