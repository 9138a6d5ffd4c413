"""Which transition is asked first where several of the active states take an event."""

from __future__ import annotations

import asyncio
import json

import pytest

from gatechart.charts import dump, load
from gatechart.contrib.scxml import read
from gatechart.graph.definition import ANY, Invoke, Precedence, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.testing import rehearse
from tests.checks.support import graph_of
from tests.support import Trail


def count(context, event):
    context.trail.append("counted")


async def work(context, work):
    return {"found": 1}


async def fail(context, work):
    raise ValueError


def leaves_after(graph, *events, seconds=0.0):
    async def lived():
        async with rehearse(graph) as agent:
            for event in events:
                await agent.send(event)
            await agent.advance(seconds)
            return agent.leaves, getattr(agent.context, "trail", [])

    return asyncio.run(lived())


def of_trail(*transitions, states=(), **rest):
    return graph_of(transitions, states=states, context=Trail, **rest)


# A state's own timers and results


def python(has, event=""):
    ways = [Transition("A", "*", actions=count), *([Transition("A", event, "B")] if event else [])]
    return of_trail(*ways, states=[State("A", **has)])


TIMER = {"python": ({"after": {"200ms": "B"}},), "yaml": "after: {200ms: B}", "xstate": {"after": {"200": "B"}}}
DONE = {
    "python": ({"invoke": Invoke(work, id="job")}, "done.invoke.job"),
    "yaml": "invoke: {src: work, id: job, onDone: B}",
    "xstate": {"invoke": {"src": "work", "id": "job", "onDone": "B"}},
}
FAILED = {
    "python": ({"invoke": Invoke(fail, id="job")}, "error.invoke.job"),
    "yaml": "invoke: {src: fail, id: job, onError: B}",
    "xstate": {"invoke": {"src": "fail", "id": "job", "onError": "B"}},
}
ANY_EVENT = 'on: {"*": {actions: count}}'
FUNCTIONS = {"count": count, "work": work, "fail": fail}


def yaml(*keys):
    lines = "\n".join(f"    {key}" for key in keys)
    return load(f"id: desk\nentry_points: [A]\nstates:\n  A:\n{lines}\n  B:\n", context=Trail, bind=FUNCTIONS)


def machine(has):
    states = {"A": {"on": {"*": {"actions": "count"}}, **has}, "B": {}}
    return load(
        json.dumps({"id": "desk", "initial": "A", "states": states}), dialect="xstate", context=Trail, bind=FUNCTIONS
    )


@pytest.mark.parametrize("own", [TIMER, DONE, FAILED], ids=["timer", "result", "failure"])
@pytest.mark.parametrize(
    "build",
    [
        lambda own: python(*own["python"]),
        lambda own: yaml(ANY_EVENT, own["yaml"]),
        lambda own: yaml(own["yaml"], ANY_EVENT),
        lambda own: machine(own["xstate"]),
    ],
    ids=["Python", "YAML with `on` first", "YAML with `on` last", "XState"],
)
def test_a_states_own_events_go_before_its_transition_for_every_event(build, own):
    assert leaves_after(build(own), seconds=1) == (("B",), [])


@pytest.mark.parametrize("build", [lambda: python(*TIMER["python"]), lambda: machine(TIMER["xstate"])])
def test_a_transition_for_every_event_still_takes_the_others(build):
    assert leaves_after(build(), "KNOCKED", "KNOCKED") == (("A",), ["counted", "counted"])


def test_the_order_of_keys_does_not_decide():
    one, other = yaml(ANY_EVENT, DONE["yaml"]), yaml(DONE["yaml"], ANY_EVENT)
    assert leaves_after(one, seconds=1) == leaves_after(other, seconds=1)


@pytest.mark.parametrize(
    ("broad", "specific", "event"),
    [("*", "E", "E"), ("E", "E.x", "E.x"), ("E.*", "E", "E"), ("E", "E.x.*", "E.x.y"), ("F *", "E", "E")],
)
def test_a_specific_transition_goes_before_a_broader_one_that_is_written_first(broad, specific, event):
    ways = [Transition("A", broad, "C"), Transition("A", specific, "B")]
    assert leaves_after(graph_of(ways), event)[0] == ("B",)
    assert leaves_after(graph_of(ways, precedence=Precedence.DOCUMENT), event)[0] == ("C",)


def test_of_two_for_the_same_event_the_first_goes():
    assert leaves_after(graph_of([Transition("A", "E", "B"), Transition("A", "E", "C")]), "E")[0] == ("B",)


def test_a_guard_passes_the_event_on_to_the_broader_one():
    refuses = Transition("A", "E", "B", guard=lambda context, event: False)
    assert leaves_after(graph_of([Transition("A", "*", "C"), refuses]), "E")[0] == ("C",)


def test_an_inner_state_goes_first_with_every_event():
    ways = [Transition("A1", "*", "A2"), Transition("A", "E", "B"), Transition(ANY, "E", "C")]
    graph = graph_of(ways, states=[State("A", states=["A1", "A2"])])
    assert leaves_after(graph, "E")[0] == ("A2",)


def scxml(*transitions):
    return read(f"""
        <scxml xmlns="http://www.w3.org/2005/07/scxml" version="1.0">
          <state id="A"><onentry><send event="late" delay="1s"/></onentry>{"".join(transitions)}</state>
          <state id="B"/><state id="C"/>
        </scxml>""")


def test_scxml_keeps_the_order_of_the_document():
    anything, timer = '<transition event="*" target="C"/>', '<transition event="late" target="B"/>'
    assert leaves_after(scxml(anything, timer), seconds=2)[0] == ("C",)
    assert leaves_after(scxml(timer, anything), seconds=2)[0] == ("B",)


def test_a_chart_may_keep_the_order_of_the_document():
    chart = load("""
        id: desk
        entry_points: [A]
        precedence: document
        states:
          A: {on: {"*": C, E: B}}
          B:
          C:
        """)
    assert leaves_after(chart, "E")[0] == ("C",)
    again = load(dump(chart))
    assert (again.precedence, again.fingerprint) == (Precedence.DOCUMENT, chart.fingerprint)


# Regions


def parallel(precedence):
    states = [State("P", parallel=True, states=["A", "B"]), "X"]
    ways = [Transition("P", "E", "X"), Transition("A", "E", actions=count)]
    return StateTransitionGraph(
        "desk", context=Trail, states=states, transitions=ways, entry_points=["P"], precedence=precedence
    )


def test_in_xstate_a_region_that_takes_the_event_goes_before_the_parallel_state():
    assert leaves_after(parallel(Precedence.XSTATE), "E") == (("A", "B"), ["counted"])


def test_in_scxml_another_region_asks_the_parallel_state():
    assert leaves_after(parallel(Precedence.SPECIFIC), "E")[0] == ("X",)


def test_in_xstate_a_guard_of_a_region_passes_the_event_on():
    states = [State("P", parallel=True, states=["A", "B"]), "X"]
    refuses = Transition("A", "E", guard=lambda context, event: False)
    graph = graph_of(
        [Transition("P", "E", "X"), refuses], states=states, entry_points=["P"], precedence=Precedence.XSTATE
    )
    assert leaves_after(graph, "E")[0] == ("X",)


def test_a_guard_of_a_parallel_state_is_asked_for_each_region_but_in_xstate_once():
    asked = []

    def is_asked(context, event):
        asked.append(event.name)
        return False

    def times(precedence):
        asked.clear()
        both = State("P", parallel=True, states=["A", "B"])
        ways = [Transition("P", "E", "X", guard=is_asked)]
        leaves_after(graph_of(ways, states=[both], entry_points=["P"], precedence=precedence), "E")
        return len(asked)

    assert {each: times(each) for each in Precedence} == {
        Precedence.SPECIFIC: 2,
        Precedence.DOCUMENT: 2,
        Precedence.XSTATE: 1,
    }


# The fingerprint


@pytest.mark.parametrize(
    "ways",
    [
        [Transition("A", "E", "B"), Transition("A", "F", "C")],
        [Transition("A", "E", "B"), Transition("A", "*", "C")],
        [Transition("A", "E.x", "B"), Transition("A", "E", "C"), Transition("B", "E.x", "C")],
    ],
)
def test_where_the_order_makes_no_difference_the_fingerprint_is_the_same(ways):
    assert len({graph_of(ways, precedence=each).fingerprint for each in Precedence}) == 1


def test_where_the_order_makes_a_difference_the_fingerprint_changes():
    ways = [Transition("A", "*", "B"), Transition("A", "E", "C")]
    by_order = {each: graph_of(ways, precedence=each).fingerprint for each in Precedence}
    assert by_order[Precedence.SPECIFIC] != by_order[Precedence.DOCUMENT]
    regions = {parallel(each).fingerprint for each in (Precedence.SPECIFIC, Precedence.XSTATE)}
    assert len(regions) == 2


def test_names_of_xstate_take_no_longer_names_so_their_order_makes_no_difference():
    ways = [Transition("A", "E", "B"), Transition("A", "E.x", "C")]
    kept, other = (graph_of(ways, precedence=each) for each in (Precedence.DOCUMENT, Precedence.XSTATE))
    assert kept.fingerprint == other.fingerprint
