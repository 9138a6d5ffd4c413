"""Deferred events over HTTP, in the client, and through the database."""

import asyncio

import httpx
import pytest

from gatechart import ANY, State, StateTransitionGraph, Transition
from gatechart.api.codec import ACCEPTED
from gatechart.clients import HttpClient
from gatechart.clients.database import open_database_client
from gatechart.errors import EventIdReusedError
from gatechart.values.mail import MailStatus
from tests.serving.conftest import serving

pytestmark = [pytest.mark.needs("watches_changes"), pytest.mark.sqlite_is_enough]

talk = StateTransitionGraph(
    "talk",
    states=[State("THINKING", defer="ASKED"), "IDLE"],
    transitions=[
        Transition("IDLE", "ASKED", "THINKING"),
        Transition("THINKING", "ANSWERED", "IDLE"),
        Transition(ANY, "CLOSED", "OVER"),
    ],
    entry_points=["THINKING"],
)


@pytest.fixture
async def served(place):
    async with serving(place, graphs=[talk]) as found:
        await found.runtime.start(talk, at="THINKING", agent_id="t")
        yield found


async def test_an_event_that_is_deferred_is_answered_as_such_and_its_id_is_taken(served):
    async with httpx.AsyncClient(base_url=served.url, trust_env=False) as http:
        body = {"event": "ASKED", "payload": {"text": "a"}, "event_id": "1"}
        first, again = [await http.post("/agents/t/events", json=body) for _ in range(2)]
        other = await http.post("/agents/t/events", json={**body, "payload": {"text": "b"}})
        [mail] = (await http.get("/mail", params={"to": "t"})).json()["mail"]
    told = first.json()
    assert (first.status_code, told["deferred"], told["applied"], told["refusal"]) == (200, True, False, None)
    assert again.json() == {**told, "repeat": True}
    assert (other.status_code, other.json()["error"]) == (409, "EventIdReusedError")
    assert (mail["event"], mail["status"], mail["reason"]) == ("ASKED", "waiting", "deferred in THINKING")


async def test_a_client_hears_that_its_event_is_deferred_and_sees_what_comes_of_it(served, client):
    agent = await client.resume("t")
    outcome = await agent.send("ASKED", event_id="1")
    assert (outcome.deferred, outcome.applied, outcome.repeat) == (True, False, False)
    assert (await client.send("t", "ASKED", event_id="1")).repeat
    with pytest.raises(EventIdReusedError):
        await client.send("t", "CLOSED", event_id="1")
    assert [mail.reason for mail in await client.mail("t", status=MailStatus.WAITING)] == ["deferred in THINKING"]
    asked = await agent.can("ASKED")
    assert (asked.agrees, asked.deferred, asked.refused) == ("no", True, False)
    async with HttpClient(served.url, graphs=[talk]) as watching, asyncio.timeout(60):
        reached = asyncio.create_task((await watching.resume("t")).until("IDLE"))
        await client.send("t", "ANSWERED")
        assert (await reached).version == 2
        while (taken := await client.send("t", "ASKED", event_id="1")).deferred:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert taken.taken == ("IDLE --ASKED--> THINKING",)


async def test_the_json_says_what_is_deferred_in_a_form_that_earlier_clients_read(served):
    async with httpx.AsyncClient(base_url=served.url, trust_env=False) as http:
        asked = (await http.post("/agents/t/accepts", json={"event": "ASKED"})).json()
        listed = (await http.get("/agents/t/accepts")).json()["accepts"]
        document = (await http.get("/openapi.json")).json()
    assert (asked["agrees"], asked["deferred"], asked["refused"]) == ("no", True, False)
    verdicts = {each["event"]: (each["agrees"], each["deferred"], each["refused"]) for each in listed}
    assert verdicts == {
        "ANSWERED": ("yes", False, False),
        "CLOSED": ("yes", False, False),
        "ASKED": ("no", True, False),
    }
    assert document["components"]["schemas"]["Agrees"]["enum"] == ["yes", "no", "depends"]
    fields = document["components"]["schemas"]["AcceptedEvent"]["properties"]
    assert {"deferred", "refused"} <= fields.keys()
    del asked["deferred"], asked["refused"]
    assert not ACCEPTED.read_plain(asked).deferred  # as an earlier server writes it


async def test_who_asks_the_owner_of_the_database_hears_it_too(sqlite_url):
    async with serving(sqlite_url, graphs=[talk]) as served:
        await served.runtime.start(talk, at="THINKING", agent_id="t")
        async with open_database_client(sqlite_url, graphs=[talk]) as other:
            outcome = await other.send("t", "ASKED", event_id="1")
            assert (outcome.deferred, outcome.repeat) == (True, False)
            assert (await other.send("t", "ASKED", event_id="1")).repeat
            assert [mail.reason for mail in await other.mail("t")] == ["deferred in THINKING"]
            assert await other.can("t", "ASKED") == await served.runtime.can("t", "ASKED")
            assert (await other.can("t", "ASKED")).deferred
