"""`gatechart alarm` tells agents of something, and `gatechart retry` has one that failed go on."""

import pytest

APP = """
from gatechart import ANY, AgentContext, State, StateTransitionGraph, Transition

class Case(AgentContext):
    team: str = ""
    heard: list = []

def note(context, event):
    context.heard.append(event.name)

def take(context, event):
    context.team = event.payload["team"]

case = StateTransitionGraph(
    "case", context=Case, searchable="team", states=[State("BROKEN", final=True, failed=True)],
    transitions=[
        Transition("OPEN", "alarm.disk", actions=note),
        Transition("OPEN", "TEAM", actions=take),
        Transition("OPEN", "BREAK", "BROKEN"),
    ],
    entry_points=["OPEN"],
)
"""


@pytest.fixture
def cases(project, prepare):
    """An app with two agents, of different teams."""
    (project / "alarming.py").write_text(APP)
    app = ("--app", "alarming:case")
    for name, team in (("a", "red"), ("b", "blue")):
        prepare(("start", "case", "--at", "OPEN", "--id", name, *app))
        prepare(("send", name, "TEAM", "-p", f'{{"team": "{team}"}}', *app))
    return app


def heard(gatechart, name):
    return gatechart("show", name, "--json").document["context"]["heard"]


def test_an_alarm_reaches_the_agents_that_it_names_once(cases, gatechart):
    alarm = ("alarm", "disk", "--id", "m-1", "--to", "a", "--to", "b", "-p", '{"level": 90}', *cases)
    assert gatechart(*alarm).out == "alarm.disk goes to a, b\n"
    again = gatechart(*alarm, "--json").document
    assert again == {"alarm_id": "m-1", "event": "alarm.disk", "recipients": ["a", "b"], "repeat": True}
    assert gatechart("run", "--once", *cases).code == 0
    assert heard(gatechart, "a") == heard(gatechart, "b") == ["alarm.disk"]


def test_an_alarm_reaches_the_agents_of_a_graph_that_match(cases, gatechart):
    told = gatechart("alarm", "disk", "--id", "m-1", "--graph", "case", "--where", "team=red", *cases)
    assert told.out == "alarm.disk goes to a\n"


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ([], "either --to AGENT, or --graph GRAPH"),
        (["--to", "a", "--graph", "case"], "either --to AGENT, or --graph GRAPH"),
        (["--to", "a", "--where", "team=red"], "add --graph"),
        (["--to", "nobody"], "nobody"),
    ],
)
def test_an_alarm_that_says_not_whom_it_is_for_tells_nobody(cases, gatechart, wrong, problem):
    told = gatechart("alarm", "disk", "--id", "m-1", *wrong, *cases)
    assert told.code
    assert problem in told.err
    assert gatechart("mail", "--json").document["mail"] == []


def test_an_agent_that_failed_goes_on_from_before_that(cases, gatechart):
    gatechart("send", "a", "BREAK", *cases)
    assert gatechart("show", "a", "--json").document["status"] == "failed"
    again = gatechart("retry", "a", "--reason", "mended", *cases)
    assert again.code == 0
    shown = gatechart("show", "a", "--json").document
    assert (shown["status"], shown["configuration"]) == ("active", ["OPEN"])
    assert "mended" in gatechart("history", "a", "--json").out
    refused = gatechart("retry", "a", "--reason", "why not", *cases)
    assert refused.code
    assert "has not failed" in refused.err
