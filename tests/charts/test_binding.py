"""What the names of a chart stand for."""

from __future__ import annotations

import types

import pytest

from gatechart.charts import load
from gatechart.context import AgentContext
from gatechart.graph.callables import callable_name, is_async
from tests.charts import functions
from tests.charts.functions import Case, is_ready, look_up, note
from tests.charts.support import faults, lamp

CHART = "  A: {on: {X: {guard: is_ready, actions: note}}}\n"


class Deps:
    def __init__(self):
        self.asked = 0

    def is_ready(self, context, event):
        self.asked += 1
        return True

    def note(self, context, event):
        pass

    answer = 42


@pytest.mark.parametrize(
    "bind",
    [
        {"is_ready": is_ready, "note": note},
        functions,
        Deps(),
        [None, {"note": note}, Deps()],
        types.SimpleNamespace(is_ready=is_ready, note=note),
    ],
)
def test_names_are_bound_to_mappings_modules_objects_and_lists_of_them(bind):
    transition = lamp(CHART, bind=bind).transitions[0]
    assert (callable_name(transition.guard), callable_name(transition.actions[0])) == ("is_ready", "note")


def test_a_bound_method_keeps_its_object():
    deps = Deps()
    guard = lamp(CHART, bind=deps).transitions[0].guard
    assert guard(None, None)
    assert deps.asked == 1


def test_a_function_goes_by_the_name_that_the_chart_has_for_it():
    bind = {"is_ready": lambda context, event: True, "note": look_up}
    graph, plain = lamp(CHART, bind=bind), lamp(CHART, bind=functions)
    assert graph.fingerprint == plain.fingerprint
    assert graph.transitions[0].guard(None, None)
    action = graph.transitions[0].actions[0]
    assert is_async(action)
    case = Case()
    with pytest.raises(StopIteration):
        action(case, None).send(None)
    assert case.query == "looked up"


def test_what_begins_with_an_underscore_or_is_not_offered_stays_out_of_reach():
    module = types.ModuleType("module")
    module.is_ready, module.note, module.__all__ = is_ready, note, ["is_ready"]
    text = "id: x\nentry_points: [A]\nstates: {A: {entry: [note, __init__, __class__, os.system]}}\n"
    assert [each.partition(": ")[2].partition(";")[0] for each in faults(text, bind=module)] == [
        f"no action is bound to {name!r}" for name in ("note", "__init__", "__class__", "os.system")
    ]


def test_an_unbound_name_is_told_with_its_like():
    text = "id: x\nentry_points: [A]\nstates: {A: {entry: noet, on: {X: {guard: redy}}, invoke: serch}}\n"
    bind = {"note": note, "search": functions.search}
    assert faults(text, bind=bind) == [
        "3:21 states.A.entry: no action is bound to 'noet'; did you mean 'note'? There are 'note', 'search'",
        "3:43 states.A.on.X.guard: no guard is bound to 'redy'; there are 'note', 'search'",
        "3:59 states.A.invoke: no invoke is bound to 'serch'; did you mean 'search'? There are 'note', 'search'",
    ]
    assert "pass it with bind=" in faults(text)[0]
    assert "no action is bound to 'noet'" in faults(text, bind=Deps())[0]


def test_what_is_bound_must_be_of_the_right_kind():
    text = "id: x\nentry_points: [{state: A, takes: note}]\ncontext: Brought\nstates: {A: {entry: [answer, Case]}}\n"
    problems = faults(text, bind=[Deps(), functions])
    assert "'note' is bound to method" in problems[0]
    assert "which cannot be used as BaseModel" in problems[0]
    assert "which cannot be used as AgentContext; there are 'AgentContext', 'Case'" in problems[1]
    assert "'answer' is bound to int 42, which cannot be used as action" in problems[2]
    assert "which cannot be used as action" in problems[3]


def test_a_type_is_bound_under_its_own_name():
    text = "id: x\nentry_points: [A]\ncontext: Data\nstates: {A: }\n"
    assert faults(text, bind={"Data": Case}) == [
        "3:10 context: 'Data' is bound to the type 'Case'; name it 'Case', here and where it is bound"
    ]


def test_parameters_are_passed_on_by_name():
    states = "  A: {entry: {type: add, params: {amount: 5}}}\n"
    case = Case()
    lamp(states, bind=functions).nodes["A"].on_entry[0].function(case, None)
    assert case.retries == 5
    wrong, right = "{type: add, params: {amont: 5}}", "{type: any, params: {a: 1}}"
    text = f"id: x\nentry_points: [A]\nstates: {{A: {{entry: [{wrong}, {right}]}}}}\n"
    assert faults(text, bind=[functions, {"any": lambda context, event, **more: None}]) == [
        "3:22 states.A.entry[0]: add has no parameter 'amont'; give it one of that name, after context and event"
    ]


def test_a_function_without_a_signature_is_trusted():
    load("id: x\nentry_points: [A]\nstates: {A: {entry: {type: max, params: {key: 1}}}}\n", bind={"max": max})


UNBOUND = """\
id: lamp
context: Lamp
entry_points: [OFF]
states:
  OFF: {on: {PRESSED: {target: ON, guard: is_dark, actions: note}}}
  ON:
"""


def test_what_nothing_is_bound_to_may_have_stand_ins():
    asked = []

    def stand_in(kind, name):
        asked.append((kind, name))
        return type(name, (AgentContext,), {}) if kind == "AgentContext" else is_ready

    graph = load(UNBOUND, bind={"note": note}, unbound=stand_in)
    assert graph.context.__name__ == "Lamp"
    assert sorted(asked) == [("AgentContext", "Lamp"), ("guard", "is_dark")]
