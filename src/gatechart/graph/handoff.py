"""Handoffs as a graph declares them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from gatechart.graph.callables import Step
from gatechart.graph.compile import Edge, Node
from gatechart.graph.definition import Invoke, callable_name
from gatechart.graph.delays import Delay
from gatechart.graph.fallbacks import Fallbacks
from gatechart.values import Mode, Name, Reason, name_of

Policy: TypeAlias = Callable[[Any], bool | str]  # called with the packet; a text is the reason for a refusal


@dataclass(frozen=True)
class Accepts:
    """The limits on handoffs to agents of a graph, at any entry point.

    A handoff holds its slot from before the turn that accepts it until it is over.
    """

    capacity: int | None = None  # handoffs that its agents have at once; None: unlimited
    policy: Policy | None = None  # False or a text refuses, and a retry is refused, too

    def __post_init__(self) -> None:
        if self.capacity is not None and self.capacity < 0:
            raise ValueError(f"Accepts(capacity={self.capacity!r}) cannot be; give 0 or more, or None for no bound")

    def objection(self, packet: Any) -> str:
        """Return why the policy refuses the packet; empty if it accepts."""
        answer = True if self.policy is None else self.policy(packet)
        return answer if isinstance(answer, str) else "" if answer else "its policy does not accept it"


Told: TypeAlias = Callable[[Any, Any], Any]  # (context, event)


@dataclass(frozen=True)
class Handoff:
    """An action that offers the work to another agent: `actions=[Handoff("refunds", at="REVIEWING")]`.

    Because it is declared, drawings show where it leads, and checks can examine it. Its effect is described at
    `Turn.handoff`. The graph's fingerprint covers `to`, `at`, `mode` and the functions' names.
    """

    to: str  # name of the graph
    at: str  # name of the entry point
    mode: Mode
    reason: Reason
    deadline: Delay | None
    fallbacks: Fallbacks | None
    packet: Told | None  # builds the packet; by default it is built from the context
    agent: Told | None  # returns the id of an existing agent; a new one by default, and for None
    achieved: Told | None  # says what this agent has done

    def __init__(
        self,
        to: Name,
        *,
        at: Name,
        mode: Mode | str = Mode.TRANSFER,
        reason: Reason | str = Reason.OTHER,
        deadline: Delay | None = None,
        fallbacks: Fallbacks | None = None,
        packet: Told | None = None,
        agent: Told | None = None,
        achieved: Told | None = None,
    ) -> None:
        fields = {
            "to": name_of(to),
            "at": name_of(at),
            "mode": Mode(mode),
            "reason": Reason(reason),
            "deadline": deadline,
            "fallbacks": fallbacks,
            "packet": packet,
            "agent": agent,
            "achieved": achieved,
        }
        for name, content in fields.items():
            object.__setattr__(self, name, content)

    @property
    def __name__(self) -> str:
        return f"{self.mode.value} to {self.to} at {self.at}"

    @property
    def names(self) -> tuple[str | None, ...]:
        """Own name and the names of its functions."""
        functions = (self.packet, self.agent, self.achieved)
        return self.__name__, *(None if each is None else callable_name(each) for each in functions)

    def __call__(self, context: Any, event: Any, turn: Any) -> None:
        """Offer the work through the turn."""
        turn.handoff(
            self.to,
            at=self.at,
            packet=None if self.packet is None else self.packet(context, event),
            reason=self.reason,
            agent=None if self.agent is None else self.agent(context, event),
            mode=self.mode,
            deadline=self.deadline,
            fallbacks=self.fallbacks,
            achieved="" if self.achieved is None else self.achieved(context, event),
        )


@dataclass(frozen=True, slots=True)
class Asking:
    """A place in a graph where work is handed on."""

    state: str  # the state that the agent is in, enters or leaves, or that invokes
    handoff: Handoff
    edge: Edge | None = None  # the transition that has the action
    is_left: bool = False  # whether it happens when the state is left
    invoke: str = ""  # id of the invoke that delegates


def askings(nodes: Mapping[str, Node]) -> Iterator[Asking]:
    """Yield the places where a graph declares that it hands on work, in document order."""
    for node in nodes.values():
        default = node.default.steps if node.default else ()
        yield from (Asking(node.name, each) for each in _declared((*node.on_entry, *default)))
        yield from (Asking(node.name, _of_invoke(each), invoke=each.id) for each in node.invokes if each.agent)
        yield from (Asking(node.name, each, is_left=True) for each in _declared(node.on_exit))
        for edge in node.edges:
            yield from (Asking(node.name, each, edge) for each in _declared(edge.steps))


def _declared(steps: tuple[Step, ...]) -> Iterator[Handoff]:
    return (step.function for step in steps if isinstance(step.function, Handoff))


def _of_invoke(invoke: Invoke) -> Handoff:
    return Handoff(
        invoke.agent,
        at=invoke.at,
        mode=Mode.DELEGATE,
        deadline=invoke.timeout_s,
        fallbacks=invoke.fallbacks,
        packet=invoke.packet,
    )
