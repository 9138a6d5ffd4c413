"""What invokes publish, as server-sent events: tokens of a model reach whoever watches, and what is lost is told."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest

from gatechart import AgentContext, Invoke, State, StateTransitionGraph
from gatechart.clients import HttpClient, ItemsMissedError, ServerUnreachableError, open_database_client
from gatechart.clients.event_streams import told_events
from gatechart.errors import ElsewhereError, UndeclaredInvokeError, UnknownAgentError
from gatechart.serving import Lifecycle
from gatechart.serving.streams import InvokeStreams
from tests.insides import effects_of
from tests.serving.chat import MODEL, chat, model_of
from tests.serving.conftest import PATIENCE_S, TOKEN, process, serving, state_of, within

TOKENS = ("Turn ", "it off ", "and on ", "again.")


@asynccontextmanager
async def chatting(store="memory:", *tokens, lifecycle=None, **options):
    """A server of the chat, its model and a client."""
    async with (
        model_of(*(tokens or TOKENS)) as model,
        serving(store, graphs=[chat], services=model.url, lifecycle=lifecycle, **options) as served,
        HttpClient(served.url, graphs=[chat]) as client,
    ):
        yield served, client, model


async def taken(stream, count):
    return [await within(anext(stream)) for _ in range(count)]


def cut_all(served):
    for protocol in list(state_of(served.server).connections):
        protocol.transport.abort()


def recordings_of(streams):
    """The buffers that are kept of streams, by their names."""
    return streams._recordings


def idle_of(streams):
    """The buffers without readers, by their names."""
    return streams._idle


async def events_of(response):
    return [(told.kind, told.data.decode(), told.id) async for told in told_events(response.aiter_raw())]


async def until(condition):
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110  nothing tells
            await asyncio.sleep(0.01)


@pytest.mark.needs("watches_changes")
async def test_tokens_of_a_model_come_one_by_one_until_the_invoke_ends(place):
    async with chatting(place) as (_, client, model):
        agent = await client.start("chat", at="LISTENING", agent_id="a/1")
        async with client.stream("a/1", "think") as one, client.stream("a/1", "think") as other:
            await agent.send("ASKED")
            for token in TOKENS:
                model.say()
                assert [*await taken(one, 1), *await taken(other, 1)] == [token, token]
            assert [token async for token in one] == [token async for token in other] == []
        await within(agent.until("LISTENING"))
        assert agent.context.answer == "".join(TOKENS)


async def test_a_stream_may_be_watched_before_its_agent_exists():
    async with chatting() as (_, client, model), client.stream("a", "think") as stream:
        model.say(4)
        await client.start("chat", at="THINKING", agent_id="a")
        assert [token async for token in stream] == list(TOKENS)


async def test_who_comes_later_gets_what_is_published_from_then_on():
    async with chatting() as (_, client, model):
        await client.start("chat", at="THINKING", agent_id="a")
        async with client.stream("a", "think") as first:
            model.say()
            await taken(first, 1)
            async with client.stream("a", "think") as second:
                model.say(3)
                assert [token async for token in second] == list(TOKENS[1:])


async def test_a_stream_that_is_cut_goes_on_where_it_was_without_gap_or_repeat():
    async with chatting() as (served, client, model):
        agent = await client.start("chat", at="LISTENING", agent_id="a")
        async with client.stream("a", "think") as stream:
            await agent.send("ASKED")
            model.say(2)
            assert await taken(stream, 2) == list(TOKENS[:2])
            cut_all(served)
            model.say(2)
            await served.runtime.resume("a")
            assert [token async for token in stream] == list(TOKENS[2:])


async def test_an_interrupted_invoke_ends_its_stream():
    async with chatting() as (_, client, model):
        agent = await client.start("chat", at="THINKING", agent_id="a")
        async with client.stream("a", "think") as stream:
            model.say()
            await taken(stream, 1)
            await agent.send("INTERRUPTED")
            assert [token async for token in stream] == []


async def test_a_browser_that_connects_again_after_the_end_is_told_to_stop():
    async with chatting() as (served, client, model):
        await client.start("chat", at="LISTENING", agent_id="a")
        async with httpx.AsyncClient(base_url=served.url, trust_env=False, timeout=PATIENCE_S) as http:
            path = "/agents/a/invokes/think/stream"
            async with http.stream("GET", path) as response:
                assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
                model.say(4)
                await client.send("a", "ASKED")
                (kind, _, place), *items, end = await events_of(response)
            name = place.rpartition("-")[0]
            texts = ['"Turn "', '"it off "', '"and on "', '"again."']
            assert kind == ""
            assert items == [("item", text, f"{name}-{number}") for number, text in enumerate(texts, 1)]
            assert end == ("end", "null", f"{name}-5")
            async with http.stream("GET", path, headers={"last-event-id": f"{name}-3"}) as response:
                assert (await events_of(response))[1:] == [items[3], end]
            stopped = await http.get(path, headers={"last-event-id": f"{name}-5"})
            assert (stopped.status_code, stopped.content) == (204, b"")


async def test_a_new_reader_waits_for_the_next_time_that_the_invoke_runs():
    async with chatting() as (_, client, model):
        agent = await client.start("chat", at="LISTENING", agent_id="a")
        for _ in range(2):
            async with client.stream("a", "think") as stream:
                model.say(4)
                await agent.send("ASKED")
                assert [token async for token in stream] == list(TOKENS)
            await within(agent.until("LISTENING"))


async def test_a_reader_that_leaves_frees_what_it_held():
    streams = InvokeStreams(linger_s=0.01)
    async with chatting(lifecycle=Lifecycle(streams=streams)) as (served, client, model):
        await client.start("chat", at="THINKING", agent_id="a")
        async with client.stream("a", "think") as stream:
            model.say()
            await taken(stream, 1)
            (recording,) = recordings_of(streams).values()
            assert recording.readers == 1
        await until(lambda: not effects_of(served.runtime).invokes.streams.watched)
        assert (recordings_of(streams), streams._newest, idle_of(streams), recording.task.done()) == ({}, {}, {}, True)
        await until(lambda: not state_of(served.server).tasks)


async def test_only_so_many_streams_that_nobody_reads_are_kept():
    streams = InvokeStreams(most_idle=2)
    async with chatting(lifecycle=Lifecycle(streams=streams)) as (served, client, _):
        for number in range(5):
            async with client.stream(f"a{number}", "think"):
                pass
            await until(lambda number=number: len(idle_of(streams)) == min(number + 1, 2))
        await until(lambda: len(effects_of(served.runtime).invokes.streams.watched) == 2)
        assert [recording.key[0] for recording in recordings_of(streams).values()] == ["a3", "a4"]


async def test_a_reader_that_comes_back_too_late_is_told_how_much_it_missed():
    streams = InvokeStreams(most=2)
    async with chatting(lifecycle=Lifecycle(streams=streams)) as (served, client, model):
        await client.start("chat", at="THINKING", agent_id="a")
        async with client.stream("a", "think") as stream:
            model.say(4)
            await until(lambda: model.calls and any(r.buffer.is_complete for r in recordings_of(streams).values()))
            (name,) = recordings_of(streams)
            async with httpx.AsyncClient(base_url=served.url, trust_env=False) as http:
                headers = {"last-event-id": f"{name}-1"}
                async with http.stream("GET", "/agents/a/invokes/think/stream", headers=headers) as response:
                    told = await events_of(response)
            del stream
    assert told[1:] == [
        ("missed", '{"lost":1}', f"{name}-2"),
        ("item", '"and on "', f"{name}-3"),
        ("item", '"again."', f"{name}-4"),
        ("end", "null", f"{name}-5"),
    ]


async def test_an_item_that_json_cannot_hold_is_missed_and_the_next_is_told(caplog):
    async def show(context, work):
        for item in ({"n": 1}, object(), [1.5, None, float("inf")]):
            await work.services.acquire()
            work.publish(item)

    graph = StateTransitionGraph(
        "showing", context=AgentContext, states=[State("SHOWING", invoke=Invoke(show))], entry_points=["SHOWING"]
    )
    go = asyncio.Semaphore(0)
    async with serving(graphs=[graph], services=go) as served, HttpClient(served.url) as client:
        await client.start("showing", at="SHOWING", agent_id="a")
        async with client.stream("a", "show") as stream:
            go.release()
            assert await taken(stream, 1) == [{"n": 1}]
            go.release()
            with pytest.raises(ItemsMissedError) as missed:
                await within(anext(stream))
            assert missed.value.lost == 1
            go.release()
            assert await taken(stream, 1) == [[1.5, None, "Infinity"]]
    assert [(r.agent_id, r.invoke) for r in caplog.records if r.levelname == "ERROR"] == [("a", "show")]


async def test_a_server_that_stops_ends_its_streams_and_says_nothing_of_an_end():
    async with chatting() as (served, client, model):
        await client.start("chat", at="THINKING", agent_id="a")
        async with client.stream("a", "think", patience_s=0.1) as stream:
            model.say()
            await taken(stream, 1)
            served.lifecycle.stop()
            with pytest.raises(ServerUnreachableError):
                await within(anext(stream))


async def test_a_stream_goes_on_with_a_new_server_which_says_that_some_may_be_missed(sqlite_url):
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(model_of(*TOKENS))
        options = {"graphs": [chat], "services": model.url}
        async with serving(sqlite_url, **options) as first:
            port = int(first.url.rpartition(":")[2])
            client = await stack.enter_async_context(HttpClient(first.url, graphs=[chat]))
            agent = await client.start("chat", at="THINKING", agent_id="a")
            stream = await stack.enter_async_context(client.stream("a", "think"))
            model.say(2)
            assert await taken(stream, 2) == list(TOKENS[:2])
        async with serving(sqlite_url, port=port, **options):
            with pytest.raises(ItemsMissedError, match="read the invoke's result"):
                await within(anext(stream))
            model.say(4)
            assert [token async for token in stream] == list(TOKENS)
            await within(agent.until("LISTENING"))
            assert agent.context.answer == "".join(TOKENS)
            assert model.calls == 2


@pytest.mark.usefixtures("unmeasured")
async def test_a_reader_of_a_server_that_is_killed_goes_on_with_the_next(crash_url):
    async with model_of(*TOKENS) as model, AsyncExitStack() as stack:
        options = {"app": "tests.serving.chat:chat", "env": {MODEL: model.url}}
        with process(crash_url, **options) as killed:
            port = int(killed.url.rpartition(":")[2])
            client = await stack.enter_async_context(HttpClient(killed.url, graphs=[chat]))
            agent = await client.start("chat", at="THINKING", agent_id="a")
            stream = await stack.enter_async_context(client.stream("a", "think"))
            model.say(2)
            assert await taken(stream, 2) == list(TOKENS[:2])
            killed.popen.kill()
        with process(crash_url, port=port, **options):
            with pytest.raises(ItemsMissedError):
                await within(anext(stream))
            model.say(4)
            assert [token async for token in stream] == list(TOKENS)
            await within(agent.until("LISTENING"))
            assert agent.context.answer == "".join(TOKENS)


async def test_what_cannot_be_watched_is_refused_with_what_can():
    async with chatting(token=TOKEN) as (served, _, _), HttpClient(served.url, token=TOKEN) as client:
        await client.start("chat", at="LISTENING", agent_id="a")
        with pytest.raises(UndeclaredInvokeError, match="did you mean 'think'") as refused:
            async with client.stream("a", "thnk"):
                pass
        assert refused.value.invokes == ("think",)
        with pytest.raises(UnknownAgentError):
            async with client.stream("", "think"):
                pass
        async with httpx.AsyncClient(base_url=served.url, trust_env=False) as http:
            path = "/agents/a/invokes/think/stream"
            assert (await http.get(path)).status_code == 401
            bearer = {"authorization": f"Bearer {TOKEN}"}
            assert (await http.get(path, headers={**bearer, "last-event-id": "x"})).status_code == 422
            assert (await http.post(path, headers=bearer)).status_code == 405
            assert (await http.head(path, headers=bearer)).status_code == 200
            assert (await http.get("/agents/a/invokes/thnk/stream", headers=bearer)).status_code == 404
            document = (await http.get("/openapi.json", headers=bearer)).json()
        described = document["paths"]["/agents/{agent_id}/invokes/{invoke}/stream"]["get"]
        assert [each["name"] for each in described["parameters"]] == ["agent_id", "invoke", "Last-Event-ID"]
        assert {"200", "204", "401", "404", "422", "503"} <= set(described["responses"])


async def test_a_database_passes_nothing_on_and_says_where_to_watch(sqlite_url):
    async with serving(sqlite_url, graphs=[chat]), open_database_client(sqlite_url, graphs=[chat]) as client:
        with pytest.raises(ElsewhereError, match="over HTTP, or have the function report"):
            async with client.stream("a", "think"):
                pass
