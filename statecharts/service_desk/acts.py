"""The acts of a conversation, by the names of the Schema-Guided Dialogue dataset, and the events they are to the desk.

Source: Rastogi et al., "Towards Scalable Multi-domain Conversational Agents", arXiv 1909.05855.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

Speaker: TypeAlias = Literal["user", "system"]

EVENT_OF: Final[Mapping[tuple[Speaker, str], str]] = MappingProxyType(
    {
        ("user", "INFORM_INTENT"): "USER_STATED_INTENT",
        ("user", "INFORM"): "USER_GAVE_DETAIL",
        ("user", "REQUEST"): "USER_ASKED_QUESTION",
        ("user", "REQUEST_ALTS"): "USER_ASKED_FOR_ALTERNATIVES",
        ("user", "SELECT"): "USER_CHOSE_OFFER",
        ("user", "AFFIRM"): "USER_AGREED",
        ("user", "NEGATE"): "USER_DISAGREED",
        ("user", "AFFIRM_INTENT"): "USER_ACCEPTED_PROPOSAL",
        ("user", "NEGATE_INTENT"): "USER_DECLINED_PROPOSAL",
        ("user", "THANK_YOU"): "USER_THANKED",
        ("user", "GOODBYE"): "USER_SAID_GOODBYE",
        ("system", "REQUEST"): "SERVICE_ASKED_FOR_DETAIL",
        ("system", "OFFER"): "SERVICE_OFFERED",
        ("system", "INFORM_COUNT"): "SERVICE_COUNTED_RESULTS",
        ("system", "INFORM"): "SERVICE_ANSWERED",
        ("system", "OFFER_INTENT"): "SERVICE_PROPOSED_TRANSACTION",
        ("system", "CONFIRM"): "SERVICE_ASKED_TO_CONFIRM",
        ("system", "NOTIFY_SUCCESS"): "SERVICE_SUCCEEDED",
        ("system", "NOTIFY_FAILURE"): "SERVICE_FAILED",
        ("system", "REQ_MORE"): "SERVICE_ASKED_FOR_MORE",
        ("system", "GOODBYE"): "SERVICE_SAID_GOODBYE",
    }
)


def event_of(speaker: Speaker, act: str) -> str:
    """The event that the act is to the desk; an act of another name keeps it, and no state waits for it.

    >>> event_of("user", "SELECT"), event_of("system", "SING")
    ('USER_CHOSE_OFFER', 'system.SING')
    """
    return EVENT_OF.get((speaker, act), f"{speaker}.{act}")
