"""`gatechart doctor`: what is wrong, as a table and as JSON, by the exit code, with what would help."""

import asyncio
import inspect
import re
import sys
from datetime import UTC, datetime, timedelta
from shlex import split

import pytest
from typer.main import get_command

from gatechart import Runtime, State, StateTransitionGraph, Transition
from gatechart.cli.commands import app
from gatechart.stores.opening import open_store
from gatechart.testing import VirtualClock
from gatechart.values.homes import Role
from gatechart.values.hosts import HostRecord
from gatechart.watchdog import rules

slow = StateTransitionGraph("slow", states=[State("HERE", expects="1ms")], entry_points=["HERE"])

talk = StateTransitionGraph(
    "talk",
    states=["ASKING", State("TOLD", final=True)],
    transitions=[Transition("ASKING", "SAID", "TOLD")],
    entry_points=["ASKING"],
)


def begin(url, work):
    async def live():
        async with Runtime.open(url, graphs=[slow]) as runtime:
            await work(runtime)

    asyncio.run(live())


def test_nothing_wrong_is_said_and_ends_with_0(gatechart, sqlite_url):
    begin(sqlite_url, lambda runtime: runtime.start("slow", at="HERE"))
    told = gatechart("doctor", sqlite_url)
    assert (told.code, told.out.strip()) == (0, "nothing is wrong")


def test_without_an_app_it_is_said_that_nobody_knows_what_states_expect(gatechart, sqlite_url):
    begin(sqlite_url, lambda runtime: runtime.start("slow", at="HERE"))
    assert "expects=" in gatechart("doctor", sqlite_url).err
    told = gatechart("doctor", sqlite_url, "--app", "tests.cli.test_doctor:slow")
    assert (told.code, "expects=" in told.err, "no turn for" in told.out) == (6, False, True)


def test_how_long_is_normal_is_learned_without_an_app(gatechart, sqlite_url):
    earlier = VirtualClock(datetime.now(UTC) - timedelta(hours=1))

    async def live():
        async with Runtime.open(sqlite_url, graphs=[talk], clock=earlier) as runtime:
            for number in range(100):
                await runtime.start("talk", at="ASKING", agent_id=f"t-{number}")
                await runtime.send(f"t-{number}", "SAID")
            await runtime.start("talk", at="ASKING", agent_id="quiet")

    asyncio.run(live())
    told = gatechart("doctor", sqlite_url, "--json")
    assert (told.code, [each["key"] for each in told.document["findings"]]) == (6, ["stuck:quiet"])


def test_a_silent_host_is_critical_and_the_remedy_is_told(gatechart, sqlite_url):
    begin(sqlite_url, lambda runtime: runtime.start("slow", at="HERE"))

    async def left():
        async with open_store(sqlite_url) as store:
            seen = datetime.now(UTC) - timedelta(minutes=2)
            await store.beat(HostRecord("h-1", Role.OWNER, "one", 4711, seen, seen, {}), forget_before=seen)

    asyncio.run(left())
    told = gatechart("doctor", sqlite_url)
    assert told.code == 7
    assert "gave no sign of life for 2 min" in " ".join(told.out.split())
    assert "`gatechart run` hosts the agents" in told.out
    [found] = gatechart("doctor", sqlite_url, "--json").document["findings"]
    assert (found["key"], found["severity"], found["evidence"]["pid"]) == ("silent:h-1", "critical", 4711)


def commands_told(module):
    """The commands that a module names in what it says would help."""
    return sorted(set(re.findall(r"`gatechart ([^`]+)`", "".join(re.sub(r'"\s*f?"', "", inspect.getsource(module))))))


@pytest.mark.parametrize("told", commands_told(rules))
def test_each_command_that_a_finding_names_exists_with_its_options(told):
    words, command = told.split(), get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    assert command.name
    options = {name for each in command.params for name in each.opts}
    assert {each for each in words if each.startswith("-")} <= options


def raising(_context, _event):
    raise LookupError("nothing there")


failing = StateTransitionGraph(
    "failing",
    states=[State("HERE", expects="1ms")],
    transitions=[Transition("HERE", "SAID", "HERE", actions=[raising])],
    entry_points=["HERE"],
)
AGENT, NOBODY = "case $(id)", "no one's"


def test_what_is_found_ceases_once_the_commands_are_typed_that_would_help(gatechart, sqlite_url):
    """Agents may have names that a shell reads as something else."""
    earlier = VirtualClock(datetime.now(UTC) - timedelta(hours=2))

    async def live():
        async with Runtime.open(sqlite_url, graphs=[failing], clock=earlier) as runtime:
            await runtime.start("failing", at="HERE", agent_id=AGENT)
            await runtime.post(NOBODY, "UNKNOWN")
            mail = await runtime.post(AGENT, "SAID")
            async with asyncio.timeout(30):
                while not any(each.status == "dead" for each in await runtime.mail(AGENT)):
                    earlier.advance("1h")
                    await asyncio.sleep(0.01)
            return str(mail.number)

    number = asyncio.run(live())
    options = ("--store", sqlite_url, "--app", "tests.cli.test_doctor:failing")
    values = {"NUMBER": number, "GRAPH": "failing", "ENTRY_POINT": "HERE"}
    found = gatechart("doctor", *options, "--json").document["findings"]
    assert [each["key"] for each in found] == [f"dead:{AGENT}", f"stuck:{AGENT}", f"unclaimed:{NOBODY}"]
    for told in (told for each in found for told in re.findall(r"`gatechart ([^`]+)`", each["remedy"])):
        words = [values.get(word, word) for word in split(told)]
        if words[:2] != ["mail", "discard"]:  # either that, or to try it again
            assert gatechart(*words, *(["--yes"] if words[0] == "erase" else []), *options).code == 0, told
    kinds = {each["kind"] for each in gatechart("doctor", *options, "--json").document["findings"]}
    assert kinds == {"stuck", "waiting"}  # until a host runs


def test_a_server_cannot_be_asked_without_the_package_for_it_and_what_installs_it_is_told(gatechart, monkeypatch):
    for name in [each for each in sys.modules if each.startswith(("gatechart.clients.", "httpx."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "httpx", None)
    told = gatechart("doctor", "--server", "http://127.0.0.1:1")
    assert told.code == 5
    assert "--server needs 'httpx', which is not installed; run `pip install 'gatechart[client]'`" in told.err
