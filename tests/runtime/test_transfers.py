"""Transfers on every home: offered, chosen by an invoke, counted once, and told to the model."""

import asyncio

import pytest
from pydantic import BaseModel, Field

from gatechart import AgentContext, EntryPoint, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import CallReusedError, ReservedEventError
from gatechart.graph.definition import Invoke
from gatechart.graph.handoff import Handoff
from gatechart.graph.migration import Migration
from gatechart.graph.transfers import To, Transfers
from gatechart.values.agents import Refused
from gatechart.values.delays import Retry
from gatechart.values.transfers import count_of
from tests.runtime.support import eventually

pytestmark = [pytest.mark.sample_on_restate, pytest.mark.sqlite_is_enough]


class Paper(AgentContext):
    topic: str = "tides"
    is_complete: bool = False
    notes: list[str] = Field(default_factory=list)


class Complaint(AgentContext):
    order: str = ""


class Claim(BaseModel):
    order: str


class Model:
    """A model that follows a script: what it chooses each time, and what it was told."""

    def __init__(self, *script):
        self.script = list(script)
        self.offers = []
        self.answers = []
        self.calls = 0
        self.raised = None
        self.go_on = asyncio.Event()
        self.go_on.set()

    def choice(self, offer):
        """The next tool of the script; the last one is repeated forever. None for an end without a choice."""
        self.offers.append((sorted(offer.targets), offer.left))
        wanted = self.script[min(self.calls, len(self.script) - 1)]
        self.calls += 1
        return wanted


async def check(context, work):
    model = work.services
    offer = await work.transfer_tools()
    model.text = offer.text
    model.tools = offer.openai()
    for wanted in [model.choice(offer)] if offer.tools else []:
        await model.go_on.wait()
        for tool, arguments in wanted or []:
            model.answers.append(await work.transfer(tool, arguments))
    return "checked"


async def search(context, work):
    return f"three papers on {context.topic}"


def is_complete(context, event):
    return context.is_complete or Refused("two chapters are missing")


def complete(context, event):
    context.is_complete = True


def note(context, event):
    context.notes.append(event.payload["arguments"].get("reason", ""))


def research(*extra, invoke=check, **more):
    targets = [
        To("SEARCHING", description="looks for more", actions=note),
        To("WRITING", guard=is_complete),
        *extra,
    ]
    transfers = Transfers(targets, **{"most": 2, "otherwise": "DONE"} | more)
    states = [
        State("CHECKING", invoke=invoke, transfers=transfers),
        State("SEARCHING", invoke=search),
        State("WRITING", description="writes it up"),
        State("DONE", final=True),
    ]
    ways = [
        Transition("SEARCHING", "done.invoke.search", "CHECKING"),
        Transition("CHECKING", "COMPLETED", actions=complete),
        Transition("WRITING", "RETURNED", "CHECKING"),
    ]
    return StateTransitionGraph(
        "research", context=Paper, states=states, transitions=ways, entry_points=["CHECKING", "SEARCHING"]
    )


AGAIN = [("transfer_to_SEARCHING", {"reason": "too little"})]
WRITE = [("transfer_to_WRITING", {"reason": "enough", "summary": "all there"})]


def taken(agent):
    return count_of(agent.snapshot.transfers, "CHECKING").taken


async def until(agent, *states):
    return await agent.until(*states, timeout=60)


async def test_a_choice_leads_on_and_is_kept_with_what_was_shown(place):
    model = Model(AGAIN, None)
    async with Runtime.open(place, graphs=research(), services=model) as runtime:
        agent = await runtime.start("research", at="SEARCHING")
        await until(agent, "DONE")
        assert model.offers == [(["transfer_to_SEARCHING"], 2), (["transfer_to_SEARCHING"], 1)]
        assert agent.context.notes == ["too little"]
        [chosen] = [each for each in await agent.history() if each.event.name == "transfer.SEARCHING"]
        payload = chosen.event.payload
        assert chosen.taken == ("CHECKING --transfer.SEARCHING--> SEARCHING",)
        assert (payload["tool"], payload["arguments"]) == (
            "transfer_to_SEARCHING",
            {"reason": "too little"},
        )
        assert (payload["offered"], payload["left"]) == (["SEARCHING"], 1)
        assert "What led here: done.invoke.search: three papers on tides" in payload["shown"]
        assert "WRITING is not possible now: two chapters are missing." in payload["shown"]


async def test_a_model_that_always_chooses_the_loop_is_led_out_of_it(place):
    model = Model(AGAIN)
    async with Runtime.open(place, graphs=research(most=3), services=model) as runtime:
        agent = await runtime.start("research", at="CHECKING")
        await until(agent, "DONE")
        assert taken(agent) == 3
        assert [left for _, left in model.offers] == [3, 2, 1]
        assert "No transfer is left; the next step after your answer is DONE." in model.text
        events = [each.event.name for each in await agent.history()]
        assert events.count("transfer.SEARCHING") == 3
        assert events[-1] == "done.invoke.check"


async def test_the_tools_have_the_shapes_of_models(place):
    model = Model(None)
    async with Runtime.open(place, graphs=research(), services=model) as runtime:
        await until(await runtime.start("research", at="CHECKING"), "DONE")
        (tool,) = model.tools
        assert (tool["type"], tool["function"]["name"]) == ("function", "transfer_to_SEARCHING")
        assert tool["function"]["description"] == "looks for more"
        assert set(tool["function"]["parameters"]["properties"]) == {"reason", "summary"}


async def test_tools_may_take_no_arguments(place):
    model = Model([("transfer_to_SEARCHING", {})], None)
    async with Runtime.open(place, graphs=research(arguments=False), services=model) as runtime:
        agent = await runtime.start("research", at="CHECKING")
        await until(agent, "DONE")
        assert taken(agent) == 1
        assert model.tools[0]["function"]["parameters"]["properties"] == {}


async def test_unknown_and_withheld_names_and_wrong_arguments_change_nothing(place):
    wrong = [
        ("transfer_to_NOWHERE", {}),
        *WRITE,
        ("transfer_to_SEARCHING", {"reason": 7}),
        ("transfer_to_SEARCHING", {}),
    ]
    model = Model(wrong)
    async with Runtime.open(place, graphs=research(), services=model) as runtime:
        agent = await runtime.start("research", at="CHECKING")
        await until(agent, "DONE")
        assert taken(agent) == 0
        assert [each.is_followed for each in model.answers] == [False] * 4
        assert model.answers[0].answer == (
            "transfer_to_NOWHERE is not offered, so nothing was done. Offered are: transfer_to_SEARCHING."
        )
        assert model.answers[1].answer.startswith("transfer_to_WRITING is not offered")
        assert all(each.answer.startswith("The arguments do not fit") for each in model.answers[2:])


@pytest.mark.not_on_restate("a change between offer and choice needs a model in this process that waits")
async def test_what_holds_no_longer_is_told_once_and_then_takes_otherwise(place):
    model = Model(WRITE + WRITE)
    model.go_on.clear()
    async with Runtime.open(place, graphs=reopened(), services=model) as runtime:
        agent = await runtime.start("research", at="CHECKING")
        await eventually(lambda: model.offers)
        await agent.send("REOPENED")
        model.go_on.set()
        await until(agent, "DONE")
        first = model.answers[0]
        assert (first.is_followed, first.left) == (False, 2)
        assert first.answer == (
            "That is not possible any more: two chapters are missing. Choose another step, or go on without one."
        )
        steps = [each.taken for each in await agent.history() if each.event.name == "transfer.WRITING"]
        assert steps == [("CHECKING --transfer.WRITING",), ("CHECKING --transfer.WRITING--> DONE",)]


def reopened():
    """As `research`, but complete until it is reopened."""

    def reopen(context, event):
        context.is_complete = False

    def begin(context, event):
        context.is_complete = True

    transfers = Transfers([To("SEARCHING"), To("WRITING", guard=is_complete)], most=2, otherwise="DONE")
    return StateTransitionGraph(
        "research",
        context=Paper,
        states=[
            State("CHECKING", invoke=check, transfers=transfers, on_entry=begin),
            State("SEARCHING"),
            State("WRITING"),
            State("DONE", final=True),
        ],
        transitions=[Transition("CHECKING", "REOPENED", actions=reopen)],
        entry_points=["CHECKING"],
    )


async def test_the_first_valid_choice_of_a_run_wins(place):
    async def choose_twice(context, work):
        work.services.answers += [await work.transfer("transfer_to_SEARCHING", {"reason": "a"})]
        work.services.answers += [await work.transfer("transfer_to_WRITING", {"reason": "b"})]

    async with Runtime.open(place, graphs=research(invoke=choose_twice), services=Model()) as runtime:
        agent = await runtime.start("research", at="CHECKING")
        await until(agent, "DONE")
        assert taken(agent) == 2
        names = [each.event.name for each in await agent.history()]
        assert "transfer.WRITING" not in names


async def test_a_choice_that_was_recorded_is_made_by_the_repeat_even_if_it_is_not_offered_any_more(place):
    async def fail_first(context, work):
        model = work.services
        model.calls += 1
        model.offers.append(sorted((await work.transfer_tools()).targets))
        model.answers.append(await work.transfer("transfer_to_WRITING", {"reason": "a"}, call_id="c-1"))
        if model.calls == 1:
            raise LookupError("no luck")

    invoke = Invoke(fail_first, id="check", retry=Retry(attempts=3, first_s=0.01))
    model = Model()
    async with Runtime.open(place, graphs=reusing(invoke), services=model) as runtime:
        agent = await runtime.start("research", at="CHECKING")
        await until(agent, "DONE")
        assert model.offers == [["transfer_to_SEARCHING", "transfer_to_WRITING"], ["transfer_to_SEARCHING"]]
        assert model.answers[0].answer == model.answers[1].answer
        steps = [each.taken for each in await agent.history() if each.event.name == "transfer.WRITING"]
        assert steps == [("CHECKING --transfer.WRITING",)]
        assert taken(agent) == 0


async def test_a_call_of_an_earlier_entry_is_answered_and_not_followed_again(place):
    """With records of the agent, a conversation that comes back repeats its calls and goes on from there."""

    async def converse(context, work):
        model, conversation = work.services, await work.for_agent("conversation")
        await conversation.transfer_tools()
        for number in range(1, 3):
            tool, arguments = AGAIN[0]
            answer = await conversation.transfer(tool, arguments, call_id=f"c-{number}")
            model.answers.append((number, answer.is_followed, answer.answer))

    model = Model()
    async with Runtime.open(place, graphs=research(invoke=converse), services=model) as runtime:
        agent = await runtime.start("research", at="CHECKING")
        await until(agent, "DONE")
        assert taken(agent) == 2
        assert (1, False, "That was the next step then; the work has come back since.") in model.answers


async def test_an_id_stands_for_one_choice(place):
    async def reuse(context, work):
        model = work.services
        try:
            await work.transfer("transfer_to_WRITING", {"reason": "a"}, call_id="c-1")
            await work.transfer("transfer_to_SEARCHING", {"reason": "a"}, call_id="c-1")
        except CallReusedError as error:
            model.raised = error
        return "over"

    model = Model()
    async with Runtime.open(place, graphs=reusing(reuse), services=model) as runtime:
        await until(await runtime.start("research", at="CHECKING"), "DONE")
        assert "'transfer_to_WRITING'" in str(model.raised)


def reusing(invoke):
    """A graph whose target WRITING is offered, and refused in its turn."""
    told = []

    def at_first(context, event):
        told.append(event.name)
        return len(told) == 1 or Refused("not twice")

    transfers = Transfers([To("SEARCHING"), To("WRITING", guard=at_first)], most=2, otherwise="DONE")
    states = [State("CHECKING", invoke=invoke, transfers=transfers), "SEARCHING", "WRITING", State("DONE", final=True)]
    return StateTransitionGraph("research", context=Paper, states=states, entry_points=["CHECKING"])


async def test_a_choice_may_be_a_handoff_with_the_arguments_in_its_packet(place):
    refunds = StateTransitionGraph(
        "refunds",
        context=Complaint,
        states=[State("REVIEWING")],
        entry_points=[EntryPoint("REVIEWING", takes=Claim, entities="order", description="decides on refunds")],
    )
    wanted = [("transfer_to_refunds_at_REVIEWING", {"reason": "broken", "summary": "wants it back", "order": "4711"})]
    model = Model(wanted)
    graph = research(To("refunds", at="REVIEWING"))
    async with Runtime.open(place, graphs=[graph, refunds], services=model) as runtime:
        agent = await runtime.start("research", at="CHECKING")
        await agent.until(ended=True, timeout=60)
        (row,) = await runtime.handoffs()
        other = await runtime.resume(row.target)
        assert other.context.order == "4711"
        assert row.packet["reasoning"][-1]["reasoning"] == "broken"
        assert row.packet["reasoning"][-1]["details"] == "wants it back"
        assert taken(agent) == 1
        tool = next(each for each in model.tools if each["function"]["name"] == "transfer_to_refunds_at_REVIEWING")
        assert tool["function"]["description"] == "decides on refunds"
        assert "order" in tool["function"]["parameters"]["properties"]


async def test_a_handoff_that_nobody_takes_lets_the_model_choose_again_and_know_why(place):
    model = Model([("transfer_to_refunds_at_REVIEWING", {"reason": "broken"})], None)
    graph = research(To("refunds", at="REVIEWING", description="decides"))
    async with Runtime.open(place, graphs=graph, services=model) as runtime:
        agent = await runtime.start("research", at="CHECKING")
        await until(agent, "DONE")
        assert "refunds.REVIEWING: chosen at" in model.text
        assert "said handoff.rejected" in model.text
        assert taken(agent) == 1


async def test_the_count_survives_a_restart_and_a_rollback_and_begins_anew_with_a_fork(place):
    model = Model(AGAIN, WRITE)
    async with Runtime.open(place, graphs=research(most=9), services=model) as runtime:
        agent = await runtime.start("research", at="CHECKING", agent_id="r-1")
        await eventually(lambda: len(model.offers) == 2)
    model = Model([])
    model.go_on.clear()
    async with Runtime.open(place, graphs=research(most=9), services=model) as runtime:
        agent = await runtime.resume("r-1")
        assert taken(agent) == 1
        await agent.rollback(1, reason="too early")
        assert taken(agent) == 1
        other = await runtime.fork("r-1", 3, new_id="r-2")
        assert taken(other) == 0
        model.go_on.set()


async def test_nobody_else_can_send_a_choice(place):
    model = Model([])
    model.go_on.clear()
    async with Runtime.open(place, graphs=research(), services=model) as runtime:
        agent = await runtime.start("research", at="CHECKING")
        with pytest.raises(ReservedEventError):
            await agent.send("transfer.SEARCHING")
        model.go_on.set()


@pytest.mark.needs("migrates_ahead")
async def test_the_count_goes_along_with_a_migration_that_renames_the_state(place):
    model = Model(AGAIN, [])
    async with Runtime.open(place, graphs=research(most=9), services=model) as runtime:
        agent = await runtime.start("research", at="CHECKING", agent_id="r-1")
        await eventually(lambda: len(model.offers) == 1)
        await until(agent, "DONE")

    def renamed(stored):
        return stored.renamed({"CHECKING": "JUDGING"})

    transfers = Transfers(["SEARCHING", "DONE"], most=9, otherwise="DONE")
    newer = StateTransitionGraph(
        "research",
        version="2",
        context=Paper,
        states=[State("JUDGING", invoke=check, transfers=transfers), "SEARCHING", State("DONE", final=True)],
        migrations=Migration("1", "2", renamed),
        entry_points=["JUDGING"],
    )
    async with Runtime.open(place, graphs=newer, services=Model([])) as runtime:
        counts = (await runtime.resume("r-1")).snapshot.transfers
        assert [(each.state, each.taken, each.visits[0].target) for each in counts] == [("JUDGING", 1, "SEARCHING")]


async def test_an_agent_that_accepts_other_work_begins_to_count_anew(place):
    states = [
        State("CHECKING", invoke=check, transfers=Transfers(["SEARCHING", "IDLE"], most=2, otherwise="IDLE")),
        State("SEARCHING", invoke=search),
        "IDLE",
    ]
    desk = StateTransitionGraph(
        "desk",
        context=Paper,
        states=states,
        transitions=[
            Transition("SEARCHING", "done.invoke.search", "CHECKING"),
            Transition("IDLE", "handoff.offered.CHECKING", "CHECKING"),
        ],
        entry_points=["CHECKING"],
    )
    asking = StateTransitionGraph("asking", transitions=[Transition("A", "GO", "B")], entry_points=["A"])
    model = Model(AGAIN)
    async with Runtime.open(place, graphs=[desk, asking], services=model) as runtime:
        worker = await runtime.start("desk", at="CHECKING", agent_id="d-1")
        await until(worker, "IDLE")
        assert taken(worker) == 2
        await runtime.start("asking", at="A", agent_id="a-1")
        await runtime.handoff("a-1", Handoff("desk", at="CHECKING", agent="d-1"))
        await eventually(lambda: len(model.offers) == 4)
        await until(worker, "IDLE")
        assert taken(worker) == 2
