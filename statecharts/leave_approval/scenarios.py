"""What happens to requests: the stories that the demo tells and the tests check."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from statecharts.leave_approval.context import LeaveRequest, Resubmission
from statecharts.scenario import Awaited, Scenario

_GRAPH: Final = "leave_approval"

APPROVED_BY_MANAGER: Final = Scenario(
    name="approved by the manager",
    story="Ada asks for one week in July; the days are there, her manager agrees, it is booked.",
    graph=_GRAPH,
    on="NEW_REQUEST_SUBMITTED",
    payload=LeaveRequest(employee="Ada", first_day=date(2026, 7, 6), last_day=date(2026, 7, 10)),
    events=(
        ("REQUEST_CHECKED", {}),
        ("BALANCE_LOOKED_UP", {"days_left": 12}),
        ("MANAGER_APPROVED", {"by": "Charles", "remark": "Have a good time"}),
        ("LEAVE_BOOKED", {"booking": "L-31"}),
    ),
    ends_in="APPROVED",
    expects={"days_left": 12, "approved_by": ["Charles"], "booking": "L-31"},
)

LONG_LEAVE: Final = Scenario(
    name="long leave",
    story="Grace wants six weeks, so the senior approver must agree after her manager.",
    graph=_GRAPH,
    at="CHECKING_REQUEST",
    payload=LeaveRequest(employee="Grace", first_day=date(2026, 5, 4), last_day=date(2026, 6, 12)),
    events=(
        ("REQUEST_CHECKED", {}),
        ("BALANCE_LOOKED_UP", {"days_left": 30}),
        ("MANAGER_APPROVED", {"by": "Howard"}),
        ("SENIOR_APPROVED", {"by": "Hedy"}),
        ("LEAVE_BOOKED", {"booking": "L-32"}),
    ),
    ends_in="APPROVED",
    expects={"approved_by": ["Howard", "Hedy"]},
)

TOO_FEW_DAYS: Final = Scenario(
    name="too few days",
    story="Alan asks for two weeks but has three days left: rejected before anybody is bothered.",
    graph=_GRAPH,
    on="NEW_REQUEST_SUBMITTED",
    payload=LeaveRequest(employee="Alan", first_day=date(2026, 11, 2), last_day=date(2026, 11, 13)),
    events=(
        ("REQUEST_CHECKED", {}),
        ("BALANCE_LOOKED_UP", {"days_left": 3}),
    ),
    ends_in="REJECTED",
    expects={"rejected_because": "10 days asked, 3 left"},
)

RESUBMITTED: Final = Scenario(
    name="submitted again",
    story="Linus was rejected for the release week; he moves his leave and goes straight back to his manager.",
    graph=_GRAPH,
    on="REQUEST_RESUBMITTED",
    payload=Resubmission(
        employee="Linus",
        first_day=date(2026, 9, 21),
        last_day=date(2026, 9, 25),
        resubmission_of="leave-17",
        change="One week later, after the release",
    ),
    events=(
        ("MANAGER_APPROVED", {"by": "Andrew"}),
        ("LEAVE_BOOKED", {"booking": "L-33"}),
    ),
    ends_in="APPROVED",
    expects={"resubmission_of": "leave-17", "days_left": None, "approved_by": ["Andrew"]},
)

URGENT: Final = Scenario(
    name="urgent",
    story="Margaret must leave tomorrow and says why; the senior approver agrees at once.",
    graph=_GRAPH,
    on="URGENT_REQUEST_SUBMITTED",
    payload=LeaveRequest(
        employee="Margaret", first_day=date(2026, 3, 3), last_day=date(2026, 3, 4), reason="A child in hospital"
    ),
    events=(
        ("SENIOR_APPROVED", {"by": "Hedy", "remark": "All the best"}),
        ("LEAVE_BOOKED", {"booking": "L-34"}),
    ),
    ends_in="APPROVED",
    expects={"approved_by": ["Hedy"], "remarks": ["All the best"]},
)

REJECTED_AFTER_SILENCE: Final = Scenario(
    name="rejected after silence",
    story="Dennis's manager does not answer for five days; the senior approver does, with a no.",
    graph=_GRAPH,
    at="CHECKING_REQUEST",
    payload=LeaveRequest(employee="Dennis", first_day=date(2026, 12, 28), last_day=date(2026, 12, 31)),
    events=(
        ("REQUEST_CHECKED", {}),
        ("BALANCE_LOOKED_UP", {"days_left": 8}),
        Awaited("AWAITING_SENIOR_APPROVER", after=timedelta(days=5)),
        ("SENIOR_REJECTED", {"by": "Hedy", "because": "Somebody has to close the year"}),
    ),
    ends_in="REJECTED",
    expects={"rejected_because": "Hedy: Somebody has to close the year", "remarks": ["No answer from the manager"]},
)

WITHDRAWN: Final = Scenario(
    name="withdrawn",
    story="Barbara's plans change while her manager is still thinking.",
    graph=_GRAPH,
    at="CHECKING_REQUEST",
    payload=LeaveRequest(employee="Barbara", first_day=date(2026, 8, 3), last_day=date(2026, 8, 7)),
    events=(
        ("REQUEST_CHECKED", {}),
        ("BALANCE_LOOKED_UP", {"days_left": 20}),
        ("REQUEST_WITHDRAWN", {"remark": "The trip is cancelled"}),
    ),
    ends_in="WITHDRAWN",
    expects={"remarks": ["The trip is cancelled"], "booking": None},
)

scenarios: Final = (
    APPROVED_BY_MANAGER,
    LONG_LEAVE,
    TOO_FEW_DAYS,
    RESUBMITTED,
    URGENT,
    REJECTED_AFTER_SILENCE,
    WITHDRAWN,
)
