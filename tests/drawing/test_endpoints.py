"""Ends of lines that lie on each other are moved apart, and nothing else."""

from __future__ import annotations

import re
import subprocess
from itertools import combinations

import pytest

from gatechart import StateTransitionGraph, Transition
from gatechart.drawing import to_dot
from gatechart.drawing.endpoints import APART, spread
from tests.drawing.charts import HISTORY, SNAPSHOT, needs_dot, orders, specialists, support
from tests.drawing.hostile_names import HOSTILE, strict

ROOMS = [f"ROOM_{at}" for at in range(6)]
HUB = StateTransitionGraph(
    "hub",
    transitions=[each for room in ROOMS for each in (Transition("MENU", room, room), Transition(room, "BACK", "MENU"))],
    entry_points=["MENU"],
)

EDGE = re.compile(r'^\t*(\S+) -> (\S+)\t\[.*?pos="([^"]*)".*?\];$', re.DOTALL | re.MULTILINE)


def layout(text: str) -> str:
    done = subprocess.run(["dot", "-Tdot", "-Glinelength=0"], input=text.encode(), capture_output=True, check=True)
    return done.stdout.decode()


def ends_at(name: str, laid_out: str) -> list[tuple[float, float]]:
    """The points at which lines touch a node."""
    found = []
    for tail, head, position in EDGE.findall(laid_out):
        lead, _, _ = position.partition(",")
        points = [tuple(map(float, pair.split(","))) for pair in re.sub("^[se],", "", position).split()]
        if tail.partition(":")[0] == name:
            found.append(points[0] if lead != "e" else points[1])
        if head.partition(":")[0] == name:
            found.append(points[0] if lead == "e" else points[-1])
    return found


def closest(points: list[tuple[float, float]]) -> float:
    return min(abs(one[0] - two[0]) + abs(one[1] - two[1]) for one, two in combinations(points, 2))


@needs_dot
def test_lines_that_end_at_one_point_are_parted():
    before = layout(to_dot(HUB))
    after = spread(before)
    assert len(ends_at("MENU", before)) == len(ends_at("MENU", after)) == 2 * len(ROOMS) + 1
    assert closest(ends_at("MENU", before)) < 1
    assert closest(ends_at("MENU", after)) >= 1.5


@needs_dot
def test_lines_stay_on_the_border_of_their_state():
    after = spread(layout(to_dot(HUB)))
    found = re.search(r"^\tMENU\t\[(.*?)\];$", after, re.DOTALL | re.MULTILINE)
    x, y = map(float, re.search(r'pos="([\d.,]+)"', found[1])[1].split(","))
    width, height = (72 * float(re.search(rf"{key}=([\d.]+)", found[1])[1]) for key in ("width", "height"))
    for across, up in ends_at("MENU", after):
        assert abs(across - x) <= width / 2 + 1
        assert abs(up - y) <= height / 2 + 1


def test_ends_that_lie_apart_stay():
    text = """digraph g {
\tA\t[height=1, pos="0,0", width=1];
\t"way:1" -> A\t[pos="e,0,36 0,90 0,80 0,70 0,43"];
\t"way:2" -> A\t[pos="e,20,36 20,90 20,80 20,70 20,43"];
}"""
    assert spread(text) == text


def test_ends_at_one_point_are_put_in_the_order_in_which_their_lines_come():
    text = """digraph g {
\tA\t[height=1, pos="0,0", width=2];
\t"way:right" -> A\t[pos="e,0,36 90,90 60,80 10,70 0,43"];
\t"way:left" -> A\t[pos="e,0,36 -90,90 -60,80 -10,70 0,43"];
\tA -> "way:middle"\t[arrowhead=none, pos="0,36 0,70 0,80 0,90"];
}"""
    (right, left, middle) = (float(found) for found in re.findall(r'pos="(?:e,)?(-?[\d.]+),36', spread(text)))
    assert (left, middle, right) == (-APART, 0, APART)


def test_an_end_without_curves_to_read_is_left_alone():
    text = 'digraph g {\n\tA\t[pos="0,0"];\n\tB -> A\t[color=red];\n\tC -> A\t[pos="0,0 1,1 2,2 3,3;4,4 5,5"];\n}'
    assert spread(text) == text


@needs_dot
@pytest.mark.parametrize(
    "text",
    [
        to_dot(support, highlight=SNAPSHOT, trail=HISTORY),
        to_dot(orders, legend=True),
        to_dot([orders, specialists, support]),
        *(to_dot(strict(name)) for name in HOSTILE),
    ],
)
def test_graphviz_draws_what_was_moved(text):
    done = subprocess.run(
        ["neato", "-n2", "-Tsvg"], input=spread(layout(text)).encode(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr.decode()) == (0, "")
