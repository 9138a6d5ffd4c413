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
        ("user", "AFFIRM"): "USER_AGREED",
        ("user", "NEGATE"): "USER_DISAGREED",
        ("user", "AFFIRM_INTENT"): "USER_ACCEPTED_PROPOSAL",
        ("user", "NEGATE_INTENT"): "USER_DECLINED_PROPOSAL",
        ("user", "SELECT"): "USER_CHOSE_OFFER",
        ("user", "REQUEST_ALTS"): "USER_ASKED_FOR_ALTERNATIVES",
        ("user", "THANK_YOU"): "USER_THANKED",
        ("user", "INFORM_INTENT"): "USER_STATED_INTENT",
        ("user", "INFORM"): "USER_GAVE_DETAIL",
        ("user", "REQUEST"): "USER_ASKED_QUESTION",
        ("user", "GOODBYE"): "USER_SAID_GOODBYE",
        ("system", "NOTIFY_SUCCESS"): "SERVICE_SUCCEEDED",
        ("system", "NOTIFY_FAILURE"): "SERVICE_FAILED",
        ("system", "OFFER"): "SERVICE_OFFERED",
        ("system", "INFORM_COUNT"): "SERVICE_COUNTED_RESULTS",
        ("system", "INFORM"): "SERVICE_ANSWERED",
        ("system", "REQUEST"): "SERVICE_ASKED_FOR_DETAIL",
        ("system", "CONFIRM"): "SERVICE_ASKED_TO_CONFIRM",
        ("system", "OFFER_INTENT"): "SERVICE_PROPOSED_TRANSACTION",
        ("system", "REQ_MORE"): "SERVICE_ASKED_FOR_MORE",
        ("system", "GOODBYE"): "SERVICE_SAID_GOODBYE",
    }
)
"""In the order of a turn: first what answers the other speaker, then what is new, last the farewell.

The order in which the dataset lists the acts of a turn means nothing; the desk is told them in this one.
"""

_PLACE: Final = {act: place for place, act in enumerate(EVENT_OF)}


def event_of(speaker: Speaker, act: str) -> str:
    """Return the desk's event for an act; an unknown act keeps its name, and no state waits for it.

    >>> event_of("user", "SELECT"), event_of("system", "SING")
    ('USER_CHOSE_OFFER', 'system.SING')
    """
    return EVENT_OF.get((speaker, act), f"{speaker}.{act}")


def place_of(speaker: Speaker, act: str) -> int:
    """Where in a turn the act has its place; one of another name comes last.

    >>> place_of("user", "AFFIRM") < place_of("user", "REQUEST") < place_of("user", "SING")
    True
    """
    return _PLACE.get((speaker, act), len(_PLACE))
