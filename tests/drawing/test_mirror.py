"""Regions stand side by side as they are declared."""

import re
import subprocess
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from gatechart import State, StateTransitionGraph, Transition, draw
from gatechart.drawing import to_dot
from gatechart.drawing.language import identity
from gatechart.drawing.mirror import in_order
from gatechart.drawing.outline import outline
from tests.drawing.charts import SVG, needs_dot

REGIONS = [
    ["SHIP", "BILL", "TALK"],
    ["C", "B", "A"],
    ["first one", 'sec"ond', "dritte ü"],
    ["ONE", "TWO"],
]


def parallel(regions, *transitions):
    """A parallel state whose regions have ever fewer states."""
    states = [
        State(name, states=[f"{name} {at}" for at in range(len(regions) + 1 - place)])
        for place, name in enumerate(regions)
    ]
    ways = [Transition(each.name, "WENT", then.name) for state in states for each, then in pairwise(state.states)]
    return StateTransitionGraph(
        "several",
        states=[State("WORK", parallel=True, states=states), State("OVER", final=True)],
        transitions=[Transition("NEW", "BEGUN", "WORK"), Transition("WORK", "ENDED", "OVER"), *ways, *transitions],
        entry_points=["NEW"],
    )


def boxes(path):
    """Where the clusters of an SVG begin and end: left, right, top and bottom, by name."""
    found = {}
    for group in ElementTree.parse(path).iter(f"{SVG}g"):
        if group.get("class") == "cluster":
            numbers = [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", group.find(f".//{SVG}path").get("d"))]
            found[group.findtext(f"{SVG}title")] = (
                min(numbers[::2]),
                max(numbers[::2]),
                min(numbers[1::2]),
                max(numbers[1::2]),
            )
    return found


@needs_dot
@pytest.mark.parametrize("regions", REGIONS, ids=str)
def test_regions_stand_from_left_to_right_as_they_are_declared_and_begin_and_end_at_one_height(regions, tmp_path):
    found = boxes(draw(parallel(regions), tmp_path / "several.svg"))
    placed = [found[f"cluster:{identity(name)}"] for name in regions]
    for (_, right, top, bottom), (left, _, other_top, other_bottom) in pairwise(placed):
        assert right < left
        assert (top, bottom) == (other_top, other_bottom)


@needs_dot
def test_a_layout_and_its_mirror_image_have_the_same_things_in_other_places():
    graph = parallel(["A", "B", "C"])
    done = subprocess.run(["dot", "-Tdot"], input=to_dot(graph).encode(), capture_output=True, check=True, timeout=60)
    layout, drawn = done.stdout.decode(), outline(graph)
    turned = in_order(layout, drawn)
    assert in_order(turned, drawn) == turned
    number = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
    assert re.sub(number, "0", turned) == re.sub(number, "0", layout)


@needs_dot
def test_a_chart_without_regions_is_left_as_it_is():
    graph = StateTransitionGraph("one", transitions=[Transition("A", "GO", "B")], entry_points=["A"])
    assert in_order("whatever", outline(graph)) == "whatever"
