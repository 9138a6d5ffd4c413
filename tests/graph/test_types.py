"""What strict type checkers say of graphs: types and errors stand beside the lines that have them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.checkers import CHECKERS, check

PROGRAM = """
from __future__ import annotations

from gatechart import Agent, Ladder, Runtime, load, sync  # error: Module "gatechart" has no attribute
from gatechart.clients import DatabaseClient, HttpClient, Ladders  # error: Module "gatechart.clients" has no attribute
from gatechart.context import AgentContext
from gatechart import EntryPoint, Event, Handoff, Invoke, Snapshot, State, StateTransitionGraph, Then, Transition, Turn


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
reveal_type(talk)  # is: StateTransitionGraph[Talk]

step = Transition("A", "GO", "B")
steps = [Transition("A", "GO", "B", guard=is_asked), Transition("A", "GO", "B", guard=is_active)]
reveal_type(StateTransitionGraph("plain", states=["A"], transitions=step))  # is: StateTransitionGraph[AgentContext]
reveal_type(StateTransitionGraph("offering", context=Talk, transitions=Transition("A", "GO", "B", \
actions=Handoff("order", at="A"))))  # is: StateTransitionGraph[Talk]
reveal_type(load("talk.yaml"))  # is: StateTransitionGraph[Any]
reveal_type(load("talk.yaml", context=Talk))  # is: StateTransitionGraph[Talk]
load("talk.yaml", context=Services)  # error: Value of type variable "ContextT" of "load" cannot be
reveal_type(StateTransitionGraph("kept", context=Talk, transitions=steps).context().query)  # is: str


def asked(snapshot: Snapshot) -> str:
    return reveal_type(talk.context_of(snapshot).query)  # is: str


async def started(runtime: Runtime, client: DatabaseClient, server: HttpClient) -> None:
    reveal_type((await runtime.start(talk, at="A")).context.query)  # is: str
    reveal_type(await runtime.start_or_resume(talk, at="A", agent_id="a"))  # is: Agent[Talk]
    reveal_type(await client.start(talk, at="A"))  # is: Agent[Talk]
    reveal_type(await server.start(talk, at="A"))  # is: Agent[Talk]
    agent: Agent[Talk] = await runtime.resume("a")
    reveal_type(agent.context.query)  # is: str
    agent.context.number  # error: "Talk" has no attribute "number"
    with sync.open("memory:", graphs=[talk]) as waiting:
        reveal_type(waiting.start(talk, at="A"))  # is: Agent[Talk]
        reveal_type(waiting.start(talk, at="A").context.query)  # is: str
        reveal_type(waiting.start_or_resume(talk, at="A", agent_id="a").send("GO"))  # is: Outcome
        waiting.start(talk, att="A")  # error: Unexpected keyword argument "att"
        waiting.send("a", event_id="1")  # error: Too few arguments
        with waiting.changes() as changes:
            reveal_type(next(changes))  # is: HistoryEntry
        reveal_type(list(waiting.migrate(dry_run=True)))  # is: list[Migrated]


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
@pytest.mark.parametrize("checker", CHECKERS)
def test_a_type_checker_knows_the_context_of_a_graph(checker, tmp_path, processes) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    said = check(checker, tmp_path)
    assert {each.place: each.type for each in said if each.type} == dict(beside("is"))
    errors = dict(beside("error"))
    assert {each.place for each in said if each.error} == set(errors), said
    if checker == "mypy":  # whose words they are
        told = [(each.place, each.error) for each in said]
        assert [text for at, text in errors.items() if not any(a == at and e.startswith(text) for a, e in told)] == []


def beside(what: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(PROGRAM.splitlines(), 1):
        _, said, text = line.partition(f"  # {what}: ")
        if said:
            yield f"program.py:{number}", text
