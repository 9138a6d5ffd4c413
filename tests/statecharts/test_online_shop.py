"""What happens to customers of the online shop, who are handed from one agent to another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import MappingProxyType

import pytest

from gatechart import Agent, Runtime, Status, ToolBox
from gatechart.charts import bindings_of, dump, load
from gatechart.checks import check
from gatechart.handoff import HandoffStatus
from gatechart.results import Explanation, HandoffRecord
from gatechart.selection import Needs
from gatechart.selection.explaining import explanation_of
from gatechart.testing import VirtualClock
from statecharts.online_shop import advanced_orders, general_enquiries, online_shop, orders
from statecharts.online_shop.actions import OPENING_HOURS, POLICY
from statecharts.online_shop.context import ShopContext
from statecharts.online_shop.graphs import automatic
from statecharts.online_shop.shop import BOOKS, Books
from statecharts.services import Services
from tests.statecharts.shop import ORDER, SPECIAL, ask, at_orders, last_handoff, taken_over, visitor


@pytest.fixture
async def shop(url: str, clock: VirtualClock) -> AsyncIterator[Runtime]:
    async with Runtime.open(url, graphs=online_shop, services=Services(), clock=clock) as runtime:
        yield runtime


def known(agent: Agent) -> ShopContext:
    context = agent.context
    assert isinstance(context, ShopContext)
    return context


async def test_what_is_known_is_answered_without_handing_on(shop: Runtime) -> None:
    agent = await visitor(shop, "When are you open?")
    assert known(agent).answer == OPENING_HOURS
    assert not await shop.handoffs()


async def test_a_question_about_an_order_is_answered_by_the_agent_for_orders(shop: Runtime) -> None:
    agent = await at_orders(shop)
    assert agent.snapshot.graph == "orders"
    assert known(agent).answer == "Your order A-1042 is sent on Tuesday"
    assert known(agent).initial_query == ORDER


async def test_a_special_order_that_fails_twice_goes_to_advanced_orders(shop: Runtime) -> None:
    simple = await at_orders(shop)
    await ask(simple, SPECIAL)
    advanced = await taken_over(shop, simple)
    await advanced.until("LISTENING")
    tried = [step.outcome for step in known(advanced).reasoning if step.action == "order from the workshop"]
    assert tried == ["failed", "failed 2 times by now"]
    assert await fired(simple) == [("tool_failures", "taken")]
    assert await fired(advanced) == []
    assert known(advanced).entities["special_order"] == f"M-{len(SPECIAL)}"
    handoff = await last_handoff(shop, simple)
    assert (handoff.target_graph, handoff.entry_point, handoff.reason) == (
        "advanced_orders",
        "TAKING_OVER",
        "tool failure",
    )


async def test_a_manufacturer_is_asked_five_times_before_a_person_is(url: str, clock: VirtualClock) -> None:
    nobody = Services(shop=Books(orders=BOOKS.orders))
    async with Runtime.open(url, graphs=online_shop, services=nobody, clock=clock) as shop:
        advanced = await shop.start("advanced_orders", at="TAKING_OVER", payload={"current_problem": "a custom lamp"})
        for _ in range(4):
            await advanced.until("WAITING_FOR_MANUFACTURER")
            clock.advance("1m")
            await advanced.until("ASKING_MANUFACTURER")
        await taken_over(shop, advanced)
        handoff = await last_handoff(shop, advanced)
        assert (handoff.target_graph, handoff.entry_point, handoff.reason) == ("human_desk", "URGENT", "tool failure")
        assert await fired(advanced) == [("tool_failures", "taken")]


async def test_work_that_fails_otherwise_than_by_a_tool_is_handed_on_too(url: str, clock: VirtualClock) -> None:
    toolless = Services(tools=ToolBox([]))
    async with Runtime.open(url, graphs=online_shop, services=toolless, clock=clock) as shop:
        simple = await at_orders(shop)
        await ask(simple, SPECIAL)
        await taken_over(shop, simple)
        handoff = await last_handoff(shop, simple)
        assert (handoff.target_graph, handoff.reason) == ("advanced_orders", "complexity exceeded")
        assert await fired(simple) == [("no_progress", "taken")]


async def test_the_agent_that_takes_over_answers_at_once_and_skips_what_was_tried(shop: Runtime) -> None:
    simple = await at_orders(shop)
    await ask(simple, SPECIAL)
    advanced = await taken_over(shop, simple)
    await advanced.until("LISTENING")
    first, *_ = await advanced.history()
    assert first.target == ("ASKING_MANUFACTURER",)  # not the workshop
    assert known(advanced).messages[-2].content == (
        f"I have read all: {SPECIAL!r}; the workshop failed 2 times, so I ask the manufacturer"
    )


async def test_an_agent_for_advanced_orders_that_was_told_of_no_attempt_asks_the_workshop_first(
    url: str, clock: VirtualClock
) -> None:
    able = Services(shop=Books(makers=MappingProxyType({"workshop": "W"})))
    async with Runtime.open(url, graphs=online_shop, services=able, clock=clock) as shop:
        agent = await shop.start("advanced_orders", at="TAKING_OVER", payload={"current_problem": "a custom lamp"})
        await agent.until("LISTENING")
        assert known(agent).answer == f"What you wish is ordered: W-{len('a custom lamp')}"


async def test_a_further_question_is_answered_from_the_packet(shop: Runtime) -> None:
    simple = await at_orders(shop)
    await ask(simple, SPECIAL)
    advanced = await taken_over(shop, simple)
    await advanced.until("LISTENING")
    await ask(advanced, "And which one was that about?")
    assert known(advanced).answer == (
        f"order: A-1042; status: sent on Tuesday; wish: {SPECIAL}; special order: M-{len(SPECIAL)}"
    )
    said = [message.content for message in known(advanced).messages if message.role == "customer"]
    assert said == [ORDER, SPECIAL, "And which one was that about?"]


async def test_a_refund_asked_of_the_agent_for_orders_goes_to_refunds(shop: Runtime) -> None:
    simple = await at_orders(shop)
    await ask(simple, "What refunds are there?")
    refunds = await taken_over(shop, simple)
    assert refunds.configuration == ("EXPLAINING_POLICY",)
    assert known(refunds).answer == f"{POLICY}; that goes for A-1042, too"
    await ask(refunds, "And the status of my order?")
    again = await taken_over(shop, refunds)
    await again.until("LISTENING")
    assert again.snapshot.graph == "orders"
    assert again.id != simple.id
    assert known(again).answer == "Your order A-1042 is sent on Tuesday"
    graphs = [step["graph"] for step in (await last_handoff(shop, refunds)).packet["path"]]
    assert graphs == ["general_enquiries", "orders", "refunds"]


async def test_who_asks_for_a_person_gets_one_who_may_give_them_back(shop: Runtime) -> None:
    simple = await at_orders(shop)
    await ask(simple, "A human please")
    person = await taken_over(shop, simple, "WITH_PERSON")
    assert person.snapshot.graph == "human_desk"
    handoff = await last_handoff(shop, simple)
    assert (handoff.entry_point, handoff.reason) == ("HIGH", "user escalation")
    for event, payload in (
        ("TAKE", {"operator": "Ada"}),
        ("ANSWER", {"text": "It comes today"}),
        ("RETURN_TO_AGENT", {"at": "BACK_WITH_US", "note": "all said"}),
    ):
        outcome = await person.send(event, payload)
        assert outcome.applied, str(outcome.refusal)
    await person.until("RETURNED")
    assert simple.configuration == ("LISTENING",)
    words = [(message.role, message.content) for message in known(simple).messages]
    assert ("operator", "It comes today") in words
    assert known(simple).answer == "I am back; what else may I do for you?"
    await ask(simple, "And the status of order A-1043?")
    await simple.until("LISTENING")
    assert known(simple).answer == "Your order A-1043 is being packed"


async def test_a_question_that_is_asked_three_times_is_for_a_person(shop: Runtime) -> None:
    simple = await at_orders(shop)
    for _ in range(2):
        await ask(simple, ORDER)
        await simple.until("LISTENING")
    await ask(simple, "what is the status of my order A-1042")
    person = await taken_over(shop, simple, "WITH_PERSON")
    assert person.snapshot.graph == "human_desk"
    handoff = await last_handoff(shop, simple)
    assert (handoff.entry_point, handoff.reason) == ("NORMAL", "loop detected")
    assert await fired(simple) == [("same_question", "taken")]


async def test_what_agents_for_orders_know_nothing_of_is_for_a_person(shop: Runtime) -> None:
    simple = await at_orders(shop)
    await ask(simple, "Please repair my fridge")
    await taken_over(shop, simple, "WITH_PERSON")
    handoff = await last_handoff(shop, simple)
    assert (handoff.entry_point, handoff.reason) == ("NORMAL", "knowledge gap")
    assert await fired(simple) == [("knowledge_gap", "taken")]


async def test_a_wish_for_a_person_is_heard_in_the_customers_words_too(shop: Runtime) -> None:
    simple = await at_orders(shop)
    await ask(simple, "请帮我转人工")
    await taken_over(shop, simple, "WITH_PERSON")
    assert (await last_handoff(shop, simple)).reason == "user escalation"
    assert await fired(simple) == [("user_asked", "taken")]


async def test_a_wish_for_a_person_is_heard_by_the_agent_for_advanced_orders(shop: Runtime) -> None:
    advanced = await shop.start("advanced_orders", at="TAKING_OVER", payload={"current_problem": "a custom lamp"})
    await advanced.until("LISTENING")
    await ask(advanced, "I want to talk to a real person")
    person = await taken_over(shop, advanced)
    assert person.snapshot.graph == "human_desk"
    assert (await last_handoff(shop, advanced)).reason == "user escalation"
    assert await fired(advanced) == [("user_asked", "taken")]


async def at_refunds(shop: Runtime) -> Agent:
    """The agent for refunds that a customer was handed to."""
    return await taken_over(shop, await visitor(shop, "What refunds are there?"))


async def test_what_signals_call_for_of_agents_that_answer_at_once(shop: Runtime) -> None:
    for is_new, said, point, reason in (
        (True, ["请帮我转人工"], "HIGH", "user escalation"),
        (True, ["What are your opening hours?"] * 2, "NORMAL", "loop detected"),
        (False, ["I want to talk to a real person"], "HIGH", "user escalation"),
        (False, ["Please repair my fridge"], "NORMAL", "knowledge gap"),
        (False, ["How do I get my money back?"] * 3, "NORMAL", "loop detected"),
    ):
        agent = await (visitor(shop, "What are your opening hours?") if is_new else at_refunds(shop))
        for text in said:
            await ask(agent, text)
        person = await taken_over(shop, agent)
        handoff = await last_handoff(shop, agent)
        assert (person.snapshot.graph, handoff.entry_point, handoff.reason) == ("human_desk", point, reason)
        assert [reaction for _, reaction in await fired(agent)] == ["taken"]


async def test_no_signal_fires_while_orders_are_answered(shop: Runtime) -> None:
    simple = await at_orders(shop)
    await ask(simple, "And the status of order A-1043?")
    await simple.until("LISTENING")
    await ask(simple, "What refunds are there?")
    await taken_over(shop, simple)
    assert await fired(simple) == []


async def fired(agent: Agent) -> list[tuple[str, str]]:
    """The signals that fired, and what became of their events."""
    return [(each.fired.signal, each.fired.reaction.value) for each in await agent.history() if each.fired]


def why(handoff: HandoffRecord) -> Explanation:
    """Why the target of a handoff was chosen."""
    assert handoff.choice is not None
    return explanation_of(handoff.choice)


async def test_a_fridge_to_repair_matches_nobody_and_goes_to_people_who_know_about_anything(shop: Runtime) -> None:
    greeter = await visitor(shop, "Please repair my fridge")
    person = await taken_over(shop, greeter)
    assert person.snapshot.graph == "human_desk"
    nobody, taken = await shop.handoffs(source=greeter.id)
    assert (nobody.status, nobody.reason) == (HandoffStatus.REJECTED, "knowledge gap")
    assert {each.fell for each in why(nobody).judged} == {"rule: no rule applies to the work"}
    assert (taken.status, taken.entry_point, taken.request) == (HandoffStatus.ACCEPTED, "NORMAL", nobody.id)
    (attempt,) = taken.packet["attempts"]
    assert (attempt["obstacle"], attempt["details"]) == ("no match", why(nobody).details)
    assert why(taken).needs == Needs(domains=("anything",), tier=2)
    assert await fired(greeter) == [("knowledge_gap", "taken")]
    graphs = {snapshot.graph for snapshot in (await shop.find()).agents}
    assert {each for each in graphs if not each.startswith("gatechart.")} == {"general_enquiries", "human_desk"}


async def test_a_target_is_chosen_by_what_the_work_needs_and_the_others_are_told(shop: Runtime) -> None:
    greeter = await visitor(shop, "What refunds are there?")
    refunds = await taken_over(shop, greeter)
    handoff = await last_handoff(shop, greeter)
    assert (refunds.snapshot.graph, handoff.packet["recipient"]) == ("refunds", "refunds.EXPLAINING_POLICY")
    assert why(handoff).needs == Needs(domains=("refunds",))
    told = {each.id: each.fell for each in why(handoff).judged}
    assert told["refunds.EXPLAINING_POLICY"] == ""
    assert told["orders.LOOKING_UP"] == told["human_desk.NORMAL"] == "domain: not refunds"


async def full(shop: Runtime) -> list[Agent]:
    """The customers that agents for advanced orders have: as many as they take."""
    busy = []
    for _ in range(advanced_orders.accepts.capacity or 0):
        simple = await at_orders(shop)
        await ask(simple, SPECIAL)
        busy.append(await taken_over(shop, simple))
        await busy[-1].until("LISTENING")
    return busy


async def test_advanced_orders_hold_six_customers_and_the_next_best_takes_the_seventh(shop: Runtime) -> None:
    assert {each.snapshot.graph for each in await full(shop)} == {"advanced_orders"}
    simple = await at_orders(shop)
    await ask(simple, SPECIAL)
    person = await taken_over(shop, simple)
    (handoff,) = await shop.handoffs(source=simple.id)
    assert (handoff.target_graph, handoff.entry_point, handoff.target) == ("human_desk", "HIGH", person.id)
    assert handoff.reason == "tool failure"
    told = {each.id: each.fell for each in why(handoff).judged}
    assert told["advanced_orders.TAKING_OVER"] == "place: 6 of 6 places taken"


async def test_a_place_that_is_free_again_is_taken(shop: Runtime) -> None:
    busy = await full(shop)
    assert (await busy[0].send("CUSTOMER_LEFT")).status is Status.DONE
    simple = await at_orders(shop)
    await ask(simple, SPECIAL)
    assert (await taken_over(shop, simple)).snapshot.graph == "advanced_orders"


async def test_a_customer_who_was_handed_on_may_ask_more_of_whoever_has_them(shop: Runtime) -> None:
    simple = await at_orders(shop)
    await ask(simple, SPECIAL)
    advanced = await taken_over(shop, simple)
    await advanced.until("LISTENING")
    await ask(advanced, "And when is it sent?")
    assert advanced.configuration == ("LISTENING",)
    await ask(advanced, "I want to talk to a human")
    await taken_over(shop, advanced)
    path = (await last_handoff(shop, advanced)).packet["path"]
    assert [each["graph"] for each in path] == ["general_enquiries", "orders", "advanced_orders"]


async def test_a_customer_is_back_where_they_were_when_nobody_takes_them(url: str, clock: VirtualClock) -> None:
    async with Runtime.open(url, graphs=[general_enquiries, orders], services=Services(), clock=clock) as shop:
        greeter = await visitor(shop, "A human please")  # there is no desk
        await greeter.until("LISTENING")
        assert known(greeter).answer.startswith("I am sorry")
        await ask(greeter, "I want a human!")
        await greeter.until("LISTENING")
        assert await fired(greeter) == [("user_asked", "taken")] * 2  # who asks again is heard again
        asked = [each for each in await shop.handoffs(source=greeter.id) if each.id == each.request]
        assert [each.reason for each in asked] == ["user escalation"] * 2


async def test_an_order_that_nobody_knows_is_asked_for_again(shop: Runtime) -> None:
    agent = await at_orders(shop, "Where is order Z-1?")
    assert known(agent).answer == "I do not find that order; what number has it?"
    await ask(agent, "I mean order A-1043")
    await agent.until("LOOKING_UP")
    await agent.until("LISTENING")
    assert known(agent).answer == "Your order A-1043 is being packed"


@pytest.mark.parametrize("graph", automatic, ids=lambda graph: graph.name)
def test_every_chart_is_sound_and_says_what_its_states_are_for(graph) -> None:
    assert check(graph) == ()
    assert graph.description
    assert all(node.description for state in graph.tree for node in (state, *state.states))
    assert all(entry.opens_on and entry.description for entry in graph.entry_points.values())


@pytest.mark.parametrize("graph", automatic, ids=lambda graph: graph.name)
def test_a_chart_survives_being_written_and_read_again(graph) -> None:
    assert load(dump(graph), bind=bindings_of(graph)).fingerprint == graph.fingerprint
