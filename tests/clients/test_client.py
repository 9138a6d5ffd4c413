"""The client has the verbs, the values and the errors of the runtime behind the server."""

import asyncio
import json
import math
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta

import pytest

from gatechart import Handoff, HandoffPacket, Runtime
from gatechart.clients import (
    AnswerLostError,
    ClientClosedError,
    ClientTokenError,
    HttpClient,
    ServerAnswerError,
    ServerUnreachableError,
    UnauthorizedError,
    http,
)
from gatechart.errors import (
    ActionFailedError,
    AgentExistsError,
    AmbiguousTriggerError,
    EntryRefusedError,
    EventIdReusedError,
    GatechartError,
    NoHandoffError,
    PayloadError,
    RemoteOutsideError,
    UnknownAgentError,
    UnknownGraphError,
    UnknownVersionError,
)
from gatechart.serving import Application, Lifecycle, listening
from gatechart.values.agents import Status
from gatechart.values.delays import Retry
from gatechart.values.handoffs import Mode
from tests.serving.conftest import TOKEN, serving, within
from tests.serving.shop import Order, graphs, shop

pytestmark = pytest.mark.needs("watches_changes")

ONCE = Retry(attempts=1)


async def test_the_verbs_give_the_values_that_the_runtime_gives(served, client):
    started = (await client.start(shop, at="OPEN", payload=Order(name="Ada"), agent_id="a")).snapshot
    agent = await served.runtime.resume("a")
    assert started == agent.snapshot
    outcome = await client.send("a", "NOTED", {"note": "x"}, event_id="e1")
    assert outcome.repeated() == await agent.send("NOTED", {"note": "x"}, event_id="e1")
    assert outcome.repeated() == await client.send("a", "NOTED", {"note": "x"}, event_id="e1")
    assert await client.read("a") == agent.snapshot
    assert await client.history("a") == tuple(await agent.history())
    assert await client.snapshot_at("a", 1) == started
    assert await client.find(graph="shop") == await served.runtime.find(graph="shop")
    assert (await client.start_on("CALLED", {"name": "Bea"}, agent_id="b")).id == "b"
    later = datetime.now(UTC) + timedelta(hours=1)
    receipt = await client.post("b", "COUNTED", due=later)
    (mail,) = await client.mail("b")
    assert (mail.number, mail.due) == (receipt.number, later)
    assert [mail] == list(await served.runtime.mail("b"))
    assert (await client.rollback("a", 1, reason="a slip")).version == 3
    handoff = await client.handoff("a", Handoff("shop", at="OPEN", mode=Mode.DELEGATE))
    assert list(await client.handoffs(handoff_id=handoff)) == list(await served.runtime.handoffs(handoff_id=handoff))
    another = await client.handoff("a", Handoff("shop", at="OPEN", mode=Mode.DELEGATE))
    assert [each.id for each in await client.handoffs(newest_first=True)] == [another, handoff]
    assert (await client.stop("b")).status is Status.STOPPED
    await client.erase("b")
    with pytest.raises(UnknownAgentError):
        await client.read("b")


def arrays(deep):
    """A text in so many arrays."""
    return json.loads("[" * deep + '"x"' + "]" * deep)


async def test_a_payload_of_any_depth_that_is_taken_can_be_read_everywhere(client):
    deepest = {"note": "x", "in": arrays(149)}
    await client.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
    async with client.changes() as changes:
        await client.send("a", "NOTED", deepest)
        assert (await within(anext(changes))).event.payload == deepest
    await client.post("a", "NOTED", deepest, due=datetime.now(UTC) + timedelta(hours=1))
    assert (await client.history("a"))[-1].event.payload == deepest
    assert [each.payload for each in await client.mail("a")] == [deepest]
    packet = HandoffPacket(entities={"in": arrays(148)})
    handoff = await client.handoff("a", Handoff("shop", at="OPEN", packet=packet, mode=Mode.DELEGATE))
    assert (await client.handoffs(handoff_id=handoff))[0].packet["entities"] == packet.entities


@pytest.mark.parametrize("brought", [math.inf, math.nan, arrays(150)])
async def test_a_payload_that_nobody_could_read_again_is_refused_by_the_client_and_the_server(served, client, brought):
    await client.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
    payload = {"note": brought}
    for refused in (
        client.send("a", "NOTED", payload),
        client.post("a", "NOTED", payload),
        client.start("shop", at="OPEN", payload={"name": "Bea", "more": brought}),
        client.start_on("CALLED", payload),
    ):
        with pytest.raises(PayloadError):
            await refused
    assert [each.event.name for each in await client.history("a")] == ["agent.started.OPEN"]


async def test_a_packet_that_nobody_could_read_again_is_refused(served, client):
    await client.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
    packet = HandoffPacket(entities={"in": arrays(149)})
    for refused in (
        client.handoff("a", Handoff("shop", at="OPEN", packet=packet)),
        served.runtime.handoff("a", Handoff("shop", at="OPEN", packet=packet)),
    ):
        with pytest.raises(PayloadError, match="nested more than"):
            await refused
    assert list(await client.handoffs()) == []


async def test_an_agent_is_started_only_if_it_is_not_there(client):
    once = {"at": "OPEN", "payload": {"name": "Ada"}, "agent_id": "a"}
    started = await client.start_or_resume("shop", **once)
    assert (await client.start_or_resume("shop", **once)).snapshot == started.snapshot
    with pytest.raises(AgentExistsError) as exists:
        await client.start_or_resume("strict", **once)
    assert (exists.value.agent_id, exists.value.graph) == ("a", "shop")


async def test_the_errors_are_those_of_the_runtime_with_their_facts(client):
    await client.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
    with pytest.raises(AgentExistsError) as exists:
        await client.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
    assert exists.value.agent_id == "a"
    with pytest.raises(UnknownGraphError) as unknown:
        await client.start("shup", at="OPEN")
    assert unknown.value.graphs == ("shop", "strict")
    with pytest.raises(EntryRefusedError):
        await client.start("shop", at="CLOSED")
    with pytest.raises(PayloadError):
        await client.start("shop", at="OPEN", payload={"name": ""})
    with pytest.raises(AmbiguousTriggerError):
        await client.start_on("WRITTEN")
    with pytest.raises(ActionFailedError) as failed:
        await client.send("a", "JAMMED")
    assert (failed.value.agent_id, failed.value.event, failed.value.action) == ("a", "JAMMED", "jam")
    assert "no paper" not in str(failed.value)  # what an exception says is in the log alone
    await client.send("a", "COUNTED", event_id="e1")
    with pytest.raises(EventIdReusedError):
        await client.send("a", "NOTED", event_id="e1")
    with pytest.raises(UnknownVersionError):
        await client.snapshot_at("a", 99)
    with pytest.raises(NoHandoffError):
        await client.cancel_handoff("none", reason="x")


async def test_a_call_under_an_id_of_its_own_is_done_once(client):
    first = (await client.start("shop", at="OPEN", payload={"name": "Ada"}, idempotency_key="s1")).snapshot
    again = await client.start("shop", at="OPEN", payload={"name": "Ada"}, idempotency_key="s1")
    assert again.snapshot == first
    await client.send(first.agent_id, "COUNTED")
    back = await client.rollback(first.agent_id, 1, reason="a slip", idempotency_key="r1")
    assert await client.rollback(first.agent_id, 1, reason="a slip", idempotency_key="r1") == back
    asked = await client.handoff(first.agent_id, Handoff("shop", at="OPEN", mode=Mode.DELEGATE), idempotency_key="h1")
    assert (
        await client.handoff(first.agent_id, Handoff("shop", at="OPEN", mode=Mode.DELEGATE), idempotency_key="h1")
        == asked
    )


async def test_more_than_a_server_gives_at_once_is_asked_for_in_parts(client, monkeypatch):
    monkeypatch.setattr(http, "MOST", 3)
    await client.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
    for _ in range(7):
        await client.send("a", "COUNTED")
    assert [entry.version for entry in await client.history("a")] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [entry.version for entry in await client.history("a", after=2, limit=4)] == [3, 4, 5, 6]
    assert [entry.version for entry in await client.history("a", limit=0)] == []
    for number in range(6):
        await client.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id=f"b{number}")
    assert len((await client.find(limit=5)).agents) == 5
    assert (await client.find(limit=7)).next is None


async def test_many_callers_share_one_owner(served, client):
    await client.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
    await asyncio.gather(*(client.send("a", "COUNTED", event_id=f"e{number % 50}") for number in range(150)))
    assert (await client.read("a")).context["count"] == 50
    assert (await served.runtime.resume("a")).snapshot.version == 51


async def test_a_token_lets_in_and_nothing_else_does():
    async with serving(token=TOKEN) as found:
        async with HttpClient(found.url, token=TOKEN) as client:
            assert (await client.find()).agents == ()
        for wrong in (None, "", "x", TOKEN[:-1], TOKEN + "x"):
            async with HttpClient(found.url, token=wrong) as client:
                with pytest.raises(UnauthorizedError, match="token"):
                    await client.find()
        async with HttpClient(found.url, token=f" {TOKEN}\n") as client:  # as it is read from a file
            assert (await client.find()).agents == ()


@pytest.mark.parametrize("token", ["a-secret\nof mine", "a-secret\0", "a-sécret", "a-secret\ud800"])
def test_a_token_that_no_header_can_hold_is_refused_and_not_told(token):
    with pytest.raises(ClientTokenError) as refused:
        HttpClient("http://127.0.0.1:9", token=token)
    assert "cret" not in f"{refused.value} {refused.value.__cause__}"


BAD_URLS = [
    "",
    "127.0.0.1:80",
    "ftp://127.0.0.1",
    "http://",
    "http:///x",
    "http://127.0.0.1:x",
    "http://127.0.0.1:0",
    "http://127.0.0.1:-1",
    "http://127.0.0.1:99999",
    "http://é\0",
    "http://127.0.0.1/\ud800",
    "http://xn--.com",
]


@pytest.mark.parametrize("url", BAD_URLS)
def test_a_url_where_no_server_can_be_is_told_at_once(url):
    with pytest.raises(ServerUnreachableError, match="mend the URL") as refused:
        HttpClient(url)
    str(refused.value).encode()


async def test_a_password_in_the_url_is_not_told():
    with pytest.raises(ServerUnreachableError) as refused:
        HttpClient("http://ada:secret@127.0.0.1:x")
    async with HttpClient("http://ada:secret@127.0.0.1:9", retry=ONCE) as client:
        with pytest.raises(ServerUnreachableError) as unreachable:
            await client.find()
    assert "secret" not in f"{refused.value} {unreachable.value}"


async def test_a_client_that_was_closed_says_so(served):
    async with HttpClient(served.url) as client:
        await client.find()
    with pytest.raises(ClientClosedError, match="inside `async with HttpClient"):
        await client.find()
    with pytest.raises(ClientClosedError):
        async with client.changes():
            pass


ON_AN_AGENT = [
    lambda verbs, agent: verbs.read(agent),
    lambda verbs, agent: verbs.send(agent, "COUNTED"),
    lambda verbs, agent: verbs.post(agent, "COUNTED"),
    lambda verbs, agent: verbs.stop(agent),
    lambda verbs, agent: verbs.erase(agent),
    lambda verbs, agent: verbs.history(agent),
    lambda verbs, agent: verbs.snapshot_at(agent, 1),
    lambda verbs, agent: verbs.rollback(agent, 1, reason="x"),
    lambda verbs, agent: verbs.handoff(agent, Handoff("shop", at="OPEN")),
    lambda verbs, agent: verbs.cancel_handoff(agent, reason="x"),
]
UNFIT = [
    lambda verbs: verbs.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id=""),
    lambda verbs: verbs.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a\0"),
    lambda verbs: verbs.start("shop", at="OPEN", payload={"name": "Ada"}, idempotency_key=""),
    lambda verbs: verbs.send("a", "COUNTED", event_id=""),
    lambda verbs: verbs.send("a", "COUNTED", event_id="\0"),
    lambda verbs: verbs.post("a", "COUNTED", event_id=""),
    lambda verbs: verbs.snapshot_at("a", 2**70),
]
NARROWER = [
    lambda verbs: verbs.rollback("a", 1, reason=" "),
    lambda verbs: verbs.cancel_handoff("h", reason="\n"),
    lambda verbs: verbs.fire_timer(1, reason=""),
    lambda verbs: verbs.end_invoke("a", "call", reason=" "),
    lambda verbs: verbs.snapshot_at("a", 0),
    lambda verbs: verbs.handoffs(handoff_id=""),
    lambda verbs: verbs.send("a", "NOTED", {"note": "x" * 2**20}),
]


async def test_an_id_that_nothing_can_have_raises_what_the_runtime_raises(served, client):
    for verb in ON_AN_AGENT:
        for nothing in ("", "a\0"):
            with pytest.raises(GatechartError) as there:
                await verb(served.runtime, nothing)
            with pytest.raises(type(there.value)) as here:
                await verb(client, nothing)
            assert str(here.value) == str(there.value)


async def test_what_does_not_fit_is_a_payload_error_as_with_a_runtime(served, client):
    await client.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
    for verb in UNFIT:
        with pytest.raises(PayloadError):
            await verb(served.runtime)
        with pytest.raises(PayloadError):
            await verb(client)
    for verb in NARROWER:  # than a runtime
        with pytest.raises(PayloadError, match="what the server takes"):
            await verb(client)


async def test_what_is_too_long_for_a_url_is_a_payload_error(client):
    for verb in (client.read("x" * 70_000), client.find(after="x" * 70_000)):
        with pytest.raises(PayloadError, match="too long"):
            await verb


async def test_an_answer_that_cannot_be_decoded_is_a_lost_one():
    async def garbled(scope, receive, send):
        headers = [(b"content-encoding", b"gzip"), (b"content-length", b"4")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"oops"})

    async with (
        listening(garbled, host="127.0.0.1", port=0, has_token=False) as server,
        HttpClient(server.url, retry=ONCE) as client,
    ):
        with pytest.raises(AnswerLostError):
            await client.find()


async def test_a_server_that_is_not_there_is_unreachable_after_some_attempts():
    async with HttpClient("http://127.0.0.1:9", retry=Retry(attempts=3, first_s=0.01)) as client:
        with pytest.raises(ServerUnreachableError, match="start it, or mend the URL"):
            await client.send("a", "COUNTED")
        with pytest.raises(ServerUnreachableError):
            async with client.changes(patience_s=0.05):
                pass


async def test_what_is_no_gatechart_server_is_not_taken_for_one():
    async def other(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": b"<html>"})

    async with listening(other, host="127.0.0.1", port=0, has_token=False) as server, HttpClient(server.url) as client:
        with pytest.raises(ServerAnswerError, match="mend the URL"):
            await client.find()


class Flaky:
    """A server that drops its connection before it answers, some times."""

    def __init__(self, drops):
        self.drops, self.asked = drops, 0

    async def __call__(self, reader, writer):
        with closing(writer), suppress(asyncio.IncompleteReadError):
            while await reader.readuntil(b"\r\n\r\n"):
                self.asked += 1
                if self.asked <= self.drops:
                    return
                body = b'{"error": "AgentExistsError", "message": "", "facts": {"agent_id": "a"}}'
                writer.write(b"HTTP/1.1 409 Conflict\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))


@pytest.mark.parametrize(
    ("verb", "asked"),
    [
        (lambda client: client.find(), 3),
        (lambda client: client.stop("a"), 3),
        (lambda client: client.erase("a"), 1),
        (lambda client: client.send("a", "COUNTED"), 1),
        (lambda client: client.send("a", "COUNTED", event_id="e1"), 3),
        (lambda client: client.post("a", "COUNTED"), 1),
        (lambda client: client.post("a", "COUNTED", event_id="e1"), 3),
        (lambda client: client.start("shop", at="OPEN", agent_id="a"), 1),
        (lambda client: client.start("shop", at="OPEN", idempotency_key="s1"), 3),
    ],
)
async def test_only_what_is_safe_is_asked_again_where_an_answer_is_lost(verb, asked):
    flaky = Flaky(drops=2)
    async with await asyncio.start_server(flaky, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with HttpClient(f"http://127.0.0.1:{port}", retry=Retry(attempts=5, first_s=0.01)) as client:
            with pytest.raises(Exception) as raised:  # noqa: PT011
                await within(verb(client))
    assert flaky.asked == asked
    assert isinstance(raised.value, AnswerLostError) is (asked == 1)


async def test_a_server_that_starts_is_waited_for_and_one_that_stops_is_told():
    lifecycle = Lifecycle()
    async with (
        listening(Application(lifecycle, graphs), host="127.0.0.1", port=0, has_token=False) as server,
        Runtime.open("memory:", graphs=graphs) as runtime,
    ):
        async with HttpClient(server.url, retry=Retry(20, 0.02, 1.0)) as client:
            waiting = asyncio.create_task(client.start("shop", at="OPEN", payload={"name": "Ada"}))
            await asyncio.sleep(0.1)
            assert not waiting.done()
            async with lifecycle.hosting(runtime):
                assert (await within(waiting)).snapshot.version == 1
        async with HttpClient(server.url, retry=ONCE) as client:
            with pytest.raises(RemoteOutsideError, match="try again in a moment"):
                await client.find()
