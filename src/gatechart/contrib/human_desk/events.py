"""What an operator's events bring, checked by guards: an event that brings something else is refused."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, JsonValue, StringConstraints

from gatechart.values import Reason

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Rating = Annotated[int, Field(ge=1, le=5, strict=True)]


class Taken(BaseModel):
    """With TAKE: an operator takes the case."""

    operator: Text


class Answered(BaseModel):
    """With ANSWER: the operator says something in the conversation."""

    text: Text


class SubtaskAsked(BaseModel):
    """With SUBTASK: an automatic agent is to do a part of it."""

    to: Text  # the name of a graph
    at: Text  # its entry point
    task: str = ""  # what is to be done, the current problem of the packet
    entities: dict[str, JsonValue] = Field(default_factory=dict)  # besides those of the case
    deadline: str | float | None = None  # a delay, for the result
    reason: Reason = Reason.OTHER


class _Concluded(BaseModel):
    rating: Rating | None = None  # of the handoff
    note: str = ""  # for the agent that asked


class Resolved(_Concluded):
    """With RESOLVE: the case is done."""

    answer: str = ""  # the last answer given where left out


class Returned(_Concluded):
    """With RETURN: the agent that asked, and still has the case, goes on without an answer."""


class GoingBack(_Concluded):
    """With RETURN_TO_AGENT: the agent that gave the case away has it again."""

    at: Text  # one of the entry points of its graph
