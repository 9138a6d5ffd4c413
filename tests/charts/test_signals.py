"""Signals in charts: every key, what is wrong with them, and that they come back as they were written."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pytest

from gatechart.charts import dump, load
from gatechart.charts.dump import bindings_of
from gatechart.errors import InvalidChartError
from gatechart.graph.graph import AnyGraph
from gatechart.graph.handoff import Handoff
from gatechart.graph.selection import NeedRule
from gatechart.graph.signals import Signal, Signals, answered
from gatechart.signals import (
    Confidence,
    Lacks,
    NoProgress,
    Repeats,
    Sentiment,
    ToolFailures,
    UserAsked,
    handing_on,
    looping,
)
from gatechart.signals.chart_keys import DETECTORS, PRESETS, SIGNAL_KEYS
from gatechart.values.detectors import AnyOf
from gatechart.values.handoffs import Reason
from gatechart.values.profiles import Needs

CHART = """\
id: shop
context: {order: ""}
entry_points: [WORKING]
states:
  WORKING:
    on: {DONE: ENDED}
  ENDED:
    type: final
"""


def loaded(signals: str, **more: Any) -> AnyGraph:
    return load(f"{CHART}{signals}", **more)


def notice(signals: str, **more: Any) -> tuple[Signal, ...]:
    found = loaded(signals, **more).signals
    assert found is not None
    return found.signals


def faults(signals: str) -> list[str]:
    with pytest.raises(InvalidChartError) as caught:
        loaded(signals)
    return [str(fault) for fault in caught.value.faults]


def gloomy(text: str) -> float:
    return -1.0


def test_a_chart_that_says_nothing_of_signals_has_none() -> None:
    assert loaded("").signals is None


def test_signals_can_be_switched_off_for_a_chart_and_for_an_entry_point() -> None:
    assert loaded("signals: off\n").signals == Signals(())
    doors = CHART.replace("[WORKING]", "{WORKING: {signals: off}}")
    assert load(f"{doors}signals: looping\n").signals_at("WORKING") is None


def test_presets_stand_alone_or_with_parameters() -> None:
    assert notice("signals: [handing_on, looping]\n") == handing_on() + looping()
    assert notice("signals:\n  - handing_on: {failures: 5, turns: 5, keywords: null}\n") == handing_on(
        5, 5, keywords=None
    )


def test_detectors_stand_alone_with_parameters_and_joined() -> None:
    (signal,) = notice("""\
signals:
  - any_of: 2
    of:
      - tool_failures: {n: 3, within: 60, same: arguments, among: [search]}
      - not: repeats
      - all: [user_asked, {confidence: {below: 0.3}}]
    name: trouble
    reason: loop detected
""")
    failures = ToolFailures(3, 60, same="arguments", among=["search"])
    both = AnyOf(2, UserAsked(), Confidence(0.3))
    assert signal == Signal(AnyOf(2, failures, ~Repeats(), both), "trouble", reason=Reason.LOOP_DETECTED)


def test_an_answer_beside_a_preset_answers_each_of_its_signals() -> None:
    answer = Handoff("desk", at="HELPING")
    found = notice("signals:\n  - looping:\n    answer: {to: desk, at: HELPING}\n    otherwise: WORKING\n")
    assert found == answered(looping(), answer, otherwise="WORKING")


def test_an_entry_point_has_thresholds_of_its_own() -> None:
    doors = CHART.replace("[WORKING]", "{WORKING: {signals: [{tool_failures: {n: 5}}]}}")
    signals = load(f"{doors}signals: [{{tool_failures: {{n: 2}}}}]\n").signals_at("WORKING")
    assert signals == Signals(ToolFailures(5))


def test_what_belongs_to_the_trail_stands_beside_what_is_noticed() -> None:
    signals = loaded(
        """\
signals:
  notice: no_progress
  ignore: [at, trace]
  said: {ASKED: question}
  task: order
  states: 80
  calls: 40
  window: 30
  most_bytes: 4096
""".replace("no_progress", "{no_progress: {seconds: 15}}")
    ).signals
    expected = Signals(
        NoProgress(seconds=15),
        ignore=["at", "trace"],
        said={"ASKED": "question"},
        task="order",
        states=80,
        calls=40,
        window=30,
        most_bytes=4096,
    )
    assert signals == expected


def test_a_state_can_be_progress() -> None:
    graph = load(CHART.replace("on: {DONE: ENDED}", "on: {DONE: ENDED}\n    progress: true"))
    assert (graph.tree[0].progress, load(dump(graph)).tree[0].progress) == (True, True)


def test_functions_of_detectors_are_bound_by_name() -> None:
    (signal,) = notice("signals:\n  - sentiment: {function: gloomy}\n", bind={"gloomy": gloomy})
    assert signal.when == Sentiment(gloomy)


RULES = (
    NeedRule(Needs(domains=("refunds",), tier=2, all=True), reason=Reason.KNOWLEDGE_GAP, mentions=("refund", "退款")),
    NeedRule(Needs(capabilities=("cancel", "modify"), languages=("zh",)), mentions="cancel"),
    NeedRule(Needs()),
)


def test_rules_say_what_texts_need() -> None:
    found = notice("""\
signals:
  - lacks:
      what: domain
      rules:
        - {mentions: [refund, 退款], reason: knowledge gap, needs: {domains: refunds, tier: 2, all: true}}
        - {mentions: cancel, needs: {capabilities: [cancel, modify], languages: zh}}
        - needs: {}
  - lacks: {what: capability, has: []}
""")
    assert found == (Signal(Lacks("domain", RULES)), Signal(Lacks("capability", has=())))


@pytest.mark.parametrize("kind", DETECTORS, ids=lambda kind: kind.__name__)
def test_every_parameter_of_a_detector_is_a_key(kind: Any) -> None:
    assert list(signature(kind).parameters) == list(DETECTORS[kind])


@pytest.mark.parametrize("name", PRESETS)
def test_every_parameter_of_a_preset_is_a_key(name: str) -> None:
    assert list(signature(PRESETS[name]).parameters) == list(SIGNAL_KEYS[f"preset.{name}"])


@pytest.mark.parametrize(
    ("signals", "told"),
    [
        ("signals: lopping\n", "9:10 signals: 'lopping' is not a preset or a detector"),
        ("signals: [{tool_failures: {m: 2}}]\n", "unknown key 'm'; there are 'n'"),
        ("signals: [{tool_failures: {n: 0}}]\n", "ToolFailures"),
        ("signals: [{tool_failures: {n: two}}]\n", "expected a whole number, found 'two'"),
        ("signals: [{tool_failures: {same: day}}]\n", "unknown value 'day'; write tool, arguments, error"),
        ("signals: [{name: x}]\n", "it names no detector"),
        ("signals: [{repeats: {}, user_asked: {}}]\n", "it names 'repeats' and 'user_asked'"),
        ("signals: [{any_of: 3, of: [repeats]}]\n", "3 of 1 cannot hold"),
        ("signals: [{looping: {}, name: x}]\n", "'name' is not for a preset"),
        ("signals: [{sentiment: {function: gloomy}}]\n", "no function is bound to 'gloomy'"),
        ("signals: [{sentiment: {}}]\n", "'function' is missing; write `function:`"),
        ("signals: [{lacks: {}}]\n", "'what' is missing; write `what:`"),
        ("signals: [{lacks: {what: skill}}]\n", "unknown value 'skill'; write domain, capability"),
        ("signals: [{lacks: {what: domain, rules: {mention: x, needs: {}}}}]\n", "unknown key 'mention'; did you mean"),
        ("signals: [{lacks: {what: domain, rules: {mentions: x}}}]\n", "'needs' is missing; write `needs:` with"),
        ("signals: [{lacks: {what: domain, rules: {needs: {tier: -1}}}}]\n", "expected a tier, found -1"),
        ("signals: [{lacks: {what: domain, rules: {needs: {}}}}]\n", "no rule needs a domain; pass one that does"),
        ("signals: [{handing_on: {rules: {reason: odd, needs: {}}}}]\n", "rules.reason: unknown value 'odd'"),
        ("signals: {notice: repeats, task: ordre}\n", "has no field 'ordre' for the task"),
        ("signals: {notice: repeats, said: [SAID]}\n", "signals.said: expected keys with values, found a list"),
        ("signals: [{repeats: {window: 201}}]\n", "is too long; pass 200 at most"),
        ("signals: [repeats, repeats]\n", "the name occurs twice; give one of them another with `name`"),
        ("signals: {ignore: [at]}\n", "'notice' is missing; write `notice:` with presets"),
        ("signals: [{repeats: {}, answer: {to: desk, at: IN}}]\n", "it does not say what follows"),
        ("signals: [{repeats: {}, answer: {to: desk, at: IN}, otherwise: WROKING}]\n", "WROKING"),
    ],
)
def test_a_fault_says_where_it_is_and_what_would_have_worked(signals: str, told: str) -> None:
    (fault,) = faults(signals)
    assert told in fault


def test_a_misspelt_key_for_what_is_noticed_is_told_from_a_signal() -> None:
    missing, unknown = faults("signals: {notic: [repeats], ignore: [at]}\n")
    assert "signals: 'notice' is missing" in missing
    assert "signals.notic: unknown key 'notic'; did you mean 'notice'?" in unknown


@pytest.mark.parametrize(
    "signals",
    [
        Signals(()),
        Signals(handing_on() + looping()),
        Signals(answered(looping(), Handoff("desk", at="IN", deadline="5m"), otherwise="WORKING")),
        Signals([Signal(AnyOf(2, Repeats(3, 4), ~UserAsked({"en": ["help"]}), Sentiment(gloomy)), "odd")], ignore="at"),
        Signals([*handing_on(rules=RULES), Signal(Lacks("capability", has="pay") | Lacks("domain"), "lost")]),
        Signals(Repeats() & (ToolFailures(4, 30, among="search") | NoProgress(4)), states=60, window=40),
    ],
)
def test_signals_come_back_from_a_dump_as_they_were(signals: Signals) -> None:
    original = load(CHART)
    graph = type(original)(
        "shop",
        context=original.context,
        transitions=original.transitions,
        states=original.tree,
        entry_points=["WORKING"],
        signals=signals,
    )
    again = load(dump(graph), bind=bindings_of(graph))
    assert (again.signals, again.fingerprint) == (signals, graph.fingerprint)
