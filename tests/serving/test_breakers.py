"""Circuit breakers over HTTP and in the client."""

import pytest

from gatechart.errors import PayloadError
from gatechart.values.breakers import BreakerState

pytestmark = [pytest.mark.needs("watches_changes"), pytest.mark.sqlite_is_enough]


async def test_a_breaker_is_isolated_listed_and_closed(http):
    isolated = await http.post("/breakers/crm%2Feu/isolate", json={"reason": "the CRM moves"})
    assert isolated.status_code == 200
    told = isolated.json()
    assert (told["name"], told["state"], told["reason"], told["retry_at"]) == (
        "crm/eu",
        "ISOLATED",
        "the CRM moves",
        None,
    )
    assert (await http.get("/breakers")).json() == {"breakers": [told], "next": None}
    closed = await http.post("/breakers/crm%2Feu/close")
    assert (closed.status_code, closed.json()["state"]) == (200, "CLOSED")
    assert (await http.get("/breakers")).json() == {"breakers": [], "next": None}


async def test_a_client_reads_what_the_server_wrote(client):
    isolated = await client.isolate_breaker("crm", reason="the CRM moves")
    assert isolated.state is BreakerState.ISOLATED
    assert await client.breakers() == (isolated,)
    assert (await client.close_breaker("crm")).state is BreakerState.CLOSED
    with pytest.raises(PayloadError, match="reason"):
        await client.isolate_breaker("crm", reason="")


async def test_breakers_are_listed_a_page_at_a_time(http, client):
    for name in ("c", "a", "b"):
        await client.isolate_breaker(name, reason="a test")
    page = (await http.get("/breakers", params={"limit": 2})).json()
    assert ([each["name"] for each in page["breakers"]], page["next"]) == (["a", "b"], "b")
    assert [each.name for each in await client.breakers(after="a")] == ["b", "c"]
