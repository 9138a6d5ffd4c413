"""Agents without `await`: every call waits for its result, in any home, from any thread, inside a running loop, too."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest

import gatechart
from gatechart import Invoke, Limits, State, StateTransitionGraph, Transition, sync
from gatechart.clients import HttpClient, open_database_client
from gatechart.errors import (
    ActionFailedError,
    ElsewhereError,
    FeedLaggedError,
    InsideLoopError,
    InsideTurnError,
    NotReachedError,
    RuntimeClosedError,
    StoreUrlError,
    UnknownAgentError,
)
from gatechart.values.agents import Status
from tests.insides import core_of
from tests.serving.conftest import serving
from tests.sync.support import Lamp, lamp

PATIENCE_S = 30


@pytest.fixture
def home(place):
    with sync.use(gatechart.Runtime.open(place, graphs=lamp)) as opened:
        yield opened


@pytest.fixture
def runtime():
    with sync.open("memory:", graphs=lamp) as opened:
        yield opened


# Each verb


def test_an_agent_is_started_fed_and_read(home):
    agent = home.start(lamp, at="OFF", agent_id="a")
    outcome = agent.send("SWITCHED", event_id="1")
    assert (outcome.applied, agent.configuration, agent.context) == (True, ("ON",), Lamp(switched=1))
    assert agent.until("ON").version == 2
    assert agent.can("SWITCHED")
    assert [entry.version for entry in agent.history()] == [1, 2]
    assert agent.rollback(1, reason="too bright").version == agent.snapshot.version == 3
    assert agent.snapshot_at(2).configuration == ("ON",)
    assert home.resume("a").snapshot == home.read("a") == agent.snapshot
    assert home.start_or_resume(lamp, at="OFF", agent_id="a").id == agent.id
    assert home.stop("a").status is home.resume("a").status is Status.STOPPED


def test_an_error_is_the_one_of_the_verb(home):
    with pytest.raises(UnknownAgentError) as raised:
        home.send("nobody", "SWITCHED")
    assert raised.value.agent_id == "nobody"
    agent = home.start(lamp, at="OFF")
    with pytest.raises(ActionFailedError, match="the bulb burst"):
        agent.send("OVERLOADED")
    with pytest.raises(NotReachedError):
        agent.until("ON", timeout=0.01)


def test_a_handle_shows_what_that_of_the_runtime_shows(runtime):
    agent = runtime.start_on("DUSK", agent_id="a")
    assert isinstance(agent, sync.Agent)
    assert repr(agent) == "<Agent 'a' of 'lamp', active in OFF, version 1>"
    assert "<svg" in agent._repr_svg_()


def test_agents_are_found_migrated_and_pruned(runtime):
    runtime.start(lamp, at="OFF", agent_id="a")
    assert [snapshot.agent_id for snapshot in runtime.find().agents] == ["a"]
    assert [each.agent_id for each in runtime.migrate(dry_run=True)] == ["a"]
    assert runtime.prune(ended_before="0s").agents == 0
    assert (runtime.pending_work, runtime.dead_letters, runtime.capabilities.home) == (0, 0, "memory")


def test_a_registered_graph_takes_up_its_waiting_mail(runtime):
    shade = StateTransitionGraph("shade", transitions=[Transition("UP", "PULLED", "DOWN")], entry_points=["UP"])
    runtime.register(shade)
    assert runtime.graphs == (lamp, shade)
    agent = runtime.start(shade, at="UP")
    assert runtime.graph_of(agent.snapshot) is shade
    runtime.post(agent.id, "PULLED")
    assert agent.until("DOWN", timeout=PATIENCE_S).version == 2


# Iterators


def test_changes_are_an_iterator(runtime):
    agent = runtime.start(lamp, at="OFF")
    with runtime.changes() as changes:
        agent.send("SWITCHED")
        agent.send("SWITCHED")
        assert [next(changes).version, next(changes).version] == [2, 3]


def test_an_iterator_goes_on_after_an_error_after_which_that_of_the_runtime_does():
    with sync.open("memory:", graphs=lamp, limits=Limits(feed=1)) as runtime:
        agent = runtime.start(lamp, at="OFF")
        with runtime.changes() as changes:
            agent.send("SWITCHED")
            agent.send("SWITCHED")
            with pytest.raises(FeedLaggedError):
                next(changes)
            assert next(changes).version == 3


def test_a_stream_ends_with_its_invoke():
    let_go = threading.Event()

    def answer(agent_id):
        assert let_go.wait(PATIENCE_S)

    with sync.open("memory:", graphs=lamp, services=answer) as runtime:
        agent = runtime.start(lamp, at="OFF")
        with runtime.stream(agent.id, "glow") as colours:
            agent.send("WARMED")
            assert [next(colours), next(colours)] == ["red", "yellow"]
            let_go.set()
            assert list(colours) == []


# Where it may be called


def test_it_works_inside_a_running_event_loop():
    async def cell():
        with sync.open("memory:", graphs=lamp) as runtime:
            return runtime.start(lamp, at="OFF").send("SWITCHED").configuration

    assert asyncio.run(cell()) == ("ON",)


def test_several_threads_call_one_runtime(runtime):
    agent = runtime.start(lamp, at="OFF")
    with ThreadPoolExecutor(8) as pool:
        assert all(outcome.applied for outcome in pool.map(lambda _: agent.send("SWITCHED"), range(100)))
    assert agent.context.switched == 100


def test_a_call_inside_a_turn_is_refused_as_that_of_the_runtime_is():
    asked = []
    with sync.open("memory:", graphs=lamp, services=lambda agent_id: asked[0].send(agent_id, "SWITCHED")) as runtime:
        asked.append(runtime)
        agent = runtime.start(lamp, at="OFF")
        with pytest.raises(ActionFailedError) as raised:
            agent.send("ASKED")
        assert isinstance(raised.value.__cause__, InsideTurnError)
        assert agent.snapshot.version == 1


def test_a_call_in_its_own_event_loop_is_refused_and_in_a_thread_of_it_is_not():
    told = []

    async def glow(context, work):
        try:
            told[0].read(work.agent_id)
        except InsideLoopError as error:
            told.append(error)
        return (await asyncio.to_thread(told[0].read, work.agent_id)).version

    graph = StateTransitionGraph(
        "glowing",
        states=[State("GLOWING", invoke=Invoke(glow))],
        transitions=[Transition("OFF", "SWITCHED", "GLOWING"), Transition("GLOWING", "done.invoke.glow", "DARK")],
        entry_points=["OFF"],
    )
    with sync.open("memory:", graphs=graph) as runtime:
        told.append(runtime)
        agent = runtime.start(graph, at="OFF")
        agent.send("SWITCHED")
        agent.until("DARK", timeout=PATIENCE_S)
        assert agent.history()[-1].event.payload == {"result": 2}
    assert told[1].call == "read"


# Opened and closed


def test_agents_outlive_their_runtime(sqlite_url):
    with sync.open(sqlite_url, graphs=lamp) as runtime:
        runtime.start(lamp, at="OFF", agent_id="a").send("SWITCHED")
    with sync.open(sqlite_url, graphs=lamp) as runtime:
        assert runtime.resume("a").configuration == ("ON",)


def test_what_cannot_be_opened_says_why_and_leaves_no_thread():
    with pytest.raises(StoreUrlError), sync.open("nowhere", graphs=lamp):
        pass
    assert not running()


def test_a_call_after_the_end_is_told_so():
    with sync.open("memory:", graphs=lamp) as runtime, runtime.changes() as changes:
        agent = runtime.start(lamp, at="OFF")
        moves = runtime.migrate()
    assert not running()
    for call in (lambda: agent.send("SWITCHED"), runtime.find, lambda: next(changes), lambda: next(moves)):
        with pytest.raises(RuntimeClosedError, match="after the runtime was closed"):
            call()
    assert agent.configuration == ("OFF",)


def test_who_waits_in_another_thread_is_told_of_the_end():
    with sync.open("memory:", graphs=lamp) as runtime:
        agent = runtime.start(lamp, at="OFF")
        pool = ThreadPoolExecutor(1)
        waiting = pool.submit(agent.until, "BROKEN")
        while "until" not in [*core_of(runtime._mirrored).callers.values()]:
            threading.Event().wait(0.001)
    with pytest.raises(RuntimeClosedError, match="until"):
        waiting.result(PATIENCE_S)
    pool.shutdown()


def running():
    return [thread for thread in threading.enumerate() if thread.name == "gatechart.sync"]


# Other homes


def test_a_client_of_a_server_is_used_the_same():
    @asynccontextmanager
    async def at_a_server():
        async with serving(graphs=[lamp]) as served, HttpClient(served.url, graphs=lamp) as client:
            yield client

    with sync.use(at_a_server()) as client:
        agent = client.start(lamp, at="OFF")
        with client.changes() as changes:
            agent.send("SWITCHED")
            assert next(changes).version == 2
        assert (agent.context.switched, client.capabilities.home) == (1, "a server")


def test_a_client_of_the_database_is_used_the_same(sqlite_url):
    with (
        sync.open(sqlite_url, graphs=lamp) as runtime,
        sync.use(open_database_client(sqlite_url, graphs=lamp)) as client,
    ):
        agent = runtime.start(lamp, at="OFF", agent_id="a")
        assert client.send("a", "SWITCHED").applied
        assert agent.context.switched == 1
        with pytest.raises(ElsewhereError, match="changes"), client.changes():
            pass


def test_a_home_is_left_by_the_task_that_entered_it():
    @asynccontextmanager
    async def with_a_group():
        async with asyncio.TaskGroup() as group, gatechart.Runtime.open("memory:", graphs=lamp) as runtime:
            waiting = group.create_task(asyncio.Event().wait())
            yield runtime
            waiting.cancel()

    with sync.use(with_a_group()) as home:
        assert home.start(lamp, at="OFF").configuration == ("OFF",)


# Interrupted

INTERRUPTED = """
import signal, threading
from gatechart import sync
from tests.sync.support import lamp

signal.signal(signal.SIGINT, signal.default_int_handler)
with sync.open({url!r}, graphs=lamp) as runtime:
    agent = runtime.start(lamp, at="OFF", agent_id="a")
    threading.Timer(0.1, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT]).start()
    try:
        agent.until("BROKEN")
    except KeyboardInterrupt:
        print(agent.send("SWITCHED").configuration)
    threading.Timer(0.1, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT]).start()
    agent.until("BROKEN")
"""


def test_ctrl_c_ends_a_wait_and_the_program_closes_the_runtime(sqlite_url, processes):
    program = [sys.executable, "-c", INTERRUPTED.format(url=sqlite_url)]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.stdout == "('ON',)\n"
    assert done.stderr.endswith("KeyboardInterrupt\n")
    assert "destroyed" not in done.stderr
    with sync.open(sqlite_url, graphs=lamp) as runtime:
        assert runtime.resume("a").configuration == ("ON",)


LEFT_OPEN = """
from contextlib import ExitStack
from gatechart import sync
from tests.sync.support import lamp

stack = ExitStack()
runtime = stack.enter_context(sync.open({url!r}, graphs=lamp))
print(runtime.start(lamp, at="OFF", agent_id="a").id)
"""


def test_a_program_that_does_not_close_the_runtime_ends_all_the_same(sqlite_url, processes):
    program = [sys.executable, "-c", LEFT_OPEN.format(url=sqlite_url)]
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert done.stdout == "a\n"
    with sync.open(sqlite_url, graphs=lamp) as runtime:
        assert runtime.resume("a").snapshot.version == 1
