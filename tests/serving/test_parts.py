"""Answers that would be larger than a server gives at once: given in parts, however large their entries are."""

import tracemalloc

import httpx
import pytest

from gatechart.clients import HttpClient
from gatechart.serving import ServerLimits
from tests.serving.conftest import PATIENCE_S, serving

pytestmark = [pytest.mark.needs("watches_changes"), pytest.mark.sqlite_is_enough]

LARGE = "x" * 30_000
MOST = 100_000


@pytest.fixture
async def served(place):
    """A server of small answers, with an agent `a` of large turns, large mail, and large agents beside it."""
    async with serving(place, server=ServerLimits(answer_bytes=MOST)) as found:
        agent = await found.runtime.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
        for number in range(12):
            await agent.send("COUNTED", {"note": LARGE, "number": number})
            await found.runtime.post("nobody", "COUNTED", {"note": LARGE}, event_id=f"mail-{number}")
            other = await found.runtime.start("shop", at="OPEN", payload={"name": "Bob"}, agent_id=f"b-{number}")
            await other.send("NOTED", {"note": LARGE})
        yield found


@pytest.mark.parametrize(
    ("path", "field", "place_of"),
    [
        ("/agents/a/history", "history", lambda entry: entry["version"]),
        ("/mail", "mail", lambda entry: entry["number"]),
        ("/agents", "agents", lambda entry: entry["agent_id"]),
    ],
)
async def test_a_page_has_as_many_entries_as_fit_into_its_bytes(served, path, field, place_of):
    seen, after = [], None
    async with httpx.AsyncClient(base_url=served.url, trust_env=False, timeout=PATIENCE_S) as http:
        while True:
            asked = {"limit": 1000} if after is None else {"limit": 1000, "after": after}
            answer = await http.get(path, params=asked)
            page = answer.json()
            assert len(answer.content) < MOST + 1_000
            assert page[field]
            seen += map(place_of, page[field])
            after = page["next"]
            if after is None:
                break
            assert after == seen[-1]
        assert len(seen) == len(set(seen)) in (12, 13)
        assert [place_of(entry) for entry in (await http.get(path, params={"limit": 2})).json()[field]] == seen[:2]


async def test_the_client_asks_until_it_has_what_was_wanted(served):
    async with HttpClient(served.url) as client:
        assert [entry.version for entry in await client.history("a")] == [*range(1, 14)]
        assert [entry.version for entry in await client.history("a", after=2, limit=7)] == [*range(3, 10)]
        assert [mail.id for mail in await client.mail(limit=11)] == [f"mail-{number}" for number in range(11)]
        page = await client.find(limit=10)
        assert [agent.agent_id for agent in page.agents] == ["a", *(f"b-{number}" for number in range(9))]
        assert page.next == "b-8"
        assert (await client.find(limit=100)).next is None


async def test_an_entry_larger_than_an_answer_is_given_alone():
    async with (
        serving(server=ServerLimits(answer_bytes=10)) as found,
        HttpClient(found.url) as client,
        httpx.AsyncClient(base_url=found.url, trust_env=False) as http,
    ):
        agent = await found.runtime.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
        await agent.send("COUNTED", {"note": LARGE})
        assert len((await http.get("/agents/a/history")).json()["history"]) == 1
        assert [entry.version for entry in await client.history("a")] == [1, 2]


async def test_what_does_not_fit_into_a_page_is_not_read_either(sqlite_url):
    async with serving(sqlite_url, server=ServerLimits(answer_bytes=500_000)) as found:
        agent = await found.runtime.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
        for number in range(150):
            await agent.send("COUNTED", {"note": "x" * 200_000, "number": number})
        async with httpx.AsyncClient(base_url=found.url, trust_env=False, timeout=PATIENCE_S) as http:
            tracemalloc.start()
            try:
                answer = await http.get("/agents/a/history", params={"limit": 1000})
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
    assert answer.json()["next"] is not None
    assert peak < 20_000_000  # of 30 MB of turns
