"""The frozen form between a graph and its drawing: boxes, arrows and doors, shared by all formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gatechart.graph.compile import ROOT, Kind
from gatechart.graph.definition import Recall
from gatechart.values.names import StateName


@dataclass(frozen=True, slots=True)
class TransitionLabel:
    """A transition in the words of UML: event [guard] / actions."""

    event: str  # in words
    guard: str = ""
    actions: tuple[str, ...] = ()
    reenters: StateName | None = None  # the compound state that it leaves and enters again
    places: tuple[int, ...] = ()  # positions in the trail where it was taken
    is_transfer: bool = False  # whether a model chooses it, or it follows in place of a choice
    is_signal: bool = False  # whether it answers a signal
    is_escape: bool = False  # whether it is an escape from the problem that a signal reports

    @property
    def details(self) -> tuple[str, ...]:
        """Guard, actions and re-entry, in pieces to be written after the event."""
        return (
            *([f"[{self.guard}]"] if self.guard else []),
            *([f"/ {', '.join(self.actions)}"] if self.actions else []),
            *([f"«re-enters {self.reenters}»"] if self.reenters else []),
        )


@dataclass(frozen=True, slots=True)
class Box:
    """A state: a leaf, or, with `boxes`, a compound or parallel state."""

    name: StateName
    title: str  # the name, without the path of its ancestors
    kind: Kind
    description: str
    on_entry: tuple[str, ...]
    on_exit: tuple[str, ...]
    does: tuple[str, ...]  # the functions that it invokes
    parts: tuple[TransitionLabel, ...]  # transitions that do not leave it
    initial: tuple[StateName, ...]  # initial states of a compound state
    recall: Recall | None  # of a history state
    boxes: tuple[Box, ...]
    is_active: bool
    is_visited: bool
    is_failure: bool = False  # of a final state: whether an agent that ends there has failed
    defers: tuple[str, ...] = ()  # events that are kept for a later state
    transfers: str = ""  # number of transfers that a model may choose here, in words; empty for none
    expects: str = ""  # normal duration, in words; empty if undeclared
    is_checkpoint: bool = False  # whether agents may be rolled back to it
    plan: tuple[str, ...] = ()  # lines of the escape plan that applies while it is active

    @property
    def notes(self) -> tuple[str, ...]:
        """Marks, entry actions, invokes, exit actions, transfers, deferred events, normal duration and escape plan."""
        blocks = (("entry", self.on_entry), ("do", self.does), ("exit", self.on_exit))
        done = (f"{when} / {', '.join(names)}" for when, names in blocks if names)
        deferred = (f"{event} / defer" for event in self.defers)
        chosen = [self.transfers] if self.transfers else []
        expected = [f"expects {self.expects}"] if self.expects else []
        marks = (("«failed»", self.is_failure), ("«checkpoint»", self.is_checkpoint))
        tried = (f"«escape» {line}" for line in self.plan)
        return (*(mark for mark, is_so in marks if is_so), *done, *chosen, *deferred, *expected, *tried)


@dataclass(frozen=True, slots=True)
class Arrow:
    """All transitions from one state to another; `source` is the root if they are taken in any state."""

    source: StateName
    target: StateName
    parts: tuple[TransitionLabel, ...]
    home: StateName  # the innermost state around both ends; the root if there is none
    is_inner: bool  # whether it stays inside its source, leading to the source or to a state in it

    @property
    def is_loop(self) -> bool:
        """Whether it leaves a leaf and enters it again."""
        return self.source == self.target and not self.is_inner

    @property
    def is_roaming(self) -> bool:
        """Whether it is taken in any state of the graph or of the source."""
        return self.is_inner or self.source == ROOT

    @property
    def is_transfer(self) -> bool:
        """Whether all its transitions are chosen by a model, or taken in place of such a choice."""
        return all(part.is_transfer for part in self.parts)

    @property
    def is_signal(self) -> bool:
        """Whether all its transitions answer signals."""
        return all(part.is_signal for part in self.parts)

    @property
    def is_escape(self) -> bool:
        """Whether all its transitions are escapes."""
        return all(part.is_escape for part in self.parts)

    @property
    def places(self) -> tuple[int, ...]:
        """The positions in the trail where one of its transitions was taken."""
        return tuple(sorted(place for part in self.parts for place in part.places))


@dataclass(frozen=True, slots=True)
class Door:
    """An entry point: its triggers, its payload, and the state that it leads to."""

    name: str
    state: StateName
    triggers: tuple[str, ...]
    takes: str  # the payload's type; empty if it takes none
    guard: str
    places: tuple[int, ...]  # positions in the trail where the agent entered here
    is_known: bool = True  # whether the graph declares it; False if only other graphs name it
    load: str = ""  # its current work, in words; empty if unknown

    @property
    def title(self) -> str:
        """The name; empty if it equals the state's."""
        return "" if self.name == self.state else self.name

    @property
    def terms(self) -> tuple[str, ...]:
        """Triggers, payload, guard and load, a line each."""
        return (
            *(f"on {trigger}" for trigger in self.triggers),
            *([f"takes {self.takes}"] if self.takes else []),
            *([f"[{self.guard}]"] if self.guard else []),
            *([self.load] if self.load else []),
        )


@dataclass(frozen=True, slots=True)
class Handing:
    """Handoffs from a state to an entry point of a graph; `source` is the root for any state."""

    source: StateName
    graph: str
    entry_point: str
    words: tuple[str, ...]  # modes of the handoffs: `delegate`, or `else delegate` after a rejection
    places: tuple[int, ...] = ()  # positions in the trail where the agent requested it

    @property
    def is_roaming(self) -> bool:
        """Whether it can start in any state."""
        return self.source == ROOT


@dataclass(frozen=True, slots=True)
class Card:
    """A graph on a map, with its doors."""

    name: str
    version: str
    description: str
    doors: tuple[Door, ...]
    is_known: bool = True  # whether the graph is given; False if other graphs only name it


@dataclass(frozen=True, slots=True)
class HandoffLine:
    """One handoff: its state, event, target entry point, and reason."""

    source: str  # the state's title; the root for any state
    event: str  # in words; empty for a fallback, and for a target that a selection chooses
    guard: str
    entry_point: str
    mode: str  # `transfer` or `delegate`
    reason: str  # empty if none is given
    chosen: str = ""  # the selection that chooses the target, in words; empty if the target is named

    @property
    def occasion(self) -> str:
        """State, event and guard of the handoff."""
        state = "any state" if self.source == ROOT else self.source
        guard = f" [{self.guard}]" if self.guard else ""
        return f"{state}: {self.event}{guard}" if self.event else state

    @property
    def purpose(self) -> str:
        """Mode, target, reason and selection of the handoff."""
        pieces = (f"{self.mode} to {self.entry_point}", self.reason, self.chosen)
        return ", ".join(filter(None, pieces))


@dataclass(frozen=True, slots=True)
class HandoffRoute:
    """All handoffs from one graph to another."""

    origin: str
    graph: str
    ways: tuple[HandoffLine, ...]

    @property
    def entry_point(self) -> str:
        """The entry point of all its handoffs; empty if there are several."""
        several = {way.entry_point for way in self.ways}
        return several.pop() if len(several) == 1 else ""


@dataclass(frozen=True, slots=True)
class Map:
    """Several graphs, and the handoffs between them."""

    cards: tuple[Card, ...]
    routes: tuple[HandoffRoute, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """A whole drawing."""

    name: str
    version: str
    description: str
    boxes: tuple[Box, ...]
    parts: tuple[TransitionLabel, ...]  # transitions that are taken in any state and leave none
    arrows: tuple[Arrow, ...]
    doors: tuple[Door, ...]
    handings: tuple[Handing, ...]
    has_trail: bool
    plan: tuple[str, ...] = ()  # lines of the graph's escape plan

    @property
    def targets(self) -> tuple[tuple[str, str], ...]:
        """The targets of its handoffs: graph and entry point."""
        return tuple(dict.fromkeys((handing.graph, handing.entry_point) for handing in self.handings))

    def every_box(self) -> Iterator[Box]:
        """Yield all states, a parent before its children, in document order."""
        yield from _every_box(self.boxes)

    def every_part(self) -> Iterator[TransitionLabel]:
        """Yield all transitions, first the ones on arrows."""
        yield from (part for arrow in self.arrows for part in arrow.parts)
        yield from (part for box in self.every_box() for part in box.parts)
        yield from self.parts


def _every_box(boxes: Sequence[Box]) -> Iterator[Box]:
    for box in boxes:
        yield box
        yield from _every_box(box.boxes)
