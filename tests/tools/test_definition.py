"""What makes a tool: its arguments, its faults, and definitions from outside."""

from collections.abc import Iterator
from datetime import date

import pytest
from pydantic import BaseModel, SecretStr

from gatechart import EscapePlan, ToolBox, tool
from gatechart.errors import InvalidToolError
from gatechart.escape import Alert, CutOut, GiveUp, Nudge, Reroute, Restart, Strategy, SwitchTool, ToHuman
from gatechart.tools import ArgumentsMisfitError, Tool, ToolContext, ToolPolicies
from gatechart.values.breakers import BreakerPolicy
from gatechart.values.delays import Retry
from gatechart.values.tool_policies import Capability


class Parcel(BaseModel):
    grams: int
    fragile: bool = False


@tool(repeat="keyed", key="order", undo="recall", capabilities=["shipping"])
def ship(context: ToolContext, order: str, parcel: Parcel, on: date | None = None, floors: int = 1) -> str:
    """Ship an order.

    Returns the number of the parcel.
    """
    return f"{context.agent_id} ships {order} on {on}"


@tool
async def recall(order: str, reason: str = "") -> None:
    """Call a parcel back."""


def test_a_tool_takes_what_its_function_says():
    assert ship.name == "ship"
    assert ship.description == "Ship an order.\n\nReturns the number of the parcel."
    assert ship.takes.schema["required"] == ["order", "parcel"]
    assert ship.takes.schema["properties"]["floors"] == {"type": "integer", "default": 1}
    assert ship.takes.schema["additionalProperties"] is False
    assert (ship.key, ship.undo, ship.capabilities, ship.returns) == (("order",), "recall", ("shipping",), str)


def test_arguments_are_read_as_their_types_and_written_as_json():
    read = ship.takes.read({"order": "4711", "parcel": {"grams": "250"}, "on": "2026-11-23"})
    assert read == {"order": "4711", "parcel": Parcel(grams=250), "on": date(2026, 11, 23)}
    assert ship.takes.written(read) == {
        "order": "4711",
        "parcel": {"grams": 250, "fragile": False},
        "on": "2026-11-23",
    }


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"parcel": {"grams": 1}}, "order: Field required"),
        ({"order": "1", "parcel": {"grams": "a lot"}}, "parcel.grams: "),
        ({"order": "1", "parcel": {"grams": 1}, "colour": "red"}, "colour: "),
    ],
)
def test_arguments_that_do_not_fit_are_told_one_by_one(given, problem):
    with pytest.raises(ArgumentsMisfitError, match=problem):
        ship.takes.read(given)


def test_a_tool_is_still_the_function_that_it_was_made_of():
    context = ToolContext(tool="ship", agent_id="a", call_id="c", idempotency_key="k", attempt=1, services=None)
    assert ship.function(context, "4711", Parcel(grams=1)) == "a ships 4711 on None"
    assert tool(_plain)("x") == "x"


def _plain(text: str) -> str:
    return text


def _several(*texts: str) -> None: ...
def _any(**texts: str) -> None: ...
def _positional(text: str, /) -> None: ...
def _bare(text) -> None: ...


def _yielding(text: str) -> Iterator[str]:
    yield text


def _odd(text: Iterator[object]) -> None: ...
def _lost(text: "Nowhere") -> None: ...  # noqa: F821


@pytest.mark.parametrize(
    ("function", "options", "said"),
    [
        (_several, {}, "argument 'texts': it has no single name; list each argument by its name"),
        (_any, {}, "argument 'texts': it has no single name"),
        (_positional, {}, "argument 'text': it has no single name"),
        (_bare, {}, "argument 'text': it has no annotation; say of which type it is"),
        (_yielding, {}, "it is no function that returns a result"),
        (_lost, {}, "its signature cannot be read: name 'Nowhere' is not defined"),
        (_plain, {"name": "x" * 201}, "201 characters, 200 at most"),
        (_plain, {"name": "a\0"}, "it has the character NUL"),
        (_plain, {"repeat": "often"}, "repeat='often' is unknown; there are 'never', 'safe', 'keyed'"),
        (_plain, {"key": "text"}, "has no use with repeat='never'; write repeat=\"keyed\""),
        (_plain, {"key": "txt", "repeat": "keyed"}, "key='txt' is no argument; did you mean 'text'?"),
    ],
)
def test_a_fault_of_a_tool_says_what_would_have_worked(function, options, said):
    with pytest.raises(InvalidToolError) as raised:
        tool(**options)(function)
    assert said in str(raised.value)


def test_a_definition_in_the_shape_of_openai_becomes_a_tool():
    schema = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
    told = {"name": "lookup-order", "description": "Look it up.", "parameters": schema}
    for definition in ({"type": "function", "function": told}, {"type": "function", **told}):
        made = Tool.from_openai(definition, lambda order: order, repeat="safe")
        assert (made.name, made.description, made.repeat) == ("lookup-order", "Look it up.", "safe")
        assert made.takes.read({"order": "4711"}) == {"order": "4711"}
        with pytest.raises(ArgumentsMisfitError, match="order: it is required"):
            made.takes.read({})


def test_a_definition_in_the_shape_of_mcp_becomes_a_tool_whose_hints_are_not_trusted():
    hints = {"readOnlyHint": True, "idempotentHint": True}
    made = Tool.from_mcp({"name": "clear", "inputSchema": {"type": "object"}, "annotations": hints}, lambda: None)
    assert (made.name, made.description, made.repeat) == ("clear", "", "never")


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ({"function": {"name": "", "parameters": {"type": "object"}}}, "the name cannot be used: it is empty"),
        ({"name": "x", "parameters": [1]}, "its schema is not an object"),
    ],
)
def test_a_definition_that_cannot_be_a_tool_is_refused(definition, said):
    with pytest.raises(InvalidToolError) as raised:
        Tool.from_openai(definition, print)
    assert said in str(raised.value)


def test_a_box_finds_tools_by_name_and_alternatives_in_order():
    cache = tool(name="cache", capabilities="orders")(_plain)
    archive = tool(name="archive", capabilities="orders")(_plain)
    desk = tool(name="desk")(_plain)
    policies = ToolPolicies(alternatives=["desk", Capability("orders")])
    shop = tool(name="shop", capabilities="orders", policies=policies)(_plain)
    box = ToolBox([shop, cache, archive, desk])
    assert box.names == ("shop", "cache", "archive", "desk")
    assert box.get("cache") is cache
    assert box.get("nothing") is None
    assert box.alternatives(shop, box.policies(shop)) == (desk, cache, archive)
    assert box.alternatives(cache, box.policies(cache)) == ()
    assert box.only(["desk"]).names == ("desk",)


def test_a_box_finds_a_tool_by_the_name_that_models_know():
    greet = tool(name="begrüßen")(_plain)
    box = ToolBox([greet])
    assert box.get(box.openai()[0]["function"]["name"]) is greet


def test_a_tool_has_four_attempts_and_a_breaker_unless_something_else_is_said():
    box = ToolBox([plain := tool(_plain)])
    usual = box.policies(plain)
    assert (usual.retry, usual.breaker) == (
        Retry(attempts=4, jitter=0.1),
        BreakerPolicy(failures_in_a_row=5, break_s=60),
    )
    layers = [{"*": ToolPolicies(retry="off", timeout_s=3)}, {"_plain": ToolPolicies(timeout_s=1)}]
    assert box.policies(plain, layers) == ToolPolicies(retry="off", breaker=usual.breaker, timeout_s=1)


def test_a_box_with_faults_tells_them_all():
    twins = [tool(name="twin")(_plain), tool(name="twin")(_plain)]
    lost = tool(name="lost", undo="gone", policies=ToolPolicies(alternatives="twinn"))(_plain)
    with pytest.raises(InvalidToolError) as raised:
        ToolBox([*twins, lost, _plain])
    for said in (
        "is no tool; decorate the function with @tool",
        "two tools are named 'twin'; give one of them another name",
        "tool 'lost': there is no tool 'gone'",
        "tool 'lost': there is no tool 'twinn'; did you mean 'twin'? There are 'twin', 'lost'",
    ):
        assert said in str(raised.value)


def test_secret_arguments_are_written_in_full():
    made = tool(name="login")(_login)
    read = made.takes.read({"user": "ada", "pin": "0815"})
    assert "0815" not in repr(read)
    assert made.takes.written(read) == {"user": "ada", "pin": "0815"}


def _login(user: str, pin: SecretStr) -> None: ...


def search() -> str:
    """Search."""
    return "found"


class Later(Strategy):
    """A strategy of a program that adds nothing."""


def test_the_plan_of_a_tool_may_try_what_adds_nothing_to_graphs():
    plan = EscapePlan({"failing": [Nudge(), SwitchTool(), Reroute(), Alert("ops"), Later()]})
    assert tool(escape=plan)(search).escape is plan


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        (EscapePlan({"failing": GiveUp()}), "it adds the state 'GAVE_UP' to the chart"),
        (EscapePlan({"failing": Restart()}), "it looks back at an agent's past"),
        (EscapePlan({"failing": CutOut()}), "it looks back at an agent's past"),
        (EscapePlan({}, tools={"other": {"failing": Nudge()}}), "the plan of a tool is for that tool alone"),
        (EscapePlan({"failing": Nudge()}, last=ToHuman()), "the last resort of the graph's plan"),
        (EscapePlan({"failing": "nudge"}), "'nudge' is nothing to try"),
        (EscapePlan({"failing": Alert("")}), "'' is not the name of a sink"),
        (EscapePlan({}, cooldown="soon"), "its cooldown is not a duration"),
        ("nudge", "'nudge' is not a plan"),
    ],
)
def test_a_plan_that_a_tool_cannot_have_is_refused_with_where_it_goes(plan, told):
    with pytest.raises(InvalidToolError) as refused:
        tool(escape=plan)(search)
    (fault,) = refused.value.faults
    assert told in str(fault)


def test_what_only_a_graph_can_try_is_shown_with_the_place_for_it():
    with pytest.raises(InvalidToolError, match=r"EscapePlan\(tools=\{'search': \{signal: strategies\}\}\)"):
        tool(escape=EscapePlan({"failing": Restart()}))(search)
