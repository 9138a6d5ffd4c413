"""What is said to which service in a recorded conversation, in the order in which they have their say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from statecharts.service_desk.acts import Speaker
from statecharts.service_desk.context import Intent
from statecharts.service_desk.conversations import Catalogue, Conversation, Frame


@dataclass(frozen=True, slots=True)
class Words:
    """What is said in a turn, all services together."""

    speaker: Speaker
    text: str


@dataclass(frozen=True, slots=True)
class Part:
    """What a turn says to one service. is_move: the service before was another one."""

    speaker: Speaker
    frame: Frame
    is_move: bool = False
    is_return: bool = False


def parts(conversation: Conversation) -> Iterator[Words | Part]:
    """What is said, and to which service: in each turn the service at work comes first; empty frames are skipped."""
    current, seen = "", set[str]()
    for turn in conversation.turns:
        yield Words(turn.speaker, turn.text)
        said = [frame for frame in turn.frames if frame.acts]
        for frame in sorted(said, key=lambda frame: frame.service != current):
            is_move = bool(current) and frame.service != current
            yield Part(turn.speaker, frame, is_move, is_move and frame.service in seen)
            current = frame.service
            seen.add(current)


def wanted_by(frame: Frame, catalogue: Catalogue) -> tuple[Intent, dict[str, str]]:
    """The intent that a user's words to a service state, and the slots that they give with it."""
    stated = next(act for act in frame.acts if act.act == "INFORM_INTENT")
    given = {act.slot: act.value for act in frame.acts if act.act == "INFORM" and act.slot}
    return catalogue.intent(frame.service, stated.value), given
