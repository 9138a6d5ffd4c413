"""What a customer's case knows, and what may be brought to it: at its entry points, and with events."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from gatechart import AgentContext


class Failure(BaseModel):
    """Why the case failed: the event that ended it, and all that came with it."""

    event: str
    details: dict[str, Any] = {}


class SupportContext(AgentContext):
    """One customer's case."""

    case_id: str | None = None
    customer_name: str = ""
    notes: list[str] = Field(default_factory=list)  # what colleagues wrote, oldest first
    query: str = ""  # what the customer asks for, in their last words
    inputs_rejected: int = 0
    solution: str | None = None
    solutions_rejected: list[str] = Field(default_factory=list)
    times_provided: int = 0
    escalation_reason: str | None = None
    ticket: str | None = None
    rating: int | None = None
    comment: str = ""
    failure: Failure | None = None


class Brought(BaseModel):
    """The base of all payloads: unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# Brought to an entry point.


class Chat(Brought):
    """Who opened the chat, where that is known."""

    customer_name: str = ""


class CaseFile(Brought):
    """A case that a colleague hands over."""

    case_id: str = Field(min_length=1)
    customer_name: str = Field(min_length=1)
    query: str = ""
    notes: tuple[str, ...] = ()


class FollowUp(Brought):
    """A closed case that is asked about again."""

    case_id: str = Field(min_length=1)
    customer_name: str = Field(min_length=1)
    solution: str | None = None


class Complaint(Brought):
    """An issue that needs a person at once."""

    customer_name: str = Field(min_length=1)
    reason: str = Field(min_length=1)


# Brought by an event.


class CustomerInput(Brought):
    """What the customer wrote."""

    text: str


class Finding(Brought):
    """What the knowledge base holds for the query."""

    solution: str = Field(min_length=1)


class Review(Brought):
    """What a reading of the history came to."""

    note: str = ""


class Reason(Brought):
    """Why something did not work out."""

    reason: str = ""


class Ticket(Brought):
    """Where the issue is treated from now on."""

    ticket: str = Field(min_length=1)


class Feedback(Brought):
    """How the customer liked it: 1 is worst, 5 is best."""

    rating: int = Field(ge=1, le=5)
    comment: str = ""
