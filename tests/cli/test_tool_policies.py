"""Policies of tool calls that a deployment has in a file of its own."""

import json

import pytest

pytestmark = pytest.mark.processes

APP = """
from gatechart import Retry, State, StateTransitionGraph, ToolBox, Transition, tool
from gatechart.tools import ToolPolicies
from gatechart import Invoke
from gatechart import AgentContext


class Case(AgentContext):
    attempts: int = 0


@tool(policies=ToolPolicies(retry=Retry(attempts=4, first_s=0)))
def lookup() -> None:
    raise ConnectionError("down")


async def look(context, work):
    return (await work.call(lookup)).attempts


def keep(context, event):
    context.attempts = event.payload["result"]


case = StateTransitionGraph(
    "case",
    context=Case,
    states=[State("LOOKING", invoke=Invoke(look)), "LOOKED"],
    transitions=[Transition("LOOKING", "done.invoke.look", "LOOKED", actions=keep)],
    entry_points=["LOOKING"],
)
services = {"tools": ToolBox(lookup)}
"""


@pytest.fixture
def app(folder):
    (folder / "app.py").write_text(APP)
    (folder / "pyproject.toml").write_text('[tool.gatechart]\napp = "app:case"\nservices = "app:services"\n')
    return folder


def attempts(gatechart):
    gatechart("start", "case", "--at", "LOOKING", "--id", "c")
    ran = gatechart("run", "--once")
    assert ran.code == 0, ran.err
    return gatechart("show", "c", "--json").document["context"]["attempts"]


def test_without_a_file_the_tools_own_policies_hold(app, gatechart):
    assert attempts(gatechart) == 4


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_the_project_names_a_file_of_policies(suffix, app, gatechart):
    policies = {"lookup": {"retry": {"attempts": 2, "first_s": 0}}}
    (app / f"policies.{suffix}").write_text(json.dumps(policies))
    with (app / "pyproject.toml").open("a") as file:
        file.write(f'tool_policies = "policies.{suffix}"\n')
    assert attempts(gatechart) == 2


def test_the_environment_names_a_file_of_policies(app, gatechart, monkeypatch):
    (app / "policies.yaml").write_text("'*': {retry: off}\n")
    monkeypatch.setenv("GATECHART_TOOL_POLICIES", "policies.yaml")
    assert attempts(gatechart) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lookup: {retries: 3}\n", "policies.yaml:1:10 lookup.retries: unknown key 'retries'; did you mean 'retry'?"),
        ("lokup: {retry: off}\n", "there is no tool 'lokup'; did you mean 'lookup'?"),
    ],
)
def test_a_file_with_faults_is_told_with_their_places(text, said, app, gatechart, monkeypatch):
    gatechart("start", "case", "--at", "LOOKING", "--id", "c")
    (app / "policies.yaml").write_text(text)
    monkeypatch.setenv("GATECHART_TOOL_POLICIES", "policies.yaml")
    failed = gatechart("run", "--once")
    assert failed.code == 3
    assert said in failed.err
