"""The application mounted in another one, or behind a proxy that names the path it is under."""

from contextlib import asynccontextmanager

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from gatechart import Runtime
from gatechart.serving import Application, Lifecycle
from tests.serving.mounting import mounted, mounted_twice
from tests.serving.shop import graphs


@asynccontextmanager
async def asked(wrapped, root_path=""):
    """A client of the shop, mounted as `wrapped` makes it of the application."""
    lifecycle = Lifecycle()
    asgi = httpx.ASGITransport(wrapped(Application(lifecycle, graphs)), root_path=root_path)
    async with (
        Runtime.open("memory:", graphs=graphs) as runtime,
        lifecycle.hosting(runtime),
        httpx.AsyncClient(transport=asgi, base_url="http://127.0.0.1") as http,
    ):
        yield http
        lifecycle.stop()


def as_it_is(application):
    return application


ROUTES = [(mounted, "", "/gc"), (mounted_twice, "", "/api/gc"), (as_it_is, "/gc", "/gc")]


@pytest.mark.parametrize(("wrapped", "root_path", "under"), ROUTES, ids=["mounted", "twice", "root_path"])
async def test_it_answers_under_its_path(wrapped, root_path, under):
    async with asked(wrapped, root_path) as http:
        assert (await http.get(f"{under}/health/live")).status_code == 200
        begun = await http.post(f"{under}/agents", json={"graph": "strict", "at": "WAITING", "agent_id": "a/b"})
        assert begun.status_code == 201
        assert begun.headers["location"] == f"{under}/agents/a%2Fb"
        assert (await http.get(begun.headers["location"])).json()["agent_id"] == "a/b"


@pytest.mark.parametrize(("wrapped", "root_path", "under"), ROUTES, ids=["mounted", "twice", "root_path"])
async def test_its_document_says_under_which_path_it_is(wrapped, root_path, under):
    async with asked(wrapped, root_path) as http:
        document = (await http.get(f"{under}/openapi.json")).json()
    assert [server["url"] for server in document["servers"]] == [under]
    assert "/agents" in document["paths"]


async def test_a_mount_with_a_parameter_keeps_its_parameters_to_itself():
    async with asked(lambda application: Starlette(routes=[Mount("/of {id}", application)])) as http:
        begun = await http.post("/of%20me/agents", json={"graph": "strict", "at": "WAITING", "agent_id": "a/b"})
        assert begun.headers["location"] == "/of%20me/agents/a%2Fb"
        assert (await http.get(begun.headers["location"])).json()["agent_id"] == "a/b"


async def test_it_takes_part_in_a_lifespan():
    sent = []
    received = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

    async def receive():
        return next(received)

    async def send(message):
        sent.append(message["type"])

    await Application(Lifecycle(), graphs)({"type": "lifespan", "state": {}}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
