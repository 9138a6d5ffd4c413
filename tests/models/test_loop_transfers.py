"""A model chooses its next step among the transfers of its state, and goes on in the conversation when it is back."""

from gatechart import ModelLoop, Runtime, State, StateTransitionGraph, Transfers, Transition, tool
from gatechart.graph.definition import Invoke
from gatechart.testing.scripted_model import Calls, Says, scripted_model
from tests.models.support import Chat, Services, keep, said


@tool(repeat="safe")
async def look(topic: str) -> str:
    """Look a topic up."""
    return f"about {topic}"


def research(**more):
    transfers = Transfers(["SEARCHING", "WRITING"], most=2, otherwise="WRITING", **more)
    loop = {name: Invoke(ModelLoop(tools=[look], instructions=name), id=name) for name in ("search", "check", "write")}
    return StateTransitionGraph(
        "research",
        context=Chat,
        states=[
            State("SEARCHING", invoke=loop["search"]),
            State("CHECKING", invoke=loop["check"], transfers=transfers),
            State("WRITING", invoke=loop["write"]),
            "DONE",
        ],
        transitions=[
            Transition("SEARCHING", "done.invoke.search", "CHECKING", actions=keep),
            Transition("WRITING", "done.invoke.write", "DONE", actions=keep),
        ],
        entry_points=["SEARCHING"],
    )


def back(call_id):
    return ("transfer_to_SEARCHING", {"reason": "too little"}, call_id)


def on(call_id):
    return ("transfer_to_WRITING", {"reason": "enough"}, call_id)


async def researched(script):
    async with scripted_model(script) as server, opened(server) as runtime:
        agent = await runtime.start("research", at="SEARCHING", agent_id="a")
        await agent.until("DONE", timeout=20)
        return server.requests, said(await runtime.resume("a")), [each.event.name for each in await agent.history()]


def opened(server):
    return Runtime.open("memory:", graphs=research(), services=Services(server, look))


def offered(body):
    return [each["function"]["name"] for each in body.get("tools", ())]


async def test_a_choice_of_the_model_is_followed_and_the_conversation_goes_on_in_the_next_state():
    script = [
        Says("Found a."),
        Calls(("look", {"topic": "a"}, "l"), back("x"), on("y")),
        Says("Found b."),
        Calls(on("z")),
        Says("Written."),
    ]
    requests, messages, events = await researched(script)
    assert [each for each in events if each.startswith("transfer.")] == ["transfer.SEARCHING", "transfer.WRITING"]
    assert offered(requests[0]) == ["look"]
    assert offered(requests[1]) == ["look", "transfer_to_SEARCHING", "transfer_to_WRITING"]
    assert requests[1]["messages"][0]["content"].startswith("check\n\n")
    assert "Transfers left: 2 of 2." in requests[1]["messages"][0]["content"]
    assert messages == [
        ("agent", "Found a."),
        ("agent", "", "about a", *["This choice belongs to an earlier step; the work has continued since."] * 2),
        ("agent", "Found b."),
        ("agent", "", "This choice belongs to an earlier step; the work has continued since."),
        ("agent", "Written."),
    ]


async def test_a_model_that_never_stops_going_back_is_led_on_when_no_transfer_is_left():
    def always_back(body):
        names = offered(body)
        return Calls(back("x")) if "transfer_to_SEARCHING" in names else Says("So be it.")

    requests, _, events = await researched(always_back)
    assert events.count("transfer.SEARCHING") == 2
    assert offered(requests[-2]) == ["look"]
    assert "No transfer is left" in requests[-2]["messages"][0]["content"]
