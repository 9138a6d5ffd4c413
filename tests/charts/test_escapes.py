"""Escape plans in charts: every key, what is wrong with them, and that they come back as they were written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gatechart.chartfiles.faults import Spot
from gatechart.chartfiles.source import read
from gatechart.charts import dump, load, schema
from gatechart.charts.dump import bindings_of
from gatechart.errors import InvalidChartError
from gatechart.escape import (
    Alert,
    AwaitBreaker,
    CutOut,
    EscapePlan,
    GiveUp,
    HandOn,
    Nudge,
    Repair,
    Reroute,
    Restart,
    Rollback,
    Strategy,
    SwitchTool,
    ToHuman,
    getting_out,
)
from gatechart.escape.chart_keys import ESCAPE_KEYS, GETTING_OUT, STRATEGIES
from gatechart.graph.definition import Invoke
from gatechart.graph.graph import AnyGraph
from gatechart.graph.handoff import Fallbacks, Handoff, Human
from gatechart.graph.selection import Best
from gatechart.values.escapes import TakeTransition
from gatechart.values.handoffs import Reason
from gatechart.values.profiles import Needs

CHART = """\
id: shop
context: {order: "", messages: []}
entry_points: [WORKING, PAYING]
signals: looping
states:
  WORKING:
    on: {PAID: PAYING}
  PAYING:
    checkpoint: true
    on: {DONE: ENDED}
  ENDED:
    type: final
"""
VALIDATOR = Draft202012Validator(schema())


@dataclass(frozen=True, slots=True)
class CallHome(Strategy):
    """A strategy of one's own."""

    number: int = 1

    def ways(self, scene: Any) -> Iterator[TakeTransition]:
        yield TakeTransition("CALLED_HOME")


def brought(context: Any) -> dict[str, Any]:
    return {"order": context.order}


def mend(context: Any, work: Any) -> None:
    return None


BOUND = {"brought": brought, "mend": mend, "call_home": CallHome(7)}


def loaded(text: str, **more: Any) -> AnyGraph:
    return load(f"{CHART}{text}", bind=BOUND, **more)


def plan(text: str, **more: Any) -> EscapePlan:
    found = loaded(text, **more).escape
    assert found is not None
    return found


def faults(text: str) -> list[str]:
    with pytest.raises(InvalidChartError) as caught:
        loaded(text)
    return [str(fault) for fault in caught.value.faults]


def test_a_chart_that_says_nothing_of_escapes_has_no_plan_and_may_have_checkpoints() -> None:
    graph = loaded("")
    assert (graph.escape, graph.has_escapes, graph.nodes["PAYING"].checkpoint) == (None, False, True)
    assert load(dump(graph)).nodes["PAYING"].checkpoint


def test_every_strategy_stands_alone_or_with_its_options() -> None:
    assert plan("""\
escape:
  strategies:
    repeats:
      - nudge: {text: stop}
      - {switch_tool: {to: [b, c]}}
      - {await_breaker: {most: 2h, down: 10m}}
      - {reroute: {at: PAYING, payload: brought}}
      - cut_out: {summary: went round}
      - {rollback: {to: checkpoint, keep: order, allow: pay}}
      - {restart: {at: WORKING, payload: brought, keep: [order], allow: [pay, ship]}}
      - {repair: {flow: {src: mend, timeout_s: 5}, then: WORKING, otherwise: ENDED}}
      - alert: {sink: on_call, text: look}
      - call_home
      - {handoff: {best: {needs: {tier: 2}}}, otherwise: WORKING}
      - give_up
""") == EscapePlan(
        {
            "repeats": [
                Nudge("stop"),
                SwitchTool(["b", "c"]),
                AwaitBreaker("2h", down="10m"),
                Reroute("PAYING", payload=brought),
                CutOut(summary="went round"),
                Rollback("checkpoint", keep="order", allow="pay"),
                Restart("WORKING", payload=brought, keep="order", allow=["pay", "ship"]),
                Repair(Invoke(mend, timeout_s=5), then="WORKING", otherwise="ENDED"),
                Alert("on_call", "look"),
                CallHome(7),
                HandOn(Handoff(Best(Needs(tier=2))), "WORKING"),
                GiveUp(),
            ]
        }
    )


def test_bounds_the_last_resort_and_plans_for_one_tool_stand_beside_the_strategies() -> None:
    assert plan("""\
escape:
  strategies: {"*": reroute}
  tools:
    db_tool: {failing_tool: [switch_tool, restart]}
  cooldown: 5m
  most_a_day: 3
  turns: 7
  learns: false
  shared: true
  last:
    to_human: {at: HELPING, reason: loop detected, fallbacks: [{human: night_desk, at: IN}], otherwise: WORKING}
""") == EscapePlan(
        {"*": Reroute()},
        tools={"db_tool": {"failing_tool": [SwitchTool(), Restart()]}},
        cooldown="5m",
        most_a_day=3,
        turns=7,
        learns=False,
        shared=True,
        last=ToHuman(
            at="HELPING",
            reason=Reason.LOOP_DETECTED,
            fallbacks=Fallbacks(Human("night_desk", at="IN")),
            otherwise="WORKING",
        ),
    )


def test_a_state_has_a_plan_of_its_own() -> None:
    graph = load(CHART.replace("on: {PAID", "escape: {strategies: {repeats: give_up}}\n    on: {PAID"))
    assert graph.nodes["WORKING"].escape == EscapePlan({"repeats": GiveUp()})
    assert load(dump(graph)).nodes["WORKING"].escape == graph.nodes["WORKING"].escape


def test_the_usual_plan_is_named_alone_or_with_its_parameters() -> None:
    assert plan("escape: getting_out\n") == getting_out()
    assert plan("escape: {getting_out: {human: desk, at: IN, restart: WORKING, turns: 2}}\n") == getting_out(
        "desk", at="IN", restart="WORKING", turns=2
    )


def test_a_strategy_to_which_nothing_is_bound_keeps_its_name_where_others_stand_in() -> None:
    graph = load(f"{CHART}escape: {{strategies: {{repeats: my_own}}}}\n", unbound=lambda _kind, name: name)
    assert graph.escape is not None
    assert [each.name for each in graph.escape.every] == ["my_own", "give_up"]


@pytest.mark.parametrize("kind", STRATEGIES, ids=lambda kind: kind.__name__)
def test_every_parameter_of_a_strategy_is_a_key(kind: Any) -> None:
    assert list(signature(kind).parameters) == [key for key in STRATEGIES[kind] if key != "best"]


def test_every_parameter_of_plans_is_a_key() -> None:
    assert set(signature(EscapePlan).parameters) == {*ESCAPE_KEYS["escape"]} - {GETTING_OUT}
    assert set(signature(getting_out).parameters) == {*ESCAPE_KEYS[GETTING_OUT]}


@pytest.mark.parametrize(
    ("escape", "told"),
    [
        ("{}", "it has no strategies; write `strategies:`"),
        ("{strategies: {repeats: []}}", "it lists no strategy"),
        ("{strategies: {repeats: rerout}}", "no strategy is called 'rerout'; did you mean 'reroute'"),
        (
            "{strategies: {repeat: reroute}}",
            "13:23 escape.strategies.repeat: no signal has the name 'repeat'; did you mean 'repeats'",
        ),
        ("{strategies: {repeats: {reroute: {at: PAYIN}}}}", "unknown entry point 'PAYIN'; did you mean 'PAYING'"),
        ("{strategies: {repeats: {reroute: {to: PAYING}}}}", "unknown key 'to'"),
        ("{strategies: {repeats: {restart: {keep: ordr}}}}", "unknown field 'ordr'; did you mean 'order'"),
        ("{strategies: {repeats: {rollback: {to: start}}}}", "unknown value 'start'"),
        ("{strategies: {repeats: {rollback: {keep: ordr}}}}", "unknown field 'ordr'"),
        ("{strategies: {repeats: {cut_out: {field: chat}}}}", "unknown field 'chat'"),
        ("{strategies: {repeats: {alert: {}}}}", "'sink' is missing; write `sink:`"),
        ("{strategies: {repeats: {alert: {sink: 'https://x.example/hook'}}}}", "is not the name of a sink"),
        ("{strategies: {repeats: {repair: {flow: mend, then: WORKIN}}}}", "unknown state 'WORKIN'"),
        ("{strategies: {repeats: {repair: {flow: mnd, then: WORKING}}}}", "no invoke is bound to 'mnd'"),
        ("{strategies: {repeats: {nudge: {}, reroute: {}}}}", "it names 'nudge' and 'reroute'"),
        ("{strategies: {repeats: {to_human: {at: IN}, otherwise: WORKING}}}", "'otherwise' is for a handoff"),
        ("{strategies: {repeats: {to_human: {at: IN, otherwise: WORKIN}}}}", "unknown state 'WORKIN'"),
        ("{strategies: {repeats: to_human}}", "its entry point is ''; name it with `at`"),
        ("{strategies: {repeats: nudge}, last: nudge}", "may lead nowhere; write `to_human:`, `give_up` or `handoff:`"),
        ("{strategies: {repeats: nudge}, cooldown: soon}", "is not a duration"),
        ("{strategies: {repeats: nudge}, turns: two}", "expected a whole number, found 'two'"),
        ("{strategies: {repeats: nudge}, most_a_day: -1}", "`most_a_day` -1 is not a bound; write a whole number"),
        ("{tools: {db: {repeat: nudge}}}", "no signal has the name 'repeat'"),
        ("{getting_out: {}, turns: 2}", "'turns' is not for the default plan"),
        ("getting_in", "expected keys with values, found 'getting_in'"),
    ],
)
def test_a_fault_says_where_it_is_and_what_would_have_worked(escape: str, told: str) -> None:
    (fault,) = faults(f"escape: {escape}\n")
    assert told in fault


@pytest.mark.parametrize(
    "escape",
    [
        getting_out(),
        getting_out("desk", at="IN", restart="WORKING", cooldown="1h", learns=False),
        EscapePlan({}),
        EscapePlan({"repeats": [Rollback("checkpoint", allow=["a", "b"]), Restart("PAYING", payload=brought)]}),
        EscapePlan({"*": CallHome(3)}, tools={"on": {"same_call": [Nudge(), SwitchTool("off")]}}, cooldown="90s"),
        EscapePlan({"repeats": Repair(Invoke(mend), "WORKING")}, last=ToHuman(Best(Needs(("on",))), otherwise="ENDED")),
        EscapePlan({"repeats": Repair(Invoke(agent="fixers", at="IN", id="fix"), "WORKING")}, last=ToHuman(at="IN")),
        EscapePlan({"repeats": Alert("1", "~")}, last=Handoff("desk", at="IN", deadline="5m"), turns=1, most_a_day=1),
    ],
)
def test_plans_come_back_from_a_dump_as_they_were_and_fit_the_schema(escape: EscapePlan) -> None:
    original = load(CHART)
    graph = type(original)(
        "shop",
        context=original.context,
        transitions=original.transitions,
        states=original.tree,
        entry_points=["WORKING", "PAYING"],
        signals=original.signals,
        escape=escape,
    )
    again = load(dump(graph), bind=bindings_of(graph))
    assert (again.escape, again.fingerprint) == (escape, graph.fingerprint)
    VALIDATOR.validate(Spot(read(dump(graph))[0]).plain())


@pytest.mark.parametrize(
    "escape",
    [
        {"getting_out": None, "turns": 2},
        {"turns": 2},
        {"strategies": {"repeats": {"nudge": None, "reroute": None}}},
        {"strategies": {"repeats": {"reroute": None, "otherwise": "A"}}},
        {"strategies": {"repeats": {"alert": {}}}},
        {"strategies": {"repeats": {"rollback": {"to": "start"}}}},
        {"strategies": {}, "most_a_day": 0},
    ],
)
def test_what_is_no_plan_does_not_fit_the_schema(escape: dict[str, Any]) -> None:
    chart = {"id": "x", "entry_points": ["A"], "states": {"A": None}, "escape": escape}
    assert not VALIDATOR.is_valid(chart)


def test_how_long_calls_wait_for_breakers_comes_back_from_a_dump_and_wrong_times_are_refused() -> None:
    graph = loaded("escape: {strategies: {refused_tool: [await_breaker]}}\n")
    assert graph.escape == EscapePlan({"refused_tool": AwaitBreaker()})
    assert "await_breaker" in dump(graph)
    assert "most:" not in dump(graph)
    longer = loaded("escape: {strategies: {refused_tool: [{await_breaker: {most: 90m}}]}}\n")
    assert load(dump(longer), bind=BOUND).escape == EscapePlan({"refused_tool": AwaitBreaker("90m")})
    assert "is not a duration" in faults("escape: {strategies: {'*': [{await_breaker: {most: soon}}]}}\n")[0]
