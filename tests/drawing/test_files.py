"""Drawings as files: what is written, and that nothing is where that fails."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gatechart import State, StateTransitionGraph, Transition, draw
from gatechart.drawing import draw_async, to_dot, to_mermaid
from gatechart.drawing.outline import outline
from gatechart.drawing.palette import DARK
from gatechart.drawing.plain_dot import ENGINE, write_plain_dot
from gatechart.drawing.sketch import DrawingStyle
from gatechart.errors import DrawingError, UnknownStateError
from tests.drawing.charts import HISTORY, SNAPSHOT, needs_dot, orders, snapshot, specialists, support, words_of
from tests.drawing.hostile_names import HOSTILE, strict

pytestmark = pytest.mark.long

XLINK = "{http://www.w3.org/1999/xlink}"


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@needs_dot
@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG"), (".pdf", b"%PDF"), (".svg", b"<?xml")])
def test_the_suffix_says_what_is_drawn(tmp_path, suffix, magic):
    path = draw(support, tmp_path / f"support{suffix}")
    assert path == tmp_path / f"support{suffix}"
    assert path.read_bytes().startswith(magic)
    assert list(everything(tmp_path)) == [path.name]


@needs_dot
def test_the_drawn_doors_name_their_triggers(tmp_path):
    words = words_of(ElementTree.parse(draw(support, tmp_path / "support.svg")).getroot())
    assert "onHANDED_OVER" in words
    assert "onRETURNED" in words
    assert "takesCaseFile" in words


@needs_dot
def test_theme_and_legend_are_drawn(tmp_path):
    plain = draw(support, tmp_path / "plain.svg").read_bytes()
    dark = draw(support, tmp_path / "dark.svg", theme="dark").read_bytes()
    assert (DARK.card.lower().encode() in dark, DARK.card.lower().encode() in plain) == (True, False)
    assert b"an agent may begin here" in draw(support, tmp_path / "legend.svg", legend=True).read_bytes().replace(
        b"&#160;", b" "
    )
    assert b"an agent may begin here" not in plain.replace(b"&#160;", b" ")


@needs_dot
def test_highlight_and_trail_are_drawn(tmp_path):
    plain = draw(support, tmp_path / "plain.svg").read_bytes()
    assert draw(support, tmp_path / "lived.svg", highlight=SNAPSHOT).read_bytes() != plain
    assert draw(support, tmp_path / "lived.svg", trail=HISTORY).read_bytes() != plain


def test_text_needs_no_program(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    dot = draw(support, tmp_path / "support.dot", highlight=SNAPSHOT, trail=HISTORY)
    assert dot.read_text(encoding="utf-8") == to_dot(support, highlight=SNAPSHOT, trail=HISTORY)
    mermaid = draw(support, str(tmp_path / "support.MMD"))
    assert mermaid.read_text(encoding="utf-8") == to_mermaid(support)


def test_missing_folders_are_made_and_an_older_drawing_is_replaced(tmp_path):
    path = tmp_path / "some" / "where" / "support.dot"
    draw(support, path)
    path.write_text("old")
    draw(support, path)
    assert everything(tmp_path) == {"some/where/support.dot": to_dot(support).encode()}


def test_several_graphs_are_drawn_as_their_map(tmp_path):
    several = [orders, specialists, support]
    assert draw(several, tmp_path / "map.dot").read_text(encoding="utf-8") == to_dot(several)
    assert draw(several, tmp_path / "map.mmd").read_text(encoding="utf-8") == to_mermaid(several)


@needs_dot
def test_graphviz_draws_a_map(tmp_path):
    assert "specialists" in words_of(ElementTree.parse(draw([orders, specialists], tmp_path / "map.svg")).getroot())
    assert draw([orders, specialists], tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("graphs", "more", "told"),
    [
        ([], {}, "no graph to draw"),
        ([support], {"highlight": SNAPSHOT}, "a map of graphs shows no agent"),
        ([support], {"trail": HISTORY}, "a map of graphs shows no agent"),
    ],
)
def test_a_map_is_of_graphs_alone(graphs, more, told, tmp_path):
    with pytest.raises(DrawingError, match=told):
        draw(graphs, tmp_path / "map.dot", **more)
    assert everything(tmp_path) == {}


# What cannot be drawn leaves everything as it was.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an older drawing."""
    (tmp_path / "support.svg").write_text("old")
    (tmp_path / "support.dot").write_text("old")
    return tmp_path


@pytest.fixture
def fake_program(tmp_path_factory, monkeypatch):
    """Puts a program in the place of one of Graphviz's."""

    def put(name: str, script: str) -> None:
        place = tmp_path_factory.mktemp("bin")
        (place / name).write_text(f"#!/bin/sh\n{script}\n")
        (place / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")

    return put


@pytest.mark.parametrize("name", ["support.jpeg", "support", "svg", ""])
def test_another_suffix_is_refused_with_those_there_are(folder, name):
    before = everything(folder)
    with pytest.raises(DrawingError, match=r"'\.svg', '\.png', '\.pdf', '\.dot', '\.mmd'; name a file"):
        draw(support, folder / name)
    assert everything(folder) == before


def test_without_graphviz_the_error_says_how_to_get_it(folder, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))
    before = everything(folder)
    with pytest.raises(DrawingError, match="install Graphviz"):
        draw(support, folder / "support.svg")
    assert everything(folder) == before


@pytest.mark.parametrize(
    ("script", "told"), [("echo out of ink >&2; exit 3", r"\(out of ink\)"), ("exit 3", r"\(it returned 3\)")]
)
def test_what_graphviz_complains_of_is_told(folder, fake_program, script, told):
    fake_program("dot", f"cat > /dev/null; {script}")
    before = everything(folder)
    with pytest.raises(DrawingError, match=f"Graphviz failed {told}; draw to a .dot file"):
        draw(support, folder / "support.svg")
    assert everything(folder) == before


DOT = shutil.which("dot")
SLOW = "exec sleep 600"
SLOW_LAYOUT = f'[ "$1" != -Kdot ] || exec sleep 600; exec {DOT} "$@"'


@needs_dot
@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_a_chart_that_takes_too_long_gets_a_plainer_layout_and_says_so(tmp_path, fake_program, caplog, suffix):
    fake_program("dot", SLOW_LAYOUT)
    path = draw(support, tmp_path / f"support{suffix}", highlight=SNAPSHOT, trail=HISTORY, limit_s=2)
    assert path.stat().st_size > 1000
    assert [(record.graph, record.limit_s) for record in caplog.records] == [("support", 2)]
    assert "plainer layout" in caplog.text


@needs_dot
def test_a_map_that_takes_too_long_gets_a_plainer_layout_too(tmp_path, fake_program, caplog):
    fake_program("dot", SLOW_LAYOUT)
    svg = ElementTree.parse(draw([support, orders], tmp_path / "map.svg", limit_s=2)).getroot()
    assert [record.graph for record in caplog.records] == ["support, orders"]
    words = words_of(svg)
    assert all(each in words for each in ("support", "orders", "toolargeforafulllayout"))


@needs_dot
def test_the_plainer_layout_has_every_state_door_and_arrow(tmp_path, fake_program):
    fake_program("dot", SLOW_LAYOUT)
    svg = ElementTree.parse(draw(support, tmp_path / "support.svg", limit_s=2, theme="dark")).getroot()
    words = words_of(svg)
    assert all(state in words for state in support.states)
    assert "toolargeforafulllayout" in words
    assert "onHANDED_OVER" in words
    tooltips = [each.get(f"{XLINK}title") for each in svg.iter() if each.get(f"{XLINK}title")]
    assert {"READ [is_solved]", "SOLVED; CLOSED / note, notify", "TIMED_OUT"} <= set(tooltips)


def plainly(graph: StateTransitionGraph) -> str:
    """What the plainer layout writes; whatever Graphviz complains of fails the test."""
    text = write_plain_dot(outline(graph), DrawingStyle()).encode()
    done = subprocess.run(["dot", f"-K{ENGINE}", "-Tsvg"], input=text, capture_output=True, check=False, timeout=20)
    assert (done.returncode, done.stderr.decode()) == (0, ""), text
    return words_of(ElementTree.fromstring(done.stdout))


@needs_dot
@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_hostile_names_are_laid_out_plainly(name):
    assert plainly(strict(name))


@needs_dot
def test_a_chart_of_a_thousand_states_is_laid_out_plainly():
    names = [f"S{at}" for at in range(1000)]
    states = [State(f"G{at}", states=names[at * 10 : at * 10 + 10]) for at in range(100)]
    ways = [Transition(name, f"E{at % 7}", names[at * 7 % 1000]) for at, name in enumerate(names)]
    words = plainly(StateTransitionGraph("large", states=states, transitions=ways, entry_points=["S0"]))
    assert all(name in words for name in names)


def test_a_plainer_layout_that_takes_too_long_is_given_up(folder, fake_program):
    fake_program("dot", SLOW)
    before = everything(folder)
    with pytest.raises(DrawingError, match=r"Graphviz took longer than 0\.2 s; draw to a \.dot"):
        draw(support, folder / "support.svg", limit_s=0.2)
    assert everything(folder) == before


def test_a_map_that_takes_too_long_is_given_up(folder, fake_program):
    fake_program("dot", SLOW)
    before = everything(folder)
    with pytest.raises(DrawingError, match=r"Graphviz took longer than 0\.2 s; draw to a \.dot"):
        draw([support], folder / "support.svg", limit_s=0.2)
    assert everything(folder) == before


async def test_the_event_loop_goes_on_while_a_graph_is_drawn(tmp_path, fake_program):
    """The program waits for what only the event loop writes."""
    go = tmp_path / "go"
    fake_program("dot", f"cat > /dev/null; while [ ! -e {go} ]; do sleep 0.01; done; echo 'digraph g {{}}'")
    drawing = asyncio.create_task(draw_async(support, tmp_path / "support.svg"))
    while not drawing.done() and not go.exists():
        await asyncio.sleep(0)
        go.touch()
    assert await drawing == tmp_path / "support.svg"


async def test_what_draw_raises_comes_out_of_the_thread(tmp_path):
    with pytest.raises(DrawingError, match="name a file"):
        await draw_async(support, tmp_path / "support.jpeg")


@pytest.mark.parametrize("suffix", [".dot", ".mmd"])
def test_a_huge_chart_is_written_as_text_soon(tmp_path, suffix):
    names = [f"S{number}" for number in range(2_000)]
    ways = [Transition(name, "GONE", names[number * 7 % 2_000]) for number, name in enumerate(names)]
    began = time.monotonic()
    draw(StateTransitionGraph("huge", transitions=ways, entry_points=["S0"]), tmp_path / f"huge{suffix}")
    assert time.monotonic() - began < 30


def test_a_file_where_a_folder_should_be_is_told(folder):
    before = everything(folder)
    with pytest.raises(DrawingError, match=r"cannot be written \(.+\); name a file that you may write"):
        draw(support, folder / "support.svg" / "support.dot")
    assert everything(folder) == before


def test_a_folder_where_the_file_should_be_is_told_and_nothing_is_left_beside_it(tmp_path):
    (tmp_path / "support.dot").mkdir()
    with pytest.raises(DrawingError, match=r"support\.dot cannot be written"):
        draw(support, tmp_path / "support.dot")
    assert everything(tmp_path) == {}
    assert [path.name for path in tmp_path.iterdir()] == ["support.dot"]


def test_a_snapshot_that_does_not_fit_changes_no_file(folder):
    before = everything(folder)
    with pytest.raises(UnknownStateError):
        draw(support, folder / "support.dot", highlight=snapshot(support, "NOWHERE"))
    assert everything(folder) == before
