"""Answers to signals in drawings: apart from other transitions, by a mark and by a colour."""

from gatechart import ANY, StateTransitionGraph, Transition
from gatechart.drawing import to_dot, to_mermaid
from gatechart.drawing.legend import Sign, signs_of
from gatechart.drawing.outline import outline
from gatechart.drawing.palette import LIGHT
from gatechart.signals import UserAsked
from gatechart.stores import entry_of
from tests.drawing.test_mermaid import assert_valid
from tests.noticing import Moves, go_round
from tests.support import applied, at_once, started

RED = LIGHT.signal.line


def shop(*ways, signals=UserAsked()):  # noqa: B008  a frozen value
    ways = [Transition("SERVING", "LEFT", "GONE"), *ways]
    return StateTransitionGraph("shop", transitions=ways, entry_points=["SERVING"], signals=signals)


def answer(target=None, event="signal.user_asked"):
    return Transition("SERVING", event, target, actions=[])


def test_answers_to_signals_are_marked():
    graph = shop(answer("CALLING"), answer("GONE"), Transition(ANY, "signal", "FAILED"))
    drawn = {each.target: each for each in outline(graph).arrows}
    assert {target: [part.event for part in each.parts] for target, each in drawn.items()} == {
        "GONE": ["LEFT", "«signal» user_asked"],
        "CALLING": ["«signal» user_asked"],
        "FAILED": ["«signal» any"],
    }
    assert {target for target, each in drawn.items() if each.is_signal} == {"CALLING", "FAILED"}


def test_a_line_has_the_colour_of_signals_if_nothing_else_is_written_on_it():
    alone, among, none = shop(answer("CALLING")), shop(answer("GONE")), shop()
    assert [to_dot(each).count(f'color="{RED}", penwidth') for each in (alone, among, none)] == [2, 0, 0]
    assert [RED in to_dot(each) for each in (alone, among, none)] == [True, True, False]  # its words have it
    assert f"linkStyle 3,4 stroke:{RED}" in to_mermaid(alone)
    assert "linkStyle" not in to_mermaid(among)
    assert_valid(to_mermaid(alone))


def test_answers_to_signals_are_explained_where_there_are_any():
    assert Sign.SIGNAL in signs_of(outline(shop(answer("CALLING"))))
    assert Sign.SIGNAL in signs_of(outline(shop(Transition("SERVING", "signal.user_asked"))))
    assert Sign.SIGNAL not in signs_of(outline(shop()))
    assert Sign.SIGNAL.value in to_dot(shop(answer("CALLING")), legend=True)
    assert_valid(to_mermaid(shop(answer("CALLING")), legend=True))


def test_an_answer_that_an_agent_took_is_drawn_as_its_way():
    graph = go_round(Transition(ANY, "signal.moves", "REST"), signals=Moves(2))
    begun = at_once(started(graph))
    record = at_once(applied(graph, begun.snapshot, "GO"))
    drawn = outline(graph, trail=[entry_of(begun), entry_of(record)])
    (taken,) = [each for each in drawn.arrows if each.is_signal]
    assert taken.places
    text = to_dot(graph, trail=[entry_of(begun), entry_of(record)])
    assert RED not in text
