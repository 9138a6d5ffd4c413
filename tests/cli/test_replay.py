"""`gatechart replay`: recorded histories played through another version of their graph, to look before one leaps."""

import pytest

from tests.cli.homes import on_both

pytestmark = pytest.mark.sqlite_is_enough

NEXT = """
from shop import *

def make_next(version="2", *migrations, target="FOUND", delay="1h", word=None):
    def note(context, event):
        context.notes.append(word or event.name)

    return StateTransitionGraph(
        "shop", version=version, context=Order,
        states=[
            State("NEW", after={"30m": "LATE", delay: "TOO_LATE"}),
            State("SEARCHING", invoke=Invoke(search)),
            State("SLEEPING", invoke=Invoke(sleep)),
            State("GONE", final=True),
            "FOUND",
        ],
        transitions=[
            Transition("NEW", "ASKED", "SEARCHING"),
            Transition("SEARCHING", "done.invoke.search", target, actions=note),
            Transition(ANY, "NOTED", actions=note),
            Transition(ANY, "JAMMED", actions=jam),
            Transition(ANY, "LEFT", "GONE"),
        ],
        entry_points=["NEW", "SEARCHING", "SLEEPING", "FOUND"],
        migrations=migrations,
    )

elsewhere = make_next(target="LOST")
slower = make_next(delay="2h")
wordy = make_next(word="noted")
deaf = StateTransitionGraph("shop", version="3", context=Order, states=["NEW"], entry_points=["NEW"])
two = [slower, make_next("1")]
mixed = [slower, StateTransitionGraph("other", states=["A"], entry_points=["A"])]
"""


@pytest.fixture(autouse=True)
def histories(unhurried_shop, prepare):
    (unhurried_shop / "next.py").write_text(NEXT)
    prepare(
        ("start", "shop", "--at", "NEW", "--id", "n"),
        ("send", "n", "NOTED"),
        ("send", "n", "ASKED"),
        ("start", "shop", "--at", "NEW", "--id", "m"),
        ("send", "m", "JAMMED", "--services", "shop:values"),
        ("run", "--once"),
    )


@on_both
def test_a_version_that_does_the_same_differs_nowhere_and_nothing_is_changed(gatechart, unchanged):
    with unchanged():
        told = gatechart("replay", "--graph", "shop", "--app", "shop:first", "--stand-ins", "shop:values")
    assert (told.code, told.out) == (0, "2 agents, 6 turns: 6 the same\n")
    assert told.err.startswith("'shop' version '1' recorded 6 of the turns itself, so there is no other version")
    assert "were not compared" not in told.err


def test_turns_that_differ_are_told_with_both_sides(gatechart):
    told = gatechart("replay", "--graph", "next:elsewhere", "--stand-ins", "shop:values")
    assert told.code == 1
    assert ["n", "4", *told.rows[1][2:4], "done.invoke.search", "configuration", '["FOUND"]', '["LOST"]'] == told.rows[
        1
    ]
    assert told.out.endswith("2 agents (1 with turns that are not the same), 6 turns: 5 the same, 1 differ\n")


def test_machines_get_each_agent_and_each_difference(gatechart):
    told = gatechart("replay", "--graph", "next:wordy", "--stand-ins", "shop:values", "--json").document
    assert told["counts"] == {"same": 4, "differs": 2, "unclear": 0, "skipped": 0}
    assert told["effects_unknown"] == 0
    [n, m] = told["agents"]
    assert (n["agent_id"], n["differs"], m["agent_id"], m["differs"], m["turns"]) == ("n", 2, "m", 0, [])
    assert [(turn["version"], turn["differences"]) for turn in n["turns"]] == [
        (2, [{"aspect": "context.notes", "recorded": ["NOTED"], "replayed": ["noted"]}]),
        (4, [{"aspect": "context.notes", "recorded": ["NOTED", "done.invoke.search"], "replayed": ["NOTED", "noted"]}]),
    ]


def test_effects_are_compared_with_those_of_the_version_that_made_the_record(gatechart):
    told = gatechart("replay", "--graph", "next:slower", "--stand-ins", "shop:values", "--json")
    assert told.code == 1
    turns = [turn for agent in told.document["agents"] for turn in agent["turns"]]
    assert [(turn["agent_id"], turn["event"]) for turn in turns] == [
        ("n", "agent.started.NEW"),
        ("m", "agent.started.NEW"),
    ]
    [difference] = turns[0]["differences"]
    assert difference["aspect"] == "effects"
    assert [each["timer"] for each in difference["replayed"]] == ["after.30m", "after.2h"]


def test_without_that_version_it_says_that_effects_are_unknown(gatechart):
    told = gatechart("replay", "--graph", "next:slower", "--app", "next:slower", "--stand-ins", "shop:values")
    assert told.code == 0
    assert told.out.endswith("2 agents, 6 turns: 6 the same\n")
    assert told.err.startswith("effects of 6 turns were not compared: the app has no version of 'shop' that recorded")


def test_migrations_of_the_new_version_are_applied(gatechart):
    told = gatechart("replay", "--graph", "shop:second", "--stand-ins", "shop:values", "--json").document
    assert told["counts"] == {"same": 4, "differs": 2, "unclear": 0, "skipped": 0}
    failed = [turn["differences"][0] for agent in told["agents"] for turn in agent["turns"]]
    assert [each["aspect"] for each in failed] == ["outcome", "outcome"]  # its entry point has another name
    assert "'shop' cannot be entered at 'NEW'; its entry points are OPEN" in failed[0]["replayed"]


def test_a_version_that_cannot_go_on_says_what_it_lacks(gatechart):
    told = gatechart("replay", "--graph", "next:deaf", "--json").document
    problems = {turn["version"]: turn["differences"][0]["replayed"] for turn in told["agents"][0]["turns"]}
    assert "the event is refused: no transition in NEW; nothing is accepted there" in problems[2]
    assert "'SEARCHING' is not a leaf of version '3'" in problems[4]


def test_a_turn_that_its_own_version_does_not_repeat_either_is_unclear(gatechart):
    told = gatechart("replay", "--graph", "next:elsewhere", "--agent", "m", "--json")
    assert told.code == 1
    assert told.document["counts"] == {"same": 1, "differs": 0, "unclear": 1, "skipped": 0}
    [turn] = told.document["agents"][0]["turns"]
    assert "a replay runs without services" in turn["differences"][0]["replayed"]


def test_agents_and_turns_can_be_chosen(gatechart):
    def played(*options):
        found = gatechart("replay", "--graph", "next:wordy", "--stand-ins", "shop:values", "--json", *options).document
        return {each["agent_id"]: each["same"] + each["differs"] for each in found["agents"]}

    assert played() == {"n": 4, "m": 2}
    assert played("--limit", 1) == {"n": 4}
    assert played("--agent", "m") == {"m": 2}
    assert played("--since", "1h") == {"n": 4, "m": 2}
    assert played("--since", "2999-01-01") == {"n": 0, "m": 0}


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--graph", "shup"), 4, "did you mean 'shop'"),
        (("--graph", "next:nothing"), 3, "slower"),
        (("--graph", "next:mixed"), 2, "name the attribute of one"),
        (("--graph", "shop", "--since", "soon"), 2, "neither a duration"),
        (("--graph", "shop", "--agent", "x"), 4, "no agent 'x'"),
        ((), 2, "--graph"),
    ],
)
def test_what_cannot_be_played_is_told(gatechart, options, code, message):
    told = gatechart("replay", *options)
    assert (told.code, message in told.err) == (code, True), told.err


def test_stand_ins_alone_are_used_as_services(gatechart):
    told = gatechart("replay", "--graph", "next:elsewhere", "--services", "shop:values", "--agent", "m", "--json")
    assert told.document["counts"]["unclear"] == 1


def test_the_graph_may_come_with_its_earlier_versions(gatechart):
    told = gatechart("replay", "--graph", "next:two", "--stand-ins", "shop:values", "--json").document
    assert told["graph_version"] == "1"
    assert told["counts"] == {"same": 6, "differs": 0, "unclear": 0, "skipped": 0}
    assert told["effects_unknown"] == 0  # the app has the version that made them
