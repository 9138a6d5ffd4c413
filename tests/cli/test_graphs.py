"""`gatechart check` and `gatechart draw`."""

import os
from pathlib import Path

import pytest

from gatechart.drawing import to_dot, to_mermaid
from tests.drawing.charts import needs_dot


@pytest.fixture
def described(folder):
    """The working directory, with a pyproject.toml that names graphs in which nothing is found."""
    text = (folder / "desk.py").read_text()
    for trigger in ("CALLED", "TAKEN_OVER", "OPENED"):
        text = text.replace(f'opens_on="{trigger}"', f'opens_on="{trigger}", description="One is {trigger}."')
    (folder / "desk.py").write_text(text)
    (folder / "pyproject.toml").write_text('[tool.gatechart]\napp = "desk:both"\n')
    return folder


def test_a_check_tells_the_graphs(described, gatechart):
    checked = gatechart("check")
    assert (checked.code, checked.err) == (0, "")
    assert checked.out.splitlines() == [
        "GRAPH   VERSION  STATES  TRANSITIONS  ENTRY POINTS",
        "desk    1        4       11           LISTENING",
        "                                        on CALLED",
        "                                      ANSWERING",
        "                                        on TAKEN_OVER",
        "strict  2        2       1            OPEN",
        "                                        on OPENED",
        "",
        "2 graphs: no findings",
    ]


def test_machines_get_the_graphs(folder, gatechart):
    document = gatechart("check", "--app", "desk:desk", "--json").document
    assert list(document) == ["graphs", "findings", "allowed", "not_bound", "failed"]
    [graph] = document["graphs"]
    assert (graph["graph"], graph["graph_version"], len(graph["fingerprint"])) == ("desk", "1", 32)
    assert graph["states"] == ["TALKING", "LISTENING", "ANSWERING", "CLOSED"]
    assert graph["events"][:2] == ["ASKED", "PRESSED"]
    assert graph["transitions"][0] == "LISTENING --ASKED--> ANSWERING"
    reaches = ["TALKING", "LISTENING", "ANSWERING", "CLOSED"]
    assert graph["entry_points"] == [
        {
            "name": "LISTENING",
            "state": "LISTENING",
            "opens_on": ["CALLED"],
            "takes": None,
            "entities": [],
            "guard": None,
            "reaches": reaches,
        },
        {
            "name": "ANSWERING",
            "state": "ANSWERING",
            "opens_on": ["TAKEN_OVER"],
            "takes": "Case",
            "entities": [],
            "guard": None,
            "reaches": reaches,
        },
    ]


def test_the_graphs_of_this_repository_have_no_fault(child):
    checked = child("check", "--strict", where=Path(__file__).parents[2])
    assert checked.code == 0


MAZE = """
from gatechart import StateTransitionGraph, State, EntryPoint, Transition as T
here = EntryPoint("HERE", description="Where all begins.")
end = State("END", final=True)
noted = StateTransitionGraph("noted", states=[end], transitions=[T("HERE", "GO", "END")], entry_points=["HERE"])
warned = StateTransitionGraph(
    "warned", states=[end, "LOST\\u2028"], entry_points=[here],
    transitions=[T("HERE", "GO", "END"), T("LOST\\u2028", "GO", "END")])
failing = StateTransitionGraph(
    "failing", states=[end], entry_points=[here],
    transitions=[T("HERE", "GO", "ROUND"), T("ROUND", None, "HERE"), T("HERE", None, "ROUND"), T("ROUND", "GO", "END")])
graphs = noted, warned, failing
"""


@pytest.fixture
def maze(folder):
    """The working directory, with an app of which one graph is noted, one warned of, and one failing."""
    (folder / "maze.py").write_text(MAZE)
    (folder / "pyproject.toml").write_text('[tool.gatechart]\napp = "maze:graphs"\n')
    return folder


def test_what_is_found_is_told_below_the_graphs_and_fits_a_terminal(maze, gatechart, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    checked = gatechart("check")
    assert (checked.code, checked.err) == (3, "")
    graphs, told, end = checked.out.split("\n\n")
    assert [line.split()[0] for line in graphs.splitlines()] == ["GRAPH", "noted", "warned", "failing"]
    assert told.splitlines() == [
        "CODE   SEVERITY  PLACE, PROBLEM → REMEDY",
        "GC302  note      noted: entry point 'HERE'",
        "                 it has no description",
        "                 → say in a sentence who begins here, and when",
        "GC101  warning   warned: state 'LOST\\u2028'",
        "                 no way leads there from the entry points 'HERE'",
        "                 → let a transition lead there, or drop it",
        "GC202  error     failing: state 'HERE'",
        "                 eventless transitions lead round HERE → ROUND → HERE, and no",
        "                 guard ends it",
        "                 → guard one of them, or let it wait for an event",
    ]
    assert end == "3 graphs: 1 error, 1 warning, 1 note\n"


@pytest.mark.parametrize(
    ("arguments", "code", "end"),
    [
        (["noted"], 0, "1 graph: 1 note"),
        (["noted", "--strict"], 0, "1 graph: 1 note"),
        (["warned"], 0, "1 graph: 1 warning"),
        (["warned", "--strict"], 3, "1 graph: 1 warning"),
        (["failing"], 3, "1 graph: 1 error"),
        (["warned", "noted", "warned"], 0, "2 graphs: 1 warning, 1 note"),
        (["noted", "warned", "--strict"], 3, "2 graphs: 1 warning, 1 note"),
    ],
)
def test_errors_fail_a_check_and_strictly_warnings_too(arguments, code, end, maze, gatechart):
    checked = gatechart("check", *arguments)
    assert (checked.code, checked.out.splitlines()[-1], checked.err) == (code, end, "")
    told = gatechart("check", *arguments, "--json")
    assert (told.code, told.document["failed"]) == (code, code == 3)
    assert [graph["graph"] for graph in told.document["graphs"]] == list(
        dict.fromkeys(argument for argument in arguments if argument != "--strict")
    )


def test_machines_get_the_findings(maze, gatechart):
    told = gatechart("check", "noted", "warned", "--json")
    assert told.document["findings"] == [
        {
            "graph": "noted",
            "code": "GC302",
            "severity": "note",
            "place": "entry point 'HERE'",
            "problem": "it has no description",
            "remedy": "say in a sentence who begins here, and when",
        },
        {
            "graph": "warned",
            "code": "GC101",
            "severity": "warning",
            "place": "state 'LOST\\u2028'",
            "problem": "no way leads there from the entry points 'HERE'",
            "remedy": "let a transition lead there, or drop it",
        },
    ]


@pytest.fixture
def lenient(folder):
    """A chart that allows a warning; nothing else is found in it."""
    (folder / "trap.yaml").write_text(
        "id: trap\nentry_points: {OPEN: {description: Somebody comes by.}}\n"
        "states: {OPEN: {on: {FELL: CAUGHT}}, CAUGHT: }\n"
        "allow: [{code: GC102, place: state 'CAUGHT', reason: a keeper frees it}]\n"
    )
    return "--app", "trap.yaml"


def test_what_is_allowed_is_counted_and_does_not_fail_a_check(lenient, gatechart):
    checked = gatechart("check", "--strict", *lenient)
    assert (checked.code, checked.out.splitlines()[-1]) == (0, "1 graph: no findings; 1 allowed")
    assert "GC102" not in checked.out


def test_what_is_allowed_is_told_with_its_reason_where_that_is_asked_for(lenient, gatechart):
    told = gatechart("check", "--allowed", *lenient)
    assert told.code == 0
    assert told.out.splitlines()[-6:] == [
        "CODE   SEVERITY  PLACE, PROBLEM → REASON",
        "GC102  warning   trap: state 'CAUGHT'",
        "                 no transition leaves it",
        "                 → allowed: a keeper frees it",
        "",
        "1 graph: no findings; 1 allowed",
    ]


def test_machines_always_get_what_is_allowed(lenient, gatechart):
    document = gatechart("check", "--json", *lenient).document
    assert (document["findings"], document["failed"]) == ([], False)
    (allowed,) = document["allowed"]
    assert (allowed["code"], allowed["place"], allowed["reason"]) == ("GC102", "state 'CAUGHT'", "a keeper frees it")


def test_an_unknown_graph_is_not_checked(maze, gatechart):
    failed = gatechart("check", "notd")
    assert (failed.code, failed.out) == (4, "")
    assert "did you mean 'noted'?" in failed.err


def test_every_fault_of_a_graph_is_told_at_once(folder, gatechart):
    (folder / "wrong.py").write_text(
        "from gatechart import StateTransitionGraph, Transition\n"
        "gone = Transition('A', 'GONE', '*', guard=len)\n"
        "graph = StateTransitionGraph('wrong', transitions=[gone], entry_points=['B'])"
    )
    failed = gatechart("check", "--app", "wrong:graph")
    assert (failed.code, failed.out) == (3, "")
    heading, *faults = failed.err.splitlines()
    assert heading == "error: graph 'wrong' has 3 faults"
    assert len(faults) == 3
    told = gatechart("check", "--app", "wrong:graph", "--json")
    assert told.code == 3
    assert [set(fault) for fault in told.error["facts"]["faults"]] == [{"place", "problem", "remedy"}] * 3


def test_a_drawing_is_printed_where_no_file_is_named(project, gatechart):
    printed = gatechart("draw", "desk")
    from desk import desk  # now that the command has found it

    assert (printed.code, printed.err) == (0, "")
    assert printed.out.strip() == to_dot(desk).strip()
    assert gatechart("draw", "desk", "--format", "mermaid").out.strip() == to_mermaid(desk).strip()
    document = gatechart("draw", "desk", "--format", "mermaid", "--json").document
    assert document == {"graph": "desk", "format": "mermaid", "text": to_mermaid(desk)}


@pytest.mark.parametrize("arguments", [["desk", "out/desk.dot"], ["desk", "-o", "out/desk.dot"]])
def test_a_drawing_is_written_to_the_file_that_is_named(arguments, project, gatechart):
    drawn = gatechart("draw", *arguments)
    from desk import desk  # now that the command has found it

    assert (drawn.code, drawn.out, drawn.err) == (0, "drew desk to out/desk.dot\n", "")
    assert (project / "out" / "desk.dot").read_text() == to_dot(desk)
    assert gatechart("draw", *arguments, "--json").document == {"graph": "desk", "path": "out/desk.dot"}


def test_a_drawing_has_the_theme_and_the_legend_that_are_asked_for(project, gatechart):
    drawn = gatechart("draw", "desk", "--theme", "dark", "--legend")
    from desk import desk  # now that the command has found it

    assert drawn.out.rstrip() == to_dot(desk, theme="dark", legend=True).rstrip()
    assert gatechart("draw", "desk", "--theme", "blue").code == 2


def test_declared_events_are_drawn_with_their_payloads_on_wish(project, gatechart):
    (project / "leave.yaml").write_text(
        "id: leave\nentry_points: [A]\nevents: {NOTED: {takes: {properties: {text: {type: string}}}}}\n"
        "states: {A: {on: {NOTED: B}}, B: }\n"
    )
    drawn = gatechart("draw", "leave", "--app", "leave.yaml", "--payloads")
    assert "NOTED(text?)" in drawn.out
    assert "NOTED(text?)" not in gatechart("draw", "leave", "--app", "leave.yaml").out


@needs_dot
def test_graphviz_draws_a_picture(project, gatechart):
    assert gatechart("draw", "desk", "desk.svg").code == 0
    assert "<svg" in (project / "desk.svg").read_text()


def test_an_agent_stands_out_with_its_way(project, gatechart):
    gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
    gatechart("send", "a", "ASKED", "-p", '{"text": "my printer"}')
    highlighted = gatechart("draw", "--agent", "a")
    assert highlighted.code == 0
    assert highlighted.out.startswith('digraph "desk"')
    assert highlighted.out != gatechart("draw", "desk").out


def test_an_agent_of_another_graph_is_not_drawn(project, gatechart):
    gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
    failed = gatechart("draw", "strict", "strict.dot", "--agent", "a")
    assert failed.code == 4
    assert not (project / "strict.dot").exists()


def test_the_only_graph_is_drawn_where_none_is_named(folder, gatechart):
    assert gatechart("draw", "--app", "desk:strict").out.startswith('digraph "strict"')


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "no graph; name one to draw: desk, strict"),
        (["desk", "a.svg", "-o", "b.svg"], "PATH and --output both name a file"),
        (["desk", "a.svg", "--format", "dot"], "the format of a file follows from its extension"),
        (["desk", "--format", "gif"], "Invalid value for '--format'"),
        (["desk", "desk.gif"], "unknown extension of 'desk.gif'; use one of '.svg', '.png', '.pdf', '.dot', '.mmd'"),
        (["desk", "-o", "desk"], "unknown extension of 'desk'; use one of '.svg'"),
    ],
)
def test_what_cannot_be_drawn_for_its_command_line_is_a_usage_error(arguments, told, project, gatechart):
    failed = gatechart("draw", *arguments)
    assert (failed.code, failed.out) == (2, "")
    assert told in failed.err
    assert not [each for each in project.iterdir() if each.name in ("a.svg", "b.svg", "desk.gif", "desk")]


def test_without_graphviz_the_error_says_how_to_get_it(project, gatechart, monkeypatch):
    monkeypatch.setenv("PATH", os.fspath(project))
    failed = gatechart("draw", "desk", "desk.svg")
    assert failed.code == 5
    assert "install Graphviz" in failed.err
    assert not (project / "desk.svg").exists()


def test_several_graphs_are_drawn_as_their_map(project, gatechart):
    printed = gatechart("draw", "desk", "strict")
    from desk import desk, strict  # now that the command has found them

    assert printed.out.strip() == to_dot([desk, strict]).strip()
    assert gatechart("draw", "--map").out == printed.out
    drawn = gatechart("draw", "desk", "strict", "map.mmd")
    assert (drawn.code, drawn.out) == (0, "drew a map of desk, strict to map.mmd\n")
    assert (project / "map.mmd").read_text() == to_mermaid([desk, strict])
    assert gatechart("draw", "--map", "strict", "-o", "map.dot", "--json").document == {
        "graphs": ["strict"],
        "path": "map.dot",
    }


DIRECTORY = """
from gatechart import Accepts, EntryPoint, StateTransitionGraph
from gatechart.selection import Profile

door = EntryPoint("WORKING", profile=Profile(tier=2))
team = StateTransitionGraph("team", states=["WORKING"], entry_points=[door], accepts=Accepts(capacity=3))
open_team = StateTransitionGraph("open_team", states=["WORKING"], entry_points=[door])
graphs = [team, open_team]
"""


ASKING = """
from gatechart.selection import Best
from gatechart import EntryPoint, Handoff, State, StateTransitionGraph, Transition
from gatechart.selection import Needs, Profile

moved = Transition("TALKING", "ASKED", "WAITING", actions=Handoff(Best(Needs(domains=("bills",)))))
back = Transition("WAITING", "handoff.failed", "TALKING")
desk = StateTransitionGraph("desk", transitions=[moved, back], entry_points=["TALKING"])
door = EntryPoint("HELPING", profile=Profile(domains=("orders",)), description="somebody helps")
people = StateTransitionGraph("people", states=[State("HELPING", final=True)], entry_points=[door])
graphs = [desk, people]
"""


def test_check_knows_what_is_registered_in_the_directory_on_wish(project, gatechart):
    (project / "bills.py").write_text(ASKING)
    at = ("--app", "bills:graphs", "--store", f"sqlite+aiosqlite:///{project / 'bills.db'}")
    who = ("anna", "people", "--at", "HELPING", "--person", "--domain", "bills")
    registered = gatechart(*at, "directory", "register", *who)
    assert registered.code == 0, registered.err
    assert "no profile has the domain 'bills'" in gatechart(*at, "check").out
    told = gatechart(*at, "check", "--directory")
    assert (told.code, "bills" in told.out) == (0, False)


def test_a_map_tells_how_much_work_entry_points_have(project, gatechart):
    (project / "teams.py").write_text(DIRECTORY)
    store = f"sqlite+aiosqlite:///{project / 'teams.db'}"
    opened = gatechart("--app", "teams:graphs", "--store", store, "start", "team", "--at", "WORKING")
    assert opened.code == 0, opened.err
    drawn = gatechart("--app", "teams:graphs", "--store", store, "draw", "--map", "--loads")
    assert drawn.code == 0, drawn.err
    assert "0 of 3 places" in drawn.out
    assert "0 open" in drawn.out
    failed = gatechart("--app", "teams:graphs", "draw", "team", "--loads")
    assert (failed.code, "add --map" in failed.err) == (2, True)


def test_a_map_tells_how_much_work_those_have_who_are_registered_at_an_entry_point(project, gatechart):
    (project / "bills.py").write_text(ASKING)
    at = ("--app", "bills:graphs", "--store", f"sqlite+aiosqlite:///{project / 'bills.db'}")
    for name in ("anna", "bert"):
        registered = gatechart(*at, "directory", "register", name, "desk", "--at", "TALKING", "--person")
        assert registered.code == 0, registered.err
    assert gatechart(*at, "directory", "close", "bert").code == 0
    drawn = gatechart(*at, "draw", "--map", "--loads")
    assert "registered 2: 0 open, 1 available" in drawn.out


def test_a_map_shows_no_agent(project, gatechart):
    failed = gatechart("draw", "--map", "--agent", "a")
    assert failed.code == 2
    assert "a map cannot show an agent" in failed.err


def test_an_unknown_graph_is_not_drawn(project, gatechart):
    assert (
        gatechart("draw", "dusk").err
        == "error: no graph is named 'dusk': did you mean 'desk'? There are 'desk', 'strict'\n"
    )


@needs_dot
def test_how_long_graphviz_may_take_is_an_option(project, gatechart):
    assert gatechart("draw", "desk", "desk.svg", "--limit", "2m").code == 0
    failed = gatechart("draw", "desk", "desk.svg", "--limit", "soon")
    assert failed.code == 2
    assert "'soon' is not a duration" in failed.err
