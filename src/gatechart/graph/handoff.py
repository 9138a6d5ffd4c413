"""Handing on work, as a graph declares it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from gatechart.graph.delays import Delay
from gatechart.values import Mode, Name, Reason, name_of

Told: TypeAlias = Callable[[Any, Any], Any]  # (context, event)


@dataclass(frozen=True)
class Handoff:
    """An action that offers the work to another agent: `actions=[Handoff("refunds", at="REVIEWING")]`.

    As it is declared, drawings show where it leads, and checks know it. What it means is told at `Turn.handoff`.
    """

    to: str  # the name of the graph
    at: str  # the entry point's
    mode: Mode
    reason: Reason
    deadline: Delay | None
    ladder: Any  # a gatechart.handoff.Ladder
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
        ladder: Any = None,
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
            "ladder": ladder,
            "packet": packet,
            "agent": agent,
            "achieved": achieved,
        }
        for name, content in fields.items():
            object.__setattr__(self, name, content)

    @property
    def __name__(self) -> str:
        return f"{self.mode.value} to {self.to} at {self.at}"

    def __call__(self, context: Any, event: Any, turn: Any) -> None:
        turn.handoff(
            self.to,
            at=self.at,
            packet=None if self.packet is None else self.packet(context, event),
            reason=self.reason,
            agent=None if self.agent is None else self.agent(context, event),
            mode=self.mode,
            deadline=self.deadline,
            ladder=self.ladder,
            achieved="" if self.achieved is None else self.achieved(context, event),
        )
