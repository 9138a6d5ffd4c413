"""Exceptions over HTTP: every caller sees their type and a short message, and only operators see the rest."""

import asyncio
import re
from contextlib import asynccontextmanager
from itertools import product

import httpx
import pytest

from gatechart import (
    AgentContext,
    EntryPoint,
    Handoff,
    Invoke,
    Limits,
    ModelLoop,
    Retry,
    State,
    StateTransitionGraph,
    Transition,
    tool,
)
from gatechart.api.route import CHANGES, STREAM
from gatechart.errors import ActionFailedError
from gatechart.graph.signals import Signal
from gatechart.serving import Application, Lifecycle
from gatechart.serving.exposure import LONGEST_MESSAGE, public_text
from gatechart.signals import ToolFailures
from gatechart.testing.scripted_model import Calls, Says, scripted_model
from gatechart.tools import ToolPolicies
from tests.models.support import Services, chat
from tests.serving.conftest import PATIENCE_S, TOKEN, serving

OPERATOR = "a-token-of-an-operator"
PLACE = "/srv/hidden/place.db"
TRACEBACK = f'Traceback (most recent call last):\n  File "{PLACE}", line 3, in <module>\n    hidden_source_line()\n'
MESSAGE = f"cannot open {PLACE}\nas the other process said: {TRACEBACK}"
SHORT = "cannot open (a path) as the other process said:"
SINCE = {"last-event-id": "another-0"}  # of another server, so that everything is replayed
PRIVATE = re.compile(f"Traceback|hidden_source_line|{PLACE}|{__file__}|this_line_is_private")


def fail(*_):
    this_line_is_private = LookupError(MESSAGE)
    raise this_line_is_private


@tool(repeat="safe", policies=ToolPolicies(retry="off"))
async def look_up(key: str) -> str:
    """Look a key up."""
    fail()


class Case(AgentContext):
    problem: str = ""


async def call_tool(context, work):
    return (await work.call("look_up", key="k")).unwrap()


def give_up(state):
    return Transition(state, "error.invoke", "GAVE_UP")


case = StateTransitionGraph(
    "case",
    context=Case,
    states=[
        State("INVOKING", invoke=Invoke(fail)),
        State("CALLING", invoke=Invoke(call_tool)),
        State("GAVE_UP", final=True, failed=True),
    ],
    transitions=[
        Transition("OPEN", "JAMMED", actions=fail),
        Transition("OPEN", "ASKED", "INVOKING", guard=fail),
        Transition("OPEN", "ASKED", "OPEN"),
        Transition("OPEN", "CHECKED", "INVOKING", guard=fail),
        Transition("OPEN", "INVOKED", "INVOKING"),
        Transition("OPEN", "CALLED", "CALLING"),
        Transition("HANDLING", "JAMMED", actions=fail),
        Transition("HANDLING", "error.execution", "OPEN"),
        Transition("CALLING", "signal.tool_failures", "OPEN"),
        give_up("INVOKING"),
        give_up("CALLING"),
    ],
    signals=[Signal(ToolFailures(1))],
    entry_points=["OPEN", "INVOKING", "CALLING", "HANDLING"],
)
broken = StateTransitionGraph(
    "broken",
    states=[State("BROKEN", on_entry=fail), State("GUARDED")],
    entry_points=["BROKEN", EntryPoint("GUARDED", guard=fail)],
)


async def everything_fails(runtime):
    """Let agents, mail, a handoff and a schedule fail, each in every way that they can."""
    agents = {at: await runtime.start("case", at=at, agent_id=at.lower()) for at in case.entry_points}
    for _ in range(3):
        with pytest.raises(ActionFailedError):
            await agents["OPEN"].send("JAMMED")
    await agents["OPEN"].send("ASKED")
    await agents["OPEN"].send("CHECKED")
    await runtime.post("open", "JAMMED")
    await agents["HANDLING"].send("JAMMED")
    talker = await runtime.start("chat", at="LISTENING", agent_id="talker")
    await talker.send("ASKED", {"text": "look"})
    await talker.until("LISTENING")
    handoff = await runtime.handoff("open", Handoff("broken", at="BROKEN"))
    await runtime.schedule("nightly", "broken", at="GUARDED", every="1d")
    await runtime.run_schedule("nightly")
    await settled(runtime, handoff)
    return handoff


async def settled(runtime, handoff):
    """Wait until everything that was asked for has failed."""
    async with asyncio.timeout(PATIENCE_S):
        while not (  # noqa: ASYNC110  a client sees mail and schedules only by asking
            (await runtime.mail(status="dead"))
            and (await runtime.handoffs(handoff_id=handoff))[0].status == "rejected"
            and (await runtime.schedules())[0].problem
            and (await runtime.read("invoking")).configuration == ("GAVE_UP",)
            and "open" in str(await runtime.hosts())
            and (await runtime.read("calling")).configuration == ("OPEN",)
        ):
            await asyncio.sleep(0.01)


NAMED = {
    "agent_id": ("open", "handling", "invoking", "calling", "talker", "schedule:nightly"),
    "journal": ("conversation",),
    "version": ("1", "2"),
    "name": ("nightly",),
    "id": ("case.OPEN",),
    "entry": ("case.OPEN",),
    "user": ("ada",),
    "graph": ("case",),
    "rest": ("nothing",),
}
STREAMED = {CHANGES, STREAM.path}  # they never end, so that a test of their own reads them


def paths_of(application, **named):
    """Yield the path of every route that answers GET, with every value of its parameters."""
    known = {**NAMED, **named}
    for route in application._router.routes:
        if route.path in STREAMED:
            continue
        names = re.findall(r"{(\w+)(?::path)?}", route.path)
        assert set(names) <= {*known, "to", "number", "invoke"}, f"give NAMED values for {route.path}"
        if set(names) <= {*known}:
            plain = re.sub(r":path}", "}", route.path)
            for values in product(*(known[name] for name in names)):
                yield plain.format(**dict(zip(names, values, strict=True)))


@asynccontextmanager
async def failed_server(store):
    """A server on which everything has failed, and the paths of everything that can be read of it."""
    script = [Calls(("look_up", {"key": "k"}, "c")), Says("It cannot be found.")]
    loop = ModelLoop(tools=[look_up])
    graphs = (case, broken, chat(loop))
    limits = Limits(mail_retry=Retry(attempts=1), beat_s=0.01)
    operators = {"ada": OPERATOR}
    async with (
        scripted_model(script) as model,
        serving(
            store, token=TOKEN, operators=operators, graphs=graphs, services=Services(model, look_up), limits=limits
        ) as served,
        httpx.AsyncClient(base_url=served.url, trust_env=False, timeout=PATIENCE_S) as http,
    ):
        handoff = await everything_fails(served.runtime)
        application = Application(Lifecycle(), graphs)
        yield http, [*paths_of(application, handoff_id=(handoff,))]


def bearing(token):
    return {"authorization": f"Bearer {token}"}


async def test_no_route_shows_a_traceback_or_a_path_except_to_operators(sqlite_url):
    async with failed_server(sqlite_url) as (http, paths):
        shown = set()
        for path in paths:
            public = await http.get(path, headers=bearing(TOKEN))
            assert not PRIVATE.search(public.text), path
            whole = await http.get(path, headers=bearing(OPERATOR))
            assert whole.status_code == public.status_code
            shown |= {path} if PRIVATE.search(whole.text) else set()
    expected = {
        "/agents/invoking/history",
        "/mail",
        "/hosts",
        "/handoffs",
        "/schedules",
        "/agents/talker/journals/conversation",
    }
    assert expected <= shown


async def test_the_type_and_a_short_message_are_shown_to_everybody(sqlite_url):
    async with failed_server(sqlite_url) as (http, _):
        turns = (await http.get("/agents/invoking/history", headers=bearing(TOKEN))).json()["history"]
        hosts = (await http.get("/hosts", headers=bearing(TOKEN))).text
        [dead] = (await http.get("/mail?status=dead", headers=bearing(TOKEN))).json()["mail"]
    [failed] = [each["event"]["payload"] for each in turns if each["event"]["name"].startswith("error.invoke")]
    assert failed == {"type": "LookupError", "message": SHORT, "traceback": "", "attempts": 1}
    assert SHORT in hosts
    assert SHORT in dead["reason"]


async def turn_of(http, token, kind):
    """Read the stream of turns until one has the event."""
    async with asyncio.timeout(PATIENCE_S), http.stream("GET", CHANGES, headers=bearing(token) | SINCE) as stream:
        async for line in stream.aiter_lines():
            if line.startswith("data: ") and kind in line:
                return line
        raise AssertionError(f"the stream ended without {kind}")


async def test_the_stream_of_turns_shows_a_traceback_only_to_operators(sqlite_url):
    async with failed_server(sqlite_url) as (http, _):
        public, whole = [await turn_of(http, token, '"error.invoke') for token in (TOKEN, OPERATOR)]
    assert SHORT in public
    assert not PRIVATE.search(public)
    assert PRIVATE.search(whole)


async def test_an_operator_is_told_at_once_what_an_action_raised(sqlite_url):
    async with failed_server(sqlite_url) as (http, _):
        body = {"event": "JAMMED"}
        refused = await http.post("/agents/handling/events", json=body, headers=bearing(OPERATOR))
        public = await http.post("/agents/handling/events", json=body, headers=bearing(TOKEN))
    assert PLACE in refused.json()["message"]
    assert "this_line_is_private" not in refused.text
    assert not PRIVATE.search(public.text)


def test_the_public_form_of_a_text_is_one_short_line_without_tracebacks_and_paths():
    assert public_text(MESSAGE) == SHORT
    assert public_text(MESSAGE[: MESSAGE.index("recent")]) == SHORT  # as a report cuts it
    assert public_text("x" * 10_000) == "x" * (LONGEST_MESSAGE - 1) + "…"
