"""Images in messages and in results of tools: a model is shown them, and their bytes are stored once."""

import base64
import json
from typing import Any

import pytest

from gatechart import ConversationContext, HandoffPacket, ModelLoop, Runtime, Transition, tool
from gatechart.api.codec import SNAPSHOT
from gatechart.errors import PayloadError
from gatechart.handoff import MediaPart, Message, TextPart
from gatechart.handoff.media import described
from gatechart.models import OpenAIModel, Summarize
from gatechart.stores import MemoryStore
from gatechart.testing.scripted_model import Calls, Says, scripted_model
from gatechart.tools import ToolPolicies
from tests.models.support import Services, chat

BYTES = b"\x89PNG\r\n\x1a\n" + bytes(12_337)
DATA = base64.b64encode(BYTES).decode()
IMAGE = MediaPart(media_type="image/png", name="plan.png", data=DATA)
URL = f"data:image/png;base64,{DATA}"


@tool(repeat="safe", policies=ToolPolicies(retry="off", breaker="off"))
async def draw(room: str) -> tuple[TextPart | MediaPart, ...]:
    """Draw a room."""
    return (TextPart(text=f"the plan of {room}:"), IMAGE)


def look(context: Any, event: Any) -> None:
    context.say("user", event.payload["text"], parts=[IMAGE])


def opened(place: Any, server: Any, loop: ModelLoop, **graph: Any) -> Any:
    services = Services(server, draw)
    return Runtime.open(place, graphs=chat(loop, **graph), services=services)


async def entries(runtime: Runtime, agent_id: str) -> dict[str, str]:
    """Return the entries of the conversation that a view shows."""
    return {each.name: json.dumps(each.content) for each in await runtime.journal(agent_id)}


def images(request: Any) -> list[str]:
    """Return the URLs of the images in a request."""
    contents = [each["content"] for each in request["messages"] if isinstance(each["content"], list)]
    return [part["image_url"]["url"] for content in contents for part in content if part["type"] == "image_url"]


async def test_a_model_is_shown_the_images_of_results_also_after_a_restart(place: Any) -> None:
    """The agent's context and the views of its journal have digests."""
    script = [Calls(("draw", {"room": "a"}, "1")), Calls(("draw", {"room": "b"}, "2")), Says("Done."), Says("Bye.")]
    async with scripted_model(script) as server:
        async with opened(place, server, ModelLoop(tools=[draw])) as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await agent.send("ASKED", {"text": "Draw a and b"})
            await agent.until("LISTENING")
        async with opened(place, server, ModelLoop(tools=[draw])) as runtime:
            agent = await runtime.resume("a")
            await agent.send("ASKED", {"text": "Thanks"})
            await agent.until("LISTENING")
            agent = await runtime.resume("a")
            shown = await entries(runtime, "a")
    assert [len(images(each)) for each in server.requests] == [0, 1, 2, 2]
    assert set(images(server.requests[3])) == {URL}
    first = agent.context.messages[1].tool_calls[0]
    assert first.output == "the plan of a:\n[image/png, plan.png, 12,345 bytes]"
    assert [getattr(each, "size", 0) for each in first.parts] == [0, 12_345]
    assert DATA not in agent.context.model_dump_json()
    assert DATA not in "".join(shown.values())


async def test_equal_bytes_are_stored_once() -> None:
    """Those of a message and of two results."""
    store = MemoryStore()
    shows = Transition("LISTENING", "SHOWN", "THINKING", actions=look)
    script = [Calls(("draw", {"room": "a"}, "1"), ("draw", {"room": "b"}, "2")), Says("Done.")]
    async with scripted_model(script) as server:
        services = Services(server, draw)
        async with Runtime.open(store, graphs=chat(ModelLoop(tools=[draw]), shows), services=services) as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await agent.send("SHOWN", {"text": "Draw it again"})
            await agent.until("LISTENING")
    assert images(server.requests[1]) == [URL, URL, URL]
    assert "".join((await store.journal("a", "conversation")).values()).count(DATA) == 1


async def test_what_a_person_shows_reaches_the_model_and_packets() -> None:
    """It is heard once."""
    shows = Transition("LISTENING", "SHOWN", "THINKING", actions=look)
    async with scripted_model([Says("A plan."), Says("Bye.")]) as server:
        services = Services(server, draw)
        async with Runtime.open("memory:", graphs=chat(ModelLoop(), shows), services=services) as runtime:
            agent = await runtime.start("chat", at="LISTENING", agent_id="a")
            await agent.send("SHOWN", {"text": "What is this?"})
            await agent.until("LISTENING")
            await agent.send("ASKED", {"text": "Thanks"})
            await agent.until("LISTENING")
            context, view = agent.context, SNAPSHOT.write(agent.snapshot).decode()
            plain = SNAPSHOT.plain(agent.snapshot)
    assert DATA in context.model_dump_json()
    assert DATA not in view
    assert plain["context"]["messages"][0]["parts"][1]["size"] == 12_345
    assert [images(each) for each in server.requests] == [[URL], [URL]]
    packet = HandoffPacket.model_validate_json(context.packet().model_dump_json())
    assert packet.conversation[0].parts == (TextPart(text="What is this?"), IMAGE)
    taken = ConversationContext()
    taken.take(packet)
    assert taken.messages[0].parts[1] == IMAGE


def take(context: Any, event: Any) -> None:
    context.take(HandoffPacket.model_validate(event.payload["packet"]))


async def test_an_image_that_was_handed_on_is_shown_to_the_next_agent(place: Any) -> None:
    """It fetches the bytes from the journal of the agent that has them."""
    script = [Calls(("draw", {"room": "a"}, "1")), Says("Done."), Says("I see a room."), Says("Bye.")]
    hands = Transition("LISTENING", "HANDED", "THINKING", actions=take)
    async with scripted_model(script) as server:
        graph = chat(ModelLoop(tools=[draw]), hands)
        async with Runtime.open(place, graphs=graph, services=Services(server, draw)) as runtime:
            first = await runtime.start("chat", at="LISTENING", agent_id="a")
            await first.send("ASKED", {"text": "Draw a"})
            await first.until("LISTENING")
            first = await runtime.resume("a")
            packet = first.context.packet(current_problem="what is it?").model_dump(mode="json")
            second = await runtime.start("chat", at="LISTENING", agent_id="b")
            await second.send("HANDED", {"packet": packet})
            await second.until("LISTENING")
            await second.send("ASKED", {"text": "Thanks"})
            await second.until("LISTENING")
    assert [images(each) for each in server.requests] == [[], [URL], [URL], [URL]]


async def test_a_model_that_takes_no_images_is_told_what_it_cannot_be_shown() -> None:
    """With type, name and size."""
    async with scripted_model([Calls(("draw", {"room": "a"}, "1")), Says("Done.")]) as server:
        services = Services(server, draw, model=lambda name, url: OpenAIModel(name, url=url, accepts=()))
        async with Runtime.open("memory:", graphs=chat(ModelLoop(tools=[draw])), services=services) as runtime:
            agent = await runtime.start("chat", at="LISTENING")
            await agent.send("ASKED", {"text": "Draw a"})
            await agent.until("LISTENING")
    result = server.requests[1]["messages"][-1]["content"]
    assert result == "the plan of a:\n[A file that you cannot be shown: image/png, plan.png, 12,345 bytes]"


async def test_a_summary_leaves_no_bytes_behind() -> None:
    """They are forgotten with the last entry that refers to them."""
    store = MemoryStore()
    script = [Calls(("draw", {"room": "a"}, "1")), Says("Drawn."), Says("A room was drawn."), Says("Bye.")]
    loop = ModelLoop(tools=[draw], compaction=Summarize(at_tokens=1, keep=1))

    async def kept() -> bool:
        return DATA in "".join((await store.journal("a", "conversation")).values())

    async with scripted_model(script) as server, opened(store, server, loop) as runtime:
        agent = await runtime.start("chat", at="LISTENING", agent_id="a")
        await agent.send("ASKED", {"text": "Draw a"})
        await agent.until("LISTENING")
        assert await kept()
        await agent.send("ASKED", {"text": "Thanks"})
        await agent.until("LISTENING")
        assert not await kept()


@pytest.mark.parametrize(
    ("part", "problem"),
    [
        (MediaPart(media_type="image/png"), "exactly one of url, data and digest"),
        (MediaPart(media_type="image/png", url="https://example.com/a", data="AAAA"), "exactly one of"),
        (MediaPart(media_type="image/png", data="?"), "not base64"),
        (MediaPart(media_type="image/png", data="A" * 6_000_000), "the limit is 4,194,304"),
    ],
)
def test_parts_that_cannot_be_kept_are_refused(part: MediaPart, problem: str) -> None:
    """The conversation stays as it was."""
    context = ConversationContext()
    with pytest.raises(PayloadError, match=problem):
        context.say("user", "look", parts=[part])
    assert context.messages == []


def test_messages_without_media_keep_the_bytes_that_they_had() -> None:
    """Old packets and rows stay readable, and new ones equal them."""
    text = Message(role="user", content="hi").model_dump_json()
    assert "parts" not in text
    assert described(MediaPart(media_type="a/b", digest="x")) == "[a/b]"
