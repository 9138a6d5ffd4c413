"""Fallbacks of a handoff: other targets for work whose offer was rejected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from gatechart.values import Name, Retry, name_of


@dataclass(frozen=True, slots=True)
class SameTarget(Retry):
    """A retry of the same target after a wait, if the obstacle is temporary.

    `attempts` counts all offers to the target, including the first. It applies to whichever target was tried last.
    """

    attempts: int = 3


@dataclass(frozen=True, slots=True, init=False, repr=False)
class _Target:
    graph: str
    at: str  # an entry point
    agent: str  # an existing agent of the graph; a new one if empty

    def __init__(self, graph: Name, *, at: Name = "", agent: str = "") -> None:
        name = name_of(graph)
        if not name:
            raise ValueError(f"{type(self).__name__} needs the name of a graph")
        for field, text in (("graph", name), ("at", name_of(at)), ("agent", agent)):
            object.__setattr__(self, field, text)

    def __repr__(self) -> str:
        at = f", at={self.at!r}" if self.at else ""
        agent = f", agent={self.agent!r}" if self.agent else ""
        return f"{type(self).__name__}({self.graph!r}{at}{agent})"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class OtherGraph(_Target):
    """An offer to another graph at an entry point: to a new agent, or to an existing one."""


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Human(_Target):
    """An offer to a person's graph at an entry point: to a new agent, or to an existing one."""


Step: TypeAlias = SameTarget | OtherGraph | Human


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Fallbacks:
    """The fallbacks of an offer that is rejected.

    They are tried in this order, except as `gatechart.handoff.next_offer` describes.

    >>> Fallbacks(SameTarget(attempts=2), OtherGraph("experts", at="REVIEWING"), Human("human_desk", at="NORMAL")).steps
    (SameTarget(attempts=2, first_s=1.0, factor=2.0, most_s=60.0), OtherGraph('experts', at='REVIEWING'), \
Human('human_desk', at='NORMAL'))
    """

    steps: tuple[Step, ...]

    def __init__(self, *steps: Step) -> None:
        for step in steps:
            if not isinstance(step, SameTarget | OtherGraph | Human):
                raise TypeError(f"{step!r} is not a fallback; use SameTarget(...), OtherGraph(...) or Human(...)")
        object.__setattr__(self, "steps", steps)

    def __repr__(self) -> str:
        return f"Fallbacks({', '.join(map(repr, self.steps))})"

    @property
    def targets(self) -> Iterator[OtherGraph | Human]:
        """Steps that lead to other targets, in order."""
        return (step for step in self.steps if not isinstance(step, SameTarget))
