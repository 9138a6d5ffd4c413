"""Errors as JSON objects. The receiver raises the same class with the same facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from gatechart.api.codec import Answer
from gatechart.context import problems_of
from gatechart.errors.definition import RemoteDefinitionError
from gatechart.errors.event import AgentEndedError
from gatechart.errors.operation import RemoteEventError
from gatechart.errors.outside import AnswerUnreadableError, RemoteOutsideError
from gatechart.errors.root import DefinitionError, EventError, GatechartError
from gatechart.values.agents import Awaited, Snapshot, why_given_up

T = TypeVar("T")

Blame: TypeAlias = Literal["definition", "event", "outside"]

_BLAMED: Final[tuple[tuple[Blame, type[GatechartError]], ...]] = (
    ("definition", DefinitionError),
    ("event", EventError),
)


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan="strings")


class ErrorDocument(_Document):
    """An error that a call raised."""

    error: str  # the name of the error's class
    message: str
    facts: dict[str, Any]
    blame: Blame = "outside"
    reference: str = ""  # key of the withheld details in the log of the process that answered

    @classmethod
    def of(cls, error: BaseException) -> ErrorDocument:
        """Describe an error; an error from outside gatechart by its name and text only."""
        blame = next((blame for blame, branch in _BLAMED if isinstance(error, branch)), "outside")
        return cls(error=type(error).__name__, message=str(error), facts=facts_of(error), blame=blame)

    @classmethod
    def for_stranger(cls, error: GatechartError, reference: str) -> ErrorDocument:
        """Describe an error as `of` does, without the texts of the application's exceptions.

        These may be private. The class, the event and the agent are kept.
        reference: the key of the full error in the log.
        """
        hidden = {name: hidden_under(reference) for name in error.private if getattr(error, name)}
        if not hidden:
            return cls.of(error)
        facts = {field.name: getattr(error, field.name) for field in fields(error)}
        kind: Any = type(error)
        return cls.of(kind(**facts | hidden)).model_copy(update={"reference": reference})

    def value(self) -> GatechartError:
        """Return the error, or a remote error with the same blame if this process does not know its class or facts."""
        kind = _kinds().get(self.error)
        if kind is not None:
            try:
                return kind(**_facts(kind, self.facts))
            except (ValidationError, KeyError, TypeError):  # from another version of gatechart
                pass
        match self.blame:
            case "definition":
                return RemoteDefinitionError(self.error, self.message)
            case "event":
                return RemoteEventError(self.error, self.message)
            case _:
                return RemoteOutsideError(self.error, self.message)


def hidden_under(reference: str) -> str:
    """Return the text that replaces a private exception text."""
    return f"an error whose details are in the log of the server under {reference}"


def facts_of(error: BaseException) -> dict[str, Any]:
    """Return the facts of an error as JSON values; empty for an error from outside gatechart."""
    if not isinstance(error, GatechartError):
        return {}
    facts = {field.name: getattr(error, field.name) for field in fields(error)}
    plain: dict[str, Any] = to_jsonable_python(facts, fallback=repr)
    return plain


def _facts(kind: Any, plain: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the facts to the types of the error's fields: tuples, times and values."""
    readers = _readers(kind)
    return {name: readers[name].validate_python(value) for name, value in plain.items()}


@cache
def _readers(kind: Any) -> Mapping[str, TypeAdapter[Any]]:
    """Return a reader for each fact of a class of errors."""
    hints = get_type_hints(kind)
    return {field.name: TypeAdapter(hints[field.name]) for field in fields(kind)}


def _kinds() -> dict[str, type[GatechartError]]:
    """Return every error class loaded so far, by name; higher layers may define more."""
    return {kind.__name__: kind for kind in _below(GatechartError) if kind.__module__.startswith("gatechart.")}


def _below(kind: type[GatechartError]) -> Iterator[type[GatechartError]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _below(subclass)


class Reply(_Document):
    """The reply to any call: the JSON of the result, or the error."""

    answer: Any = None
    error: ErrorDocument | None = None

    def value(self, answer: Answer[T]) -> T:
        """Return the result, read with this codec. Raises the error, or AnswerUnreadableError."""
        if self.error is not None:
            raise self.error.value()
        try:
            return answer.read_plain(self.answer)
        except ValidationError as error:
            raise AnswerUnreadableError("; ".join(problems_of(error))) from error


def read_reply(text: str) -> Reply:
    """Parse a reply. Raises AnswerUnreadableError."""
    try:
        return Reply.model_validate_json(text)
    except ValidationError as error:
        raise AnswerUnreadableError("; ".join(problems_of(error))) from error


def ended_elsewhere(snapshot: Snapshot, awaited: Awaited) -> AgentEndedError:
    """Return the error for an agent that ended before it reached the awaited states."""
    reason = why_given_up(snapshot)
    return AgentEndedError(snapshot.agent_id, str(awaited), snapshot.configuration, snapshot.status, reason)
