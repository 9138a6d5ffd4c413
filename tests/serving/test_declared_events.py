"""Declared events over HTTP: refused with their fields, and described in the OpenAPI document."""

import httpx
import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from gatechart import EventType, Runtime, StateTransitionGraph, Transition
from gatechart.clients import HttpClient
from gatechart.errors import PayloadError, UndeclaredEventError
from gatechart.serving import Application, Lifecycle, listening
from gatechart.serving.openapi import openapi_document


class Decision(BaseModel):
    approved: bool


LINES = {"$ref": "#/$defs/Lines", "title": "Lines", "$defs": {"Lines": {"required": ["lines"]}}}
leave = StateTransitionGraph(
    "leave",
    transitions=[Transition("WAITING", event) for event in ("DECIDED", "NOTED", "REMINDED")],
    entry_points=["WAITING"],
    events=[
        EventType("DECIDED", takes=Decision, description="Somebody decided."),
        EventType("NOTED", takes=LINES),
        "REMINDED",
    ],
    events_closed=True,
)


@pytest.fixture
async def url():
    lifecycle = Lifecycle()
    async with (
        listening(Application(lifecycle, [leave]), host="127.0.0.1", port=0, has_token=False) as server,
        Runtime.open("memory:", graphs=[leave]) as runtime,
        lifecycle.hosting(runtime),
    ):
        await runtime.start(leave, at="WAITING", agent_id="a")
        yield server.url
        lifecycle.stop()


@pytest.mark.parametrize("path", ["/agents/a/events", "/agents/a/mail"])
@pytest.mark.parametrize(
    ("body", "error", "told"),
    [
        ({"event": "DECIDED", "payload": {"approved": "perhaps"}}, "PayloadError", "approved: Input should be"),
        ({"event": "NOTED"}, "PayloadError", "lines: it is required"),
        ({"event": "DECIDE"}, "UndeclaredEventError", "did you mean 'DECIDED'?"),
    ],
)
async def test_what_a_graph_does_not_take_is_answered_with_422(url, path, body, error, told):
    async with httpx.AsyncClient(base_url=url, trust_env=False) as http:
        refused = await http.post(path, json=body)
    assert (refused.status_code, refused.json()["error"]) == (422, error)
    assert told in refused.json()["message"]


async def test_a_client_raises_what_the_runtime_raises_and_asks_what_it_answers(url):
    async with HttpClient(url, graphs=[leave]) as client:
        with pytest.raises(PayloadError) as raised:
            await client.send("a", "DECIDED", {"approved": "perhaps"}, event_id="1")
        assert raised.value.expected == "Decision(approved: bool)"
        with pytest.raises(UndeclaredEventError):
            await client.post("a", "OTHER")
        agent = await client.resume("a")
        assert [each.event for each in await agent.accepts()] == ["DECIDED", "NOTED", "REMINDED"]
        assert await agent.can("DECIDED", {"approved": True})
        assert not await agent.can("DECIDED", {})
        assert (await agent.send("DECIDED", {"approved": True}, event_id="1")).applied


def test_the_document_describes_declared_events_wherever_events_are_brought():
    document = openapi_document([leave], needs_token=False)
    for path in ("/agents/{to}/events", "/agents/{to}/mail", "/agents/{agent_id}/accepts"):
        schema = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        Draft202012Validator.check_schema(schema)
        *declared, general = schema["anyOf"]
        assert list(general) == ["$ref"]
        assert [each["properties"]["event"]["const"] for each in declared] == ["DECIDED", "NOTED", "REMINDED"]
        assert (declared[0]["title"], declared[0]["description"]) == ("DECIDED of leave", "Somebody decided.")
        assert declared[0]["properties"]["payload"] == {"$ref": "#/components/schemas/Decision"}
        assert declared[1]["properties"]["payload"] == {"allOf": [{"required": ["lines"]}, {"title": "Lines"}]}
    assert document["components"]["schemas"]["Decision"]["required"] == ["approved"]
