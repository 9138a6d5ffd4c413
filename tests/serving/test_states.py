"""Who is let in, and what is told while there is no runtime, no room, or no database to write to."""

import sqlite3
from contextlib import closing

import httpx
import pytest

from gatechart import Limits
from gatechart.clients import HttpClient
from gatechart.errors import InboxFullError, StoreBusyError
from gatechart.serving import Application, Lifecycle, Phase, listening
from gatechart.values.delays import Retry
from tests.serving.conftest import TOKEN, serving
from tests.serving.shop import graphs

CASE = {"graph": "shop", "at": "OPEN", "payload": {"name": "Ada"}, "agent_id": "a"}
GUARDED = ("/agents", "/agents/a", "/changes", "/openapi.json", "/mail", "/handoffs", "/nowhere")


def asking(url, **options):
    return httpx.AsyncClient(base_url=url, trust_env=False, **options)


async def test_a_server_that_starts_is_alive_and_not_ready():
    lifecycle = Lifecycle()
    application = Application(lifecycle, graphs)
    async with (
        listening(application, host="127.0.0.1", port=0, has_token=False) as server,
        asking(server.url) as http,
    ):
        assert (await http.get("/health/live")).status_code == 200
        ready = await http.get("/health/ready")
        assert (ready.status_code, ready.json()) == (503, {"status": "starting"})
        for path in ("/agents", "/changes"):
            refused = await http.get(path)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert (await http.get("/openapi.json")).status_code == 200


async def test_nothing_but_health_is_told_without_the_token():
    async with serving(token=TOKEN) as found, asking(found.url) as http:
        for path in GUARDED:
            refused = await http.get(path)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        for odd in (b"Bearer", b"Basic " + TOKEN.encode(), TOKEN.encode(), b"Bearer \xff", b"bearer x"):
            assert (await http.get("/agents", headers={b"authorization": odd})).status_code == 401
        assert (await http.get("/agents", headers={"authorization": f"bearer  {TOKEN}"})).status_code == 200
        assert (await http.get("/health/live")).status_code == 200
        assert (await http.get("/health/ready")).status_code == 200


async def test_without_a_token_only_names_of_this_machine_are_answered():
    async with serving() as found, asking(found.url) as http:
        for host in ("localhost", "LOCALHOST:80", "127.0.0.1:8700", "127.1.2.3", "[::1]", "[::1]:8700"):
            assert (await http.get("/agents", headers={"host": host})).status_code == 200, host
        for host in ("example.org", "localhost.example.org", "127.0.0.1.example.org", "10.0.0.1", "[2001:db8::1]", "["):
            assert (await http.get("/agents", headers={"host": host})).status_code == 403, host


PAGES = [
    ({"origin": "http://evil.example"}, 403),
    ({"origin": "http://localhost.evil.example:80"}, 403),
    ({"origin": "http://evil.example://localhost"}, 403),
    ({"origin": "null"}, 403),
    ({"sec-fetch-site": "cross-site"}, 403),
    ({"sec-fetch-site": "same-site", "origin": "http://localhost:3000"}, 403),
    ({"origin": "http://localhost:8700", "sec-fetch-site": "same-origin"}, 200),
    ({"origin": "http://[::1]:8700"}, 200),
    ({"sec-fetch-site": "none"}, 200),
]


async def test_without_a_token_web_pages_of_others_are_not_answered():
    async with serving() as found, asking(found.url) as http:
        (await http.post("/agents", json=CASE)).raise_for_status()
        for headers, status in PAGES:
            assert (await http.get("/agents/a", headers=headers)).status_code == status, headers
            if status == 403:
                plain = {**headers, "content-type": "text/plain"}  # which a browser sends without asking first
                assert (await http.post("/agents/a/stop", headers=plain)).status_code == 403, headers
        assert (await http.get("/agents/a")).json()["status"] == "active"
    async with serving(token=TOKEN) as found, asking(found.url, headers={"authorization": f"Bearer {TOKEN}"}) as http:
        for headers, _ in PAGES:
            assert (await http.get("/agents", headers=headers)).status_code == 200, headers


async def test_a_full_inbox_is_told_with_when_to_come_again():
    async with serving(limits=Limits(inbox=1)) as found, asking(found.url) as http, HttpClient(found.url) as client:
        await client.post("unborn", "COUNTED")
        refused = await http.post("/agents/unborn/mail", json={"event": "COUNTED"})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        with pytest.raises(InboxFullError):
            await client.post("unborn", "COUNTED")


async def test_a_database_that_cannot_be_written_is_told_and_nothing_is_doubled_afterwards(sqlite_path, sqlite_url):
    async with (
        serving(f"{sqlite_url}?timeout=0.1") as found,
        asking(found.url) as http,
        HttpClient(found.url, retry=Retry(attempts=1)) as client,
        HttpClient(found.url, retry=Retry(attempts=50, first_s=0.05, factor=1.0)) as patient,
    ):
        await client.start("shop", at="OPEN", payload={"name": "Ada"}, agent_id="a")
        with closing(sqlite3.connect(sqlite_path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            refused = await http.post("/agents/a/events", json={"event": "COUNTED", "event_id": "e1"})
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            with pytest.raises(StoreBusyError) as raised:
                await client.send("a", "COUNTED", event_id="e1")
            assert (raised.value.path, str(sqlite_path) in refused.text) == ("the server's database", False)
            other.execute("ROLLBACK")
        assert (await patient.send("a", "COUNTED", event_id="e1")).applied
        assert (await client.read("a")).version == 2


async def test_a_server_whose_database_was_taken_over_is_ready_no_more(sqlite_path, sqlite_url):
    async with serving(sqlite_url) as found, asking(found.url) as http:
        (await http.post("/agents", json=CASE)).raise_for_status()
        with closing(sqlite3.connect(sqlite_path)) as other, other:
            other.execute("UPDATE owner SET epoch = epoch + 1")
        refused = await http.post("/agents/a/events", json={"event": "COUNTED"})
        assert (refused.status_code, refused.json()["error"]) == (503, "OwnershipLostError")
        assert str(sqlite_path.parent) not in refused.text  # callers need not know where the server keeps its files
        assert (await http.get("/health/ready")).status_code == 503
        assert found.lifecycle.phase is Phase.STOPPING
