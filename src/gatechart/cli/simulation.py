"""A chart that is played: the player's choices, the questions of the chart, and undo."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import Any, Final, TypeAlias

import typer

from gatechart.cli.errors import UsageError
from gatechart.cli.output import interruptible, print_hint
from gatechart.errors.operation import MailFailedError
from gatechart.graph.graph import AnyGraph
from gatechart.testing.rehearsal import Rehearsal
from gatechart.turn.possibilities import possible
from gatechart.values.agents import Outcome
from gatechart.values.mail import Mail, MailStatus
from gatechart.values.possibilities import AcceptedEvent

_MOST_WAITING: Final = 100  # mail that is read at most
_YES_OR_NO: Final = {"y": True, "yes": True, "n": False, "no": False}


class Lines:
    """The lines that a player types at a terminal, or the lines of a script on stdin."""

    def __init__(self, echo: Callable[[str], None]) -> None:
        """echo: called with each line of a script, after its prompt."""
        self.is_script = not sys.stdin.isatty()
        self.are_over = False
        self._echo = echo
        if not self.is_script:
            with suppress(ImportError):  # some systems lack it
                import_module("readline")  # makes `input` edit and remember lines

    def next(self, prompt: str) -> str | None:
        """Return the next line, or None after the last one, Ctrl-D or Ctrl-C. Raises UsageError."""
        if self.are_over:
            return None
        try:
            with interruptible():
                return (self._scripted(prompt) if self.is_script else input(prompt)).strip()
        except (EOFError, KeyboardInterrupt):
            self.are_over = True
            if not self.is_script:
                typer.echo()  # start the next output on a new line
            return None

    def _scripted(self, prompt: str) -> str:
        try:
            line = sys.stdin.readline()
        except UnicodeDecodeError:
            raise UsageError("stdin: it is not valid UTF-8") from None
        if not line:
            raise EOFError
        self._echo(f"{prompt}{line.rstrip()}")
        return line


class Answers:
    """The player's answers to the questions of the chart. They can be repeated in the same order."""

    def __init__(self, lines: Lines) -> None:
        self.given: list[bool] = []
        self._lines = lines
        self._repeated: deque[bool] = deque()

    def ask(self, question: str) -> bool:
        """Return whether the player answers yes. Without more input, the answer is no."""
        answer = self._repeated.popleft() if self._repeated else self._asked(question)
        self.given.append(answer)
        return answer

    def repeat(self, count: int) -> None:
        """Repeat the first answers for the next questions."""
        self._repeated = deque(self.given[:count])
        self.given = []

    def stop_repeating(self) -> None:
        """Ask the player again."""
        self._repeated.clear()

    def _asked(self, question: str) -> bool:
        while (line := self._lines.next(f"{question}? [y/n] ")) is not None:
            if line.lower() in _YES_OR_NO:
                return _YES_OR_NO[line.lower()]
            print_hint("type y or n")
        return False


Move: TypeAlias = Callable[[Rehearsal[Any]], Awaitable[Outcome | None]]


class Game:
    """A rehearsal with undo: it restarts and repeats all moves except the last, with the same answers."""

    now: Rehearsal[Any]

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[Rehearsal[Any]]], answers: Answers) -> None:
        self._opening = opening
        self._answers = answers
        self._moves: list[tuple[Move, int]] = []  # with the number of answers before each move
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Game:
        await self._begin()
        return self

    async def __aexit__(self, *_raised: object) -> None:
        await self._opened.aclose()

    async def play(self, move: Move) -> Outcome | None:
        """Make a move, and record it unless it was refused or raised. Raises the errors of the move.

        If a timer or other mail fails, the position before the move is restored.
        """
        before, is_made = len(self._answers.given), False
        try:
            outcome = await move(self.now)
            is_made = outcome is None or outcome.refusal is None
        except MailFailedError:
            await self._repeat(before)
            raise
        finally:
            if is_made:
                self._moves.append((move, before))
            else:
                del self._answers.given[before:]
        return outcome

    async def back(self) -> None:
        """Undo the last move. Raises UsageError if there is none."""
        if not self._moves:
            raise UsageError("nothing to undo: this is the beginning")
        _, kept = self._moves.pop()
        await self._repeat(kept)

    async def _repeat(self, answers: int) -> None:
        """Restart, and repeat all moves. answers: how many answers to repeat."""
        self._answers.repeat(answers)
        await self._begin()
        for move, _ in self._moves:
            await move(self.now)
        self._answers.stop_repeating()

    async def _begin(self) -> None:
        await self._opened.aclose()
        self.now = await self._opened.enter_async_context(self._opening())


@dataclass(frozen=True, slots=True)
class PlayerChoice:
    """An event, a timer or the end of an invoke that the player can choose."""

    name: str  # of the event
    asked: AcceptedEvent
    play: Callable[[Rehearsal[Any], dict[str, Any] | None], Awaitable[Outcome | None]]
    due_s: float | None = None  # until the timer fires; None if the choice is not a timer


async def choices_of(now: Rehearsal[Any], graph: AnyGraph) -> tuple[PlayerChoice, ...]:
    """List the possible next steps: events, timers, ends of invokes, then events that would only be deferred."""
    waiting = await now.runtime.mail(now.agent.id, status=MailStatus.WAITING, limit=_MOST_WAITING)
    events_now = await now.agent.accepts()
    events = [_event(each.event, each) for each in events_now if each.transitions]
    deferred = [_event(each.event, each) for each in events_now if not each.transitions]
    timers = [_timer(now, graph, mail) for mail in waiting if mail.due is not None]
    ends = [_end(now, graph, invoke, kind) for invoke in now.invokes for kind in ("done", "error")]
    return (*events, *sorted(timers, key=lambda each: each.due_s or 0.0), *ends, *deferred)


async def deferred_in(now: Rehearsal[Any]) -> tuple[str, ...]:
    """List the events that wait for a state that does not defer them."""
    waiting = await now.runtime.mail(now.agent.id, status=MailStatus.WAITING, limit=_MOST_WAITING)
    return tuple(mail.event for mail in waiting if mail.due is None)


def _event(name: str, asked: AcceptedEvent) -> PlayerChoice:
    return PlayerChoice(name, asked, lambda now, payload: now.send(name, payload))


def _timer(now: Rehearsal[Any], graph: AnyGraph, mail: Mail) -> PlayerChoice:
    assert mail.due is not None
    due = mail.due

    async def wait(then: Rehearsal[Any], payload: dict[str, Any] | None) -> None:
        if payload is not None:
            raise UsageError(f"{mail.event} is a timer, which takes no payload; type its number alone")
        await then.advance(max(due - then.clock.at, timedelta()))

    left = (due - now.clock.at).total_seconds()
    return PlayerChoice(mail.event, _asked(now, graph, mail.event), wait, left)


def _end(now: Rehearsal[Any], graph: AnyGraph, invoke: str, kind: str) -> PlayerChoice:
    """Return the choice that ends an invoke. Its payload is an object with the result or the error message."""

    async def end(then: Rehearsal[Any], payload: dict[str, Any] | None) -> None:
        given = payload or {}
        error = None if kind == "done" else SimulatedError(str(given.get("message", "simulated")))
        await then.end_invoke(invoke, given.get("result"), error=error)

    name = f"{kind}.invoke.{invoke}"
    return PlayerChoice(name, _asked(now, graph, name), end)


class SimulatedError(Exception):
    """The error of an invoke that the player made fail."""


def _asked(now: Rehearsal[Any], graph: AnyGraph, event: str) -> AcceptedEvent:
    return possible(graph, now.snapshot, event, None, now.clock.at)
