"""What a ticket says: what is wrong, whose phone it is, where they are, and what they permit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from pydantic import BaseModel, ConfigDict, Field


class Ticket(BaseModel):
    """With the entry point: the ticket as the user's words were written down.

    presumes_consent: whether data may be refueled for a user whose ticket says nothing about it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ticket: str = Field(min_length=1)
    presumes_consent: bool = True


class Topic(StrEnum):
    """The category of a problem, which decides the path that is followed."""

    SERVICE = "no service"
    DATA = "mobile data"
    MMS = "picture messages"


class Request(BaseModel):
    """What a ticket says. None: it says nothing about it."""

    model_config = ConfigDict(frozen=True)

    topic: Topic | None = None
    phone_number: str = ""  # as the company writes it, "555-123-2002"
    customer_id: str = ""
    full_name: str = ""
    date_of_birth: str = ""
    is_traveling: bool = False
    may_pay: bool | None = None
    may_refuel: bool | None = None
    refuel_gb: float | None = None


_TOPICS: Final = (  # of several, the first: a message needs data, and data needs service
    (Topic.MMS, re.compile(r"\bMMS\b|\b(picture|group|multimedia) messag", re.IGNORECASE)),
    (Topic.DATA, re.compile(r"\b(mobile|cellular) data\b|\binternet\b|\bspeed\b|\bbrows", re.IGNORECASE)),
    (Topic.SERVICE, re.compile(r"\bno service\b|\bsignal\b|\bcalls?\b|\bphone service\b", re.IGNORECASE)),
)
_GOAL: Final = re.compile(r"\b(resolved|satisfied|fixed) (when|once|if)\b", re.IGNORECASE)
_PHONE: Final = re.compile(r"[+(]?\d[\d ().-]{5,}\d")
_NAME: Final = re.compile(r"\bname:?\s*([^,.;:]+)", re.IGNORECASE)
_DATE: Final = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_CUSTOMER: Final = re.compile(r"\bC\d{4,}\b")
_AWAY: Final = re.compile(
    r"\b(abroad|overseas|travell?ing|outside (the|their))\b|\blocation:?\s+(?!.*\b(home|unknown)\b)\S", re.IGNORECASE
)
_PAYING: Final = re.compile(r"\bpay(s|ing|ments?)?\b", re.IGNORECASE)
_REFUELING: Final = re.compile(r"\brefuel|\btop(ping)?[ -]?up\b|\badd(ing)? [\d.]+ ?GB\b", re.IGNORECASE)
_AMOUNT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*GB\b", re.IGNORECASE)
_NOT: Final = re.compile(r"\b(not|never|no|without|refus\w*|declin\w*|unwilling)\b|n't\b", re.IGNORECASE)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")
_CLAUSE: Final = re.compile(r"(?<=[.!?])\s+|;\s*|,?\s+(?:but|however|although)\s+|,\s+", re.IGNORECASE)


def read(text: str) -> Request:
    """Read a ticket. Never raises: what it does not say is missing from the request.

    >>> request = read("No internet at 555-123-2002. They will not pay, but they will refuel 1.5 GB.")
    >>> request.topic, request.phone_number, request.may_pay, request.may_refuel, request.refuel_gb
    (<Topic.DATA: 'mobile data'>, '555-123-2002', False, True, 1.5)
    """
    dates, name, customer = _DATE.findall(text), _NAME.search(text), _CUSTOMER.search(text)
    return Request(
        topic=_topic(text),
        phone_number=_phone_number(_DATE.sub("", text)),
        customer_id=customer.group() if customer else "",
        full_name=name.group(1).strip() if name else "",
        date_of_birth=dates[0] if dates else "",
        is_traveling=_permitted(text, _AWAY) is True,
        may_pay=_permitted(text, _PAYING),
        may_refuel=_permitted(text, _REFUELING),
        refuel_gb=_refuel_gb(text),
    )


def _phone_number(text: str) -> str:
    """Return the first phone number: one of ten digits, a country code 1 aside, as 555-123-2002, others as they are."""
    found = _PHONE.search(text)
    if found is None:
        return ""
    digits = re.sub(r"\D", "", found.group())
    local = digits[1:] if len(digits) == 11 and digits[0] == "1" else digits
    return f"{local[:3]}-{local[3:6]}-{local[6:]}" if len(local) == 10 else found.group()


def _refuel_gb(text: str) -> float | None:
    """Return how much is to be refueled, where a clause about that says so."""
    amounts = (_AMOUNT.search(clause) for clause in _about(text, _REFUELING))
    return next((float(each.group(1)) for each in amounts if each), None)


def _topic(text: str) -> Topic | None:
    """Return what the ticket is about: first by what would resolve it, else by all that it says."""
    goals = " ".join(sentence for sentence in _SENTENCE.split(text) if _GOAL.search(sentence))
    return next((topic for said in (goals, text) for topic, pattern in _TOPICS if pattern.search(said)), None)


def _permitted(text: str, about: re.Pattern[str]) -> bool | None:
    """Return whether every clause about it is without a negation; None if there is no clause about it."""
    clauses = list(_about(text, about))
    return not any(_NOT.search(clause) for clause in clauses) if clauses else None


def _about(text: str, about: re.Pattern[str]) -> Iterator[str]:
    return (clause for clause in _CLAUSE.split(text) if about.search(clause))
