"""Guards in CEL."""

from __future__ import annotations

import pytest

from gatechart.charts import Cel
from gatechart.values.agents import Event
from tests.charts.functions import Case
from tests.charts.support import NOW, Life, faults, lamp

GO = Event("GO", {"n": 3, "tags": ["a", "b"]}, NOW, sender="me")


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("context.retries < 3", True),
        ("context.query == 'x'", False),
        ("event.payload.n > 2 && 'a' in event.payload.tags", True),
        ("event.name == 'GO' && event.sender == 'me' && event.id == null", True),
        ("event.payload.tags.exists(tag, tag == 'b')", True),
        ("event.time < timestamp('2027-01-01T00:00:00Z')", True),
        ("size(context.query) == 0 ? true : false", True),
        ("has(event.payload.other)", False),
    ],
)
def test_an_expression_asks_about_context_and_event(expression, answer):
    assert Cel(expression)(Case(), GO) is answer


@pytest.mark.parametrize(
    "expression", ["context.nothing", "context.retries", "context.query < 3", "1 / context.retries"]
)
def test_an_expression_that_comes_to_no_answer_raises(expression):
    with pytest.raises((KeyError, TypeError, ArithmeticError)):
        Cel(expression)(Case(), GO)


def test_expressions_are_equal_by_their_text_and_go_by_it():
    assert Cel("true") == Cel("true") != Cel("false")
    assert len({Cel("true"), Cel("true")}) == 1
    assert repr(Cel("true")) == "Cel('true')"
    assert Cel("context.a.b + context.c == 'context.d' && mycontext.e").context_fields == ("a", "c")


def test_a_guard_that_fails_counts_as_false_and_raises_error_execution():
    graph = lamp("  A: {on: {GO: {target: B, guard: {cel: event.payload.n > 2}}, error.execution: C}}\n  B:\n  C:\n")
    assert Life(graph, "A").send("GO", n=3) == ("B",)
    assert Life(graph, "A").send("GO", n=1) is None
    life = Life(graph, "A")
    assert life.send("GO") == ("C",)


@pytest.mark.parametrize(
    "expression",
    [
        "9223372036854775807 + event.payload.n > 0",
        "event.payload.n % (event.payload.n - 1) == 0",
        "size(event.payload.n) == 1",
        "int(event.payload.text) > 0",
        "timestamp(event.payload.text) > event.time",
        "event.payload.list[7] == 1",
        "event.payload.n",
    ],
)
def test_whatever_fails_in_an_expression_is_a_no(expression):
    graph = lamp(f"  A: {{on: {{GO: {{target: B, guard: {{cel: {expression!r}}}}}}}}}\n  B:\n")
    life = Life(graph, "A")
    assert life.send("GO", n=1, text="x", list=[]) is None
    assert [error.guard for error in life.outcome.guard_errors] == [expression]


def fault(expression):
    text = f"id: x\nentry_points: [A]\nstates: {{A: {{on: {{X: {{guard: {{cel: {expression!r}}}}}}}}}}}\n"
    return [each.partition(": ")[2] for each in faults(text)]


def test_an_expression_is_checked_when_it_is_loaded():
    assert fault("context.n <") == ["invalid CEL: 1:12: expected a value, not the end; correct the expression"]
    assert fault("contxt.n") == ["unknown variable 'contxt'; did you mean 'context'? There are 'context', 'event'"]
    assert fault("sze(context.n) > 1")[0].startswith("unknown function 'sze'; did you mean 'size'?")
    assert fault("x" * 1001) == ["it has more than 1000 characters; write a function, and name it"]
    assert fault("[1].all(a, [1].all(b, [1].map(c, c).exists(d, d > 0)))") == [
        "it iterates over lists 4 times, more than 3; write a function, and name it"
    ]
    assert fault("(" * 900) == ["invalid CEL: 1:61: it is nested more than 60 levels deep; correct the expression"]
    assert fault("[1].all(x, x > 0 && y)") == ["unknown variable 'y'; there are 'context', 'event'"]
