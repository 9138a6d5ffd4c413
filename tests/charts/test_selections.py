"""Selections in charts: wherever a target can be, what is wrong with them, and that they come back as written."""

from __future__ import annotations

from functools import partial
from inspect import signature
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gatechart import HandoffPacket
from gatechart.chartfiles.selection_keys import SELECTION_KEYS
from gatechart.charts import bindings_of, dump, load, schema
from gatechart.errors import InvalidChartError
from gatechart.graph.definition import Transition
from gatechart.graph.graph import AnyGraph
from gatechart.graph.handoff import Fallbacks, Handoff
from gatechart.graph.selection import Best, NeedRule
from gatechart.values.handoffs import Reason
from gatechart.values.profiles import Candidate, Needs
from tests.charts.schemas import plain

VALIDATOR = Draft202012Validator(schema())

CHART = """\
id: orders
entry_points: [TALKING]
states:
  TALKING:
    on: {ASKED: {target: WAITING, actions: {handoff: HANDOFF}}}
  WAITING: {on: {handoff.failed: TALKING, handoff.rejected: TALKING}}
"""


def near(packet: Any, candidate: Candidate) -> float:
    return 1.0


def is_ours(packet: Any, candidate: Candidate) -> bool:
    return True


def needed(packet: Any) -> Needs:
    return Needs(tier=2)


BOUND = {"near": near, "is_ours": is_ours, "needed": needed}
FULL = Best(
    Needs(capabilities=("cancel", "modify"), domains=("orders",), tier=2, languages=("zh",), all=True),
    rules=[NeedRule(Needs(domains=("退款管理",)), reason=Reason.KNOWLEDGE_GAP, mentions=("退款", "refund"))],
    scorers={"text": 2, near: 0.5},
    filters=["local", is_ours],
    least=0.2,
    name="expert",
)
IN_ORDER = Best(needed, order=["tier", near, "load"])


def handing_on(handoff: str, **more: Any) -> AnyGraph:
    return load(CHART.replace("HANDOFF", handoff), bind=BOUND, **more)


def handoff_of(graph: AnyGraph) -> Handoff:
    (found,) = graph.transitions[0].actions
    assert isinstance(found, Handoff)
    return found


def faults(handoff: str) -> list[str]:
    with pytest.raises(InvalidChartError) as caught:
        handing_on(handoff)
    return [str(fault) for fault in caught.value.faults]


def test_every_parameter_of_a_selection_is_a_key() -> None:
    assert set(SELECTION_KEYS["best"]) == set(signature(Best).parameters)


def test_the_target_of_a_handoff_is_chosen() -> None:
    assert handoff_of(handing_on("{best: {needs: {domains: refunds}}}")) == Handoff(Best(Needs(domains=("refunds",))))
    assert handoff_of(handing_on("{best: {}, reason: timeout}")) == Handoff(Best(), reason="timeout")
    assert handoff_of(handing_on("{best: }")) == Handoff(Best())


def test_every_key_has_its_meaning() -> None:
    found = handing_on(
        "{best: {name: expert, "
        "needs: {capabilities: [cancel, modify], domains: orders, tier: 2, languages: zh, all: true}, "
        "rules: {reason: knowledge gap, mentions: [退款, refund], needs: {domains: 退款管理}}, "
        "scorers: {text: 2, near: 0.5}, filters: [local, is_ours], least: 0.2}}"
    )
    assert handoff_of(found).best == FULL
    assert handoff_of(handing_on("{best: {needs: needed, order: [tier, near, load]}}")).best == IN_ORDER


def test_a_rung_of_the_fallbacks_is_chosen() -> None:
    found = handoff_of(handing_on("{to: refunds, at: REVIEWING, fallbacks: [{best: {order: tier}}, {best: }]}"))
    assert found.fallbacks == Fallbacks(Best(order="tier"), Best())


CHOOSING = """\
id: orders
entry_points: [TALKING]
states:
  TALKING:
    invoke: {best: {name: expert}, onDone: CHECKING, onError: CHECKING}
  CHECKING:
    invoke: check
    transfers:
      targets: [TALKING, {best: {needs: {tier: 2}}, description: An expert., deadline: 5m}]
      otherwise: TALKING
    on: {done.invoke.check: TALKING, error.invoke.check: TALKING}
signals:
  - looping: {}
    answer: {best: {filters: person}}
    otherwise: TALKING
"""


def check(context: Any, work: Any) -> None: ...


def test_a_target_of_transfers_an_invoked_agent_and_the_answer_to_a_signal_are_chosen() -> None:
    graph = load(CHOOSING, bind={"check": check})
    (invoke,) = graph.nodes["TALKING"].invokes
    assert (invoke.agent, invoke.id) == (Best(name="expert"), "expert")
    transfers = graph.nodes["CHECKING"].transfers
    assert transfers is not None
    assert transfers.targets[1].target == Best(Needs(tier=2))
    assert graph.signals is not None
    assert {each.answer for each in graph.signals.signals} == {Handoff(Best(filters="person"))}
    again = load(dump(graph), bind={"check": check})
    assert (again.fingerprint, again.tree, again.signals) == (graph.fingerprint, graph.tree, graph.signals)
    VALIDATOR.validate(plain(CHOOSING))
    VALIDATOR.validate(plain(dump(graph)))


@pytest.mark.parametrize(
    "best",
    [
        Best(),
        FULL,
        IN_ORDER,
        Best(scorers={"cost": 1}),
        Best(Needs()),
        Best(filters="person", least=0, entries=("anna", "bert")),
    ],
)
def test_selections_come_back_from_a_dump_as_they_were(best: Best) -> None:
    handoff = Handoff(best, fallbacks=Fallbacks(Best(Needs(tier=3)), best))
    base = handing_on("{best: }")
    first = Transition("TALKING", "ASKED", "WAITING", actions=handoff)
    graph = type(base)("orders", transitions=[first, *base.transitions[1:]], entry_points=["TALKING"])
    text = dump(graph)
    again = load(text, bind=bindings_of(graph))
    assert (handoff_of(again), again.fingerprint) == (handoff, graph.fingerprint)
    VALIDATOR.validate(plain(text))


@pytest.mark.parametrize(
    ("handoff", "told"),
    [
        ("{best: expert}", "best: expected keys with values, found 'expert'"),
        ("{best: {need: {}}}", "unknown key 'need'; did you mean 'needs'?"),
        ("{best: {needs: {domain: x}}}", "needs.domain: unknown key 'domain'; did you mean 'domains'?"),
        ("{best: {needs: unknown}}", "no function is bound to 'unknown'"),
        ("{best: {rules: {mentions: x}}}", "'needs' is missing; write `needs:`"),
        ("{best: {scorers: {txt: 1}}}", "no scorer is called 'txt'; did you mean 'text'?"),
        ("{best: {scorers: {text: heavy}}}", "scorers.text: expected a number, found 'heavy'"),
        ("{best: {scorers: {text: -1}}}", "scorers.text: expected a number, found -1"),
        ("{best: {scorers: {}}}", "it names no scorer; name a scorer with its weight, or drop `scorers`"),
        ("{best: {order: [teir]}}", "order[0]: no scorer is called 'teir'; did you mean 'tier'?"),
        ("{best: {filters: people}}", "filters: no filter is called 'people'; there are 'person', 'local'"),
        ("{best: {order: tier, scorers: {text: 1}}}", "it has `scorers` and `order`"),
        ("{best: {least: -1}}", "least: expected a number, found -1"),
        ("{best: {}, to: refunds}", "to: 'to' is for a named target; drop it, or `best:`"),
        ("{best: {}, at: REVIEWING}", "at: 'at' is for a named target"),
        ("{best: {}, agent: near}", "agent: 'agent' is for a named target"),
        ("{to: a, at: B, fallbacks: [{best: {}, human: c}]}", "it is 'human' and 'best' at once"),
        ("{to: a, at: B, fallbacks: [{best: {}, at: C}]}", "'at' is for a named target"),
    ],
)
def test_a_fault_says_where_it_is_and_what_would_have_worked(handoff: str, told: str) -> None:
    (fault,) = faults(handoff)
    assert told in fault


@pytest.mark.parametrize(
    "handoff",
    [
        "{best: expert}",
        "{best: {}, to: refunds, at: REVIEWING}",
        "{best: {}, agent: near}",
        "{best: {order: tier, scorers: {text: 1}}}",
        "{best: {scorers: {}}}",
        "{best: {rules: {mentions: x}}}",
        "{to: a, at: B, fallbacks: [{best: {}, human: c, at: D}]}",
    ],
)
def test_editors_know_what_is_wrong(handoff: str) -> None:
    assert not VALIDATOR.is_valid(plain(CHART.replace("HANDOFF", handoff)))


def test_a_target_of_transfers_is_one_thing() -> None:
    chart = CHOOSING.replace("{best: {needs: {tier: 2}}, ", "{best: {}, state: TALKING, ")
    with pytest.raises(InvalidChartError, match="it is 'state' and 'best' at once"):
        load(chart, bind={"check": check})


def test_what_is_invoked_is_a_function_or_an_agent() -> None:
    chart = CHOOSING.replace("{best: {name: expert}, ", "{best: {name: expert}, retry: , ")
    with pytest.raises(InvalidChartError, match="'retry' is for functions"):
        load(chart, bind={"check": check})


def test_stand_ins_take_the_place_of_functions() -> None:
    def stand_in(kind: str, name: str) -> Any:
        def named(*_: Any) -> float:
            return 0.0

        named.__name__ = name
        return named

    graph = load(CHART.replace("HANDOFF", "{best: {scorers: {skill: 1}}}"), unbound=stand_in)
    assert list(graph.selectors) == ["skill"]


def test_a_function_with_parameters_has_no_name_that_a_chart_could_hold() -> None:
    def within(packet: HandoffPacket, candidate: Candidate, distance: float) -> float:
        return distance

    best = Best(scorers={partial(within, distance=2.0): 1.0})
    waiting = Transition("WAITING", "handoff", "TALKING")
    first = Transition("TALKING", "ASKED", "WAITING", actions=Handoff(best))
    graph = type(handing_on("{best: }"))("orders", transitions=[first, waiting], entry_points=["TALKING"])
    with pytest.raises(InvalidChartError, match="'within' of a selection has parameters"):
        dump(graph)
