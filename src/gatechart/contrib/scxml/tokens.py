"""The words of an expression."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

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
_MOST_DIGITS: Final = 250  # of a number, so that each is a float's size at the most
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0"}


class ExpressionError(ValueError):
    """The text is no expression of the subset. Its message says where and why."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word of an expression: what it is, what it says, and a literal's value."""

    kind: str  # number, text, name, sign, end
    text: str
    value: Any = None

    @property
    def is_literal(self) -> bool:
        """Whether it is a value by itself."""
        return self.kind in ("number", "text") or (self.kind == "name" and self.text in CONSTANTS)

    def __str__(self) -> str:
        return repr(self.text) if self.text else "the end"


def tokens_of(text: str) -> list[Token]:
    """The words, an `end` at the last. Raises ExpressionError.

    >>> [token.text for token in tokens_of("x >= 1 && !In('s')")][:5]
    ['x', '>=', '1', '&&', '!']
    """
    found: list[Token] = []
    place = 0
    while not found or found[-1].kind != "end":
        match = _TOKEN.match(text, place)
        if match is None:
            raise ExpressionError(f"{text[place:].strip()[:20]!r} is not understood")
        kind = str(match.lastgroup)
        found.append(Token(kind, match[kind], _value(kind, match[kind])))
        place = match.end()
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
