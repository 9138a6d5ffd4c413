"""What is said to which service in a recorded conversation, in the order in which they have their say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from statecharts.service_desk.acts import Speaker
from statecharts.service_desk.catalogue import Catalogue
from statecharts.service_desk.conversations import Conversation, Frame
from statecharts.service_desk.schema import Intent, Service
from statecharts.service_desk.script import Line, spoken

POLITE: Final = frozenset({"THANK_YOU", "GOODBYE", "AFFIRM", "NEGATE"})  # nobody moves on by these alone


@dataclass(frozen=True, slots=True)
class Wish:
    """What a user wants of a service to which they move on, and the slots that they give with it."""

    service: Service
    intent: Intent
    slots: dict[str, str]


@dataclass(frozen=True, slots=True)
class Part:
    """What a turn says to one service."""

    speaker: Speaker
    frame: Frame
    line: Line | None = None  # what the turn begins with
    wish: Wish | None = None  # where the user moves on to the service
    is_return: bool = False


def parts(conversation: Conversation, catalogue: Catalogue) -> Iterator[Part]:
    """List what is said to which service; in each turn the current service comes first.

    The one at work is first that of which the user first wants something. What is said of another service without a
    wish is said to the one at work. Raises ConversationsError where the user never says what they want.
    """
    current = conversation.first_service
    seen = {current}
    for turn in spoken(conversation):
        line: Line | None = turn.line
        for frame in sorted(turn.frames, key=lambda frame: frame.service != current):
            wish = wish_of(turn.speaker, frame, catalogue) if frame.service != current else None
            yield Part(turn.speaker, frame, line, wish, wish is not None and frame.service in seen)
            line = None
            if wish is not None:
                current = frame.service
                seen.add(current)


def wish_of(speaker: Speaker, frame: Frame, catalogue: Catalogue) -> Wish | None:
    """Return what the user wants of the service; None if they do not say, or the service cannot do it.

    Where they do not state it, it is what the recorded conversation notes.
    """
    stated = next((act.value for act in frame.acts if act.act == "INFORM_INTENT"), None)
    if stated is None and all(act.act in POLITE for act in frame.acts):
        return None
    service = catalogue.services.get(frame.service)
    if speaker != "user" or service is None:
        return None
    intent = service.intents.get(stated or frame.intent or "")
    if intent is None:
        return None
    given = {act.slot: act.value for act in frame.acts if act.act == "INFORM" and act.slot and act.values}
    return Wish(service, intent, given)
