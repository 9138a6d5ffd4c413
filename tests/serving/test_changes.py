"""Committed turns as server-sent events: nothing is missed unnoticed, and nobody is held up."""

import asyncio
from contextlib import AsyncExitStack
from types import SimpleNamespace

import httpx
import pytest

from gatechart.api.codec import TURN
from gatechart.api.route import TURN as TURNS
from gatechart.clients import ChangesMissedError, HttpClient, event_streams
from gatechart.clients.event_streams import ServerEvent, told_events
from gatechart.serving import Lifecycle, listening
from gatechart.serving.event_stream import Cursor, EventStream, Missed, ReplayBuffer
from tests.serving.conftest import PATIENCE_S, serving, state_of, within

pytestmark = [pytest.mark.needs("watches_changes"), pytest.mark.sqlite_is_enough]


async def start(client, agent):
    await client.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id=agent)


async def taken(changes, count):
    return [await within(anext(changes)) for _ in range(count)]


async def test_turns_come_as_they_are_committed_to_all_who_watch(served, client):
    async with client.changes() as one, client.changes() as other:
        await start(client, "a")
        await client.send("a", "NOTED", {"note": "\u2028\n\x85"})
        entries = await taken(one, 2)
        assert entries == await taken(other, 2)
        assert tuple(entries) == tuple(await served.runtime.history("a"))


async def test_turns_of_the_framework_come_to_those_who_ask_for_them(served, client):
    async with client.changes() as usual, client.changes(framework=True) as whole:
        await client.schedule("nightly", "shop", at="OPEN", payload={"name": "Ada"}, every="1d")
        await start(client, "a")
        assert [entry.agent_id for entry in await taken(usual, 1)] == ["a"]
        assert [entry.agent_id for entry in await taken(whole, 2)] == ["schedule:nightly", "a"]


async def test_a_reader_that_comes_back_has_missed_nothing_if_only_turns_of_the_framework_are_gone():
    lifecycle = Lifecycle(buffer=3)
    async with serving(lifecycle=lifecycle) as found, HttpClient(found.url) as client, client.changes() as changes:
        await start(client, "a")
        await taken(changes, 1)
        for number in range(5):
            await client.schedule(f"nightly-{number}", "shop", at="OPEN", payload={"name": "Ada"}, every="1d")
        waiting = asyncio.ensure_future(anext(changes))  # it reads the positions of turns that it does not get
        while changes._events._position != str(lifecycle.buffer.end):  # noqa: ASYNC110
            await asyncio.sleep(0)
        for protocol in list(state_of(found.server).connections):
            protocol.transport.abort()
        await found.runtime.post("a", "COUNTED")
        assert (await within(waiting)).version == 2


async def test_an_unknown_field_in_the_query_of_changes_is_refused(served, http):
    refused = await http.get("/changes", params={"frame": "true"})
    assert refused.status_code == 422
    assert "frame" in refused.json()["message"]


async def test_a_stream_that_is_cut_goes_on_where_it_was(served, client):
    await start(client, "a")
    async with client.changes() as changes:
        await client.send("a", "COUNTED")
        (first,) = await taken(changes, 1)
        for protocol in list(state_of(served.server).connections):
            protocol.transport.abort()
        for _ in range(3):
            await served.runtime.post("a", "COUNTED")
        assert [entry.version for entry in [first, *await taken(changes, 3)]] == [2, 3, 4, 5]


async def test_a_reader_that_comes_back_too_late_is_told_how_much_it_missed(served):
    lifecycle = Lifecycle(buffer=3)
    async with serving(lifecycle=lifecycle) as found, HttpClient(found.url) as client:
        await start(client, "a")
        async with httpx.AsyncClient(base_url=found.url, trust_env=False) as http:
            headers = {"last-event-id": f"{lifecycle.buffer.end.buffer}-0"}
            for _ in range(5):
                await client.send("a", "COUNTED")
            async with http.stream("GET", "/changes", headers=headers) as stream:
                events = told_events(stream.aiter_raw())
                told = [await within(anext(events)) for _ in range(5)]
    assert [each.kind for each in told] == ["", "missed", "turn", "turn", "turn"]
    assert told[1].data == b'{"lost":3}'
    assert [each.id.rpartition("-")[2] for each in told] == ["0", "3", "4", "5", "6"]


async def test_a_stream_goes_on_over_a_new_server_and_says_that_some_may_be_missed(sqlite_url):
    async with AsyncExitStack() as stack:
        async with serving(sqlite_url) as first:
            port = int(first.url.rpartition(":")[2])
            client = await stack.enter_async_context(HttpClient(first.url))
            await start(client, "a")
            changes = await stack.enter_async_context(client.changes())
        async with serving(sqlite_url, port=port) as second:
            await second.runtime.post("a", "COUNTED")
            with pytest.raises(ChangesMissedError, match="read the history"):
                await within(anext(changes))
            assert (await within(anext(changes))).version == 2


async def test_a_server_that_stops_ends_its_streams():
    async with serving() as found, httpx.AsyncClient(base_url=found.url, trust_env=False) as http:
        async with http.stream("GET", "/changes") as stream:
            parts = stream.aiter_raw()
            await within(anext(parts))
            found.lifecycle.stop()
            with pytest.raises(StopAsyncIteration):
                await within(anext(parts))
        assert (await http.get("/health/ready")).json() == {"status": "stopping"}


async def test_while_a_server_drains_nobody_is_given_a_stream_that_ends_at_once():
    async with serving() as found, httpx.AsyncClient(base_url=found.url, trust_env=False) as http:
        found.lifecycle.stop()
        refused = await within(http.get("/changes"))
        assert (refused.status_code, refused.json()["error"], refused.headers["retry-after"]) == (503, "NotReady", "1")


async def test_a_stream_that_brings_nothing_again_and_again_is_asked_for_less_and_less(monkeypatch):
    asked, waited = 0, []

    async def barren(scope, receive, send):
        nonlocal asked
        asked += 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"id: t-0\n\n"})

    async def sleep(seconds):
        waited.append(seconds)
        if len(waited) == 8:
            raise TimeoutError("that is enough")

    async with (
        listening(barren, host="127.0.0.1", port=0, has_token=False) as server,
        HttpClient(server.url) as client,
        client.changes() as changes,
    ):
        monkeypatch.setattr(event_streams, "asyncio", SimpleNamespace(sleep=sleep))
        with pytest.raises(TimeoutError, match="enough"):
            await within(anext(changes))
    assert waited == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    assert asked == 9


@pytest.mark.parametrize("place", ["x", "-1", "1", "x-y", "a-1-", "9" * 40])
async def test_a_place_that_cannot_be_is_refused(place):
    async with serving() as found, httpx.AsyncClient(base_url=found.url, trust_env=False) as http:
        assert (await http.get("/changes", headers={"last-event-id": place})).status_code == 422


async def test_a_reader_that_leaves_or_sleeps_costs_nobody_anything():
    lifecycle = Lifecycle(buffer=50)
    async with serving(lifecycle=lifecycle) as found, HttpClient(found.url) as client:
        await start(client, "a")
        sleeper, writer = await asyncio.open_connection("127.0.0.1", int(found.url.rpartition(":")[2]))
        writer.write(b"GET /changes HTTP/1.1\r\nhost: localhost\r\n\r\n")
        await within(sleeper.readuntil(b"\n\n"))
        async with client.changes() as changes:
            for number in range(100):
                await client.send("a", "NOTED", {"note": "x" * 1000})
                assert (await within(anext(changes))).version == number + 2
        writer.transport.abort()
        tasks = state_of(found.server).tasks
        async with asyncio.timeout(PATIENCE_S):
            while tasks:  # noqa: ASYNC110  nothing tells
                await asyncio.sleep(0.01)


async def test_a_reader_that_does_not_read_is_let_go():
    sent = []

    async def send(message):
        sent.append(message["type"])
        if len(sent) > 1:
            await asyncio.Event().wait()

    async def receive():
        await asyncio.Event().wait()

    buffer = ReplayBuffer("t", 10, 1000)
    await within(EventStream(buffer, TURNS, buffer.end, stall_s=0.01)({"method": "GET"}, receive, send))
    assert sent == ["http.response.start", "http.response.body"]


async def test_a_reader_that_does_not_read_is_cut_off_and_keeps_little():
    buffer, kept = ReplayBuffer("t", 1000, 2**25), []
    for _ in range(320):
        buffer.add(b"x" * 100_000)

    async def application(scope, receive, send):
        transport = next(iter(state_of(server).connections)).transport

        async def measured(message):
            await send(message)
            kept.append(transport.get_write_buffer_size())

        await EventStream(buffer, TURNS, Cursor("t", 0), stall_s=0.2)(scope, receive, measured)

    async with listening(application, host="127.0.0.1", port=0, has_token=False) as server:
        port = int(server.url.rpartition(":")[2])
        _reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        writer.transport.pause_reading()
        writer.write(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        state = state_of(server)
        async with asyncio.timeout(PATIENCE_S):
            while not kept or state.connections or state.tasks:  # noqa: ASYNC110  nothing tells
                await asyncio.sleep(0.01)
        writer.transport.abort()
    assert 0 < max(kept) < 300_000


async def test_a_silent_stream_shows_that_it_lives():
    messages = asyncio.Queue()

    async def receive():
        await asyncio.Event().wait()

    buffer = ReplayBuffer("t", 10, 1000)
    stream = asyncio.create_task(
        EventStream(buffer, TURNS, buffer.end, beat_s=0.01)({"method": "GET"}, receive, messages.put)
    )
    bodies = [(await within(messages.get())).get("body") for _ in range(4)]
    assert bodies == [None, b"retry: 1000\nid: t-0\n\n", b":\n\n", b":\n\n"]
    buffer.close()
    await within(stream)


def test_a_buffer_keeps_the_newest_and_says_what_is_gone():
    buffer = ReplayBuffer("t", most=3, most_bytes=100)
    for number in range(1, 6):
        buffer.add(b"%d" % number)
    assert buffer.read(Cursor("t", 0), 9, 1000) == (Cursor("t", 5), Missed(2), (b"3", b"4", b"5"))
    assert buffer.read(Cursor("t", 3), 1, 1000) == (Cursor("t", 4), None, (b"4",))
    assert buffer.read(Cursor("t", 5), 9, 1000) == (Cursor("t", 5), None, ())
    assert buffer.read(Cursor("u", 4), 9, 1000) == (Cursor("t", 5), Missed(None), (b"3", b"4", b"5"))
    assert buffer.read(Cursor("t", 99), 9, 1000) == (Cursor("t", 5), Missed(None), (b"3", b"4", b"5"))
    assert buffer.read(Cursor("t", 2), 9, 2) == (Cursor("t", 4), None, (b"3", b"4"))
    assert buffer.read(Cursor("t", 2), 9, 0) == (Cursor("t", 3), None, (b"3",))
    buffer.add(b"x" * 1000)
    assert buffer.read(Cursor("t", 5), 9, 1000) == (Cursor("t", 6), None, (b"x" * 1000,))
    buffer.skip(4)
    assert buffer.read(Cursor("t", 6), 9, 1000) == (Cursor("t", 10), Missed(4), ())


async def test_a_turn_that_cannot_be_told_is_missed_and_the_next_is_told(monkeypatch, caplog):
    async with serving() as found, HttpClient(found.url) as client, client.changes() as changes:
        with monkeypatch.context() as patched:
            patched.setattr(TURN, "write", lambda entry: entry.nothing)
            await start(client, "a")
            with pytest.raises(ChangesMissedError) as missed:
                await within(anext(changes))
        assert missed.value.lost == 1
        assert [record.agent_id for record in caplog.records if record.levelname == "ERROR"] == ["a"]
        await client.send("a", "COUNTED")
        assert (await within(anext(changes))).version == 2


async def test_events_are_read_from_parts_of_any_size():
    text = b'retry: 1\nid: t-0\n\n:\n\nevent: turn\nid: t-1\ndata: {"a": "b: c"}\n\n'
    for size in range(1, len(text)):

        async def parts(size=size):
            for begin in range(0, len(text), size):
                yield text[begin : begin + size]

        found = [told async for told in told_events(parts())]
        assert found == [ServerEvent("", b"", "t-0"), ServerEvent("turn", b'{"a": "b: c"}', "t-1")]
