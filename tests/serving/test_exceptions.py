"""What the application's own exceptions say is for its log, not for whoever asks over HTTP."""

import logging
from contextlib import asynccontextmanager

import httpx
import pytest
from pydantic import BaseModel

from gatechart import AgentContext, EntryPoint, Migration, Runtime, StateTransitionGraph, Transition
from gatechart.clients.database import open_database_client
from gatechart.errors import ActionFailedError
from gatechart.serving import Application, Lifecycle

SECRET = "password=hunter2"


class Order(BaseModel):
    name: str = ""


class Desk(AgentContext):
    name: str = ""


def leak(*_):
    raise RuntimeError(SECRET)


def desk(version="1", **more):
    return StateTransitionGraph(
        "desk",
        version=version,
        context=Desk,
        transitions=[
            Transition("OPEN", "JAMMED", actions=leak),
            Transition("OPEN", "ASKED", "ASKING", guard=leak),
            Transition("OPEN", "ASKED", "WAITING"),
        ],
        entry_points=[
            "OPEN",
            EntryPoint("ASKING", guard=leak),
            EntryPoint("WAITING", takes=Order, maps=leak),
        ],
        **more,
    )


@asynccontextmanager
async def asked(url, graph):
    lifecycle = Lifecycle()
    asgi = httpx.ASGITransport(Application(lifecycle, [graph]))
    async with (
        Runtime.open(url, graphs=graph) as runtime,
        lifecycle.hosting(runtime),
        httpx.AsyncClient(transport=asgi, base_url="http://127.0.0.1") as http,
    ):
        yield http
        lifecycle.stop()


def told_under(reference, caplog):
    """What the log tells under a reference."""
    return [each for each in caplog.records if getattr(each, "reference", None) == reference]


JAMMED = {"agent_id": "a", "event": "JAMMED", "action": "leak"}
REQUESTS = [
    ("/agents/a/events", {"event": "JAMMED"}, "ActionFailedError", JAMMED),
    ("/agents", {"graph": "desk", "at": "ASKING"}, "EntryGuardError", {"entry_point": "ASKING", "guard": "leak"}),
    ("/agents", {"graph": "desk", "at": "WAITING", "payload": {}}, "PayloadError", {"problems": ["maps=leak"]}),
]


@pytest.mark.parametrize(("path", "body", "error", "facts"), REQUESTS, ids=["action", "guard", "maps"])
async def test_an_error_names_what_failed_and_where_the_log_tells_why(sqlite_url, caplog, path, body, error, facts):
    async with asked(sqlite_url, desk()) as http:
        await http.post("/agents", json={"graph": "desk", "at": "OPEN", "agent_id": "a"})
        with caplog.at_level(logging.WARNING, "gatechart.serving"):
            refused = await http.post(path, json=body)
    document = refused.json()
    assert (document["error"], document["facts"] | facts) == (error, document["facts"])
    assert SECRET not in refused.text
    assert document["reference"] in document["message"]
    [record] = told_under(document["reference"], caplog)
    assert SECRET in record.problem
    assert SECRET in str(record.exc_info[1])


async def test_guards_that_raised_are_named_in_an_outcome_without_their_words(sqlite_url, caplog):
    async with asked(sqlite_url, desk()) as http:
        await http.post("/agents", json={"graph": "desk", "at": "OPEN", "agent_id": "a"})
        with caplog.at_level(logging.WARNING, "gatechart.serving"):
            outcome = await http.post("/agents/a/events", json={"event": "ASKED"})
    [error] = outcome.json()["guard_errors"]
    assert (outcome.status_code, error["guard"], SECRET in outcome.text) == (200, "leak", False)
    [record] = told_under(error["raised"].split()[-1], caplog)
    assert SECRET in str(record.guard_errors)


async def test_guards_that_raise_are_named_in_what_is_accepted_without_their_words(sqlite_url, caplog):
    async with asked(sqlite_url, desk()) as http:
        await http.post("/agents", json={"graph": "desk", "at": "OPEN", "agent_id": "a"})
        with caplog.at_level(logging.WARNING, "gatechart.serving"):
            several = await http.get("/agents/a/accepts")
            one = await http.post("/agents/a/accepts", json={"event": "ASKED"})
    events = {each["event"]: each for each in several.json()["accepts"]}
    assert (one.status_code, one.json()["event"], events["JAMMED"]["agrees"]) == (200, "ASKED", "yes")
    for answer in (one.json(), events["ASKED"]):
        transition = answer["transitions"][0]
        assert (transition["guard"], transition["agrees"]) == ("leak", "no")
        [record] = told_under(transition["raised"].split()[-1], caplog)
        assert SECRET in str(record.transitions)
    assert SECRET not in several.text + one.text


async def test_a_migration_that_fails_is_told_without_its_words(sqlite_url, caplog):
    async with asked(sqlite_url, desk()) as http:
        await http.post("/agents", json={"graph": "desk", "at": "OPEN", "agent_id": "a"})
    async with asked(sqlite_url, desk("2", migrations=Migration("1", "2", leak))) as http:
        with caplog.at_level(logging.WARNING, "gatechart.serving"):
            refused = await http.post("/agents/a/events", json={"event": "JAMMED"})
    assert (refused.json()["error"], SECRET in refused.text) == ("IncompatibleGraphError", False)
    [record] = told_under(refused.json()["reference"], caplog)
    assert SECRET in record.problem


async def test_whoever_asks_through_the_database_itself_is_told_all(sqlite_url):
    async with Runtime.open(sqlite_url, graphs=desk()) as runtime, open_database_client(sqlite_url) as asker:
        await runtime.start("desk", at="OPEN", agent_id="a")
        with pytest.raises(ActionFailedError, match=SECRET):
            await asker.send("a", "JAMMED")
