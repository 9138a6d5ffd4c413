"""The DOT text, and what Graphviz makes of it."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatechart import ANY, EntryPoint, State, StateTransitionGraph, Transition
from gatechart.drawing import palette, to_dot, to_mermaid
from gatechart.drawing.graph_map import map_of
from gatechart.drawing.language import identity
from gatechart.drawing.palette import THEMES
from gatechart.drawing.text import one_line, visible
from gatechart.errors import DrawingError
from gatechart.graph.handoff import Handoff
from tests.drawing.charts import (
    HISTORY,
    PINS,
    SNAPSHOT,
    SVG,
    needs_dot,
    orders,
    pins,
    snapshot,
    specialists,
    support,
    svg_of,
    turn,
    words_of,
)

HOSTILE = [
    '"',
    "\\",
    "\\N\\G\\n",
    "ends in \\",
    "a\nb\tc",
    "<b>bold</b>",
    "&amp; & &#0;",
    " ",
    "  x  ",
    "\x00\x1b",
    "日本語 λ ünïcode 👩‍🚀",
    "\u202etfel ot thgir",
    "a:b->c",
    "{x|y}",
    "]>];}",
    "]",
    "\\]",
    "%20",
    "graph",
    "/* // #",
]


def strict(name: str, *other: str) -> StateTransitionGraph:
    """A graph in which every kind of name is a given one."""

    def act(context: object, event: object) -> None: ...

    def ask(context: object, event: object) -> bool:
        return True

    act.__name__ = ask.__name__ = name
    inner, outer, end = f"{name}i", f"{name}o", f"{name}e"
    return StateTransitionGraph(
        name,
        version=name,
        description=name,
        states=[
            State(outer, states=[inner, *other], on_exit=act, description=name),
            State(end, final=True, on_entry=act, description=name),
        ],
        transitions=[
            Transition(inner, name, end, guard=ask, actions=act),
            Transition(
                ANY, f"{name}h", actions=[Handoff(name, at=name), Handoff(f"{name}g", at=name, mode="delegate")]
            ),
            Transition(inner, name, inner),
            Transition(outer, name, outer),
            Transition(ANY, name, end),
            Transition(ANY, f"{name}n"),
            *(Transition(first, name, second) for first, second in pairwise([inner, *other])),
        ],
        entry_points=[EntryPoint(inner, name, opens_on=[name], guard=ask), outer],
    )


@pytest.mark.parametrize(("path", "text"), [pytest.param(*pin, id=pin[0].name) for pin in pins()])
def test_the_text_is_as_pinned(path, text):
    assert path.read_text(encoding="utf-8") == text, "look at it, then: python -m tests.drawing.charts"


def test_the_same_graph_gives_the_same_text():
    assert to_dot(support) == to_dot(support)


@needs_dot
@pytest.mark.parametrize("path", sorted(PINS.glob("*.dot")), ids=lambda path: path.name)
def test_graphviz_draws_what_is_pinned_without_complaint(path):
    assert "handover" in words_of(svg_of(path.read_text(encoding="utf-8")))


@needs_dot
def test_everything_that_matters_is_written_in_the_drawing():
    words = words_of(svg_of(to_dot(support)))
    for word in (
        *support.states,
        *support.events,
        "HANDED_OVER",
        "RETURNED",
        "CaseFile",
        "[is_solved]",
        "[λ]",
        "[else]",
    ):
        assert word in words
    assert "«re-entersWORKING»" in words
    assert "entry/notify" in words
    assert "exit/note,notify" in words
    assert "Helpscustomers." in words


# Handoffs


def test_what_is_handed_on_is_a_dashed_line_to_the_door_of_another_graph():
    text = to_dot(orders)
    label, door = "hand:TALKING:to:specialists:REVIEWING", "to:specialists:REVIEWING"
    assert ">transfer</FONT>" in statement_of(text, f'"{label}"')
    assert ">else transfer</FONT>" in statement_of(text, f'"{label}"')
    for part in ("specialists", "REVIEWING"):
        assert f">{part}</FONT>" in statement_of(text, f'"{door}"')
    assert 'style="filled,dashed"' in statement_of(text, f'"{door}"')
    near, far = (statement_of(text, line) for line in (f'"ANSWERING" -> "{label}"', f'"{label}" -> "{door}"'))
    assert 'style="dashed"' in near
    assert 'ltail="cluster:TALKING"' in near
    assert 'style="dashed"' in far


def test_an_agent_that_is_invoked_and_what_is_handed_on_from_anywhere_are_drawn_too():
    text = to_dot(orders)
    assert statement_of(text, '"TRACKING" -> "hand:TRACKING:to:parcels:SEARCHING"')
    anywhere = '"any:hand:%2A:to:support:handover"'
    assert ">any state</FONT>" in statement_of(text, anywhere)
    assert statement_of(text, f'{anywhere} -> "hand:%2A:to:support:handover"')


def test_a_handoff_that_was_asked_for_stands_out():
    trail = [turn("ANSWERING", "WAITING", "TALKING --COMPLAINED--> WAITING")]
    lines = to_dot(orders, trail=trail).splitlines()
    asked = [line for line in lines if '-> "to:specialists:REVIEWING"' in line]
    assert asked
    assert all(palette.LIGHT.trail in line for line in asked)
    assert not any(palette.LIGHT.trail in line for line in lines if '-> "to:parcels:SEARCHING"' in line)


MAP = [orders, specialists, support]


@needs_dot
def test_a_map_names_each_graph_its_doors_and_when_where_and_why_it_hands_on():
    words = words_of(svg_of(to_dot(MAP)))
    for graph in MAP:
        assert graph.name in words
        assert all(name in words for name in graph.entry_points)
    for word in ("onCHAT_OPENED", "takesCaseFile", "TALKING:COMPLAINED", "transfertoREVIEWING"):
        assert word in words
    assert "anystate:PERSON_WANTED" in words
    assert "TRACKING:whileactive" in words
    assert "transfertohandover,ifnotspecialists" in words
    assert "delegatetoSEARCHING" in words


def test_a_map_has_one_line_from_a_graph_to_another():
    routes = [(route.origin, route.graph) for route in map_of(MAP).routes]
    assert len(routes) == len(set(routes))
    ways = next(route for route in map_of(MAP).routes if (route.origin, route.graph) == ("orders", "support")).ways
    assert [(way.occasion, way.purpose) for way in ways] == [
        ("any state: PERSON_WANTED", "delegate to handover"),
        ("TALKING", "transfer to handover, if not specialists"),
    ]


def test_a_line_of_a_map_ends_at_a_door_or_at_the_graph_if_it_leads_to_several():
    text = to_dot(MAP)
    label = '"hand:orders:parcels"'
    assert f'"orders" -> {label}:w' in text
    assert f'{label}:e -> "parcels":door0:w' in text
    several = StateTransitionGraph(
        "several",
        transitions=[
            Transition("A", "ONE", "B", actions=Handoff("support", at="WAITING", reason="out of scope")),
            Transition("A", "TWO", "B", actions=Handoff("support", at="handover")),
        ],
        entry_points=["A"],
    )
    text = to_dot([several, support])
    assert '"hand:several:support":e -> "support" ' in text
    assert "transfer to WAITING, out of scope" in text


def test_what_leads_back_on_a_map_is_drawn_from_its_end():
    text = to_dot(MAP)
    label = '"hand:specialists:orders"'
    assert f'"orders":door1:w -> {label}:w [dir="back"]' in text
    assert f'{label}:e -> "specialists" [arrowhead="none"]' in text


def test_a_line_of_a_map_with_many_ways_counts_the_rest():
    ways = [Transition("A", f"E{at}", "B", actions=Handoff("support", at="WAITING")) for at in range(12)]
    graph = StateTransitionGraph("many", transitions=ways, entry_points=["A"])
    text = to_dot([graph, support])
    assert "A: E7" in text
    assert "A: E8" not in text
    assert "and 4 more" in text


def test_graphs_and_doors_that_are_only_named_are_dashed_on_a_map():
    text = to_dot(MAP)
    assert 'style="rounded,filled,dashed"' in statement_of(text, '"parcels"')
    assert 'style="rounded,filled"' in statement_of(text, '"support"')
    assert 'PORT="door2" ALIGN="LEFT" BORDER="1" STYLE="DASHED"' in statement_of(text, '"support"')


@needs_dot
def test_hostile_names_are_drawn_on_a_map():
    for name in HOSTILE:
        assert svg_of(to_dot([strict(name), support])) is not None


# Signs


def statement_of(text: str, subject: str) -> str:
    return next(line.strip() for line in text.splitlines() if line.strip().startswith(f"{subject} ["))


def test_a_final_state_has_a_double_border():
    assert "peripheries=2" in statement_of(to_dot(support), '"DONE"')
    assert "peripheries" not in statement_of(to_dot(support), '"WAITING"')


def test_a_failure_says_so():
    ends = [State("DONE", final=True), State("BROKEN", final=True, failed=True, on_entry=print)]
    graph = StateTransitionGraph("ends", states=["OPEN", *ends], entry_points=["OPEN"])
    for drawn in (to_dot(graph), to_mermaid(graph)):
        told = [line for line in drawn.splitlines() if "«failed»" in line]
        assert len(told) == 1
        assert "BROKEN" in told[0]


PLAYER = StateTransitionGraph(
    "player",
    states=[
        State("PLAYING", parallel=True, states=[State(f"R{at}", states=[f"R{at}A", f"R{at}B"]) for at in range(4)]),
        "OFF",
    ],
    transitions=[
        *(Transition(f"R{at}A", "GONE", f"R{at}B") for at in range(4)),
        Transition("R0B", "LEFT", "R1A"),
        Transition("OFF", "PRESSED", "PLAYING"),
    ],
    entry_points=["OFF", "PLAYING"],
)


@needs_dot
def test_regions_begin_at_one_height():
    begins = [f"initial:R{at}" for at in range(4)]
    groups = [group for group in svg_of(to_dot(PLAYER)).iter(f"{SVG}g") if group.get("class") == "node"]
    heights = {group.findtext(f"{SVG}title"): group.find(f"{SVG}ellipse") for group in groups}
    assert len({heights[name].get("cy") for name in begins}) == 1


def test_a_compound_state_is_a_cluster_whose_dot_points_to_its_initial_child():
    text = to_dot(support)
    assert 'subgraph "cluster:WORKING" {' in text
    assert 'shape="circle"' in statement_of(text, '"initial:WORKING"')
    assert statement_of(text, '"initial:WORKING" -> "READING"')


def test_a_line_to_a_compound_state_ends_at_its_border():
    half = statement_of(to_dot(support), '"way:WAITING:WORKING" -> "initial:WORKING"')
    assert 'lhead="cluster:WORKING"' in half


def test_a_line_from_a_compound_state_begins_at_its_border():
    half = statement_of(to_dot(support), '"READING" -> "way:WORKING:DONE"')
    assert 'ltail="cluster:WORKING"' in half


def test_a_line_that_closes_a_ring_is_drawn_from_above_with_its_arrowhead_there():
    text = to_dot(support)
    assert 'dir="back"' in statement_of(text, '"READING" -> "way:ANSWERING:READING"')
    assert 'arrowhead="none"' in statement_of(text, '"way:ANSWERING:READING" -> "ANSWERING"')


def test_a_line_upward_between_compound_states_is_clipped_at_both_borders():
    graph = StateTransitionGraph(
        "g",
        states=[State("UP", states=["A"]), State("DOWN", states=["B"])],
        transitions=[Transition("UP", "WENT", "DOWN"), Transition("DOWN", "CAME", "UP")],
        entry_points=["UP"],
    )
    text = to_dot(graph)
    assert 'ltail="cluster:UP"' in statement_of(text, '"initial:UP" -> "way:DOWN:UP"')
    assert 'lhead="cluster:DOWN"' in statement_of(text, '"way:DOWN:UP" -> "initial:DOWN"')


def test_active_states_have_the_heaviest_border_and_a_colour():
    text = to_dot(support, highlight=SNAPSHOT)
    assert f'penwidth={palette.LIGHT.alive.width:g}, fillcolor="{palette.LIGHT.active}"' in statement_of(
        text, '"ANSWERING"'
    )
    assert f'fillcolor="{palette.LIGHT.active_cluster}"' in text
    assert palette.LIGHT.active not in statement_of(text, '"READING"')


def test_what_the_trail_did_not_touch_steps_back():
    text = to_dot(support, trail=HISTORY)
    assert f'color="{palette.LIGHT.faint.line}"' in statement_of(text, '"WAITING"')
    assert f'color="{palette.LIGHT.loud.line}"' in statement_of(text, '"READING"')
    assert f'fillcolor="{palette.LIGHT.state}"' in statement_of(text, '"door:WAITING"')
    assert f'fillcolor="{palette.LIGHT.door}"' in statement_of(text, '"door:handover"')
    assert f"penwidth={palette.LIGHT.loud.width:g}" in statement_of(text, '"READING" -> "way:READING:ANSWERING"')


@needs_dot
def test_a_state_tells_more_to_who_points_at_it():
    titles = [link.get("{http://www.w3.org/1999/xlink}title") for link in svg_of(to_dot(support)).iter(f"{SVG}a")]
    assert "WAITING: Nobody has come yet." in titles
    assert "DONE" in titles


@needs_dot
def test_a_long_description_is_broken_into_lines():
    graph = StateTransitionGraph("g", description="word " * 60, states=["A"], entry_points=["A"])
    longest = max(len(text.text or "") for text in svg_of(to_dot(graph)).iter(f"{SVG}text"))
    assert longest <= 90


@needs_dot
def test_a_transition_with_much_to_say_is_broken_before_its_actions():
    texts = [text.text for text in svg_of(to_dot(strict("a_name_of_more_than_twenty_letters"))).iter(f"{SVG}text")]
    assert "/ a_name_of_more_than_twenty_letters" in [(text or "").strip() for text in texts]


# Names


def test_names_that_look_like_other_parts_are_kept_apart():
    graph = StateTransitionGraph(
        "g",
        states=["any:", "way:A:B", "door:A", "initial:C", "A", State("C", states=["cluster:C"])],
        transitions=[Transition("A", "GONE", "B"), Transition("A:B", "GONE", "A"), Transition(ANY, "NOTED")],
        entry_points=["A"],
    )
    subjects = re.findall(r'^ *("[^"]*") \[', to_dot(graph), re.MULTILINE)
    leaves, others = len(graph.states) - 1, 5  # a door, the dot in C, two labels, what happens anywhere
    assert len(subjects) == len(set(subjects)) == leaves + others


@given(st.text(), st.text())
@settings(derandomize=True, database=None)
def test_other_names_have_other_identities(one, other):
    assert (identity(one) == identity(other)) == (one == other)
    assert re.fullmatch(r"[\w.~%-]*", identity(one), re.ASCII)


def assert_drawn(name: str) -> None:
    svg = svg_of(to_dot(strict(name)))
    assert "".join(visible(name).split()) in words_of(svg)
    assert "".join(one_line(name).split()) in words_of(svg)


@needs_dot
@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_hostile_names_are_drawn_as_they_are(name):
    assert_drawn(name)


@needs_dot
@given(st.text(min_size=1, max_size=12))
@settings(derandomize=True, database=None, deadline=None, max_examples=30)
def test_any_name_is_drawn_as_it_is(name):
    assert_drawn(name)


@needs_dot
@given(st.lists(st.tuples(st.integers(-1, 9), st.integers(-1, 9), st.booleans()), max_size=25), st.integers(0, 9))
@settings(derandomize=True, database=None, deadline=None, max_examples=30)
def test_any_chart_is_drawn_with_each_state_in_its_cluster(ways, door):
    """States 0 to 9, of which 1 holds 2 to 5 and 4 holds 5; -1 stands for any state, or for no target."""
    nested = State("S1", states=["S2", "S3", State("S4", states=["S5"])], initial="S4")
    inside = {"S1": {"S2", "S3", "S4", "S5", "S1"}, "S4": {"S4", "S5"}}
    transitions = [
        Transition(
            source := f"S{start}" if start >= 0 else ANY,
            "GONE",
            target := f"S{end}" if end >= 0 else None,
            internal=is_internal and target in inside.get(source, {source}),
        )
        for start, end, is_internal in ways
    ]
    graph = StateTransitionGraph(
        "g", states=[nested, *(f"S{n}" for n in (0, 6, 7, 8, 9))], transitions=transitions, entry_points=[f"S{door}"]
    )
    text = to_dot(graph, highlight=snapshot(graph, "S5"))
    assert len([1 for group in svg_of(text).iter(f"{SVG}g") if group.get("class") == "cluster"]) == 2


# Colours


def luminance(colour: str) -> float:
    """Source: WCAG 2.2, https://www.w3.org/TR/WCAG22/#dfn-relative-luminance"""
    parts = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


EVERY_THEME = pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)


@EVERY_THEME
def test_all_text_can_be_read_on_every_ground(theme):
    grounds = (theme.card, theme.state, *theme.clusters, theme.active, theme.active_cluster)
    inks = {ink for tone in theme.tones for ink in (tone.ink, tone.soft_ink)}
    assert min(contrast(ink, ground) for ink in inks for ground in grounds) >= 4.5


@EVERY_THEME
def test_what_is_written_on_colours_can_be_read(theme):
    assert contrast(theme.door_ink, theme.door) >= 4.5
    assert contrast(theme.door, theme.state) >= 4.5
    assert contrast(theme.trail_ink, theme.trail) >= 4.5


@EVERY_THEME
def test_lines_are_seen_on_every_ground(theme):
    lines = {tone.line for tone in theme.tones if tone is not theme.faint}
    assert min(contrast(line, ground) for line in lines for ground in (theme.card, *theme.clusters)) >= 3


def test_a_dark_drawing_has_no_colour_of_the_light_one():
    light = {value for value in vars_of(palette.LIGHT) if value not in vars_of(palette.DARK)}
    for text in (to_dot(support, theme="dark"), to_dot(MAP, theme="dark"), to_mermaid(support, theme="dark")):
        assert [colour for colour in light if colour in text] == []
    assert palette.DARK.card in to_dot(support, theme="dark")


def vars_of(theme: palette.Theme) -> set[str]:
    return set(re.findall("#[0-9A-F]{6}", repr(theme)))


@pytest.mark.parametrize("theme", ["drak", "", None, ["dark"]])
def test_an_unknown_theme_is_refused_with_those_there_are(theme):
    with pytest.raises(DrawingError, match=r"unknown theme .*[Tt]here are 'light', 'dark'"):
        to_dot(support, theme=theme)


def test_lines_between_light_and_dark_pages_are_seen_on_both():
    assert min(contrast(palette.BETWEEN, page) for page in ("#FFFFFF", "#0D1117")) >= 3
