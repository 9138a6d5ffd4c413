"""Guards and actions of a desk's transitions."""

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
"""The role of messages from people at the desk."""

ContentT = TypeVar("ContentT", bound=BaseModel)


def brings(kind: type[BaseModel], name: str) -> Guard[Any]:
    """Return a guard that checks the type of the event's payload. name: the guard's name in refusals."""

    def is_valid(_context: DeskContext, event: Event) -> bool:
        return _content(kind, event) is not None

    is_valid.__name__ = name
    return is_valid


def can_be_returned(context: DeskContext, event: Event) -> bool:
    """Whether the source still has the case and waits for a result."""
    return context.mode is Mode.DELEGATE and _content(Returned, event) is not None


def can_go_back(context: DeskContext, event: Event) -> bool:
    """Whether the source transferred the case, so that it can be returned."""
    return context.mode is Mode.TRANSFER and _content(GoingBack, event) is not None


def is_taken_back(context: DeskContext, event: Event) -> bool:
    """Whether the source of the transfer has accepted the case again."""
    return event.payload.get("mode") == Mode.TRANSFER and event.payload.get("agent") == context.asked_by


def can_be_split(_context: DeskContext, event: Event) -> bool:
    """Whether the payload is a valid sub-task: a target, and a valid deadline if it has one."""
    subtask = _content(SubtaskAsked, event)
    return subtask is not None and (subtask.deadline is None or seconds_of(subtask.deadline) is not None)


def others_are_open(context: DeskContext, event: Event) -> bool:
    """Whether sub-tasks other than the event's are open."""
    open_ones = [subtask for subtask in context.subtasks if subtask.status is SubtaskStatus.ASKED]
    return any(subtask.handoff != event.payload["handoff"] for subtask in open_ones)


def note_arrival(context: DeskContext, event: Event, turn: Turn) -> None:
    """Record the arrival and the priority of the entry point. A case that waits again keeps both."""
    for prefix in (STARTED, OFFERED):
        if event.name.startswith(prefix):
            context.priority = Priority(event.name.removeprefix(prefix).lower())
            context.arrived = turn.now


def escalate(context: DeskContext, _event: Event) -> None:
    """Make a case urgent whose time limit has passed."""
    context.overdue = True
    context.priority = Priority.URGENT


def assign(context: DeskContext, event: Event) -> None:
    """Record the operator who takes the case."""
    context.operator = _sure(Taken, event).operator


def release(context: DeskContext, _event: Event) -> None:
    """Record that no operator has the case."""
    context.operator = ""
    _give_up_subtasks(context)


def answer(context: DeskContext, event: Event, turn: Turn) -> None:
    """Add the answer to the conversation."""
    context.answer = _sure(Answered, event).text
    context.say(OPERATOR, context.answer, turn.now)


def split_off(context: DeskContext, event: Event, turn: Turn) -> None:
    """Delegate a part of the case to an automatic agent; the operator keeps the case."""
    subtask = _sure(SubtaskAsked, event)
    problem = subtask.task or context.current_problem
    packet = context.handed_on(
        subtask.reason,
        current_problem=problem,
        entities=context.entities | subtask.entities,
        internal_state=context.internal_state | subtask.entities,  # the desk trusts its operator
    )
    achieved = f"{context.operator} split off: {problem or subtask.to}"
    handoff = turn.handoff(
        subtask.to, at=subtask.at, packet=packet, mode=Mode.DELEGATE, deadline=subtask.deadline, achieved=achieved
    )
    context.subtasks.append(Subtask(handoff=handoff, graph=subtask.to, entry_point=subtask.at, task=subtask.task))


def note_result(context: DeskContext, event: Event) -> None:
    """Record the result of a sub-task."""
    _end_subtask(context, event.payload, SubtaskStatus.COMPLETED)


def note_failure(context: DeskContext, event: Event) -> None:
    """Record why a sub-task failed."""
    _end_subtask(context, event.payload, SubtaskStatus.FAILED)


def resolve(context: DeskContext, event: Event, turn: Turn) -> None:
    """Record the answer, and the operator's rating of the handoff."""
    resolved = _sure(Resolved, event)
    if resolved.answer and resolved.answer != context.answer:
        context.answer = resolved.answer
        context.say(OPERATOR, resolved.answer, turn.now)
    _conclude(context, resolved)


def give_back(context: DeskContext, event: Event) -> None:
    """Record the operator's rating of the handoff."""
    returned = _sure(Returned, event)
    _conclude(context, returned)


def hand_back(context: DeskContext, event: Event, turn: Turn) -> None:
    """Offer the case to the agent that transferred it, at one of its entry points."""
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
    """Record why the source of the transfer does not accept the case."""
    why = event.payload.get("details", "")
    context.note("return to agent", details=context.asked_by, outcome=f"{event.name}: {why}")


def resolved(context: DeskContext, _event: Event) -> Payload:
    """Return the result of a resolved case."""
    return _result(context, "resolved")


def returned(context: DeskContext, _event: Event) -> Payload:
    """Return the result of a returned case."""
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


def _conclude(context: DeskContext, conclusion: Resolved | Returned | GoingBack) -> None:
    context.rating, context.remark = conclusion.rating, conclusion.note
    context.needed, context.in_time = conclusion.was_needed, conclusion.in_time
    _give_up_subtasks(context)


def _give_up_subtasks(context: DeskContext) -> None:
    for index, subtask in enumerate(context.subtasks):
        if subtask.status is SubtaskStatus.ASKED:
            context.subtasks[index] = subtask.model_copy(update={"status": SubtaskStatus.WITHDRAWN})


def _end_subtask(context: DeskContext, payload: Payload, status: SubtaskStatus) -> None:
    for index, subtask in enumerate(context.subtasks):
        if subtask.handoff == payload["handoff"]:
            ended = {"status": status, "result": payload.get("result", {}), "details": payload.get("details", "")}
            context.subtasks[index] = subtask.model_copy(update=ended)


def _content(kind: type[ContentT], event: Event) -> ContentT | None:
    try:
        return kind.model_validate(event.payload)
    except ValidationError:
        return None


def _sure(kind: type[ContentT], event: Event) -> ContentT:
    """Return the payload that a guard has checked."""
    return kind.model_validate(event.payload)
