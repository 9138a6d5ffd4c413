"""`--choosing`: how hosts, and commands that ask the directory, choose whom work is handed to."""

import json
import time
from contextlib import contextmanager

import pytest

from tests.cli.homes import on_both
from tests.forked import COMMAND, PIPE, fork

pytestmark = pytest.mark.processes

APP = """
from gatechart import ConversationContext, EntryPoint, Handoff, State, StateTransitionGraph, Transition
from gatechart.runtime import Choosing
from gatechart.selection import Best, Exploring, Learned, Needs, Profile

SKILLED = Profile(domains=("bills",))


def working(name, profile=None):
    return StateTransitionGraph(
        name,
        context=ConversationContext,
        states=[State("DONE", final=True)],
        transitions=[Transition("WORKING", "SOLVED", "DONE")],
        entry_points=[EntryPoint("WORKING", profile=profile)],
    )


asking = StateTransitionGraph(
    "asking",
    context=ConversationContext,
    transitions=[Transition("LISTENING", "ASKED", "HANDING_ON", actions=Handoff(Best(Needs(domains=("bills",)))))],
    entry_points=[EntryPoint("LISTENING", takes=ConversationContext)],
)
graphs = [asking, working("bills", SKILLED), working("desk")]

lenient = Choosing(allow_registered=True)
recording = Choosing(learned=Learned(), exploring=Exploring(0.2))


def make():
    return lenient


async def make_later():
    return lenient


class Opened:
    async def __aenter__(self):
        print("opened")
        return lenient

    async def __aexit__(self, *raised):
        print("closed")


def broken():
    raise OSError("no model")


def count(one, two, three):
    return 0.0


faulty = Choosing(load=count)


def worthless(outcome):
    print("asked what it is worth")
    return 0.0


judging = Choosing(learned=Learned(), reward=worthless)
"""
ANNA = ("directory", "register", "anna", "desk", "--at", "WORKING", "--person", "--domain", "bills", "--tier", "3")


@pytest.fixture(autouse=True)
def there(folder, gatechart):
    (folder / "app.py").write_text(APP)
    (folder / "pyproject.toml").write_text('[tool.gatechart]\napp = "app:graphs"\n')
    words = json.dumps({"current_problem": "my bill is wrong", "user_id": "ada"})
    assert gatechart("start", "asking", "--at", "LISTENING", "--id", "a", "--payload", words).code == 0
    assert gatechart(*ANNA).code == 0


def by_option(folder, monkeypatch):
    return ("--choosing", "app:lenient")


def by_variable(folder, monkeypatch):
    monkeypatch.setenv("GATECHART_CHOOSING", "app:lenient")
    return ()


def by_project(folder, monkeypatch):
    with (folder / "pyproject.toml").open("a") as file:
        file.write('choosing = "app:lenient"\n')
    return ()


@on_both
@pytest.mark.parametrize("named", [by_option, by_variable, by_project])
def test_a_host_chooses_by_the_choosing_that_is_named(named, folder, monkeypatch, gatechart):
    options = named(folder, monkeypatch)
    gatechart("send", "a", "ASKED")
    ran = gatechart("run", "--once", *options)
    assert ran.code == 0, ran.err
    assert owner(gatechart) == "desk"


@on_both
def test_a_host_to_which_none_is_named_chooses_as_usual(gatechart):
    gatechart("send", "a", "ASKED")
    assert gatechart("run", "--once").code == 0
    assert owner(gatechart) == "bills"


def owner(gatechart):
    """The graph of whoever has the work."""
    (handoff,) = gatechart("handoffs", "--json").document["handoffs"]
    assert handoff["status"] == "accepted"
    return handoff["target_graph"]


@pytest.mark.parametrize("named", ["app:lenient", "app:make", "app:make_later", "app:Opened"])
def test_a_choosing_is_a_value_or_made_and_opened(named, gatechart):
    gatechart("send", "a", "ASKED")
    ran = gatechart("run", "--once", "--choosing", named)
    assert owner(gatechart) == "desk"
    assert ("opened\n" in ran.out, "closed\n" in ran.out) == (named == "app:Opened",) * 2


def test_a_host_records_choices_if_the_choosing_learns(gatechart):
    gatechart("directory", "deregister", "anna")
    gatechart("send", "a", "ASKED")
    assert gatechart("run", "--once", "--choosing", "app:recording").code == 0
    (handoff,) = gatechart("handoffs", "--json").document["handoffs"]
    gatechart("send", handoff["target"], "SOLVED")
    gatechart("run", "--once", "--choosing", "app:recording")
    assert gatechart("directory", "evaluate", "--json").document["learning"]["choices"] == 1
    judged = gatechart("directory", "evaluate", "--choosing", "app:judging")
    assert "asked what it is worth\n" in judged.out


def test_a_dry_run_chooses_as_a_host_with_the_same_choosing_would(gatechart):
    def chosen(*options):
        return gatechart("directory", "choose", "--domain", "bills", "--json", *options).document["candidate"]["id"]

    assert (chosen(), chosen("--choosing", "app:lenient")) == ("bills.WORKING", "anna")


@contextmanager
def serving(folder, *options):
    """The URL of a server in a process of its own."""
    with fork(COMMAND, "serve", "--port", "0", "--json", *options, cwd=folder, stdout=PIPE, stderr=PIPE) as process:
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.kill()


@on_both
def test_a_server_chooses_by_its_choosing_also_in_a_dry_run(folder, gatechart):
    gatechart("send", "a", "ASKED")
    with serving(folder, "--choosing", "app:lenient") as url:
        asked = gatechart("directory", "choose", "--domain", "bills", "--server", url, "--json").document
        assert asked["candidate"]["id"] == "anna"
        ends = time.monotonic() + 20
        while (handoff := gatechart("handoffs", "--json").document["handoffs"][0])["status"] != "accepted":
            assert time.monotonic() < ends, handoff
    assert handoff["target_graph"] == "desk"


WAYS = "name a Choosing, or a function that makes one, as module:attribute, with --choosing, GATECHART_CHOOSING or"


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("app", f"choosing 'app' cannot be loaded: the name is not of the form module:attribute; {WAYS}"),
        ("nowhere:x", "choosing 'nowhere:x': no module 'nowhere' is installed or in"),
        ("app:leneint", "module 'app' has no 'leneint'; of Choosing, did you mean 'lenient'? There are"),
        ("app:graphs", "choosing 'app:graphs' cannot be loaded: it is of type list; of Choosing, there are 'lenient'"),
        ("app:broken", "choosing 'app:broken' cannot be loaded: OSError was raised: no model; name a Choosing"),
        ("app:faulty", "choosing= has faults\n  - choosing: load="),
    ],
)
@pytest.mark.parametrize(
    "command", [("run", "--once"), ("serve", "--port", "0"), ("directory", "choose")], ids=" ".join
)
def test_a_choosing_that_cannot_be_had_is_told_and_nothing_is_chosen(command, named, told, gatechart, unchanged):
    gatechart("send", "a", "ASKED")
    with unchanged():
        failed = gatechart(*command, "--choosing", named)
    assert (failed.code, failed.out) == (3, "")
    assert told in failed.err


def test_a_choosing_of_the_project_that_is_no_name_is_told(folder, gatechart):
    with (folder / "pyproject.toml").open("a") as file:
        file.write("choosing = 7\n")
    failed = gatechart("run", "--once")
    assert failed.code == 3
    assert 'choosing is 7; under [tool.gatechart] write choosing = "module:attribute"' in failed.err
    assert gatechart("list").code == 0  # it chooses nothing
