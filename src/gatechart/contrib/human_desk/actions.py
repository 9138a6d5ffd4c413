"""What a desk's transitions ask and do."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gatechart.contrib.human_desk.context import (
    Answered,
    DeskContext,
    GoingBack,
    Resolved,
    Returned,
    Subtask,
    SubtaskAsked,
    SubtaskStatus,
    Taken,
)
from gatechart.graph.definition import Guard
from gatechart.handoff.packet import Priority
from gatechart.turn.turn_context import Turn
from gatechart.values.agents import Event
from gatechart.values.delays import seconds_of
from gatechart.values.handoffs import Mode
from gatechart.values.names import OFFERED, STARTED, Payload

OPERATOR = "operator"
"""The role of what people at the desk say."""

ContentT = TypeVar("ContentT", bound=BaseModel)


def brings(kind: type[BaseModel], name: str) -> Guard[Any]:
    """Return a guard that asks whether the event's payload is of this kind. name: as refusals tell it."""

    def is_valid(_context: DeskContext, event: Event) -> bool:
        return _content(kind, event) is not None

    is_valid.__name__ = name
    return is_valid


def can_be_returned(context: DeskContext, event: Event) -> bool:
    """Whether an agent asked that still has the case, and waits."""
    return context.mode is Mode.DELEGATE and _content(Returned, event) is not None


def can_go_back(context: DeskContext, event: Event) -> bool:
    """Whether there is an agent that gave the case away."""
    return context.mode is Mode.TRANSFER and _content(GoingBack, event) is not None


def is_taken_back(context: DeskContext, event: Event) -> bool:
    """Whether the agent that gave the case away has it again."""
    return event.payload.get("mode") == Mode.TRANSFER and event.payload.get("agent") == context.asked_by


def can_be_split(_context: DeskContext, event: Event) -> bool:
    """Whether it is said what is to be done, where, and by when."""
    asked = _content(SubtaskAsked, event)
    return asked is not None and (asked.deadline is None or seconds_of(asked.deadline) is not None)


def others_are_open(context: DeskContext, event: Event) -> bool:
    """Whether other sub-tasks than that of the event are under way."""
    open_ones = [each for each in context.subtasks if each.status is SubtaskStatus.ASKED]
    return any(each.handoff != event.payload["handoff"] for each in open_ones)


def note_arrival(context: DeskContext, event: Event, turn: Turn) -> None:
    """Note when the case came, and how urgent its entry point makes it; a case that waits again keeps both."""
    for prefix in (STARTED, OFFERED):
        if event.name.startswith(prefix):
            context.priority = Priority(event.name.removeprefix(prefix).lower())
            context.arrived = turn.now


def escalate(context: DeskContext, _event: Event) -> None:
    """Put a case whose time is over before all others."""
    context.overdue = True
    context.priority = Priority.URGENT


def assign(context: DeskContext, event: Event) -> None:
    """Note who takes it."""
    context.operator = _sure(Taken, event).operator


def release(context: DeskContext, _event: Event) -> None:
    """Note that nobody has it any more."""
    context.operator = ""
    _give_up_subtasks(context)


def answer(context: DeskContext, event: Event, turn: Turn) -> None:
    """Add the answer to the conversation."""
    context.answer = _sure(Answered, event).text
    context.say(OPERATOR, context.answer, turn.now)


def split_off(context: DeskContext, event: Event, turn: Turn) -> None:
    """Delegate a part to an automatic agent; the operator keeps the case."""
    asked = _sure(SubtaskAsked, event)
    problem = asked.task or context.current_problem
    packet = context.handed_on(
        asked.reason,
        current_problem=problem,
        entities=context.entities | asked.entities,
        internal_state=context.internal_state | asked.entities,  # the operator speaks for the desk
    )
    achieved = f"{context.operator} split off: {problem or asked.to}"
    made = turn.handoff(
        asked.to, at=asked.at, packet=packet, mode=Mode.DELEGATE, deadline=asked.deadline, achieved=achieved
    )
    context.subtasks.append(Subtask(handoff=made, graph=asked.to, entry_point=asked.at, task=asked.task))


def note_result(context: DeskContext, event: Event) -> None:
    """Note the result of a sub-task."""
    _end_subtask(context, event.payload, SubtaskStatus.COMPLETED)


def note_failure(context: DeskContext, event: Event) -> None:
    """Note why a sub-task failed."""
    _end_subtask(context, event.payload, SubtaskStatus.FAILED)


def resolve(context: DeskContext, event: Event, turn: Turn) -> None:
    """Keep the answer, and what the operator thinks of the handoff."""
    resolved = _sure(Resolved, event)
    if resolved.answer and resolved.answer != context.answer:
        context.answer = resolved.answer
        context.say(OPERATOR, resolved.answer, turn.now)
    _conclude(context, resolved)


def give_back(context: DeskContext, event: Event) -> None:
    """Keep what the operator thinks of the handoff."""
    returned = _sure(Returned, event)
    _conclude(context, returned)


def hand_back(context: DeskContext, event: Event, turn: Turn) -> None:
    """Offer the case to the agent that gave it away, at one of its entry points."""
    back = _sure(GoingBack, event)
    _conclude(context, back)
    achieved = f"seen by {context.operator}: {context.remark or context.answer or 'not for a person'}"
    suggested = context.remark or context.suggested_action
    turn.handoff(
        context.asked_graph,
        at=back.at,
        agent=context.asked_by,
        packet=context.handed_on(suggested_action=suggested, **_reason(context)),
        achieved=achieved,
    )


def note_way_back_shut(context: DeskContext, event: Event) -> None:
    """Note why the agent that gave the case away does not take it."""
    why = event.payload.get("details", "")
    context.note("return to agent", details=context.asked_by, outcome=f"{event.name}: {why}")


def resolved(context: DeskContext, _event: Event) -> Payload:
    """Return the result of a case that is done."""
    return _result(context, "resolved")


def returned(context: DeskContext, _event: Event) -> Payload:
    """Return the result of a case that was given back."""
    return _result(context, "returned")


def _reason(context: DeskContext) -> dict[str, Any]:
    return {} if context.reason is None else {"reason": context.reason}


def _result(context: DeskContext, outcome: str) -> Payload:
    return {
        "outcome": outcome,
        "answer": context.answer,
        "rating": context.rating,
        "needed": context.needed,
        "in_time": context.in_time,
        "note": context.remark,
        "operator": context.operator,
    }


def _conclude(context: DeskContext, told: Resolved | Returned | GoingBack) -> None:
    context.rating, context.remark = told.rating, told.note
    context.needed, context.in_time = told.was_needed, told.in_time
    _give_up_subtasks(context)


def _give_up_subtasks(context: DeskContext) -> None:
    for index, each in enumerate(context.subtasks):
        if each.status is SubtaskStatus.ASKED:
            context.subtasks[index] = each.model_copy(update={"status": SubtaskStatus.WITHDRAWN})


def _end_subtask(context: DeskContext, told: Payload, status: SubtaskStatus) -> None:
    for index, each in enumerate(context.subtasks):
        if each.handoff == told["handoff"]:
            ended = {"status": status, "result": told.get("result", {}), "details": told.get("details", "")}
            context.subtasks[index] = each.model_copy(update=ended)


def _content(kind: type[ContentT], event: Event) -> ContentT | None:
    try:
        return kind.model_validate(event.payload)
    except ValidationError:
        return None


def _sure(kind: type[ContentT], event: Event) -> ContentT:
    """Return the payload that a guard has checked."""
    return kind.model_validate(event.payload)
