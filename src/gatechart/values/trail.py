"""The trail of an agent: what it did lately, as text that a turn appends to without reading it.

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
"""Kinds of entries as bits, so that a detector can say in one number which of them concern it."""

MARK: Final = 6
"""Characters of a trail's mark of a detector."""

LONGEST_TOLD: Final = 500
"""Maximum length of a text in an entry, in characters."""

# All characters above the first 65,536: so many that two texts in a window hardly ever get the same one by chance.
FIRST_CHARACTER: Final = 0x10000
CHARACTERS: Final = 0x100000

# Made once, because `json.dumps` with these arguments would make one each time.
_encode: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode

REFUSED: Final = "breaker open"
"""Error of a call that a circuit breaker refused, or whose next attempt it refused."""

_NESTED: Final = frozenset({dict, list, tuple})

_SHOWN: Final = 40  # characters of a damaged line in an error

_SEPARATOR: Final = "\t"
_BETWEEN_STATES: Final = "\x1f"
_ESCAPES: Final = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\x1f", "\\s"))
_PLAIN: Final = {escaped: plain for plain, escaped in _ESCAPES}
_ESCAPED: Final = re.compile(r"\\[\\tns]")


@value
class Moved:
    """The agent came to states by an event, or was led back to those where it was."""

    states: tuple[StateName, ...]  # the active leaves
    event: EventName


@value
class Called:
    """A tool was called, with all its attempts; or a step of an invoke, whose name then stands for the tool."""

    tool: str
    arguments: str  # digest, without ignored fields
    ok: bool
    outcome: str = ""  # digest of the result, or of the error's type and message
    error: str = ""  # type of the error; empty if there was none
    attempts: int = 1
    task: str = ""  # id of the task at which the agent was; empty if it names none
    time_ms: int = 0  # since 1970, UTC
    until_ms: int = 0  # when the circuit breaker that refused it lets the next call through; 0 where that is not known

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
        """Whether it was refused until a known moment. No moment is known where an operator isolated the breaker."""
        return self.is_refused and self.until_ms > 0


@value
class Waited:
    """A call waits until the circuit breaker of its tool lets it through. An entry of the call follows at its end."""

    tool: str
    until_ms: int  # when it stops waiting at the latest; milliseconds since 1970, UTC


@value
class Said:
    """Somebody said something to the agent."""

    text: str  # cut to LONGEST_TOLD characters


@value
class Reasoned:
    """A step of reasoning: what was to be done, and what came of it."""

    action: str  # cut to LONGEST_TOLD characters
    outcome: str  # cut to LONGEST_TOLD characters
    worker: str = ""  # who was to do it; empty for the agent itself


@value
class Noted:
    """An invoke handed in the value of a measure."""

    measure: str
    number: float


@value
class Progressed:
    """Work went forward."""

    by: str = ""  # id of the task that was done, or name of the measure that grew


TrailEntry: TypeAlias = Moved | Called | Said | Reasoned | Noted | Progressed | Waited


@value
class Trail:
    """The trail of an agent as its snapshot keeps it."""

    text: str = ""  # entries, oldest first, a line each
    slots: tuple[str, ...] = ()  # what each detector remembers
    marks: str = ""  # MARK characters for each of these detectors, by which its slot is found again
    recent: str = ""  # a character for each state that was entered lately, the newest last
    working: tuple[str, ...] = ()  # ids of the invokes under way, those of agents apart
    task: str = ""  # id of the task at hand; empty if the context names none
    best: float | None = None  # highest value of the context's measure so far
    is_timed: bool = False  # whether a timer is pending by which the detectors are asked again
    appended: int = 0  # lines since the text was last shortened
    entry_point: str = ""  # at which the agent began, or took over the work that it has
    escapes: Escapes = NO_ESCAPES  # what it tried to get out


NO_TRAIL: Final = Trail()


def begun_at(entry_point: str, escapes: Escapes = NO_ESCAPES) -> Trail:
    """Return the trail of an agent that begins at an entry point, or begins its trail anew; none for an empty name."""
    return Trail(entry_point=entry_point, escapes=escapes) if entry_point or escapes is not NO_ESCAPES else NO_TRAIL


def kinds_of(entries: Iterable[TrailEntry]) -> int:
    """Return the kinds of entries, as bits."""
    kinds = 0
    for each in entries:
        kinds |= _KINDS[type(each)]
    return kinds


def character_of(text: str) -> str:
    """Return a character, of a million, that equal texts share."""
    return character_at(checksum_of(text))


def character_at(number: int) -> str:
    """Return the character of a number, of a million. number: not below zero."""
    return chr(FIRST_CHARACTER + number % CHARACTERS)


def checksum_of(text: str) -> int:
    """Return a number of 32 bits that equal texts share."""
    return crc32(text.encode(errors="surrogatepass"))


def digest_of(content: object, ignore: Collection[str] = ()) -> str:
    """Return eight hexadecimal digits that equal JSON values share; empty for none and for an empty mapping.

    ignore: names of fields that make no difference, at any depth.

    >>> digest_of({"order": "4711", "at": 3}, ["at"]) == digest_of({"at": 4, "order": "4711"}, ["at"])
    True
    """
    checksum = checksum_of_content(content, ignore)
    return "" if checksum is None else checksum.to_bytes(4, "big").hex()


def checksum_of_content(content: object, ignore: Collection[str] = ()) -> int | None:
    """Return the number of 32 bits whose digits `digest_of` returns; None where it returns none."""
    if ignore:
        content = _without(content, frozenset(ignore))
    if not content and (content is None or content == {}):
        return None
    if type(content) is not dict or SECRET in content:
        return _checksum_as_json(content)
    # Nearly all payloads and arguments are flat, and JSON takes three times as long.
    for each in content.values():
        if type(each) in _NESTED:
            return _checksum_as_json(content)
    try:
        # The oldest format, in which equal values have equal bytes, however Python keeps them.
        return crc32(dumps(content if len(content) == 1 else sorted(content.items()), 0))
    except (TypeError, ValueError):
        return _checksum_as_json(content)


def _checksum_as_json(content: object) -> int:
    text = _encode(content)
    return checksum_of(_encode(hidden(content)) if SECRET in text else text)  # a digest of a short one gives it away


def _without(content: object, ignore: frozenset[str]) -> object:
    if isinstance(content, Mapping):
        return {name: _without(each, ignore) for name, each in content.items() if name not in ignore}
    if isinstance(content, list | tuple):
        return [_without(each, ignore) for each in content]
    return content


def written(entry: TrailEntry) -> str:
    r"""Return the line of an entry, without its end.

    >>> written(Moved(("CHECKING",), "ORDER_PLACED"))
    'mCHECKING\tORDER_PLACED'
    """
    match entry:
        case Moved(states, event):
            return _line("m", _BETWEEN_STATES.join(map(_kept, states)), _kept(event))
        case Called(tool, arguments, ok, outcome, error, attempts, task, time_ms, until_ms):
            told = (_kept(tool), arguments, "+" if ok else "-", outcome, _kept(error))
            until = (str(until_ms),) if until_ms else ()
            return _line("c", *told, str(attempts), _kept(task), str(time_ms), *until)
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

    kinds: which ones, as bits; 0 for all. last: the newest so many of these; 0 for all.

    Raises ValueError if the text is damaged.
    """
    lines = [line for line in text.split("\n") if line and (not kinds or _LETTERS.get(line[0], 0) & kinds)]
    return tuple(map(_read, lines[-last:]))


def wait_under_way(text: str) -> Waited | None:
    """Return the wait for a circuit breaker that a trail ends in; None if a call or a move followed, or there is none.

    Raises ValueError if the text is damaged.
    """
    newest = entries_in(text, MOVED | CALLED | WAITED, 1)
    return newest[0] if newest and isinstance(newest[0], Waited) else None


def text_of(entries: Iterable[TrailEntry]) -> str:
    """Return the text of a trail with these entries."""
    return "".join(f"{written(each)}\n" for each in entries)


def _line(kind: str, *fields: str) -> str:
    return kind + _SEPARATOR.join(fields)


def _read(line: str) -> TrailEntry:
    entry = None
    with suppress(ValueError):  # of what is no number
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
            told = _shown(tool), arguments, ok == "+", outcome, _shown(error)
            return Called(*told, int(attempts), _shown(task), *map(int, (time_ms, *until)))
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
    return _ESCAPED.sub(lambda found: _PLAIN[found[0]], text) if "\\" in text else text


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
