"""A small application in a folder of its own, and ways to run the command there."""

import json
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import dedent

import pytest

from gatechart.cli import main
from tests.cli.homes import Home, file_of, server_of
from tests.forked import COMMAND, PIPE, fork

DESK = dedent(
    """
    import os, signal
    from pydantic import BaseModel, Field
    from gatechart import ANY, AgentContext, EntryPoint, OnRefusal, State, StateTransitionGraph, Transition

    class Case(BaseModel):
        name: str = Field(min_length=1)

    class Talk(AgentContext):
        name: str = ""
        notes: list[str] = []

    def is_long(context, event):
        return len(event.payload.get("text", "")) > 5

    def is_divisible(context, event):
        return 1 / 0

    def keep(context, event):
        context.notes.append(event.payload["text"])

    def jam(context, event):
        raise ValueError("no paper")

    def spoil(context, event):
        context.name = 7

    def interrupt(context, event):
        os.kill(os.getpid(), signal.SIGINT)

    desk = StateTransitionGraph(
        "desk", context=Talk, searchable="name",
        states=[State("TALKING", states=["LISTENING", "ANSWERING"]), State("CLOSED", final=True)],
        transitions=[
            Transition("LISTENING", "ASKED", "ANSWERING", guard=is_long, actions=keep),
            Transition("LISTENING", "ASKED", actions=keep),
            Transition("LISTENING", "PRESSED", "ANSWERING", guard=is_long),
            Transition("LISTENING", "DIVIDED", "ANSWERING", guard=is_divisible),
            Transition("LISTENING", "DIVIDED_AGAIN", "ANSWERING", guard=is_divisible),
            Transition("LISTENING", "DIVIDED_AGAIN", "ANSWERING"),
            Transition("LISTENING", "JAMMED", "ANSWERING", actions=jam),
            Transition("LISTENING", "SPOILED", "ANSWERING", actions=spoil),
            Transition("LISTENING", "INTERRUPTED", "ANSWERING", actions=interrupt),
            Transition("ANSWERING", "ANSWERED", "LISTENING"),
            Transition(ANY, "LEFT", "CLOSED"),
        ],
        entry_points=[
            EntryPoint("LISTENING", opens_on="CALLED"),
            EntryPoint("ANSWERING", opens_on="TAKEN_OVER", takes=Case),
        ],
    )
    strict = StateTransitionGraph(
        "strict", version="2", states=[State("GONE", final=True)], transitions=[Transition("OPEN", "LEFT", "GONE")],
        entry_points=[EntryPoint("OPEN", opens_on="OPENED")], on_refusal=OnRefusal.RAISE,
    )
    both = (desk, strict)
    by_name = {"first": desk, "second": strict}
    number, mixed, nothing, word = 7, [desk, "strict", 7], [], "desk"
    """
)


SHOP = dedent(
    """
    import asyncio
    from dataclasses import replace
    from gatechart import ANY, AgentContext, Invoke, Migration, State, StateTransitionGraph, Transition

    class Order(AgentContext):
        notes: list[str] = []

    def note(context, event):
        context.notes.append(event.name)

    def jam(context, event, turn):
        if not turn.services or "jam" not in turn.services:
            raise ValueError("no paper")

    async def search(context, work):
        return work.services

    async def sleep(context, work):
        await asyncio.sleep(3600)

    def make(version, *migrations, new="NEW"):
        return StateTransitionGraph(
            "shop", version=version, context=Order,
            states=[
                State(new, after={"1s": "LATE", "1h": "TOO_LATE"}),
                State("SEARCHING", invoke=Invoke(search)),
                State("SLEEPING", invoke=Invoke(sleep)),
                State("GONE", final=True),
            ],
            transitions=[
                Transition(new, "ASKED", "SEARCHING"),
                Transition("SEARCHING", "done.invoke.search", "FOUND", actions=note),
                Transition(ANY, "NOTED", actions=note),
                Transition(ANY, "JAMMED", actions=jam),
                Transition(ANY, "LEFT", "GONE"),
            ],
            entry_points=[new, "SEARCHING", "SLEEPING", "FOUND"],
            migrations=migrations,
        )

    first = make("1")
    second = make("2", Migration("1", "2", lambda stored: stored.renamed({"NEW": "OPEN"})), new="OPEN")
    both = (first, second)
    unfit = make("2", Migration("1", "2", lambda stored: stored), new="OPEN")

    values = {"jam": 1}

    def make_services():
        return {"jam": 2}

    class Opened(dict):
        async def __aenter__(self):
            print("opened")
            return {"jam": 3}

        async def __aexit__(self, *raised):
            print("closed")

    def broken():
        raise OSError("no network")
    """
)


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self):
        """The JSON document on stdout, the only thing there."""
        return json.loads(self.out)

    @property
    def error(self):
        """The JSON document on stderr, the only thing there."""
        return json.loads(self.err)

    @property
    def rows(self):
        """The words of each line on stdout."""
        return [line.split() for line in self.out.splitlines()]


@pytest.fixture
def home(request, tmp_path):
    """Where the agents are kept: a file in the working directory; with `on_both`, a database of a server as well."""
    if getattr(request, "param", "sqlite") == "sqlite":
        yield file_of(tmp_path / "agents.db")
        return
    yield server_of(request.getfixturevalue("postgres_server"), request.getfixturevalue("postgres_url"))
    assert not (tmp_path / "agents.db").exists()


@pytest.fixture
def folder(tmp_path, monkeypatch, home):
    """The working directory: it holds the module `desk`, and nothing that says so."""
    for name in [name for name in os.environ if name.startswith("GATECHART_")] + ["COLUMNS", "FORCE_COLOR", "NO_COLOR"]:
        monkeypatch.delenv(name, raising=False)
    if not home.is_file:
        monkeypatch.setenv("GATECHART_STORE", home.store)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "desk.py").write_text(DESK)
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def project(folder):
    """The working directory, with a pyproject.toml that names both graphs of `desk`."""
    (folder / "pyproject.toml").write_text('[tool.gatechart]\napp = "desk:both"\n')
    return folder


@pytest.fixture
def shop(folder):
    """The working directory, with a project of agents that have timers, invokes and mail that fails."""
    (folder / "shop.py").write_text(SHOP)
    (folder / "pyproject.toml").write_text('[tool.gatechart]\napp = "shop:first"\n')
    return folder


@pytest.fixture
def unhurried_shop(shop):
    """The shop, whose timers are not due while a test runs, however slow the machine is."""
    (shop / "shop.py").write_text(SHOP.replace('"1s": "LATE"', '"30m": "LATE"'))
    return shop


@pytest.fixture
def gatechart(folder, capfd):
    """Runs the command in this process."""

    def run(*arguments):
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return Result(int(code), captured.out, captured.err)

    return run


@pytest.fixture(scope="module")
def kept():
    """The database files that commands left, by these commands."""
    return {}


@pytest.fixture
def prepare(folder, home, gatechart, kept):
    """Runs the commands that come before a test; a file that they left for another test of the module is copied."""
    file = folder / "agents.db"

    def run(*commands):
        if home.is_file and commands in kept:
            file.write_bytes(kept[commands])
            return
        for command in commands:
            assert gatechart(*command).code == 0, command
        if home.is_file:
            kept[commands] = file.read_bytes()

    return run


@pytest.fixture
def child(folder, processes):
    """Runs the command in a process of its own."""

    def run(*arguments, where=folder, stdin=""):
        with fork(COMMAND, *arguments, cwd=where, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
            out, err = process.communicate(stdin, timeout=60)
        return Result(process.returncode, out, err)

    return run


@pytest.fixture
def unchanged(home: Home):
    """Within it what the database holds of agents stays as it is; one that is not there stays away."""

    @contextmanager
    def check():
        before = _agents(home)
        yield
        assert _agents(home) == before

    return check


def _agents(home):
    if not home.is_there():
        return None
    return [home.ask(f"SELECT * FROM {table} ORDER BY 1, 2") for table in ("agents", "history")]
