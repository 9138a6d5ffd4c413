"""CEL as guards use it: what the conformance tests do not ask, and what is refused when a chart is loaded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatechart.chartfiles.cel import compiled
from gatechart.chartfiles.cel.functions import FUNCTIONS
from gatechart.chartfiles.cel.parser import parsed
from gatechart.chartfiles.cel.program import ERRORS
from gatechart.charts import Cel
from gatechart.values.agents import Event
from tests.charts.functions import Case

SUMMER = datetime(2030, 7, 1, 22, 30, 15, 250_000, tzinfo=UTC)  # a Monday
PAYLOAD = {
    "text": "你好",
    "order": "注文番号",
    "letters": "e\u0301🙂",
    "n": 3,
    "half": 2.5,
    "list": [1, 2.0, "x", None, True, {"a": 1}],
    "map": {"a": 1, "b": {"c": [1]}},
    "at": "2030-07-02T00:00:00+02:00",
    "zone": "Asia/Kolkata",
    "items": [{"price": 1}, {"sku": "b", "vip": True}],
}
EVENT = Event("ASKED", PAYLOAD, SUMMER, sender="me")


def answer(expression):
    guard, faults = compiled(expression)
    assert faults == ()
    return guard(Case(), EVENT)


@pytest.mark.parametrize(
    "expression",
    [
        "size(event.payload.text) == 2 && event.payload.text.size() == 2",
        "size(event.payload.order) <= 10 && !(size(event.payload.text) > 3)",
        "size(event.payload.letters) == 3",  # code points: a letter, its accent, a picture
        "size(bytes(event.payload.text)) == 6",
        "size(event.payload.list) == 6 && event.payload.map.size() == 2 && size('') == 0",
        "event.payload.list.exists(x, type(x) == string && size(x) == 1)",
        "'size(x)' == 'size' + '(x)' // size(1)",
        "size(event.payload.text + 'size') == 6",
        "event.payload.order.startsWith('注文') && event.payload.order.contains('番') && 'abc'.endsWith('')",
        "'a' < 'é' && 'z' < '🙂' && '\\uFFFF' < '🙂'",  # by code points
    ],
)
def test_texts_are_measured_and_compared_by_code_points(expression):
    assert answer(expression) is True


@pytest.mark.parametrize(
    "expression",
    [
        "event.time.getHours() == 22 && event.time.getHours('UTC') == 22",
        "event.time.getHours('Europe/Berlin') == 0 && event.time.getDate('Europe/Berlin') == 2",
        "event.time.getHours('+05:30') == 4 && event.time.getMinutes('+05:30') == 0",
        "event.time.getHours('-08:00') == 14 && event.time.getHours('05:30') == 4",
        "event.time.getHours(event.payload.zone) == 4",
        "event.time.getDayOfWeek() == 1 && event.time.getDayOfWeek('Europe/Berlin') == 2",
        "event.time.getDayOfMonth() == 0 && event.time.getDayOfYear() == 181 && event.time.getMonth() == 6",
        "event.time.getFullYear('Asia/Tokyo') == 2030 && event.time.getSeconds('Asia/Tokyo') == 15",
        "event.time.getMilliseconds() == 250",
        "timestamp('2030-01-01T12:00:00Z').getHours('Europe/Berlin') == 13",  # winter
        "timestamp('2030-07-01T12:00:00Z').getHours('Europe/Berlin') == 14",  # summer
        "timestamp('2030-03-31T00:59:59Z').getHours('Europe/Berlin') == 1",
        "timestamp('2030-03-31T01:00:00Z').getHours('Europe/Berlin') == 3",
        "timestamp('2030-10-27T00:30:00Z').getHours('Europe/Berlin') == 2",
        "timestamp('2030-10-27T01:30:00Z').getHours('Europe/Berlin') == 2",
        "timestamp(event.payload.at).getHours() == 22",  # in UTC, whatever offset the text has
        "timestamp(event.payload.at).getHours('+02:00') == 0",
        "event.time.getHours('Europe/Berlin') in [0, 1, 2, 3, 4, 5]",
    ],
)
def test_parts_of_a_date_are_read_in_any_zone(expression):
    assert answer(expression) is True


@pytest.mark.parametrize(
    "expression",
    [
        "timestamp(0) < event.time && int(timestamp(1)) == 1 && int(event.time) == 1909175415",
        "timestamp('1969-12-31T23:59:59.5Z') < timestamp(0) && int(timestamp('1969-12-31T23:59:59.5Z')) == -1",
        "event.time - timestamp(event.payload.at) == duration('30m15.25s')",
        "duration('1h') + event.time == event.time + duration('60m') && event.time - duration('24h') < event.time",
        "duration('1.5h').getMinutes() == 90 && duration('-1.5s').getMilliseconds() == -500",
        "duration('1h') > duration('59m59s999ms999us999ns') && duration('1h1m1s') < duration('1h1m1.1s')",
        "timestamp('2030-01-01T00:00:00.000000001Z') > timestamp('2030-01-01T00:00:00Z')",
        "string(event.time) == '2030-07-01T22:30:15.25Z' && string(duration('90m')) == '5400s'",
        "type(event.time) == google.protobuf.Timestamp && type(duration('1s')) == google.protobuf.Duration",
        "bool('true') && bool('1') && !bool('False') && string(true) == 'true' && bool(string(true))",
        "int('-7') == -7 && int(2.9) == 2 && int(-2.9) == -2 && double('1e3') == 1000.0 && uint('7') == 7u",
        "string(bytes(event.payload.text)) == event.payload.text && string(1.5) == '1.5' && string(7u) == '7'",
        "dyn(1) == 1.0 && 1u == 1 && {1: 'a'}[1u] == 'a' && {1u: 'a'}[1.0] == 'a' && 1.0 in {1: 2}",
        "[1, 2][1.0] == 2 && {true: 'a', 1: 'b'}[true] == 'a' && {true: 'a', 1: 'b'}[1] == 'b'",
        "type(event.payload.n) == int && type(event.payload.half) == double && type(null) == null_type",
    ],
)
def test_values_are_converted_as_the_language_says(expression):
    assert answer(expression) is True


@pytest.mark.parametrize(
    "expression",
    [
        "event.payload.list == [1.0, 2, 'x', null, true, {'a': 1.0}]",
        "event.payload.list != [1, 2, 'x', null, 1, {'a': 1}]",  # true is not 1
        "!(true in [1, 0]) && !(1 in [true, '1']) && 2 in event.payload.list",
        "event.payload.half > 2 && event.payload.half < 3u && event.payload.n == 3.0",
        "event.payload.map.all(key, key in ['a', 'b']) && 'a' in event.payload.map && !('z' in event.payload.map)",
        "event.payload['map']['b'].c[0] == 1 && has(event.payload.map.b) && !has(event.payload.map.z)",
        "event.payload.missing == 1 || event.payload.n == 3",
        "event.payload.n == 3 || event.payload.missing == 1",
        "!(event.payload.missing && event.payload.n == 4)",
        "event.payload.items.exists(item, item.vip)",  # though the first item lacks it
        "!event.payload.items.all(item, item.price > 1)",
        "event.payload.items.filter(item, has(item.vip)).map(item, item.sku) == ['b']",
        "event.payload.list.exists_one(x, type(x) == bool)",
        "[[1], [2]].all(x, x.exists(y, y > 0 && [3].all(x, x > y)))",
        "event.payload.n > 2 ? event.payload.n < 9 : event.payload.missing",
        "-event.payload.n == -3 && - -event.payload.n == 3 && !!true && 7 / -2 == -3 && -7 % 2 == -1",
        "1.0 / 0.0 > 1e300 && 0.0 / 0.0 != 0.0 / 0.0",
        "r'\\d' == '\\\\d' && '''a\nb''' == 'a\\nb' && b'\\xff' == b'\\377' && b'ÿ' == b'\\303\\277'",
        "event.payload.text.matches('^..$') && matches(event.name, 'SK') && !event.name.matches('^S')",
    ],
)
def test_operators_and_loops_follow_the_language(expression):
    assert answer(expression) is True


FAILING = [
    "event.payload.missing == 1",
    "event.payload.list[6] == 1",
    "event.payload.list[event.payload.half] == 1",
    "9223372036854775807 + event.payload.n > 0",
    "-9223372036854775807 - event.payload.n < 0",
    "event.payload.n / (event.payload.n - 3) > 1",
    "event.payload.n + event.payload.half > 1.0",
    "event.payload.n && true",
    "event.payload.n in event.payload.text",
    "int(event.payload.text) == 1",
    "bool(event.payload.n)",
    "timestamp(event.payload.text) > event.time",
    "event.time - timestamp(0) + duration('2500000h') > duration('1h')",
    "event.time.getHours(event.payload.text) == 1",
    "event.payload.items.all(item, item.price > 0)",
    "event.payload.items.exists(item, item.price > 1)",
    "event.payload.items.map(item, item.price) == [1]",
    "uint(event.payload.n - 4) == 0u",
]


@pytest.mark.parametrize("expression", FAILING)
def test_what_fails_on_this_event_raises(expression):
    guard, faults = compiled(expression)
    assert faults == ()
    with pytest.raises(ERRORS):
        guard(Case(), EVENT)


@pytest.mark.parametrize(
    ("expression", "problem", "remedy"),
    [
        (
            "event.nmae == 'x'",
            "`event.nmae` always fails: an event has no such part",
            "write name, payload, id, sender or time",
        ),
        (
            "event.payload.at > event.time",
            "JSON values and timestamp cannot be put in order",
            "write timestamp(event.payload.at)",
        ),
        ("event.time > '2030-01-01T00:00:00Z'", "cannot be put in order", "write timestamp('2030-01-01T00:00:00Z')"),
        ("event.time == '2030-01-01T00:00:00Z'", "is always false: it compares timestamp with string", "timestamp("),
        ("event.time.getHours() == '9'", "is always false: it compares int with string", "a number, without quotes"),
        (
            "event.time.getDayOfWeek() == 'MON'",
            "is always false: it compares int with string",
            "a number, without quotes",
        ),
        ("event.time.getHours() in ['9', '10']", "it compares int with string", "a number, without quotes"),
        ("event.time in [1, 2]", "it compares timestamp with int", "write timestamp(1)"),
        ("type(event.payload.x) == 'int'", "it compares type with string", "write the type without quotes"),
        ("event.time.getDayOfWeek() == 7", "is always false: getDayOfWeek() returns 0 to 6", "(Sunday is 0)"),
        (
            "event.time.getDayOfWeek('UTC') in [6, 7]",
            "`event.time.getDayOfWeek('UTC') in [6, 7]` has an item that never matches",
            "Sunday is 0",
        ),
        ("12 == event.time.getMonth()", "is always false: getMonth() returns 0 to 11", "(January is 0)"),
        ("event.time.getMonth() != 12", "is always true: getMonth() returns 0 to 11", "(January is 0)"),
        ("event.time.getHours() >= 24", "is always false: getHours() returns 0 to 23", "(midnight is 0)"),
        ("24 <= event.time.getHours()", "is always false: getHours() returns 0 to 23", "(midnight is 0)"),
        ("event.time.getFullYear() > 9999", "is always false: getFullYear() returns 1 to 9999", ""),
        ("size(event.payload.text) < 0", "is always false: size() returns 0 or more", ""),
        ("timestamp(event.payload.at) > timestamp('2030-01-01T00:00:00+24:00')", "offset is not between", ""),
        ("event.time.getHours('Europe/Berln') == 9", "unknown time zone 'Europe/Berln'", ""),
        ("event.time.getHours('+25:00') == 9", "unknown time zone '+25:00'", ""),
        (
            "event.payload.at.getHours() == 9",
            "getHours() takes duration or timestamp",
            "write timestamp(event.payload.at)",
        ),
        (
            "event.time.getHours('UTC', 1) == 9",
            "does not call getHours() as it is",
            "event.time.getHours('Europe/Berlin')",
        ),
        ("getHours(event.time) == 9", "does not call getHours() as it is", "event.time.getHours('Europe/Berlin')"),
        ("contains(event.payload.text, 'a')", "does not call contains() as it is", "write `text.contains('a')`"),
        ("size(event.payload.text, 1) > 1", "does not call size() as it is", "write `size(value)`"),
        ("size(event.time) > 1", "size() takes bytes, list, map or string, not timestamp", "size(value)"),
        ("event.time + 60 > event.time", "there is no timestamp + int", "as in `event.time + duration('1h')`"),
        ("event.time - duration('1d') > timestamp(0)", "'1d' is not a duration", ""),
        ("event.time > timestamp('2030-01-01')", "'2030-01-01' is not a timestamp", ""),
        ("event.payload.n > 1 + 1.0", "`1 + 1.0` always fails: there is no int + double", ""),
        ("event.payload.n + 1u > 2u", "there is no JSON values + uint", "write uint(event.payload.n)"),
        (
            "event.payload.x == b'x'",
            "is always false: it compares JSON values with bytes",
            "write bytes(event.payload.x)",
        ),
        ("event.payload.n / 0 > 1", "it divides by zero", ""),
        ("event.payload.n > 9223372036854775807 + 1", "out of the range of an int", ""),
        ("event.payload[0] == 1", "the index must be a position in a list, or a key of a map", ""),
        ("event.name.text == 'x'", "only a map has a field 'text'", ""),
        ("event.name in 'ASKED'", "`in` takes a list or a map, not string", ""),
        ("-event.name == 1", "only an int or double has a negative", ""),
        ("!size(event.payload.text)", "here it must be true or false, not int", ""),
        (
            "event.payload.items.exists(item, item.at > event.time)",
            "cannot be put in order",
            "write timestamp(item.at)",
        ),
        ("event.payload.items.exists(item, size(item))", "here it must be true or false", ""),
        ("event.name.exists(x, x == 'a')", "exists() iterates over a list or the keys of a map", ""),
        ("event.payload.text.matches('[')", "invalid pattern '[': unclosed character class", ""),
        ("bool('maybe')", "'maybe' is neither 'true' nor 'false'", ""),
        ("int('x') > 1", "'x' cannot be read as int", ""),
        ("{1: 2, 1: 3}[1] == 2 ", "a map has the key 1 twice", ""),
        ("size(event.payload.text)", "its value is of type int, which is neither true nor false", "compare it"),
        ("event.payload.n = 3", "1:17: this character has no meaning here", "correct"),
        ("event.payload.a and event.payload.b", "expected an operator or the end (write `&&`), not 'and'", ""),
        ("event.payload.text == 'a", "this text has no end", ""),
        ("event.payload.text == '\\d'", "is not an escape", ""),
        ("event.payload.n > 9223372036854775808", "out of range: an int is from", ""),
        ("event.payload.text.lower() == 'x'", "unknown function 'lower'", ""),
        ("!", "expected a value, not the end", ""),
    ],
)
def test_what_can_never_be_true_is_refused_when_the_chart_is_loaded(expression, problem, remedy):
    _, faults = compiled(expression)
    assert problem in faults[0].problem
    assert remedy in faults[0].remedy


LEAVES = (
    *("event.time", "event.name", "event.sender", "event.id", "event.payload", "event.payload.n", "event.payload.half"),
    *("event.payload.text", "event.payload.at", "event.payload.list", "event.payload.map", "event.payload.list[4]"),
    *(
        "event.payload.list[3]",
        "context.query",
        "context.retries",
        "null",
        "true",
        "3",
        "3u",
        "2.5",
        "0",
        "'a'",
        "b'a'",
    ),
    *("[1, 'a']", "[event.time]", "{'a': 1}", "{3: 'a', true: 2}", "{'t': event.time}.t", "{3u: event.time}[3]"),
    *("duration('1h')", "timestamp(0)", "int", "type(event.time)", "dyn(event.time)", "event.payload.list.map(x, x)"),
    *("[3].map(x, event.time)", "event.payload.list.filter(x, true)", "(event.payload.n > 2 ? event.time : 3)"),
)
OPERATORS = ("==", "!=", "<", ">=", "in", "+", "-", "*", "/", "%")  # `&&` and `||` refuse operands without truth
CALLS = {
    **{name: (f"{name}({{}})", f"{{}}.{name}()", f"{{}}.{name}('a')", f"{{}}.{name}('UTC')") for name in FUNCTIONS},
    "-": ("-{}",),
    "!": ("!{}",),
    "has": ("has(({}).a)",),
    "exists": ("{}.exists(x, true)",),
    "map": ("{}.map(x, x)", "{}.map(x, x == x, 1)"),
    "?": ("{} ? 1 : 2",),
}
VARIABLES = {
    "context": Case().model_dump(mode="json"),
    "event": {"name": EVENT.name, "payload": PAYLOAD, "id": None, "sender": "me", "time": SUMMER},
}


def is_refused_though_it_has_a_result(expression):
    try:
        result = Cel(expression).result(VARIABLES)
    except ERRORS:
        return False
    if result is (" != " in expression):  # a comparison that always comes to the same is refused
        return False
    faults = compiled(expression, is_guard=False)[1]
    return any("which JSON does not have" not in fault.problem for fault in faults)


@pytest.mark.parametrize("operator", [*OPERATORS, "[]"])
def test_no_operands_are_refused_that_have_a_result(operator):
    form = "{}[{}]" if operator == "[]" else f"{{}} {operator} {{}}"
    pairs = (form.format(one, other) for one in LEAVES for other in LEAVES)
    assert [expression for expression in pairs if is_refused_though_it_has_a_result(expression)] == []


@pytest.mark.parametrize("name", CALLS)
def test_no_argument_is_refused_that_has_a_result(name):
    calls = (form.format(leaf) for leaf in LEAVES for form in CALLS[name])
    assert [expression for expression in calls if is_refused_though_it_has_a_result(expression)] == []


@pytest.mark.parametrize(
    "expression",
    [
        "event.sender == null",
        "event.payload.at == null",
        "event.payload.list[0] == 1",
        "context.query[0] == 'x'",
        "true",
    ],
)
def test_what_can_be_true_is_not_refused(expression):
    assert compiled(expression)[1] == ()


@pytest.mark.parametrize(
    "chain", ["event.payload.n + " * 250 + "1 > 0", "!" * 900 + "true", "[" * 59 + "]" * 59 + " == []"]
)
def test_long_and_deep_expressions_have_a_bound(chain):
    if chain.startswith("event"):
        with pytest.raises(ValueError, match="nested more than 200 levels deep"):
            Cel(chain)
    else:
        assert isinstance(Cel(chain)(Case(), EVENT), bool)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, width=32)
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


@given(JSON)
def test_a_value_equals_itself_and_is_found_in_its_list(value):
    guard = Cel("event.payload.x == event.payload.y && event.payload.x in [event.payload.y]")
    assert guard(Case(), Event("X", {"x": value, "y": value}, SUMMER))


@given(st.text(max_size=40))
def test_any_text_is_parsed_or_refused_with_a_position(text):
    try:
        parsed(text)
    except ValueError as error:
        line, column = str(error).split(":")[:2]
        assert int(line) >= 1 <= int(column)


@given(st.text())
def test_any_text_can_be_written_as_a_literal(text):
    escapes = {"\\": r"\\", "'": r"\'", "\n": r"\n", "\r": r"\r"}
    literal = "'" + "".join(escapes.get(character, character) for character in text) + "'"
    assert Cel(f"event.payload.x == {literal} && size({literal}) == {len(text)}")(
        Case(), Event("X", {"x": text}, SUMMER)
    )


FIRST, LAST = datetime.fromisoformat("0001-01-02"), datetime.fromisoformat("9999-12-30")


@given(st.datetimes(FIRST, LAST, timezones=st.timezones()))
def test_timestamps_are_written_and_read_alike(moment):
    written = Cel("string(event.time)").result({"event": {"time": moment}})
    assert datetime.fromisoformat(written) == moment.astimezone(UTC)  # an ambiguous hour equals no other zone's
    assert Cel(f"timestamp('{written}') == event.time").result({"event": {"time": moment}}) is True


@given(st.timedeltas(timedelta(days=-100_000), timedelta(days=100_000)))
def test_durations_are_written_and_read_alike(length):
    written = Cel("string(x)").result({"x": length})
    assert Cel(f"duration('{written}')").result({}) == length
