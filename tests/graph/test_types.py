"""What mypy --strict says of graphs: the errors stand beside the lines that make them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mypy import api

PROGRAM = """
from __future__ import annotations

from gatechart.context import AgentContext
from gatechart.graph import EntryPoint, Handoff, Invoke, State, StateTransitionGraph, Then, Transition
from gatechart.turn import Turn
from gatechart.values import Event, Snapshot


class Talk(AgentContext):
    query: str = ""


class Order(AgentContext):
    number: int = 0


class Services:
    words: int = 0


def is_asked(context: Talk, event: Event) -> bool:
    return bool(context.query)


def is_active(context: Talk, event: Event, configuration: frozenset[str]) -> bool:
    return "A" in configuration


def is_large(context: Order, event: Event) -> bool:
    return context.number > 9


def is_odd(context: int, event: str) -> bool:
    return True


def keep(context: Talk, event: Event) -> None: ...


def count(context: Talk, event: Event, turn: Turn[Services]) -> None:
    turn.services.words += 1


async def tell(context: AgentContext, event: Event) -> None: ...


def search(context: Talk, work: object) -> str:
    return context.query


talk = StateTransitionGraph(
    "talk",
    context=Talk,
    states=[
        State("A", on_entry=count, after={"3s": Then("B", guard=is_asked)}),
        "B",
        State("C", invoke=Invoke(search, timeout_s=3), states=["D", State("E", on_exit=[keep, count, tell])]),
        State("F", invoke=search),
    ],
    transitions=[
        Transition("A", "GO", "B"),
        Transition("A", "GO", "B", guard=is_asked),
        Transition("A", "GO", "B", guard=is_active, actions=[keep, count, tell]),
        Transition("A", "GO", "B", guard=lambda context, event: bool(context.query), actions=tell),
        Transition("A", "GO", "B", actions=[keep, Handoff("order", at="A")]),
    ],
    entry_points=["A", EntryPoint("B", guard=is_asked)],
)
reveal_type(talk)  # note: Revealed type is "gatechart.graph.graph.StateTransitionGraph[program.Talk]"

step = Transition("A", "GO", "B")
steps = [Transition("A", "GO", "B", guard=is_asked), Transition("A", "GO", "B", guard=is_active)]
reveal_type(StateTransitionGraph("plain", states=["A"], transitions=step))  # note: Revealed type is \
"gatechart.graph.graph.StateTransitionGraph[gatechart.context.AgentContext]"
reveal_type(StateTransitionGraph("kept", context=Talk, transitions=steps).context().query)  # note: Revealed type is \
"str"


def asked(snapshot: Snapshot) -> str:
    return reveal_type(talk.context_of(snapshot).query)  # note: Revealed type is "str"


Transition("A", "GO", guard=is_odd)  # error: Argument "guard" to "Transition" has incompatible type \
"Callable[[int, str], bool]"
Transition("A", "GO", actions=[keep, is_odd])  # error: List item 1 has incompatible type "Callable[[int, str], bool]"
EntryPoint("A", guard=is_odd)  # error: Argument "guard" to "EntryPoint" has incompatible type
State("A", on_entry=is_odd)  # error: Argument "on_entry" to "State" has incompatible type
StateTransitionGraph("a", context=Talk, transitions=[Transition("A", "GO", guard=is_large)])  # error: Cannot infer \
value of type parameter "ContextT" of "StateTransitionGraph"
StateTransitionGraph("b", transitions=[Transition("A", "GO", guard=is_asked)])  # error: Argument "guard" to \
"Transition" has incompatible type "Callable[[Talk, Event], bool]"
StateTransitionGraph("c", context=Talk, transitions=steps).context().number  # error: "Talk" has no attribute "number"


def begun(graph: StateTransitionGraph) -> None: ...  # error: Missing type arguments for generic type
""".lstrip().replace("\\\n", "")


@pytest.mark.slow
def test_a_type_checker_knows_the_context_of_a_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    monkeypatch.setenv("MYPYPATH", str(Path("src").resolve()))
    monkeypatch.chdir(tmp_path)
    told, _, _ = api.run(["--strict", "--no-error-summary", f"--cache-dir={tmp_path / 'cache'}", "program.py"])
    found = re.findall(r"^program\.py:(\d+): (\w+: .*)$", told, flags=re.MULTILINE)
    expected = {
        number: line.partition("  # ")[2].strip()
        for number, line in enumerate(PROGRAM.splitlines(), 1)
        if "  # error: " in line or "  # note: " in line
    }
    assert {int(number) for number, _ in found} == set(expected), told
    assert all(text.startswith(expected[int(number)]) for number, text in found), told
