"""What a notebook shows of a graph and of an agent, as IPython asks for it."""

from __future__ import annotations

import logging
import subprocess
import sys
from xml.etree import ElementTree

from gatechart import Runtime, StateTransitionGraph, Transition, draw
from gatechart.drawing import to_svg
from tests.drawing.charts import needs_dot, support

lamp = StateTransitionGraph(
    "lamp",
    transitions=[Transition("OFF", "PRESSED", "ON"), Transition("ON", "PRESSED", "OFF")],
    entry_points=["OFF"],
)


@needs_dot
def test_a_graph_is_shown_as_it_is_drawn(tmp_path):
    svg = support._repr_svg_()
    assert svg == to_svg(support) == draw(support, tmp_path / "support.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(svg.encode()).tag == "{http://www.w3.org/2000/svg}svg"


@needs_dot
async def test_an_agent_is_shown_where_it_is():
    async with Runtime.open("memory:", graphs=[lamp]) as runtime:
        agent = await runtime.start(lamp, at="OFF")
        before = agent._repr_svg_()
        await agent.send("PRESSED")
        assert before == to_svg(lamp, highlight=await agent.snapshot_at(1))
        assert agent._repr_svg_() == to_svg(lamp, highlight=agent.snapshot) != before


def test_without_graphviz_the_text_is_shown_and_a_warning_says_why(monkeypatch, tmp_path, caplog):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert lamp._repr_svg_() is None
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith(
        "the graph lamp is shown as text: cannot draw: the program `dot` is missing; install"
    )
    assert record.graph == "lamp"


def test_a_graph_is_built_without_graphviz():
    program = "import sys, gatechart; gatechart.StateTransitionGraph; print('graphviz' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"
