"""The trail of an agent: its recent activity, as text that turns append to without reading it.

Each entry is a line: a letter for its kind, then its fields, separated by tabs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from marshal import dumps
from typing import Final, TypeAlias
from zlib import crc32

from gatechart.values.escapes import NO_ESCAPES, Escapes
from gatechart.values.frozen import value
from gatechart.values.names import EventName, StateName
from gatechart.values.secrets import SECRET, hidden

MOVED: Final = 1
CALLED: Final = 2
SAID: Final = 4
REASONED: Final = 8
NOTED: Final = 16
PROGRESSED: Final = 32
WAITED: Final = 128  # 64 is WORKED, of detectors
"""Kinds of entries as bits, so that a detector can name its relevant kinds in one number."""

MARK: Final = 6
"""Characters of a trail's mark of a detector."""

LONGEST_TOLD: Final = 500
"""Maximum length of a text in an entry, in characters."""

# All characters above the first 65,536: enough that two texts in a window hardly ever share one by chance.
FIRST_CHARACTER: Final = 0x10000
CHARACTERS: Final = 0x100000

# Created once, because `json.dumps` with these arguments would create an encoder for each call.
_encode: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode

REFUSED: Final = "breaker open"
"""Error of a call when a circuit breaker refused it, or refused its next attempt."""

_NESTED: Final = frozenset({dict, list, tuple})

_SHOWN: Final = 40  # characters of a damaged line in an error

_SEPARATOR: Final = "\t"
_BETWEEN_STATES: Final = "\x1f"
_ESCAPES: Final = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\x1f", "\\s"))
_PLAIN: Final = {escaped: plain for plain, escaped in _ESCAPES}
_ESCAPED: Final = re.compile(r"\\[\\tns]")


@value
class Moved:
    """The agent moved to states on an event, or back to the states that it was in."""

    states: tuple[StateName, ...]  # the active leaves
    event: EventName


@value
class Called:
    """A call of a tool with all its attempts, or a step of an invoke, named in place of the tool."""

    tool: str
    arguments: str  # digest, without ignored fields
    ok: bool
    outcome: str = ""  # digest of the result, or of the error's type and message
    error: str = ""  # type of the error; empty if there was none
    attempts: int = 1
    task: str = ""  # id of the task at hand; empty if the context names none
    time_ms: int = 0  # since 1970, UTC
    until_ms: int = 0  # when the refusing circuit breaker lets the next call through; 0 if unknown

    @property
    def is_refused(self) -> bool:
        """Whether circuit breakers refused the call, so that no tool was called and none failed."""
        return self.ended_refused and not self.attempts

    @property
    def ended_refused(self) -> bool:
        """Whether a circuit breaker refused the call, or another attempt after a tool had failed."""
        return not self.ok and self.error == REFUSED

    @property
    def has_failed(self) -> bool:
        """Whether a tool was called and failed, even if a circuit breaker then refused another attempt."""
        return not self.ok and not self.is_refused

    @property
    def is_refused_for_now(self) -> bool:
        """Whether it was refused until a known moment. The moment is unknown if an operator isolated the breaker."""
        return self.is_refused and self.until_ms > 0


@value
class Waited:
    """A call waits until its tool's circuit breaker lets it through. An entry for the call follows when it ends."""

    tool: str
    until_ms: int  # latest end of the wait; milliseconds since 1970, UTC


@value
class Said:
    """A user said something to the agent."""

    text: str  # cut to LONGEST_TOLD characters


@value
class Reasoned:
    """A step of reasoning: the intended action and its outcome."""

    action: str  # cut to LONGEST_TOLD characters
    outcome: str  # cut to LONGEST_TOLD characters
    worker: str = ""  # who was to execute the action; empty for the agent itself


@value
class Noted:
    """An invoke reported the value of a measure."""

    measure: str
    number: float


@value
class Progressed:
    """The agent made progress."""

    by: str = ""  # id of the completed task, or name of the measure that grew


TrailEntry: TypeAlias = Moved | Called | Said | Reasoned | Noted | Progressed | Waited


@value
class Trail:
    """The trail of an agent as its snapshot keeps it."""

    text: str = ""  # entries, oldest first, a line each
    slots: tuple[str, ...] = ()  # state of each detector
    marks: str = ""  # MARK characters per detector, which identify its slot
    recent: str = ""  # a character per recently entered state, the newest last
    working: tuple[str, ...] = ()  # ids of running invokes, except delegations
    task: str = ""  # id of the task at hand; empty if the context names none
    best: float | None = None  # highest value of the context's measure so far
    is_timed: bool = False  # whether a timer is pending that evaluates the detectors again
    appended: int = 0  # lines since the text was last shortened
    entry_point: str = ""  # where the agent started, or accepted its current work
    escapes: Escapes = NO_ESCAPES  # record of its escapes


NO_TRAIL: Final = Trail()


def begun_at(entry_point: str, escapes: Escapes = NO_ESCAPES) -> Trail:
    """Return a new, empty trail that keeps the entry point and the escapes; NO_TRAIL if there are neither."""
    return Trail(entry_point=entry_point, escapes=escapes) if entry_point or escapes is not NO_ESCAPES else NO_TRAIL


def kinds_of(entries: Iterable[TrailEntry]) -> int:
    """Return the kinds of entries, as bits."""
    kinds = 0
    for entry in entries:
        kinds |= _KINDS[type(entry)]
    return kinds


def character_of(text: str) -> str:
    """Return one of about a million characters, equal for equal texts."""
    return character_at(checksum_of(text))


def character_at(number: int) -> str:
    """Return the character for a number, one of about a million. number: 0 or more."""
    return chr(FIRST_CHARACTER + number % CHARACTERS)


def checksum_of(text: str) -> int:
    """Return a checksum of 32 bits, equal for equal texts."""
    return crc32(text.encode(errors="surrogatepass"))


def digest_of(content: object, ignore: Collection[str] = ()) -> str:
    """Return eight hexadecimal digits, equal for equal JSON values; empty for None and for an empty mapping.

    ignore: names of fields to leave out, at any depth.

    >>> digest_of({"order": "4711", "at": 3}, ["at"]) == digest_of({"at": 4, "order": "4711"}, ["at"])
    True
    """
    checksum = checksum_of_content(content, ignore)
    return "" if checksum is None else checksum.to_bytes(4, "big").hex()


def checksum_of_content(content: object, ignore: Collection[str] = ()) -> int | None:
    """Return the 32-bit checksum that `digest_of` returns as digits; None where that returns an empty text."""
    if ignore:
        content = _without(content, frozenset(ignore))
    if not content and (content is None or content == {}):
        return None
    if type(content) is not dict or SECRET in content:
        return _checksum_as_json(content)
    # Nearly all payloads and arguments are flat, and JSON takes three times as long.
    for nested in content.values():
        if type(nested) in _NESTED:
            return _checksum_as_json(content)
    try:
        # Version 0, the oldest format: equal values have equal bytes, whatever their representation in Python.
        return crc32(dumps(content if len(content) == 1 else sorted(content.items()), 0))
    except (TypeError, ValueError):
        return _checksum_as_json(content)


def _checksum_as_json(content: object) -> int:
    text = _encode(content)
    return checksum_of(_encode(hidden(content)) if SECRET in text else text)  # a digest would reveal a short secret


def _without(content: object, ignore: frozenset[str]) -> object:
    if isinstance(content, Mapping):
        return {name: _without(item, ignore) for name, item in content.items() if name not in ignore}
    if isinstance(content, list | tuple):
        return [_without(item, ignore) for item in content]
    return content


def written(entry: TrailEntry) -> str:
    r"""Return the line of an entry, without the line break.

    >>> written(Moved(("CHECKING",), "ORDER_PLACED"))
    'mCHECKING\tORDER_PLACED'
    """
    match entry:
        case Moved(states, event):
            return _line("m", _BETWEEN_STATES.join(map(_kept, states)), _kept(event))
        case Called(tool, arguments, ok, outcome, error, attempts, task, time_ms, until_ms):
            fields = (_kept(tool), arguments, "+" if ok else "-", outcome, _kept(error))
            until = (str(until_ms),) if until_ms else ()
            return _line("c", *fields, str(attempts), _kept(task), str(time_ms), *until)
        case Waited(tool, until_ms):
            return _line("w", _kept(tool), str(until_ms))
        case Said(text):
            return _line("u", _kept(text))
        case Reasoned(action, outcome, worker):
            return _line("r", _kept(action), _kept(outcome), _kept(worker))
        case Noted(measure, number):
            return _line("n", _kept(measure), repr(number))
        case Progressed(by):
            return _line("p", _kept(by))


def entries_in(text: str, kinds: int = 0, last: int = 0) -> tuple[TrailEntry, ...]:
    """Read the entries of a trail's text, oldest first.

    kinds: kinds to return, as bits; 0 for all. last: number of the newest of these to return; 0 for all.

    Raises ValueError if the text is damaged.
    """
    lines = [line for line in text.split("\n") if line and (not kinds or _LETTERS.get(line[0], 0) & kinds)]
    return tuple(map(_read, lines[-last:]))


def wait_under_way(text: str) -> Waited | None:
    """Return the pending wait for a circuit breaker; None if a call or a move followed it, or there is none.

    Raises ValueError if the text is damaged.
    """
    newest = entries_in(text, MOVED | CALLED | WAITED, 1)
    return newest[0] if newest and isinstance(newest[0], Waited) else None


def text_of(entries: Iterable[TrailEntry]) -> str:
    """Return the text of a trail with these entries."""
    return "".join(f"{written(entry)}\n" for entry in entries)


def _line(kind: str, *fields: str) -> str:
    return kind + _SEPARATOR.join(fields)


def _read(line: str) -> TrailEntry:
    entry = None
    with suppress(ValueError):  # a field is not a number
        entry = _entry_in(line)
    if entry is None:
        raise ValueError(f"{line[:_SHOWN]!r} is no entry of a trail")
    return entry


def _entry_in(line: str) -> TrailEntry | None:
    fields = line[1:].split(_SEPARATOR)
    match line[0], fields:
        case "m", (states, event) | (states, event, _):  # the third, a digest of the payload, is no longer written
            return Moved(tuple(map(_shown, states.split(_BETWEEN_STATES))), _shown(event))
        case "c", (tool, arguments, ok, outcome, error, attempts, task, time_ms, *until) if len(until) <= 1:
            call = _shown(tool), arguments, ok == "+", outcome, _shown(error)
            return Called(*call, int(attempts), _shown(task), *map(int, (time_ms, *until)))
        case "w", (tool, until_ms):
            return Waited(_shown(tool), int(until_ms))
        case "u", (text,):
            return Said(_shown(text))
        case "r", (action, outcome, worker):
            return Reasoned(_shown(action), _shown(outcome), _shown(worker))
        case "n", (measure, number):
            return Noted(_shown(measure), float(number))
        case "p", (by,):
            return Progressed(_shown(by))
        case _:
            return None


def _kept(text: str) -> str:
    for plain, escaped in _ESCAPES:
        if plain in text:
            text = text.replace(plain, escaped)
    return text


def _shown(text: str) -> str:
    return _ESCAPED.sub(lambda match: _PLAIN[match[0]], text) if "\\" in text else text


_KINDS: Final[dict[type, int]] = {
    Moved: MOVED,
    Called: CALLED,
    Said: SAID,
    Reasoned: REASONED,
    Noted: NOTED,
    Progressed: PROGRESSED,
    Waited: WAITED,
}

_LETTERS: Final = {
    "m": MOVED,
    "c": CALLED,
    "u": SAID,
    "r": REASONED,
    "n": NOTED,
    "p": PROGRESSED,
    "w": WAITED,
}
