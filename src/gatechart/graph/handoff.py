"""Handoffs as a graph declares them: targets, fallbacks, and limits on accepted handoffs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from pydantic import BaseModel

from gatechart.context import AgentContext
from gatechart.graph.callables import callable_name
from gatechart.graph.selection import Best
from gatechart.values.agents import Event
from gatechart.values.delays import Delay, Retry
from gatechart.values.frozen import fill
from gatechart.values.handoffs import Mode, Reason
from gatechart.values.names import AgentId, EventName, Name, name_of
from gatechart.values.profiles import HIGHEST_CAPACITY

Policy: TypeAlias = Callable[[Any], bool | str]  # called with the packet; a text is the reason for a refusal
Told: TypeAlias = Callable[[Any, Any], Any]  # (context, event)


@dataclass(frozen=True, slots=True)
class SameTarget(Retry):
    """A retry of the same target after a wait, if the obstacle is temporary.

    `attempts` counts all offers to the target, including the first. The retry applies to the target tried last.
    """

    attempts: int = 3

    def __post_init__(self) -> None:
        Retry.__post_init__(self)
        if self.jitter:
            raise ValueError(f"{self} is not possible: offers are made again at exact moments, without jitter")


@dataclass(frozen=True, slots=True, init=False, repr=False)
class _Target:
    graph: str
    at: str  # an entry point
    agent: str  # an existing agent of the graph; a new one if empty

    def __init__(self, graph: Name, *, at: Name = "", agent: str = "") -> None:
        name = name_of(graph)
        if not name:
            raise ValueError(f"{type(self).__name__} needs the name of a graph")
        fill(self, graph=name, at=name_of(at), agent=agent)

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


Fallback: TypeAlias = SameTarget | OtherGraph | Human | Best


MOST_FALLBACKS: Final = 1_000
"""The maximum number of fallbacks of one handoff. All of them are read and written with each attempt."""


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Fallbacks:
    """The fallbacks of a rejected offer, 1,000 at most.

    They are tried in this order, except as `gatechart.handoff.next_offer` describes.

    >>> Fallbacks(SameTarget(attempts=2), OtherGraph("experts", at="REVIEWING"), Human("human_desk", at="NORMAL")).steps
    (SameTarget(attempts=2, first_s=1.0, factor=2.0, most_s=60.0, jitter=0.0), OtherGraph('experts', at='REVIEWING'), \
Human('human_desk', at='NORMAL'))
    """

    steps: tuple[Fallback, ...]

    def __init__(self, *steps: Fallback) -> None:
        for step in steps:
            if not isinstance(step, SameTarget | OtherGraph | Human | Best):
                kinds = "SameTarget(...), OtherGraph(...), Human(...) or Best(...)"
                raise TypeError(f"{step!r} is not a fallback; use {kinds}")
        if len(steps) > MOST_FALLBACKS:
            raise ValueError(f"{len(steps):,} fallbacks are too many; give {MOST_FALLBACKS:,} or fewer")
        object.__setattr__(self, "steps", steps)

    def __repr__(self) -> str:
        return f"Fallbacks({', '.join(map(repr, self.steps))})"

    @property
    def targets(self) -> Iterator[OtherGraph | Human]:
        """The steps that name other targets, in order."""
        return (step for step in self.steps if isinstance(step, OtherGraph | Human))

    @property
    def selections(self) -> Iterator[Best]:
        """The steps that select the best target in the directory, in order."""
        return (step for step in self.steps if isinstance(step, Best))


def unanswered(handoff: Handoff) -> tuple[EventName, ...]:
    """Return the events that inform an agent that no target accepted a transfer."""
    is_tried_on = bool(handoff.selections or (handoff.fallbacks and handoff.fallbacks.steps))
    return ("handoff.failed" if is_tried_on else "handoff.rejected", "handoff.expired")


@dataclass(frozen=True)
class Accepts:
    """The limits on handoffs to agents of a graph, at any entry point.

    A handoff holds a slot from just before the turn that accepts it until it is over.
    """

    capacity: int | None = None  # concurrent handoffs to its agents; None: unlimited
    policy: Policy | None = None  # False or a text refuses; retries are refused, too

    def __post_init__(self) -> None:
        if self.capacity is not None and not 0 <= self.capacity <= HIGHEST_CAPACITY:
            bounds = f"give a number from 0 to {HIGHEST_CAPACITY:,}, or None for no bound"
            raise ValueError(f"Accepts(capacity={self.capacity!r}) cannot be; {bounds}")

    def objection(self, packet: Any) -> str:
        """Return why the policy refuses the packet; empty if it accepts."""
        answer = True if self.policy is None else self.policy(packet)
        return answer if isinstance(answer, str) else "" if answer else "its policy does not accept it"


@dataclass(frozen=True)
class Handoff:
    """An offer of the work to another agent. For its effect see `Turn.handoff`.

    As an action, `actions=[Handoff("refunds", at="REVIEWING")]`, it appears in drawings and is covered by checks. Then
    `packet`, `agent` and `achieved` are functions of (context, event), and the deadline is a delay. The graph's
    fingerprint covers `to`, `at`, `mode` and the functions' names. `Handoff(Best(...))` names no entry point and no
    agent: the target is chosen from the entry points in the directory after the turn.

    From outside, as in `runtime.handoff(agent_id, Handoff("refunds", at="REVIEWING"))`, `packet` is a HandoffPacket,
    `agent` is an id, and `achieved` is not used.
    """

    to: str | Best  # name of the graph, or a selection of the target
    at: str  # name of the entry point; empty if the target is selected
    mode: Mode
    reason: Reason | None  # None: the packet's reason
    deadline: Delay | datetime | None
    fallbacks: Fallbacks | None
    packet: Told | BaseModel | None  # by default built from the context
    agent: Told | AgentId | None  # an existing agent; a new one by default, and if the function returns None
    achieved: Told | None  # describes what this agent has achieved
    transcript: bool  # whether the packet also has the messages of the agent's model loops

    def __init__(
        self,
        to: Name | Best,
        *,
        at: Name = "",
        mode: Mode | str = Mode.TRANSFER,
        reason: Reason | str | None = None,
        deadline: Delay | datetime | None = None,
        fallbacks: Fallbacks | None = None,
        packet: Told | BaseModel | None = None,
        agent: Told | AgentId | None = None,
        achieved: Told | None = None,
        transcript: bool = True,
    ) -> None:
        fields = {
            "to": to if isinstance(to, Best) else name_of(to),
            "at": name_of(at),
            "mode": Mode(mode),
            "reason": None if reason is None else Reason(reason),
            "deadline": deadline,
            "fallbacks": fallbacks,
            "packet": packet,
            "agent": agent,
            "achieved": achieved,
            "transcript": transcript,
        }
        fill(self, **fields)

    @property
    def __name__(self) -> str:
        return f"{self.mode.value} to {self.target}" if self.best else f"{self.mode.value} to {self.to} at {self.at}"

    @property
    def best(self) -> Best | None:
        """The selection of the target; None if the graph names it."""
        return self.to if isinstance(self.to, Best) else None

    @property
    def target(self) -> str:
        """Name of the graph, or of the selection."""
        return self.to.name if isinstance(self.to, Best) else self.to

    @property
    def selections(self) -> tuple[Best, ...]:
        """The selections of its target and of its fallbacks."""
        own = () if self.best is None else (self.best,)
        return own if self.fallbacks is None else (*own, *self.fallbacks.selections)

    @property
    def names(self) -> tuple[str | None, ...]:
        """Its own name and the names of its functions, including the functions of its selections."""
        chosen_by = (callable_name(function) for best in self.selections for function in best.functions)
        return (
            self.__name__,
            *(None if function is None else callable_name(function) for function in self.functions),
            *chosen_by,
        )

    @property
    def functions(self) -> tuple[Any, Any, Any]:
        """The functions for packet, agent and achieved, each None if not declared."""
        return self.packet, self.agent, self.achieved

    def __call__(self, context: AgentContext, event: Event, turn: Any) -> None:
        """Offer the work through the turn."""
        packet, agent, achieved = self.functions
        turn.handoff(
            self.to,
            at=self.at,
            packet=None if packet is None else packet(context, event),
            reason=self.reason,
            agent=None if agent is None else agent(context, event),
            mode=self.mode,
            deadline=self.deadline,
            fallbacks=self.fallbacks,
            achieved="" if achieved is None else achieved(context, event),
            transcript=self.transcript,
        )
