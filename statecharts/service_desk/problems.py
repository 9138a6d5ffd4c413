"""What can be wrong with the files that are replayed."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from gatechart.errors import OutsideError


@dataclass(eq=False)
class ConversationsError(OutsideError):
    """A file of conversations or services cannot be read, or one conversation of it cannot be played."""

    place: str  # the file, and the line where there is one; or the conversation, or the service
    problem: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}"


def first_problem(error: ValidationError) -> str:
    """Describe the first problem of a document, and where it is."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the document'}: {first['msg']}"
