from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from gatechart import Agent, Runtime
from gatechart.errors import EntryGuardError, PayloadError
from gatechart.results import RefusalReason
from gatechart.testing import VirtualClock
from statecharts.leave_approval.context import LeaveRequest, working_days

MONDAY = date(2026, 6, 1)
WEEK = {"employee": "Ada", "first_day": "2026-06-01", "last_day": "2026-06-05"}
AGAIN = {**WEEK, "resubmission_of": "leave-1", "change": "Another week"}


def request_of(days: int) -> LeaveRequest:
    """A request for this many working days."""
    weeks, rest = divmod(days - 1, 5)
    return LeaveRequest(employee="Ada", first_day=MONDAY, last_day=MONDAY + timedelta(weeks=weeks, days=rest))


async def at_manager(runtime: Runtime, days: int = 5) -> Agent:
    agent = await runtime.start("leave_approval", at="CHECKING_REQUEST", payload=request_of(days))
    await agent.send("REQUEST_CHECKED")
    await agent.send("BALANCE_LOOKED_UP", {"days_left": days})
    return agent


@pytest.mark.parametrize(
    ("trigger", "payload", "state"),
    [
        ("NEW_REQUEST_SUBMITTED", WEEK, "CHECKING_REQUEST"),
        ("REQUEST_RESUBMITTED", AGAIN, "AWAITING_MANAGER"),
        ("URGENT_REQUEST_SUBMITTED", {**WEEK, "reason": "A funeral"}, "AWAITING_SENIOR_APPROVER"),
    ],
)
async def test_each_kind_of_request_enters_where_it_belongs(
    runtime: Runtime, trigger: str, payload: Any, state: str
) -> None:
    agent = await runtime.start_on(trigger, payload)
    assert agent.configuration == (state,)
    assert agent.context.employee == "Ada"


@pytest.mark.parametrize("reason", ["", "   "])
async def test_an_urgent_request_without_a_reason_starts_nothing(runtime: Runtime, reason: str) -> None:
    with pytest.raises(EntryGuardError, match="has_urgent_reason said no"):
        await runtime.start_on("URGENT_REQUEST_SUBMITTED", {**WEEK, "reason": reason})
    assert (await runtime.find()).agents == ()


async def test_a_resubmission_that_changes_nothing_starts_nothing(runtime: Runtime) -> None:
    with pytest.raises(EntryGuardError, match="has_answered_rejection said no"):
        await runtime.start_on("REQUEST_RESUBMITTED", {**AGAIN, "change": " "})
    assert (await runtime.find()).agents == ()


@pytest.mark.parametrize(
    ("trigger", "payload", "problem"),
    [
        ("NEW_REQUEST_SUBMITTED", {"employee": "Ada"}, "first_day: Field required"),
        ("NEW_REQUEST_SUBMITTED", {**WEEK, "last_day": "2026-05-31"}, "last_day 2026-05-31 lies before first_day"),
        ("NEW_REQUEST_SUBMITTED", {**WEEK, "first_day": "soon"}, "first_day: Input should be a valid date"),
        ("NEW_REQUEST_SUBMITTED", AGAIN, "resubmission_of: Extra inputs are not permitted"),
        ("REQUEST_RESUBMITTED", WEEK, "resubmission_of: Field required"),
    ],
)
async def test_a_request_that_does_not_fit_starts_nothing(
    runtime: Runtime, trigger: str, payload: Any, problem: str
) -> None:
    with pytest.raises(PayloadError) as caught:
        await runtime.start_on(trigger, payload)
    assert problem in str(caught.value)
    assert (await runtime.find()).agents == ()


@pytest.mark.parametrize(("days", "state"), [(10, "BOOKING_LEAVE"), (11, "AWAITING_SENIOR_APPROVER")])
async def test_more_than_ten_working_days_need_the_senior_approver(in_memory: Runtime, days: int, state: str) -> None:
    agent = await at_manager(in_memory, days)
    await agent.send("MANAGER_APPROVED", {"by": "Charles"})
    assert agent.configuration == (state,)


@pytest.mark.parametrize(("days_left", "state"), [(5, "AWAITING_MANAGER"), (4, "REJECTED")])
async def test_the_balance_must_cover_the_request(in_memory: Runtime, days_left: int, state: str) -> None:
    agent = await in_memory.start("leave_approval", at="CHECKING_REQUEST", payload=request_of(5))
    await agent.send("REQUEST_CHECKED")
    await agent.send("BALANCE_LOOKED_UP", {"days_left": days_left})
    assert agent.configuration == (state,)
    assert agent.context.days_left == days_left


@pytest.mark.parametrize("days", [5, 30])
async def test_nobody_approves_their_own_leave(runtime: Runtime, days: int) -> None:
    agent = await at_manager(runtime, days)
    before = (agent.snapshot, tuple(await agent.history()))
    outcome = await agent.send("MANAGER_APPROVED", {"by": "Ada"})
    assert outcome.refusal is not None
    assert outcome.refusal.reason is RefusalReason.GUARDS_SAID_NO
    assert outcome.refusal.guards == ("is_long_leave_decided_by_another", "is_decided_by_another")
    assert before == (agent.snapshot, tuple(await agent.history()))


async def test_a_decision_without_a_name_is_refused_with_what_the_guards_raised(runtime: Runtime) -> None:
    agent = await at_manager(runtime, days=5)
    before = (agent.snapshot, tuple(await agent.history()))
    outcome = await agent.send("MANAGER_APPROVED", {"remark": "fine"})
    assert outcome.refusal is not None
    assert outcome.refusal.reason is RefusalReason.GUARD_RAISED
    assert "Field required" in outcome.guard_errors[0].raised
    assert before == (agent.snapshot, tuple(await agent.history()))


@pytest.mark.parametrize(
    "events",
    [
        (),
        (("REQUEST_CHECKED", {}),),
        (("REQUEST_CHECKED", {}), ("BALANCE_LOOKED_UP", {"days_left": 9})),
    ],
)
async def test_a_request_may_be_withdrawn_as_long_as_it_is_under_review(in_memory: Runtime, events: Any) -> None:
    agent = await in_memory.start("leave_approval", at="CHECKING_REQUEST", payload=request_of(5))
    for event, payload in events:
        await agent.send(event, payload)
    outcome = await agent.send("REQUEST_WITHDRAWN")
    assert outcome.taken == ("UNDER_REVIEW --REQUEST_WITHDRAWN--> WITHDRAWN",)


async def test_a_manager_who_stays_silent_for_five_days_is_passed_over(runtime: Runtime, clock: VirtualClock) -> None:
    agent = await at_manager(runtime)
    clock.advance(timedelta(days=5).total_seconds())
    await agent.until("AWAITING_SENIOR_APPROVER")
    assert agent.context.remarks == ["No answer from the manager"]
    outcome = await agent.send("REQUEST_WITHDRAWN")
    assert outcome.taken == ("UNDER_REVIEW --REQUEST_WITHDRAWN--> WITHDRAWN",)


async def test_the_days_of_a_manager_count_from_when_they_were_asked_last(
    in_memory: Runtime, clock: VirtualClock
) -> None:
    agent = await at_manager(in_memory, days=11)
    clock.advance(timedelta(days=4).total_seconds())
    await agent.send("MANAGER_APPROVED", {"by": "Charles"})
    await agent.send("SENIOR_ASKED_MANAGER")
    clock.advance(timedelta(days=4).total_seconds())
    await agent.send("MANAGER_APPROVED", {"by": "Charles"})
    assert agent.context.approved_by == ["Charles", "Charles"]


async def test_an_approved_request_can_no_longer_be_withdrawn(in_memory: Runtime) -> None:
    agent = await at_manager(in_memory)
    await agent.send("MANAGER_APPROVED", {"by": "Charles"})
    outcome = await agent.send("REQUEST_WITHDRAWN")
    assert not outcome.applied
    assert agent.configuration == ("BOOKING_LEAVE",)


async def test_the_senior_approver_may_ask_the_manager_first(in_memory: Runtime) -> None:
    agent = await in_memory.start_on("URGENT_REQUEST_SUBMITTED", {**WEEK, "reason": "A funeral"})
    await agent.send("SENIOR_ASKED_MANAGER", {"remark": "Who stands in for her?"})
    await agent.send("MANAGER_APPROVED", {"by": "Charles", "remark": "I do"})
    assert agent.configuration == ("BOOKING_LEAVE",)
    assert agent.context.remarks == ["Who stands in for her?", "I do"]


@pytest.mark.parametrize(
    ("first", "last", "days"),
    [("2026-06-01", "2026-06-01", 1), ("2026-06-05", "2026-06-08", 2), ("2026-06-06", "2026-06-07", 0)],
)
def test_weekends_cost_no_leave(first: str, last: str, days: int) -> None:
    assert working_days(date.fromisoformat(first), date.fromisoformat(last)) == days
