"""Conversations in the form of the Schema-Guided Dialogue dataset, as far as the desk cares for them.

A file holds one conversation a line, as JSON, plain or compressed with gzip. What services can do stands in another.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from gatechart.errors import OutsideError
from statecharts.service_desk.acts import Speaker
from statecharts.service_desk.context import Intent


@dataclass(eq=False)
class ConversationsError(OutsideError):
    """A file of conversations or services cannot be read."""

    place: str  # the file, and the line where there is one
    problem: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}"


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
        for speaker, frame in self.frames:
            for act in frame.acts:
                if (speaker, act.act) == ("user", "INFORM_INTENT") and act.values:
                    return act
        raise ConversationsError(f"conversation {self.id!r}", "its user never says what they want (INFORM_INTENT)")


class _IntentRecord(_Record):
    name: str
    is_transactional: bool
    required_slots: tuple[str, ...]


class _ServiceRecord(_Record):
    service: str
    intents: tuple[_IntentRecord, ...]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What the services can do: intents by service and name."""

    intents: Mapping[tuple[str, str], Intent]

    def intent(self, service: str, name: str) -> Intent:
        """What is known of an intent. Raises ConversationsError."""
        try:
            return self.intents[service, name]
        except KeyError:
            known = ", ".join(intent for of, intent in self.intents if of == service) or "nothing"
            problem = f"there is no intent {name!r}; known of this service: {known}. Name the right file of services"
            raise ConversationsError(f"service {service!r}", problem) from None


def read_catalogue(path: Path) -> Catalogue:
    """What the services of a file can do. Raises ConversationsError."""
    try:
        services = TypeAdapter(tuple[_ServiceRecord, ...]).validate_json(path.read_bytes())
    except OSError as error:
        raise ConversationsError(str(path), f"cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        raise ConversationsError(str(path), _first_problem(error)) from error
    return Catalogue(
        {
            (service.service, intent.name): Intent(
                intent=intent.name, is_transactional=intent.is_transactional, required_slots=intent.required_slots
            )
            for service in services
            for intent in service.intents
        }
    )


def read_conversations(path: Path) -> tuple[Conversation, ...]:
    """All conversations of a file. Raises ConversationsError."""
    return tuple(_conversation(path, number, line) for number, line in _lines(path))


def of_one_service(conversations: tuple[Conversation, ...]) -> tuple[Conversation, ...]:
    """Those that stay with one service from the first word to the last."""
    return tuple(conversation for conversation in conversations if len(conversation.services) == 1)


def of_several_services(conversations: tuple[Conversation, ...]) -> tuple[Conversation, ...]:
    """Those that go from one service to another."""
    return tuple(conversation for conversation in conversations if len(conversation.services) > 1)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    opened: Any = gzip.open if path.suffix == ".gz" else Path.open
    try:
        with opened(path, "rb") as file:
            yield from ((number, line) for number, line in enumerate(file, start=1) if line.strip())
    except (OSError, EOFError, zlib.error) as error:
        problem = getattr(error, "strerror", None) or error
        raise ConversationsError(str(path), f"cannot be read: {problem}") from error


def _conversation(path: Path, number: int, line: bytes) -> Conversation:
    try:
        return Conversation.model_validate_json(line)
    except ValidationError as error:
        raise ConversationsError(f"{path}, line {number}", _first_problem(error)) from error


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the whole'}: {first['msg']}"
