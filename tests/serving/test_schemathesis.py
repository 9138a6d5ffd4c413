"""Schemathesis reads the OpenAPI document of a real server and finds nothing; where there is something, it finds it."""

import asyncio
import os
import sys
from pathlib import Path
from textwrap import indent

import httpx
import pytest
from jsonschema import Draft202012Validator
from starlette.responses import JSONResponse

from gatechart.api.route import STREAM
from gatechart.serving import Application
from gatechart.serving.openapi import openapi_document
from tests.serving.conftest import TOKEN, serving
from tests.serving.shop import graphs

pytestmark = pytest.mark.processes

COMMAND = (sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run")
UNREFUSABLE = Path(__file__).with_name("unrefusable.py")
NO_STREAM = ("--exclude-path", "/changes", "--exclude-path", STREAM.path)  # which do not end
REST = ("--exclude-operation-id", "schedule", "--exclude-operation-id", "register_entry")  # they have their own tests


async def found(url, folder, *options, token=TOKEN, bound_s=120):
    """What it prints where it finds something; None where it finds nothing."""
    header = ("--header", f"Authorization: Bearer {token}") if token else ()
    running = await asyncio.create_subprocess_exec(
        *COMMAND,
        f"{url}/openapi.json",
        *(*header, "--seed", "1", "--max-failures", "20", "--suppress-health-check", "too_slow", *NO_STREAM, *options),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=folder,
        env={**os.environ, "SCHEMATHESIS_HOOKS": str(UNREFUSABLE)},
    )
    try:
        async with asyncio.timeout(bound_s):
            told, _ = await running.communicate()
    finally:
        if running.returncode is None:
            running.kill()
            await running.wait()
    return None if running.returncode == 0 else indent(told.decode(), "  ")


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize(
    ("token", "phases"),
    [
        (TOKEN, "fuzzing"),
        pytest.param(TOKEN, "stateful", marks=pytest.mark.slow),
        pytest.param(None, "fuzzing", marks=pytest.mark.slow),
    ],
)
async def test_a_few_requests_of_each_kind_find_nothing(tmp_path, token, phases):
    async with serving(token=token) as served:
        told = await found(served.url, tmp_path, *REST, "--phases", phases, "-n", "4", token=token)
    assert told is None, told


@pytest.mark.slow
@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("seed", ["2", "3"])
async def test_many_requests_in_every_phase_find_nothing(tmp_path, sqlite_url, seed):
    async with serving(sqlite_url, token=TOKEN) as served:
        told = await found(served.url, tmp_path, *REST, "-n", "60", "--seed", seed, bound_s=900)
    assert told is None, told


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("operation", ["schedule", "register_entry"])
async def test_a_few_calls_with_time_zones_find_nothing(tmp_path, operation):
    """No schema says what a cron expression is, or a time zone, so what fits it may still be refused."""
    alone = ("--include-operation-id", operation, "--exclude-checks", "positive_data_acceptance")
    async with serving(token=TOKEN) as served:
        told = await found(served.url, tmp_path, "--phases", "fuzzing", "-n", "20", *alone)
    assert told is None, told


@pytest.mark.usefixtures("unmeasured")
async def test_a_fault_is_found(tmp_path, monkeypatch):
    async def odd(self, request):
        return JSONResponse({"error": "Odd", "message": "", "facts": {}}, 418)

    monkeypatch.setattr(Application, "_ready", odd)
    async with serving(token=TOKEN) as served:
        told = await found(served.url, tmp_path, "--include-path", "/health/ready", "--phases", "fuzzing", "-n", "1")
    assert told is not None
    assert "Undocumented" in told


async def test_the_document_shows_the_doors_of_the_application():
    async with serving() as served, httpx.AsyncClient(base_url=served.url, trust_env=False) as http:
        document = (await http.get("/openapi.json")).json()
    doors = document["paths"]["/agents"]["post"]["requestBody"]["content"]["application/json"]["schema"]["oneOf"]
    named = [{name: each["const"] for name, each in door["properties"].items() if "const" in each} for door in doors]
    assert named == [
        {"graph": "shop", "at": "OPEN"},
        {"graph": "shop", "at": "SEARCHING"},
        {"graph": "shop", "at": "SEARCHING_LONG"},
        {"graph": "strict", "at": "WAITING"},
        {"trigger": "CALLED"},
    ]
    assert doors[0]["properties"]["payload"] == {"$ref": "#/components/schemas/Order"}
    assert document["components"]["schemas"]["Order"]["properties"]["urgency"]["maximum"] == 9


async def test_the_document_tells_every_header_and_refusal_that_there_is():
    for token, refused, status in ((None, "403", 403), (TOKEN, "401", 401)):
        async with serving(token=token) as served, httpx.AsyncClient(base_url=served.url, trust_env=False) as http:
            bearer = {"authorization": f"Bearer {token}"}
            paths = (await http.get("/openapi.json", headers=bearer)).json()["paths"]
            elsewhere = {"host": "example.org", "authorization": "Bearer none"}
            assert (await http.get("/agents", headers=elsewhere)).status_code == status
            begun = await http.post("/agents", json={"graph": "strict", "at": "WAITING"}, headers=bearer)
        for path in ("/agents", "/changes"):
            answers = paths[path]["get"]["responses"]
            assert {"401", "403"} & set(answers) == {refused}
            assert "Retry-After" in answers["503"]["headers"]
        assert ("Location" in paths["/agents"]["post"]["responses"]["201"]["headers"], "location" in begun.headers) == (
            True,
            True,
        )


def handed_on(kind, **target):
    return {"to": "shop", "at": "OPEN", "fallbacks": [{"kind": kind, "graph": "shop", **target}]}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/alarms", {"name": "disk", "alarm_id": "1", "graph": "shop", "where": {"total": [None]}}),
        ("/alarms", {"name": "disk", "alarm_id": "1", "graph": "shop", "where": '{"total": 5}'}),
        ("/agents/{agent_id}/handoffs", handed_on("other_graph", agent="a\0")),
        ("/agents/{agent_id}/handoffs", handed_on("human", entry_point="a\0")),
        ("/handoffs/{handoff_id}/rating", {}),
        ("/handoffs/{handoff_id}/rating", {"needed": None}),
    ],
)
async def test_the_document_and_the_server_refuse_the_same(path, body):
    async with serving() as served, httpx.AsyncClient(base_url=served.url, trust_env=False) as http:
        document = (await http.get("/openapi.json")).json()
        await http.post("/agents", json={"graph": "shop", "at": "OPEN", "payload": {"name": "Ada"}, "agent_id": "a"})
        made = await http.post("/agents/a/handoffs", json={"to": "shop", "at": "OPEN"})
        said = await http.post(path.format(agent_id="a", handoff_id=made.json()["handoff"]), json=body)
    schema = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert not Draft202012Validator({**schema, "components": document["components"]}).is_valid(body)
    assert said.status_code == 422


def test_every_schema_of_the_document_is_one():
    document = openapi_document(graphs, needs_token=True)
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    assert document["security"] == [{"token": []}]


def test_the_schemas_of_the_document_are_named_as_people_name_things():
    names = openapi_document(graphs, needs_token=True)["components"]["schemas"]
    assert [name for name in names if not name.isalnum() or name[-1].isdigit()] == []
