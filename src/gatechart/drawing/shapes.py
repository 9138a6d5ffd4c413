"""The frozen form between a graph and its drawing: boxes, arrows and doors, whoever draws them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gatechart.graph import ROOT, Kind, Recall
from gatechart.values import StateName


@dataclass(frozen=True, slots=True)
class Part:
    """A transition in the words of UML: event [guard] / actions."""

    event: str  # in words
    guard: str = ""
    actions: tuple[str, ...] = ()
    reenters: StateName | None = None  # the compound state that is left and entered again on the way
    places: tuple[int, ...] = ()  # in the trail, at which it was taken
    is_transfer: bool = False  # whether a model chooses it, or it follows in place of a choice
    is_signal: bool = False  # whether it answers a signal
    is_escape: bool = False  # whether it is a way out of what a signal noticed

    @property
    def details(self) -> tuple[str, ...]:
        """What is written after the event, in pieces."""
        return (
            *([f"[{self.guard}]"] if self.guard else []),
            *([f"/ {', '.join(self.actions)}"] if self.actions else []),
            *([f"«re-enters {self.reenters}»"] if self.reenters else []),
        )


@dataclass(frozen=True, slots=True)
class Box:
    """A state: a leaf, or with `boxes` a compound or parallel one."""

    name: StateName
    title: str  # the name, without the path of the states around it
    kind: Kind
    description: str
    on_entry: tuple[str, ...]
    on_exit: tuple[str, ...]
    does: tuple[str, ...]  # the functions that it invokes
    parts: tuple[Part, ...]  # transitions that stay inside
    initial: tuple[StateName, ...]  # where a compound state begins
    recall: Recall | None  # of a history state
    boxes: tuple[Box, ...]
    is_active: bool
    is_visited: bool
    is_failure: bool = False  # of a final state: whoever ends there has failed
    defers: tuple[str, ...] = ()  # events that are kept for a later state
    transfers: str = ""  # how many choices a model has here, in words; empty for none
    expects: str = ""  # how long is normal, in words; empty where that is not said
    is_checkpoint: bool = False  # whether agents may be taken back to it
    plan: tuple[str, ...] = ()  # what is tried to get out while it is active, a line each

    @property
    def notes(self) -> tuple[str, ...]:
        """What it is; what is done on entry, meanwhile and on exit; what is chosen, deferred, expected and tried."""
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
    """All transitions from one state to another; `source` is the root where they are taken from anywhere."""

    source: StateName
    target: StateName
    parts: tuple[Part, ...]
    home: StateName  # the innermost state around both ends; the root where there is none
    is_inner: bool  # it runs inside its source, to the source or to a state in it

    @property
    def is_loop(self) -> bool:
        """Whether it leaves a state without children and enters it again."""
        return self.source == self.target and not self.is_inner

    @property
    def is_roaming(self) -> bool:
        """Whether it comes from wherever the agent is, in the graph or in the source."""
        return self.is_inner or self.source == ROOT

    @property
    def is_transfer(self) -> bool:
        """Whether all its transitions are choices of a model, or follow in place of one."""
        return all(part.is_transfer for part in self.parts)

    @property
    def is_signal(self) -> bool:
        """Whether all its transitions answer signals."""
        return all(part.is_signal for part in self.parts)

    @property
    def is_escape(self) -> bool:
        """Whether all its transitions are ways out."""
        return all(part.is_escape for part in self.parts)

    @property
    def places(self) -> tuple[int, ...]:
        """The places of the trail at which one of its transitions was taken."""
        return tuple(sorted(place for part in self.parts for place in part.places))


@dataclass(frozen=True, slots=True)
class Door:
    """An entry point: what opens it, what it takes, whereto it leads."""

    name: str
    state: StateName
    triggers: tuple[str, ...]
    takes: str  # the payload's type; empty where it takes none
    guard: str
    places: tuple[int, ...]  # in the trail, at which the agent came in here
    is_known: bool = True  # whether the graph has it, rather than others only name it
    load: str = ""  # the work that it has now, in words; empty where that is not told

    @property
    def title(self) -> str:
        """The name, where it says more than the state's."""
        return "" if self.name == self.state else self.name

    @property
    def terms(self) -> tuple[str, ...]:
        """What opens it and what it asks for, a line each."""
        return (
            *(f"on {trigger}" for trigger in self.triggers),
            *([f"takes {self.takes}"] if self.takes else []),
            *([f"[{self.guard}]"] if self.guard else []),
            *([self.load] if self.load else []),
        )


@dataclass(frozen=True, slots=True)
class Handing:
    """Work that is handed on from a state to an entry point of a graph; `source` is the root for any state."""

    source: StateName
    graph: str
    entry_point: str
    words: tuple[str, ...]  # the ways in which it is handed on: `delegate`, or `else delegate` where it was rejected
    places: tuple[int, ...] = ()  # in the trail, at which it was asked for

    @property
    def is_roaming(self) -> bool:
        """Whether it comes from wherever the agent is."""
        return self.source == ROOT


@dataclass(frozen=True, slots=True)
class Card:
    """A graph on a map, with its doors."""

    name: str
    version: str
    description: str
    doors: tuple[Door, ...]
    is_known: bool = True  # whether it is there, rather than only named


@dataclass(frozen=True, slots=True)
class Way:
    """One way of handing on work: in which state, on which event, to which entry point, and why."""

    source: str  # the state's title; the root for any state
    event: str  # in words; empty where it is tried because another graph would not take the work, or is chosen
    guard: str
    entry_point: str
    mode: str  # `transfer` or `delegate`
    reason: str  # empty where none is given
    chosen: str = ""  # by what it is found, in words; empty where it is named

    @property
    def occasion(self) -> str:
        """When work is handed on."""
        state = "any state" if self.source == ROOT else self.source
        guard = f" [{self.guard}]" if self.guard else ""
        return f"{state}: {self.event}{guard}" if self.event else state

    @property
    def purpose(self) -> str:
        """Where it goes, how and why."""
        told = (f"{self.mode} to {self.entry_point}", self.reason, self.chosen)
        return ", ".join(filter(None, told))


@dataclass(frozen=True, slots=True)
class Route:
    """All that one graph hands on to another."""

    origin: str
    graph: str
    ways: tuple[Way, ...]

    @property
    def entry_point(self) -> str:
        """The one entry point to which everything goes; empty where there are several."""
        several = {way.entry_point for way in self.ways}
        return several.pop() if len(several) == 1 else ""


@dataclass(frozen=True, slots=True)
class Map:
    """Several graphs, and what is handed on between them."""

    cards: tuple[Card, ...]
    routes: tuple[Route, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """A whole drawing."""

    name: str
    version: str
    description: str
    boxes: tuple[Box, ...]
    parts: tuple[Part, ...]  # transitions that are taken anywhere and lead nowhere
    arrows: tuple[Arrow, ...]
    doors: tuple[Door, ...]
    handings: tuple[Handing, ...]
    has_trail: bool
    plan: tuple[str, ...] = ()  # what is tried to get out anywhere, a line each

    @property
    def targets(self) -> tuple[tuple[str, str], ...]:
        """The entry points to which work is handed on, each with its graph before it."""
        return tuple(dict.fromkeys((each.graph, each.entry_point) for each in self.handings))

    def every_box(self) -> Iterator[Box]:
        """Yield all states, a parent before its children, in document order."""
        yield from _every_box(self.boxes)

    def every_part(self) -> Iterator[Part]:
        """Yield all transitions, those on arrows first."""
        yield from (part for arrow in self.arrows for part in arrow.parts)
        yield from (part for box in self.every_box() for part in box.parts)
        yield from self.parts


def _every_box(boxes: Sequence[Box]) -> Iterator[Box]:
    for box in boxes:
        yield box
        yield from _every_box(box.boxes)
