"""Functions of CEL, with their parameters and call forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Any, Final

from gatechart.chartfiles.cel import conversions as convert
from gatechart.chartfiles.cel.times import getter, milliseconds, truncated
from gatechart.chartfiles.cel.values import DURATION, NANOS, TIMESTAMP, TYPE_NAMES, described

Kinds = frozenset[str]

ANY: Final[Kinds] = frozenset(TYPE_NAMES)
_TEXT: Final[Kinds] = frozenset({"string"})
_TIMED: Final[Kinds] = frozenset({TIMESTAMP, DURATION})
_MOMENT: Final[Kinds] = frozenset({TIMESTAMP})


@dataclass(frozen=True, slots=True)
class Form:
    """A call form of a function. A method's first parameter is its target: `target.function(…)`."""

    is_method: bool
    takes: tuple[Kinds, ...]
    result: str  # name of the type, `dyn` if it depends


@dataclass(frozen=True, slots=True)
class Function:
    """A function with all its call forms."""

    evaluate: Callable[..., Any]
    forms: tuple[Form, ...]
    usage: str  # a valid call
    least: float | None = None  # of its numbers, except for a duration; None without bounds
    most: float = inf
    hint: str = ""  # its numbering, if that differs from everyday use

    def form(self, *, is_method: bool, count: int) -> Form | None:
        """Return the form with this number of arguments, the target included; None if there is none."""
        return next((form for form in self.forms if form.is_method is is_method and len(form.takes) == count), None)


def matches(text: Any, pattern: Any) -> bool:
    """Return whether a regular expression matches anywhere in a text. Raises ValueError for an invalid one."""
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise TypeError("matches() takes a text and a pattern")
    try:
        return bool(_search().execute({"text": text, "pattern": pattern}))
    except RuntimeError as error:
        raise ValueError(f"invalid pattern {pattern!r:.100}: {_why(str(error))}") from None


@cache
def _search() -> Any:
    """Return the search for a pattern in linear time, which Python's own regular expressions do not promise."""
    import cel  # noqa: PLC0415  its import brings a command line and a prompt, and takes longer than reading a chart

    return cel.compile("text.matches(pattern)")


def _why(error: str) -> str:
    """Return the reason in an error of the library, which prints the pattern over several lines."""
    return error.rpartition("error: ")[2].partition("\n")[0].removesuffix(". Check function arguments and their types.")


def _of_texts(name: str) -> Function:
    """Return a method of texts: contains, startsWith or endsWith."""
    ask = {"contains": str.__contains__, "startsWith": str.startswith, "endsWith": str.endswith}[name]

    def evaluate(text: Any, part: Any) -> bool:
        if not isinstance(text, str) or not isinstance(part, str):
            raise TypeError(f"{name}() takes two texts, not {described(text)} and {described(part)}")
        return ask(text, part)

    return Function(evaluate, (Form(True, (_TEXT, _TEXT), "bool"),), f"text.{name}('a')")


def _conversion(name: str, evaluate: Callable[[Any], Any], takes: Kinds, result: str) -> Function:
    return Function(evaluate, (Form(False, (takes,), result),), f"{name}(value)")


def _getter(name: str, evaluate: Callable[..., int]) -> Function:
    target = _TIMED if name in {"getHours", "getMinutes", "getSeconds", "getMilliseconds"} else _MOMENT
    forms = (Form(True, (target,), "int"), Form(True, (_MOMENT, _TEXT), "int"))
    least, most = _RANGES[name]
    return Function(evaluate, forms, f"event.time.{name}('Europe/Berlin')", least, most, _HINTS.get(name, ""))


_SIZED: Final[Kinds] = frozenset({"string", "bytes", "list", "map"})
_GETTERS: Final = {
    "getDate": getter(lambda moment: moment.day),
    "getDayOfMonth": getter(lambda moment: moment.day - 1),
    "getDayOfWeek": getter(lambda moment: moment.isoweekday() % 7),  # Sunday is 0
    "getDayOfYear": getter(lambda moment: moment.timetuple().tm_yday - 1),
    "getFullYear": getter(lambda moment: moment.year),
    "getHours": getter(lambda moment: moment.hour, truncated(3600 * NANOS)),
    "getMilliseconds": getter(lambda moment: moment.microsecond // 1000, milliseconds),
    "getMinutes": getter(lambda moment: moment.minute, truncated(60 * NANOS)),
    "getMonth": getter(lambda moment: moment.month - 1),
    "getSeconds": getter(lambda moment: moment.second, truncated(NANOS)),
}
_RANGES: Final = {
    "getDate": (1, 31),
    "getDayOfMonth": (0, 30),
    "getDayOfWeek": (0, 6),
    "getDayOfYear": (0, 365),
    "getFullYear": (1, 9999),
    "getHours": (0, 23),
    "getMilliseconds": (0, 999),
    "getMinutes": (0, 59),
    "getMonth": (0, 11),
    "getSeconds": (0, 59),
}
_HINTS: Final = {
    "getDayOfMonth": "the first day is 0; getDate() counts from 1",
    "getDayOfWeek": "Sunday is 0",
    "getDayOfYear": "the first of January is 0",
    "getHours": "midnight is 0",
    "getMonth": "January is 0",
}
FUNCTIONS: Final[dict[str, Function]] = {
    "size": Function(
        convert.size, tuple(Form(is_method, (_SIZED,), "int") for is_method in (False, True)), "size(value)", least=0
    ),
    **{name: _of_texts(name) for name in ("contains", "startsWith", "endsWith")},
    "matches": Function(
        matches,
        tuple(Form(is_method, (_TEXT, _TEXT), "bool") for is_method in (True, False)),
        "text.matches('^A-[0-9]+$')",
    ),
    "int": _conversion("int", convert.to_int, frozenset({"int", "uint", "double", "string", TIMESTAMP}), "int"),
    "uint": _conversion("uint", convert.to_uint, frozenset({"int", "uint", "double", "string"}), "uint"),
    "double": _conversion("double", convert.to_double, frozenset({"int", "uint", "double", "string"}), "double"),
    "string": _conversion(
        "string",
        convert.to_string,
        frozenset({"string", "bool", "int", "uint", "double", "bytes", TIMESTAMP, DURATION}),
        "string",
    ),
    "bool": _conversion("bool", convert.to_bool, frozenset({"bool", "string"}), "bool"),
    "bytes": _conversion("bytes", convert.to_bytes, frozenset({"bytes", "string"}), "bytes"),
    "type": _conversion("type", convert.to_type, ANY, "type"),
    "timestamp": _conversion("timestamp", convert.to_timestamp, frozenset({TIMESTAMP, "string", "int"}), TIMESTAMP),
    "duration": _conversion("duration", convert.to_duration, frozenset({DURATION, "string"}), DURATION),
    "dyn": _conversion("dyn", convert.to_dyn, ANY, "dyn"),
    **{name: _getter(name, evaluate) for name, evaluate in _GETTERS.items()},
}
