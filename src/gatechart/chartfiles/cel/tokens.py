"""Tokens of CEL expressions, and the values of literals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gatechart.chartfiles.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt

TEXT: Final = re.compile(  # raw literals first: in them a backslash is a backslash
    r'''[bB]?[rR](?:"""[\s\S]*?"""|"[^"\r\n]*")|[bB]?[rR](?:\'{3}[\s\S]*?\'{3}|\'[^\'\r\n]*\')'''
    r'''|[bB]?"""(?:[^\\]|\\[\s\S])*?"""|[bB]?\'{3}(?:[^\\]|\\[\s\S])*?\'{3}'''
    r"""|[bB]?"(?:[^"\\\r\n]|\\.)*"|[bB]?\'(?:[^\'\\\r\n]|\\.)*\'"""
)
_TOKEN: Final = re.compile(
    rf"(?P<space>[\t\n\f\r ]+|//[^\r\n]*)|(?P<text>{TEXT.pattern})"
    r"|(?P<double>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<int>(?:0x[0-9a-fA-F]+|\d+)[uU]?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>&&|\|\||[=!<>]=|[-+*/%<>!?:.,()\[\]{}])",
    re.ASCII,
)
_ESCAPE: Final = re.compile(
    r"\\(?:(?P<char>[abfnrtv\\?\"'`])|[xX](?P<hex>[0-9a-fA-F]{2})|(?P<octal>[0-3][0-7]{2})"
    r"|u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})|(?P<bad>[\s\S]|$))"
)
_CHARACTERS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class Token:
    """A token. kind: `text`, `double`, `int`, `name`, `sign`, or `end` after the last one."""

    kind: str
    text: str
    start: int

    @property
    def is_signed(self) -> bool:
        """Whether it is a number that a minus may precede."""
        return self.kind == "double" or (self.kind == "int" and self.text[-1] not in "uU")

    @property
    def end(self) -> int:
        """Offset after the last character."""
        return self.start + len(self.text)


class CelSyntaxError(ValueError):
    """The expression is not CEL."""

    def __init__(self, expression: str, offset: int, problem: str) -> None:
        before = expression[:offset]
        line = before.count("\n") + 1
        column = offset - before.rfind("\n")
        super().__init__(f"{line}:{column}: {problem}")


def tokens(expression: str) -> Iterator[Token]:
    """Yield the tokens, the last of kind `end`. Raises CelSyntaxError at the first character that starts no token."""
    offset = 0
    while offset < len(expression):
        match = _TOKEN.match(expression, offset)
        if match is None:
            problem = "this text has no end" if expression[offset] in "'\"" else "this character has no meaning here"
            raise CelSyntaxError(expression, offset, f"{problem}: {expression[offset : offset + 20]!r}")
        kind = str(match.lastgroup)
        if kind != "space":
            yield Token(kind, match[0], offset)
        offset = match.end()
    yield Token("end", "", offset)


def number(token: Token, *, is_negative: bool) -> int | float:
    """Return the value of a number. Raises ValueError if it is out of the range of its type."""
    sign = -1 if is_negative else 1
    if token.kind == "double":
        value = float(token.text) * sign
        if abs(value) == float("inf"):
            raise ValueError("this double is too large")
        return value
    digits = token.text.rstrip("uU")
    amount = int(digits, 16 if digits.startswith("0x") else 10)
    if digits != token.text:
        if amount > UINT_MAX:
            raise ValueError(f"an unsigned number is from 0 to {UINT_MAX}")
        return UInt(amount)
    if not INT_MIN <= sign * amount <= INT_MAX:
        raise ValueError(f"an int is from {INT_MIN} to {INT_MAX}")
    return sign * amount


def text_value(literal: str) -> str | bytes:
    r"""Return the value of a text or bytes literal. Raises ValueError for an escape that the language lacks.

    >>> text_value(r"'a\x41'"), text_value("b'é'"), text_value(r"r'\d'")
    ('aA', b'\xc3\xa9', '\\d')
    """
    prefix = literal[: len(literal) - len(literal.lstrip("bBrR"))].lower()
    body = literal[len(prefix) :]
    quotes = 3 if body[:3] in {'"""', "'''"} and len(body) >= 6 else 1
    body = body[quotes:-quotes]
    if "b" not in prefix:
        return body if "r" in prefix else _ESCAPE.sub(_character, body)
    if "r" in prefix:
        return body.encode()
    pieces, offset = [], 0
    for escape in _ESCAPE.finditer(body):
        pieces += [body[offset : escape.start()].encode(), _byte(escape)]
        offset = escape.end()
    return b"".join([*pieces, body[offset:].encode()])


def _character(escape: re.Match[str]) -> str:
    if escape["char"]:
        return _CHARACTERS.get(escape["char"], escape["char"])
    if escape["bad"] is not None:
        raise ValueError(f"{escape[0]!r} is not an escape; write '\\\\\\\\' for a backslash, or a raw text: r'…'")
    hexadecimal = escape["hex"] or escape["short"] or escape["long"]
    code = int(hexadecimal, 16) if hexadecimal else int(escape["octal"], 8)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"{escape[0]} is not a character of Unicode")
    return chr(code)


def _byte(escape: re.Match[str]) -> bytes:
    if escape["short"] or escape["long"]:
        raise ValueError(f"{escape[0]} is a character, not a byte; write \\x and two digits")
    character = _character(escape)
    return character.encode() if escape["char"] else bytes([ord(character)])
