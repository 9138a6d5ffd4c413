"""A call fails for itself alone: nothing that a model, a tool or an approval says stops the agent."""

import json
from collections import Counter
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, PlainSerializer, PlainValidator

from gatechart import ModelLoop, Runtime, State, StateTransitionGraph, Transfers, Transition, tool
from gatechart.errors import ToolNameTakenError
from gatechart.graph.definition import Invoke
from gatechart.graph.payload_schema import JsonSchema
from gatechart.tools import Tool, ToolPolicies
from gatechart.tools.arguments import Described
from tests.models.model_scripts import Script, Services, asked, reply
from tests.models.support import Chat, chat, decide, hear, keep, said, wait, waits

SAFE = {"repeat": "safe", "policies": ToolPolicies(retry="off")}
NAMES = ("call_id", "tool", "self", "name", "args", "arguments", "context", "undoes", "function", "func", "kind", "cls")


@pytest.mark.parametrize("takes_context", [False, True])
async def test_an_argument_may_have_any_name(takes_context):
    given = dict.fromkeys(NAMES, "x")
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in NAMES}}

    async def function(*first: Any, **arguments: Any) -> int:
        assert (len(first), arguments) == (int(takes_context), given)
        return len(arguments)

    takes = Described(JsonSchema(json.dumps(schema)))
    odd = Tool("odd", "Odd names.", function, takes, takes_context=takes_context, repeat="safe")
    agent, _, _ = await asked(ModelLoop(tools=[odd]), [reply("", ("odd", given, "a")), reply("Done.")], odd)
    assert said(agent)[1] == ("agent", "", len(NAMES))


async def test_a_function_may_name_its_argument_as_the_identity_of_a_call():
    @tool(repeat="safe")
    async def find(call_id: str) -> str:
        """Find a call."""
        return f"found {call_id}"

    replies = [reply("", ("find", {"call_id": "c-7"}, "a")), reply("Done.")]
    agent, _, _ = await asked(ModelLoop(tools=[find]), replies, find)
    assert said(agent)[1] == ("agent", "", "found c-7")


def _cyclic() -> Any:
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


def _deep() -> Any:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    return deep


class Broken:
    @property
    def __dict__(self) -> Any:
        raise KeyError("broken")


UNKEPT = {
    "NaN": lambda: float("nan"),
    "infinity inside": lambda: {"rows": [1.0, float("inf")]},
    "bytes": lambda: b"\xff",
    "an object": object,
    "half a surrogate": lambda: "a\ud800",
    "a key that is half a surrogate": lambda: {"\udc00": 1},
    "a cycle": _cyclic,
    "deeply nested": _deep,
    "an object that raises": Broken,
}


@pytest.mark.parametrize("result", UNKEPT.values(), ids=list(UNKEPT))
@pytest.mark.parametrize("repeat", ["never", "keyed", "safe"])
async def test_a_result_that_no_store_can_keep_is_the_failure_of_that_call(result, repeat):
    calls = Counter()

    @tool(repeat=repeat, policies=ToolPolicies(retry="off"))
    async def measure() -> Any:
        """Measure."""
        calls["measure"] += 1
        return result()

    replies = [reply("", ("measure", {}, "a")), reply("Done.")]
    agent, _, _ = await asked(ModelLoop(tools=[measure]), replies, measure)
    kind = "outcome unknown" if repeat == "never" else "raised"
    assert said(agent)[1][2].startswith(f"{kind}: it returned a result that cannot be stored: ")
    assert calls == {"measure": 1}


class Celsius:
    def __init__(self, degrees: float) -> None:
        self.degrees = degrees


async def test_a_value_that_only_its_type_can_write_is_told_to_the_model():
    kind = Annotated[Celsius, PlainValidator(Celsius), PlainSerializer(lambda each: each.degrees)]

    async def measure():
        return Celsius(20.5)

    made = Tool("measure", "Measure.", measure, Described(JsonSchema('{"type": "object"}')), returns=kind)
    agent, _, _ = await asked(ModelLoop(tools=[made]), [reply("", ("measure", {}, "a")), reply("Done.")], made)
    assert said(agent)[1] == ("agent", "", 20.5)


@pytest.mark.parametrize("raised", [GeneratorExit, SystemExit, BaseException])
@pytest.mark.parametrize("is_plain", [False, True])
async def test_whatever_a_tool_raises_is_the_failure_of_that_call(raised, is_plain):
    async def fails() -> str:
        """Fail."""
        raise raised("odd")

    def fails_in_thread() -> str:
        """Fail."""
        raise raised("odd")

    made = tool(**SAFE, name="fails")(fails_in_thread if is_plain else fails)
    agent, _, _ = await asked(ModelLoop(tools=[made]), [reply("", ("fails", {}, "a")), reply("Done.")], made)
    assert said(agent)[1] == ("agent", "", "raised: odd")


async def test_the_same_call_within_one_answer_is_made_once_and_answers_both():
    calls = Counter()

    @tool
    async def pay(amount: int) -> int:
        """Pay."""
        calls[amount] += 1
        return amount

    twice = [("pay", {"amount": 5}, "a"), ("pay", {"amount": 5}, "a"), ("pay", {"amount": 6}, "a")]
    replies = [reply("", *twice), reply("", ("pay", {"amount": 5}, "a")), reply("Done.")]
    agent, _, _ = await asked(ModelLoop(tools=[pay]), replies, pay)
    assert [each[2:] for each in said(agent)[1:3]] == [(5, 5, 6), (5,)]
    assert calls == {5: 2, 6: 1}  # the id in a later answer is that of a new call


@pytest.mark.parametrize("call_id", ["x" * 300, "a\0b"])
async def test_an_id_that_no_store_can_keep_is_replaced(call_id):
    @tool(repeat="safe")
    async def look() -> str:
        """Look."""
        return "seen"

    agent, _, _ = await asked(ModelLoop(tools=[look]), [reply("", ("look", {}, call_id)), reply("Done.")], look)
    assert said(agent)[1] == ("agent", "", "seen")


# Names


@tool(repeat="safe")
async def answer(text: str) -> str:
    """Answer somebody."""
    return f"said {text}"


class Shape(BaseModel):
    number: int


def test_a_tool_named_as_the_answer_is_refused_when_the_loop_is_built():
    with pytest.raises(ToolNameTakenError, match="the tool 'answer' has the name of the answer of ModelLoop"):
        ModelLoop(tools=[answer], output=Shape)


async def test_a_tool_named_answer_is_a_tool_where_the_answer_is_text():
    replies = [reply("", ("answer", {"text": "hi"}, "a")), reply("Done.")]
    agent, _, _ = await asked(ModelLoop(tools=[answer]), replies, answer)
    assert said(agent)[1] == ("agent", "", "said hi")


def note(context, event):
    context.failures.append(event.payload["type"])


ENDS = Transfers(["DONE", "LISTENING"], otherwise="DONE")


def desk(loop):
    return StateTransitionGraph(
        "desk",
        context=Chat,
        states=[
            State(
                "THINKING",
                invoke=Invoke(loop, id="think"),
                transfers=Transfers(["DONE", "LISTENING"], otherwise="DONE"),
            ),
            "DONE",
        ],
        transitions=[
            Transition("LISTENING", "ASKED", "THINKING", actions=hear),
            Transition("THINKING", "done.invoke.think", "APPROVING", guard=waits, actions=wait),
            Transition("THINKING", "done.invoke.think", "LISTENING", actions=keep),
            Transition("THINKING", "error.invoke.think", "FAILED", actions=note),
            Transition("APPROVING", "DECIDED", "THINKING", actions=decide),
            Transition("APPROVING", "ASKED", "THINKING", actions=hear),
        ],
        entry_points=["LISTENING"],
    )


async def test_a_tool_named_as_a_transfer_of_the_state_is_refused_before_the_model_is_asked():
    taken = tool(name="transfer_to_DONE", repeat="safe")(answer.function)
    script = Script([])
    loop = ModelLoop(tools=[taken])
    async with Runtime.open("memory:", graphs=desk(loop), services=Services(script, taken)) as runtime:
        agent = await runtime.start("desk", at="LISTENING")
        await agent.send("ASKED", {"text": "Hi"})
        await agent.until("FAILED")
        assert (agent.context.failures, script.requests) == (["ToolNameTakenError"], [])


# Approvals


@tool
async def refund(amount: int) -> int:
    """Refund."""
    return amount


def _raises(_context, call):
    return call.arguments["amount"] < 100 or None


async def _waits(_context, _call):
    return True


@pytest.mark.parametrize(
    ("approval", "told"),
    [
        (lambda context, call: context.nothing, "this call was not approved: its approval raised AttributeError: "),
        (_waits, "this call was not approved: its approval function returned coroutine, not True, False,"),
        (lambda context, call: 1, "this call was not approved: its approval function returned int"),
        (lambda context, call: False, "this call was not approved"),
        (lambda context, call: "", "this call was not approved"),
        (lambda context, call: "no \ud800", "no \\ud800"),
    ],
)
async def test_an_approval_that_raises_or_answers_anything_is_the_failure_of_that_call(approval, told):
    loop = ModelLoop(tools=[refund], approval=approval)
    agent, _, _ = await asked(loop, [reply("", ("refund", {"amount": 5}, "a")), reply("Sorry.")], refund)
    assert said(agent)[1][2].startswith(told)


async def test_nobody_is_asked_to_approve_a_call_whose_arguments_do_not_fit():
    loop = ModelLoop(tools=[refund], approval=_raises)
    agent, _, _ = await asked(loop, [reply("", ("refund", {}, "a")), reply("Sorry.")], refund)
    assert said(agent)[1][2].startswith("invalid arguments: ")


async def test_a_call_that_waits_can_be_withdrawn_when_somebody_speaks():
    script = Script([reply("", ("refund", {"amount": 5}, "a")), reply("I did not.")])
    loop = ModelLoop(tools=[refund], approval=lambda context, call: context.approved.get(call.id), withdraw=True)
    graph = chat(loop, Transition("APPROVING", "ASKED", "THINKING", actions=hear))
    async with Runtime.open("memory:", graphs=graph, services=Services(script, refund)) as runtime:
        agent = await runtime.start("chat", at="LISTENING")
        await agent.send("ASKED", {"text": "A refund, please."})
        await agent.until("APPROVING")
        await agent.send("ASKED", {"text": "No, wait."})
        await agent.until("LISTENING")
        results = [each.tool_calls for each in script.requests[-1].messages if each.tool_calls]
    assert (
        results[0][0].error
        == "withdrawn: a message arrived before it was approved. Make it again if it is still wanted"
    )


async def test_a_transfer_in_the_turn_of_an_approved_call_is_followed():
    calls = [("refund", {"amount": 5}, "a"), ("transfer_to_DONE", {"reason": "refunded"}, "b")]
    script = Script([reply("", *calls)])
    loop = ModelLoop(tools=[refund], approval=lambda context, call: context.approved.get(call.id))
    async with Runtime.open("memory:", graphs=desk(loop), services=Services(script, refund)) as runtime:
        agent = await runtime.start("desk", at="LISTENING")
        await agent.send("ASKED", {"text": "A refund, please."})
        await agent.until("APPROVING")
        await agent.send("DECIDED", {"approved": {"a": True}})
        await agent.until("DONE")
    assert len(script.requests) == 1


async def test_a_transfer_is_outdated_once_somebody_spoke():
    calls = [("refund", {"amount": 5}, "a"), ("transfer_to_DONE", {"reason": "refunded"}, "b")]
    script = Script([reply("", *calls), reply("All right.")])
    loop = ModelLoop(tools=[refund], approval=lambda context, call: context.approved.get(call.id), withdraw=True)
    async with Runtime.open("memory:", graphs=desk(loop), services=Services(script, refund)) as runtime:
        agent = await runtime.start("desk", at="LISTENING")
        await agent.send("ASKED", {"text": "A refund, please."})
        await agent.until("APPROVING")
        await agent.send("ASKED", {"text": "No, wait."})
        await agent.until("LISTENING")
        assert agent.context.answers == ["All right."]


# Answers in a shape


def _odd(value: int) -> int:
    raise KeyError(value)


@pytest.mark.parametrize(
    ("kind", "checks", "given"),
    [
        (float, (), "NaN"),
        (list[float], (), ["inf"]),
        (Annotated[int, AfterValidator(_odd)], (), 5),
        (int, (lambda number: number.missing,), 5),
    ],
)
async def test_an_answer_that_cannot_be_kept_or_judged_goes_back_to_the_model(kind, checks, given):
    loop = ModelLoop(output=kind, checks=checks, most_turns=2)
    replies = [reply("", ("answer", {"answer": given}, str(number))) for number in range(9)]
    _, script, failure = await asked(loop, replies, state="FAILED")
    assert (failure["type"], len(script.requests)) == ("BudgetUsedUpError", 2)
    assert script.requests[1].messages[-1].tool_calls[0].error
