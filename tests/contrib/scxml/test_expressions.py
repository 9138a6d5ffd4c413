"""The subset of ECMAScript that conditions and values are written in."""

from types import SimpleNamespace

import pytest

from gatechart.contrib.scxml.expressions import ExpressionError, expression, location
from gatechart.contrib.scxml.scope import EvaluationError, Scope, data_of, payload_of
from gatechart.testing.clock import VirtualClock
from gatechart.values.agents import Event


def scope(**variables):
    event = Event("order.placed", {"n": 3, "list": ["x", {"y": 1}]}, VirtualClock().now())
    return Scope(SimpleNamespace(**variables, scxml_session="session"), event, frozenset({"a", "a1"}), "chart")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("7 % 3 - -1", 2),
        ("-7 % 3", -1),
        ("7 / 2", 3.5),
        ("8 / 2", 4),
        ("0x1F + 1e2 + .5", 131.5),
        ("'a' + 1 + true + null", "a1truenull"),
        ("1 + 1 + 'x'", "2x"),
        ("'' + [1, [2, 'b']] + {}", "1,2,b[object Object]"),
        ("'\\u0041\\x42\\n\\q' + \"'\"", "AB\nq'"),
        ("1 < 2 && 'a' < 'b' && 2 >= 2 && 3 <= 3 && 4 > 3", True),
        ("0 || 'other'", "other"),
        ("0 && nowhere", 0),
        ("1 || nowhere", 1),
        ("!''", True),
        ("![]", False),
        ("!!{}", True),
        ("+true", 1),
        ("n > 1 ? 'many' : n === 1 ? 'one' : 'none'", "many"),
        ("1 == '1' && 1 !== '1' && true == 1 && true !== 1", True),
        ("'x' == 1", False),
        ("'' == 0", True),
        ("null == undefined", True),
        ("null == 0", False),
        ("1 === 1.0", True),
        ("[1, 2] == '1,2'", False),
        ("1 != 2 && 1 != '2'", True),
        ("typeof 1 + typeof '' + typeof true + typeof [] + typeof nowhere", "numberstringbooleanobjectundefined"),
        ("typeof nowhere.at.all === 'undefined'", True),
        ("_event.name", "order.placed"),
        ("_event.data.n + _event['data'].list.length", 5),
        ("_event.data.list[1].y", 1),
        ("_event.data.missing", None),
        ("_name", "chart"),
        ("In('a') && !In('b')", True),
        ("list[0] + list[list.length - 1]", 5),
        ("list[9]", None),
        ("list['0']", None),
        ("'abc'.length + 'abc'[1]", "3b"),
        ("{a: 1, 'b c': [2,], 3: 4,}", {"a": 1, "b c": [2], "3": 4}),
        ("{a: {b: 2}}.a['b']", 2),
        ("{1: 'x'}[1]", "x"),
        ("5 & 3 | 8 ^ 1", 9),
        ("-1 & 0xFFFFFFFF", -1),
        ("1 == 1 | 2 == 3", 1),
        ("'n' in _event.data && !('m' in _event.data) && 1 in list && 'length' in list", True),
        ("'sendid' in _event && _event.sendid == undefined && _event.type === 'external'", True),
        ("_ioprocessors.scxml.location", "#_scxml_session"),
        ("'#_scxml_' + _sessionid", "#_scxml_session"),
        ("[].concat(list, [7], 8)", [1, 2, 4, 7, 8]),
        ("'a'.concat(1, 'b') + [1, null, 'x'].join('-') + [1, 2].join()", "a1b1--x1,2"),
        ("list.indexOf(4) + list.indexOf(9) + 'abc'.indexOf('c')", 3),
        ("list.includes(2) && !'abc'.includes('x')", True),
        ("Math.pow(2, 3) + Math.max(1, n) + Math.min(1, n) + Math.abs(-1)", 12),
        ("Math.floor(1.5) + Math.ceil(1.5) + Math.round(1.5) + Math.round(-1.5)", 4),
        ("JSON.stringify({a: [1, 'x', null]})", '{"a":[1,"x",null]}'),
        ("{concat: 1}.concat", 1),
    ],
)
def test_an_expression_has_the_value_that_ecmascript_gives_it(text, value):
    assert expression(text)(scope(n=2, list=[1, 2, 4])) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "a value is expected where the end stands"),
        ("1 +", "a value is expected"),
        ("1 2", "the end is expected where '2' stands"),
        ("(1", r"'\)' is expected"),
        ("a ? b", "':' is expected"),
        ("x = 1", "'=' changes a variable; only <assign> does"),
        ("n + 1 = 1", "'=' changes a variable"),
        ("++n == 2", r"'\+\+' changes a variable"),
        ("n-- > 1", "'--' changes a variable"),
        ("'open", "is not understood"),
        ("a.1", "is expected"),
        ("a.'b'", "a name is expected after '.'"),
        ("{[1]: 2}", "a key is expected"),
        ("{a 1}", "':' is expected"),
        ("[1 2]", "',' is expected"),
        ("open('/etc/passwd')", r"unknown function open\(\)"),
        ("x.constructor('y')", r"unknown method constructor\(\); there are 'concat', "),
        ("Math.random()", r"unknown function Math.random\(\)"),
        ("Math.max", r"'\(' is expected"),
        ("Math(1)", "'.' is expected"),
        ("In 'a'", r"'\(' is expected"),
        ("_event.raw", "_event has no 'raw'; it has 'name', 'type', "),
        ("_x", "unknown variable '_x'"),
        ("#", "is not understood"),
        ("(" * 60 + "1" + ")" * 60, "nested deeper"),
    ],
)
def test_what_is_not_of_the_subset_is_refused_before_it_runs(text, why):
    with pytest.raises(ExpressionError, match=why):
        expression(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nowhere", "unknown variable 'nowhere'"),
        ("n.a.b", "has no members"),
        ("null.a", "null has no members"),
        ("1 / 0", "division"),
        ("1 % 0", "division"),
        ("'a' * 2", "is not a number"),
        ("1 < 'x'", "is not a number"),
        ("-[]", "is not a number"),
        ("1 = 1", "1 cannot be assigned to"),
        ("'x' in 'xyz'", "has no members"),
        ("Math.pow(10, 400)", "has no value"),
        ("Math.max()", "has no value"),
        ("Math.floor('x')", "is not a number"),
        ("Math.floor(1, 2)", "has no value"),
        ("n.concat(1)", r"2 has no concat\(\)"),
        ("'a'.join()", "only an array is joined"),
        ("__class__", "unknown variable"),
    ],
)
def test_an_expression_without_a_value_is_an_error(text, why):
    with pytest.raises(EvaluationError, match=why):
        expression(text)(scope(n=2))


def test_a_location_is_a_variable_or_a_member_of_one():
    here = scope(n=1, list=[1, [2]], deep={"a": {}})
    for text, value in [("n", 5), ("list[1][0]", 6), ("deep.a.b", 7), ("deep['c']", 8)]:
        location(text)(here, value)
    assert vars(here.context) == {"n": 5, "list": [1, [6]], "deep": {"a": {"b": 7}, "c": 8}, "scxml_session": "session"}


@pytest.mark.parametrize(
    "text",
    [
        *("nowhere", "nowhere.a", "_event", "_event.data", "_name", "_sessionid", "_ioprocessors.scxml"),
        *("list[5]", "list.x", "n.a", "list[0][0]", "1", "'a'", "null"),
    ],
)
def test_what_is_no_place_cannot_be_assigned_to(text):
    here = scope(n=1, list=[1])
    with pytest.raises(EvaluationError):
        location(text)(here, 2)
    assert vars(here.context) == {"n": 1, "list": [1], "scxml_session": "session"}


@pytest.mark.parametrize("text", ["1 + 1", "'a'.b", "n + 1", "n.", "In('a')"])
def test_what_is_no_location_is_refused_before_it_runs(text):
    with pytest.raises(ExpressionError):
        location(text)


def test_event_is_undefined_until_the_first_event():
    assert expression("_event")(Scope(SimpleNamespace())) is None


@pytest.mark.parametrize("data", [None, "text", 3, [1], {"a": 1}])
def test_data_come_back_from_a_payload(data):
    assert data_of(payload_of(data)) == data
