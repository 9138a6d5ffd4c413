"""Migrations of a graph are judged with it; where an agent can be is judged by the graph that is to take it over."""

from functools import partial

import pytest

from gatechart import Migration, State, StateTransitionGraph, Transition
from gatechart.charts import load
from gatechart.errors import InvalidChartError, InvalidGraphError
from gatechart.graph.definition import Recall
from gatechart.graph.migration import way
from gatechart.kernel.legal import misfit
from gatechart.results import Stored
from gatechart.testing import rehearse


def same(stored):
    return stored


async def later(stored):
    return stored


def door(*migrations, version="3"):
    return StateTransitionGraph("door", version=version, states=["SHUT"], entry_points=["SHUT"], migrations=migrations)


def faults(*migrations, **more):
    with pytest.raises(InvalidGraphError) as caught:
        door(*migrations, **more)
    return [(fault.place, fault.problem, fault.remedy) for fault in caught.value.faults]


# Faults


def test_migrations_that_lead_to_the_version_are_kept():
    chain = (Migration("1", "2", same), Migration("2", "3", same), Migration("1", "3", partial(same)))
    assert door(*chain).migrations == chain
    alone = Migration("2", "3", same)
    assert StateTransitionGraph("door", version="3", entry_points=["A"], states="A", migrations=alone).migrations == (
        alone,
    )


def test_the_fingerprint_leaves_migrations_out():
    assert door(Migration("2", "3", same)).fingerprint == door().fingerprint


@pytest.mark.parametrize(
    ("migration", "problem"),
    [
        ("1 to 2", "'1 to 2' is not a migration"),
        (Migration("1", "3", None), "None cannot be called"),
        (Migration("1", "3", later), "later is async"),
        (Migration("1", "3", lambda: None), "<lambda> does not take (stored)"),
        (Migration(1, "3", same), "1 is not a version"),
        (Migration("", "3", same), "'' is not a version"),
        (Migration("2", "2", same), "it leads nowhere"),
        (Migration("3", "1", same), "it leads away from '3', the graph's own version"),
        (Migration("1", "2", same), "from '2' no migration leads to '3', the graph's version"),
    ],
)
def test_what_cannot_be_a_migration_is_a_fault(migration, problem):
    ((place, told, remedy),) = faults(migration)
    assert told == problem
    assert remedy
    assert place == (
        "migrations" if isinstance(migration, str) else f"migration {migration.before!r} to {migration.after!r}"
    )


def test_a_migration_that_ends_nowhere_is_told_where_it_could_lead():
    chain = Migration("1", "2", same), Migration("2", "3", same), Migration("0", "1b", same)
    assert faults(*chain) == [
        (
            "migration '0' to '1b'",
            "from '1b' no migration leads to '3', the graph's version",
            "let it lead to '3', '1', '2', or add a migration that goes on from '1b'",
        )
    ]


def test_two_migrations_for_the_same_versions_are_a_fault_told_once():
    assert faults(Migration("2", "3", same), Migration("2", "3", partial(same))) == [
        ("migration '2' to '3'", "there are two of them", "drop one; which of them to take could not be told")
    ]


def test_all_faults_are_told_together():
    told = faults(Migration("1", "3", None), Migration("2", "3", later), version="")
    assert [place for place, *_ in told] == ["graph", "migration '1' to '3'", "migration '2' to '3'"]


def test_the_way_is_the_shortest():
    steps = [Migration(before, after, same) for before, after in ("12", "23", "34", "13", "41")]
    assert [(step.before, step.after) for step in way(steps, "1", "4")] == [("1", "3"), ("3", "4")]
    assert way(steps, "4", "4") == ()
    assert way(steps, "5", "4") is None


def test_a_chart_file_takes_migrations():
    chart = "id: door\nversion: '2'\nentry_points: [SHUT]\nstates:\n  SHUT:\n"
    assert [step.before for step in load(chart, migrations=Migration("1", "2", same)).migrations] == ["1"]
    with pytest.raises(InvalidChartError, match="migration '1' to '3': from '3' no migration leads to '2'"):
        load(chart, migrations=[Migration("1", "3", same)])


async def test_a_rehearsal_keeps_the_migrations():
    async with rehearse(door(Migration("2", "3", same))) as rehearsal:
        assert rehearsal.snapshot.graph_version == "3"


# What a migration gets


def test_states_are_renamed_in_memory_and_epochs_and_everything_else_stays():
    stored = Stored(("A", "B"), {"n": 1}, (("H", ("A",)),), (("A", 3),), (), ())
    assert stored.renamed({"A": "Z", "H": "G"}) == Stored(("Z", "B"), {"n": 1}, (("G", ("Z",)),), (("Z", 3),), (), ())
    assert stored.renamed({}) == stored


# Where an agent can be

house = StateTransitionGraph(
    "house",
    version="2",
    states=[
        "EMPTY",
        State(
            "LIVED_IN",
            parallel=True,
            states=[
                State("LIGHT", states=["DARK", "LIT", State("WAS", history=Recall.SHALLOW, initial="DARK")]),
                State("HEAT", states=["COLD", "WARM"]),
                State("AS_LEFT", history=Recall.DEEP, initial="LIT"),
            ],
        ),
    ],
    transitions=[Transition("EMPTY", "MOVED_IN", "LIVED_IN")],
    entry_points=["EMPTY"],
)


@pytest.mark.parametrize("leaves", [("EMPTY",), ("DARK", "COLD"), ("LIT", "WARM")])
def test_what_the_graph_can_be_in_fits(leaves):
    assert misfit(house, leaves) is None


@pytest.mark.parametrize(
    ("leaves", "problem"),
    [
        (("LET",), "'LET' is not a leaf of version '2'"),
        (("LIGHT", "COLD"), "'LIGHT' is not a leaf of version '2'"),
        (("WAS",), "'WAS' is not a leaf of version '2'"),
        (("DARK",), "no state is active in 'LIVED_IN.HEAT', a region of version '2'"),
        (("DARK", "LIT", "COLD"), "'DARK' and 'LIT' would be active in 'LIVED_IN.LIGHT' at once"),
        (("EMPTY", "DARK", "COLD"), "'EMPTY' and 'LIVED_IN' would be active in the graph at once"),
        ((), "no state would be active in the graph; one of 'EMPTY', 'LIVED_IN' must be"),
    ],
)
def test_what_the_graph_cannot_be_in_is_told(leaves, problem):
    assert misfit(house, leaves) == problem


@pytest.mark.parametrize(
    ("memory", "problem"),
    [
        ((("WAS", ("LIT",)),), None),
        ((("GONE", ("LIT",)),), "'GONE', which remembers, is not a history state of version '2'"),
        ((("DARK", ("LIT",)),), "'DARK', which remembers, is not a history state of version '2'"),
        ((("WAS", ("DIM",)),), "'DIM', which 'WAS' remembers, is not a state of version '2'"),
        ((("WAS", ("WAS",)),), "'WAS', which 'WAS' remembers, is a history state of version '2'"),
        ((("WAS", ("WARM",)),), "'WARM', which 'WAS' remembers, is not inside 'LIVED_IN.LIGHT'"),
        ((("AS_LEFT", ("LIT", "WARM")),), None),
        ((("AS_LEFT", ("LIT",)),), None),  # the other region then begins as it does by default
        ((("AS_LEFT", ("LIGHT", "WARM")),), None),
        (
            (("WAS", ("LIT",)), ("AS_LEFT", ("LIT", "WARM", "COLD"))),
            "'COLD' and 'WARM' would be active in 'LIVED_IN.HEAT' at once, as 'AS_LEFT' remembers it",
        ),
        ((("AS_LEFT", ()),), None),
    ],
)
def test_what_is_remembered_must_be_there_too(memory, problem):
    assert misfit(house, ("EMPTY",), memory) == problem
