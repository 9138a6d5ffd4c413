"""The chart of a request for leave."""

from __future__ import annotations

from gatechart import EntryPoint, State, StateTransitionGraph, Transition
from gatechart.graph.definition import Then
from statecharts.leave_approval.actions import (
    has_answered_rejection,
    has_enough_days,
    has_urgent_reason,
    is_decided_by_another,
    is_long_leave_decided_by_another,
    note_approval,
    note_balance,
    note_booking,
    note_rejection,
    note_remark,
    note_silence,
    reject_for_balance,
)
from statecharts.leave_approval.context import LeaveContext, LeaveRequest, Resubmission

_STATES = (
    State(
        "UNDER_REVIEW",
        description="Nothing is decided; the employee may still withdraw.",
        states=(
            State("CHECKING_REQUEST", description="The personnel office reads the request."),
            State("CHECKING_BALANCE", description="The days left are looked up."),
            State(
                "AWAITING_MANAGER",
                after={"5d": Then("AWAITING_SENIOR_APPROVER", actions=note_silence)},
                description="The manager decides, within five days.",
            ),
            State("AWAITING_SENIOR_APPROVER", description="The senior approver decides."),
        ),
    ),
    State("BOOKING_LEAVE", description="Approved, but not yet written down."),
    State("APPROVED", final=True, description="The leave is booked."),
    State("REJECTED", final=True, description="The context tells why; the request may be submitted again."),
    State("WITHDRAWN", final=True, description="The employee does not want it any more."),
)

_TRANSITIONS = (
    Transition("CHECKING_REQUEST", "REQUEST_CHECKED", "CHECKING_BALANCE"),
    Transition("CHECKING_REQUEST", "REQUEST_FOUND_FAULTY", "REJECTED", actions=note_rejection),
    Transition(
        "CHECKING_BALANCE", "BALANCE_LOOKED_UP", "AWAITING_MANAGER", guard=has_enough_days, actions=note_balance
    ),
    Transition("CHECKING_BALANCE", "BALANCE_LOOKED_UP", "REJECTED", actions=(note_balance, reject_for_balance)),
    Transition(
        "AWAITING_MANAGER",
        "MANAGER_APPROVED",
        "AWAITING_SENIOR_APPROVER",
        guard=is_long_leave_decided_by_another,
        actions=note_approval,
    ),
    Transition(
        "AWAITING_MANAGER", "MANAGER_APPROVED", "BOOKING_LEAVE", guard=is_decided_by_another, actions=note_approval
    ),
    Transition("AWAITING_MANAGER", "MANAGER_REJECTED", "REJECTED", actions=note_rejection),
    Transition(
        "AWAITING_SENIOR_APPROVER",
        "SENIOR_APPROVED",
        "BOOKING_LEAVE",
        guard=is_decided_by_another,
        actions=note_approval,
    ),
    Transition("AWAITING_SENIOR_APPROVER", "SENIOR_REJECTED", "REJECTED", actions=note_rejection),
    Transition("AWAITING_SENIOR_APPROVER", "SENIOR_ASKED_MANAGER", "AWAITING_MANAGER", actions=note_remark),
    Transition("UNDER_REVIEW", "REQUEST_WITHDRAWN", "WITHDRAWN", actions=note_remark),
    Transition("BOOKING_LEAVE", "LEAVE_BOOKED", "APPROVED", actions=note_booking),
)

_ENTRY_POINTS = (
    EntryPoint(
        "CHECKING_REQUEST",
        opens_on="NEW_REQUEST_SUBMITTED",
        takes=LeaveRequest,
        description="A new request goes the whole way.",
    ),
    EntryPoint(
        "AWAITING_MANAGER",
        opens_on="REQUEST_RESUBMITTED",
        takes=Resubmission,
        guard=has_answered_rejection,
        description="Submitted again after a rejection: what was checked once is not checked again.",
    ),
    EntryPoint(
        "AWAITING_SENIOR_APPROVER",
        opens_on="URGENT_REQUEST_SUBMITTED",
        takes=LeaveRequest,
        guard=has_urgent_reason,
        description="An urgent request, with its reason, goes straight to the senior approver.",
    ),
)

leave_approval = StateTransitionGraph(
    "leave_approval",
    context=LeaveContext,
    states=_STATES,
    transitions=_TRANSITIONS,
    entry_points=_ENTRY_POINTS,
    description="A request for leave, from its submission to the booking.",
)
