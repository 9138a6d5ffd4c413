"""People at a desk: cases come by handoffs, wait, are taken, split, resolved, and returned to who asked."""

from datetime import timedelta

import pytest

from gatechart import Handoff, Runtime, Status
from gatechart.checks import check
from gatechart.contrib.human_desk import ENTRY_POINTS, RANKS, SubtaskStatus, desk, human_desk
from gatechart.handoff import Priority
from gatechart.selection import Profile
from gatechart.testing import VirtualClock
from gatechart.values.handoffs import HandoffStatus, Mode, Reason
from tests.contrib.human_desk.support import (
    NOON,
    accepted,
    answered,
    asking,
    office,
    orders,
    record,
    refunds,
    refused,
    taken,
)
from tests.runtime.support import at_rest, eventually, soon

pytestmark = [pytest.mark.sqlite_is_enough, pytest.mark.one_variant_is_enough]


@pytest.fixture
def clock():
    return VirtualClock(NOON)


@pytest.fixture
async def runtime(place, clock):
    async with Runtime.open(place, graphs=office, clock=clock) as runtime:
        yield runtime


def test_the_shipped_desk_has_no_finding():
    assert not check(human_desk)


def test_there_is_an_entry_point_for_each_priority_the_most_urgent_first():
    assert tuple(human_desk.entry_points) == ("URGENT", "HIGH", "NORMAL", "LOW")
    assert tuple(ENTRY_POINTS) == tuple(RANKS)
    assert set(RANKS) == set(Priority)
    assert {entry.state for entry in human_desk.entry_points.values()} == {"WAITING"}


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("priority", Priority)
async def test_a_case_waits_with_the_priority_of_its_entry_point(priority, runtime):
    case = await runtime.start("human_desk", at=ENTRY_POINTS[priority])
    assert case.configuration == ("WAITING",)
    assert (case.context.priority, case.context.arrived) == (priority, NOON)


async def test_a_case_knows_who_asks_and_why_and_the_whole_conversation(runtime):
    source, (handoff, case) = await asking(runtime, "GIVE")
    context = case.context
    assert (context.asked_by, context.asked_graph, context.asked_state) == (source.id, "orders", "CHECKING")
    assert (context.reason, context.mode, context.handoff) == (Reason.USER_ESCALATION, Mode.TRANSFER, handoff.id)
    assert context.messages == source.context.messages
    assert context.current_problem == "a refund that failed"
    assert context.tried("refund")
    assert context.entities == {"order": "4711"}
    assert [step.graph for step in context.path] == ["orders"]


async def test_fields_of_the_agent_that_asks_are_not_taken_for_those_of_the_desk(runtime):
    agent = await runtime.start("orders", at="TALKING")
    handoff_id = await runtime.handoff(agent.id, Handoff("human_desk", at="HIGH", packet=with_operator(agent.context)))
    _, case = await accepted(runtime, handoff_id=handoff_id)
    assert case.context.operator == ""
    assert case.context.internal_state["operator"] == "a robot"


def with_operator(context):
    return context.packet(internal_state={"operator": "a robot", "rating": 5})


@pytest.mark.needs("takes_a_clock")
async def test_an_operator_takes_a_case_and_nobody_else_can_until_it_is_released(runtime):
    case = await taken(await runtime.start("human_desk", at="HIGH"))
    assert (case.configuration, case.context.operator) == (("ASSIGNED",), "ana")
    await refused(case, "TAKE", {"operator": "ben"})
    await case.send("RELEASE")
    assert (case.configuration, case.context.operator) == (("WAITING",), "")
    assert (case.context.priority, case.context.arrived) == (Priority.HIGH, NOON)
    assert (await case.send("TAKE", {"operator": "ben"})).applied


@pytest.mark.parametrize("payload", [None, {"operator": ""}, {"operator": "  "}, {"operator": 7}])
async def test_a_case_is_not_taken_by_nobody(payload, runtime):
    case = await runtime.start("human_desk", at="HIGH")
    assert (await refused(case, "TAKE", payload)).guards == ("an_operator_is_named",)


@pytest.mark.parametrize("event", ["ANSWER", "WORK", "SUBTASK", "RESOLVE", "RETURN", "RETURN_TO_AGENT", "RELEASE"])
async def test_a_case_that_nobody_has_can_only_be_taken(event, runtime):
    case = await runtime.start("human_desk", at="HIGH")
    assert "TAKE" in (await refused(case, event, {"text": "hello", "at": "X", "to": "X"})).accepts


@pytest.mark.needs("takes_a_clock")
async def test_answers_go_into_the_conversation_and_the_work_has_begun(runtime):
    case = await taken(await runtime.start("human_desk", at="HIGH"))
    await case.send("ANSWER", {"text": "Which order?"})
    assert case.configuration == ("WORKING",)
    await case.send("ANSWER", {"text": "I see."})
    assert [(each.role, each.content, each.time) for each in case.context.messages] == [
        ("operator", "Which order?", NOON),
        ("operator", "I see.", NOON),
    ]
    assert (await refused(case, "ANSWER", {"text": ""})).guards == ("there_is_a_text",)


async def test_work_can_begin_without_an_answer(runtime):
    case = await taken(await runtime.start("human_desk", at="HIGH"))
    await case.send("WORK")
    assert case.configuration == ("WORKING",)


async def test_the_result_of_a_delegation_reaches_the_agent_that_waits_and_is_kept_with_the_rating(runtime):
    source, (handoff, case) = await asking(runtime, "HELP")
    await (await taken(case)).send("RESOLVE", {"answer": "Paid by hand.", "rating": 4, "note": "well told"})
    await soon(eventually_done(source))
    assert source.context.told == "Paid by hand."
    assert case.status is Status.DONE
    kept = await record(runtime, handoff)
    assert kept.status is HandoffStatus.COMPLETED
    assert kept.result == {
        "outcome": "resolved",
        "answer": "Paid by hand.",
        "rating": 4,
        "needed": True,
        "in_time": None,
        "note": "well told",
        "operator": "ana",
    }


async def eventually_done(agent):
    await eventually(lambda: agent.status is Status.DONE)


async def test_the_result_of_a_transfer_is_kept_with_it(runtime):
    _, (handoff, case) = await asking(runtime, "GIVE")
    await (await taken(case)).send("ANSWER", {"text": "Paid."})
    await case.send("RESOLVE", {"rating": 2})
    kept = await record(runtime, handoff)
    assert (kept.status, kept.mode) == (HandoffStatus.COMPLETED, Mode.TRANSFER)
    assert (kept.result["outcome"], kept.result["answer"], kept.result["rating"]) == ("resolved", "Paid.", 2)


@pytest.mark.parametrize(
    ("told", "needed"),
    [
        ({"rating": 2}, False),
        ({"rating": 3}, None),
        ({"rating": 5}, True),
        ({"rating": 1, "needed": True}, True),
        ({"needed": False}, False),
        ({}, None),
    ],
)
async def test_whether_a_case_belonged_at_the_desk_is_said_or_follows_from_the_rating(told, needed, runtime):
    _, (handoff, case) = await asking(runtime, "HELP")
    await (await taken(case)).send("RESOLVE", {"answer": "Paid.", "in_time": True, **told})
    kept = await record(runtime, handoff)
    assert (kept.result["needed"], kept.result["in_time"]) == (needed, True)


@pytest.mark.parametrize("rating", [0, 6, 2.5, "5", True])
async def test_a_rating_is_a_number_from_1_to_5(rating, runtime):
    case = await taken(await runtime.start("human_desk", at="HIGH"))
    assert (await refused(case, "RESOLVE", {"rating": rating})).guards == ("a_rating_is_from_1_to_5",)


async def test_an_answer_that_was_given_is_not_said_twice(runtime):
    case = await taken(await runtime.start("human_desk", at="HIGH"))
    await case.send("ANSWER", {"text": "Paid."})
    await case.send("RESOLVE", {"answer": "Paid."})
    assert [each.content for each in case.context.messages] == ["Paid."]


async def test_a_returned_delegation_leads_the_agent_that_asked_back_to_where_it_was(runtime):
    source, (handoff, case) = await asking(runtime, "HELP")
    assert source.configuration == ("ASKING",)
    await (await taken(case)).send("RETURN", {"note": "ask for the order first", "rating": 1})
    assert case.configuration == ("RETURNED",)
    await soon(source.until("CHECKING"))
    assert source.context.told == "ask for the order first"
    assert (await record(runtime, handoff)).result["outcome"] == "returned"


async def test_a_returned_transfer_is_taken_back_by_the_agent_that_gave_it_away_where_it_was(runtime):
    source, (handoff, case) = await asking(runtime, "GIVE")
    await soon(source.until("AWAY"))
    await (await taken(case)).send("ANSWER", {"text": "We are looking."})
    await case.send("RETURN_TO_AGENT", {"at": "TAKING_BACK", "note": "ask the bank", "rating": 3})
    await soon(source.until("CHECKING"))
    await soon(eventually_done(case))
    assert case.configuration == ("RETURNED",)
    assert source.context.suggested_action == "ask the bank"
    assert [each.role for each in source.context.messages] == ["agent", "operator"]
    kept = await record(runtime, handoff)
    assert kept.status is HandoffStatus.COMPLETED
    assert (kept.result["outcome"], kept.result["rating"]) == ("returned", 3)


async def test_the_agent_that_took_its_work_back_owns_it_alone(runtime):
    source, (_, case) = await asking(runtime, "GIVE")
    await soon(source.until("AWAY"))
    await (await taken(case)).send("RETURN_TO_AGENT", {"at": "TAKING_BACK"})
    await soon(eventually_done(case))
    (back,) = await runtime.handoffs(target=source.id)
    assert back.status is HandoffStatus.ACCEPTED
    assert [each.id for each in source.snapshot.handoffs] == [back.id]
    assert case.snapshot.handoffs == ()


async def test_a_case_stays_at_the_desk_where_nobody_takes_it_back(runtime):
    source, (handoff, case) = await asking(runtime, "LEAVE")
    await soon(eventually_done(source))
    await (await taken(case)).send("RETURN_TO_AGENT", {"at": "TAKING_BACK"})
    await soon(case.until("WORKING"))
    assert "done" in case.context.reasoning[-1].outcome
    assert (await record(runtime, handoff)).status is HandoffStatus.ACCEPTED
    assert (await case.send("RESOLVE")).applied


async def test_an_operator_can_keep_a_case_that_is_offered_back(runtime):
    source, (_, case) = await asking(runtime, "GIVE")
    await soon(source.until("AWAY"))
    await runtime.stop(source.id)
    await (await taken(case)).send("RETURN_TO_AGENT", {"at": "TAKING_BACK"})
    await case.send("KEEP")
    assert case.configuration == ("WORKING",)


async def case_offered_back(runtime):
    """A case that is offered to the agent that gave it away, which has accepted before the desk hears of that."""
    source, (handoff, case) = await asking(runtime, "GIVE")
    await soon(source.until("AWAY"))
    await (await taken(case)).send("RETURN_TO_AGENT", {"at": "TAKING_BACK", "rating": 2})
    return source, handoff, case


@pytest.mark.not_on_restate(
    "sends of one process to an agent wait there for one another, and what others post goes before"
)
@pytest.mark.parametrize("wanted", [("KEEP",), ("KEEP", "RELEASE")])
async def test_a_case_that_is_kept_too_late_ends_as_returned(wanted, runtime):
    source, handoff, case = await case_offered_back(runtime)
    kept, *others = [await case.send(event) for event in wanted]
    assert kept.applied
    assert all(
        each.applied or each.status is Status.DONE for each in others
    )  # a database may hear first that it is late
    await soon(eventually_done(case))
    assert (case.configuration, source.configuration) == (("RETURNED",), ("CHECKING",))
    kept = await record(runtime, handoff)
    assert (kept.status, kept.result["outcome"], kept.result["rating"]) == (HandoffStatus.COMPLETED, "returned", 2)


async def test_a_case_for_which_no_agent_waits_is_not_returned(runtime):
    case = await taken(await runtime.start("human_desk", at="HIGH"))
    assert (await refused(case, "RETURN", {})).guards == ("can_be_returned",)


async def test_work_that_was_given_away_is_not_dropped_by_returning_it_to_nobody(runtime):
    _, (_, case) = await asking(runtime, "GIVE")
    assert (await refused(await taken(case), "RETURN", {})).guards == ("can_be_returned",)


async def test_work_that_the_agent_that_asked_has_is_not_handed_to_it(runtime):
    _, (_, case) = await asking(runtime, "HELP")
    assert (await refused(await taken(case), "RETURN_TO_AGENT", {"at": "TAKING_BACK"})).guards == ("can_go_back",)


async def test_an_agent_that_asks_no_more_takes_its_case_from_the_desk(runtime):
    source, (handoff, case) = await asking(runtime, "HELP")
    await taken(case)
    await source.send("GIVEN_UP")
    await eventually(lambda: case.status is Status.STOPPED)
    assert (await record(runtime, handoff)).status is HandoffStatus.CANCELLED


async def split(case, task="pay 4711", **more):
    assert (await case.send("SUBTASK", {"to": "refunds", "at": "REVIEWING", "task": task, **more})).applied


async def test_an_automatic_agent_does_a_part_while_the_operator_keeps_the_case(runtime):
    _, (handoff, case) = await asking(runtime, "HELP")
    await split(await taken(case))
    assert case.configuration == ("SUBTASK",)
    part, helper = await accepted(runtime, source=case.id)
    assert (part.mode, part.packet["current_problem"]) == (Mode.DELEGATE, "pay 4711")
    assert (await record(runtime, handoff)).status is HandoffStatus.ACCEPTED
    await helper.send("PAY")
    await soon(case.until("WORKING"))
    (subtask,) = case.context.subtasks
    assert (subtask.status, subtask.result) == (SubtaskStatus.COMPLETED, {"paid": "4711"})
    assert (subtask.graph, subtask.entry_point, subtask.handoff) == ("refunds", "REVIEWING", part.id)


async def test_what_the_operator_says_of_a_part_goes_before_what_the_agent_said(runtime):
    _, (_, case) = await asking(runtime, "HELP")
    assert case.context.internal_state["order"] == "4711"
    await split(await taken(case), entities={"order": "4712"})
    part, helper = await accepted(runtime, source=case.id)
    assert (helper.context.order, part.changes[-1].details) == ("4712", "")
    assert case.context.internal_state["order"] == "4711"


async def test_a_part_that_nobody_takes_is_noted_and_the_case_goes_on(runtime):
    case = await taken(await runtime.start("human_desk", at="HIGH"))
    await case.send("SUBTASK", {"to": "nowhere", "at": "X"})
    await soon(case.until("WORKING"))
    (subtask,) = case.context.subtasks
    assert subtask.status is SubtaskStatus.FAILED
    assert "nowhere" in subtask.details


async def test_the_desk_waits_for_all_parts(runtime):
    case = await taken(await runtime.start("human_desk", at="HIGH"))
    await split(case, "first", entities={"order": "1"})
    _, first = await accepted(runtime, source=case.id)
    await split(case, "second", entities={"order": "2"})
    await first.send("PAY")
    await eventually(lambda: case.context.subtasks[0].status is SubtaskStatus.COMPLETED)
    assert case.configuration == ("SUBTASK",)
    _, second = await accepted(runtime, source=case.id)
    await second.send("PAY")
    await soon(case.until("WORKING"))
    assert [each.result for each in case.context.subtasks] == [{"paid": "1"}, {"paid": "2"}]


async def test_a_case_that_is_resolved_withdraws_its_parts(runtime):
    case = await taken(await runtime.start("human_desk", at="HIGH"))
    await split(case)
    part, helper = await accepted(runtime, source=case.id)
    await case.send("RESOLVE", {"answer": "done by hand"})
    await eventually(lambda: helper.status is Status.STOPPED)
    assert case.context.subtasks[0].status is SubtaskStatus.WITHDRAWN
    assert (await record(runtime, part)).status is HandoffStatus.CANCELLED


@pytest.mark.needs("takes_a_clock")
async def test_a_part_that_takes_too_long_is_noted(runtime, clock):
    case = await taken(await runtime.start("human_desk", at="HIGH"))
    await split(case, deadline="10m")
    await accepted(runtime, source=case.id)
    await at_rest(runtime, clock)
    clock.advance(601)
    await soon(case.until("WORKING"))
    assert case.context.subtasks[0].status is SubtaskStatus.FAILED


@pytest.mark.parametrize("payload", [{}, {"to": "refunds"}, {"to": "refunds", "at": "REVIEWING", "deadline": "soon"}])
async def test_a_part_must_say_where_and_by_when(payload, runtime):
    case = await taken(await runtime.start("human_desk", at="HIGH"))
    assert "can_be_split" in (await refused(case, "SUBTASK", payload)).guards


async def test_a_part_may_go_to_the_kind_of_agent_that_asked(runtime):
    _, (_, case) = await asking(runtime, "HELP")
    await (await taken(case)).send("SUBTASK", {"to": "orders", "at": "TALKING", "task": "look it up"})
    _, helper = await accepted(runtime, source=case.id)
    assert helper.snapshot.graph == "orders"


@pytest.mark.needs("takes_a_clock")
async def test_a_case_whose_time_is_over_becomes_overdue_and_urgent_wherever_it_is(runtime, clock):
    waiting = await runtime.start("human_desk", at="LOW")
    worked_on = await taken(await runtime.start("human_desk", at="NORMAL"))
    await at_rest(runtime, clock)
    clock.advance(timedelta(hours=4).total_seconds())
    await eventually(lambda: waiting.context.overdue and worked_on.context.overdue)
    assert waiting.context.priority is worked_on.context.priority is Priority.URGENT
    assert (waiting.configuration, worked_on.configuration) == (("WAITING",), ("ASSIGNED",))
    assert worked_on.context.operator == "ana"


async def test_a_case_that_is_over_is_never_overdue(runtime, clock):
    case = await taken(await runtime.start("human_desk", at="LOW"))
    await case.send("RESOLVE")
    assert await runtime.mail(case.id) == []
    assert not case.context.overdue


@pytest.mark.needs("takes_a_clock")
async def test_a_desk_has_a_name_a_time_limit_and_a_capacity_of_its_own(place, clock):
    small = desk("night_desk", time_limit="10m", capacity=1)
    async with Runtime.open(place, graphs=[orders, refunds, small], clock=clock) as runtime:
        first, second = [await runtime.start("orders", at="TALKING", agent_id=name) for name in ("a", "b")]
        one = await runtime.handoff(first.id, Handoff("night_desk", at="URGENT", mode="delegate"))
        _, case = await accepted(runtime, handoff_id=one)
        two = await runtime.handoff(second.id, Handoff("night_desk", at="URGENT", mode="delegate"))
        full = await answered(runtime, handoff_id=two)
        assert "no capacity" in full.changes[-1].details
        await (await taken(case)).send("RESOLVE")
        three = await runtime.handoff(second.id, Handoff("night_desk", at="LOW", mode="delegate"))
        _, case = await accepted(runtime, handoff_id=three)
        await at_rest(runtime, clock)
        clock.advance(600)
        await eventually(lambda: case.context.overdue)


async def test_a_desk_without_a_time_limit_sets_no_timer(place):
    patient = desk("patient_desk", time_limit=None)
    async with Runtime.open(place, graphs=[patient]) as runtime:
        case = await runtime.start("patient_desk", at="LOW")
        assert await runtime.mail(case.id) == []


@pytest.mark.needs("takes_a_clock")
async def test_a_case_outlives_the_process_with_its_operator_and_its_time_limit(place, clock):
    async with Runtime.open(place, graphs=office, clock=clock) as runtime:
        _, (handoff, case) = await asking(runtime, "HELP")
        await taken(case)
    clock.advance(timedelta(hours=5).total_seconds())
    async with Runtime.open(place, graphs=office, clock=clock) as runtime:
        again = await runtime.resume(handoff.target)
        await eventually(lambda: again.context.overdue)
        assert again.context.operator == "ana"
        await again.send("RETURN")
        source = await runtime.resume("o-1")
        await soon(source.until("CHECKING"))


async def test_selections_find_a_desk_where_it_has_a_profile(place):
    night = desk("night_desk", profiles={Priority.NORMAL: Profile(domains=("refunds",))})
    async with Runtime.open(place, graphs=[night]) as runtime:
        assert [entry.id for entry in await runtime.directory()] == ["night_desk.NORMAL"]


def test_a_profile_for_a_priority_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="'NORMAL' is no priority; there are 'low', 'normal', 'high', 'urgent'"):
        desk(profiles={"NORMAL": Profile(domains=("refunds",))})
