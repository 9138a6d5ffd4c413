"""Expressions of `cond` and `expr`: a subset of ECMAScript, parsed here and never passed to an interpreter.

Literals (numbers, texts, `true`, `false`, `null`, `undefined`, arrays, objects), variables of the data model,
`_name`, `_sessionid`, `_ioprocessors`, `_event` with its fields, members (`a.b`, `a['b']`, `a[0]`, `.length`),
`In('state')`, `typeof`, `!`, `-`, `+`, `*`, `/`, `%`, `<`, `<=`, `>`, `>=`, `in`, `==`, `!=`, `===`, `!==`, `&`,
`^`, `|`, `&&`, `||`, `a ? b : c`, parentheses, and calls of the functions in `gatechart.contrib.scxml.operators`. No
other functions, no changes of variables, no regular expressions.

Source: ECMA-262 for precedence and values, https://www.w3.org/TR/scxml/#ecma-profile for `In` and system variables.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from gatechart.contrib.scxml.operators import BINARY, FUNCTIONS, METHODS, call, logical, member, method, typeof, unary
from gatechart.contrib.scxml.scope import EVENT_FIELDS, EvaluationError, Scope, is_true
from gatechart.errors.root import listing

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<number>0[xX][0-9a-fA-F]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
      | (?P<name>[A-Za-z_$][\w$]*)
      | (?P<sign>===|!==|==|!=|<=|>=|&&|\|\||\+\+|--|[-+*/%<>!?:.,()\[\]{}&|^=])
      | (?P<end>$)
    )""",
    re.VERBOSE | re.ASCII,
)
CONSTANTS: Final = {"true": True, "false": False, "null": None, "undefined": None}
_MOST_DIGITS: Final = 250  # of a number, so that it fits a float
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0"}


class ExpressionError(ValueError):
    """The text is not an expression of the subset. The message contains the position and the reason."""


@dataclass(frozen=True, slots=True)
class ExpressionToken:
    """A token of an expression: its kind, its text, and the value of a literal."""

    kind: str  # number, text, name, sign, end
    text: str
    value: Any = None

    @property
    def is_literal(self) -> bool:
        """Whether it is a literal."""
        return self.kind in ("number", "text") or (self.kind == "name" and self.text in CONSTANTS)

    def __str__(self) -> str:
        return repr(self.text) if self.text else "the end"


def tokens_of(text: str) -> list[ExpressionToken]:
    """Split a text into tokens, the last one of the kind `end`. Raises ExpressionError.

    >>> [token.text for token in tokens_of("x >= 1 && !In('s')")][:5]
    ['x', '>=', '1', '&&', '!']
    """
    found: list[ExpressionToken] = []
    position = 0
    while not found or found[-1].kind != "end":
        match = _TOKEN.match(text, position)
        if match is None:
            raise ExpressionError(f"{text[position:].strip()[:20]!r} is not understood")
        kind = str(match.lastgroup)
        found.append(ExpressionToken(kind, match[kind], _value(kind, match[kind])))
        position = match.end()
    return found


def _value(kind: str, text: str) -> Any:
    if kind == "text":
        return re.sub(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", _unescaped, text[1:-1])
    if kind != "number":
        return None
    if len(text) > _MOST_DIGITS:
        raise ExpressionError(f"the number {text[:20]}... has more than {_MOST_DIGITS} digits")
    if text[:2] in ("0x", "0X"):
        return int(text, 16)
    return int(text) if text.isdigit() else float(text)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, code)


Value: TypeAlias = Callable[[Scope], Any]  # raises EvaluationError
BuiltT = TypeVar("BuiltT", list[Any], dict[str, Any])
Place: TypeAlias = Callable[[Scope, Any], None]  # raises EvaluationError

_LEVELS: Final = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("===", "!==", "==", "!="),
    ("<", "<=", ">", ">=", "in"),
    ("+", "-"),
    ("*", "/", "%"),
)
_CHANGES: Final = ("=", "++", "--")
_MOST_LEVELS: Final = 25  # of nesting while an expression is parsed
_MOST_HEIGHT: Final = 150  # of nested operators while an expression is evaluated


def expression(text: str) -> Value:
    """Compile the text to a function of a scope. Raises ExpressionError.

    >>> from types import SimpleNamespace
    >>> expression("x + 1 === 3 && !In('s')")(Scope(SimpleNamespace(x=2)))
    True
    """
    parser = _ExpressionParser(text)
    value = parser.ternary()
    parser.expect("end", "")
    return value


def location(text: str) -> Place:
    """Compile the text of a variable, or of a member of one, to a function that assigns it. Raises ExpressionError."""
    parser = _ExpressionParser(text)
    root = parser.take()
    if root.is_literal and parser.is_at_end:
        return partial(_refuse_change, root.text)
    if root.kind != "name" or root.is_literal:
        raise ExpressionError(f"{text!r} is not a location; name a variable, or a member of one")
    keys: list[Value] = []
    while (key := parser.key()) is not None:
        keys.append(key)
    parser.expect("end", "")
    return partial(_store, root.text, tuple(keys))


def _store(name: str, keys: tuple[Value, ...], scope: Scope, value: Any) -> None:
    if not keys:
        scope.assign(name, value)
        return
    holder = scope.lookup(name)
    for key in keys[:-1]:
        holder = member(holder, key(scope))
    last = keys[-1](scope)
    if not _has_place(holder, last):
        raise EvaluationError(f"{last!r} of {name!r} cannot be assigned to")
    holder[last] = value
    scope.budget.checked(scope.lookup(name))
    scope.assign(name, scope.lookup(name))  # refuses variables outside the data model


def _has_place(holder: Any, key: Any) -> bool:
    if isinstance(holder, dict):
        return isinstance(key, str)
    return isinstance(holder, list) and key in range(len(holder))


class _ExpressionParser:
    """A recursive descent parser of one expression."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens_of(text)
        self._at = 0
        self._depth = 0
        self._heights: dict[int, tuple[int, Value]] = {}  # by identity; keeping the value keeps its identity unique

    def take(self) -> ExpressionToken:
        """Consume and return the next token."""
        token = self._tokens[self._at]
        self._at += token.kind != "end"
        return token

    def expect(self, kind: str, text: str) -> None:
        """Consume a required token."""
        found = self.take()
        if (found.kind, found.text) != (kind, text):
            wanted = repr(text) if text else "the end"
            raise ExpressionError(f"{wanted} is expected instead of {found}")

    @property
    def is_at_end(self) -> bool:
        """Whether all tokens have been consumed."""
        return self._tokens[self._at].kind == "end"

    def _node(self, function: Callable[..., Any], *operands: Any) -> Value:
        """Build a value from operands. Raises ExpressionError if operators are nested too deeply."""
        height = 1 + max((self._height(part) for part in operands), default=0)
        if height > _MOST_HEIGHT:
            raise ExpressionError(f"more than {_MOST_HEIGHT} nested operators; divide the expression")
        value = partial(function, *operands)
        self._heights[id(value)] = height, value
        return value

    def _height(self, part: Any) -> int:
        if isinstance(part, tuple):
            return max((self._height(item) for item in part), default=0)
        found = self._heights.get(id(part))
        return 0 if found is None else found[0]

    def _next_is(self, *signs: str) -> bool:
        token = self._tokens[self._at]
        return token.text in signs and (token.kind == "sign" or token.text == "in")

    def ternary(self) -> Value:
        """Parse `a ? b : c`, or an expression that binds tighter."""
        self._depth += 1
        if self._depth > _MOST_LEVELS:
            raise ExpressionError(f"it is nested deeper than {_MOST_LEVELS}")
        first = self._tokens[self._at]
        value = self._binary(0)
        if self._next_is(*_CHANGES):
            value = self._change(first)
        if self._next_is("?"):
            self.take()
            then = self.ternary()
            self.expect("sign", ":")
            value = self._node(_choose, value, then, self.ternary())
        self._depth -= 1
        return value

    def _change(self, first: ExpressionToken) -> Value:
        """Refuse a change of a variable; a change of a literal fails only when it is evaluated."""
        sign = self.take().text
        if sign != "=" or not first.is_literal or self._tokens[self._at - 2] is not first:
            raise ExpressionError(f"{sign!r} changes a variable; only <assign> does")
        self.ternary()
        return partial(_refuse_change, first.text)

    def _binary(self, level: int) -> Value:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._next_is(*_LEVELS[level]):
            sign = self.take().text
            right = self._binary(level + 1)
            left = self._node(logical if level < 2 else _apply, sign, left, right)
        return left

    def _unary(self) -> Value:
        signs = []
        while self._next_is("!", "-", "+") or self._tokens[self._at].text == "typeof":
            signs.append(self.take().text)
        value = self._postfix()
        for sign in reversed(signs):
            value = self._node(typeof, value) if sign == "typeof" else self._node(unary, sign, value)
        return value

    def _postfix(self) -> Value:
        is_event = self._tokens[self._at].text == "_event"
        value = self._primary()
        while self._next_is(".", "["):
            text = self._tokens[self._at + 1].text.strip("'\"")
            if is_event and text not in EVENT_FIELDS:
                raise ExpressionError(f"_event has no {text!r}; it has {listing(EVENT_FIELDS)}")
            is_event = False
            is_named = self._next_is(".")
            key = self._key()
            value = self._method(text, value) if is_named and self._next_is("(") else self._node(_get, value, key)
        return value

    def _method(self, name: str, holder: Value) -> Value:
        if name not in METHODS:
            raise ExpressionError(f"unknown method {name}(); there are {listing(tuple(METHODS))}")
        self.take()
        return self._node(_call_method, name, holder, self._items(")", self.ternary))

    def key(self) -> Value | None:
        """Return the key of a member, `.name` or `[expression]`; None if there is none."""
        return self._key() if self._next_is(".", "[") else None

    def _key(self) -> Value:
        if self.take().text == "[":
            key = self.ternary()
            self.expect("sign", "]")
            return key
        name = self.take()
        if name.kind != "name":
            raise ExpressionError(f"a name is expected after '.', not {name}")
        return partial(_constant, name.text)

    def _primary(self) -> Value:
        token = self.take()
        if token.kind in ("number", "text"):
            return partial(_constant, token.value)
        if token.kind == "name":
            return self._name(token.text)
        if token.text == "(":
            value = self.ternary()
            self.expect("sign", ")")
            return value
        if token.text == "[":
            return self._node(_array, self._items("]", self.ternary))
        if token.text == "{":
            return self._node(_object, self._items("}", self._pair))
        if token.text in _CHANGES:
            raise ExpressionError(f"{token.text!r} changes a variable; only <assign> does")
        raise ExpressionError(f"a value is expected instead of {token}")

    def _name(self, name: str) -> Value:
        if name in CONSTANTS:
            return partial(_constant, CONSTANTS[name])
        if name == "In":
            self.expect("sign", "(")
            state = self.ternary()
            self.expect("sign", ")")
            return self._node(_is_in, state)
        if name in ("Math", "JSON"):
            self.expect("sign", ".")
            name = f"{name}.{self.take().text}"
        if self._next_is("(") or "." in name:
            return self._function(name)
        if name == "_x":
            raise ExpressionError(f"unknown variable {name!r}")
        return partial(_variable, name)

    def _function(self, name: str) -> Value:
        if name not in FUNCTIONS:
            raise ExpressionError(f"unknown function {name}(); there are {listing(('In', *FUNCTIONS))}")
        self.expect("sign", "(")
        return self._node(_call, name, self._items(")", self.ternary))

    def _items(self, end: str, item: Callable[[], Any]) -> tuple[Any, ...]:
        items = []
        while not self._next_is(end):
            items.append(item())
            if not self._next_is(end):
                self.expect("sign", ",")
        self.take()
        return tuple(items)

    def _pair(self) -> tuple[str, Value]:
        key = self.take()
        if key.kind not in ("name", "text", "number"):
            raise ExpressionError(f"a key is expected instead of {key}")
        self.expect("sign", ":")
        return key.value if key.kind == "text" else key.text, self.ternary()


def _constant(value: Any, _: Scope) -> Any:
    return value


def _variable(name: str, scope: Scope) -> Any:
    return scope.lookup(name)


def _is_in(state: Value, scope: Scope) -> bool:
    scope.budget.spend(1)
    return state(scope) in scope.active


def _call(name: str, values: tuple[Value, ...], scope: Scope) -> Any:
    arguments = [scope.budget.checked(value(scope)) for value in values]
    return scope.budget.checked(call(FUNCTIONS[name], name, arguments))


def _call_method(name: str, holder: Value, values: tuple[Value, ...], scope: Scope) -> Any:
    arguments = [scope.budget.checked(value(scope)) for value in values]
    return scope.budget.checked(method(name, scope.budget.checked(holder(scope)), arguments))


def _refuse_change(literal: str, *_: Any) -> Any:
    raise EvaluationError(f"{literal} cannot be assigned to")


def _get(holder: Value, key: Value, scope: Scope) -> Any:
    scope.budget.spend(1)
    return member(holder(scope), key(scope))


def _choose(condition: Value, then: Value, otherwise: Value, scope: Scope) -> Any:
    scope.budget.spend(1)
    return then(scope) if is_true(condition(scope)) else otherwise(scope)


def _apply(sign: str, left: Value, right: Value, scope: Scope) -> Any:
    one, other, budget = left(scope), right(scope), scope.budget
    budget.spend(1)
    if isinstance(one, str | list | dict) or isinstance(other, str | list | dict):  # other types take negligible time
        budget.checked(one)
        budget.checked(other)
    return budget.checked(BINARY[sign](one, other))


def _array(items: tuple[Value, ...], scope: Scope) -> list[Any]:
    return _charged([item(scope) for item in items], scope)


def _object(pairs: tuple[tuple[str, Value], ...], scope: Scope) -> dict[str, Any]:
    return _charged({key: value(scope) for key, value in pairs}, scope)


def _charged(built: BuiltT, scope: Scope) -> BuiltT:
    scope.budget.spend(1 + len(built))
    scope.budget.checked(built)
    return built
