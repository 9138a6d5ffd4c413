"""What a request for leave knows, and what may be brought to it: at its entry points, and with events."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gatechart import AgentContext


def working_days(first_day: date, last_day: date) -> int:
    """How many days from Monday to Friday lie from the first to the last day, both included.

    >>> working_days(date(2026, 7, 3), date(2026, 7, 6))  # Friday to Monday
    2
    """
    days = (first_day + timedelta(n) for n in range((last_day - first_day).days + 1))
    return sum(day.weekday() < 5 for day in days)


class LeaveContext(AgentContext):
    """One person's request for leave, on its way through the hands that decide on it."""

    employee: str
    first_day: date
    last_day: date
    reason: str = ""
    resubmission_of: str | None = None  # the id of the request that was rejected
    change: str = ""  # what the resubmission does differently
    days_left: int | None = None  # of this year's leave, before this request
    approved_by: list[str] = Field(default_factory=list)
    remarks: list[str] = Field(default_factory=list)
    rejected_because: str | None = None
    booking: str | None = None

    @property
    def working_days(self) -> int:
        """How many days of leave the request costs."""
        return working_days(self.first_day, self.last_day)


class Brought(BaseModel):
    """The base of all payloads: unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# Brought to an entry point.


class LeaveRequest(Brought):
    """Who wants to be away, and from when to when."""

    employee: str = Field(min_length=1)
    first_day: date
    last_day: date
    reason: str = ""

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Self:
        if self.last_day < self.first_day:
            raise ValueError(f"last_day {self.last_day} lies before first_day {self.first_day}")
        return self


class Resubmission(LeaveRequest):
    """A request that answers a rejection."""

    resubmission_of: str = Field(min_length=1)
    change: str = ""


# Brought by an event.


class Decision(Brought):
    """Who decided, and what they have to say."""

    by: str = Field(min_length=1)
    remark: str = ""


class Rejection(Brought):
    """Who said no, and why: nobody is left to guess."""

    by: str = Field(min_length=1)
    because: str = Field(min_length=1)


class Balance(Brought):
    """How many days of leave are left this year."""

    days_left: int


class Booking(Brought):
    """Where the leave is written down."""

    booking: str = Field(min_length=1)


class Remark(Brought):
    """A word on what happened."""

    remark: str = ""
