"""Over HTTP the door refuses what it refuses elsewhere, and what cannot be read is listed as it is elsewhere."""

import httpx
import pytest

from gatechart import Runtime
from gatechart.api.agents import RollbackCommand
from gatechart.api.events import PostCommand
from gatechart.errors import PayloadError
from gatechart.serving.requests import OPERATIONS
from gatechart.stores import open_store
from gatechart.testing.records import started
from gatechart.values.names import LONGEST_NAME, LONGEST_REASON
from tests.runtime.spoiling import by_hand
from tests.serving.conftest import serving
from tests.serving.shop import graphs

LONG = "ü" * (LONGEST_NAME + 1)
CASE = {"graph": "shop", "at": "OPEN", "payload": {"name": "Ada"}, "agent_id": "a"}
REFUSED = {
    "an agent's id": ("/agents", {**CASE, "agent_id": LONG}),
    "an agent's id of a megabyte": ("/agents", {**CASE, "agent_id": "x" * 1_000_000}),
    "idempotency_key": ("/agents", {**CASE, "idempotency_key": LONG}),
    "an event": ("/agents/a/events", {"event": LONG}),
    "an event's id": ("/agents/a/events", {"event": "COUNTED", "event_id": LONG}),
    "a mail's event": ("/agents/a/mail", {"event": LONG}),
    "a mail's id": ("/agents/a/mail", {"event": "COUNTED", "event_id": LONG}),
    "a mail's moment": ("/agents/a/mail", {"event": "COUNTED", "due": "9999-12-31T23:59:59-05:00"}),
    "an early moment": ("/agents/a/mail", {"event": "COUNTED", "due": "0001-01-01T00:00:00+05:00"}),
    "a reason": ("/agents/a/rollback", {"version": 1, "reason": "x" * (LONGEST_REASON + 1)}),
    "a target": ("/agents/a/handoffs", {"to": "shop", "at": "OPEN", "agent": LONG}),
    "a mail's recipient": (f"/agents/{'x' * (LONGEST_NAME + 1)}/mail", {"event": "COUNTED"}),
}


@pytest.mark.parametrize("what", REFUSED)
async def test_what_no_store_can_keep_is_a_status_of_its_own(what):
    path, body = REFUSED[what]
    async with serving() as served, httpx.AsyncClient(base_url=served.url) as http:
        assert (await http.post("/agents", json=CASE)).status_code == 201
        refused = await http.post(path, json=body)
        assert refused.status_code == 422, refused.text[:300]
        assert len(refused.content) < 3_000
        assert (await http.get("/agents")).json()["agents"][0]["version"] == 1


async def test_the_longest_id_has_a_location_that_clients_can_read():
    name = "\U0001f600" * LONGEST_NAME
    async with serving() as served, httpx.AsyncClient(base_url=served.url) as http:
        made = await http.post("/agents", json={**CASE, "agent_id": name})
        assert (await http.get(made.headers["location"])).json()["agent_id"] == name


async def test_an_agent_that_had_a_longer_id_before_there_was_a_bound_can_be_read_and_sent_to(sqlite_url):
    name = "x" * 1_000
    async with Runtime.open(sqlite_url, graphs=graphs) as runtime:
        await runtime.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
    await by_hand(sqlite_url, f"UPDATE agents SET id = '{name}'")
    async with serving(sqlite_url) as served, httpx.AsyncClient(base_url=served.url) as http:
        assert (await http.get(f"/agents/{name}")).json()["agent_id"] == name
        assert (await http.get("/agents", params={"after": name})).json()["agents"] == []
        assert (await http.post(f"/agents/{name}/events", json={"event": "COUNTED"})).json()["applied"]
        assert len((await http.get(f"/agents/{name}/history")).json()["history"]) == 2
        assert (await http.delete(f"/agents/{name}")).status_code == 204


async def test_what_cannot_be_read_is_listed_among_the_others(sqlite_url):
    async with Runtime.open(sqlite_url, graphs=graphs) as runtime:
        for name in "ab":
            await runtime.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id=name)
            await runtime.post(f"nobody {name}", "COUNTED", {"n": 1})
    spoilt = ["UPDATE agents SET context = '{' WHERE id = 'a'", "UPDATE mail SET payload = '[' WHERE number = 1"]
    await by_hand(sqlite_url, *spoilt)
    async with serving(sqlite_url) as served, httpx.AsyncClient(base_url=served.url) as http:
        agents = (await http.get("/agents")).json()["agents"]
        assert [(each["agent_id"], each["status"]) for each in agents] == [("a", "unreadable"), ("b", "active")]
        assert (await http.get("/agents", params={"status": "unreadable"})).json()["agents"] == agents[:1]
        mail = (await http.get("/mail")).json()["mail"]
        assert [each["status"] for each in mail] == ["unreadable", "waiting"]
        assert (await http.get("/mail", params={"status": "unreadable"})).json()["mail"] == mail[:1]
        assert (await http.get("/agents/a")).status_code == 503
        assert (await http.delete("/agents/a")).status_code == 204
        assert len((await http.get("/agents")).json()["agents"]) == 1


def test_the_document_says_how_long_texts_may_be():
    parts = {each.call: each.rest.model_json_schema()["properties"] for each in OPERATIONS}
    assert parts[PostCommand]["event"]["maxLength"] == LONGEST_NAME
    assert parts[RollbackCommand]["reason"]["maxLength"] == LONGEST_REASON


async def test_a_store_holds_what_older_versions_accepted(sqlite_url):
    async with open_store(sqlite_url) as store:
        await store.commit([started("x" * 5_000)])
    async with Runtime.open(sqlite_url, graphs=graphs) as runtime:
        assert (await runtime.find()).agents[0].agent_id == "x" * 5_000
        with pytest.raises(PayloadError, match="300 at most"):
            await runtime.post("x" * 5_000, "COUNTED")
