"""From the text of a CEL expression to its syntax tree."""

from __future__ import annotations

from typing import Final

from gatechart.chartfiles.cel.syntax import (
    MACROS,
    Call,
    Comprehension,
    ExpressionPart,
    Has,
    Index,
    ListOf,
    Literal,
    MapOf,
    Name,
    Operation,
    Select,
    depth,
)
from gatechart.chartfiles.cel.tokens import CelSyntaxError, Token, number, text_value, tokens

MAX_DEPTH: Final = 200  # nested nodes; an evaluation recurses once for a node
_MAX_NESTED: Final = 60  # nested parentheses, brackets and conditions; the parser recurses some six times for one
_STRENGTHS: Final = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 3),
    **dict.fromkeys(("+", "-"), 4),
    **dict.fromkeys(("*", "/", "%"), 5),
}
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
_KEYWORDS: Final = (*_CONSTANTS, "in")
_RESERVED: Final = (
    *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "namespace"),
    *("package", "return", "var", "void", "while"),
)
_OTHER_LANGUAGES: Final = {"and": "&&", "or": "||", "is": "==", "not": "!"}


def parsed(expression: str) -> ExpressionPart:
    """Return the syntax tree of an expression. Raises CelSyntaxError (a ValueError) if it is not CEL."""
    parser = _Parser(expression)
    node = parser.expression()
    if parser.token.kind != "end":
        instead = _OTHER_LANGUAGES.get(parser.token.text)
        raise parser.fault(f"expected an operator or the end{f' (write `{instead}`)' if instead else ''}")
    if depth(node) > MAX_DEPTH:
        raise CelSyntaxError(expression, 0, f"it is nested more than {MAX_DEPTH} levels deep")
    return node


class _Parser:
    """A recursive descent parser with one token of lookahead."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = tokens(text)
        self._nested = 0
        self._end = 0  # offset after the last token that was read
        self.token = next(self._tokens)

    def fault(self, problem: str, token: Token | None = None) -> CelSyntaxError:
        token = token or self.token
        where = "the end" if token.kind == "end" else repr(token.text)
        return CelSyntaxError(self.text, token.start, f"{problem}, not {where}")

    def expression(self) -> ExpressionPart:
        self._nested += 1
        if self._nested > _MAX_NESTED:
            raise CelSyntaxError(self.text, self.token.start, f"it is nested more than {_MAX_NESTED} levels deep")
        node = self._binary(1)
        if self._takes("?"):
            then = self._binary(1)
            self._expect(":")
            node = self._operation("?", node, then, self.expression())
        self._nested -= 1
        return node

    def _binary(self, least: int) -> ExpressionPart:
        left = self._unary()
        while (strength := self._strength()) >= least:
            operator = self._next().text
            right = self._binary(strength + 1)
            is_chain = strength < 3 and isinstance(left, Operation) and left.operator == operator
            operands = left.operands if is_chain and isinstance(left, Operation) else (left,)
            left = self._operation(operator, *operands, right)
        return left

    def _strength(self) -> int:
        is_operator = self.token.kind == "sign" or self.token.text == "in"
        return _STRENGTHS.get(self.token.text, 0) if is_operator else 0

    def _unary(self) -> ExpressionPart:
        first = self.token
        if first.text not in {"!", "-"}:
            return self._member(self._primary())
        count = 0
        while self._takes(first.text):
            count += 1
        if first.text == "-" and self.token.is_signed:  # the least int has no positive counterpart
            operand = self._member(self._number(self._end - 1))
            count -= 1
        else:
            operand = self._member(self._primary())
        for _ in range(count if count < 2 else 2 - count % 2):  # a pair cancels out, but still requires a type
            operand = Operation(first.start, self._end, "!" if first.text == "!" else "negate", (operand,))
        return operand

    def _member(self, node: ExpressionPart) -> ExpressionPart:
        while True:
            if self._takes("."):
                name = self._name("the name of a field or function", _KEYWORDS)
                if self.token.text == "(" and self.token.kind == "sign":
                    node = self._call(name, node)
                else:
                    node = Select(node.start, self._end, node, name.text)
            elif self._takes("["):
                index = self.expression()
                self._expect("]")
                node = Index(node.start, self._end, node, index)
            else:
                return node

    def _primary(self) -> ExpressionPart:
        token = self.token
        if token.kind in {"int", "double"}:
            return self._number(None)
        if token.kind == "text":
            return self._text()
        if token.kind == "name" and token.text in _CONSTANTS:
            self._next()
            return Literal(token.start, token.end, _CONSTANTS[token.text])
        if self._takes("("):
            node = self.expression()
            self._expect(")")
            return node
        if self._takes("["):
            items = self._list("]")
            return ListOf(token.start, self._end, items)
        if self._takes("{"):
            return self._map(token.start)
        self._takes(".")  # of a name of the outermost scope, as in `.context`
        name = self._name("a value", (*_KEYWORDS, *_RESERVED))
        if self.token.kind == "sign" and self.token.text == "(":
            return self._call(name, None)
        return Name(name.start, name.end, name.text)

    def _number(self, minus_at: int | None) -> ExpressionPart:
        token = self._next()
        try:
            value = number(token, is_negative=minus_at is not None)
        except ValueError as error:
            raise CelSyntaxError(self.text, token.start, f"{token.text} is out of range: {error}") from None
        return Literal(token.start if minus_at is None else minus_at, token.end, value)

    def _text(self) -> ExpressionPart:
        token = self._next()
        try:
            return Literal(token.start, token.end, text_value(token.text))
        except ValueError as error:
            raise CelSyntaxError(self.text, token.start, str(error)) from None

    def _map(self, start: int) -> ExpressionPart:
        keys: list[ExpressionPart] = []
        values: list[ExpressionPart] = []
        while self.token.text != "}" or self.token.kind != "sign":
            keys.append(self.expression())
            self._expect(":")
            values.append(self.expression())
            if not self._takes(","):
                break
        self._expect("}")
        return MapOf(start, self._end, tuple(keys), tuple(values))

    def _list(self, closing: str) -> tuple[ExpressionPart, ...]:
        """Read the expressions up to the closing bracket, and the bracket. A comma may end a list, but no arguments."""
        items: list[ExpressionPart] = []
        while not self._takes(closing):
            if items:
                self._expect(",")
                if closing == "]" and self._takes(closing):
                    break
            items.append(self.expression())
        return tuple(items)

    def _call(self, name: Token, target: ExpressionPart | None) -> ExpressionPart:
        self._next()
        arguments = self._list(")")
        start = name.start if target is None else target.start
        if name.text == "has" and target is None:
            return self._has(name, arguments)
        if target is not None and name.text in MACROS and len(arguments) in ((2, 3) if name.text == "map" else (2,)):
            variable, *bodies = arguments
            if not isinstance(variable, Name):
                raise CelSyntaxError(
                    self.text, variable.start, f"the first argument of {name.text}() must be a new name"
                )
            return Comprehension(start, self._end, name.text, target, variable.name, tuple(bodies))
        return Call(start, self._end, name.text, target, arguments)

    def _has(self, name: Token, arguments: tuple[ExpressionPart, ...]) -> ExpressionPart:
        match arguments:
            case (Select(operand=operand, field=field),):
                return Has(name.start, self._end, operand, field)
        raise CelSyntaxError(self.text, name.start, "has() takes a field, such as `has(event.payload.text)`")

    def _name(self, what: str, excluded: tuple[str, ...]) -> Token:
        if self.token.kind != "name" or self.token.text in excluded:
            raise self.fault(f"expected {what}")
        return self._next()

    def _operation(self, operator: str, *operands: ExpressionPart) -> ExpressionPart:
        return Operation(operands[0].start, operands[-1].end, operator, operands)

    def _takes(self, sign: str) -> bool:
        if self.token.kind != "sign" or self.token.text != sign:
            return False
        self._next()
        return True

    def _expect(self, sign: str) -> None:
        if not self._takes(sign):
            raise self.fault(f"expected {sign!r}")

    def _next(self) -> Token:
        token = self.token
        self._end = token.end
        self.token = next(self._tokens)
        return token
