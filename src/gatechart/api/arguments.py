"""Build commands from the arguments of a verb."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from gatechart.api.command import Command
from gatechart.context import problems_of
from gatechart.errors.definition import Fault
from gatechart.errors.event import PayloadError
from gatechart.graph.handoff import Handoff
from gatechart.graph.selection import Best
from gatechart.graph.selection_faults import terms_faults
from gatechart.handoff.fallbacks import fallback_steps
from gatechart.handoff.selections import declared_terms

_WORDS: Final = ("status", "limit", "after", "version")  # arguments whose values an error may show

C = TypeVar("C", bound=Command)


def made(kind: type[C], **given: Any) -> C:
    """Build a command. Raises PayloadError if the arguments do not fit."""
    try:
        return kind(**given)
    except ValidationError as error:
        verb: str = kind.model_fields["verb"].default
        shown = tuple(f"{name} is {given[name]!r}" for name in _WORDS if isinstance(given.get(name), str | int))
        raise PayloadError(verb, (*problems_of(error), *shown), f"the arguments of {verb}") from error


def handoff_fields(handoff: Handoff) -> dict[str, Any]:
    """Convert a handoff to fields of a command. Raises PayloadError if only an action can use it."""
    if not isinstance(handoff, Handoff):
        raise PayloadError(
            "handoff", (f"the handoff is {handoff!r}",), 'a Handoff, such as Handoff("refunds", at="REVIEWING")'
        )
    if handoff.achieved is not None or any(map(callable, handoff.functions)):
        problem = "the handoff has a function or an achieved=, which only actions of a graph can use"
        raise PayloadError("handoff", (problem,), "a HandoffPacket as packet=, an id as agent=, and no achieved=")
    deadline, fallbacks = handoff.deadline, handoff.fallbacks
    for best in handoff.selections:
        _check_selection(best)
    return {
        **({"to": handoff.to} if handoff.best is None else {"best": declared_terms(handoff.best)}),
        "at": handoff.at or None,
        "packet": handoff.packet,
        "reason": handoff.reason,
        "agent": handoff.agent,
        "mode": handoff.mode,
        "deadline": deadline.total_seconds() if isinstance(deadline, timedelta) else deadline,
        "fallbacks": None if fallbacks is None else fallback_steps(fallbacks),
        **({} if handoff.transcript else {"transcript": False}),
    }


def _check_selection(best: Best) -> None:
    if best.rules or callable(best.needs):
        problem = f"{best.name!r} has rules, or a function as its needs, which only actions of a graph can use"
        raise PayloadError("handoff", (problem,), "Best(Needs(...)) or Best(entries=...)")
    refuse("handoff", terms_faults("the selection", best))


def refuse(verb: str, faults: Iterable[Fault]) -> None:
    """Raise PayloadError with all faults, if there are any."""
    problems = tuple(faults)
    if problems:
        remedies = dict.fromkeys(fault.remedy for fault in problems)
        raise PayloadError(verb, tuple(f"{fault.place}: {fault.problem}" for fault in problems), "; ".join(remedies))


def check_writable(command: Command) -> None:
    """Raise PayloadError if the command has a text that cannot be written in UTF-8."""
    try:
        command.model_dump_json(exclude={"payload"})  # the payload has been checked already
    except ValueError as error:
        raise PayloadError(command.verb, (str(error),), "texts that can be written in UTF-8") from error
