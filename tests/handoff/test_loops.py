from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from gatechart.handoff import PathStep
from gatechart.handoff.loops import MOST_HOPS, loop_in

from .strategies import laws


def way(*graphs: str) -> list[PathStep]:
    """Graphs in the order in which they had the work; one with a star achieved something."""
    return [
        PathStep(agent=f"{graph}{index}", graph=graph.strip("*"), achieved="something" if "*" in graph else "")
        for index, graph in enumerate(graphs)
    ]


def test_the_first_handoff_is_no_loop() -> None:
    assert loop_in([], "A") == ""
    assert loop_in(way("A"), "B") == ""


def test_back_to_the_one_that_asked_without_progress_is_a_loop() -> None:
    assert loop_in(way("A", "B"), "A") == "A → B → A: nothing was achieved since A had it"


def test_a_round_over_three_without_progress_is_a_loop() -> None:
    assert loop_in(way("X", "A", "B", "C"), "A") == "A → B → C → A: nothing was achieved since A had it"


def test_back_with_progress_is_allowed() -> None:
    assert loop_in(way("A", "B*"), "A") == ""
    assert loop_in(way("A", "B", "C*"), "A") == ""


def test_progress_counts_only_since_the_graph_had_it_last() -> None:
    assert loop_in(way("A", "B*", "A", "B"), "A").startswith("A → B → A:")
    assert loop_in(way("A*", "B"), "A").startswith("A → B → A:")


def test_blanks_are_no_progress() -> None:
    assert loop_in([*way("A"), PathStep(agent="b", graph="B", achieved=" \n")], "A")


def test_handing_on_to_itself_is_a_loop() -> None:
    assert loop_in(way("A"), "A") == "A → A: nothing was achieved since A had it"


def test_the_caller_may_judge_what_progress_is() -> None:
    asked: list[Sequence[PathStep]] = []

    def judge(steps: Sequence[PathStep]) -> bool:
        asked.append(steps)
        return True

    path = way("A", "B", "C")
    assert loop_in(path, "A", progressed=judge) == ""
    assert asked == [path[1:]]


def test_even_with_progress_there_are_hops_that_are_too_many() -> None:
    path = way(*(f"G{number}*" for number in range(MOST_HOPS)))
    assert loop_in(path, "H") == ""
    evidence = loop_in([*path, *way("G")], "H")
    assert evidence.endswith(": the work would be handed on 9 times; the limit is 8")
    assert loop_in(way("A", "B"), "C", most_hops=1)


@laws
@given(st.lists(st.sampled_from(["A", "B*", "C", "A*", "B"]), max_size=12), st.sampled_from("ABCD"))
def test_whoever_hands_on_only_where_there_is_no_loop_stops_some_time(graphs: list[str], graph: str) -> None:
    evidence = loop_in(way(*graphs), graph)
    assert "\n" not in evidence
    if len(graphs) > MOST_HOPS:
        assert evidence
    elif graph not in {each.strip("*") for each in graphs}:
        assert not evidence
