"""Internal events of a turn: raised for its own later microsteps, among them those that report exceptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from gatechart.context import problems_of
from gatechart.errors import ActionFailedError, message_of
from gatechart.values import AgentId, Event, EventName

ERROR_EXECUTION: Final[EventName] = "error.execution"


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception of a guard or an action."""

    name: str
    place: str
    cause: Event
    error: BaseException
    undoes: bool  # whether it undoes the turn, unless a transition handles it

    def raised(self) -> Raised:
        """Return the event `error.execution` that reports it."""
        payload = {
            "type": type(self.error).__name__,
            "message": message_of(self.error),
            "raised_by": self.name,
            "place": self.place,
            "event": self.cause.name,
        }
        return Raised(Event(ERROR_EXECUTION, payload, self.cause.time), self)

    def failed(self, agent_id: AgentId, event: EventName) -> ActionFailedError:
        """Return the error that undoes the turn, with the exception as its cause."""
        error = ActionFailedError(agent_id, event, self.name, self.place, told(self.error))
        error.__cause__ = self.error
        return error


@dataclass(frozen=True, slots=True)
class Raised:
    """An event on the internal queue of a turn."""

    event: Event
    failure: Failure | None = None


def told(error: BaseException) -> str:
    """Describe the exception in one line that every store can keep: its type, and its message if it has one."""
    message = "; ".join(problems_of(error)) if isinstance(error, ValidationError) else message_of(error)
    line = " ".join(message.encode(errors="replace").decode().replace("\0", "").split())
    return f"{type(error).__name__}: {line}" if line else type(error).__name__
