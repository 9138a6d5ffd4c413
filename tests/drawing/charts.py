"""The charts that are drawn here, and what their agents went through. Run as a module, it writes the pins anew."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pydantic import BaseModel

from gatechart import ANY, AgentContext, EntryPoint, Invoke, State, StateTransitionGraph, Transition
from gatechart.drawing import to_dot, to_mermaid
from gatechart.graph.handoff import Fallbacks, Handoff, Human, OtherGraph, SameTarget
from gatechart.values.agents import Event, Snapshot, Status
from gatechart.values.names import STARTED
from gatechart.values.queries import HistoryEntry
from tests.skipped import LOUD

PINS = Path(__file__).parent / "pins"
SVG = "{http://www.w3.org/2000/svg}"

needs_dot = pytest.mark.skipif(
    shutil.which("dot") is None, reason=f"{LOUD}Graphviz: without the program `dot` no drawing can be tested"
)


class Case(AgentContext):
    customer: str = ""


class CaseFile(BaseModel):
    customer: str


def is_solved(context: Case, event: Event) -> bool:
    return True


def note(context: Case, event: Event) -> None: ...


def notify(context: Case, event: Event) -> None: ...


support = StateTransitionGraph(
    "support",
    version="2",
    context=Case,
    description="Helps customers.",
    states=[
        State("WAITING", on_entry=notify, on_exit=[note, notify], description="Nobody has come yet."),
        State("WORKING", states=["READING", "ANSWERING"], on_entry=note),
        State("DONE", final=True),
        State("FAILED", final=True),
    ],
    transitions=[
        Transition("WAITING", "ASKED", "WORKING", actions=note),
        Transition("WAITING", "PINGED", actions=note),
        Transition("READING", "READ", "ANSWERING", guard=is_solved),
        Transition("READING", "READ", "READING"),
        Transition("ANSWERING", "REJECTED", "READING", guard=lambda context, event: True),
        Transition("WORKING", "SOLVED", "DONE"),
        Transition("WORKING", "CLOSED", "DONE", actions=[note, notify]),
        Transition("WORKING", "RESTARTED", "WORKING"),
        Transition(ANY, "TIMED_OUT", "FAILED"),
        Transition(ANY, "NOTED", actions=note),
    ],
    entry_points=[
        "WAITING",
        EntryPoint("READING", "handover", opens_on=["HANDED_OVER", "RETURNED"], takes=CaseFile, guard=is_solved),
    ],
)


FALLBACKS = Fallbacks(SameTarget(), OtherGraph("specialists", at="REVIEWING"), Human("support", at="handover"))

orders = StateTransitionGraph(
    "orders",
    context=Case,
    states=[
        State("TALKING", states=["LISTENING", "ANSWERING"]),
        State("TRACKING", invoke=Invoke(agent="parcels", at="SEARCHING")),
        State("WAITING"),
        State("DONE", final=True),
    ],
    transitions=[
        Transition("LISTENING", "ASKED", "ANSWERING", guard=is_solved),
        Transition("ANSWERING", "LOST", "TRACKING"),
        Transition(
            "TALKING", "COMPLAINED", "WAITING", actions=Handoff("specialists", at="REVIEWING", fallbacks=FALLBACKS)
        ),
        Transition("TALKING", "ENDED", "DONE"),
        Transition("TRACKING", "done.invoke.parcels", "LISTENING"),
        Transition("WAITING", "handoff", "LISTENING"),
        Transition(ANY, "PERSON_WANTED", "WAITING", actions=Handoff("support", at="handover", mode="delegate")),
    ],
    entry_points=[EntryPoint("LISTENING", opens_on="CHAT_OPENED"), "ANSWERING"],
)

specialists = StateTransitionGraph(
    "specialists",
    context=Case,
    description="Know what orders can be about.",
    states=[State("WAITING", on_entry=Handoff("specialists", at="AGAIN", mode="delegate"))],
    transitions=[
        Transition("REVIEWING", "MISTAKEN", "WAITING", actions=Handoff("orders", at="ANSWERING")),
        Transition("REVIEWING", "HELP_WANTED", "WAITING", actions=Handoff("support", at="nowhere")),
    ],
    entry_points=["REVIEWING", EntryPoint("REVIEWING", "AGAIN")],
)


def snapshot(graph: StateTransitionGraph, *configuration: str) -> Snapshot:
    return Snapshot("a1", graph.name, graph.version, graph.fingerprint, configuration, "{}", 3, Status.ACTIVE)


def turn(source: str, target: str, *taken: str, event: str = "EVENT") -> HistoryEntry:
    """A turn from leaf to leaf; without a source, the one that started the agent."""
    happened = Event(event, {}, datetime(2024, 1, 1, tzinfo=UTC))
    return HistoryEntry("a1", 1, happened, (source,) if source else (), (target,), taken, {}, Status.ACTIVE, 10)


SNAPSHOT = snapshot(support, "ANSWERING")
HISTORY = (
    turn("", "READING", event=f"{STARTED}handover"),
    turn("READING", "READING", "READING --READ--> READING"),
    turn("READING", "READING", "* --NOTED"),
    turn("READING", "ANSWERING", "READING --READ--> ANSWERING"),
)


def svg_of(dot: str) -> ElementTree.Element:
    """What Graphviz draws from the text; whatever it complains of fails the test."""
    done = subprocess.run(["dot", "-Tsvg"], input=dot.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr.decode()) == (0, ""), dot
    return ElementTree.fromstring(done.stdout)


def words_of(svg: ElementTree.Element) -> str:
    """All that is written in a drawing, without spaces, which Graphviz makes of several kinds."""
    return "".join("".join(text.text or "" for text in svg.iter(f"{SVG}text")).split())


def pins() -> Iterator[tuple[Path, str]]:
    yield PINS / "support.dot", to_dot(support)
    yield PINS / "support.lived.dot", to_dot(support, highlight=SNAPSHOT, trail=HISTORY)
    yield PINS / "support.mmd", to_mermaid(support)
    yield PINS / "orders.dot", to_dot(orders)
    yield PINS / "orders.mmd", to_mermaid(orders)
    yield PINS / "map.dot", to_dot([orders, specialists, support])
    yield PINS / "map.mmd", to_mermaid([orders, specialists, support])
    yield PINS / "support.lived.mmd", to_mermaid(support, highlight=SNAPSHOT, trail=HISTORY)


if __name__ == "__main__":
    for path, text in pins():
        path.write_text(text, encoding="utf-8")
