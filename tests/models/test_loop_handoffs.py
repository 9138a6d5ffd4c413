"""A handoff takes along the messages of a model loop, whoever asks for it."""

import asyncio
from typing import Any

import pytest
from pydantic import SecretStr

from gatechart import (
    AgentContext,
    EscapePlan,
    Handoff,
    HandoffPacket,
    ModelLoop,
    Runtime,
    State,
    StateTransitionGraph,
    To,
    Transfers,
    Transition,
    tool,
)
from gatechart.escape import HandOn
from gatechart.graph.definition import EntryPoint, Invoke
from gatechart.graph.selection import Best
from gatechart.handoff import MediaPart, Message, TextPart
from gatechart.handoff.conversation import SUMMARY
from gatechart.models import Summarize
from gatechart.models.entries import ModelTurn, text_of
from gatechart.models.handing_on import handed_on
from gatechart.models.model import Finish, Usage
from gatechart.models.transcript import Transcript
from gatechart.signals import SameCall
from gatechart.testing.scripted_model import Calls, Hangs, Says, scripted_model
from gatechart.tools import ToolPolicies
from gatechart.values.profiles import Needs, Profile
from tests.models.support import Chat, Services, decide, hear, keep, wait, waits

HANDED_ON = "The work was handed on. The next agent continues from here."
CAME_BACK = "This transfer was made, but the work came back: the target refused or returned it."
UNFINISHED = "no result: the work was handed on before this call was made, or before it ended"
TOOL = "transfer_to_refunds_at_REVIEWING"
TRANSFER = (TOOL, {"reason": "it is lost", "summary": "order 7, 20 euros"}, "t")
ONCE = ToolPolicies(retry="off", breaker="off")


@tool(repeat="safe", policies=ONCE)
async def look(order: str) -> str:
    """Look an order up."""
    return f"{order} is lost"


@tool(repeat="safe")
async def log_in(pin: SecretStr) -> str:
    """Log in."""
    return "you are in"


@tool(repeat="safe")
async def draw(room: str) -> tuple[TextPart | MediaPart, ...]:
    """Draw a room."""
    return (TextPart(text=room), MediaPart(media_type="image/png", data="iVBORw0KGgo="))


def support(loop: Any, *transitions: Transition, to: Any = None, **graph: Any) -> Any:
    """A graph whose model can transfer its work to `refunds`."""
    target = to or To("refunds", at="REVIEWING", description="Refund an order.")
    transfers = Transfers([target, To("LISTENING", description="Listen.")], otherwise="LISTENING")
    return StateTransitionGraph(
        "support",
        context=Chat,
        states=[State("THINKING", invoke=Invoke(loop, id="think"), transfers=transfers), "AWAY", "GIVEN"],
        transitions=[
            Transition("LISTENING", "ASKED", "THINKING", actions=hear),
            Transition("THINKING", "done.invoke.think", "APPROVING", guard=waits, actions=wait),
            Transition("THINKING", "done.invoke.think", "LISTENING", actions=keep),
            Transition("APPROVING", "DECIDED", "THINKING", actions=decide),
            Transition("AWAY", "handoff.accepted", "GIVEN"),
            *transitions,
        ],
        entry_points=["LISTENING"],
        **graph,
    )


def refunds(*transitions: Transition, **loop: Any) -> Any:
    """A graph whose model takes the work over."""
    return StateTransitionGraph(
        "refunds",
        context=Chat,
        states=[State("REVIEWING", invoke=Invoke(ModelLoop(instructions="Refund.", **loop), id="review")), "REFUNDED"],
        transitions=[Transition("REVIEWING", "done.invoke.review", "REFUNDED", actions=keep), *transitions],
        entry_points=[EntryPoint("REVIEWING", takes=HandoffPacket, profile=Profile(domains=("refunds",)))],
    )


def opened(place: Any, server: Any, *graphs: Any, tools: Any = (look,)) -> Any:
    return Runtime.open(place, graphs=graphs, services=Services(server, *tools))


def told(request: Any) -> list[tuple[Any, ...]]:
    """What a model was told, without its instructions: texts, calls and results, in order."""
    return [
        (each["role"], each["content"], *(call["function"]["name"] for call in each.get("tool_calls", ())))
        for each in request["messages"]
        if each["role"] != "system"
    ]


async def packet_of(runtime: Any) -> HandoffPacket:
    """Return the packet of the newest handoff."""
    (found,) = await runtime.handoffs(newest_first=True, limit=1)
    return HandoffPacket.model_validate(found.packet)


CALLS_AND_TRANSFER = [Calls(("look", {"order": "7"}, "l"), text="I look."), Calls(TRANSFER, text="For refunds.")]
ALL_OF_IT = [
    ("user", "Where is 7?"),
    ("assistant", "I look.", "look"),
    ("tool", "7 is lost"),
    ("assistant", "For refunds.", TOOL),
    ("tool", HANDED_ON),
]


async def test_the_next_model_is_told_what_the_first_one_said_and_what_its_tools_found(place: Any) -> None:
    script = [*CALLS_AND_TRANSFER, Says("Refunded.")]
    async with (
        scripted_model(script) as server,
        opened(place, server, support(ModelLoop(tools=[look])), refunds()) as runtime,
    ):
        agent = await runtime.start("support", at="LISTENING")
        await agent.send("ASKED", {"text": "Where is 7?"})
        await server.asked(3)
    assert told(server.requests[2]) == ALL_OF_IT
    arguments = server.requests[2]["messages"][4]["tool_calls"][0]["function"]["arguments"]
    assert "it is lost" in arguments
    assert "order 7, 20 euros" in arguments


async def test_what_the_context_keeps_already_is_not_handed_on_twice(place: Any) -> None:
    script = [Says("Hello."), *CALLS_AND_TRANSFER, Says("Refunded.")]
    async with (
        scripted_model(script) as server,
        opened(place, server, support(ModelLoop(tools=[look])), refunds()) as runtime,
    ):
        agent = await runtime.start("support", at="LISTENING")
        await agent.send("ASKED", {"text": "Hi"})
        await agent.until("LISTENING")
        await agent.send("ASKED", {"text": "Where is 7?"})
        await server.asked(4)
    assert told(server.requests[3]) == [("user", "Hi"), ("assistant", "Hello."), *ALL_OF_IT]


@pytest.mark.parametrize(
    "to",
    [
        To("refunds", at="REVIEWING", transcript=False),
        To("refunds", at="REVIEWING", packet=lambda context, event: context.packet(without="conversation")),
    ],
    ids=["switched off", "a packet without a conversation"],
)
async def test_a_target_that_is_not_to_know_it_is_told_nothing_that_a_model_said(to: Any) -> None:
    async with (
        scripted_model([*CALLS_AND_TRANSFER, Says("Refunded.")]) as server,
        opened("memory:", server, support(ModelLoop(tools=[look]), to=to), refunds()) as runtime,
    ):
        agent = await runtime.start("support", at="LISTENING")
        await agent.send("ASKED", {"text": "Where is 7?"})
        await server.asked(3)
        packet = await packet_of(runtime)
    assert all(each.role == "user" for each in packet.conversation)
    assert "7 is lost" not in str(told(server.requests[2]))


async def test_a_packet_with_the_newest_messages_has_what_the_model_said_since_them() -> None:
    to = To("refunds", at="REVIEWING", packet=lambda context, event: context.packet(last=1))
    script = [
        Says("Hello."),
        Calls(("look", {"order": "6"}, "k")),
        Says("6 is lost."),
        *CALLS_AND_TRANSFER,
        Says("So."),
    ]
    loop = ModelLoop(tools=[look])
    async with (
        scripted_model(script) as server,
        opened("memory:", server, support(loop, to=to), refunds()) as runtime,
    ):
        agent = await runtime.start("support", at="LISTENING")
        for text in ("Hi", "Where is 6?"):
            await agent.send("ASKED", {"text": text})
            await agent.until("LISTENING")
        await agent.send("ASKED", {"text": "Where is 7?"})
        await server.asked(6)
    assert told(server.requests[5]) == ALL_OF_IT


class Case(AgentContext):
    order: str = "7"


def not_a_conversation(loop: Any) -> Any:
    """A graph whose context has no messages."""
    transfers = Transfers([To("refunds", at="REVIEWING"), "LISTENING"], otherwise="LISTENING")
    return StateTransitionGraph(
        "support",
        context=Case,
        states=[State("THINKING", invoke=Invoke(loop, id="think"), transfers=transfers), "LISTENING"],
        transitions=[Transition("LISTENING", "ASKED", "THINKING")],
        entry_points=["LISTENING"],
    )


async def test_an_agent_without_a_conversation_hands_on_what_its_model_was_told_and_said() -> None:
    loop = ModelLoop(tools=[look], prompt=lambda context: f"Where is {context.order}?")
    async with (
        scripted_model([*CALLS_AND_TRANSFER, Says("Refunded.")]) as server,
        opened("memory:", server, not_a_conversation(loop), refunds()) as runtime,
    ):
        agent = await runtime.start("support", at="LISTENING")
        await agent.send("ASKED", {})
        await server.asked(3)
    assert told(server.requests[2]) == ALL_OF_IT


async def test_secrets_are_masked_and_providers_own_forms_stay_behind() -> None:
    script = [Calls(("log_in", {"pin": "pin-0815"}, "l")), Calls(TRANSFER), Says("Refunded.")]
    async with (
        scripted_model(script) as server,
        opened("memory:", server, support(ModelLoop(tools=[log_in])), refunds(), tools=[log_in]) as runtime,
    ):
        agent = await runtime.start("support", at="LISTENING")
        await agent.send("ASKED", {"text": "Let me in"})
        await server.asked(3)
        packet = await packet_of(runtime)
    assert "pin-0815" not in packet.model_dump_json()
    assert "pin-0815" not in str(server.requests[2])
    assert [each.verbatim for each in packet.conversation] == [None] * 3
    assert packet.conversation[1].tool_calls[0].output == "you are in"


async def test_images_in_results_reach_the_next_model(place: Any) -> None:
    script = [Calls(("draw", {"room": "hall"}, "d")), Calls(TRANSFER), Says("Refunded.")]
    async with (
        scripted_model(script) as server,
        opened(place, server, support(ModelLoop(tools=[draw])), refunds(), tools=[draw]) as runtime,
    ):
        agent = await runtime.start("support", at="LISTENING")
        await agent.send("ASKED", {"text": "Draw the hall"})
        await server.asked(3)
    assert "data:image/png;base64,iVBORw0KGgo=" in str(server.requests[2])


async def test_a_summary_stands_for_what_was_compacted(place: Any) -> None:
    def script(request: Any) -> Any:
        messages = request["messages"]
        if "Summarize the conversation" in str(messages[-1]["content"]):
            return Says("7 is lost, as was found.")
        if "Refund." in str(messages[0]["content"]):
            return Says("Refunded.")
        turn = sum(each["role"] == "assistant" for each in messages)
        is_summarized = any("7 is lost, as was found" in str(each["content"]) for each in messages)
        return Calls(TRANSFER) if is_summarized else Calls(("look", {"order": f"{7 + turn}"}, f"l{turn}"))

    loop = ModelLoop(tools=[look], compaction=Summarize(at_tokens=110, keep=1))
    async with (
        scripted_model(script) as server,
        opened(place, server, support(loop), refunds()) as runtime,
    ):
        agent = await runtime.start("support", at="LISTENING")
        await agent.send("ASKED", {"text": "Where are they?"})
        while not any("Refund." in str(each["messages"][0]) for each in server.requests):
            await server.asked(len(server.requests) + 1)
    texts = [each[1] for each in told(server.requests[-1])]
    assert texts[:2] == ["Where are they?", "[Summary of what was said before]\n7 is lost, as was found."]
    assert texts[-1] == HANDED_ON


async def test_a_conversation_too_large_for_a_packet_loses_the_oldest_first() -> None:
    @tool(name="look", repeat="safe")
    async def look_long(order: str) -> str:
        """Look an order up."""
        return f"{order} " + 40_000 * "x"

    script = [*(Calls(("look", {"order": f"{n}"}, f"l{n}")) for n in range(9)), Calls(TRANSFER), Says("Refunded.")]
    async with (
        scripted_model(script) as server,
        opened("memory:", server, support(ModelLoop(tools=[look_long])), refunds(), tools=[look_long]) as runtime,
    ):
        agent = await runtime.start("support", at="LISTENING")
        await agent.send("ASKED", {"text": "Where are they?"})
        await server.asked(11)
        packet = await packet_of(runtime)
    outputs = [str(each.tool_calls[0].output) for each in packet.conversation if each.tool_calls]
    assert len(packet.model_dump_json()) < 300_000
    assert [len(each) > 40_000 for each in outputs] == [*[False] * 3, *[True] * 6, False]
    assert outputs[0].endswith("[Shortened for the handoff: 40,002 characters.]")


def test_what_does_not_fit_even_when_shortened_is_left_out_and_said_so() -> None:
    transcript = Transcript()
    for number in range(1, 101):
        message = Message(role="agent", content=f"{number} " + 2_000 * "x")
        turn = ModelTurn(number=number, by="1.i", state="S", message=message, finish=Finish.ANSWERED, usage=Usage())
        transcript.add(f"turn.{number}", text_of(f"turn.{number}", turn))
    asked = Message(role="user", content="Go")
    *newest, last = handed_on(transcript, [asked], 20_000)
    assert last == asked  # it was not heard yet
    note, *kept = newest
    assert note.role == SUMMARY
    assert f"{100 - len(kept)} messages of the model were left out here" in note.content
    assert kept[-1].content.startswith("100 xxx")
    assert 15_000 < sum(len(each.model_dump_json()) for each in kept) <= 20_000


async def test_a_transfer_to_the_best_target_takes_the_conversation_along(place: Any) -> None:
    to = To(Best(Needs(domains=("refunds",))), description="Refund an order.")
    script = [CALLS_AND_TRANSFER[0], Calls(("transfer_to_best", {"reason": "lost"}, "t")), Says("Refunded.")]
    async with (
        scripted_model(script) as server,
        opened(place, server, support(ModelLoop(tools=[look]), to=to), refunds()) as runtime,
    ):
        agent = await runtime.start("support", at="LISTENING")
        await agent.send("ASKED", {"text": "Where is 7?"})
        await server.asked(3)
    assert told(server.requests[2])[:3] == ALL_OF_IT[:3]
    assert told(server.requests[2])[-1] == ("tool", HANDED_ON)


async def test_an_operators_handoff_takes_along_what_the_model_said_so_far(place: Any) -> None:
    script = [Calls(("look", {"order": "7"}, "l"), text="I look."), Hangs(), Says("Refunded.")]
    async with (
        scripted_model(script) as server,
        opened(place, server, support(ModelLoop(tools=[look])), refunds()) as runtime,
    ):
        agent = await runtime.start("support", at="LISTENING")
        await agent.send("ASKED", {"text": "Where is 7?"})
        await server.asked(2)
        await runtime.handoff(agent.id, Handoff("refunds", at="REVIEWING"))
        await server.asked(3)
    assert told(server.requests[2]) == ALL_OF_IT[:3]


async def test_an_operator_can_hand_on_without_the_messages_of_the_model() -> None:
    async with (
        scripted_model([CALLS_AND_TRANSFER[0], Hangs(), Says("Refunded.")]) as server,
        opened("memory:", server, support(ModelLoop(tools=[look])), refunds()) as runtime,
    ):
        agent = await runtime.start("support", at="LISTENING")
        await agent.send("ASKED", {"text": "Where is 7?"})
        await server.asked(2)
        await runtime.handoff(agent.id, Handoff("refunds", at="REVIEWING", transcript=False))
        await server.asked(3)
    assert told(server.requests[2]) == ALL_OF_IT[:1]


async def test_a_call_that_a_handoff_interrupts_is_told_to_have_no_result(place: Any) -> None:
    began = asyncio.Event()

    @tool(name="look", repeat="never")
    async def slow(order: str) -> str:
        """Look an order up."""
        began.set()
        await asyncio.Event().wait()
        return order

    give = Transition("THINKING", "TAKEN_AWAY", "AWAY", actions=Handoff("refunds", at="REVIEWING"))
    script = [Calls(("look", {"order": "7"}, "l"), text="I look."), Says("Refunded.")]
    async with (
        scripted_model(script) as server,
        opened(place, server, support(ModelLoop(tools=[slow]), give), refunds(), tools=[slow]) as runtime,
    ):
        agent = await runtime.start("support", at="LISTENING")
        await agent.send("ASKED", {"text": "Where is 7?"})
        await began.wait()
        await agent.send("TAKEN_AWAY")
        await server.asked(2)
    assert told(server.requests[1]) == [*ALL_OF_IT[:2], ("tool", f"Error: {UNFINISHED}")]


async def test_a_way_out_that_hands_on_takes_along_what_the_model_repeated(place: Any) -> None:
    plan = EscapePlan({"same_call": [HandOn(Handoff("refunds", at="REVIEWING"))]})
    graph = support(ModelLoop(tools=[look]), signals=SameCall(3), escape=plan)

    def reply(request: Any) -> Any:
        if "Refund." in str(request["messages"][0]["content"]):
            return Says("Refunded.")
        return Calls(("look", {"order": "7"})) if len(request["messages"]) < 7 else Hangs()

    async with scripted_model(reply) as server, opened(place, server, graph, refunds()) as runtime:
        agent = await runtime.start("support", at="LISTENING")
        await agent.send("ASKED", {"text": "Where is 7?"})
        while not any("Refund." in str(each["messages"][0]) for each in server.requests):
            await server.asked(len(server.requests) + 1)
    request = next(each for each in server.requests if "Refund." in str(each["messages"][0]))
    assert told(request).count(("assistant", "", "look")) == 3
    assert told(request).count(("tool", "7 is lost")) >= 2  # the newest result may come too late


async def test_a_transfer_in_the_turn_of_an_approved_call_takes_its_result_along(place: Any) -> None:
    script = [Calls(("look", {"order": "7"}, "l"), TRANSFER, text="I look."), Says("Refunded.")]
    loop = ModelLoop(tools=[look], approval=lambda context, call: context.approved.get(call.id))
    async with scripted_model(script) as server, opened(place, server, support(loop), refunds()) as runtime:
        agent = await runtime.start("support", at="LISTENING")
        await agent.send("ASKED", {"text": "Where is 7?"})
        await agent.until("APPROVING")
        await agent.send("DECIDED", {"approved": {"l": True}})
        await server.asked(2)
    assert told(server.requests[1]) == [
        ("user", "Where is 7?"),
        ("assistant", "I look.", "look", TOOL),
        ("tool", "7 is lost"),
        ("tool", HANDED_ON),
    ]


async def test_work_that_comes_back_is_told_to_the_first_model_once(place: Any) -> None:
    """A living agent takes back what it gave away; its own turns are not heard as those of others."""

    def take(context: Any, event: Any) -> None:
        context.take(HandoffPacket.model_validate(event.payload))

    back = Transition(
        "REFUNDED",
        "RETURNED",
        "AWAY",
        actions=Handoff(
            "support",
            at="LISTENING",
            agent=lambda context, event: event.payload["to"],
            achieved=lambda context, event: "refunded",
        ),
    )
    returned = Transition("GIVEN", "handoff.offered.LISTENING", "LISTENING", actions=take)
    script = [*CALLS_AND_TRANSFER, Says("Refunded."), Says("Welcome back.")]
    gone = Transition("AWAY", "handoff.accepted", "GONE")
    to = To("refunds", at="REVIEWING", waits="AWAY")
    async with (
        scripted_model(script) as server,
        opened(place, server, support(ModelLoop(tools=[look]), returned, to=to), refunds(back, gone)) as runtime,
    ):
        agent = await runtime.start("support", at="LISTENING")
        await agent.send("ASKED", {"text": "Where is 7?"})
        await agent.until("GIVEN")
        await server.asked(3)
        (other,) = (await runtime.find(graph="refunds")).agents
        second = await runtime.resume(other.agent_id)
        await second.until("REFUNDED")
        await second.send("RETURNED", {"to": agent.id})
        await agent.until("LISTENING")
        await agent.send("ASKED", {"text": "And now?"})
        await server.asked(4)
    answered = ("tool", CAME_BACK)
    assert told(server.requests[3]) == [*ALL_OF_IT[:4], answered, ("assistant", "Refunded."), ("user", "And now?")]


async def test_a_model_whose_transfer_was_refused_is_told_so_and_can_transfer_to_another_target(place: Any) -> None:
    closed = StateTransitionGraph(
        "closed", context=Chat, states=["SHUT"], entry_points=[EntryPoint("SHUT", takes=HandoffPacket, guard=_never)]
    )
    loop = ModelLoop(tools=[look])
    targets = [To("refunds", at="REVIEWING", description="Refund."), To("closed", at="SHUT", description="Closed.")]
    graph = StateTransitionGraph(
        "support",
        context=Chat,
        states=[
            State("THINKING", invoke=Invoke(loop, id="think"), transfers=Transfers(targets, otherwise="LISTENING"))
        ],
        transitions=[Transition("LISTENING", "ASKED", "THINKING", actions=hear)],
        entry_points=["LISTENING"],
    )
    given = {"reason": "it is lost", "summary": "order 7"}
    script = [Calls(("transfer_to_closed_at_SHUT", given, "c")), Calls(TRANSFER), Says("Refunded.")]
    async with scripted_model(script) as server, opened(place, server, graph, refunds(), closed) as runtime:
        agent = await runtime.start("support", at="LISTENING")
        await agent.send("ASKED", {"text": "Where is 7?"})
        await server.asked(3)
    assert told(server.requests[1])[-1] == ("tool", CAME_BACK)
    assert told(server.requests[2])[-3:] == [("tool", CAME_BACK), ("assistant", "", TOOL), ("tool", HANDED_ON)]


def _never(context: Any, event: Any) -> bool:
    return False


async def test_calls_of_another_agent_are_not_made_again_by_the_next_loop(place: Any) -> None:
    script = [*CALLS_AND_TRANSFER, Says("Refunded.")]
    async with (
        scripted_model(script) as server,
        opened(place, server, support(ModelLoop(tools=[look])), refunds(tools=[look])) as runtime,
    ):
        agent = await runtime.start("support", at="LISTENING")
        await agent.send("ASKED", {"text": "Where is 7?"})
        await server.asked(3)
    assert told(server.requests[2]) == ALL_OF_IT
