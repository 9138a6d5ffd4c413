"""Conversations in the form of the Schema-Guided Dialogue dataset, as far as the desk cares for them.

A file holds one conversation a line, as JSON, plain or compressed with gzip.
"""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from statecharts.service_desk.acts import Speaker
from statecharts.service_desk.problems import ConversationsError, first_problem


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")  # the files hold more than is read here


class Act(_Record):
    """The smallest thing said: what is done with it, and to which slot."""

    act: str
    slot: str | None = None
    values: tuple[str, ...] | None = None

    @property
    def value(self) -> str:
        """The preferred value; empty where there is none."""
        return self.values[0] if self.values else ""


class Call(_Record):
    """What a service was called for before the assistant spoke."""

    method: str  # an intent's name
    parameters: Mapping[str, str]


class Frame(_Record):
    """What one turn says to, or of, one service."""

    service: str
    acts: tuple[Act, ...]
    call: Call | None = None
    intent: str | None = None  # what the user wants of the service now


class ConversationTurn(_Record):
    """What one speaker says before the other one does."""

    speaker: Speaker
    frames: tuple[Frame, ...]
    text: str = ""  # word for word


class Conversation(_Record):
    """A user and a virtual assistant, talking."""

    id: str
    services: tuple[str, ...]
    turns: tuple[ConversationTurn, ...]

    @property
    def frames(self) -> tuple[tuple[Speaker, Frame], ...]:
        """All frames in their order, with who speaks."""
        return tuple((turn.speaker, frame) for turn in self.turns for frame in turn.frames)

    @property
    def acts(self) -> tuple[Act, ...]:
        """All acts in the order in which they are written down."""
        return tuple(act for _, frame in self.frames for act in frame.acts)

    @property
    def opening(self) -> Act:
        """The act in which the user says for the first time what they want. Raises ConversationsError."""
        return self._first_wish[1]

    @property
    def first_service(self) -> str:
        """The service of which the user wants it. Raises ConversationsError."""
        return self._first_wish[0]

    @property
    def _first_wish(self) -> tuple[str, Act]:
        for speaker, frame in self.frames:
            for act in frame.acts:
                if (speaker, act.act) == ("user", "INFORM_INTENT") and act.values:
                    return frame.service, act
        raise ConversationsError(f"conversation {self.id!r}", "its user never says what they want (INFORM_INTENT)")


def read_conversations(
    path: Path, on_problem: Callable[[ConversationsError], None] | None = None
) -> tuple[Conversation, ...]:
    """Read all conversations of a file.

    on_problem: called with each line that is no conversation, which is then left out. Raises ConversationsError.
    """
    found = list[Conversation]()
    for number, line in _lines(path):
        try:
            found.append(Conversation.model_validate_json(line))
        except ValidationError as error:
            problem = ConversationsError(f"{path}, line {number}", first_problem(error))
            if on_problem is None:
                raise problem from error
            on_problem(problem)
    return tuple(found)


def of_one_service(conversations: tuple[Conversation, ...]) -> tuple[Conversation, ...]:
    """Those that stay with one service from the first word to the last."""
    return tuple(conversation for conversation in conversations if len(conversation.services) == 1)


def of_several_services(conversations: tuple[Conversation, ...]) -> tuple[Conversation, ...]:
    """Those that go from one service to another."""
    return tuple(conversation for conversation in conversations if len(conversation.services) > 1)


def distinct(conversations: Iterable[Conversation]) -> Iterator[Conversation]:
    """Give each conversation an id of its own: all parts of the dataset count from the same number."""
    seen = Counter[str]()
    for one in conversations:
        seen[one.id] += 1
        yield one if seen[one.id] == 1 else one.model_copy(update={"id": f"{one.id} ({seen[one.id]})"})


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    opened: Any = gzip.open if path.suffix == ".gz" else Path.open
    try:
        with opened(path, "rb") as file:
            yield from ((number, line) for number, line in enumerate(file, start=1) if line.strip())
    except (OSError, EOFError, zlib.error) as error:
        problem = getattr(error, "strerror", None) or error
        raise ConversationsError(str(path), f"cannot be read: {problem}") from error
