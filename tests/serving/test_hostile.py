"""Requests that are wrong, odd or hostile: each is told what is wrong with it, and none shakes the server."""

import asyncio
import json
import time
from contextlib import closing, suppress

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatechart.serving import ServerLimits
from tests.serving.conftest import PATIENCE_S, serving, state_of, within

JSON = {"content-type": "application/json"}
CASE = {"graph": "shop", "at": "OPEN", "payload": {"name": "Ada"}, "agent_id": "a"}


QUERIES = {
    "limit=0": 422,
    "limit=1001": 422,
    "limit=x": 422,
    "limit=": 422,
    "limit=1&limit=2": 422,
    "odd=1": 422,
    "status=asleep": 422,
    "graph=%00": 422,
    "graph=%FF": 400,
    "graph=none": 404,
    "state=NOWHERE": 404,
    "after=nobody": 404,
    "&".join(["a=b"] * 200): 400,
}
PATHS = {
    "%FF": 400,
    "%00": 422,
    "nobody": 404,
    "a/versions/x": 422,
    "a/versions/0": 422,
    "a/versions/7": 404,
    f"a/versions/{'9' * 30}": 422,
}
BODIES = [
    (b"{", 400),
    (b'{"event": "COUNTED"} more', 400),
    (b"\xff\xfe", 400),
    (b'{"event": "\\ud800"}', 400),
    (b'{"event": "COUNTED", "payload": {"x": NaN}}', 400),
    (b'{"event": "COUNTED", "payload": {"x": -Infinity}}', 400),
    (b'{"event": "COUNTED", "payload": {"x": 1e400}}', 422),
    (b'{"event": "COUNTED", "payload": {"x": {"y": [-1e999]}}}', 422),
    (b'{"event": "COUNTED", "payload": {"x": ' + b"[" * 150 + b"1" + b"]" * 150 + b"}}", 422),
    (b'{"event": "COUNTED", "payload": {"x": ' + b"[" * 300 + b"]" * 300 + b"}}", 400),
    (b"", 422),
    (b"null", 422),
    (b"[]", 422),
    (b'"COUNTED"', 422),
    (b"{}", 422),
    (b'{"event": ""}', 422),
    (b'{"event": "\\u0000"}', 422),
    (b'{"event": 7}', 422),
    (b'{"event": "COUNTED", "event_id": 7}', 422),
    (b'{"event": "COUNTED", "payload": []}', 422),
    (b'{"event": "COUNTED", "odd": 1}', 422),
    (b'{"event": "COUNTED", "verb": "stop"}', 422),
    (b'{"event": "COUNTED", "to": "b"}', 422),
    (b'{"event": "COUNTED", "payload": {"x": "' + b"y" * 10_000 + b'"}}', 413),
]


@pytest.fixture
async def http():
    """A plain HTTP client of a server in memory, with an agent `a`."""
    async with (
        serving(server=ServerLimits(body_bytes=10_000)) as found,
        httpx.AsyncClient(base_url=found.url, trust_env=False, timeout=PATIENCE_S) as client,
    ):
        (await client.post("/agents", json=CASE)).raise_for_status()
        yield client


async def test_a_body_that_will_not_do_is_refused_and_changes_nothing(http):
    for body, status in BODIES:
        refused = await http.post("/agents/a/events", content=body, headers=JSON)
        assert refused.status_code == status, body[:80]
        assert refused.json()["message"]
    assert (await http.get("/agents/a")).json()["version"] == 1


def wrong_values(most):
    """Bodies near that size in which next to nothing is as it should be: path, body."""
    names = b",".join(b'"%07x":1' % number for number in range(most // 12))
    many = most - 200
    return {
        "steps": (
            "/agents/a/handoffs",
            b'{"to":"shop","at":"OPEN","fallbacks":[' + b'{"kind":7},' * (many // 11) + b"7]}",
        ),
        "numbers": ("/agents/a/handoffs", b'{"to":"shop","at":"OPEN","fallbacks":[' + b"1," * (many // 2) + b"7]}"),
        "lists": ("/agents", b'{"graph":"shop","at":"OPEN","payload":{"x":[' + b"[1]," * (many // 4) + b"7]}}"),
        "keys": ("/agents", b'{"graph":"shop","at":"OPEN",' + names + b"}"),
        "fields": ("/agents", b'{"graph":"shop","at":"OPEN","payload":{' + names + b"}}"),
        "a text": ("/agents", b'{"graph":"shop","at":"OPEN","payload":{"name":7,"due":"' + b"y" * many + b'"}}'),
        "a name": ("/agents", b'{"graph":"shop","at":"OPEN","' + b"y" * many + b'":1}'),
        "no end": ("/agents", b'{"graph":"' + b'\\"' * (many // 2)),
    }


async def test_a_megabyte_of_wrong_values_is_answered_soon_and_in_short():
    async with (
        serving() as found,
        httpx.AsyncClient(base_url=found.url, trust_env=False, timeout=PATIENCE_S) as client,
    ):
        (await client.post("/agents", json=CASE)).raise_for_status()
        for name, (path, body) in wrong_values(2**20).items():
            began = time.monotonic()
            answer = await client.post(path, content=body, headers=JSON)
            assert 400 <= answer.status_code < 500, name
            assert len(answer.content) < 30_000, name
            assert time.monotonic() - began < 5, name


async def test_of_many_wrong_values_ten_are_told_and_how_many_more_there_are(http):
    body = {"to": "shop", "at": "OPEN", "fallbacks": [1] * 500}
    told = (await http.post("/agents/a/handoffs", json=body)).json()["message"]
    assert "fallbacks.9" in told
    assert "fallbacks.10" not in told
    assert "and 490 more" in told


async def test_a_body_of_too_many_values_is_refused_with_the_limit():
    limits = ServerLimits(body_values=100)
    async with serving(server=limits) as found, httpx.AsyncClient(base_url=found.url, trust_env=False) as client:
        (await client.post("/agents", json=CASE)).raise_for_status()
        for values, status in ([0] * 80, 200), ([0] * 120, 413), ({"text": ",[{" * 100}, 200), ([[]] * 60, 413):
            payload = {"note": "x", "values": values}
            answer = await client.post("/agents/a/events", json={"event": "NOTED", "payload": payload})
            assert answer.status_code == status, values
        assert "100 values" in answer.json()["message"]


async def test_the_word_nan_within_a_text_is_no_number(http):
    told = await http.post("/agents/a/events", json={"event": "NOTED", "payload": {"note": "NaN, Infinity"}})
    assert told.status_code == 200


async def test_a_body_in_parts_without_an_end_is_cut_off(http):
    async def endless():
        while True:
            yield b" " * 4096

    with suppress(httpx.TransportError):  # the answer was there, but the connection is gone while we still write
        assert (await http.post("/agents/a/events", content=endless(), headers=JSON)).status_code == 413
    assert (await http.get("/agents/a")).json()["version"] == 1


async def test_a_body_of_another_type_or_that_is_compressed_is_refused(http):
    async def status(**headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return (await http.post("/agents/a/events", content=b'{"event": "COUNTED"}', headers=named)).status_code

    for kind in ("text/plain", "application/x-www-form-urlencoded", "", "application/jsonp", "json"):
        assert await status(content_type=kind) == 415, kind
    assert await status(content_type="application/json", content_encoding="gzip") == 415
    assert await status(content_type="Application/JSON; charset=utf-8") == 200


async def test_another_method_is_told_which_there_are(http):
    for method, path, allowed in (
        ("PUT", "/agents", "POST, GET, HEAD"),
        ("POST", "/agents/a", "GET, DELETE, HEAD"),
        ("GET", "/agents/a/events", "POST"),
        ("HEAD", "/agents/a/events", "POST"),
        ("DELETE", "/changes", "GET, HEAD"),
        ("POST", "/health/live", "GET, HEAD"),
        ("OPTIONS", "/mail", "GET, HEAD"),
        ("TRACE", "/openapi.json", "GET, HEAD"),
    ):
        refused = await http.request(method, path)
        assert (refused.status_code, refused.headers["allow"]) == (405, allowed)


async def test_a_path_that_leads_nowhere_is_not_found(http):
    for path in ("/", "/agent", "/agents/", "/agents//events", "/agents/a/b/c", "//agents", "/AGENTS"):
        assert (await http.get(path)).status_code == 404, path


async def test_head_is_get_without_a_body(http):
    for path in ("/agents", "/agents/a", "/changes", "/health/ready", "/openapi.json"):
        told = await within(http.head(path))
        assert (told.status_code, told.content) == (200, b"")


async def test_a_query_that_will_not_do_is_refused(http):
    found = {query: (await http.get(f"/agents?{query}")).status_code for query in QUERIES}
    assert found == QUERIES


async def test_a_part_of_the_path_that_will_not_do_is_refused(http):
    found = {path: (await http.get(f"/agents/{path}")).status_code for path in PATHS}
    assert found == PATHS


async def test_a_start_is_checked_as_strictly_as_the_schema_says(http):
    for payload in ({"name": "Ada", "urgency": "5"}, {"name": ""}, {"name": "Ada", "due": 7}, {}, None):
        refused = await http.post("/agents", json={"graph": "shop", "at": "OPEN", "payload": payload})
        assert (refused.status_code, refused.json()["error"]) == (422, "PayloadError")
    whole = {"name": "Ada", "urgency": 5.0, "due": "2026-07-01"}
    assert (await http.post("/agents", json={"graph": "shop", "at": "OPEN", "payload": whole})).status_code == 201


async def test_a_number_that_is_an_integer_is_one_however_it_is_written(http):
    assert (await http.post("/agents/a/rollback", json={"version": 1.0, "reason": "x"})).status_code == 200
    assert (await http.post("/agents/a/rollback", json={"version": 1.5, "reason": "x"})).status_code == 422
    assert (await http.post("/agents/a/rollback", json={"version": 99, "reason": "x"})).status_code == 409


async def test_an_agent_is_started_once_under_an_id(http):
    assert (await http.post("/agents", json=CASE)).status_code == 409


RAW = [
    b"GET /agents/a HTTP/1.1\r\nhost: localhost\r\nx-odd: \xff\xfe\x80\r\n\r\n",
    b"GET /agents/a HTTP/1.1\r\nhost: localhost\r\nlast-event-id: \xff\r\ncontent-length: 0\r\n\r\n",
    b"POST /agents/a/events HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
    b"POST /agents/a/events HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n12345",
    b"POST /agents/a/events HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    b"GET /agents/\xc3\xbc HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"GET http://localhost/agents/a HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"GET * HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"GET /agents/a HTTP/1.0\r\n\r\n",
    b"CONNECT localhost:1 HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"GET /agents/a?%zz HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"GET /changes HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    b"last-event-id: x\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"\r\n\r\nnothing at all\r\n\r\n",
]


async def test_bytes_that_no_client_library_sends_are_answered_below_500(http):
    for sent in RAW:
        reader, writer = await asyncio.open_connection(http.base_url.host, http.base_url.port)
        writer.write(sent)
        writer.write_eof()
        answer = await within(reader.readline())
        writer.close()
        assert not answer.startswith(b"HTTP/1.1 5"), sent
    assert (await http.get("/health/ready")).status_code == 200


async def test_a_body_that_does_not_come_is_not_waited_for():
    async with serving(server=ServerLimits(body_s=0.1)) as found:
        url = httpx.URL(found.url)
        head = await asked(url.host, url.port)
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in head
    assert json.loads(head.partition(b"\r\n\r\n")[2])["error"] == "TooSlow"


async def test_what_does_not_end_when_the_server_does_is_cut_off_and_logs_no_fault(caplog):
    async with serving(grace_s=0.5) as found, httpx.AsyncClient(base_url=found.url, trust_env=False) as http:
        (await http.post("/agents", json=CASE)).raise_for_status()
        large = {"event": "NOTED", "payload": {"note": "x" * 900_000}}
        for _ in range(20):
            (await http.post("/agents/a/events", json=large)).raise_for_status()
        _reader, writer = await asyncio.open_connection(http.base_url.host, http.base_url.port, limit=1)
        writer.transport.pause_reading()
        first = f"{found.lifecycle.buffer.end.buffer}-0"
        writer.write(f"GET /changes HTTP/1.1\r\nhost: [::1]\r\nlast-event-id: {first}\r\n\r\n".encode())
        sending = asyncio.create_task(asked(http.base_url.host, http.base_url.port))
        async with asyncio.timeout(PATIENCE_S):
            while len(state_of(found.server).tasks) < 2:  # noqa: ASYNC110  nothing tells
                await asyncio.sleep(0.01)
    assert await within(sending) == b""
    writer.transport.abort()
    told = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert told == ["Cancel 2 running task(s), timeout graceful shutdown exceeded"]


async def asked(host, port):
    """All that is answered on a connection where a body has begun."""
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"POST /agents/a/events HTTP/1.1\r\nhost: localhost\r\ncontent-length: 50\r\n")
    with closing(writer):
        writer.write(b"content-type: application/json\r\n\r\n{")
        return await within(reader.read())


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=5,
)


ANY_BODY = st.one_of(
    ANY_JSON, st.fixed_dictionaries({"event": ANY_JSON}, optional={"payload": ANY_JSON, "event_id": ANY_JSON})
)


async def test_no_body_at_all_is_answered_with_500(http):
    tried = []

    @settings(max_examples=150, deadline=None, derandomize=True, database=None)
    @given(body=ANY_BODY)
    def collect(body):
        tried.append(body)

    collect()
    for number, body in enumerate(tried):
        path = ("/agents", "/agents/a/events", "/agents/a/mail", "/agents/a/rollback", "/agents/a/handoffs")[number % 5]
        answer = await http.post(path, content=json.dumps(body), headers=JSON)
        assert answer.status_code < 500, (path, body, answer.text)
