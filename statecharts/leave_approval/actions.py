"""The questions that the chart asks, and what it does on the way."""

from __future__ import annotations

from typing import Final

from gatechart import Event
from statecharts.leave_approval.context import Balance, Booking, Decision, LeaveContext, Rejection, Remark

LONGEST_FOR_MANAGER: Final = 10  # working days; longer leave needs the senior approver, too


def has_urgent_reason(context: LeaveContext, _event: Event) -> bool:
    """Whether it is said why the request cannot go the usual way."""
    return bool(context.reason.strip())


def has_answered_rejection(context: LeaveContext, _event: Event) -> bool:
    """Whether it is said what is different this time."""
    return bool(context.change.strip())


def has_enough_days(context: LeaveContext, event: Event) -> bool:
    """Whether the balance covers the request."""
    return Balance.model_validate(event.payload).days_left >= context.working_days


def is_decided_by_another(context: LeaveContext, event: Event) -> bool:
    """Whether somebody else decides: nobody approves their own leave."""
    return Decision.model_validate(event.payload).by != context.employee


def is_long_leave_decided_by_another(context: LeaveContext, event: Event) -> bool:
    """Whether the senior approver must agree, too, after somebody else than the employee has."""
    return context.working_days > LONGEST_FOR_MANAGER and is_decided_by_another(context, event)


def note_balance(context: LeaveContext, event: Event) -> None:
    """Keep the number of days left."""
    context.days_left = Balance.model_validate(event.payload).days_left


def reject_for_balance(context: LeaveContext, _event: Event) -> None:
    """Says what is missing."""
    context.rejected_because = f"{context.working_days} days asked, {context.days_left} left"


def note_approval(context: LeaveContext, event: Event) -> None:
    """Keep who approved, and their comment."""
    decision = Decision.model_validate(event.payload)
    context.approved_by.append(decision.by)
    if decision.remark:
        context.remarks.append(decision.remark)


def note_rejection(context: LeaveContext, event: Event) -> None:
    """Keep who rejected, and why."""
    rejection = Rejection.model_validate(event.payload)
    context.rejected_because = f"{rejection.by}: {rejection.because}"


def note_remark(context: LeaveContext, event: Event) -> None:
    """Keep the event's note, or its name if it has none."""
    context.remarks.append(Remark.model_validate(event.payload).remark or event.name)


def note_silence(context: LeaveContext, _event: Event) -> None:
    """Says why the senior approver decides alone."""
    context.remarks.append("No answer from the manager")


def note_booking(context: LeaveContext, event: Event) -> None:
    """Keep the reference under which the leave is recorded."""
    context.booking = Booking.model_validate(event.payload).booking
