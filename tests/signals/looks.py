"""What detectors are shown, without an agent: turns as values, played through detectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from gatechart.values.agents import Event
from gatechart.values.detectors import HOLDS, Detector, Look, walk
from gatechart.values.trail import Called, Moved, Noted, Reasoned, Said, TrailEntry, character_of, kinds_of, text_of

START = datetime(2026, 3, 1, tzinfo=UTC)


@dataclass
class Player:
    """An agent's turns as detectors see them, with a trail that it keeps."""

    context: object = None
    trail: list[TrailEntry] = field(default_factory=list)
    states: tuple[str, ...] = ()

    def look(
        self,
        *entries: TrailEntry,
        event: str = "GO",
        payload: dict[str, object] | None = None,
        at_s: float = 0,
        **more: object,
    ) -> Look:
        moves = [each for each in entries if isinstance(each, Moved)]
        event = moves[-1].event if moves else event
        before, self.states = self.states, moves[-1].states if moves else self.states
        self.trail += entries
        return Look(
            Event(event, payload or {}, START + timedelta(seconds=at_s)),
            before,
            self.states,
            [each for each in entries if not isinstance(each, Moved)],
            kinds_of(entries),
            self.context,
            text_of(self.trail),
            **{
                "move": "".join(map(_character, moves[-1:])),
                "place": "".join(character_of("\n".join(each.states)) for each in moves[-1:]),
                **more,
            },
        )


def _character(move: Moved) -> str:
    return character_of(repr(move))


def moves(states: Iterable[str], player: Player | None = None) -> list[Look]:
    player = player or Player()
    return [player.look(Moved((state,), f"TO_{state}")) for state in states]


def calls(made: Iterable[Called], player: Player | None = None) -> list[Look]:
    player = player or Player()
    return [player.look(each, event="trail.call") for each in made]


def says(texts: Iterable[str], player: Player | None = None) -> list[Look]:
    player = player or Player()
    return [player.look(Said(each)) for each in texts]


def notes(numbers: Iterable[float], measure: str = "confidence", player: Player | None = None) -> list[Look]:
    player = player or Player()
    return [player.look(Noted(measure, each), event="trail.note") for each in numbers]


def reasons(steps: Iterable[tuple[str, str]], player: Player | None = None) -> list[Look]:
    player = player or Player()
    return [player.look(Reasoned(*each), event="trail.step") for each in steps]


def call(tool: str = "search", arguments: str = "a", *, error: str = "", at_s: float = 0, attempts: int = 1) -> Called:
    time_ms = round((START.timestamp() + at_s) * 1000)
    return Called(tool, arguments, not error, (error and f"e-{error}") or "r", error, attempts, "", time_ms)


def asked(detector: Detector, look: Look, slot: str) -> str:
    """What the turn makes of the slot."""
    concerns = not detector.sees or look.kinds & detector.sees
    return detector.after(slot, look) if concerns else slot


def found(detector: Detector, looks: Sequence[Look]) -> list[bool]:
    """Whether it holds after each of the turns."""
    slots = [""]
    for look in looks:
        slots.append(asked(detector, look, slots[-1]))
    return [slot.startswith(HOLDS) for slot in slots[1:]]


def evidence(detector: Detector, looks: Sequence[Look]) -> dict[str, object] | None:
    """What it tells at the turn where it first holds."""
    slot = ""
    for look in looks:
        slot = asked(detector, look, slot)
        if slot.startswith(HOLDS):
            return dict(detector.evidence(slot, look))
    return None


__all__ = [
    "START",
    "Player",
    "asked",
    "call",
    "calls",
    "evidence",
    "found",
    "moves",
    "notes",
    "reasons",
    "says",
    "walk",
]
