"""Handing on work, as a graph declares it."""

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

Policy: TypeAlias = Callable[[Any], bool | str]  # asked with the packet; a text says why not


@dataclass(frozen=True)
class Accepts:
    """The bounds within which handoffs to agents of a graph are accepted, at whatever entry point.

    A handoff holds its place from before the turn that takes it until it is over.
    """

    capacity: int | None = None  # handoffs that its agents have at once; None: any number
    policy: Policy | None = None  # False or a text: not accepted, and not if it is tried again

    def __post_init__(self) -> None:
        if self.capacity is not None and self.capacity < 0:
            raise ValueError(f"Accepts(capacity={self.capacity!r}) cannot be; give 0 or more, or None for no bound")

    def objection(self, packet: Any) -> str:
        """Why the policy does not accept the packet; empty where it does."""
        answer = True if self.policy is None else self.policy(packet)
        return answer if isinstance(answer, str) else "" if answer else "its policy does not accept it"


Told: TypeAlias = Callable[[Any, Any], Any]  # (context, event)


@dataclass(frozen=True)
class Handoff:
    """An action that offers the work to another agent: `actions=[Handoff("refunds", at="REVIEWING")]`.

    As it is declared, drawings show where it leads, and checks know it. What it means is told at `Turn.handoff`. The
    graph's fingerprint covers `to`, `at`, `mode` and the functions' names.
    """

    to: str  # the name of the graph
    at: str  # the entry point's
    mode: Mode
    reason: Reason
    deadline: Delay | None
    fallbacks: Fallbacks | None
    packet: Told | None  # makes the packet; what the context has of it where left out
    agent: Told | None  # gives the id of a living agent; a new one where left out, and for None
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
        """Its own name and those of its functions."""
        functions = (self.packet, self.agent, self.achieved)
        return self.__name__, *(None if each is None else callable_name(each) for each in functions)

    def __call__(self, context: Any, event: Any, turn: Any) -> None:
        """Offers the work as the turn does it."""
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

    state: str  # that the agent is in, comes into or leaves, or that invokes
    handoff: Handoff
    edge: Edge | None = None  # on which it stands
    is_left: bool = False  # whether it is done as the state is left
    invoke: str = ""  # the id of the invoke that it is


def askings(nodes: Mapping[str, Node]) -> Iterator[Asking]:
    """The places where a graph hands on work, as far as it declares that, in document order."""
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
