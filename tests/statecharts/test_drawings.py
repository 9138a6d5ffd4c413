"""The committed drawings are those of the charts as they are now."""

import pytest

from statecharts import examples
from statecharts.drawings import FOLDER, texts
from statecharts.telecom_support import telecom_support

DRAWN = texts()


@pytest.mark.parametrize("name", DRAWN)
def test_no_drawing_is_stale(name):
    kept = (FOLDER / f"{name}.dot").read_text(encoding="utf-8")
    assert kept == DRAWN[name], "the chart has changed: run `make diagrams`, look at the drawing, commit it"


@pytest.mark.parametrize("graph", [*examples, telecom_support], ids=lambda graph: graph.name)
def test_the_picture_beside_a_drawing_shows_every_state(graph):
    picture = (FOLDER / f"{graph.name}.svg").read_text(encoding="utf-8")
    assert [state for state in graph.states if f">{state}<" not in picture] == []


def test_nothing_else_lies_among_the_drawings():
    assert {path.stem for path in FOLDER.iterdir()} == set(DRAWN)
