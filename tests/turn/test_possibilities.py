"""What can happen now: guards are asked as in a turn, and nothing is changed."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field

from gatechart.charts import load
from gatechart.context import AgentContext
from gatechart.graph.definition import ANY, Invoke, State, Transition
from gatechart.graph.events import EventType
from gatechart.graph.graph import StateTransitionGraph
from gatechart.turn.possibilities import accepted, possible, without_room
from gatechart.turn.turns import take_turn
from gatechart.values.agents import Outcome, Refused, Snapshot, Status
from gatechart.values.frozen import replaced
from gatechart.values.possibilities import AcceptedEvent, Agrees, PossibleTransition
from tests.support import NOW, happened, refused, started

YES, NO, DEPENDS = Agrees.YES, Agrees.NO, Agrees.DEPENDS


class Decision(BaseModel):
    approved: bool


class Case(AgentContext):
    author: str = "ada"
    notes: list[str] = Field(default_factory=list)


def is_approved(context, event):
    return event.data.approved


def is_long(context, event):
    return len(event.payload["text"]) > 3


def is_long_or_no(context, event):
    try:
        return is_long(context, event)
    except:  # noqa: E722
        return False


def is_never(context, event):
    return Refused("the author may not decide")


def is_broken(context, event):
    raise LookupError("no luck")


def writes(context, event):
    context.author = "eve"
    return True


def notes(context, event):
    context.notes.append("seen")
    return len(context.notes) == 1


def is_here(context, event, configuration):
    return configuration == {"A", "OUTER"}


def has_no_data(context, event):
    return event.data is None


async def search(context, work):
    return None


def graph_of(*transitions, states=(), **more):
    return StateTransitionGraph(
        "case", context=Case, states=states, transitions=transitions, entry_points=["A"], **more
    )


async def begun(graph) -> Snapshot:
    return (await started(graph, "A")).snapshot


async def verdicts(graph):
    return {each.event: each.agrees for each in accepted(graph, await begun(graph), NOW)}


async def test_an_event_tells_its_transitions_in_order_with_targets_schema_and_description():
    graph = graph_of(
        Transition("A", "DECIDED", "B", guard=is_approved),
        Transition("A", "DECIDED", "A", guard=is_never),
        events=[EventType("DECIDED", takes=Decision, description="Somebody decided.")],
    )
    assert accepted(graph, await begun(graph), NOW) == (
        AcceptedEvent(
            "DECIDED",
            DEPENDS,
            (
                PossibleTransition("A --DECIDED--> B", ("B",), DEPENDS, "is_approved"),
                PossibleTransition("A --DECIDED--> A", ("A",), NO, "is_never", "the author may not decide"),
            ),
            "the author may not decide",
            "Somebody decided.",
            Decision.model_json_schema(),
        ),
    )


@pytest.mark.parametrize(
    ("guard", "verdict"),
    [
        (is_long, DEPENDS),
        (is_long_or_no, DEPENDS),
        (is_never, NO),
        (is_broken, NO),
        (writes, NO),
        (notes, YES),
        (has_no_data, YES),
        (None, YES),
    ],
)
async def test_what_a_guard_says_without_a_payload(guard, verdict):
    both = (Transition("A", event, "B", guard=guard) for event in ("GO", "AGAIN"))
    assert await verdicts(graph_of(*both)) == {"GO": verdict, "AGAIN": verdict}


async def test_a_guard_that_raises_is_a_no_with_the_exception():
    graph = graph_of(Transition("A", "GO", "B", guard=is_broken))
    (found,) = accepted(graph, await begun(graph), NOW)
    assert (found.agrees, found.why_not) == (NO, "is_broken raised")
    assert found.transitions[0].raised == "LookupError: no luck"


async def test_transitions_behind_one_that_is_sure_are_not_asked():
    graph = graph_of(Transition("A", "GO", "B", guard=is_long), Transition("A", "GO", "C"), Transition(ANY, "GO", "D"))
    (found,) = accepted(graph, await begun(graph), NOW)
    assert [(each.targets, each.agrees) for each in found.transitions] == [(("B",), DEPENDS), (("C",), YES)]
    assert (found.agrees, bool(found)) == (YES, True)


async def test_a_guard_that_takes_the_configuration_gets_all_active_states():
    outer = State("OUTER", states=["A", "B"])
    assert await verdicts(graph_of(Transition("A", "GO", "B", guard=is_here), states=[outer])) == {"GO": YES}


async def test_the_frameworks_events_are_left_out_and_patterns_are_shown_as_such():
    graph = graph_of(
        Transition("A", "done.invoke.search", "B"),
        Transition("A", "E done.invoke.other", "B"),
        Transition("A", "tool.*", "B"),
        states=[State("A", invoke=Invoke(search), after={"30s": "B"})],
        events=["tool.found", "tool.lost.for_good", "ODD"],
    )
    found = accepted(graph, await begun(graph), NOW)
    assert [(each.event, each.is_wildcard) for each in found] == [
        ("E", False),
        ("tool.*", True),
        ("tool.found", False),
        ("tool.lost.for_good", False),
    ]


async def test_a_closed_graph_accepts_what_it_declares():
    graph = graph_of(Transition("A", "*", "B"), Transition("A", "GO", "B"), events=["STOP"], events_closed=True)
    assert await verdicts(graph) == {"STOP": YES}
    told = possible(graph, await begun(graph), "GO", None, NOW)
    assert (told.agrees, told.why_not) == (NO, "'case' declares no event 'GO': there are 'STOP'")


@pytest.mark.parametrize(
    ("payload", "verdict", "why_not"),
    [
        (None, DEPENDS, ""),
        ({"approved": "yes"}, YES, ""),
        ({"approved": False}, NO, "is_approved said no"),
        ({}, NO, "the payload does not fit (approved: Field required)"),
    ],
)
async def test_what_one_event_would_do_with_a_payload(payload, verdict, why_not):
    graph = graph_of(Transition("A", "DECIDED", "B", guard=is_approved), events=[EventType("DECIDED", takes=Decision)])
    told = possible(graph, await begun(graph), "DECIDED", payload, NOW)
    assert (told.agrees, told.why_not, bool(told)) == (verdict, why_not, verdict is YES)
    assert told.payload_schema == Decision.model_json_schema()
    if payload is not None and verdict is NO:
        assert (await refused(graph, await begun(graph), "DECIDED", payload)).refusal is not None


async def test_an_agent_that_has_ended_accepts_nothing():
    graph = graph_of(Transition("A", "GO", "B"))
    ended = replaced(await begun(graph), status=Status.STOPPED)
    assert accepted(graph, ended, NOW) == ()
    assert possible(graph, ended, "GO", None, NOW) == AcceptedEvent("GO", NO, (), "the agent has ended")


async def test_what_nothing_waits_for_is_a_no():
    graph = graph_of(Transition("A", "GO", "B"))
    assert possible(graph, await begun(graph), "OTHER", {}, NOW) == AcceptedEvent("OTHER", NO, (), "no transition in A")


async def test_regions_are_asked_each_and_a_transition_around_them_stands_once():
    both = State("BOTH", parallel=True, states=[State("L", states=["A"]), State("R", states=["X"])])
    graph = graph_of(
        Transition("A", "GO", "A", guard=is_long),
        Transition("X", "GO", "X"),
        Transition("BOTH", "LEFT", "C"),
        states=[both],
    )
    found = {each.event: each for each in accepted(graph, await begun(graph), NOW)}
    assert [(each.label, each.agrees) for each in found["GO"].transitions] == [
        ("A --GO--> A", DEPENDS),
        ("X --GO--> X", YES),
    ]
    assert found["GO"].agrees is YES
    assert [each.label for each in found["LEFT"].transitions] == ["BOTH --LEFT--> C"]


@pytest.mark.parametrize(
    ("expression", "verdict"),
    [
        ("context.n > 3", NO),
        ("context.n < 3", YES),
        ("event.name == 'GO'", YES),
        ("event.payload.text == 'x'", DEPENDS),
        ("context.n > 3 && event.payload.text == 'x'", DEPENDS),
    ],
)
async def test_an_expression_depends_on_the_payload_if_it_names_it(expression, verdict):
    head = "id: g\nentry_points: [A]\ncontext: {n: 1}\n"
    chart = f'{head}states: {{A: {{on: {{GO: {{target: A, guard: {{cel: "{expression}"}}}}}}}}}}\n'
    assert await verdicts(load(chart)) == {"GO": verdict}


def deferring(*transitions, defer, **more):
    return graph_of(*transitions, states=[State("OUTER", states=[State("A", defer=defer), "B"])], **more)


async def told_and_done(graph, event, payload=None):
    """What the agent says of the event without its payload, and what becomes of the event."""
    snapshot = await begun(graph)
    asked = possible(graph, snapshot, event, payload, NOW)
    outcome = await take_turn(graph, snapshot, happened(event, payload or {}))
    done = "deferred" if getattr(outcome, "deferred", False) else "refused" if isinstance(outcome, Outcome) else "yes"
    return asked, done


async def test_a_deferred_event_is_neither_a_yes_nor_refused():
    asked, done = await told_and_done(deferring(Transition("B", "COMMENTED", "A"), defer="COMMENTED"), "COMMENTED")
    assert (asked.agrees, asked.deferred, asked.refused, bool(asked)) == (NO, True, False, False)
    assert (asked.why_not, done) == ("deferred in A", "deferred")


async def test_a_deferral_by_a_state_goes_before_the_transitions_around_it_and_is_listed():
    graph = deferring(Transition("OUTER", "NOTED LEFT", "B"), Transition("A", "GO", "B"), defer=["NOTED", "mail.*"])
    found = accepted(graph, await begun(graph), NOW)
    assert [(each.event, each.agrees, each.deferred, each.is_wildcard) for each in found] == [
        ("GO", YES, False, False),
        ("LEFT", YES, False, False),
        ("NOTED", NO, True, False),
        ("mail.*", NO, True, True),
    ]
    asked, done = await told_and_done(graph, "mail.read")
    assert (asked.deferred, done) == (True, "deferred")


async def test_declared_events_that_only_a_pattern_defers_are_listed_with_their_schema():
    graph = deferring(
        Transition("A", "COMMENT.dropped"),
        defer="*",
        events=[EventType("COMMENT.made", takes=Decision), "COMMENT.dropped"],
        events_closed=True,
    )
    found = {each.event: each for each in accepted(graph, await begun(graph), NOW)}
    assert {name: (each.agrees, each.deferred) for name, each in found.items()} == {
        "COMMENT.dropped": (YES, False),
        "COMMENT.made": (NO, True),
    }
    assert found["COMMENT.made"].payload_schema == Decision.model_json_schema()
    for event, payload in (("COMMENT.made", {"approved": "perhaps"}), ("OTHER", {})):
        asked, done = await told_and_done(graph, event, payload)
        assert (asked.refused, done) == (True, "refused")


@pytest.mark.parametrize(
    ("payload", "agrees", "deferred", "done"),
    [
        (None, DEPENDS, True, None),
        ({"text": "no"}, NO, True, "deferred"),
        ({"text": "long"}, YES, False, "yes"),
    ],
)
async def test_an_event_that_a_state_takes_with_a_guard_and_defers(payload, agrees, deferred, done):
    graph = deferring(Transition("A", "GO", "B", guard=is_long), defer="GO")
    asked = possible(graph, await begun(graph), "GO", payload, NOW)
    assert (asked.agrees, asked.deferred, asked.refused) == (agrees, deferred, False)
    if payload is not None:
        assert (await told_and_done(graph, "GO", payload))[1] == done
    if done == "deferred":
        assert asked.why_not == "is_long said no; deferred in A"


async def test_an_ended_agent_defers_nothing():
    graph = deferring(Transition("A", "GO", "B"), defer="NOTED")
    ended = replaced(await begun(graph), status=Status.STOPPED)
    assert possible(graph, ended, "NOTED", None, NOW).refused
    assert accepted(graph, ended, NOW) == ()


async def test_without_room_a_deferred_event_is_refused_and_others_stay_as_they_are():
    graph = deferring(Transition("A", "GO", "B"), defer="NOTED")
    found = [without_room(each) for each in accepted(graph, await begun(graph), NOW)]
    assert [(each.event, each.agrees, each.refused) for each in found] == [("GO", YES, False), ("NOTED", NO, True)]
    assert found[1].why_not == "as many events as an agent can defer are deferred already"


async def test_a_refusal_says_what_would_be_deferred():
    graph = deferring(Transition("OUTER", "NOTED LEFT", "B"), Transition("A", "GO", "B"), defer=["NOTED", "GO"])
    refusal = (await refused(graph, await begun(graph), "OTHER", {})).refusal
    assert (refusal.accepts, refusal.defers) == (("GO", "LEFT"), ("NOTED",))
    assert str(refusal) == "no transition in A; accepted there: GO, LEFT; deferred there: NOTED"
