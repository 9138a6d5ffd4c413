from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from gatechart.graph.definition import ANY, EntryPoint, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from tests.support import Trail, boom, is_no, is_yes


class Case(BaseModel):
    number: int


class Trail2(Trail):
    pass


def graph(**changes: Any) -> StateTransitionGraph:
    definition: dict[str, Any] = {
        "name": "lamp",
        "version": "1",
        "context": Trail,
        "states": [State("ON", states=["DIM", "BRIGHT"], on_entry=[boom]), State("BROKEN", final=True)],
        "transitions": [
            Transition("OFF", "PRESSED", "ON", guard=is_yes, actions=[boom]),
            Transition("ON", "PRESSED", "OFF"),
            Transition("ON", "TURNED", "BRIGHT"),
            Transition(ANY, "FELL", "BROKEN"),
        ],
        "entry_points": [EntryPoint("OFF", opens_on=["BOUGHT"], takes=Case), "DIM"],
    }
    definition.update(changes)
    return StateTransitionGraph(definition.pop("name"), **definition)


FINGERPRINT = "6556e368860493cb9028e5ac2c13ac24"


def test_the_fingerprint_is_the_same_in_every_process() -> None:
    """A change here makes stored agents warn that their graph was changed without a new version."""
    assert graph().fingerprint == FINGERPRINT


def first(*_: Any) -> None: ...


ON = State("ON", states=["DIM", "BRIGHT"], on_entry=[boom])
BROKEN = State("BROKEN", final=True)
PRESSED = Transition("OFF", "PRESSED", "ON", guard=is_yes, actions=[boom])
REST = [Transition("ON", "PRESSED", "OFF"), Transition("ON", "TURNED", "BRIGHT"), Transition(ANY, "FELL", "BROKEN")]
OFF = EntryPoint("OFF", opens_on=["BOUGHT"], takes=Case)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "lamb"},
        {"version": "2"},
        {"context": Trail2},
        {"states": [BROKEN, ON]},
        {"states": [ON, BROKEN, "EXTRA"]},
        {"states": [State("ON", states=["BRIGHT", "DIM"], on_entry=[boom]), BROKEN]},
        {"states": [State("ON", states=["DIM", "BRIGHT"], initial="BRIGHT", on_entry=[boom]), BROKEN]},
        {"states": [State("ON", states=["DIM", "BRIGHT"]), BROKEN]},
        {"states": [State("ON", states=["DIM", "BRIGHT"], on_entry=[first]), BROKEN]},
        {"states": [State("ON", states=["DIM", "BRIGHT"], on_entry=[boom], on_exit=[first]), BROKEN]},
        {"states": [State("ON", states=["DIM", "BRIGHT"], on_exit=[boom]), BROKEN]},
        {"states": [ON, "BROKEN"]},
        {"states": [ON, State("BROKEN", final=True, failed=True)]},
        {"states": [ON, BROKEN, "BRIGHTER"], "transitions": [PRESSED, *REST]},
        {"states": [State("ON", states=["DIM"], on_entry=[boom]), BROKEN]},
        {"transitions": [PRESSED, REST[1], REST[0], REST[2]]},
        {"transitions": [PRESSED, *REST[1:]]},
        {"transitions": [Transition("OFF", "PRESSED", "ON", actions=[boom]), *REST]},
        {"transitions": [Transition("OFF", "PRESSED", "ON", guard=is_no, actions=[boom]), *REST]},
        {"transitions": [Transition("OFF", "PRESSED", "ON", guard=is_yes), *REST]},
        {"transitions": [Transition("OFF", "PRESSED", "ON", guard=is_yes, actions=[boom, first]), *REST]},
        {"transitions": [Transition("OFF", "PUSHED", "ON", guard=is_yes, actions=[boom]), *REST]},
        {"transitions": [Transition("OFF", "PRESSED", "DIM", guard=is_yes, actions=[boom]), *REST]},
        {"transitions": [Transition("OFF", "PRESSED", guard=is_yes, actions=[boom]), *REST]},
        {"transitions": [PRESSED, REST[0], Transition("ON", "TURNED", "BRIGHT", internal=True), REST[2]]},
        {"entry_points": [OFF]},
        {"entry_points": ["DIM", OFF]},
        {"entry_points": [EntryPoint("ON", opens_on=["BOUGHT"], takes=Case), "DIM"]},
        {"entry_points": [EntryPoint("OFF", "door", opens_on=["BOUGHT"], takes=Case), "DIM"]},
        {"entry_points": [EntryPoint("OFF", opens_on=["GIVEN"], takes=Case), "DIM"]},
        {"entry_points": [EntryPoint("OFF", takes=Case), "DIM"]},
        {"entry_points": [EntryPoint("OFF", opens_on=["BOUGHT"]), "DIM"]},
        {"entry_points": [EntryPoint("OFF", opens_on=["BOUGHT"], takes=Case, guard=is_yes), "DIM"]},
    ],
)
def test_a_change_of_structure_changes_the_fingerprint(changes: dict[str, Any]) -> None:
    assert graph(**changes).fingerprint != graph().fingerprint


def test_the_entities_that_fill_fields_keep_the_fingerprint() -> None:
    """So that a declaration can be added to a graph that has agents, as `maps` can."""
    doors = [EntryPoint("OFF", opens_on=["BOUGHT"], takes=Case, entities="number"), "DIM"]
    assert graph(entry_points=doors).fingerprint == FINGERPRINT


def test_other_code_under_the_same_names_keeps_the_fingerprint() -> None:
    def other(function: Any) -> Any:
        def replacement(context: Any, event: Any) -> bool:
            return False

        replacement.__name__ = function.__name__
        return replacement

    changed = graph(
        states=[State("ON", states=["DIM", "BRIGHT"], on_entry=[other(boom)]), BROKEN],
        transitions=[Transition("OFF", "PRESSED", "ON", guard=other(is_yes), actions=[other(boom)]), *REST],
    )
    assert changed.fingerprint == graph().fingerprint


def test_descriptions_are_not_structure() -> None:
    changed = graph(
        description="a lamp",
        states=[State("ON", states=["DIM", "BRIGHT"], on_entry=[boom], description="it shines"), BROKEN],
    )
    assert changed.fingerprint == graph().fingerprint


def test_the_same_structure_written_in_another_way_has_the_same_fingerprint() -> None:
    changed = graph(
        states=[State("ON", states=[State("DIM"), "BRIGHT"], initial="DIM", on_entry=boom), BROKEN, State("OFF")],
        transitions=[REST[2], REST[0], PRESSED, REST[1]],
        entry_points=[EntryPoint("OFF", "OFF", opens_on="BOUGHT", takes=Case), EntryPoint("DIM")],
    )
    assert changed.fingerprint == graph().fingerprint
