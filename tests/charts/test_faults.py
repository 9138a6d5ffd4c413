"""Every fault of a file, all at once, each at its place."""

from __future__ import annotations

import pickle

import pytest

from gatechart.charts import load
from gatechart.errors import DefinitionError, FileFault, InvalidChartError
from tests.charts import functions
from tests.charts.support import faults

STATES = "id: x\nentry_points: [A]\nstates:\n"


def test_faults_are_told_with_file_line_column_and_path_all_at_once(tmp_path):
    path = tmp_path / "lamp.yaml"
    path.write_text(
        "id: lamp\nentry_points: [A]\nstates:\n  A:\n    onn: {}\n    on: {GO: {guard: [], target: C}}\n  B: 3\n"
    )
    with pytest.raises(InvalidChartError) as caught:
        load(path)
    error = caught.value
    assert isinstance(error, DefinitionError)
    assert error.faults[0] == FileFault(5, 5, ("states", "A", "onn"), error.faults[0].problem, error.faults[0].remedy)
    assert [(each.line, each.column, each.place) for each in error.faults] == [
        (5, 5, "states.A.onn"),
        (6, 22, "states.A.on.GO.guard"),
        (6, 34, "states.A.on.GO.target"),
        (7, 6, "states.B"),
    ]
    assert str(error).startswith(f"chart {path} has 4 faults\n  - {path}:5:5 states.A.onn: ")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_faults_in_json_have_their_places_too():
    text = '{"id": "x",\n "entry_points": ["A"],\n "states": {"A": {"on": {"GO":\n   "B"}}}}'
    assert faults(text) == ["4:4 states.A.on.GO: unknown state 'B'; there are 'A'"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "1:1 chart: expected a chart, found nothing; write `id: ...`"),
        ("- a\n", "1:1 chart: expected a chart, found a list; write `id: ...`"),
        (
            "states: {A: }\nentry_points: [A]\n",
            "1:1 chart: 'id' is missing; write `id:` with the name of the graph",
        ),
        (
            "id: x\nstates: {A: }\n",
            "1:1 entry_points: no entry point is listed, so no agent could start; list the states",
        ),
        (
            "id: x\ndialect: scmxl\n",
            "2:10 dialect: unknown value 'scmxl'; did you mean 'scxml'?",
        ),
        (STATES + "  A: {type: fnal}\n", "4:13 states.A.type: unknown value 'fnal'"),
        (STATES + "  A: {type: atomic, states: {B: }}\n", "4:29 states.A.states: an atomic state has no states"),
        (STATES + "  A: {history: deep}\n", "4:7 states.A.history: 'history' belongs to a history state"),
        (STATES + "  A: \n  H: {type: history, initial: A}\n", "5:22 states.H.initial: a history state has a target"),
        (STATES + "  A: \n  H: {type: history}\n", "5:6 states.H: nothing says where to go while it remembers nothing"),
        (STATES + "  A: {failed: true}\n", "4:6 states.A: it has `failed: true`, but is not final"),
        (STATES + "  A: {type: final, failed: 1}\n", "4:28 states.A.failed: expected true or false, found 1"),
        (
            STATES + "  A: {states: {B: {type: final, failed: true}}}\n",
            "4:19 states.A.states.B: it has `failed: true`, but",
        ),
        (STATES + "  A: {type: final, states: {B: }}\n", "4:6 states.A: it is final and has children"),
        (
            STATES + "  A: {on: {GO: {internal: 1}}}\n",
            "4:27 states.A.on.GO.internal: expected true or false, found 1",
        ),
        (STATES + "  A: {on: {GO: {reenter: true}}}\n", "4:17 states.A.on.GO.reenter: unknown key 'reenter'"),
        (STATES + "  A: {on: {GO: }}\n", "4:15 states.A.on.GO: expected a text, found nothing"),
        (
            STATES + "  A: {on: [{target: A}]}\n",
            "4:12 states.A.on[0]: 'event' is missing; name the event, or write null",
        ),
        (STATES + "  A: {on: 3}\n", "4:11 states.A.on: expected keys with values, found 3"),
        (
            STATES + "  A: {on: {GO: {target: B, internal: true}}}\n  B:\n",
            "4:16 states.A.on.GO: it is internal, but 'B' lies",
        ),
        (STATES + "  A: {after: {soon: A}}\n", "4:15 states.A.after.soon: 'soon' is not a duration"),
        (
            STATES + "  A: {after: {1s: {target: A, description: x}}}\n",
            "4:31 states.A.after.1s.description: unknown key 'description'",
        ),
        (
            STATES + "  A: {after: {1s: {target: B, internal: true}}}\n  B:\n",
            "4:19 states.A.after.1s: it is internal, but",
        ),
        (STATES + "  A: {after: }\n", "4:13 states.A.after: expected keys with values, found nothing"),
        (
            STATES + "  A: {always: {}}\n",
            "4:15 states.A.always: without event, guard and target it would be taken forever",
        ),
        (STATES + "  A: {invoke: {id: x}}\n", "4:15 states.A.invoke: 'src' is missing; name the function to run"),
        (
            STATES + "  A: {invoke: {src: search, timeout_s: -1}}\n",
            "4:40 states.A.invoke.timeout_s: expected a number, found -1",
        ),
        (
            STATES + "  A: {invoke: {src: search, timeout_s: .inf}}\n",
            "4:40 states.A.invoke.timeout_s: expected a number, found inf",
        ),
        (
            STATES + "  A: {invoke: {src: search, retry: {attempts: 0}}}\n",
            "4:36 states.A.invoke.retry: it is not possible: attempts",
        ),
        (
            STATES + "  A: {invoke: {src: search, retry: {jitter: 2}}}\n",
            "4:36 states.A.invoke.retry: it is not possible: attempts",
        ),
        (
            STATES + "  A: {invoke: {src: search, retry: {attempts: 1.5}}}\n",
            "4:36 states.A.invoke.retry: 1.5 is not a number of attempts; write `{attempts: 3",
        ),
        (
            STATES + "  A: {invoke: {src: search, retry: 3}}\n",
            "4:36 states.A.invoke.retry: expected keys with values, found 3",
        ),
        (
            STATES + "  A: {invoke: {src: search, retry: {attemps: 3}}}\n",
            "4:37 states.A.invoke.retry.attemps: unknown key 'attemps'; did you mean 'attempts'",
        ),
        (STATES + "  A: {invoke: [search, search]}\n", "4:6 states.A: the invoke 'search' occurs twice"),
        (STATES + "  A: {entry: {params: {}}}\n", "4:14 states.A.entry: 'type' is missing; name the function"),
        (
            STATES + "  A: {entry: {type: add, params: 3}}\n",
            "4:34 states.A.entry.params: expected keys with values, found 3",
        ),
        (STATES + "  A: {initial: {actions: note}, states: {B: }}\n", "4:16 states.A.initial: 'target' is missing"),
        (STATES + "  A: {initial: A, states: {B: }}\n", "4:6 states.A: its initial state 'A' is not inside it"),
        (STATES + "  A: {entry: note_alone}\n", "4:14 states.A.entry: no action is bound to 'note_alone'"),
        (STATES + "  A: {on: {GO: ''}}\n", "4:16 states.A.on.GO: the text is empty"),
        (STATES + "  A: {entry: ''}\n", "4:14 states.A.entry: the text is empty"),
        (STATES + "  A: {entry: filled}\n", "4:6 states.A: state 'A', entry: action filled takes neither"),
        (STATES + "  A: {states: {B: }}\n  C: {states: {B: }}\n", "4:18 states.A.states.B: the name occurs twice"),
        ("id: x\nstates: {A: }\nentry_points: [B]\n", "3:16 entry_points[0]: unknown state 'B'; there are 'A'"),
        ("id: x\nstates: {A: }\nentry_points: [[A]]\n", "3:16 entry_points[0]: expected a text, found a list"),
        ("id: x\nstates: {A: }\nentry_points: [{name: B}]\n", "3:16 entry_points[0]: 'state' is missing"),
        ("id: x\nstates: {A: }\nentry_points: {A: 3}\n", "3:19 entry_points.A: expected keys with values, found 3"),
        ("id: x\nstates: {A: }\nentry_points: {A: {opens_on: T}, B: {state: A, opens_on: T}}\n", "it opens A, B"),
        ("id: x\nstates: {A: }\nentry_points: [{state: A, takes: Case}]\n", "AgentContext has no field 'query'"),
        ("id: x\nstates: {A: }\nentry_points: [A]\ncontext: {model_fields: 1, _a: 2}\n", "4:11 context.model_fields"),
        ("id: x\nstates: {A: }\nentry_points: [A]\non: {GO: '*'}\n", "4:10 on.GO: unknown state '*'"),
        ("id: x\nstates: {A: }\nentry_points: [A]\nexit: note\n", "4:1 exit: unknown key 'exit'"),
        ("id: x\n a: b\n", "2:3 chart: invalid YAML: mapping values are not allowed here"),
        ("{'a': 1", "invalid YAML: "),
        ('{"a" 1}', "1:6 chart: invalid JSON: expected ':'"),
        ('{"a": }', "1:7 a: invalid JSON: expected a value"),
        ('{"a": 1, b: 2}', "1:10 chart: invalid JSON: expected a key in quotes"),
        ('{"a": "b', "invalid JSON: Unterminated string"),
        ('{"a": [1 2]}', "1:10 a: invalid JSON: expected ','"),
        ('{"a": [], "b": {}} 1', "1:20 chart: unexpected text after the end"),
    ],
)
def test_a_fault_is_told_at_its_place(text, fault):
    with pytest.raises(InvalidChartError) as caught:
        load(text.encode(), bind=functions)
    assert any(fault in str(each) for each in caught.value.faults), str(caught.value)


def test_a_fault_is_not_told_again_by_what_follows_from_it():
    text = (
        "id: x\nentry_points: [B]\ncontext: Nothing\nstates:\n  A: {always: {target: C}, initial: D, states: {E: }}\n"
    )
    assert [each.partition(" ")[2].partition(":")[0] for each in faults(text)] == [
        "entry_points[0]",
        "context",
        "states.A.always.target",
        "states.A.initial",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "id: x\nid: y\nentry_points: [A]\nstates:\n  A: {on: {GO: A, GO: B}}\n  A: 3\n  B: {onn: 1}\n",
        '{"id": "x",\n"id": "y", "entry_points": ["A"], "states":\n\n{\n'
        '"A": {"on": {"GO": "A", "GO": "B"}},\n"A": 3,\n"B": {"onn": 1}}}',
    ],
)
def test_keys_that_occur_twice_are_told_together_with_all_else(text):
    told = [each.partition(";")[0] for each in faults(text)]
    assert [each.partition(" ")[2] for each in told] == [
        "id: the key 'id' occurs twice",
        "states.A.on.GO: the key 'GO' occurs twice",
        "states.A: the key 'A' occurs twice",
        "states.B.onn: unknown key 'onn'",
    ]
    assert [each.partition(":")[0] for each in told] == ["2", "5", "6", "7"]


def test_what_ends_the_reading_is_told_with_its_path():
    assert faults("id: x\nstates:\n  A:\n    on: {GO: [B, !x C]}\n") == [
        "4:18 states.A.on.GO[1]: unsupported tag !x; write plain values without tags"
    ]


def test_the_file_itself_may_be_at_fault(tmp_path):
    assert "No such file" in str(_refused(tmp_path / "none.yaml"))
    assert "Is a directory" in str(_refused(tmp_path))
    assert "cannot be read" in str(_refused("a\0b.yaml"))


def test_text_that_no_file_can_hold_is_refused():
    assert "not UTF-8" in str(_refused("id: \ud800\n"))
    with pytest.raises(InvalidChartError) as caught:
        load(b"id: x\nb: \xff\n")
    assert (caught.value.faults[0].line, caught.value.faults[0].column) == (2, 4)


def _refused(source):
    with pytest.raises(InvalidChartError) as caught:
        load(source)
    return caught.value


def test_names_are_told_only_so_many_and_faults_too():
    ways = ", ".join(f"GO{n}: nowhere{n}" for n in range(24))
    states = "".join(f"  s{n}: {{on: {{{ways}}}}}\n" for n in range(25))
    with pytest.raises(InvalidChartError) as caught:
        load(f"id: x\nentry_points: [s0]\nstates:\n{states}")
    assert len(caught.value.faults) == 500
    assert str(caught.value.faults[0]).endswith("'s19' and 5 more")
