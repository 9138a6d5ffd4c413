"""Messages keep their ids on the way over HTTP, so that a later version of a message replaces it."""

import httpx

from gatechart import HandoffPacket, ModelLoop, Transition
from gatechart.handoff import Message
from gatechart.testing.scripted_model import Says, scripted_model
from tests.models.support import Services, chat
from tests.serving.conftest import serving


def take(context, event):
    context.take(HandoffPacket.model_validate(event.payload))


def packet(*messages):
    return HandoffPacket(conversation=messages).model_dump(mode="json")


async def test_a_message_of_a_packet_sent_over_http_is_replaced_by_its_next_version():
    graph = chat(ModelLoop(), Transition("LISTENING", "TAKEN", actions=take))
    hello, masked = (Message(role="user", content=text, id="m-1") for text in ("my pin-0815", "my ***"))
    async with (
        scripted_model([Says("One."), Says("Two.")]) as server,
        serving(graphs=[graph], services=Services(server)) as served,
        httpx.AsyncClient(base_url=served.url, trust_env=False, timeout=30) as http,
    ):
        await http.post("/agents", json={"graph": "chat", "at": "LISTENING", "agent_id": "a"})
        for said, text in ((hello, "first"), (masked, "second")):
            await http.post("/agents/a/events", json={"event": "TAKEN", "payload": packet(said)})
            await http.post("/agents/a/events", json={"event": "ASKED", "payload": {"text": text}})
            await (await served.runtime.resume("a")).until("LISTENING")
        messages = (await http.get("/agents/a")).json()["context"]["messages"]
        ids = [each.id for each in (await served.runtime.resume("a")).context.messages]
    assert [each["id"] for each in messages] == ids
    assert (ids[0], len(set(ids))) == ("m-1", 5)
    assert [each["content"] for each in server.requests[1]["messages"]] == ["my ***", "first", "One.", "second"]
