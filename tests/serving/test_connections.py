"""Connections of peers that send too much, too slowly, or nothing: each ends, and others are served meanwhile."""

import asyncio
import inspect
import json
import time
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import httpx
import pytest
from pydantic_core import to_json

from gatechart.cli.serve import serve_agents
from gatechart.serving import ServerLimits
from tests.serving.conftest import PATIENCE_S, process, serving, within

SHORT_S = 0.3
HEAD = b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n"
POST = b"POST /agents HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


@pytest.fixture
async def url():
    """The address of a server of little patience."""
    limits = ServerLimits(header_bytes=2_000, header_s=SHORT_S, body_s=SHORT_S, idle_s=SHORT_S)
    async with serving(server=limits) as found:
        yield httpx.URL(found.url)


@pytest.fixture
async def patient_url():
    """The address of a server that waits for a second, which a request takes on no machine."""
    async with serving(server=ServerLimits(header_s=1.0, body_s=1.0, idle_s=1.0)) as found:
        yield httpx.URL(found.url)


@asynccontextmanager
async def connected(url):
    reader, writer = await asyncio.open_connection(url.host, url.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def answer_to(url, *parts, pause_s=0.0):
    """All that comes back on a connection that the peer does not end: b"" where it is only closed."""
    async with connected(url) as (reader, writer):
        reading = asyncio.create_task(all_from(reader))
        for part in parts:
            writer.write(part)
            await asyncio.sleep(pause_s)
            if reading.done():
                break
        return await within(reading)


async def all_from(reader):
    """What comes until the server closes the connection, or resets it because it has not read all that was sent."""
    came = b""
    with suppress(ConnectionError):
        while part := await reader.read(65_536):
            came += part
    return came


def told(answer, status):
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer
    assert b"connection: close" in answer
    return json.loads(answer.partition(b"\r\n\r\n")[2])


def never():
    """Parts of something without an end, as many as nobody waits for."""
    return range(int(PATIENCE_S / 0.02))


@pytest.mark.parametrize(
    "parts",
    [
        [HEAD + b"x-long: " + b"y" * 3_000 + b"\r\n\r\n"],
        [HEAD + b"".join(b"x-%d: y\r\n" % number for number in range(500)) + b"\r\n"],
        [b"GET /" + b"y" * 3_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n"],
        [HEAD, b"x-long: ", *(b"y" * 100_000 for _ in range(50))],
        [b"GET /", *(b"y" * 100_000 for _ in range(50))],
    ],
    ids=["header", "headers", "path", "no end", "path without end"],
)
async def test_a_head_that_is_too_large_is_refused_with_the_limit(url, parts):
    async with connected(url) as (reader, writer):
        for part in parts:
            writer.write(part)
        head = await within(reader.readuntil(b"\r\n\r\n"))
        error = json.loads(await within(reader.read(200)))
    assert head.startswith(b"HTTP/1.1 431 ")
    assert error["error"] == "TooLarge"
    assert "2,000 bytes" in error["message"]


async def test_a_head_below_the_limit_is_answered(url):
    answer = await answer_to(url, HEAD + b"x-long: " + b"y" * 1_800 + b"\r\nconnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")


async def test_a_head_that_does_not_come_is_not_waited_for(url):
    assert "0.3 s" in told(await answer_to(url, HEAD), 408)["message"]


async def test_a_head_that_comes_a_little_at_a_time_is_not_waited_for(url):
    answer = await answer_to(url, HEAD, *(b"x-%d: y\r\n" % number for number in never()), pause_s=0.02)
    assert told(answer, 408)["error"] == "TooSlow"


async def test_a_body_that_comes_a_little_at_a_time_is_not_waited_for(url):
    head = POST + b"content-length: 100000\r\n\r\n"
    answer = await answer_to(url, head, *(b" " for _ in never()), pause_s=0.02)
    assert told(answer, 408)["error"] == "TooSlow"


async def test_headers_behind_a_body_are_bounded_too(url):
    chunked = POST + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    began = time.monotonic()
    answer = await answer_to(url, chunked, *(b"x-long: " + b"y" * 1_000 for _ in range(20)), pause_s=0.01)
    assert not answer.startswith(b"HTTP/1.1 2")
    assert time.monotonic() - began < PATIENCE_S


@pytest.mark.parametrize("sent", [b"", b"\r\n", HEAD + b"\r\n"], ids=["nothing", "line ends", "one request"])
async def test_a_silent_connection_is_closed(url, sent):
    answer = await answer_to(url, sent)
    assert answer.count(b"HTTP/1.1") == sent.count(b"HTTP/1.1")


async def test_line_ends_are_no_sign_of_life(url):
    assert await answer_to(url, HEAD + b"\r\n", *(b"\r\n" for _ in never()), pause_s=0.02)


async def test_requests_go_on_over_one_connection_as_long_as_they_come(patient_url):
    async with connected(patient_url) as (reader, writer):
        for _ in range(7):
            writer.write(HEAD + b"\r\n")
            head = await within(reader.readuntil(b"\r\n\r\n"))
            assert head.startswith(b"HTTP/1.1 200 ")
            await within(reader.readexactly(len(b'{"status":"alive"}')))
            await asyncio.sleep(0.2)


async def test_a_request_that_takes_long_is_not_taken_for_a_silent_connection(patient_url):
    async with httpx.AsyncClient(base_url=patient_url, trust_env=False, timeout=PATIENCE_S) as http:
        case = {"graph": "shop", "at": "OPEN", "payload": {"name": "Ada"}, "agent_id": "a"}
        (await http.post("/agents", json=case)).raise_for_status()
        slow = {"event": "DAWDLED", "payload": {"seconds": 2.5}}
        assert (await http.post("/agents/a/events", json=slow)).json()["applied"]
    second = to_json({"event": "COUNTED", "payload": {}})
    both = b"".join(
        b"POST /agents/a/events HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        b"content-length: %d\r\n\r\n%b" % (len(body), body)
        for body in (to_json(slow), second)
    )
    answers = await answer_to(patient_url, both)
    assert answers.count(b"HTTP/1.1 200 ") == 2


async def test_many_slow_peers_hold_up_nobody(url):
    slow = [asyncio.create_task(answer_to(url, HEAD)) for _ in range(200)]
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=PATIENCE_S) as http:
        assert (await http.get("/health/live")).status_code == 200
    assert all(answer.startswith(b"HTTP/1.1 408 ") for answer in await asyncio.gather(*slow))


async def test_limits_leave_room():
    for name in ("header_bytes", "header_s", "body_bytes", "body_values", "body_s", "idle_s", "answer_bytes"):
        with pytest.raises(ValueError, match=name):
            ServerLimits(**{name: 0})


def test_the_command_has_the_defaults_of_the_limits():
    options = {
        "max_body": "body_bytes",
        "max_values": "body_values",
        "max_connections": "connections",
        "max_headers": "header_bytes",
        "headers_time": "header_s",
        "body_time": "body_s",
        "idle_time": "idle_s",
        "max_answer": "answer_bytes",
        "max_registrations": "registrations",
        "max_alarms": "alarms",
    }
    parameters = inspect.signature(serve_agents).parameters
    assert {name: parameters[name].default for name in options} == {
        name: getattr(ServerLimits(), limit) for name, limit in options.items()
    }


def test_the_command_has_options_for_the_limits(sqlite_url):
    options = ["--max-headers", "1024", "--headers-time", "0.2", "--max-values", "3", "--max-body", "500"]
    with process(sqlite_url, *options, "--idle-time", "5", "--body-time", "5", "--max-answer", "1000") as served:
        with httpx.Client(base_url=served.url, trust_env=False, timeout=PATIENCE_S) as http:
            assert http.get("/health/live", headers={"x-long": "y" * 2_000}).status_code == 431
            refused = http.post(
                "/agents", json={"graph": "shop", "at": "OPEN", "payload": {"name": "Ada"}, "agent_id": "a"}
            )
            assert (refused.status_code, "3 values" in refused.json()["message"]) == (413, True)
            large = http.post("/agents", json={"graph": "x" * 600})
            assert (large.status_code, "500 bytes" in large.json()["message"]) == (413, True)
        code, _ = served.end()
    assert code == 0


@asynccontextmanager
async def streaming(url):
    """A connection on which the server is answering all the time."""
    async with connected(url) as (reader, writer):
        writer.write(b"GET /changes HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert await within(reader.readline()) == b"HTTP/1.1 200 OK\r\n"
        yield reader


CLOSING = b"connection: close\r\n\r\n"
QUIET = {
    "silent": b"",
    "line ends only": b"\r\n\r\n",
    "part of a head": HEAD,
    "idle after a request": HEAD + b"\r\n",
}


@pytest.mark.parametrize("sent", QUIET.values(), ids=QUIET)
async def test_any_number_of_quiet_connections_leaves_room_for_those_with_requests(sent):
    async with serving(server=ServerLimits(connections=20)) as served, AsyncExitStack() as stack:
        url = httpx.URL(served.url)
        for _ in range(70):
            _, writer = await stack.enter_async_context(connected(url))
            writer.write(sent)
        assert (await answer_to(url, HEAD + CLOSING)).startswith(b"HTTP/1.1 200 ")
        agents = b"GET /agents HTTP/1.1\r\nhost: localhost\r\n" + CLOSING
        assert (await answer_to(url, agents)).startswith(b"HTTP/1.1 200 ")


async def test_of_several_quiet_connections_those_that_sent_nothing_are_dropped_first_the_oldest_first():
    async with serving(server=ServerLimits(connections=4)) as served:
        url = httpx.URL(served.url)
        async with connected(url) as (beginning, begun), connected(url) as (idle, asked):
            begun.write(HEAD)
            asked.write(HEAD + b"\r\n")
            assert await within(idle.readline()) == b"HTTP/1.1 200 OK\r\n"
            async with connected(url) as (first, _), connected(url) as (second, _):
                assert (await answer_to(url, HEAD + CLOSING)).startswith(b"HTTP/1.1 200 ")
                assert await within(all_from(first)) == b""
                async with connected(url):
                    assert (await answer_to(url, HEAD + CLOSING)).startswith(b"HTTP/1.1 200 ")
                    assert await within(all_from(second)) == b""
            begun.write(CLOSING)
            asked.write(HEAD + CLOSING)
            assert (await within(all_from(beginning))).startswith(b"HTTP/1.1 200 ")
            assert b"HTTP/1.1 200 " in await within(all_from(idle))


async def test_a_connection_too_many_is_told_so_and_room_comes_back():
    async with serving(server=ServerLimits(connections=2)) as served:
        url = httpx.URL(served.url)
        async with streaming(url), streaming(url):
            refused = await answer_to(url, b"GET /agents HTTP/1.1\r\nhost: localhost\r\n\r\n")
            error = told(refused, 503)
            assert (error["error"], error["blame"]) == ("TooManyConnections", "outside")
            assert "2 connections" in error["message"]
            assert b"retry-after: 1" in refused
        async with asyncio.timeout(PATIENCE_S):
            while not (await answer_to(url, HEAD + CLOSING)).startswith(b"HTTP/1.1 200 "):
                pass


@pytest.mark.parametrize("path", [b"/health/live", b"/health/ready", b"/under/a/prefix/health/live?probe=1"])
async def test_the_health_of_a_server_can_be_asked_for_on_one_connection_too_many(path):
    async with serving(server=ServerLimits(connections=1)) as served:
        url = httpx.URL(served.url)
        async with streaming(url):
            answer = await answer_to(url, b"GET " + path + b" HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 404 " if b"prefix" in path else b"HTTP/1.1 200 ")
            assert b"connection: close" in answer


async def test_connections_too_many_that_say_nothing_make_room_for_a_question_about_the_health():
    async with serving(server=ServerLimits(connections=1)) as served:
        url = httpx.URL(served.url)
        async with streaming(url), AsyncExitStack() as stack:
            for _ in range(5):
                await stack.enter_async_context(connected(url))
            assert (await answer_to(url, HEAD + CLOSING)).startswith(b"HTTP/1.1 200 ")
