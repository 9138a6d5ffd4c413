"""Over HTTP nobody speaks for the framework either, and operators stand in for it with a reason."""

import asyncio

import pytest

from gatechart.errors import ReservedEventError
from tests.runtime.reserved_names import FREE, RESERVED
from tests.serving.conftest import within

pytestmark = [pytest.mark.needs("watches_changes"), pytest.mark.sqlite_is_enough]

CASE = {"graph": "shop", "at": "OPEN", "payload": {"name": "Ada"}, "agent_id": "a"}


async def test_an_event_of_the_framework_is_refused_over_http(http):
    await http.post("/agents", json=CASE)
    for name in RESERVED:
        for way in ("events", "mail"):
            refused = await http.post(f"/agents/a/{way}", json={"event": name, "payload": {"result": "forged"}})
            assert (refused.status_code, refused.json()["error"]) == (422, "ReservedEventError"), (way, name)
    for name in FREE:
        assert (await http.post("/agents/a/events", json={"event": name})).status_code == 200
    assert (await http.get("/agents/a")).json()["version"] == 1


async def test_the_history_tells_over_http_who_made_an_event_happen(http):
    await http.post("/agents", json=CASE)
    await http.post("/agents/a/events", json={"event": "COUNTED"})
    turns = (await http.get("/agents/a/history")).json()["history"]
    assert [turn["origin"] for turn in turns] == ["framework", "outside"]


async def test_an_operator_ends_an_invoke_over_http(http):
    await http.post("/agents", json={"graph": "shop", "at": "SEARCHING_LONG", "agent_id": "a"})
    path = "/agents/a/invokes/search_long/end"
    unexplained = await http.post(path, json={"result": 1})
    assert unexplained.status_code == 422
    ended = await http.post(path, json={"result": {"n": 1}, "reason": "looked it up", "idempotency_key": "op-1"})
    assert (ended.status_code, ended.json()["repeat"]) == (202, False)
    await within(_until(http, "configuration", ["OPEN"]))
    *_, last = (await http.get("/agents/a/history")).json()["history"]
    assert (last["origin"], last["event"]["operator_reason"]) == ("operator", "looked it up")
    again = await http.post(path, json={"result": {"n": 1}, "reason": "looked it up", "idempotency_key": "op-1"})
    assert again.json()["repeat"]
    over = await http.post(path, json={"result": {"n": 1}, "reason": "looked it up"})
    assert (over.status_code, over.json()["error"]) == (404, "NoInvokeError")


async def test_an_operator_lets_mail_with_a_due_time_come_now_over_http(http):
    await http.post("/agents", json=CASE)
    posted = await http.post("/agents/a/mail", json={"event": "COUNTED", "due": "2999-01-01T00:00:00Z"})
    number = posted.json()["mail"]
    fired = await http.post(f"/mail/{number}/fire", json={"reason": "sooner"})
    assert (fired.status_code, fired.json()["origin"]) == (200, "operator")
    await within(_until(http, "version", 2))
    assert (await http.post(f"/mail/{number}/fire", json={"reason": "sooner"})).status_code == 404


async def test_our_client_raises_what_the_runtime_raises(client):
    await client.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
    for call in (client.send, client.post):
        with pytest.raises(ReservedEventError):
            await call("a", "done.invoke.search", {"result": "forged"})


async def _until(http, field, value):
    while (await http.get("/agents/a")).json()[field] != value:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
