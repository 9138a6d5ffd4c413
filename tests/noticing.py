"""What the tests of signals share: plain detectors, and a graph that they watch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from gatechart.context import AgentContext
from gatechart.graph.definition import EntryPoint, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.signals import Signal
from gatechart.turn.turn_context import Turn
from gatechart.values.agents import Event
from gatechart.values.detectors import HOLDS, Detector, Evidence, Look
from gatechart.values.handoffs import Reason
from gatechart.values.trail import CALLED, MOVED, Called


@dataclass(frozen=True, slots=True)
class Moves(Detector):
    """Holds once the agent has moved so often in a row, until it moves to the state named."""

    sees: ClassVar[int] = MOVED
    reason: ClassVar[Reason] = Reason.LOOP_DETECTED

    most: int = 3
    until: str = "REST"

    def after(self, slot: str, look: Look) -> str:
        count = 0 if look.after == (self.until,) else int(slot[1:] or 0) + 1
        return f"{HOLDS if count >= self.most else '-'}{count}"

    def evidence(self, slot: str, look: Look) -> Evidence:
        return {"moves": int(slot[1:]), "trail": len(look.read_trail())}


@dataclass(frozen=True, slots=True)
class Failures(Detector):
    """Holds once so many calls have failed."""

    sees: ClassVar[int] = CALLED
    reason: ClassVar[Reason] = Reason.TOOL_FAILURE

    most: int = 2

    def after(self, slot: str, look: Look) -> str:
        failed = [each for each in look.entries if isinstance(each, Called) and not each.ok]
        count = int(slot[1:] or 0) + len(failed)
        return f"{HOLDS if count >= self.most else '-'}{count}"

    def evidence(self, slot: str, look: Look) -> Evidence:
        return {"failures": int(slot[1:])}


class Watched(AgentContext):
    seen: list[Any] = Field(default_factory=list)
    task: str = ""
    done: int = 0


def see(context: Watched, event: Event) -> None:
    context.seen.append(event.payload)


def call_payload(tool: str = "search", *, ok: bool = True, arguments: str = "") -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments, "ok": ok}


def go_round(*answers: Transition[Any], signals: Any = (), **more: Any) -> StateTransitionGraph[Watched]:
    """Two states between which GO leads for ever, and REST, which ends the row."""
    graph: StateTransitionGraph[Watched] = StateTransitionGraph(
        "round",
        context=Watched,
        states=[*more.pop("states", ["HERE", "THERE", "REST"])],
        transitions=[
            Transition("HERE", "GO", "THERE"),
            Transition("THERE", "GO", "HERE"),
            Transition("REST", "GO", "HERE"),
            Transition("HERE", "REST", "REST"),
            Transition("THERE", "REST", "REST"),
            Transition("HERE", "STAY", actions=lambda context, event: None),
            *answers,
        ],
        entry_points=[EntryPoint("HERE"), EntryPoint("THERE", signals=Signal(Moves(9), "moves") if signals else None)],
        signals=signals,
        **more,
    )
    return graph


__all__ = ["Failures", "Moves", "State", "Turn", "Watched", "call_payload", "go_round", "see"]
