"""What a runtime raises, as a JSON object: the other side raises the same class with the same facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Final, Literal, TypeAlias, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from gatechart.api.documents import Document
from gatechart.context import problems_of
from gatechart.errors import (
    AnswerUnreadableError,
    DefinitionError,
    EventError,
    GatechartError,
    RemoteDefinitionError,
    RemoteEventError,
    RemoteOutsideError,
)

Blame: TypeAlias = Literal["definition", "event", "outside"]

_BLAMED: Final[tuple[tuple[Blame, type[GatechartError]], ...]] = (
    ("definition", DefinitionError),
    ("event", EventError),
)


class ErrorDocument(Document):
    """What a call raised."""

    error: str  # the name of its class
    message: str
    facts: dict[str, Any]
    blame: Blame = "outside"
    reference: str = ""  # finds what is not told here in the log of whoever answered

    @classmethod
    def of(cls, error: BaseException) -> ErrorDocument:
        """The document of an error; of one that is none of gatechart's, its name and text."""
        blame = next((blame for blame, branch in _BLAMED if isinstance(error, branch)), "outside")
        return cls(error=type(error).__name__, message=str(error), facts=facts_of(error), blame=blame)

    @classmethod
    def for_stranger(cls, error: GatechartError, reference: str) -> ErrorDocument:
        """As `of`, without the words of the application's own exceptions, which may tell what is nobody's business.

        reference: under which the log tells all of it. The class, and which event of which agent failed, stay.
        """
        hidden = {name: hidden_under(reference) for name in error.private if getattr(error, name)}
        if not hidden:
            return cls.of(error)
        facts = {field.name: getattr(error, field.name) for field in fields(error)}
        kind: Any = type(error)
        return cls.of(kind(**facts | hidden)).model_copy(update={"reference": reference})

    def value(self) -> GatechartError:
        """The error, to be raised. Where its class is not known here, or has other facts, one of the same blame."""
        kind = _kinds().get(self.error)
        if kind is not None:
            try:
                return kind(**_facts(kind, self.facts))
            except (ValidationError, KeyError, TypeError):  # another gatechart's
                pass
        match self.blame:
            case "definition":
                return RemoteDefinitionError(self.error, self.message)
            case "event":
                return RemoteEventError(self.error, self.message)
            case _:
                return RemoteOutsideError(self.error, self.message)


def hidden_under(reference: str) -> str:
    """What stands in the place of an exception's words."""
    return f"an error that the log of the server tells under {reference}"


def facts_of(error: BaseException) -> dict[str, Any]:
    """An error's own facts, as JSON values; those of an error that is none of gatechart's are not told."""
    if not isinstance(error, GatechartError):
        return {}
    facts = {field.name: getattr(error, field.name) for field in fields(error)}
    told: dict[str, Any] = to_jsonable_python(facts, fallback=repr)
    return told


def _facts(kind: Any, told: Mapping[str, Any]) -> dict[str, Any]:
    """The facts as the class has them: tuples, moments and values again."""
    readers = _readers(kind)
    return {name: readers[name].validate_python(value) for name, value in told.items()}


@cache
def _readers(kind: Any) -> Mapping[str, TypeAdapter[Any]]:
    """What reads each of the facts of a class of errors."""
    hints = get_type_hints(kind)
    return {field.name: TypeAdapter(hints[field.name]) for field in fields(kind)}


def _kinds() -> dict[str, type[GatechartError]]:
    """Every error that there is by now, by name: a layer above may have some of its own."""
    return {kind.__name__: kind for kind in _below(GatechartError) if kind.__module__.startswith("gatechart.")}


def _below(kind: type[GatechartError]) -> Iterator[type[GatechartError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


class Reply(Document):
    """What came of a call, whichever it is: the document that the verb answers, or what it raised."""

    answer: dict[str, Any] | None = None
    error: ErrorDocument | None = None

    def value(self, kind: Any) -> Any:
        """Return the result, of this kind of document. Raises the error, or AnswerUnreadableError if it is not one."""
        if self.error is not None:
            raise self.error.value()
        try:
            return kind.model_validate(self.answer).value()
        except ValidationError as error:
            raise AnswerUnreadableError("; ".join(problems_of(error))) from error


def read_reply(text: str) -> Reply:
    """The reply that the text is. Raises AnswerUnreadableError."""
    try:
        return Reply.model_validate_json(text)
    except ValidationError as error:
        raise AnswerUnreadableError("; ".join(problems_of(error))) from error
