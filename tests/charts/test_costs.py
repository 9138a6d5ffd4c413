"""Guards over data that others bring: what would take too long is not begun, and counts as a guard that raised."""

import time

import pytest

from gatechart import AgentContext, Runtime, State, StateTransitionGraph, Transition
from gatechart.chartfiles.cel import MAX_STEPS, Cel, compiled
from gatechart.errors import GuardBudgetError
from gatechart.values.agents import Event
from tests.support import NOW

pytestmark = pytest.mark.long

NUMBERS = "event.payload.list"
ITEMS = [{"sku": f"sku-{number}", "price": number, "ok": True, "tags": ["a", "b"]} for number in range(1_000)]


class Shop(AgentContext):
    name: str = "Ada"
    known: tuple[str, ...] = ("sku-1", "sku-2")


def asked(expression, values):
    guard, faults = compiled(expression)
    assert faults == ()
    return guard(Shop(), Event("ASKED", {"list": values, "least": -1}, NOW))


TOO_MUCH = {
    f"{NUMBERS}.all(x, x in {NUMBERS})": 30_000,
    f"{NUMBERS}.all(x, {NUMBERS}.all(y, x + y >= 0))": 20_000,
    f"{NUMBERS}.all(x, {NUMBERS}.exists(y, {NUMBERS}.exists(z, x + y == z)))": 1_000,
    f"{NUMBERS}.all(x, {NUMBERS} + {NUMBERS} != {NUMBERS})": 10_000,
    f"{NUMBERS}.all(x, {NUMBERS} == {NUMBERS})": 50_000,
    f"{NUMBERS}.map(x, {NUMBERS}).all(y, y == {NUMBERS})": 10_000,
    f"{NUMBERS}.filter(x, {NUMBERS}.map(y, y + x).size() > 0).size() > 0": 5_000,
    f"{NUMBERS}.all(x, 'text'.matches('^\\\\w{{1,200}}$'))": 20_000,
}

TRIPLE = f"{NUMBERS}.all(x, {NUMBERS}.all(y, {NUMBERS}.all(z, x + y + z >= 0)))"
HIDDEN = [
    f"""context.name == \"\"\" " \"\"\" || {TRIPLE} || context.name == \"\"\" " \"\"\" """,
    f"context.name == '''it's''' || {TRIPLE} || context.name == '''it's'''",
    rf"context.name == r'\' || {TRIPLE} || context.name == r'\'",
    f"context.name == 'x' // it's\n || {TRIPLE} // it's",
    TRIPLE.replace("(x", "//\n(x"),
]


@pytest.mark.parametrize("expression", HIDDEN)
def test_loops_are_counted_among_texts_and_comments_of_any_kind(expression):
    with pytest.raises(GuardBudgetError):
        asked(expression, list(range(1_000)))


def test_joining_lists_again_and_again_counts_without_loops():
    expression = f"({' + '.join([NUMBERS] * 45)}).size() > 0"
    with pytest.raises(GuardBudgetError):
        asked(expression, list(range(100_000)))
    assert asked(expression, [1, 2, 3])


def test_lists_in_the_expression_count():
    zeros = f"[{','.join(['0'] * 140)}]"
    with pytest.raises(GuardBudgetError):
        asked(f"{zeros}.map(x, {zeros}.map(y, {zeros}.map(z, [x, y, z]))).size() > 0", [])


@pytest.mark.parametrize("expression", TOO_MUCH)
def test_a_guard_that_could_take_too_long_is_not_begun(expression):
    began = time.process_time()
    with pytest.raises(GuardBudgetError, match=f"the limit is {MAX_STEPS:,}") as raised:
        asked(expression, list(range(TOO_MUCH[expression])))
    assert time.process_time() - began < 10
    assert (raised.value.expression, raised.value.limit) == (expression, MAX_STEPS)
    assert raised.value.steps > MAX_STEPS


ENOUGH = [
    f"{NUMBERS}.all(i, i.ok)",
    f"{NUMBERS}.all(i, i.ok && i.price >= 0 && i.sku != context.name)",
    f"{NUMBERS}.filter(i, i.price > 10).size() > 3",
    f"{NUMBERS}.exists(i, i.sku in context.known)",
    f"!{NUMBERS}.exists(i, i.tags.exists(t, t == 'z') || i.price + i.price < 0)",
    f"{NUMBERS}.all(i, i.sku.matches('^sku-[0-9]+$'))",
    f"{NUMBERS}.all(i, i.price > event.payload.least)",
    f"{NUMBERS}.map(i, i.price).size() > 3",
    f"{NUMBERS}.map(i, {NUMBERS}).size() > 3",
    f"[{NUMBERS}].map(x, x + x + x + x).all(y, y.map(z, z).size() > 1)",
]


@pytest.mark.parametrize("expression", ENOUGH)
def test_a_thousand_items_are_not_too_many(expression):
    began = time.process_time()
    assert asked(expression, ITEMS)
    assert time.process_time() - began < 20


DEAREST = {  # those that took the longest, of fields and of regular expressions; the others are slow tests
    f"{NUMBERS}.all(i, i.ok && i.price >= 0 && i.sku != context.name)",
    f"{NUMBERS}.all(x, 'text'.matches('^\\\\w{{1,200}}$'))",
}


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(each, marks=() if each in DEAREST else pytest.mark.slow)
        for each in (*TOO_MUCH, *ENOUGH)
        if each[0] != "["
    ],
)
def test_what_is_within_the_budget_ends_soon(expression):
    """The longest list that a guard may go through."""
    guard, length = Cel(expression), 1
    values = [ITEMS[number % len(ITEMS)] if expression in ENOUGH else number for number in range(100_000)]

    def steps(length):
        event = {"payload": {"list": values[:length], "least": -1}}
        return guard.steps({"context": Shop().model_dump(), "event": event})

    while length < len(values) and steps(length * 2) <= MAX_STEPS:
        length *= 2
    began = time.process_time()
    assert asked(expression, values[:length]) in {True, False}
    assert time.process_time() - began < 60


def test_a_guard_without_loops_costs_nothing_to_judge():
    assert Cel("event.payload.text == 'a.map(x, x)' && size(context.known) > 1").steps({}) == 0


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("'aaa'.matches(event.payload.pattern)", "not a literal text"),
        ("event.payload.list.exists(p, context.name.matches(p))", "not a literal text"),
        ("context.name.matches('a' + event.payload.pattern)", "not a literal text"),
        ("context.name.matches('(a{100}){100}')", "longer than 1000 characters"),
        (r"context.name.matches(r'\' + event.payload.pattern + ')')", "not a literal text"),
        ('context.name.matches("""a""" + event.payload.pattern + """b""")', "not a literal text"),
        ("context.name.matches(// 'a')\n event.payload.pattern)", "not a literal text"),
        (r"context.name.matches('a\x7b5000}')", "longer than 1000 characters"),
        (r"context.name.matches('\\pL{5000}')", "longer than 1000 characters"),
    ],
)
def test_a_regular_expression_is_written_in_the_chart(expression, problem):
    _, faults = compiled(expression)
    assert problem in faults[0].problem


def test_a_pattern_of_the_chart_is_taken():
    guard, faults = compiled("context.name.matches('^A[a-z]+$') && context.name != 'x.matches(y)'")
    assert faults == ()
    assert guard(Shop(), Event("ASKED", {}, NOW))


async def test_a_guard_beyond_its_budget_is_told_as_one_that_raised():
    guard, _ = compiled(f"{NUMBERS}.all(x, x in {NUMBERS})")
    graph = StateTransitionGraph(
        "shop",
        context=Shop,
        states=[State("OPEN"), State("DONE", final=True)],
        transitions=[Transition("OPEN", "ASKED", "DONE", guard=guard)],
        entry_points=["OPEN"],
    )
    async with Runtime.open("memory:", graphs=[graph]) as runtime:
        agent = await runtime.start("shop", at="OPEN")
        outcome = await agent.send("ASKED", {"list": list(range(30_000))})
        assert not outcome.applied
        assert "the limit is 10,000,000" in str(outcome.guard_errors)
        assert (await agent.send("ASKED", {"list": [1]})).applied
